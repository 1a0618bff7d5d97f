# SPDX-License-Identifier: Apache-2.0
"""The problem that a tracker solves: the user's, with tight tolerances, inside motion limits."""

from __future__ import annotations

import copy

import numpy as np

from ...problem import IkProblem
from ..governor.motion_limits import MotionLimits


def with_tight_tolerances(
    problem: IkProblem, limits: MotionLimits, tolerances: tuple[float, float]
) -> IkProblem:
    """Return a problem like this one with tasks of its own, whose goals all have a target.

    tolerances : the requested ones [m, rad]

    Raises InvalidOption, UnsupportedProblem.
    """
    limits.check_size(problem.robot.n)
    problem.check_without_constraints()
    problem.check_without_avoid('a Tracker')
    # A hundredth of the tolerances: a slowly dragged goal then moves the arm smoothly, not by one
    # tolerance at a time. Rounding keeps solutions from being better than 1e-10 m or rad.
    position, orientation = (min(value, max(0.01 * value, 1e-10)) for value in tolerances)
    tight = IkProblem(
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
    for goal in tight.goals:
        if np.isnan(goal.target).any():  # any target will do until there is a goal
            goal.set_target(np.eye(4))
    return tight
