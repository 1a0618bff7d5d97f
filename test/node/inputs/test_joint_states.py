"""Behind a controller: starting from the measured joint states, losing them, and going on."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from support.controlled_arm import ARM, RATE, START, Arm, arm_is_at, controlled
from support.motion_limits import Limits, assert_inside, assert_speeds, by_differences
from support.node_harness import reachable_goal
from support.panda_world import ACCELERATION, TIP


def check_steps(robot, commanded):
    """Inside the limits of position, velocity and acceleration, from command to command."""
    arm = Limits(robot.lower[:7], robot.upper[:7], robot.velocity[:7], ACCELERATION)
    q, dq = by_differences(commanded, 1.0 / RATE)
    assert_inside(np.array(commanded[0]), np.zeros(7), arm, margin=1e-9)
    assert_inside(q, dq, arm, margin=1e-9)
    assert_speeds(dq[:-1], dq[1:], arm, 1.0 / RATE, relative=1e-6)


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
def test_it_starts_where_the_robot_is_and_takes_it_to_the_goal(robot, output):
    with controlled(output) as node:
        node.until_code('waiting_for_state')
        assert 'panda_joint7' in node.status['text']
        node.send_goal(reachable_goal(robot, TIP, 0))
        node.until_refused('waiting_for_state')
        arm = Arm(node, ARM, START)
        assert not arm.commanded
        arm.start()
        np.testing.assert_allclose(arm.commanded[0], START, atol=1e-12)
        goal = reachable_goal(robot, TIP, 1)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the arm at the goal')
        arm.until(lambda: node.status.get('code') == 'reached', 'reached')
        assert not arm.refused
        check_steps(robot, arm.commanded)


def test_partial_messages_are_put_together(robot):
    with controlled('joint_trajectory') as node:
        arm = Arm(node, ARM, START)
        for joint, position in list(zip(ARM, START, strict=True))[:-1]:
            node.until(lambda j=joint, p=position: arm.say(**{j: p}) or heard(node, j), joint)
        node.until(lambda: node.status.get('text', '').endswith(': panda_joint7'), 'the last one')
        assert not arm.commanded
        node.until(lambda: arm.say(panda_joint7=START[6], not_a_joint=3.0) or arm.commanded, 'go')
        np.testing.assert_allclose(arm.commanded[0], START, atol=1e-12)


def heard(node, joint):
    """Whether the node no longer waits for the joint."""
    return node.status.get('code') == 'waiting_for_state' and joint not in node.status['text']


@pytest.mark.parametrize(
    ('names', 'positions', 'reason'),
    [
        (ARM, START[:-1], 'ragged'),
        ([*ARM, ARM[0]], [*START, 1.0], 'duplicate_joint'),
        (ARM, [*START[:-1], math.nan], 'not_finite'),
    ],
)
def test_joint_states_that_can_not_be_right_are_refused(names, positions, reason):
    with controlled('position_command') as node:
        publisher = node.publisher(JointState, 'joint_states', qos_profile_sensor_data)
        bad = JointState(name=names, position=positions)
        key = f'refused.{reason}'
        node.until(lambda: publisher.publish(bad) or int(node.status.get(key, 0)) > 0, key)
        assert node.status['code'] == 'waiting_for_state'


def test_a_robot_that_somebody_moved_is_started_from_where_it_is(robot):
    moved = [*START[:3], START[3] + 0.3, *START[4:]]
    with controlled('position_command') as node:
        arm = Arm(node, ARM, START)
        arm.start()
        arm.obeys = False
        arm.q = [position + 0.01 for position in START]  # sags a little: nothing to follow
        np.testing.assert_allclose(arm.rest(80), START, atol=1e-12)
        arm.q = moved
        arm.until(lambda: np.allclose(arm.commanded[-1], moved), 'a command where it is')
        arm.obeys = True
        goal = reachable_goal(robot, TIP, 2)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal')


def test_the_measured_state_does_not_disturb_a_motion(robot):
    with controlled('position_command') as node:
        arm = Arm(node, ARM, START)
        arm.start()
        arm.obeys = False  # stuck; the command integrates itself all the same
        goal = reachable_goal(robot, TIP, 3)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal')
        assert arm_is_at(robot, arm.rest(80), goal)
        check_steps(robot, arm.commanded)


def test_without_joint_states_it_stops_and_goes_on_from_them(robot):
    with controlled('position_command', state_timeout=0.3) as node:
        arm = Arm(node, ARM, START)
        arm.start()
        node.send_goal(reachable_goal(robot, TIP, 4))
        node.until_code('state_lost')  # nobody says where the robot is
        node.until(lambda: arm.commanded[-1] == arm.commanded[-3], 'rest')
        node.send_goal(reachable_goal(robot, TIP, 5))
        node.until_refused('state_lost')
        check_steps(robot, arm.commanded)
        arm.until(lambda: node.status.get('code') == 'idle', 'the state is back')
        goal = reachable_goal(robot, TIP, 6)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal')


def test_reset_drops_the_goal_and_takes_the_measured_state(robot):
    with controlled('position_command') as node:
        arm = Arm(node, ARM, START)
        arm.start()
        goal = reachable_goal(robot, TIP, 7)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal')
        arm.obeys, arm.q = False, [position + 0.005 for position in arm.q]
        arm.call(Trigger, 'reset')
        arm.until(lambda: np.allclose(arm.commanded[-1], arm.q, atol=1e-12), 'where it is')
        arm.until(lambda: node.status.get('code') == 'idle', 'idle')


def test_a_robot_that_was_moved_in_a_pause_goes_on_from_there(robot):
    with controlled('position_command') as node:
        arm = Arm(node, ARM, START)
        arm.start()
        goal = reachable_goal(robot, TIP, 8)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal')
        arm.call(SetBool, 'pause', data=True)
        arm.until(lambda: node.status.get('code') == 'paused', 'paused')
        held = arm.rest()
        arm.obeys = False
        arm.q = [position + 0.2 for position in START]
        np.testing.assert_allclose(arm.rest(80), held, atol=1e-12)
        arm.obeys, before = True, len(arm.commanded)
        arm.call(SetBool, 'pause', data=False)
        arm.until(lambda: len(arm.commanded) > before + 10, 'commands')
        jump = next(q for q in arm.commanded[before:] if not np.allclose(q, held, atol=1e-3))
        np.testing.assert_allclose(jump, [position + 0.2 for position in START], atol=0.05)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal again')


def test_a_robot_outside_its_limits_is_brought_back_slowly(robot):
    outside = [*START[:3], robot.upper[3] + 0.05, *START[4:]]
    with controlled('position_command') as node:
        arm = Arm(node, ARM, outside)
        arm.start()
        np.testing.assert_allclose(arm.commanded[0], outside, atol=ACCELERATION / RATE**2)
        arm.until(lambda: arm.commanded[-1][3] <= robot.upper[3] + 1e-9, 'inside')
        angle = np.array(arm.commanded)[:, 3]
        assert (np.diff(angle) <= 1e-12).all(), 'it went farther out'
        assert np.abs(np.diff(angle)).max() * RATE <= robot.velocity[3] * (1 + 1e-6)
