"""What a solver is. A new method is one file with one class, and a line in the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from ..exceptions import InvalidOption
from ..optim.search import (
    Budget,
    Clock,
    DriverOptions,
    IterativeSearch,
    Search,
    SecondarySearch,
    default_clock,
)
from ..options import OptionSet
from ..problem import Evaluation, IkProblem
from ..result import IkResult


class Solver(ABC):
    """Base of all solvers; keyword arguments are the method's options.

    A solver keeps buffers between solves: not to be shared between threads, nor between
    searches under way.
    """

    name: ClassVar[str]
    Options: ClassVar[type[OptionSet]]

    def __init__(self, *, clock: Clock = default_clock, **options: Any) -> None:
        known = [f.name for f in fields(self.Options)]
        for key in options:
            if key not in known:
                raise InvalidOption(f'{self.name} has no option {key!r}; it has: {known}')
        self.options: Any = self.Options(**options)
        self.clock = clock

    def solve(
        self, problem: IkProblem, q0: ArrayLike | None = None, budget: Budget | None = None
    ) -> IkResult:
        """Solve from q0 (n,), by default `problem.default_configuration`; q0 is not changed.

        Returns the best configuration found; not reaching a goal is a status, not an error.
        Raises InvalidGoal, InvalidConfiguration, UnsupportedProblem.
        """
        search = self.begin(problem, q0)
        search.advance(budget)
        return search.result()

    def begin(self, problem: IkProblem, q0: ArrayLike | None = None) -> Search:
        """Begin a solve that the caller advances; the targets are read here, once.

        Secondary tasks are honoured after the others, in their null space (`priority`).
        """
        search = self._search(problem, q0)
        return SecondarySearch(search) if problem.secondary else search

    @abstractmethod
    def _search(self, problem: IkProblem, q0: ArrayLike | None) -> Search: ...


@dataclass(eq=False)
class State:
    """Where an iterative solver stands; `evaluations` counts those of the last step."""

    at: Evaluation
    evaluations: int = 1

    def resume(self, last: State) -> None:
        """At a start: take over what the method remembers of the last state of its kind."""


class IterativeSolver(Solver):
    """A solver run by the shared driver: a method is just its step."""

    Options: ClassVar[type[OptionSet]] = DriverOptions

    def _search(self, problem: IkProblem, q0: ArrayLike | None) -> Search:
        return IterativeSearch(self, problem, q0, self.clock)

    def start(self, problem: IkProblem, at: Evaluation) -> State:
        """The state at the start of an attempt."""
        return State(at)

    @abstractmethod
    def step(self, problem: IkProblem, state: State) -> State:
        """One iteration: a new state, evaluated, with its variables inside the limits."""
