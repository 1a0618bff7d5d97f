# SPDX-License-Identifier: Apache-2.0
"""Messages to values and back, and what is refused on the way."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Point, Pose, Quaternion
from sensor_msgs.msg import JointState

from ik_core.maths.rotations import matrix_from_rpy
from ik_node.conversions import (
    Refused,
    point_to_position,
    pose_to_transform,
    read_joint_state,
    time_to_seconds,
    transform_to_pose,
)

BAD_NUMBERS = [math.nan, math.inf, -math.inf]
HALF_TURNS = [(math.pi, 0.0, 0.0), (0.0, math.pi, 0.0), (0.0, 0.0, math.pi)]


def pose(x=0.1, y=0.2, z=0.3, qx=0.0, qy=0.0, qz=0.0, qw=1.0):
    return Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


@pytest.mark.parametrize('rpy', [*HALF_TURNS, (0.0, 0.0, 0.0), (0.3, -1.2, 2.5), (3.1, 1.5, -3.0)])
def test_a_pose_survives_the_way_there_and_back(rpy):
    transform = np.eye(4)
    transform[:3, :3] = matrix_from_rpy(rpy)
    transform[:3, 3] = (1.0, -2.0, 3.0)
    back = pose_to_transform(transform_to_pose(transform))
    np.testing.assert_allclose(back, transform, atol=1e-12)


def test_the_quaternion_is_read_as_xyzw():
    half = math.sqrt(0.5)
    about_x = pose_to_transform(pose(qx=half, qw=half))
    np.testing.assert_allclose(about_x[:3, :3] @ [0, 1, 0], [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(about_x[:3, 3], [0.1, 0.2, 0.3])


@pytest.mark.parametrize('length', [1e-8, 0.5, 3.0, 1e200])
def test_a_quaternion_of_any_length_is_normalised(length):
    half = length * math.sqrt(0.5)
    transform = pose_to_transform(pose(qz=half, qw=half))
    np.testing.assert_allclose(transform[:3, :3] @ [1, 0, 0], [0, 1, 0], atol=1e-12)


@pytest.mark.parametrize('bad', BAD_NUMBERS)
@pytest.mark.parametrize('field', ['x', 'y', 'z', 'qx', 'qy', 'qz', 'qw'])
def test_numbers_that_are_not_finite_are_refused(field, bad):
    with pytest.raises(Refused) as refused:
        pose_to_transform(pose(**{field: bad}))
    assert refused.value.reason == 'not_finite'


@pytest.mark.parametrize('size', [0.0, 1e-12, 5e-324])
def test_a_zero_quaternion_is_refused(size):
    with pytest.raises(Refused) as refused:
        pose_to_transform(pose(qx=size, qw=-size))
    assert refused.value.reason == 'zero_quaternion'


@pytest.mark.parametrize('x', [1e7, -1e300])
def test_absurdly_far_positions_are_refused(x):
    with pytest.raises(Refused) as refused:
        point_to_position(Point(x=x))
    assert refused.value.reason == 'too_far'


def test_a_joint_state_is_read_by_name():
    message = JointState(name=['b', 'a'], position=[2.0, 1.0])
    assert read_joint_state(message, 'ab') == {'a': 1.0, 'b': 2.0}


@pytest.mark.parametrize(
    ('names', 'positions', 'reason'),
    [
        (['a', 'b'], [1.0], 'ragged'),
        (['a'], [], 'ragged'),
        (['a', 'a'], [1.0, 2.0], 'duplicate_joint'),
        (['a'], [math.nan], 'not_finite'),
    ],
)
def test_a_bad_joint_state_is_refused(names, positions, reason):
    with pytest.raises(Refused) as refused:
        read_joint_state(JointState(name=names, position=positions), 'ab')
    assert refused.value.reason == reason


def test_seconds_of_a_stamp():
    message = JointState()
    message.header.stamp.sec, message.header.stamp.nanosec = 3, 250_000_000
    assert time_to_seconds(message.header.stamp) == pytest.approx(3.25, abs=1e-12)
