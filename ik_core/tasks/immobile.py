# SPDX-License-Identifier: Apache-2.0
"""Directions in which joints can't move a goal's point, as a planar arm out of its plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..maths.rotations import Array, IntArray
from ..robot.robot import Robot
from . import kernels
from .goals import GoalTask

SAMPLES = 6
"""Random configurations, whatever the limits: derivatives are analytic, so one that is zero at all
of these is zero everywhere."""
NO_MOTION = 1e-4
"""Singular values below this share of the largest are those of rounded axes, as 1.5708 for pi / 2,
not of a joint that moves the point."""
SPREADS = 4.0
"""Distances along a direction count if they exceed this many times the spread of the samples."""


class Immobile(NamedTuple):
    """Directions (k, 3) in the axes of a goal's target along which its point does not move.

    heights (k,) : mean coordinate of the point along each, of all samples [m]
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
    """Find the directions in which these joints, as indices into q, never move a goal's point.

    Only directions that the goal asks for, with a weight and without a box, count.

    q (n,) : values of all other joints
    """
    columns = np.array(joints, int)
    rng = np.random.default_rng(0)
    samples = np.tile(q, (SAMPLES, 1))
    samples[:, columns] = rng.uniform(-np.pi, np.pi, (SAMPLES, len(columns)))
    frames = np.array([goal.frame_at(robot, robot.frames(x)) for x in samples])
    chain = robot.jacobian(samples, goal.link, goal.relative_to)
    origins = robot.forward_kinematics(samples, goal.link, goal.relative_to)[:, :3, 3]
    arms = (frames[:, 9:] - origins)[:, :, np.newaxis]
    motions = chain[:, :3] + np.cross(chain[:, 3:], arms, axisa=1, axisb=1, axisc=1)
    asked = asked_components(goal)
    stacked = np.hstack(list(motions[:, asked][:, :, columns]))
    u, values, _ = np.linalg.svd(stacked, full_matrices=True)
    values = np.concatenate([values, np.zeros(len(u) - len(values))])
    directions = np.zeros((len(u), 3))
    directions[:, asked] = u.T
    largest = values[0] if len(values) else 0.0
    directions = directions[values <= NO_MOTION * largest]
    along = frames[:, 9:] @ directions.T
    return Immobile(directions, along.mean(axis=0), np.ptp(along, axis=0))


def asked_components(goal: GoalTask) -> IntArray:
    """Indices of the root's axes along which a goal asks for an exact position.

    All three or none if its components are along other axes.
    """
    weights = goal.position_weights
    if goal.position_turn is not None or goal.position_axes != kernels.ROOT_AXES:
        whole = weights.all() and not goal.position_box.any()
        return np.arange(3) if whole else np.arange(0)
    return np.flatnonzero((weights > 0.0) & (goal.position_box == 0.0))


def named_directions(directions: Array) -> str:
    """Directions (k, 3) in words, as 'z', 'x or y', '(0.6, 0, 0.8)', 'any direction'."""
    if len(directions) == 3:
        return 'any direction'
    shares = np.linalg.norm(directions, axis=0)
    axes = [name for name, share in zip('xyz', shares, strict=True) if share > 1.0 - NO_MOTION]
    if len(axes) == len(directions):
        return ' or '.join(axes)
    return ' or '.join(
        f'({", ".join(f"{abs(value) and value:.3g}" for value in row.round(4))})'
        for row in directions
    )
