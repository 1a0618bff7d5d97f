# SPDX-License-Identifier: Apache-2.0
"""Twist commands: the tip moves as they say while they come, and rests once they stop."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import TwistStamped
from support.node_harness import URDF, is_still, load, world
from support.panda_world import TIP, is_at, moved, panda_world, tip_of
from support.twists import JOG, jog, twist


def speeds(robot, messages):
    """Linear [m/s] and angular [rad/s] velocities of the tip in the root frame, by the joints."""
    q = np.array([list(m.position) for m in messages])[:, : robot.n]
    dq = np.array([list(m.velocity) for m in messages])[:, : robot.n]
    return np.array([robot.jacobian(a, TIP) @ b for a, b in zip(q, dq, strict=True)])


def top_speed(robot, node, message):
    """The velocity (6,) that a jog comes to, where it is fastest."""
    before = len(node.states)
    start = tip_of(robot, node.more_states(1)[-1])
    jog(node, message, lambda: moved(robot, node, start) > 0.03, 'motion')
    found = speeds(robot, node.states[before:])
    return found[np.argmax(np.abs(found).max(axis=1))], start


@pytest.mark.parametrize('frame', ['', 'panda_link0', TIP, 'panda_link4'])
def test_a_twist_moves_the_tip_along_the_axes_of_its_frame(panda, robot, frame):
    velocity, _ = top_speed(robot, panda, twist(linear=(0.0, 0.05, 0.0), frame=frame))
    q = np.array(panda.states[0].position)[: robot.n]
    axes = robot.forward_kinematics(q, frame or 'panda_link0')[:3, :3]
    np.testing.assert_allclose(velocity[:3], axes @ (0.0, 0.05, 0.0), atol=0.004)
    np.testing.assert_allclose(velocity[3:], 0.0, atol=0.02)
    panda.until(lambda: is_still(panda.more_states(1)[-1]), 'rest, once no twist comes')
    panda.until_code('idle')


def test_a_twist_turns_the_tip_about_its_origin(panda, robot):
    velocity, start = top_speed(robot, panda, twist(angular=(0.0, 0.0, 0.2), frame=TIP))
    np.testing.assert_allclose(velocity[3:], start[:3, 2] * 0.2, atol=0.02)
    tip = tip_of(robot, panda.states[-1])
    np.testing.assert_allclose(tip[:3, 3], start[:3, 3], atol=2e-3)


def test_unitless_twists_are_shares_of_the_scale(robot):
    scale = {'scale__linear': 0.1, 'scale__rotational': 0.3}
    with panda_world(command_in_type='unitless', **scale) as panda:
        panda.more_states(1)
        velocity, _ = top_speed(robot, panda, twist(linear=(0.0, 0.0, -0.5)))
        np.testing.assert_allclose(velocity[:3], (0.0, 0.0, -0.05), atol=0.004)
        panda.until(lambda: is_still(panda.more_states(1)[-1]), 'rest')
        panda.publisher(TwistStamped, JOG).publish(twist(linear=(0.0, 0.0, 1.5)))
        panda.until_refused('not_unitless')


def test_while_twists_move_the_tip_the_status_says_jogging(panda, robot):
    start = tip_of(robot, panda.more_states(1)[0])
    says = lambda: panda.status.get('code') == 'jogging'  # noqa: E731
    jog(panda, twist(linear=(0.0, 0.0, -0.05)), says, 'the status')
    assert panda.status['text'].startswith('following twists')
    panda.until_code('idle')
    panda.send_goal(start)
    panda.until_code('reached')


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (twist(linear=(math.nan, 0.0, 0.0)), 'not_finite'),
        (twist(angular=(0.0, math.inf, 0.0)), 'not_finite'),
        (twist(linear=(0.1, 0.0, 0.0), frame='mars'), 'unknown_frame'),
    ],
)
def test_a_bad_twist_is_refused(panda, message, reason):
    panda.more_states(1)
    panda.publisher(TwistStamped, JOG).publish(message)
    panda.until_refused(reason)
    assert is_still(panda.more_states(5)[-1])


def test_a_goal_after_a_jog_and_a_jog_after_a_goal(panda, robot):
    start = tip_of(robot, panda.more_states(1)[0])
    jog(panda, twist(linear=(0.0, 0.0, -0.1)), lambda: moved(robot, panda, start) > 0.01, 'a jog')

    panda.until(lambda: is_still(panda.more_states(1)[-1]), 'rest')  # a twist would end the goal
    panda.send_goal(start)
    panda.until(lambda: is_at(robot, panda.more_states(1)[-1], start), 'back at the start')
    panda.until_code('reached')
    jog(panda, twist(linear=(0.0, 0.0, -0.1)), lambda: moved(robot, panda, start) > 0.01, 'a jog')
    panda.until(lambda: is_still(panda.more_states(1)[-1]), 'rest')
    assert moved(robot, panda, start) > 0.01, 'it went back to the goal before'


def test_each_tip_has_twists_of_its_own():
    robot, tips = load('dual_arm'), ('left_palm', 'right_palm')
    with world(urdf_path=str(URDF / 'dual_arm.urdf'), tip_links=list(tips)) as arms:
        first = arms.more_states(1)[-1]
        start = [tip_of(robot, first, tip) for tip in tips]
        publisher = arms.publisher(TwistStamped, 'right_palm/delta_twist_cmds')

        def shift(i):
            arms.more_states(1)
            publisher.publish(twist(linear=(0.0, 0.0, 0.1)))
            return (tip_of(robot, arms.states[-1], tips[i]) - start[i])[:3, 3]

        arms.until(lambda: shift(1)[2] > 0.03, 'the right one to go up')
        np.testing.assert_allclose(shift(0), 0.0, atol=2e-3)
