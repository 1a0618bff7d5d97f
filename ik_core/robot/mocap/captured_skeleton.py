# SPDX-License-Identifier: Apache-2.0
"""A captured skeleton: the robot made of it, and the conversion of its frames to a motion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...exceptions import InvalidOption, MocapError
from ...maths.argument_types import MatrixLike
from ...maths.rotations import Array
from ..joints import WORLD, Joint
from ..motion import Motion
from ..robot import Robot

MAX_BONES = 2000
AXES = 'XYZ'


@dataclass(frozen=True, eq=False)
class CapturedSkeleton:
    """A robot, and the conversion of the values of a motion file to its q.

    columns : for every moving joint of the file, the indices into q of its values, in the order of
              the file
    scale   : metres per unit of length of the motion file
    radians : radians per unit of angle
    """

    robot: Robot
    columns: Mapping[str, tuple[int, ...]]
    scale: float
    radians: float

    def motion(self, frames: MatrixLike, period: float) -> Motion:
        """The motion of `frames`, whose values are in the order of q and in the file's units."""
        lengths = np.array(self.robot.joint_types) == 'prismatic'
        factors = np.where(lengths, self.scale, self.radians)
        return Motion(self.robot.joint_names, np.array(frames, float) * factors, period)


def make_figure(
    name: str,
    joints: Sequence[Joint],
    channels: Mapping[str, Sequence[str]],
    scale: float,
    radians: float,
) -> CapturedSkeleton:
    """Make a skeleton of joints, in metres and radians; its root link is WORLD.

    channels : the values of each joint, in order: 'TX', 'TY', 'TZ' (position of a floating joint)
               and 'RX', 'RY', 'RZ'
    scale, radians : metres and radians per unit of the motion file
    """
    links = [WORLD, *(joint.child for joint in joints)]
    _check_names(name, 'link', links)
    free = [joint.name for joint in joints if joint.kind == 'floating']
    robot = Robot.from_joints(name, links, joints, free_joints=free)
    _check_names(name, 'joint', robot.joint_names)
    columns = {
        group.name: _columns(group.indices, group.rotation_order, channels[group.name])
        for group in robot.joint_groups
    }
    return CapturedSkeleton(robot, columns, scale, radians)


def _columns(indices: Sequence[int], order: str, channels: Sequence[str]) -> tuple[int, ...]:
    """The indices into q of a joint's channels; `order` is '' for a hinge."""
    rotations = indices[-len(order) :] if order else indices
    turns = dict(zip(order or channels[0][1], rotations, strict=True))
    shifts = dict(zip(AXES, indices, strict=False))
    return tuple((shifts if kind == 'T' else turns)[axis] for kind, axis in map(tuple, channels))


def moving(
    name: str,
    parent: str,
    child: str,
    origin: Array,
    order: str,
    limits: Sequence[tuple[float, float]] | None = None,
    floating: bool = False,
) -> Joint:
    """A joint that turns about the axes of `order`, one after the other; fixed if it is ''.

    `limits` [rad] are in the order of the rotations.
    """
    kind = 'floating' if floating else ('fixed', 'revolute', 'universal', 'ball')[len(order)]
    if kind in ('fixed', 'floating'):
        return Joint(name, kind, parent, child, origin, rotation_order=order)
    lower, upper = np.array(limits or [(-math.inf, math.inf)] * len(order)).T
    if kind == 'revolute':
        kind = 'continuous' if np.isinf([lower, upper]).all() else kind
        axis = np.eye(3)[AXES.index(order)]
        return Joint(name, kind, parent, child, origin, axis, float(lower[0]), float(upper[0]))
    return Joint(name, kind, parent, child, origin, lower=lower, upper=upper, rotation_order=order)


def translation(offset: Sequence[float] | Array) -> Array:
    """The transform (4, 4) of a shift [m]."""
    result = np.eye(4)
    result[:3, 3] = offset
    return result


def rotation(axes: str, angles: Iterable[float]) -> Array:
    """The transform (4, 4) of rotations about fixed axes, in their order: 'XYZ' is Rz Ry Rx."""
    result = np.eye(4)
    for axis, angle in zip(axes, angles, strict=True):
        i, j = [(1, 2), (2, 0), (0, 1)][AXES.index(axis)]
        turn = np.eye(4)
        turn[i, i] = turn[j, j] = math.cos(angle)
        turn[j, i] = math.sin(angle)
        turn[i, j] = -turn[j, i]
        result = turn @ result
    return result


def checked_positive(value: float, name: str, unit: str) -> float:
    """Return an option that has to be a number from 1e-6 to 1e6. Raises InvalidOption."""
    if not isinstance(value, (int, float)) or not 1e-6 <= value <= 1e6:
        raise InvalidOption(f'{name} {value!r} [{unit}] must be a number from 1e-6 to 1e6')
    return float(value)


def _check_names(figure: str, what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise MocapError(f'two {what}s of the figure {figure!r} are called {name!r}')
        seen.add(name)
