# SPDX-License-Identifier: Apache-2.0
"""Poses read from bytes are those that rclpy reads, and what is odd is left to rclpy."""

import struct

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Point, PoseArray, PoseStamped
from rclpy.serialization import deserialize_message, serialize_message

from ik_core.maths.rotations import matrix_from_quaternion
from ik_node.conversions import pose_to_transform
from ik_node.inputs import pose_bytes
from ik_node.inputs.pose_bytes import reader_of

FRAMES = ['', 'a', 'ab', 'abc', 'abcd', 'panda_link0', '/tool frame', 'Gelenk ä', 'x' * 255]


def random_pose(rng, pose):
    pose.position.x, pose.position.y, pose.position.z = rng.normal(size=3).tolist()
    o = pose.orientation
    o.x, o.y, o.z, o.w = rng.normal(size=4).tolist()
    return pose


def message_of(kind, frame, count, seed):
    """A message with numbers that all differ."""
    rng, message = np.random.default_rng(seed), kind()
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = -7 - seed, 4_000_000_000 + seed
    if kind is PoseStamped:
        random_pose(rng, message.pose)
    else:
        message.poses = [random_pose(rng, type(PoseStamped().pose)()) for _ in range(count)]
    return message


def numbers(message):
    """Return all contents of a goal's message."""
    poses = message.poses if hasattr(message, 'poses') else [message.pose]
    parts = [
        [getattr(part, axis) for part, axes in ((p.position, 'xyz'), (p.orientation, 'xyzw'))
         for axis in axes] for p in poses
    ]  # fmt: skip
    header = message.header
    return header.frame_id, header.stamp.sec, header.stamp.nanosec, parts


@pytest.mark.parametrize('frame', FRAMES)
@pytest.mark.parametrize(
    ('kind', 'count'), [(PoseStamped, 1), (PoseArray, 0), (PoseArray, 1), (PoseArray, 3)]
)
def test_what_is_read_is_what_was_sent(kind, count, frame):
    message = message_of(kind, frame, count, seed=len(frame))
    fast = reader_of(kind)(serialize_message(message))
    assert numbers(fast) == numbers(message)
    if count:
        assert type(fast) is not kind, 'it was read by rclpy'


def test_a_message_of_another_kind_is_read_by_rclpy():
    assert reader_of(Point)(serialize_message(Point(x=1.0, y=2.0, z=3.0))).z == 3.0


def broken(serialized):
    """Messages that are cut off or say what can't be."""
    yield from (serialized[:end] for end in range(len(serialized)))
    for place in (
        12,
        16,
        20,
        27,
    ):  # the size of the frame, and in its text: no end, or an early one
        for value in (0, 1, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF):
            changed = bytearray(serialized)
            struct.pack_into('<I', changed, place, value)
            yield bytes(changed)
    yield b'\x00\x00' + serialized[2:]  # the highest byte first
    yield b'\x00\x07' + serialized[2:]  # another encoding


@pytest.mark.parametrize('kind', [PoseStamped, PoseArray])
def test_what_is_odd_is_what_rclpy_makes_of_it(kind, monkeypatch):
    """Never another message than rclpy's, nor another exception."""
    asked = []
    monkeypatch.setattr(pose_bytes, 'deserialize_message', lambda *a: asked.append(a))
    for serialized in broken(serialize_message(message_of(kind, 'panda_link0', 2, seed=1))):
        asked.clear()
        message = reader_of(kind)(serialized)
        if not asked:
            assert numbers(message) == numbers(deserialize_message(serialized, kind))


def test_many_poses_are_not_read_from_few_bytes(monkeypatch):
    serialized = bytearray(serialize_message(message_of(PoseArray, 'a', 2, seed=2)))
    at = serialized.index(struct.pack('<I', 2), 16)
    struct.pack_into('<I', serialized, at, 0xFFFFFFFF)
    monkeypatch.setattr(pose_bytes, 'deserialize_message', lambda *a: 'left to rclpy')
    assert reader_of(PoseArray)(bytes(serialized)) == 'left to rclpy'


def test_a_goal_without_arrays_is_the_transform_of_its_quaternion():
    rng = np.random.default_rng(3)
    for scale in (1e-8, 1.0, 1e150):
        pose = random_pose(rng, PoseStamped().pose)
        o = pose.orientation
        o.x, o.y, o.z, o.w = (scale * rng.normal(size=4)).tolist()
        transform = pose_to_transform(pose)
        expected = matrix_from_quaternion([o.x, o.y, o.z, o.w])
        np.testing.assert_allclose(transform[:3, :3], expected, rtol=0.0, atol=1e-15)
        position = [pose.position.x, pose.position.y, pose.position.z]
        np.testing.assert_array_equal(transform[:3, 3], position)
        np.testing.assert_array_equal(transform[3], [0.0, 0.0, 0.0, 1.0])
