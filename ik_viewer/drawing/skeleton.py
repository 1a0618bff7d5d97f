# SPDX-License-Identifier: Apache-2.0
"""Skeletons for robots without shapes, drawn from the positions of joints.

Each joint has a housing along its axis, or a ball if it turns about several axes. Bones connect
the joints, and the links at the ends. Prismatic joints have a rail as long as their range.
"""

from __future__ import annotations

import numpy as np

from ik_core import Robot
from ik_core.maths.rotations import Array, shortest_turn_onto, transform_of
from ik_core.robot.kinematics import KIND, PARENT, PRISMATIC
from ik_core.robot.outline import bones

from .shapes import Box, Colour, Cylinder, Shape, Solid, Sphere, shifted

BONE: Colour = (222, 226, 232)
JOINT: Colour = (74, 94, 122)
THICKNESS, THINNEST, USUAL = 0.11, 0.25, 0.75


def skeleton(robot: Robot) -> list[Shape]:
    """Shapes for all bodies of a robot; of one without any extent a ball."""
    drawn = list(bones(robot))
    lengths = [float(np.linalg.norm(end)) for _, end in drawn]
    usual = float(np.quantile(lengths, USUAL)) if lengths else 0.1
    shapes: list[Shape] = []
    for (body, end), length in zip(drawn, lengths, strict=True):
        radius = THICKNESS * min(max(length, THINNEST * usual), usual)
        shapes += _bone(body, end, length, radius)
    housings = THICKNESS * usual * 1.35
    return shapes + [shape for k in range(len(robot.tree)) for shape in _joint(robot, k, housings)]


def _bone(body: int, end: Array, length: float, radius: float) -> list[Shape]:
    """Return a capsule from the origin of the body to `end` (3,) [m]."""
    middle = np.eye(4)
    middle[:3, :3] = shortest_turn_onto(end / length)
    middle[:3, 3] = 0.5 * end
    return [
        Shape(body, middle, Cylinder(radius, length), BONE),
        Shape(body, shifted(end), Sphere(radius), BONE),
    ]


def _joint(robot: Robot, k: int, radius: float) -> list[Shape]:
    """Return the shape of joint k: a solid on the body that it moves, or a rail on its parent."""
    if robot.tree[k, KIND] == PRISMATIC:
        return _rail(robot, k, radius)
    solid: Solid = Sphere(radius) if _is_one_of_several(robot, k) else Cylinder(radius, 2 * radius)
    return [Shape(k, np.eye(4), solid, JOINT)]


def _is_one_of_several(robot: Robot, k: int) -> bool:
    """Return whether a joint is part of a group that turns about several axes."""
    name = robot.body_names[k]
    several = (group for group in robot.joint_groups if len(group.indices) > 1)
    return any(robot.joint_names[i] == name for group in several for i in group.indices)


def _rail(robot: Robot, k: int, radius: float) -> list[Shape]:
    """Return a rail along the range of a prismatic joint; none without limits."""
    name, frame = robot.body_names[k], transform_of(robot.geometry[k, :12])
    i = robot.tree[k, 2]
    multiplier, offset = robot.geometry[k, 12:14]
    ends = np.sort(multiplier * np.array([robot.lower[i], robot.upper[i]]) + offset)
    if not np.isfinite(ends).all() or name.partition('/')[0] != name:
        return []
    middle = frame @ shifted(np.array([0.0, 0.0, ends.mean()]))
    length = float(ends[1] - ends[0])
    side = min(radius, max(0.2 * length, 0.1 * radius))
    rail = Shape(int(robot.tree[k, PARENT]), middle, Box((side, side, length)), JOINT)
    return [rail, Shape(k, np.eye(4), Box((2 * side,) * 3), JOINT)]
