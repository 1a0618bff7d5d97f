"""What a solver is. A new method is one file with one class, and a line in the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, Generic

from numpy.typing import ArrayLike

from ..exceptions import InvalidOption
from ..maths.rotations import Array
from ..optim.null_space import Descent, NullSpaceDescent, SecondarySearch
from ..optim.search import (
    Budget,
    Clock,
    IterativeSearch,
    Search,
    SearchOptions,
    StateT,
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
        search.run(budget)
        return search.result()

    def begin(self, problem: IkProblem, q0: ArrayLike | None = None) -> Search:
        """Begin a solve that the caller runs, within budgets; the targets are read here, once.

        Secondary tasks are honoured after the others, in their null space (`optim.null_space`).
        """
        search = self._search(problem, q0)
        return SecondarySearch(search, self.descent) if problem.secondary else search

    def descent(self, problem: IkProblem, x: Array, reached: bool) -> Descent:
        """What lowers the secondary tasks' cost from variables x, where the search ended;
        `reached`: with all goals within their tolerances."""
        return NullSpaceDescent(problem, x, reached)

    @abstractmethod
    def _search(self, problem: IkProblem, q0: ArrayLike | None) -> Search: ...


class IterativeSolver(Solver, Generic[StateT]):
    """A solver run by the shared loop: a method is just its start and its step."""

    Options: ClassVar[type[OptionSet]] = SearchOptions

    def _search(self, problem: IkProblem, q0: ArrayLike | None) -> Search:
        return IterativeSearch(self, problem, q0, self.clock)

    @abstractmethod
    def start(self, problem: IkProblem, at: Evaluation) -> StateT:
        """The state at the start of an attempt."""

    @abstractmethod
    def step(self, problem: IkProblem, state: StateT) -> StateT:
        """One iteration: a new state, evaluated, with its variables inside the limits."""
