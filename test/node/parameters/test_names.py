# SPDX-License-Identifier: Apache-2.0
"""Names that are no parameters: slips are known as such, joints of other robots are not."""

import itertools

import pytest

pytest.importorskip('rclpy')

from support import robots

from ik_node.parameters.names import is_slip, misspelt, unknown
from ik_node.parameters.specs import fixed_specs, limit_specs, tool_specs

PANDA = robots.shipped('panda')
TIP = 'panda_hand_tcp'
KNOWN = [
    spec.name for specs in (fixed_specs(), limit_specs(PANDA), tool_specs([TIP])) for spec in specs
] + [f'goal_kind.{TIP}']


def words(names):
    return {name: robots.shipped(name).joint_names for name in names}


def test_no_joint_of_a_robot_is_a_slip_of_another_one():
    """Neither of the same robot nor of others: left and right, pan and lift, 1 and 2."""
    names = {joint for joints in words(robots.SHIPPED).values() for joint in joints}
    assert len(names) > 50
    assert not [pair for pair in itertools.permutations(names, 2) if is_slip(*pair)]


@pytest.mark.parametrize(
    ('name', 'other'),
    [
        ('left_elbow_joint', 'right_elbow_joint'),
        ('l_wrist', 'r_wrist'),
        ('joint_7', 'joint_6'),
        ('joint10', 'joint1'),
        ('base_x', 'base_y'),
        ('ur5_elbow', 'ur10_elbow'),
        ('shoulder_joint', 'shoulder_pan_joint'),
        ('lbr_joint_1', 'iiwa_joint_1'),
        ('panda_hand', 'panda_hand_tcp'),
    ],
)
def test_siblings_are_no_slips(name, other):
    assert not is_slip(name, other)
    assert not is_slip(other, name)


def slips(name):
    """The name with two letters of a long word swapped, one doubled, one left out."""
    for k in range(len(name) - 5):
        word = name[k : k + 5]
        if word.isalpha() and len(set(word)) == 5:
            head, tail = name[:k], name[k + 5 :]
            a, b, c, d, e = word
            yield from (head + w + tail for w in (a + c + b + d + e, word + e, a + b + d + e))


@pytest.mark.parametrize('robot', robots.SHIPPED)
def test_slips_in_longer_words_are_known(robot):
    joints = robots.shipped(robot).joint_names
    pairs = [(slip, joint) for joint in joints for slip in slips(joint) if slip not in joints]
    assert all(is_slip(slip, joint) for slip, joint in pairs)


def test_case_and_what_is_between_words_does_not_count():
    for slip in ('Panda_Joint1', 'panda-joint1', 'pandajoint1', 'panda.joint1'):
        assert is_slip(slip, 'panda_joint1')


@pytest.mark.parametrize(
    ('name', 'said'),
    [
        (
            'joint_limits.panda_jiont1.velocity',
            "(did you mean 'joint_limits.panda_joint1.velocity'?)",
        ),
        (
            'joint_limits.panda_joint1.velocty',
            "(did you mean 'joint_limits.panda_joint1.velocity'?)",
        ),
        (
            'joint_limits.panda_joint1.max_velocity',
            "mean 'joint_limits.panda_joint1.velocity'?): pan",
        ),
        ('joint_limits.defualt.velocity', "(did you mean 'joint_limits.default.velocity'?)"),
        ('joint_limits.default.lower', ': default has velocity, acceleration, jerk, following'),
        ('joint_limits.panda_finger_joint2.upper', ': panda_finger_joint2 has velocity, accelera'),
        ('tools.panda_hnad_tcp.xyz', "(did you mean 'tools.panda_hand_tcp.xyz'?)"),
        ('tools.panda_hand_tcp.rpyy', "(did you mean 'tools.panda_hand_tcp.rpy'?)"),
        ('goal_kind.panda_hand_tpc', ''),
        ('goal_kind.panda_handd_tcp', "(did you mean 'goal_kind.panda_hand_tcp'?)"),
        ('rtae', "(did you mean 'rate'?)"),
        ('joint_limits.fr3_joint1.velocity', ''),
        ('joint_limits.panda_joint8.velocity', ''),
        ('joint_limits.panda_joint1.has_velocity_limits', ''),
        ('tools.panda_hand.xyz', ''),
        ('controller_names', ''),
    ],
)
def test_what_is_misspelt_is_told_with_what_was_meant(name, said):
    found = misspelt(name, KNOWN)
    assert bool(found) == bool(said)
    if said:
        assert found.startswith(f'there is no parameter {name!r}')
        assert said in found


def test_what_is_given_as_well_and_another_link_is_not_meant():
    slip, meant = 'joint_limits.panda_jiont1.velocity', 'joint_limits.panda_joint1.velocity'
    assert misspelt(slip, KNOWN, ['joint_limits.panda_joint1.upper'])
    assert not misspelt(slip, KNOWN, [meant])
    assert misspelt('tools.panda_handd_tcp.xyz', KNOWN)
    assert not misspelt('tools.panda_handd_tcp.xyz', KNOWN, links=['panda_handd_tcp'])


@pytest.mark.parametrize(
    ('name', 'said'),
    [
        ('foo', "there is no parameter 'foo'"),
        ('rat', "there is no parameter 'rat' (did you mean 'rate'?)"),
        ('joint_limits.elbow.lower', ": no joint 'elbow'; there are panda_joint1, panda_joint2, "),
        ('joint_limits.panda_joint9.lower', ": no joint 'panda_joint9'; did you mean panda_joint"),
        ('joint_limits.panda_joint1.mass', ': panda_joint1 has lower, upper, velocity, accelera'),
        ('tools.left.xyz', f": no tip 'left'; there are {TIP}"),
    ],
)
def test_what_there_is_not_is_told_with_what_there_is(name, said):
    assert said in unknown(name, KNOWN)


def test_without_a_robot_there_are_no_joints():
    fixed = [spec.name for spec in fixed_specs()]
    for name in ('joint_limits.panda_joint1.lower', 'tools.tip.xyz', 'goal_kind.tip'):
        assert unknown(name, fixed).endswith('; there is no robot yet')
        assert not misspelt(name, fixed)
