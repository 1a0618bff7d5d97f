"""Strict priority between two levels of tasks, by null-space projection.

Once the goals are reached (or as near as they can be), secondary tasks are improved only by
motion that leaves the goals alone: for J of the goals and a residual s with Jacobian Js of the
secondary tasks,

    dq = N z,  N = I - J+ J,  z = argmin |s + Js N z|^2 + mu |z|^2

([Liegeois1977]; [Buss2009] Eq. 7 with the Gauss-Newton step in the place of a gradient). What the
curvature of the goals' manifold adds is taken back by Gauss-Newton steps on the goals, and a step
counts only where the goals stay within their tolerances and the secondary cost falls; otherwise it
is halved. Joints at a limit that the motion would cross are held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..maths.rotations import Array
from ..problem import IkProblem
from ..result import IkResult, IkStatus
from .descent import MUST_REACH, RESTS, SCALES, begin_descent, descend
from .records import SearchRecords, problem_joint_rows, rows_of, sorted_tasks
from .search import Search, SearchOptions

MAX_ITERATIONS = 100


class Descent(Protocol):
    """Lowers the secondary tasks' cost from a point where the goals are met."""

    iterations: int
    done: bool

    @property
    def evaluations(self) -> int:
        """How often the goals were evaluated."""

    @property
    def x(self) -> Array:
        """The variables where it stands."""

    def iterate(self) -> None:
        """Move once, or be done."""


class NullSpaceDescent:
    """The descent of a problem's secondary tasks from variables x that solve its goals.

    Tasks about joints are in the kernel; all others are evaluated by its callback.
    """

    def __init__(self, problem: IkProblem, x: Array, must_reach: bool) -> None:
        self.problem = problem
        self.iterations = 0
        self.done = False
        joint_tasks, patterns, others = sorted_tasks(problem.secondary)
        self._others = [*patterns, *others]
        self._joint_rows = len(x) if joint_tasks else 0
        own = np.array([self._joint_rows])
        self._records = records = SearchRecords(problem, SearchOptions(), own)
        q = problem.configuration(x)
        records.start_at(q)
        rows = self._joint_rows
        if joint_tasks:
            weights, rests, _ = problem_joint_rows(problem, joint_tasks, q)
            vectors = records.search['own_vectors']
            vectors[SCALES], vectors[RESTS] = np.sqrt(weights), rests
        if self._others:
            rows += len(problem.rows_of(self._others, x, begins=True)[0])
            records.call_back_by(self._evaluate_others)
        judges = records.packed is problem.packed  # whether the kernel knows what is reached
        records.search['own_values'][MUST_REACH] = must_reach and judges
        self._second = np.zeros((rows, 2 * len(x) + 1))
        begin_descent(records.search.address, self._second)
        records.check()

    @property
    def x(self) -> Array:
        """The variables where it stands."""
        return self._records.search['x'].copy()

    @property
    def evaluations(self) -> int:
        """See Descent."""
        return self._records.search['evaluations'].item()

    def iterate(self) -> None:
        """Move once, or find that there is nothing left to gain."""
        self.iterations += 1
        ended = descend(self._records.search.address, self._second)
        self._records.check()
        self.done = ended or self.iterations >= MAX_ITERATIONS

    def _evaluate_others(self) -> None:
        asked = self._records.constants['asked']
        rows = len(self._second) - self._joint_rows
        residual, jacobian = (
            rows_of(self.problem, self._others, asked, rows, wants) for wants in (False, True)
        )
        n = jacobian.shape[1]
        self._second[self._joint_rows :, :n] = jacobian
        self._second[self._joint_rows :, 2 * n] = residual


class SecondarySearch(Search):
    """A search, and then the descent of the problem's secondary tasks, in its null space.

    `descend` makes the descent of the problem, the variables where the search ended, and whether
    they reach the goals.
    """

    def __init__(
        self,
        primary: Search,
        descend: Callable[[IkProblem, Array, bool], Descent],
    ) -> None:
        self.primary = primary
        self.descend = descend
        self.problem, self.clock = primary.problem, primary.clock
        self.q0 = primary.q0
        self.status = None
        self.solve_time = 0.0
        self.descent: Descent | None = None
        self._stopped: Array | None = None  # where the next step would collide

    def iterate_until(self, deadline: float | None, iterations: int | None) -> None:
        started = self.primary.result().iterations
        if not self.primary.done:
            self.primary.limited_by = IkStatus.ITERATION_LIMIT
            self.primary.iterate_until(deadline, iterations)
            self.limited_by = self.primary.limited_by
        if not self.primary.done:
            return
        reached = self.primary.result()
        if self.descent is None:
            meets_goals = reached.status is IkStatus.REACHED
            self.descent = self.descend(
                self.problem, reached.q[self.problem.variables], meets_goals
            )
        left = None if iterations is None else iterations - (reached.iterations - started)
        for _ in self.allowed_iterations(deadline, left):
            if self.descent.done:
                break
            before = self.descent.x
            self.descent.iterate()
            if self.problem.avoids and not self.problem.is_free(self.q):
                self._stopped = before
                break
        if self.descent.done or self._stopped is not None:
            self.status = reached.status

    @property
    def x(self) -> Array:
        """See Search."""
        if self._stopped is not None:
            return self._stopped.copy()
        return self.primary.x if self.descent is None else self.descent.x

    def stay_on_branch(self) -> None:
        """See Search."""
        self.primary.stay_on_branch()

    def memory(self) -> Any:
        """See Search."""
        return self.primary.memory()

    def resume(self, memory: Any) -> None:
        """See Search."""
        self.primary.resume(memory)

    def result(self) -> IkResult:
        """The best so far; what is reached for the goals does not wait for the descent."""
        result = self.primary.result()
        if self.descent is None:
            return replace(result, solve_time=self.solve_time)
        lowered = self.finish(
            self.x,
            result.iterations + self.descent.iterations,
            result.evaluations + self.descent.evaluations,
            result.restarts,
            result.history,
        )
        lowered.note = result.note
        lowered.abandoned_evaluations = result.abandoned_evaluations
        return lowered
