"""Where goals are given: the frame of a header, as a transform to the robot's root link.

The robot's own links come first: they need no tf2, and a goal in a moving link's frame is
transformed once, on receipt, with the commanded q. Other frames are looked up in tf2 where that
is installed; it is asked for what it knows already, never waited for.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

from geometry_msgs.msg import Pose
from rclpy.node import Node
from rclpy.time import Time

from ik_core import Robot
from ik_core.exceptions import FrameNotFound
from ik_core.maths.rotations import Array

from ..conversions import Refused, pose_to_transform


class FrameSource(Protocol):
    """Something that knows frames outside the robot."""

    def lookup(self, target: str, source: str) -> Array | None:
        """The (4, 4) transform from frame `source` to frame `target`; None where unknown."""


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
        try:
            return self._robot.forward_kinematics(q, name)
        except FrameNotFound as error:
            reason = error
        transform = self._others.lookup(self._robot.base_link, name) if self._others else None
        if transform is None:
            raise Refused('unknown_frame', f'unknown frame {frame_id!r}: {reason}')
        return transform


class TfFrames:
    """The frames of tf2, listened to from the first goal that asks for one.

    A robot's own links need no tf2, so most nodes never pay for a subscription to /tf. The price
    is that the first goal in another frame is refused while nothing has been heard yet.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._buffer: Any = None
        self._listener: Any = None

    def lookup(self, target: str, source: str) -> Array | None:
        """The latest known transform from `source` to `target`; None where there is none."""
        try:
            tf2 = importlib.import_module('tf2_ros')
        except ImportError:
            return None
        if self._buffer is None:
            self._buffer = tf2.Buffer()  # with the node, it would serve tf2_frames there for ever
            self._listener = tf2.TransformListener(self._buffer, self._node, spin_thread=False)
        try:
            stamped = self._buffer.lookup_transform(target, source, Time())
        except tf2.TransformException:
            return None
        translation, rotation = stamped.transform.translation, stamped.transform.rotation
        pose = Pose(orientation=rotation)
        pose.position.x, pose.position.y, pose.position.z = (
            translation.x,
            translation.y,
            translation.z,
        )
        return pose_to_transform(pose)

    def close(self) -> None:
        """Stop listening, and forget what was heard; the next lookup listens anew."""
        if self._listener is not None:
            self._listener.unregister()
        self._buffer = self._listener = None
