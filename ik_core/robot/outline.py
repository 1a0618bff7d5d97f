# SPDX-License-Identifier: Apache-2.0
"""Lines that outline a robot in pictures: bones between its joints, and arcs for their ranges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array
from .kinematics import KIND, MULTIPLIER, OFFSET, PARENT, REVOLUTE, VARIABLE
from .robot import Robot

STEPS = 36  # Lines of an arc
# Factor of the radius for each further joint at the same place; share lost in a turn
SMALLER, SPIRAL = 0.8, 0.15
AT_LIMIT = np.radians(0.5)  # [rad] A joint nearer to its limit counts as at the limit
SAME_PLACE = 1e-6  # [m] Points closer than this are at the same place


def bones(robot: Robot) -> Iterator[tuple[int, Array]]:
    """The bones of a robot: a body, -1 for the root, and where its bone ends (3,) [m].

    A bone goes from the origin of the body to the next joint, or to the farthest link on the body.
    The end is in the body's frame.
    """
    for k, parent in enumerate(robot.tree[:, PARENT].tolist()):
        yield from _of_some_length(parent, robot.geometry[k, 9:12])
    deepest = {place.body: place.depth for place in robot.places.values()}
    for place in robot.places.values():
        deepest[place.body] = max(deepest[place.body], place.depth)
    for place in robot.places.values():
        if place.depth > 0 and place.depth == deepest[place.body]:
            yield from _of_some_length(place.body, place.transform[:3, 3])


def _of_some_length(body: int, end: Array) -> Iterator[tuple[int, Array]]:
    if np.linalg.norm(end) > SAME_PLACE:
        yield body, end


def body_poses(robot: Robot, q: Array) -> tuple[Array, Array]:
    """Rotations (K + 1, 3, 3) and origins (K + 1, 3) [m] of the root and the bodies at q (n,).

    The root comes first, so body k is at k + 1.
    """
    frames = robot.frames(q)
    rotations = np.concatenate([np.eye(3)[None], frames[:, :9].reshape(-1, 3, 3)])
    return rotations, np.concatenate([np.zeros((1, 3)), frames[:, 9:]])


def bone_lines(robot: Robot, q: Array) -> Array:
    """The bones at q (n,) as lines (B, 2, 3) [m] in the root link's frame."""
    rotations, origins = body_poses(robot, q)
    lines = [
        (origins[body + 1], origins[body + 1] + rotations[body + 1] @ end)
        for body, end in bones(robot)
    ]
    return np.array(lines).reshape(-1, 2, 3)


class LimitArcs:
    """Arcs for the ranges of the revolute joints that have one; of mimic joints, too.

    An arc lies across the axis of its joint, at the joint. Its middle line is where the part that
    the joint carries may point: the tick is where it points now. A range of more than a turn is a
    spiral.

    radius [m] : of the arcs; those of further joints at the same place are smaller
    bodies (A,) : the bodies that the joints carry
    lower, upper (A,) [rad] : the ends of their ranges
    """

    def __init__(self, robot: Robot, radius: float) -> None:
        joint, scale = robot.tree[:, VARIABLE], robot.geometry[:, MULTIPLIER]
        ends = np.sort(scale * np.array([robot.lower, robot.upper])[:, joint], axis=0)
        ends += robot.geometry[:, OFFSET]
        turns = (robot.tree[:, KIND] == REVOLUTE) & np.isfinite(ends).all(axis=0)
        self.bodies = np.flatnonzero(turns)
        self.lower, self.upper = ends[:, self.bodies]
        self._robot = robot
        pointing = _pointing(robot)[self.bodies]
        self._zero = np.arctan2(pointing[:, 1], pointing[:, 0])
        self._radius = radius * SMALLER ** _stacked(robot)[self.bodies]

    def values(self, q: Array) -> Array:
        """The joints' angles (A,) [rad] at q (n,)."""
        rows = self._robot.geometry[self.bodies]
        angles: Array = rows[:, MULTIPLIER] * q[self._robot.tree[self.bodies, VARIABLE]]
        return angles + rows[:, OFFSET]

    def at_limit(self, q: Array) -> NDArray[np.bool_]:
        """Mark the joints (A,) that are within AT_LIMIT of a limit, or beyond it."""
        values = self.values(q)
        return np.asarray(np.minimum(values - self.lower, self.upper - values) < AT_LIMIT)

    def lines(self, q: Array) -> tuple[Array, Array]:
        """Lines (A, S, 2, 3) [m] of the arcs with their two sides, and ticks (A, 2, 3) [m]."""
        values, (rotations, origins) = self.values(q), body_poses(self._robot, q)
        rotations, origins = rotations[self.bodies + 1], origins[self.bodies + 1]
        angles = np.linspace(self.lower, self.upper, STEPS + 1, axis=1)
        over = np.where(self.upper - self.lower > 2.0 * np.pi, SPIRAL, 0.0)[:, None]
        radii = self._radius[:, None] * (1.0 - over * (self.upper[:, None] - angles) / (2 * np.pi))
        turned = angles - values[:, None] + self._zero[:, None]
        local = np.stack([radii * np.cos(turned), radii * np.sin(turned), 0.0 * radii], axis=2)
        arcs = local @ rotations.swapaxes(1, 2) + origins[:, None]
        sides = np.stack([np.stack([origins, arcs[:, k]], axis=1) for k in (0, -1)], axis=1)
        lines = np.concatenate([np.stack([arcs[:, :-1], arcs[:, 1:]], axis=2), sides], axis=1)
        along = np.stack([np.cos(self._zero), np.sin(self._zero), 0.0 * self._zero], axis=1)
        tips = origins + self._radius[:, None] * (rotations @ along[:, :, None])[:, :, 0]
        return lines, np.stack([origins, tips], axis=1)


def _pointing(robot: Robot) -> Array:
    """Return directions (K, 3) perpendicular to each joint's axis z, towards the next joint or
    link.

    They are in the frame of the joint's body; x if nothing lies off the axis.
    """
    ends = np.zeros((len(robot.tree), 3))
    for place in robot.places.values():
        if place.body >= 0 and np.linalg.norm(place.transform[:3, 3]) > SAME_PLACE:
            ends[place.body] = place.transform[:3, 3]
    for k in range(len(robot.tree) - 1, -1, -1):  # what is carried comes later
        parent, shift = int(robot.tree[k, PARENT]), robot.geometry[k, 9:12]
        if parent >= 0 and np.linalg.norm(shift) > SAME_PLACE:
            ends[parent] = shift
        elif parent >= 0 and not ends[parent].any():
            ends[parent] = robot.geometry[k, :9].reshape(3, 3) @ ends[k]
    ends[:, 2] = 0.0
    ends[np.linalg.norm(ends, axis=1) <= SAME_PLACE] = (1.0, 0.0, 0.0)
    return ends


def _stacked(robot: Robot) -> NDArray[np.int64]:
    """Numbers (K,) of joints before each with the same origin, as in a ball joint."""
    count = np.zeros(len(robot.tree), np.int64)
    for k, parent in enumerate(robot.tree[:, PARENT].tolist()):
        if parent >= 0 and np.linalg.norm(robot.geometry[k, 9:12]) <= SAME_PLACE:
            count[k] = count[parent] + 1
    return count
