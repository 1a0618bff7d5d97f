"""Frames: those of the robot follow q, others are asked for, unknown ones refused."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.node_harness import load

from ik_node.conversions import Refused
from ik_node.inputs.goal_frames import Frames


class Tf:
    """Knows one frame, 1 m above the root."""

    def lookup(self, target, source, stamp=0):
        if (target, source) != ('panda_link0', 'map'):
            raise Refused('unknown_frame', 'tf2 does not know it')
        transform = np.eye(4)
        transform[2, 3] = 1.0
        return transform


def test_frames_of_the_robot_follow_q():
    robot = load('panda')
    frames, q = Frames(robot, 'panda_link0'), robot.middle_configuration + 0.1
    for name in ('panda_hand', '/panda_hand'):
        expected = robot.forward_kinematics(q, 'panda_hand')
        np.testing.assert_array_equal(frames.in_root(name, q), expected)


def test_an_empty_frame_is_base_link():
    robot = load('panda')
    q = robot.middle_configuration + 0.1
    expected = robot.forward_kinematics(q, 'panda_link2')
    np.testing.assert_array_equal(Frames(robot, 'panda_link2').in_root('', q), expected)


def test_frames_that_the_robot_does_not_have_are_asked_for():
    robot = load('panda')
    q = robot.middle_configuration
    assert Frames(robot, 'panda_link0', Tf()).in_root('map', q)[2, 3] == 1.0
    for frames in (Frames(robot, 'panda_link0', Tf()), Frames(robot, 'panda_link0')):
        with pytest.raises(Refused, match=r"unknown frame 'odom'.*panda_link0") as refused:
            frames.in_root('odom', q)
        assert refused.value.reason == 'unknown_frame'
