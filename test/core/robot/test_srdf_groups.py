# SPDX-License-Identifier: Apache-2.0
"""Groups, named states and end effectors of an SRDF, given or beside the robot's file."""

import numpy as np
import pytest

import ik_core as ik
from ik_core.robot.shipped import shipped_robots

SRDF = """<robot name="panda">
  <group name="arm"><chain base_link="panda_link0" tip_link="panda_link8"/></group>
  <group name="hand"><link name="panda_leftfinger"/><joint name="panda_hand_tcp_joint"/></group>
  <group name="both"><group name="arm"/><group name="hand"/><joint name="gone"/></group>
  <group_state name="ready" group="arm">
    <joint name="panda_joint1" value="0.1"/><joint name="panda_joint4" value="-2.3"/>
  </group_state>
  <group_state name="open" group="hand"><joint name="panda_finger_joint1" value="0.04"/>
  </group_state>
  <end_effector name="gripper" parent_link="panda_link8" group="hand" parent_group="arm"/>
  <disable_collisions link1="panda_link0" link2="panda_link3" reason="Never"/>
</robot>"""


@pytest.fixture
def robot():
    return ik.load_robot('panda', srdf=SRDF)


def test_groups_name_their_joints_in_the_order_of_q(robot):
    joints = tuple(f'panda_joint{i}' for i in range(1, 8))
    assert robot.groups['arm'].joints == joints
    assert robot.groups['arm'].tip == 'panda_link8'
    assert robot.groups['hand'].joints == ('panda_finger_joint1',)
    assert robot.groups['both'].joints == (*joints, 'panda_finger_joint1')


def test_named_states_make_configurations(robot):
    state = robot.groups['arm'].states['ready']
    q = robot.q(state, default=robot.middle_configuration)
    assert (q[0], q[3]) == (0.1, -2.3)
    assert robot.groups['hand'].states == {'open': {'panda_finger_joint1': 0.04}}


def test_end_effectors_name_their_link_and_groups(robot):
    effector = robot.end_effectors['gripper']
    assert effector[1:] == ('panda_link8', 'hand', 'arm')


def test_unknown_joints_are_warned_of(robot):
    joints = [text for text in robot.warnings if 'SRDF' in text]
    assert len(joints) == 1
    assert joints[0].endswith('does not have: gone')


def test_an_srdf_beside_the_file_is_read_unless_another_is_given(tmp_path):
    path = tmp_path / 'urdf/panda.urdf'
    for folder in ('urdf', 'srdf'):
        (tmp_path / folder).mkdir()
    path.write_bytes(shipped_robots()['panda'].read_bytes())
    assert not ik.load_robot(path).groups
    (tmp_path / 'srdf/panda.srdf').write_text(SRDF)
    assert set(ik.load_robot(path).groups) == {'arm', 'hand', 'both'}
    assert not ik.load_robot(path, srdf='').groups
    (tmp_path / 'urdf/panda.srdf').write_text('<robot name="panda"><group name="own"/></robot>')
    assert set(ik.load_robot(path).groups) == {'own'}


def test_collisions_leave_out_the_pairs_that_the_srdf_of_the_robot_disables():
    text = SRDF.replace('panda_link3', 'panda_link7')
    robot = ik.load_robot('panda', srdf=text)
    verdicts = {
        frozenset((pair.first, pair.second)): pair.verdict
        for pair in ik.Collisions(robot, boxes=1).pairs
    }
    assert verdicts[frozenset(('panda_link0', 'panda_link7'))] == 'disabled'


WRONG = {
    'part of itself: a > b > a': '<group name="a"><group name="b"/></group>'
    '<group name="b"><group name="a"/></group>',
    "group 'a': its group 'c' does not exist": '<group name="a"><group name="c"/></group>',
    "group 'a' is defined twice": '<group name="a"/><group name="a"/>',
    'a DOCTYPE is not allowed': None,
    'leads upwards': '<group name="a"><chain base_link="panda_link4" tip_link="panda_link2"/>'
    '</group>',
    'which does not exist': '<group_state name="s" group="a"/>',
    "value='nan': finite numbers": '<group name="a"/><group_state name="s" group="a">'
    '<joint name="panda_joint1" value="nan"/></group_state>',
    'has no attribute name': '<group/>',
    "end_effector 'e': group 'g' does not exist": '<end_effector name="e" parent_link="panda_hand"'
    ' group="g"/>',
    'nested too deep': '<x>' * 60 + '</x>' * 60,
}


@pytest.mark.parametrize('reason', WRONG)
def test_wrong_srdfs_are_refused_with_the_reason(reason):
    inside = WRONG[reason]
    text = f'<robot name="panda">{inside}</robot>'
    if inside is None:
        text = '<!DOCTYPE r [<!ENTITY a "aaaa">]><robot name="&a;"/>'
    with pytest.raises(ik.UrdfError, match=reason.replace('(', r'\(')):
        ik.load_robot('panda', srdf=text)


def test_a_faulty_srdf_beside_the_file_is_only_warned_of(tmp_path):
    path = tmp_path / 'panda.urdf'
    path.write_bytes(shipped_robots()['panda'].read_bytes())
    (tmp_path / 'panda.srdf').write_text('<robot name="panda"><group/></robot>')
    robot = ik.load_robot(path)
    assert not robot.srdf
    assert 'the SRDF beside the robot is not used: ' in robot.warnings[-1]
    with pytest.raises(ik.UrdfError, match='has no attribute name'):
        ik.load_robot(path, srdf=tmp_path / 'panda.srdf')


def test_states_of_all_joints_are_what_the_file_says(robot):
    values = robot.joint_values(robot.q(robot.groups['arm'].states['ready'], np.zeros(robot.n)))
    assert values['panda_joint4'] == -2.3
