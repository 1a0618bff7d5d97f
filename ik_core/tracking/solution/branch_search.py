# SPDX-License-Identifier: Apache-2.0
"""A search for the nearest solution whose straight joint path is free of collisions.

A seeded solve ends on the nearest branch. If links or obstacles are on the straight way there,
seeded solves from other starts, which lie farther and farther from the joints, find other
branches. The nearest one with a free straight path is taken; without one, the nearest of all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...maths.rotations import Array
from ...optim.search import Budget, Clock, Search
from ...problem import IkProblem
from ...solvers import Solver

STARTS = 64
FIRST = 0.2  # fraction of the way from the joints to a random configuration, for the first start


class BranchSearch:
    """Seeded solves from `STARTS` starts, as many in a tick as there is time for.

    solver : makes one attempt from a start
    near (n,) : where the joints are
    solution (n,) : the one whose path is not free; `best` until there is a better one
    turned : returns a solution with the turns that are nearest to the joints
    is_solved : returns whether errors (G,) [m] and (G,) [rad] are within the tolerances
    is_free : returns whether the straight joint path from `near` to a solution is free
    """

    def __init__(
        self,
        solver: Solver,
        problem: IkProblem,
        near: Array,
        solution: Array,
        turned: Callable[[Array], Array],
        is_solved: Callable[[Array, Array], bool],
        is_free: Callable[[Array], bool],
    ) -> None:
        self.best, self.iterations, self.restarts = solution, 0, 0
        self._solver, self._problem, self._near = solver, problem, near
        self._turned, self._is_solved, self._is_free = turned, is_solved, is_free
        self._distance = np.inf  # of `best`
        self._solve: Search | None = None
        limits, random = problem.limits, np.random.default_rng(0)
        x = near[problem.variables]
        fractions = np.linspace(FIRST, 1.0, STARTS)[:, np.newaxis]
        there = random.uniform(limits.sample_lower, limits.sample_upper, (STARTS, x.size))
        self._starts = x + fractions * (there - x)

    @property
    def done(self) -> bool:
        """True if all starts were tried."""
        return self.restarts == STARTS

    def run(self, seconds: float, clock: Clock) -> None:
        """Continue for a while [s], at least with one solve."""
        end, left, self.iterations = clock() + seconds, seconds, 0
        while not self.done and left > 0.0:
            self._continue(Budget(left))
            left = end - clock()

    def _continue(self, budget: Budget) -> None:
        if self._solve is None:
            start = self._near.copy()
            start[self._problem.variables] = self._starts[self.restarts]
            self._solve, self._counted = self._solver.begin(self._problem, start), 0
        has_ended = self._solve.run(budget)
        found = self._solve.result()
        self.iterations += found.iterations - self._counted
        self._counted = found.iterations
        if not has_ended:
            return
        self._solve = None
        self.restarts += 1
        if self._is_solved(found.position_errors, found.orientation_errors):
            q = self._turned(found.q)
            distance = float(np.linalg.norm(q - self._near))
            if distance < self._distance and self._is_free(q):
                self.best, self._distance = q, distance
