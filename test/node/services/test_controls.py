# SPDX-License-Identifier: Apache-2.0
"""The services ~/reset and ~/pause."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from std_srvs.srv import SetBool, Trigger
from support.node_harness import check_states, is_still, load, reachable_goal
from support.panda_world import (
    ACCELERATION,
    RATE,
    TIP,
    call,
    panda_world,
    text_of,
    tip_of,
    topic_world,
    until_at,
)


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Answers that wait for rest as long as a busy machine takes to come there."""
    monkeypatch.setattr('ik_node.robot_model.STOP_MARGIN', 60.0)


def test_reset_drops_the_goal_and_comes_to_rest_within_the_limits():
    robot = load('panda')
    with panda_world() as node:
        node.more_states(1)
        goal = reachable_goal(robot, TIP, 13)
        node.send_goal(goal)
        node.until_moving(0.5)
        assert call(node, Trigger, 'reset').success
        node.until(lambda: is_still(node.more_states(1)[-1]), 'rest')
        node.until_code('idle')
        assert np.linalg.norm(tip_of(robot, node.states[-1])[:3, 3] - goal[:3, 3]) > 0.01
        node.send_goal(goal)
        until_at(node, robot, goal)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_pause_comes_to_rest_and_keeps_the_goal():
    robot = load('panda')
    with panda_world() as node:
        node.more_states(1)
        goal, other = (reachable_goal(robot, TIP, number) for number in (14, 15))
        node.send_goal(goal)
        node.until_moving(0.5)
        assert call(node, SetBool, 'pause', data=True).success
        node.until(lambda: is_still(node.more_states(1)[-1]), 'rest')
        node.until_code('paused')
        node.send_goal(other)  # is kept for later, too
        assert all(map(is_still, node.more_states(20)))
        assert call(node, SetBool, 'pause', data=False).success
        until_at(node, robot, other)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_pause_outlives_another_robot_of_the_same_kind_and_other_tolerances():
    speed = 'joint_limits.panda_joint1.velocity'
    with topic_world() as node:
        node.send_description(text_of('panda'))
        node.more_states(1)
        assert call(node, SetBool, 'pause', data=True).success
        assert node.set_parameters(position_tolerance=1e-4).successful
        node.send_goal(reachable_goal(load('panda'), TIP, 16))
        assert all(map(is_still, node.more_states(20)))
        node.send_description(text_of('panda').replace('2.175', '1.0'))
        node.until_parameter(speed, 1.0, 'the other robot')
        node.until_code('paused')
        assert call(node, SetBool, 'pause', data=False).success
        node.until_code('idle')


def test_without_a_robot_the_services_say_so():
    with topic_world() as node:
        node.until_code('no_model')
        for kind, service in ((Trigger, 'reset'), (SetBool, 'pause')):
            reply = call(node, kind, service)
            assert not reply.success
            assert 'no robot' in reply.message
