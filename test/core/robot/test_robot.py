# SPDX-License-Identifier: Apache-2.0
"""Properties of a Robot: names, limits, mimics, groups, tips, and the arguments that it
rejects."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik
from ik_core import FrameNotFound, InvalidConfiguration, Robot, UnsupportedProblem
from ik_core.robot import Joint, Mimic


def robot_of(*joints, free_joints=(), name='r'):
    """A robot of joints; its links in the order in which the joints name them."""
    links = list(dict.fromkeys([link for j in joints for link in (j.parent, j.child)]))
    return Robot.from_joints(name, links, joints, free_joints=free_joints)


def hinge(name, parent, child, lower=-1.0, upper=2.0, **more):
    return Joint(name, 'revolute', parent, child, lower=lower, upper=upper, **more)


def slide(name, parent, child, lower=0.0, upper=0.1, **more):
    return Joint(name, 'prismatic', parent, child, lower=lower, upper=upper, **more)


def test_its_repr_is_one_line():
    robot = robot_of(hinge('a', 'base', 'b'), slide('c', 'b', 'tip'), name='arm')
    assert repr(robot) == ("<Robot 'arm': 2 joints (a, c), 3 links from 'base' to 'tip'>")


def test_arrays_run_over_independent_joints_in_the_order_of_the_source():
    robot = robot_of(
        slide('late', 'b', 'c', 0.0, 0.5, velocity=0.3),
        Joint('fixed', 'fixed', 'c', 'd'),
        hinge('first', 'a', 'b', velocity=2.0),
        Joint('wheel', 'continuous', 'd', 'e'),
        hinge('copy', 'e', 'f', -9.0, 9.0, mimic=Mimic('first')),
    )
    assert robot.n == 3
    assert robot.joint_names == ('late', 'first', 'wheel')
    assert robot.joint_types == ('prismatic', 'revolute', 'continuous')
    assert robot.lower.tolist() == [0.0, -1.0, -math.inf]
    assert robot.upper.tolist() == [0.5, 2.0, math.inf]
    assert robot.velocity.tolist() == [0.3, 2.0, math.inf]
    assert robot.continuous.tolist() == [False, False, True]
    assert robot.full_turns.tolist() == [False, True, True]
    assert dict(robot.mimic_joints) == {'copy': Mimic('first')}
    assert robot.base_link == robot.link_names[0] == 'a'
    assert set(robot.link_names) == set('abcdef')
    assert robot.chain('d') == [0, 1]
    assert robot.chain('a') == []


def test_the_arrays_of_a_robot_are_not_to_be_written():
    robot = robots.shipped('panda')
    for array in (robot.lower, robot.upper, robot.velocity, robot.continuous, robot.full_turns,
                  robot.tree, robot.geometry):  # fmt: skip
        with pytest.raises(ValueError, match='read-only'):
            array[0] = 0


@pytest.mark.parametrize(
    ('mimic', 'lower', 'upper', 'velocity'),
    [
        (Mimic('drive'), -0.5, 0.25, 2.0),
        (Mimic('drive', 2.0), -0.25, 0.125, 1.0),
        (Mimic('drive', -1.0), -0.25, 0.5, 2.0),
        (Mimic('drive', 0.5, 0.1), -1.0, 0.3, 3.0),
        (Mimic('drive', -4.0, 1.0), 0.1875, 0.375, 0.5),
        (Mimic('drive', 0.0, 99.0), -1.0, 2.0, 3.0),
    ],
)
def test_limits_of_mimic_joints_hold_for_their_driver(mimic, lower, upper, velocity):
    robot = robot_of(
        hinge('drive', 'a', 'b', velocity=3.0),
        hinge('copy', 'b', 'c', -0.5, 0.25, velocity=2.0, mimic=mimic),
    )
    assert robot.lower == pytest.approx([lower])
    assert robot.upper == pytest.approx([upper])
    assert robot.velocity == pytest.approx([velocity])
    assert robot.warnings == ()


def test_a_mimic_that_moves_27_times_as_fast_keeps_its_own_limits():
    robot = robot_of(
        hinge('drive', 'a', 'b', velocity=2.0),
        hinge('other', 'b', 'c', velocity=1.0),
        hinge('fast', 'c', 'd', velocity=3.0, mimic=Mimic('drive', -27.0)),
        hinge('slow', 'd', 'e', velocity=3.0, mimic=Mimic('drive', 0.1)),
        hinge('still', 'e', 'f', velocity=3.0, mimic=Mimic('drive', 0.0)),
    )
    np.testing.assert_allclose(robot.velocity, [3.0 / 27.0, 1.0])
    limits = {'fast': 5.0, 'slow': 5.0, 'still': 1e-3}
    folded = robot.fold_mimic_limits([10.0, 20.0], limits)
    np.testing.assert_allclose(folded, [5.0 / 27.0, 20.0])
    for name, limit in limits.items():
        moved = abs(robot.mimic_joints[name].multiplier) * folded[0]
        assert moved <= limit * (1 + 1e-15)
    assert robot.fold_mimic_limits(7.0, {'slow': 5.0}).tolist() == [7.0, 7.0]
    assert robot.fold_mimic_limits([10.0, np.inf], {'fast': np.inf}).tolist() == [10.0, np.inf]
    given = np.array([10.0, 20.0])
    robot.fold_mimic_limits(given, limits)
    assert given.tolist() == [10.0, 20.0]
    with pytest.raises(FrameNotFound, match="no mimic joint 'drive'"):
        robot.fold_mimic_limits(1.0, {'drive': 1.0})


def test_a_mimic_range_that_leaves_nothing_keeps_the_drivers_and_warns():
    robot = robot_of(hinge('drive', 'a', 'b'), hinge('copy', 'b', 'c', mimic=Mimic('drive', 1, 9)))
    assert (robot.lower, robot.upper) == (-1.0, 2.0)
    (warning,) = robot.warnings
    assert 'copy' in warning
    assert 'drive' in warning


@pytest.mark.parametrize(
    ('multiplier', 'whole'), [(1.0, True), (-2.0, True), (0.5, False), (1.5, False)]
)
def test_a_full_turn_must_be_one_for_the_mimics_too(multiplier, whole):
    robot = robot_of(
        Joint('drive', 'continuous', 'a', 'b'),
        Joint('copy', 'continuous', 'b', 'c', mimic=Mimic('drive', multiplier)),
    )
    assert robot.full_turns.tolist() == [whole]
    q = np.array([0.3])
    turned = robot.forward_kinematics(q + 2 * np.pi, 'c')
    assert np.allclose(turned, robot.forward_kinematics(q, 'c')) == whole


def test_a_joint_that_drives_by_nothing_moves_nothing():
    robot = robot_of(
        hinge('drive', 'a', 'b'), hinge('still', 'a', 'c', mimic=Mimic('drive', 0.0, 0.3))
    )
    assert robot.chain('c') == []
    assert robot.chain('b') == [0]


def test_a_mimic_slide_forbids_full_turns_of_its_driver():
    robot = robot_of(
        Joint('drive', 'continuous', 'a', 'b'), slide('s', 'b', 'c', -9, 9, mimic=Mimic('drive'))
    )
    assert robot.full_turns.tolist() == [False]


def test_joint_values_include_mimic_joints():
    robot = robot_of(hinge('drive', 'a', 'b'), slide('m', 'b', 'c', mimic=Mimic('drive', -2, 0.5)))
    assert robot.joint_values([0.25]) == {'drive': 0.25, 'm': 0.0}


def test_floating_and_planar_joints_are_fixed_unless_asked_for():
    joints = [Joint('root', 'floating', 'a', 'b'), hinge('h', 'b', 'c')]
    joints.append(Joint('plane', 'planar', 'c', 'd', axis=np.array([0.0, 0.0, 1.0])))
    assert robot_of(*joints).joint_names == ('h',)
    free = robot_of(*joints, free_joints=['root', 'plane'])
    names = ['x', 'y', 'z', 'yaw', 'pitch', 'roll']
    expected = [*(f'root/{n}' for n in names), 'h', 'plane/x', 'plane/y', 'plane/yaw']
    assert list(free.joint_names) == expected
    assert [(g.name, g.kind, g.indices) for g in free.joint_groups] == [
        ('root', 'floating', (0, 1, 2, 3, 4, 5)),
        ('h', 'revolute', (6,)),
        ('plane', 'planar', (7, 8, 9)),
    ]
    q = np.arange(10) * 0.1
    moved = free.forward_kinematics(q, 'b')
    np.testing.assert_allclose(moved[:3, 3], q[:3])
    turn = Rotation.from_euler('ZYX', q[3:6]).as_matrix()
    np.testing.assert_allclose(moved[:3, :3], turn, atol=1e-15)
    planar = free.forward_kinematics(q, 'd', base_link='c')
    assert planar[2, 3] == pytest.approx(0.0)
    assert np.hypot(*planar[:2, 3]) == pytest.approx(np.hypot(0.7, 0.8))
    assert set(free.link_names) == set('abcd')


def test_free_joints_must_be_floating_or_planar():
    with pytest.raises(ik.UrdfError, match=r"'h'.*root"):
        robot_of(Joint('root', 'floating', 'a', 'b'), hinge('h', 'b', 'c'), free_joints=['h'])


def test_the_middle_configuration_is_valid():
    robot = robot_of(
        hinge('both', 'a', 'b', -1.0, 2.0),
        hinge('above', 'b', 'c', 0.5, math.inf),
        hinge('below', 'c', 'd', -math.inf, -0.25),
        Joint('open', 'continuous', 'd', 'e'),
    )
    assert robot.middle_configuration.tolist() == [0.5, 0.5, -0.25, 0.0]
    for name in robots.SHIPPED:
        assert robots.inside(robots.shipped(name), robots.shipped(name).middle_configuration)


@pytest.mark.parametrize(
    ('q', 'match'),
    [
        ([0.0] * 7, r'shape \(7,\).*8 joints'),
        ([[[0.0] * 8]], 'shape'),
        ([0.0] * 7 + [np.nan], 'not finite at panda_finger_joint1'),
        ([np.inf] + [0.0] * 7, 'not finite at panda_joint1'),
        ([0.0, -1.1e8] + [0.0] * 6, r'-1.1e\+08 at panda_joint2: .* at most 1e\+08'),
        ([1e200] * 8, 'at most'),
        (np.zeros(8) + 1j, 'not made of numbers'),
        ([np.complex128(1j)] * 8, 'not made of numbers'),
        (['a'] * 8, 'not made of numbers'),
        (None, 'shape|not made'),
    ],
)
def test_bad_joint_vectors_are_refused(q, match):
    robot = robots.shipped('panda')
    for call in (robot.forward_kinematics, robot.jacobian):
        with pytest.raises(InvalidConfiguration, match=match):
            call(q, 'panda_hand')
    with pytest.raises(InvalidConfiguration, match=match):
        robot.joint_values(q)


def test_checked_copies():
    robot = robots.shipped('scara')
    q = np.zeros(4)
    assert robot.checked(q) is not q
    assert robot.checked([0, 1, 0, 1]).dtype == float


def test_an_unknown_link_is_answered_with_close_names():
    robot = robots.shipped('panda')
    with pytest.raises(FrameNotFound, match='panda_hand') as info:
        robot.forward_kinematics(np.zeros(8), 'panda_hnd')
    assert not str(info.value).startswith('"')
    with pytest.raises(FrameNotFound, match='base_link_that_is_not'):
        robot.forward_kinematics(np.zeros(8), 'panda_hand', base_link='base_link_that_is_not')


def test_joint_index():
    robot = robots.shipped('panda')
    assert robot.joint_index('panda_joint3') == 2
    with pytest.raises(FrameNotFound, match="mimics 'panda_finger_joint1'"):
        robot.joint_index('panda_finger_joint2')
    with pytest.raises(FrameNotFound, match='panda_joint3'):
        robot.joint_index('panda_joint33')


@pytest.mark.parametrize(
    ('name', 'tips'),
    [
        ('panda', ['panda_hand_tcp']),
        ('scara', ['tool']),
        ('pr2_like', ['r_gripper_tool_frame']),
        ('dual_arm', ['left_palm', 'right_palm']),
        ('buss_y', ['tip_right', 'tip_left']),
        ('chains5', [f'chain_{i}_tip' for i in (6, 5, 4, 3, 2)]),
    ],
)
def test_tips_are_where_the_longest_chains_end(name, tips):
    assert robots.shipped(name).tips() == tips


def test_the_default_tip_is_that_of_the_one_longest_chain():
    assert robots.shipped('chains5').default_tip() == 'chain_6_tip'
    with pytest.raises(UnsupportedProblem, match='left_palm, right_palm'):
        robots.shipped('dual_arm').default_tip()
    with pytest.raises(UnsupportedProblem, match='no movable joint'):
        robot_of(Joint('j', 'fixed', 'a', 'b')).default_tip()


def test_a_link_named_as_a_tool_is_the_tip_before_deeper_lamps_and_fingers():
    def ends(*names):
        fixed = [Joint(f'to_{name}', 'fixed', 'c', name) for name in names]
        lamp = [Joint('to_lamp', 'fixed', names[0], 'lamp')]
        return robot_of(hinge('i', 'a', 'b'), hinge('j', 'b', 'c'), *fixed, *lamp).tips()

    assert ends('camera', 'arm_end_effector') == ['arm_end_effector']
    assert ends('camera', 'tool0') == ['tool0']
    assert ends('camera', 'left_ee_link') == ['left_ee_link']
    assert ends('camera', 'knee') == ['knee']  # no tool: no camera, no lamp
    assert ends('shin', 'foot', 'sole') == ['shin']
    assert ends('camera') == ['c']  # the link that carries it


def test_prismatic_chains_that_are_no_fingers_have_tips():
    gantry = robot_of(slide('x', 'a', 'b'), slide('y', 'b', 'c'))
    assert gantry.tips() == ['c']


def test_a_robot_without_joints_still_has_links():
    robot = robot_of(Joint('j', 'fixed', 'a', 'b', robots.transform(translation=[1, 2, 3])))
    assert robot.n == 0
    assert robot.tips() == []
    assert robot.forward_kinematics([], 'b')[:3, 3].tolist() == [1, 2, 3]
    assert robot.jacobian([], 'b').shape == (6, 0)


def joint_state(values):
    return SimpleNamespace(name=list(values), position=list(values.values()))


@pytest.mark.parametrize('name', robots.SHIPPED)
def test_positions_by_name_are_q_again(name):
    robot = robots.shipped(name)
    q = robots.random_q(robot, np.random.default_rng(1))
    values = robot.joint_values(q)
    backwards = dict(reversed(values.items()))
    for form in (values, backwards, joint_state(backwards)):
        np.testing.assert_array_equal(robot.q(form), q)
    only_q = {joint: values[joint] for joint in robot.joint_names}
    np.testing.assert_array_equal(robot.q(only_q), q)


def test_a_joint_state_of_ros_is_read():
    state = pytest.importorskip('sensor_msgs.msg').JointState()
    robot = robots.shipped('ur5e')
    q = robots.random_q(robot, np.random.default_rng(2))
    state.name, state.position = list(robot.joint_names), q.tolist()
    np.testing.assert_array_equal(robot.q(state), q)


@pytest.mark.parametrize(
    ('name', 'hint'),
    [('elbo_joint', '; did you mean elbow_joint'), ('marble', '; known: shoulder_pan_joint, ')],
)
def test_only_names_that_are_near_are_proposed(name, hint):
    with pytest.raises(FrameNotFound, match=f"'{name}'{hint}"):
        robots.shipped('ur5e').q({**UR5E, name: 0.0})


def test_missing_joints_take_the_default():
    robot = robots.shipped('ur5e')
    first = robot.joint_names[0]
    q = robot.q({first: 0.5}, default=robot.middle_configuration)
    assert q[0] == 0.5
    np.testing.assert_array_equal(q[1:], robot.middle_configuration[1:])
    with pytest.raises(InvalidConfiguration, match=r'no position of shoulder_lift'):
        robot.q({first: 0.5})


UR5E = dict.fromkeys(robots.shipped('ur5e').joint_names, 0.0)


@pytest.mark.parametrize(
    ('values', 'error', 'match'),
    [
        ({**UR5E, 'elbo_joint': 0.0}, FrameNotFound, 'did you mean elbow_joint'),
        ({**UR5E, 'elbow_joint': np.nan}, InvalidConfiguration, 'not finite at elbow_joint'),
        ({**UR5E, 'elbow_joint': 'up'}, InvalidConfiguration, 'not made of numbers'),
        ({**UR5E, 'elbow_joint': [0.0, 1.0]}, InvalidConfiguration, 'not made of numbers'),
        ([0.0] * 6, InvalidConfiguration, 'list: positions by name'),
        (
            SimpleNamespace(name=[*UR5E, 'elbow_joint'], position=[0.0] * 7),
            InvalidConfiguration,
            'twice: elbow_joint$',
        ),
        (SimpleNamespace(name=[*UR5E], position=[]), InvalidConfiguration, '6 names with 0 pos'),
    ],
)
def test_positions_that_make_no_q_are_refused(values, error, match):
    with pytest.raises(error, match=match):
        robots.shipped('ur5e').q(values)
