# SPDX-License-Identifier: Apache-2.0
"""The problem that a tracker solves: its user's, finer, and inside the limits of the motion."""

from __future__ import annotations

import copy

import numpy as np

from ..problem import IkProblem
from .motion_limits import MotionLimits

PRECISION = 0.01
"""Solutions are this much finer than the tolerances: a slowly dragged goal then moves the arm
smoothly, not by one tolerance at a time."""
FINEST_TOLERANCE = 1e-10
"""[m, rad] Rounding keeps solutions from being finer."""


def finer_problem(
    problem: IkProblem, limits: MotionLimits, tolerances: tuple[float, float]
) -> IkProblem:
    """A problem like this one with tasks of its own; all goals have a target."""
    limits.check_size(problem.robot.n)
    problem.check_without_constraints()
    problem.check_without_avoid('a Tracker')
    position, orientation = map(_finer, tolerances)
    finer = IkProblem(
        problem.robot,
        copy.deepcopy((*problem.goals, *problem.other_tasks)),
        secondary=copy.deepcopy(problem.levels),
        frozen_joints=problem.frozen_joints,
        lower=limits.lower,
        upper=limits.upper,
        position_tolerance=position,
        orientation_tolerance=orientation,
        orientation_length=problem.orientation_length,
    )
    for goal in finer.goals:
        if np.isnan(goal.target).any():  # a place to begin with
            goal.set_target(np.eye(4))
    return finer


def _finer(tolerance: float) -> float:
    return min(tolerance, max(PRECISION * tolerance, FINEST_TOLERANCE))
