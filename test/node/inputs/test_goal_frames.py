# SPDX-License-Identifier: Apache-2.0
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


@pytest.mark.parametrize('prefix', ['left/', 'panda_'])
def test_links_may_have_the_prefix(prefix):
    robot = load('panda')
    frames, q = Frames(robot, 'panda_link0', prefix=prefix), robot.middle_configuration + 0.1
    expected = robot.forward_kinematics(q, 'panda_hand')
    for name in ('panda_hand', f'{prefix}panda_hand', f'/{prefix}panda_hand'):
        np.testing.assert_array_equal(frames.in_root(name, q), expected)
    for name in ('', prefix, f'{prefix}panda_link0'):
        np.testing.assert_array_equal(frames.in_root(name, q), np.eye(4))
    for name in ('right/panda_hand', f'{prefix}{prefix}panda_hand'):
        with pytest.raises(Refused, match='unknown frame'):
            frames.in_root(name, q)


class Prefixed:
    """Asked for the root with its prefix."""

    def lookup(self, target, source, stamp=0):
        assert (target, source, stamp) == ('left/panda_link0', 'right/panda_hand', 5)
        return np.eye(4)


def test_other_frames_are_asked_for_from_the_root_with_its_prefix():
    robot = load('panda')
    frames = Frames(robot, 'panda_link0', Prefixed(), prefix='left/')
    frames.in_root('right/panda_hand', robot.middle_configuration, 5)


class Past:
    """A history of joint values: q + 0.1 for all joints but the seventh, which is unknown."""

    def __init__(self, q):
        self.q = q

    def at(self, time, joints):
        assert time == 7
        return np.array([np.nan if i == 6 else self.q[i] + 0.1 for i in joints])


def test_a_link_is_where_it_was_at_the_stamp():
    robot = load('panda')
    q = robot.middle_configuration
    frames = Frames(robot, 'panda_link0', history=Past(q))
    then = q + 0.1
    then[6] = q[6]  # never measured
    expected = robot.forward_kinematics(then, 'panda_hand')
    np.testing.assert_allclose(frames.in_root('panda_hand', q, 7), expected)
    np.testing.assert_array_equal(
        frames.in_root('panda_hand', q), robot.forward_kinematics(q, 'panda_hand')
    )
    np.testing.assert_array_equal(frames.in_root('', q, 1), np.eye(4))
    moved = Frames(robot, 'panda_link2', history=Past(q))
    np.testing.assert_array_equal(
        moved.in_root('', q, 3), robot.forward_kinematics(q, 'panda_link2')
    )


def test_frames_that_the_robot_does_not_have_are_asked_for():
    robot = load('panda')
    q = robot.middle_configuration
    assert Frames(robot, 'panda_link0', Tf()).in_root('map', q)[2, 3] == 1.0
    for frames in (Frames(robot, 'panda_link0', Tf()), Frames(robot, 'panda_link0')):
        with pytest.raises(Refused, match=r"unknown frame 'odom'.*panda_link0") as refused:
            frames.in_root('odom', q)
        assert refused.value.reason == 'unknown_frame'
