# SPDX-License-Identifier: Apache-2.0
"""Poses read from the bytes of a message, without the message objects of rclpy.

rclpy makes a dozen Python objects for one pose, with defaults first. For single messages, as
goals are, that takes a good part of a period of 1 ms.

The results have the fields of the messages, by the same names. The layout is plain CDR, little
endian (OMG DDSI-RTPS 2.5, 10): each number is at a multiple of its size, counted from the end of
the four bytes of the encapsulation header. rclpy reads messages with another layout.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from geometry_msgs.msg import PoseArray, PoseStamped
from rclpy.serialization import deserialize_message

PLAIN = b'\x00\x01'  # identifier of plain CDR, little endian
START = 4  # [bytes] length of the encapsulation header
HEAD, COUNT, POSE = struct.Struct('<iII'), struct.Struct('<I'), struct.Struct('<7d')


class Stamp(NamedTuple):
    """builtin_interfaces/Time."""

    sec: int
    nanosec: int


class Header(NamedTuple):
    """std_msgs/Header."""

    stamp: Stamp
    frame_id: str


class Position(NamedTuple):
    """geometry_msgs/Point [m]."""

    x: float
    y: float
    z: float


class Orientation(NamedTuple):
    """geometry_msgs/Quaternion."""

    x: float
    y: float
    z: float
    w: float


class Pose(NamedTuple):
    """geometry_msgs/Pose."""

    position: Position
    orientation: Orientation


class Stamped(NamedTuple):
    """geometry_msgs/PoseStamped."""

    header: Header
    pose: Pose


class Poses(NamedTuple):
    """geometry_msgs/PoseArray."""

    header: Header
    poses: list[Pose]


def reader_of(kind: Any) -> Callable[[bytes], Any]:
    """Return the reader of a message type: the one of this module for poses, else rclpy's."""
    return READERS.get(kind) or partial(deserialize_message, message_type=kind)


def _stamped(serialized: bytes) -> Stamped | PoseStamped:
    try:
        header, end = _header(serialized)
        return Stamped(header, _pose(serialized, _aligned(end, 8)))
    except (struct.error, ValueError):
        return deserialize_message(serialized, PoseStamped)


def _poses(serialized: bytes) -> Poses | PoseArray:
    try:
        header, end = _header(serialized)
        at = _aligned(end, COUNT.size)
        (count,) = COUNT.unpack_from(serialized, at)
        first = _aligned(at + COUNT.size, 8)
        if first + POSE.size * count > len(serialized):
            raise ValueError('the message ends before its poses do')
        return Poses(header, [_pose(serialized, first + POSE.size * i) for i in range(count)])
    except (struct.error, ValueError):
        return deserialize_message(serialized, PoseArray)


def _header(serialized: bytes) -> tuple[Header, int]:
    """Return the header and the offset of its end. ValueError for another layout."""
    if serialized[:2] != PLAIN:
        raise ValueError('not plain CDR with the lowest byte first')
    seconds, nanoseconds, size = HEAD.unpack_from(serialized, START)
    begin = START + HEAD.size
    text, end = serialized[begin : begin + size], begin + size
    if text.find(0) != size - 1:  # also detects a message that ends too early
        raise ValueError('the frame has no end, or ends too early')
    return Header(Stamp(seconds, nanoseconds), text[:-1].decode()), end


def _pose(serialized: bytes, at: int) -> Pose:
    x, y, z, *quaternion = POSE.unpack_from(serialized, at)
    return Pose(Position(x, y, z), Orientation(*quaternion))


def _aligned(offset: int, size: int) -> int:
    """Return the next offset at which a number of this size [bytes] is aligned."""
    return offset + (START - offset) % size


READERS: dict[Any, Callable[[bytes], Any]] = {
    PoseStamped: _stamped,
    PoseArray: _poses,
}
