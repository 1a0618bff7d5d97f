"""Where goals are given: the frame of a header, as a transform to the robot's root link.

The robot's own links come first: they need no tf2, and a goal in a moving link's frame is
transformed once, on receipt, with the commanded q. Other frames are looked up in tf2 where that
is installed. Nothing here waits: a frame that may become known in a moment is Pending.
"""

from __future__ import annotations

import importlib
import time
from typing import Any, Protocol

from geometry_msgs.msg import Point, Pose, Transform
from rclpy.node import Node
from rclpy.time import Time

from ik_core import Robot
from ik_core.exceptions import FrameNotFound
from ik_core.maths.rotations import Array

from ..conversions import Refused, pose_to_transform
from ..texts import MIDDLEWARE_ERRORS, cut, sentence

LONGEST_NAME = 256
"""Characters of a frame; links with similar names are not looked for where there are more."""
PATIENCE = 2.0
"""[s] How long tf2 may take to hear of a frame, from when it is first asked for one."""


class Pending(Refused):
    """A frame that is not known yet and may be in a moment."""


class FrameSource(Protocol):
    """Something that knows frames outside the robot."""

    def lookup(self, target: str, source: str) -> Array:
        """The (4, 4) transform from frame `source` to frame `target`; Refused where unknown."""


class Frames:
    """The frames of a robot, and those of another source where it does not know one."""

    def __init__(self, robot: Robot, base_link: str, others: FrameSource | None = None) -> None:
        self._robot = robot
        self._base_link = base_link
        self._others = others

    def in_root(self, frame_id: str, q: Array) -> Array:
        """The (4, 4) transform from a frame to the root link's, for joint positions q (n,).

        An empty frame is base_link. Refused when nobody knows the frame.
        """
        name = frame_id.removeprefix('/') or self._base_link
        if len(name) > LONGEST_NAME:
            raise Refused('unknown_frame', f'unknown frame {cut(name, LONGEST_NAME)!r}')
        try:
            return self._robot.forward_kinematics(q, name)
        except FrameNotFound as error:
            text = f'unknown frame {frame_id!r}: {error}'
        if self._others is None:
            raise Refused('unknown_frame', text)
        try:
            return self._others.lookup(self._robot.base_link, name)
        except Refused as refused:
            raise type(refused)(refused.reason, f'{text}; {refused}') from refused


class TfFrames:
    """The frames of tf2, listened to from the first goal that asks for one.

    A robot's own links need no tf2, so most nodes never pay for what comes on /tf, which is as
    much as all else together. While tf2 has only just been listened to, a frame is Pending.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._buffer: Any = None
        self._listener: Any = None
        self._deadline = 0.0
        self._obstacle = ''

    def lookup(self, target: str, source: str) -> Array:
        """The latest known transform from `source` to `target`."""
        try:
            tf2 = importlib.import_module('tf2_ros')
        except ImportError:
            raise Refused('unknown_frame', 'tf2_ros, which may know it, is missing') from None
        self._listen(tf2)
        try:
            return _to_matrix(self._buffer.lookup_transform(target, source, Time()).transform)
        except tf2.TransformException as error:
            kind = Pending if time.monotonic() < self._deadline else Refused
            raise kind('unknown_frame', f'tf2: {error}') from error

    def close(self) -> None:
        """Stop listening, and forget what was heard; the next lookup listens anew."""
        if self._listener is not None:
            self._listener.unregister()
        self._buffer = self._listener = None
        self._obstacle = ''

    def _listen(self, tf2: Any) -> None:
        """Raise Refused where /tf can't be subscribed to; that is tried once."""
        if self._buffer is None:
            self._buffer = tf2.Buffer()  # with the node, it would serve tf2_frames there for ever
            self._deadline = time.monotonic() + PATIENCE
            try:
                self._listener = tf2.TransformListener(self._buffer, self._node, spin_thread=False)
            except MIDDLEWARE_ERRORS as error:
                self._obstacle = f'tf2 can not listen to /tf: {sentence(error)}'
        if self._obstacle:
            raise Refused('unknown_frame', self._obstacle)


def _to_matrix(transform: Transform) -> Array:
    """The (4, 4) matrix of a transform; Refused where that is not finite."""
    at = transform.translation
    position = Point(x=at.x, y=at.y, z=at.z)
    return pose_to_transform(Pose(position=position, orientation=transform.rotation))
