# SPDX-License-Identifier: Apache-2.0
"""Errors of the commanded joints, and how near a singularity is."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ...maths.rotations import Array, IntArray, frame_of
from ...maths.safe import least_squares, singular_values
from ...problem import IkProblem
from ...robot.robot import Robot
from ...tasks import kernels
from ...tasks.goals import GoalTask
from ...tasks.packing import PackedGoals

# [m^2/rad^2] Weight of joint positions beside the squares of the goals' errors, where a step is
# bent along obstacles.
STIFFNESS = 1e-3
NEAR, FAR = 0.25, 0.5  # [m or rad] residuals between which a detour turns from goals to joints


class GoalMonitor:
    """Copies of the goals of a problem, evaluated at any q (n,) for targets (12,), one each."""

    def __init__(self, problem: IkProblem) -> None:
        self._robot, self._columns = problem.robot, problem.columns
        self._goals = packed_goals(problem)
        self._first = [i for i, goal in enumerate(problem.goals) if goal.puts_position_first]
        self._counting_rows = self._find_counting_rows()
        redundant = sum(map(_redundant_rows, problem.goals))
        self._rank = self._goals.rows - redundant
        if self._first:
            self._rank = self._find_rank(problem)

    def errors(self, q: Array, targets: Iterable[Array]) -> tuple[Array, Array]:
        """Return the position [m] and orientation [rad] errors, (G,) each."""
        self._update(q, targets)
        errors = self._goals.errors
        return errors[:, 0].copy(), errors[:, 1].copy()

    def no_errors(self) -> tuple[Array, Array]:
        """Return the errors, (G,) each, that are reported when no goal is set."""
        return np.zeros(len(self._goals.goals)), np.zeros(len(self._goals.goals))

    def condition_number(self, q: Array, targets: Iterable[Array]) -> float:
        """Return the largest singular value of the goals' Jacobian over the smallest.

        inf at a singularity. The orientation of a goal that puts the position first does not
        count: its rows can't make a tip lose a direction. Nor does a direction that an arm of few
        joints never has, such as across the plane of a planar arm.
        """
        self._update(q, targets)
        values = singular_values(self._rows())
        independent = min(values.size, self._rank)
        smallest = values[independent - 1] if independent else 0.0
        if not smallest > 1e-12 * values[0]:  # 0, but for rounding
            return math.inf
        return float(values[0] / smallest)

    def ahead(self, q: Array, twists: Array) -> Array:
        """Return q (n,) moved by 0.01 rad or m along twists (G, 6) of the goals' links."""
        goals, q = self._goals, q.copy()
        chains = [(goal.link, goal.relative_to) for goal in goals.goals]
        jacobian = np.vstack([self._robot.jacobian(q, *chain) for chain in chains])
        for goal in self._first:
            jacobian[6 * goal + 3 : 6 * goal + 6] = 0.0
        step = least_squares(jacobian[:, goals.variables], twists.ravel(), 1e-3)
        largest = np.max(np.abs(step))
        if largest > 0.0:
            q[goals.variables] += 0.01 / largest * step
        return q

    def jog_fraction(
        self, q: Array, targets: list[Array], twists: Array, slow: float, stop: float
    ) -> float:
        """Return the fraction of its speed that a jog keeps: less on the way into a singularity.

        twists (G, 6) : of the tips
        slow, stop : the condition numbers from which on a jog gets slower, and at which it stops
        """
        if not twists.any():
            return 1.0
        here = self.condition_number(q, targets)
        if here <= slow:
            return 1.0
        if self.condition_number(self.ahead(q, twists), targets) <= here:
            return 1.0
        return max(0.0, (stop - here) / (stop - slow)) if stop > slow else 0.0

    def detour(self, q: Array, targets: Iterable[Array], target: Array) -> tuple[Array, Array]:
        """Return where joints go that obstacles keep from a target, and the inverse of a metric.

        Steps x are measured by M = w J^T J + s, where J are the derivatives of the goals'
        residuals r, and the point (n,) is where w |r + J x|^2 + s |q + x - target|^2 is least.
        The weight w is 1 for residuals below `NEAR`, and s is then `STIFFNESS`: the goals' errors
        count, not those of the joints. Beyond `FAR` w is 0 and s is 1: only the joints count,
        which then always come nearer to the target. Joints that move no goal go to their targets.
        """
        self._update(q, targets)
        goals, jacobian = self._goals, self._goals.jacobian()
        variables, residual = goals.variables, goals.residual
        error = float(np.abs(residual).max(initial=0.0))
        weight = float(np.interp(error, (NEAR, FAR), (1.0, 0.0)))
        stiffness = weight * STIFFNESS + (1.0 - weight)
        metric = weight * jacobian.T @ jacobian + stiffness * np.eye(variables.size)
        inverse, step = np.zeros((q.size, q.size)), target - q
        inverse[np.ix_(variables, variables)] = own = np.linalg.inv(metric)
        step[variables] = own @ (stiffness * step[variables] - weight * jacobian.T @ residual)
        return q + step, inverse

    def _rows(self) -> Array:
        """Return the rows of the goals' Jacobian that count, at the last `_update`."""
        jacobian = self._goals.jacobian()
        return jacobian if self._counting_rows is None else jacobian[self._counting_rows]

    def _find_counting_rows(self) -> IntArray | None:
        """Return the indices of the rows that count; None if all do."""
        if not self._first:
            return None
        goals = self._goals
        columns = goals.table[:, kernels.ROWS : kernels.GEOMETRIC].copy()
        for i, owner in enumerate(goals.owners):
            if owner in self._first:
                columns[i, 3:] = -1
        return np.unique(columns[columns >= 0])

    def _find_rank(self, problem: IkProblem) -> int:
        """Return how many of the rows that count are independent, at most, inside the limits."""
        rank = 0
        for q in sampled_configurations(problem.robot):
            self._update(q, [frame_of(np.eye(4))] * len(problem.goals))
            values = singular_values(self._rows())
            rank = max(rank, int((values > 1e-6 * values[0]).sum()))  # smaller: dependent rows
        return rank

    def _update(self, q: Array, targets: Iterable[Array]) -> None:
        goals = self._goals
        goals.load_frozen(q)
        goals.set_targets(list(targets))
        goals.update(q[self._columns])


def _redundant_rows(goal: GoalTask) -> int:
    """Return how many rows of a goal depend on its others, wherever it is."""
    if not goal.rotation_weights.any():
        return 0
    return {kernels.AXIS: 1, kernels.TWO_AXES: 3}.get(goal.rotation, 0)


def sampled_configurations(robot: Robot) -> Array:
    """Return 16 random configurations (16, n), so that not all are singular."""
    lower, upper = np.clip([robot.lower, robot.upper], -np.pi, np.pi)
    return np.random.default_rng(0).uniform(lower, upper, (16, robot.n))


def packed_goals(problem: IkProblem) -> PackedGoals:
    """Return the goals of a problem in arrays of their own."""
    return PackedGoals(problem.robot, problem.goals, problem.variables, problem.orientation_length)
