# SPDX-License-Identifier: Apache-2.0
"""Directions in which joints can't move a goal's point, as across a planar arm's plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..maths.rotations import Array, IntArray
from ..robot.robot import Robot
from . import kernels
from .goals import GoalTask

# random configurations: positions are analytic in the joints, so a coordinate that is equal at all
# of these is equal everywhere
SAMPLES = 8
# smaller motions, relative to the largest one, come from rounded axes, as 1.5708 for pi / 2
NO_MOTION = 1e-5
MOTION_ROUNDING = 1e-9  # [m] smaller motions are rounding errors
NO_LIMITS = 1e4  # [rad or m] a joint with a larger range, as 1e6, has no limits
SPREADS = 4.0  # distances along a direction count if they exceed the samples' spread this often


class Immobile(NamedTuple):
    """Directions (k, 3), in the axes of a goal's target, along which its point does not move.

    heights (k,) : mean coordinate [m] of the point along each direction, over all samples
    spreads (k,) : difference of the largest and the least of these coordinates [m]
    """

    directions: Array
    heights: Array
    spreads: Array

    def offsets(self, points: Array) -> Array:
        """Distances (..., k) [m] of points (..., 3) along each direction; 0 within its spread."""
        gaps = points @ self.directions.T - self.heights
        return np.asarray(np.where(np.abs(gaps) > SPREADS * self.spreads, gaps, 0.0), float)


def immobile(robot: Robot, goal: GoalTask, joints: ArrayLike, q: Array) -> Immobile:
    """Find the directions in which the joints, given by indices into q, never move a goal's point.

    The joints move over their whole ranges. Only directions that the goal constrains, with a
    weight and without a box, count.

    q (n,) : values of all other joints
    """
    samples = random_configurations(robot, joints, q, SAMPLES)
    points = np.array([goal.frame_at(robot, robot.frames(x))[9:] for x in samples])
    asked = asked_components(goal)
    motions = (points - points.mean(axis=0))[:, asked]
    _, values, rows = np.linalg.svd(motions, full_matrices=False)
    directions = np.zeros((len(rows), 3))
    directions[:, asked] = rows
    largest = values.max(initial=0.0)
    directions = directions[values <= max(NO_MOTION * largest, MOTION_ROUNDING)]
    along = points @ directions.T
    return Immobile(directions, along.mean(axis=0), np.ptp(along, axis=0))


def random_configurations(robot: Robot, joints: ArrayLike, q: Array, count: int) -> Array:
    """Copies (count, n) of q (n,) with random values of some joints, given by their indices.

    Values are inside the limits. A joint with equal limits, or without limits, has a range of 2 pi
    [rad or m].
    """
    columns = np.array(joints, int)
    low, high = robot.lower[columns], robot.upper[columns]
    middle = robot.middle_configuration[columns]
    no_range = (high - low > NO_LIMITS) | (high <= low)
    low, high = np.where(no_range, [middle - np.pi, middle + np.pi], [low, high])
    samples = np.tile(q, (count, 1))
    samples[:, columns] = np.random.default_rng(0).uniform(low, high, (count, len(columns)))
    return samples


def asked_components(goal: GoalTask) -> IntArray:
    """Indices of the root's axes along which a goal fixes the position.

    They are all three or none if the components of the position are along other axes.
    """
    weights = goal.position_weights
    if goal.position_turn is not None or goal.position_axes != kernels.ROOT_AXES:
        whole = weights.all() and not goal.position_box.any()
        return np.arange(3) if whole else np.arange(0)
    return np.flatnonzero((weights > 0.0) & (goal.position_box == 0.0))


def named_directions(directions: Array) -> str:
    """Names of directions (k, 3): 'z', 'x or y', '(0.6, 0, 0.8)', 'any direction'."""
    if len(directions) == 3:
        return 'any direction'
    lengths = np.linalg.norm(directions, axis=0)
    axes = [name for name, part in zip('xyz', lengths, strict=True) if part > 1.0 - NO_MOTION]
    if len(axes) == len(directions):
        return ' or '.join(axes)
    return ' or '.join(
        f'({", ".join(f"{abs(value) and value:.3g}" for value in row.round(4))})'
        for row in directions
    )
