# SPDX-License-Identifier: Apache-2.0
"""Published joints: which ones, in which order; frozen ones keep their values."""

from math import inf

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.controlled_arm import ARM, START, Arm, arm_is_at, controlled, whole
from support.node_harness import load, snapshot
from support.panda_world import TIP

from ik_core import IkError
from ik_node.robot_model import Model


def test_command_joints_say_what_is_published_and_in_which_order(robot):
    joints = [*reversed(ARM), 'panda_finger_joint2']
    with controlled('joint_trajectory', command_joints=joints) as node:
        arm = Arm(node, joints, [*reversed(START), 0.02])
        fingers = dict(zip(ARM, START, strict=True)) | {'panda_finger_joint1': 0.02}
        node.until(lambda: arm.say(**fingers) or arm.commanded, 'commands')
        assert not arm.refused
        message = node.inbox['command'][0]
        assert list(message.joint_names) == joints
        np.testing.assert_allclose(arm.commanded[0], [*reversed(START), 0.02], atol=1e-12)


def test_only_the_joints_that_goals_move_are_commanded_and_frozen_ones_stay(robot):
    parameters = {'frozen_joints': ['panda_joint3'], 'joint_limits__default__following_error': inf}
    with controlled('joint_trajectory', **parameters) as node:
        joints = [joint for joint in ARM if joint != 'panda_joint3']
        arm = Arm(node, joints, [START[ARM.index(joint)] for joint in joints])
        every = dict(zip(ARM, START, strict=True))

        def say():
            arm.say(**every | dict(zip(joints, arm.q, strict=True)))

        node.until(lambda: say() or arm.commanded, 'commands')
        assert not arm.refused
        q = whole(robot, START)
        q[[0, 1, 3]] += 0.2
        goal = robot.forward_kinematics(q, TIP)
        node.send_goal(goal)

        def at_goal():
            say()
            told = dict(every, **dict(zip(joints, arm.commanded[-1], strict=True)))
            return arm_is_at(robot, [told[joint] for joint in ARM], goal)

        node.until(at_goal, 'the goal, with joint 3 where it was')


def test_frozen_joints_are_published_with_joint_states_and_do_not_move(robot):
    with controlled('joint_state', frozen_joints=['panda_joint1', 'panda_joint3']) as node:
        start = np.array(node.more_states(1)[0].position[: robot.n])
        q = start.copy()
        q[[1, 3, 4]] += 0.3
        node.send_goal(robot.forward_kinematics(q, TIP))
        node.until_code('reached')
        end = np.array(node.more_states(1)[-1].position[: robot.n])
        np.testing.assert_array_equal(end[[0, 2]], start[[0, 2]])
        assert np.abs(end[[1, 3]] - start[[1, 3]]).min() > 0.1


def test_joint_states_of_some_joints_only():
    with controlled('joint_state', command_joints=['panda_finger_joint2', *ARM]) as node:
        assert list(node.more_states(1)[0].name) == ['panda_finger_joint2', *ARM]


@pytest.mark.parametrize(
    ('parameters', 'said'),
    [
        ({'command_joints': ['panda_jiont1']}, 'panda_joint1'),
        ({'command_joints': ['panda_joint1', 'panda_joint1']}, 'more than once'),
        ({'frozen_joints': ['panda_jiont1']}, 'panda_joint1'),
        ({'frozen_joints': ARM}, 'panda_hand'),
    ],
)
def test_joints_that_can_not_be_meant_are_refused(parameters, said):
    with pytest.raises(IkError, match=said):
        Model(load('panda'), snapshot(tip_links=(TIP,), **parameters))
