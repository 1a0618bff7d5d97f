# SPDX-License-Identifier: Apache-2.0
"""Sources of the robot: a file, a parameter or the topic; another one, and a broken one."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from std_msgs.msg import String
from support.node_harness import (
    LATCHED,
    URDF,
    check_states,
    is_still,
    load,
    reachable_goal,
    world,
)
from support.panda_world import (
    ACCELERATION,
    RATE,
    TIP,
    panda_world,
    text_of,
    topic_world,
    until_at,
)

from ik_node.inputs import robot_description
from ik_node.robot_model import prepare_robot

BROKEN = '<robot name="broken"><link name="a"/><joint name="j" type="revolute"/></robot>'


def test_a_goal_before_the_robot_is_refused_and_one_after_it_followed():
    robot = load('panda')
    with topic_world() as node:
        node.until_code('no_model')
        assert node.state() == 'active'
        goal = reachable_goal(robot, TIP, 0)
        node.send_goal(goal)
        node.until_refused('no_model')
        assert not node.states
        node.send_description(text_of('panda'))
        node.more_states(1)
        node.until_code('idle')
        node.send_goal(goal)
        until_at(node, robot, goal)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_the_robot_as_text_in_the_parameter():
    with panda_world(urdf_path='', robot_description=text_of('panda')) as node:
        assert 'panda_joint1' in node.more_states(1)[0].name


def test_without_a_tip_link_the_end_of_the_longest_chain_is_moved():
    robot = load('panda')
    with panda_world(tip_links=['']) as node:
        node.more_states(1)
        goal = reachable_goal(robot, robot.default_tip(), 1)
        node.send_goal(goal, topic=f'{robot.default_tip()}/goal_pose')
        until_at(node, robot, goal, robot.default_tip())


def test_a_new_robot_is_taken_once_the_old_one_is_at_rest():
    panda, ur5e = load('panda'), load('ur5e')
    with topic_world(tip_links=[''], joint_limits__default__velocity=2.0) as node:
        node.send_description(text_of('panda'))
        node.more_states(1)
        node.send_goal(reachable_goal(panda, panda.default_tip(), 2))
        node.until_moving()
        node.send_description(text_of('ur5e'))
        node.until(lambda: list(node.states[-1].name) == list(ur5e.joint_names), 'the UR5e')
        goal = reachable_goal(ur5e, ur5e.default_tip(), 3)
        node.send_goal(goal, topic=f'{ur5e.default_tip()}/goal_pose')
        until_at(node, ur5e, goal, ur5e.default_tip())
        states = node.states
        first = next(i for i, s in enumerate(states) if list(s.name) == list(ur5e.joint_names))
        assert is_still(states[first - 1]), 'swapped while moving'
        check_states(states[:first], panda, RATE, 2.0, ACCELERATION)
        check_states(states[first:], ur5e, RATE, 2.0, ACCELERATION)


def test_the_same_robot_with_other_limits_goes_on_where_it_is():
    robot = load('panda')
    with topic_world() as node:
        node.send_description(text_of('panda'))
        node.more_states(1)
        goal = reachable_goal(robot, TIP, 4)
        node.send_goal(goal)
        until_at(node, robot, goal)
        node.send_description(text_of('panda').replace('2.3925', '2.0').replace('2.175', '1.0'))
        node.until_code('idle')
        check_states(node.more_states(), robot, RATE, acceleration=ACCELERATION)
        until_at(node, robot, goal)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_broken_robot_leaves_the_good_one_in_place():
    """The UR5e is broken here because it has no link of the name in tip_links."""
    robot = load('panda')
    with topic_world() as node:
        node.send_description(text_of('panda'))
        node.more_states(1)
        for sent, broken in enumerate([BROKEN, 'no xml', '', text_of('ur5e')], 1):
            node.send_description(broken)
            node.until(lambda n=sent: node.diagnostics.get('errors') == str(n), f'error {sent}')
        goal = reachable_goal(robot, TIP, 5)
        node.send_goal(goal)
        until_at(node, robot, goal)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)
        assert node.set_parameters(joint_limits__panda_joint1__velocity=1.0).successful


def test_base_link_names_the_frame_of_goals_and_stays_where_it_is():
    robot = load('pr2_like')
    tip = robot.default_tip()
    base = next(link for link in robot.link_names if len(robot.chain(link)) == 1)
    lift = robot.chain(base)[0]
    with world(
        urdf_path=str(URDF / 'pr2_like.urdf'),
        base_link=base,
        tip_links=[tip],
        rate=RATE,
        joint_limits__default__velocity=2.0,
        joint_limits__default__acceleration=ACCELERATION,
    ) as node:
        start = np.array(node.more_states(1)[-1].position)[: robot.n]
        q = start + 0.3
        q[lift] = start[lift]
        q = np.clip(q, robot.lower, robot.upper)
        goal = robot.forward_kinematics(q, tip, base)
        node.send_goal(goal)
        node.until_code('reached')
        there = np.array(node.more_states(1)[-1].position)[: robot.n]
        np.testing.assert_allclose(robot.forward_kinematics(there, tip, base), goal, atol=1e-3)
        assert there[lift] == start[lift]
        check_states(node.states, robot, RATE, 2.0, ACCELERATION)


def test_the_node_tells_which_robot_it_moves_wherever_that_came_from():
    told = 'ik_node/robot_description'
    with topic_world(tip_links=['']) as node:
        node._listen(String, told, LATCHED)
        node.send_description(text_of('panda'))
        node.until(lambda: node.inbox[told], 'a robot')
        assert node.inbox[told][-1].data == text_of('panda')
        node.send_description(BROKEN)
        node.until(lambda: int(node.diagnostics.get('errors', 0)) > 0, 'a refusal')
        node.send_description(text_of('ur5e'))
        node.until(lambda: len(node.inbox[told]) > 1, 'another robot')
        assert node.inbox[told][-1].data == text_of('ur5e')
    with panda_world() as node:  # from a file, and to one who comes late
        node.more_states(1)
        node._listen(String, told, LATCHED)
        node.until(lambda: node.inbox[told], 'the robot')
        assert node.inbox[told][-1].data == text_of('panda')
        assert node.transition(Transition.TRANSITION_DEACTIVATE)
        assert node.transition(Transition.TRANSITION_CLEANUP)
        node.until(lambda: node.inbox[told][-1].data == '', 'no robot')


def test_the_node_tells_the_text_that_was_loaded_from_a_file_that_is_written_meanwhile(
    tmp_path, monkeypatch
):
    told, path = 'ik_node/robot_description', tmp_path / 'arm.urdf'
    path.write_text(text_of('panda'), encoding='utf-8')

    def loading(*arguments):
        robot = prepare_robot(*arguments)
        path.write_text(text_of('ur5e'), encoding='utf-8')
        return robot

    monkeypatch.setattr(robot_description, 'prepare_robot', loading)
    with panda_world(urdf_path=str(path)) as node:
        node.more_states(1)
        node._listen(String, told, LATCHED)
        node.until(lambda: node.inbox[told], 'the robot')
        assert node.inbox[told][-1].data == text_of('panda')


def test_a_file_in_another_encoding_is_told_as_text(tmp_path):
    told, path = 'ik_node/robot_description', tmp_path / 'arm.urdf'
    text = text_of('panda').partition('?>')[2]
    declared = '<?xml version="1.0" encoding="ISO-8859-1"?><!-- \u00fc -->' + text
    path.write_bytes(declared.encode('iso-8859-1'))
    with panda_world(urdf_path=str(path)) as node:
        node.more_states(1)
        node._listen(String, told, LATCHED)
        node.until(lambda: node.inbox[told], 'the robot')
        assert node.inbox[told][-1].data == declared


def test_a_message_opens_no_file():
    """Text that is no XML would be the name of a shipped robot, or of a file."""
    with topic_world() as node:
        for name in ('panda', str(URDF / 'panda.urdf')):
            before = int(node.diagnostics.get('errors', 0))
            node.send_description(name)
            node.until(lambda n=before: int(node.diagnostics.get('errors', 0)) > n, 'a refusal')
        assert not node.states
        node.send_description('\n' + text_of('panda'))
        node.more_states(1)
