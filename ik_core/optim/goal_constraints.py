# SPDX-License-Identifier: Apache-2.0
"""Secondary tasks with the goals as constraints: what `augmented_lagrangian` and `sqp` share.

Once the goals are reached, these two do not project onto the goals' null space as
`null_space` does, but go on to solve

    minimise |s(x)|^2   subject to   r(x) = 0,   l <= x <= u

for the secondary tasks' residual s and the goals' residual r ([TakKo] section 4.3; the Lagrange
route of [Dorta2014] section 3.1.2). Their iterates may leave the goals, so they may end on another
branch than null-space motion. Only iterates that have the goals within tolerance count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ..maths.rotations import Array
from ..problem import Evaluation, IkProblem

MAX_LINE_ITERATIONS = 50

LEAST_MOVE = 1e-7  # The search ends at an iterate that moves no joint by more [rad or m]


class GoalEqualities(ABC):
    """Constrained minimisation from variables x that reach the goals.

    `current` is the iterate, inside the limits. `at` is the last one that reached the goals and
    was better than x. It need not be the best: within the tolerances a larger |r| buys a lower
    |s|^2, which is not wanted.
    """

    def __init__(self, problem: IkProblem, x: Array) -> None:
        self.problem = problem
        self.evaluations = 0
        self.at: Evaluation = self.evaluate(x)
        self.current = self.at
        self.first_cost = self.secondary_cost(x, begins=True)
        self.iterations = 0
        self.done = False

    @property
    def x(self) -> Array:
        """The variables of `at`."""
        return self.at.x

    def iterate(self) -> None:
        """Do one iteration; set `done` if it hardly moves, or was the last one allowed."""
        self.iterations += 1
        before = self.current
        self.current = self.next_iterate()
        self._keep()
        moved = np.max(np.abs(self.current.x - before.x))
        self.done = moved <= LEAST_MOVE or self.iterations >= MAX_LINE_ITERATIONS

    @abstractmethod
    def next_iterate(self) -> Evaluation:
        """Return the iterate after `current`, or `current` if none is better."""

    def evaluate(self, x: Array) -> Evaluation:
        """Evaluate the goals at variables x."""
        self.evaluations += 1
        return self.problem.at(x)

    def secondary_cost(self, x: Array, begins: bool = False) -> float:
        """Return |s|^2 at variables x; `begins` as for `secondary_at`."""
        residual, _ = self.problem.evaluator.secondary_at(x, begins)
        return float(residual @ residual)

    def _keep(self) -> None:
        at = self.current
        reached = self.problem.is_solved(at.position_errors, at.orientation_errors)
        if reached and self.secondary_cost(at.x) < self.first_cost:
            self.at = at
