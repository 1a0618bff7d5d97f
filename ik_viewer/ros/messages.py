# SPDX-License-Identifier: Apache-2.0
"""Conversions between ROS messages and values.

Transforms are (4, 4), positions in m, quaternions xyzw.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Pose, PoseArray, PoseStamped, TwistStamped
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from ik_core import IkError, Robot, World
from ik_core.collision import Box, Convex, Cylinder, Sphere
from ik_core.collision.shapes import Shape
from ik_core.maths.rotations import Array, matrix_from_quaternion, quaternion_from_matrix

REFUSED = 'refused.'


@dataclass(frozen=True)
class Status:
    """The content of ~/status: its code, its sentence, and its values by key."""

    code: str = ''
    text: str = ''
    values: dict[str, str] = field(default_factory=dict)

    def number(self, key: str) -> float:
        """Return the number of a key; 0 if it is missing."""
        try:
            return float(self.values.get(key, '0'))
        except ValueError:
            return 0.0

    def count(self, key: str) -> int:
        """Return the integer of a key; 0 if it is missing or not finite."""
        number = self.number(key)
        return int(number) if math.isfinite(number) else 0

    @property
    def refused(self) -> dict[str, int]:
        """Number of messages that the node refused, by reason."""
        keys = (key for key in self.values if key.startswith(REFUSED))
        return {key[len(REFUSED) :]: self.count(key) for key in keys}


def status_of(message: DiagnosticStatus) -> Status:
    """Return the status in a message of ~/status."""
    values = {pair.key: pair.value for pair in message.values}
    return Status(values.get('code', ''), message.message, values)


def goals_of(message: PoseArray) -> list[Array | None]:
    """Return the goals (4, 4) in a message of ~/goals; None for tips without one."""
    return [transform_of(pose) for pose in message.poses]


def transform_of(pose: Pose) -> Array | None:
    """Return the transform (4, 4) of a pose; None if it is not finite."""
    p, o = pose.position, pose.orientation
    numbers = np.array((p.x, p.y, p.z, o.x, o.y, o.z, o.w))
    if not np.isfinite(numbers).all() or not numbers[3:].any():
        return None
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = matrix_from_quaternion(numbers[3:]), numbers[:3]
    return transform


def world_of(message: MarkerArray, robot: Robot, prefix: str) -> World:
    """Return the obstacles in a message of ~/obstacles; those in unknown frames are left out.

    prefix : of the names of frames
    """
    world = World()
    for marker in message.markers:
        shape, pose = _shape_of(marker), transform_of(marker.pose)
        link = marker.header.frame_id.removeprefix(prefix)
        if shape is None or pose is None or link not in robot.link_names:
            continue
        name = marker.ns if marker.ns not in world else f'{marker.ns} ({marker.id})'
        with suppress(IkError):  # another program may publish on this topic
            if link == robot.base_link:
                world.add(name, shape, pose)
            else:
                world.attach(name, shape, link, pose)
    return world


def _shape_of(marker: Marker) -> Shape | None:
    x, y, z = marker.scale.x, marker.scale.y, marker.scale.z
    if marker.action != Marker.ADD:
        return None
    if marker.type == Marker.TRIANGLE_LIST and marker.points:
        return Convex(np.array([(point.x, point.y, point.z) for point in marker.points]))
    shapes: dict[int, Shape] = {
        Marker.CUBE: Box((x, y, z)),
        Marker.SPHERE: Sphere(0.5 * x),
        Marker.CYLINDER: Cylinder(0.5 * x, z),
    }
    return shapes.get(marker.type)


def take_positions(message: JointState, robot: Robot, q: Array) -> None:
    """Write the positions of a joint state into q (n,); other joints keep their values."""
    known = dict(zip(message.name, message.position, strict=False))
    for i, joint in enumerate(robot.joint_names):
        value = known.get(joint)
        if value is not None and np.isfinite(value):
            q[i] = value


def goal_message(transform: Array, frame: str) -> PoseStamped:
    """Return the message of a goal (4, 4), without a stamp: the node's clock may differ."""
    message = PoseStamped()
    message.header.frame_id = frame
    _set(message.pose.position, 'xyz', transform[:3, 3].tolist())
    _set(message.pose.orientation, 'xyzw', quaternion_from_matrix(transform[:3, :3]).tolist())
    return message


def twist_message(linear: Array, angular: Array, frame: str) -> TwistStamped:
    """Return the message of velocities (3,) [m/s], [rad/s] in the axes of a frame."""
    message = TwistStamped()
    message.header.frame_id = frame
    _set(message.twist.linear, 'xyz', linear)
    _set(message.twist.angular, 'xyz', angular)
    return message


def topic_of(link: str, topic: str) -> str:
    """Return a topic of a tip, as the node names it: invalid characters become '_'."""
    token = re.sub(r'[^A-Za-z0-9_]', '_', link)
    return f'_{token}/{topic}' if token[:1].isdigit() else f'{token}/{topic}'


def _set(message: Any, names: Sequence[str], values: Sequence[float] | Array) -> None:
    for name, value in zip(names, values, strict=True):
        setattr(message, name, float(value))
