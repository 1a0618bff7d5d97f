# SPDX-License-Identifier: Apache-2.0
"""Conversions between messages and `ik_core` values: pure functions that check their input.

Transforms are (4, 4) homogeneous, positions in m, quaternions xyzw, times in s. A message that
can't be used raises `Refused`, whose `reason` is a short key for the counters of /diagnostics.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Twist, Vector3
from sensor_msgs.msg import JointState

from ik_core import IkError
from ik_core.maths.rotations import Array, quaternion_from_matrix

# [m] Goals farther away are refused: the squared distance would round away the robot's size.
MAX_DISTANCE = 1e6

# [m/s, rad/s] Faster twists are refused, so that nothing computed from a twist overflows.
MAX_SPEED = 1e6

# A quaternion with a smaller largest component is refused: its direction is mostly rounding.
MIN_QUATERNION = 1e-9


class Refused(IkError, ValueError):
    """A message that can't be used.

    `reason` is a short key to count by, such as 'not_finite'; the text says what is wrong.
    """

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


def point_to_position(point: Point) -> Array:
    """Return the position (3,) [m] of a point; Refused unless finite and below MAX_DISTANCE."""
    return np.array(_checked_position(point))


def pose_to_transform(pose: Pose) -> Array:
    """Return the transform (4, 4) of a pose; its quaternion may have any length but zero."""
    px, py, pz = _checked_position(pose.position)
    o = pose.orientation
    quaternion = x, y, z, w = o.x, o.y, o.z, o.w
    if not all(map(math.isfinite, quaternion)):
        raise Refused('not_finite', f'the quaternion {_show(quaternion)} is not finite')
    largest = max(map(abs, quaternion))
    if largest < MIN_QUATERNION:
        raise Refused('zero_quaternion', f'the quaternion {_show(quaternion)} is zero')
    x, y, z, w = x / largest, y / largest, z / largest, w / largest  # so that no square overflows
    length = math.sqrt(x * x + y * y + z * z + w * w)
    x, y, z, w = x / length, y / length, z / length, w / length
    rows = (  # `matrix_from_quaternion` without arrays
        *(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), px),
        *(2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), py),
        *(2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), pz),
        *(0.0, 0.0, 0.0, 1.0),
    )
    return np.array(rows).reshape(4, 4)


def _checked_position(point: Point) -> tuple[float, float, float]:
    x, y, z = position = point.x, point.y, point.z  # floats: faster than a small array
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        raise Refused('not_finite', f'the position {_show(position)} is not finite')
    if max(abs(x), abs(y), abs(z)) > MAX_DISTANCE:
        raise Refused('too_far', f'the position {_show(position)} is over {MAX_DISTANCE:g} m away')
    return position


def twist_to_vectors(twist: Twist) -> tuple[Array, Array]:
    """Return the linear and angular parts (3,) of a twist; Refused unless below MAX_SPEED."""
    linear, angular = _vector(twist.linear), _vector(twist.angular)
    for name, vector in (('linear', linear), ('angular', angular)):
        if not np.isfinite(vector).all():
            raise Refused('not_finite', f'the {name} velocity {_show(vector)} is not finite')
        if np.abs(vector).max() > MAX_SPEED:
            text = f'the {name} velocity {_show(vector)} is over {MAX_SPEED:g} m/s or rad/s'
            raise Refused('too_fast', text)
    return linear, angular


def transform_to_pose(transform: Array) -> Pose:
    """Return the pose of a transform (4, 4)."""
    pose = Pose()
    position, orientation = pose.position, pose.orientation
    position.x, position.y, position.z = transform[:3, 3].tolist()
    quaternion = quaternion_from_matrix(transform[:3, :3]).tolist()
    orientation.x, orientation.y, orientation.z, orientation.w = quaternion
    return pose


def time_to_seconds(stamp: Time) -> float:
    """Return a stamp in seconds."""
    return stamp.sec + 1e-9 * stamp.nanosec


def stamp_of(message: Any) -> int:
    """Return the stamp [ns] of a message with a header; 0 if it has none."""
    stamp = message.header.stamp
    return max(1_000_000_000 * stamp.sec + stamp.nanosec, 0)


def read_joint_state(message: JointState, joints: Collection[str]) -> dict[str, float]:
    """Return the positions [rad or m] of the `joints` that are in the message, by name.

    Refused if names and positions differ in number, or if one of `joints` is named twice or is
    not finite. Values of other joints are not checked.
    """
    names, positions = message.name, message.position
    if len(names) != len(positions):
        text = f'{len(names)} names but {len(positions)} positions'
        raise Refused('ragged', f'the joint state has {text}')
    known = [(name, value) for name, value in zip(names, positions, strict=True) if name in joints]
    values = dict(known)
    if len(values) != len(known):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise Refused(
            'duplicate_joint', f'the joint state names {", ".join(twice)} more than once'
        )
    bad = [name for name, value in values.items() if not math.isfinite(value)]
    if bad:
        raise Refused('not_finite', f'the position of {", ".join(bad)} is not finite')
    return values


def _vector(vector: Vector3) -> Array:
    return np.array((vector.x, vector.y, vector.z))


def _show(values: Iterable[float]) -> str:
    return '(' + ', '.join(f'{value:g}' for value in values) + ')'
