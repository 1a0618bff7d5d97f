# SPDX-License-Identifier: Apache-2.0
"""Searches for goals whose position comes first, by arms with too few joints for whole poses.

Beside a position that weighs a million times as much, an orientation is the flat bottom of a
curved valley: descents take hundreds of iterations along it, and an arm of five joints misses
three of four poses that it can reach. So the parts of goals have equal weights at first. If that
does not reach the goals, a descent with the problem's own weights continues from its end.

Equal weights and restarts reach most poses that can be reached. If the orientation's tolerance is
large, a descent near the start may keep it, so that comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple

from ..maths.argument_types import VectorLike
from ..maths.rotations import Array
from ..problem import IkProblem
from ..result import IkResult, IkStatus
from .search import Clock, Search

# [rad] Closest points with equal weights hardly ever miss an orientation by less.
LARGE_TOLERANCE = 1e-3
Begin = Callable[[IkProblem, VectorLike | None], Search]


def best_of(results: list[IkResult]) -> IkResult:
    """Return the result that reaches the goals or costs least; the last one of equals."""
    return min(reversed(results), key=lambda result: (not result.success, result.cost))


class Stage(Enum):
    """Stages of a search for goals that put the position first, in words."""

    ALIKE_ONCE = 'equal weights, without restarts'
    ONCE = 'the weights asked for, without restarts'
    ALIKE = 'equal weights, with restarts'
    ALL = 'the weights asked for, with restarts'

    @property
    def is_alike(self) -> bool:
        """True if position and orientation have equal weights in this stage."""
        return self in (Stage.ALIKE_ONCE, Stage.ALIKE)


Stages = Generator[tuple[Stage, Array], IkResult, None]


def begins_with_restarts(problem: IkProblem, restarts: bool) -> bool:
    """Return whether the first stage has restarts."""
    return restarts and problem.orientation_tolerance <= LARGE_TOLERANCE


def stages(problem: IkProblem, q0: Array, restarts: bool) -> Stages:
    """Yield stages from q0 (n,), each with its start, until one reaches the goals.

    It is sent the result of each.
    """
    ends: list[IkResult] = []
    has_begun = begins_with_restarts(problem, restarts)
    if has_begun:
        ends.append((yield Stage.ALIKE, q0))
    first = yield Stage.ALIKE_ONCE, q0
    ends += [first, (yield Stage.ONCE, first.q)]
    if not restarts:
        return
    if not has_begun:
        ends.append((yield Stage.ALIKE, q0))
    ends.append((yield Stage.ONCE, ends[0 if has_begun else -1].q))
    if (best_of(ends).position_errors > problem.position_tolerance).any():
        yield Stage.ALL, q0


class Begins(NamedTuple):
    """Functions that begin the search of each `Stage`; `alike` is None without restarts."""

    alike_once: Begin
    once: Begin
    alike: Begin | None
    all: Begin


class PositionFirstSearch(Search):
    """Searches with equal weights, each followed by one with the problem's own weights.

    Those with restarts answer most goals. If all miss a position, as they may with joints at their
    limits, one with the problem's own weights begins at the start again (`stages`).

    known : results of stages with equal weights that were found before
    """

    def __init__(
        self,
        problem: IkProblem,
        q0: VectorLike | None,
        clock: Clock,
        begins: Begins,
        known: Mapping[Stage, IkResult] | None = None,
    ) -> None:
        super().__init__(problem, q0, clock)
        self._alike, self._begins, self._known = alike_of(problem), begins, known or {}
        self._frames = [goal.target.copy() for goal in problem.goals]
        self._ended: list[IkResult] = []
        self._stages = stages(problem, self.q0, begins.alike is not None)
        stage, start = next(self._stages)
        self._stage, self._search = stage, self._search_of(stage, start)

    def _search_of(self, stage: Stage, start: Array) -> Search | None:
        """Return the search of a stage; None if its result is known."""
        if stage in self._known:
            return None
        begin: Begin | None = getattr(self._begins, stage.name.lower())
        assert begin is not None
        return self._begun(begin, self._alike if stage.is_alike else self.problem, start)

    def _begun(self, begin: Begin, problem: IkProblem, q0: Array) -> Search:
        """Begin a search for the targets at construction, even if the goals have changed since."""
        goals = problem.goals
        now = [goal.target.copy() for goal in goals]
        for goal, frame in zip(goals, self._frames, strict=True):
            goal.target[:] = frame
        search = begin(problem, q0)
        for goal, frame in zip(goals, now, strict=True):
            goal.target[:] = frame
        return search

    def iterate_until(self, deadline: float | None, iterations: int | None) -> None:
        while self.status is None:
            search, before = self._search, 0
            if search is not None:
                before = 0 if iterations is None else search.result().iterations
                search.limited_by = IkStatus.ITERATION_LIMIT
                search.iterate_until(deadline, iterations)
                self.limited_by = search.limited_by
                if not search.done:
                    return
            self._ended.append(self._judged())
            following = self._next_stage(self._ended[-1])
            if following is None:
                self.status = best_of(self._ended).status
                return
            if search is not None and iterations is not None:
                iterations -= self._ended[-1].iterations - before
            self._stage, start = following
            self._search = self._search_of(self._stage, start)

    def _next_stage(self, ended: IkResult) -> tuple[Stage, Array] | None:
        """Return the stage after one that has ended; None if it reached the goals or was last."""
        if ended.success:
            return None
        try:
            return self._stages.send(ended)
        except StopIteration:
            return None

    def _judged(self) -> IkResult:
        """Return the result of the running stage, with the cost for the problem's own weights."""
        search = self._search
        found = self._known[self._stage] if search is None else search.result()
        if not self._stage.is_alike:
            return found
        counts = found.iterations, found.evaluations, found.restarts
        return self.finish(found.q[self.problem.variables], *counts, found.history)

    def result(self) -> IkResult:
        """Return the best so far, with the effort of all searches."""
        results = self._ended if self.done else [*self._ended, self._judged()]
        if len(results) == 1:
            return replace(results[0], solve_time=self.solve_time)
        return replace(
            best_of(results),
            iterations=sum(result.iterations for result in results),
            evaluations=sum(result.evaluations for result in results),
            restarts=sum(result.restarts for result in results),
            solve_time=self.solve_time,
            history=tuple(cost for result in results for cost in result.history),
        )

    @property
    def x(self) -> Array:
        return super().x if self._search is None else self._search.x

    def stay_on_branch(self) -> None:
        """Search with the problem's own weights only: equal ones may lead to another branch."""
        begins = self._begins
        begin = begins.once if begins.alike is None else begins.all
        self._stage, self._search = Stage.ALL, begin(self.problem, self.q0)
        self._stages.close()
        self._search.stay_on_branch()

    def memory(self) -> Any:
        search = self._asked_search
        return None if search is None else search.memory()

    def resume(self, memory: Any) -> None:
        search = self._asked_search
        if search is not None:
            search.resume(memory)

    @property
    def _asked_search(self) -> Search | None:
        """The running search, if it has the problem's own weights."""
        return None if self._stage.is_alike else self._search


def alike_of(problem: IkProblem) -> IkProblem:
    """Return the problem with equal weights, with the tolerances that a problem has now."""
    alike = problem.equally_weighted
    assert alike is not None
    if alike.tolerances != problem.tolerances:
        alike.position_tolerance, alike.orientation_tolerance = problem.tolerances
    return alike
