# SPDX-License-Identifier: Apache-2.0
"""With the output joint_state, the command begins where a topic says that the robot stands."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from support.controlled_arm import ARM, START
from support.node_harness import check_states, load, reachable_goal
from support.panda_world import ACCELERATION, RATE, TIP, panda_world

from ik_node.parameters.node_options import NodeOptions

pytestmark = pytest.mark.long


def say(node, positions, topic='measured'):
    publisher = node.publisher(JointState, topic, qos_profile_sensor_data)
    names, q = [*ARM, 'panda_finger_joint1'], [*map(float, positions), 0.02]
    publisher.publish(JointState(name=names, position=q))


def test_the_first_command_is_where_the_robot_stands():
    robot = load('panda')
    with panda_world(start_state_topic='measured') as node:
        node.until_code('waiting_for_state')
        assert not node.states
        node.until(lambda: say(node, START) or node.states, 'commands')
        first = node.states[0]
        q = np.array(first.position)[: robot.n]
        np.testing.assert_allclose(q[:7], START, atol=1e-12)
        assert not np.any(first.velocity)
        goal = reachable_goal(robot, TIP, 1)
        node.send_goal(goal)
        node.until_code('reached')  # without another word of where the robot is
        say(node, np.zeros(7))
        node.more_states(50)
        assert node.status['code'] == 'reached', 'it is for the start alone'
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_robot_that_moves_is_waited_for():
    with panda_world(start_state_topic='measured') as node:
        angle = [0.0]

        def swings():
            angle[0] += 0.02
            say(node, [START[0] + np.sin(angle[0]), *START[1:]])
            return node.status.get('text', '').endswith('panda_joint1')

        node.until(swings, 'it waits for the joint that moves')
        assert not node.states


def test_the_topic_of_the_commands_is_refused():
    it = panda_world(start_state_topic='joint_states')
    with pytest.raises(AssertionError, match='did not start'), it as node:
        node.until(lambda: node.states, 'commands')


def test_it_is_off_by_default():
    assert NodeOptions().start_state_topic == ''
