# SPDX-License-Identifier: Apache-2.0
"""The goals once more, to judge what is commanded: errors, and how near a singularity is."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..maths.rotations import Array, IntArray, frame_of
from ..maths.safe import least_squares, singular_values
from ..problem import IkProblem
from ..tasks import kernels
from ..tasks.goals import GoalTask
from ..tasks.packing import PackedGoals

SAMPLES = 16
"""Configurations among which one that is not singular is looked for."""
DEPENDENT = 1e-6
"""Share of the largest singular value below which rows depend on each other there."""
LOOK_AHEAD = 0.01
"""[rad or m] How far along a jog its condition number is compared."""
SINGULAR = 1e-12
"""Share of the largest singular value below which the smallest counts as 0."""


class GoalMonitor:
    """The goals of a problem at any q (n,), for targets (12,), one for each goal."""

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
        """The position [m] and orientation [rad] errors, (G,) each."""
        self._update(q, targets)
        errors = self._goals.errors
        return errors[:, 0].copy(), errors[:, 1].copy()

    def no_errors(self) -> tuple[Array, Array]:
        """Errors (G,) each that are reported when no goal is set."""
        return np.zeros(len(self._goals.goals)), np.zeros(len(self._goals.goals))

    def condition_number(self, q: Array, targets: Iterable[Array]) -> float:
        """The largest singular value of the goals' Jacobian by the smallest; inf: singular.

        The orientation of a goal that puts the position first does not count: its rows can't make
        a tip lose a direction. Nor does a direction that an arm of few joints never has, as those
        of a planar arm have none across their plane.
        """
        self._update(q, targets)
        values = singular_values(self._rows())
        independent = min(values.size, self._rank)
        smallest = values[independent - 1] if independent else 0.0
        if not smallest > SINGULAR * values[0]:
            return math.inf
        return float(values[0] / smallest)

    def ahead(self, q: Array, twists: Array) -> Array:
        """A q (n,) a little further on, by twists (G, 6) of the goals' links."""
        goals, q = self._goals, q.copy()
        chains = [(goal.link, goal.relative_to) for goal in goals.goals]
        jacobian = np.vstack([self._robot.jacobian(q, *chain) for chain in chains])
        for goal in self._first:
            jacobian[6 * goal + 3 : 6 * goal + 6] = 0.0
        step = least_squares(jacobian[:, goals.variables], twists.ravel(), 1e-3)
        largest = np.max(np.abs(step))
        if largest > 0.0:
            q[goals.variables] += LOOK_AHEAD / largest * step
        return q

    def jog_share(
        self, q: Array, targets: list[Array], twists: Array, slow: float, stop: float
    ) -> float:
        """The share of its speed that a jog keeps: less on the way into a singularity.

        twists (G, 6) : of the tips. slow, stop : the condition numbers from which on a jog gets
            slower, and at which it stops
        """
        if not twists.any():
            return 1.0
        here = self.condition_number(q, targets)
        if here <= slow:
            return 1.0
        if self.condition_number(self.ahead(q, twists), targets) <= here:
            return 1.0
        return max(0.0, (stop - here) / (stop - slow)) if stop > slow else 0.0

    def _rows(self) -> Array:
        """The rows of the goals' Jacobian that count, where `update` was called last."""
        jacobian = self._goals.jacobian()
        return jacobian if self._counting_rows is None else jacobian[self._counting_rows]

    def _find_counting_rows(self) -> IntArray | None:
        """The rows that count; None if all do."""
        if not self._first:
            return None
        goals = self._goals
        columns = goals.table[:, kernels.ROWS : kernels.GEOMETRIC].copy()
        for i, owner in enumerate(goals.owners):
            if owner in self._first:
                columns[i, 3:] = -1
        return np.unique(columns[columns >= 0])

    def _find_rank(self, problem: IkProblem) -> int:
        """How many of the rows that count are independent, at most, inside the limits."""
        robot, rng, rank = problem.robot, np.random.default_rng(0), 0
        lower, upper = np.clip([robot.lower, robot.upper], -np.pi, np.pi)
        for _ in range(SAMPLES):
            self._update(rng.uniform(lower, upper), [frame_of(np.eye(4))] * len(problem.goals))
            values = singular_values(self._rows())
            rank = max(rank, int((values > DEPENDENT * values[0]).sum()))
        return rank

    def _update(self, q: Array, targets: Iterable[Array]) -> None:
        goals = self._goals
        goals.load_frozen(q)
        goals.set_targets(list(targets))
        goals.update(q[self._columns])


def _redundant_rows(goal: GoalTask) -> int:
    """How many rows of a goal depend on its others, wherever it is."""
    if not goal.rotation_weights.any():
        return 0
    return {kernels.AXIS: 1, kernels.TWO_AXES: 3}.get(goal.rotation, 0)


def packed_goals(problem: IkProblem) -> PackedGoals:
    """The goals of a problem in arrays of their own."""
    return PackedGoals(problem.robot, problem.goals, problem.variables, problem.orientation_length)
