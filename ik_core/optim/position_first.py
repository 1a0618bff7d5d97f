"""Searches for goals whose position comes first, by arms with too few joints for whole poses.

Beside a position that weighs a million times as much, an orientation is the flat bottom of a
curved valley: descents take hundreds of iterations along it, and an arm of five joints loses three
of four poses that it can reach. So the parts of goals are weighed alike at first. That reaches
what can be reached; where it ends elsewhere, the descent with the weights asked for goes on from
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from ..maths.rotations import Array
from ..problem import IkProblem
from ..result import IkResult, IkStatus
from .search import Clock, Search

Begin = Callable[[IkProblem, ArrayLike | None], Search]


def best_of(results: list[IkResult]) -> IkResult:
    """The result that reaches the goals or costs least, and the last of equals."""
    return min(reversed(results), key=lambda result: (not result.success, result.cost))


class PositionFirstSearch(Search):
    """Searches with the parts of goals weighed alike, each followed by one with their weights.

    First those without restarts, from the start, which answer most goals. Then those with
    restarts; and where they miss a position, as they may with joints at their limits, one with the
    weights asked for that begins at the start again. `searches`, `once` : what begins searches as
    they were asked for, and without restarts, for the problem weighed alike and the problem.
    """

    def __init__(
        self,
        problem: IkProblem,
        q0: ArrayLike | None,
        clock: Clock,
        once: tuple[Begin, Begin],
        searches: tuple[Begin, Begin] | None,
    ) -> None:
        super().__init__(problem, q0, clock)
        alike = problem.weighed_alike
        assert alike is not None
        if alike.tolerances != problem.tolerances:
            alike.position_tolerance, alike.orientation_tolerance = problem.tolerances
        self._alike, self._once, self._searches = alike, once, searches
        self._frames = [goal.target.copy() for goal in problem.goals]
        self._ended: list[IkResult] = []
        self._search = once[0](alike, self.q0)
        self._later = self._others()

    def _others(self) -> Iterator[Search]:
        """The other searches, each begun when the one before has ended."""
        yield self._begun(self._once[1], self.problem, self._ended[-1].q)
        if self._searches is None:
            return
        yield self._begun(self._searches[0], self._alike, self.q0)
        yield self._begun(self._once[1], self.problem, self._ended[-1].q)
        if (best_of(self._ended).position_errors > self.problem.position_tolerance).any():
            yield self._begun(self._searches[1], self.problem, self.q0)

    def _begun(self, begin: Begin, problem: IkProblem, q0: Array) -> Search:
        """A search for the targets that the first one had."""
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
            search = self._search
            before = 0 if iterations is None else search.result().iterations
            search.limited_by = IkStatus.ITERATION_LIMIT
            search.iterate_until(deadline, iterations)
            self.limited_by = search.limited_by
            if not search.done:
                return
            self._ended.append(self._judged())
            best, following = best_of(self._ended), None
            if not best.success:
                following = next(self._later, None)
            if following is None:
                self.status = best.status
                return
            if iterations is not None:
                iterations -= self._ended[-1].iterations - before
            self._search = following

    def _judged(self) -> IkResult:
        """The result of the search under way, with the cost of the goals as they are weighed."""
        found = self._search.result()
        if self._search.problem is not self._alike:
            return found
        counts = found.iterations, found.evaluations, found.restarts
        return self.finish(found.q[self.problem.variables], *counts, found.history)

    def result(self) -> IkResult:
        """The best so far, with the effort of all searches."""
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
        """See Search."""
        return self._search.x

    def stay_on_branch(self) -> None:
        """See Search: only as it was asked for; weighed alike, the goals would lead elsewhere."""
        _, begin = self._searches or self._once
        self._search, self._later = begin(self.problem, self.q0), iter(())
        self._search.stay_on_branch()

    def memory(self) -> Any:
        """See Search."""
        return None if self._search.problem is self._alike else self._search.memory()

    def resume(self, memory: Any) -> None:
        """See Search."""
        if self._search.problem is not self._alike:
            self._search.resume(memory)
