# SPDX-License-Identifier: Apache-2.0
"""Base classes of solvers. A new method is one file with one class, and a line in the registry."""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Generic

from ..exceptions import InvalidOption
from ..kernels.jit import COMPILED, ENTRY_MAKERS, kernel
from ..kernels.records import Layout
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array
from ..optim.avoiding import free_loop
from ..optim.constrained import constrained_loop
from ..optim.layouts import METHOD, Record
from ..optim.loop import Kernel, method_loop
from ..optim.null_space import Descent, NullSpaceDescent, SecondarySearch
from ..optim.position_first import Begins, PositionFirstSearch, Stage
from ..optim.search import (
    Budget,
    Clock,
    CompiledSearch,
    Search,
    SearchOptions,
    Workspace,
)
from ..optim.workspace import (
    AvoidingWorkspace,
    ConstrainedWorkspace,
    MethodWorkspace,
    PythonWorkspace,
    StateT,
)
from ..options import OptionSet
from ..problem import Evaluation, IkProblem, checked_problem
from ..result import IkResult, IkStatus
from .names import PresetName, SolverName

REACHED = IkStatus.REACHED  # before Python 3.12 to look it up takes 0.1 us


class Solver(ABC):
    """Base of all solvers; keyword arguments are the method's options.

    A solver keeps buffers between solves: do not share it between threads, or between running
    searches.
    """

    name: ClassVar[str]
    Options: ClassVar[type[OptionSet]]
    avoids: ClassVar[bool] = False
    """Whether its answers are free of what a problem avoids."""
    presets: ClassVar[Mapping[PresetName, Mapping[str, Any]]] = {}
    """Options by names of sources: with them the method is that of the source."""
    fallback: ClassVar[SolverName | None] = None
    """Name of the solver for problems that this one can't solve; the registry sets it."""

    def __init__(self, *, clock: Clock = time.perf_counter, **options: Any) -> None:
        known = [f.name for f in fields(self.Options)]
        for key in options:
            if key not in known:
                raise InvalidOption(
                    f'{self.name} has no option {key!r}; it has: {", ".join(known)}'
                )
        self.options: Any = self.Options(**options)
        self.clock = clock

    def set_fallback(self, fallback: type[Solver]) -> None:  # noqa: B027 (most need none)
        """Set the solver for problems that this one can't solve; `make_solver` calls this."""

    def solve(
        self, problem: IkProblem, q0: VectorLike | None = None, budget: Budget | None = None
    ) -> IkResult:
        """Solve from q0 (n,), by default `problem.default_configuration`; q0 is not changed.

        Returns the best configuration found; not reaching a goal is a status, not an error. Raises
        InvalidGoal, InvalidConfiguration, UnsupportedProblem.
        """
        search = self.begin(problem, q0)
        search.run(budget)
        return problem.explain(search.result())

    def solve_regular(
        self, problem: IkProblem, transforms: Array, starts: Array, threads: int
    ) -> Iterator[IkResult | None]:
        """Yield results of `solve` for many problems, found at once; None where that fails.

        A problem with None needs a solve of its own: here all do.

        transforms (N, 4, 4) : targets of the only goal, in place of its own
        starts (N, n) : start configurations, already checked
        threads : number of threads to use
        """
        yield from (None for _ in starts)

    def begin(self, problem: IkProblem, q0: VectorLike | None = None) -> Search:
        """Begin a search that the caller runs within budgets; it reads the targets here, once.

        Secondary tasks come after the others, in their null space (`optim.null_space`).
        """
        if not self.avoids:
            checked_problem(problem).check_without_avoid(self.name)
        if checked_problem(problem).levels:
            problem.check_without_constraints()
        search = self.search(problem, q0)
        return SecondarySearch(search, self.descent) if problem.levels else search

    def descent(self, problem: IkProblem, x: Array, reached: bool) -> Descent:
        """Return the descent of the secondary tasks' cost from variables x, the search's end.

        reached : whether all goals are within their tolerances at x
        """
        return NullSpaceDescent(problem, x, reached)

    def search(self, problem: IkProblem, q0: VectorLike | None = None) -> Search:
        """Begin a search without the secondary tasks."""
        return self._search(problem, q0)

    @abstractmethod
    def _search(self, problem: IkProblem, q0: VectorLike | None) -> Search: ...


class LoopSolver(Solver):
    """A solver run by the shared loop (`optim.loop`)."""

    Options: ClassVar[type[OptionSet]] = SearchOptions

    clock_interval: ClassVar[int] = 64 if COMPILED else 1
    """Iterations between two readings of the clock."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._workspace: Workspace | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the buffers, parts of which are views of others: a copy makes its own."""
        own = {**vars(self), '_workspace': None}
        own.pop('_helpers', None)
        return own

    def search(self, problem: IkProblem, q0: VectorLike | None = None) -> Search:
        """Begin a search; goals that put the position first have equal weights at first."""
        if problem.equally_weighted is None:
            return self._search(problem, q0)
        return self.position_first(problem, q0)

    def position_first(
        self,
        problem: IkProblem,
        q0: VectorLike | None,
        known: Mapping[Stage, IkResult] | None = None,
    ) -> PositionFirstSearch:
        """Begin a search for goals that put the position first; `known` as for its class."""
        alike_once, once, alike = (solver._search for solver in self._helpers)
        later = alike if self.options.restarts else None
        begins = Begins(alike_once, once, later, self._search)
        return PositionFirstSearch(problem, q0, self.clock, begins, known)

    @cached_property
    def _helpers(self) -> tuple[LoopSolver, LoopSolver, LoopSolver]:
        """Copies of this solver for the stages of `PositionFirstSearch`; two have no restarts."""
        alike_once, once, alike = (copy.copy(self) for _ in range(3))
        alike_once.options = once.options = replace(self.options, restarts=0)
        return alike_once, once, alike

    def _search(self, problem: IkProblem, q0: VectorLike | None) -> Search:
        workspace = self._workspace_for(problem)
        interval, records_history = self.clock_interval, self.options.record_history
        return CompiledSearch(workspace, q0, self.clock, interval, records_history)

    def _workspace_for(self, problem: IkProblem) -> Workspace:
        if self._workspace is None or self._workspace.problem is not problem:
            self._workspace = self.workspace(problem)
        return self._workspace

    @abstractmethod
    def workspace(self, problem: IkProblem) -> Workspace:
        """Make the records for a problem; UnsupportedProblem if the method can't solve it."""


@kernel
def start_without_state(search: Record) -> None:
    """Do nothing: the method has no state besides the point."""


class KernelSolver(LoopSolver):
    """A solver whose method is two kernels; `optim.loop` calls them."""

    layout: ClassVar[Layout] = METHOD
    """Layout of the method's own record: options that its kernels use, and its state."""
    remembered: ClassVar[tuple[str, ...]] = ()
    """Fields of that record that a search for nearly the same goals begins with."""
    start: ClassVar[Kernel] = staticmethod(start_without_state)
    step: ClassVar[Kernel]
    constrained_step: ClassVar[Kernel | None] = None
    """The step that keeps linear constraints, if the method has one."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        is_method = hasattr(cls, 'step')  # else a base of several methods
        if is_method and cls.__module__.startswith('ik_core.'):
            ENTRY_MAKERS.append(cls.make_loops)

    @classmethod
    def make_loops(cls) -> None:
        """Make all loops of the method: entries of the compiled library."""
        for make in cls.loops().values():
            make()

    @classmethod
    def loops(cls) -> dict[type[MethodWorkspace], Callable[[], Kernel]]:
        """Return the kinds of searches that the method can do, with functions that make the loop
        of each."""
        name, start, constrained_step = cls.name, cls.start, cls.constrained_step
        loops: dict[type[MethodWorkspace], Callable[[], Kernel]]
        loops = {MethodWorkspace: partial(method_loop, name, start, cls.step)}
        if constrained_step is not None:
            loops[ConstrainedWorkspace] = partial(constrained_loop, name, start, constrained_step)
        if cls.avoids:
            loops[AvoidingWorkspace] = partial(free_loop, name, start)
        return loops

    def workspace(self, problem: IkProblem) -> MethodWorkspace:
        """Return records of the kind of search that the problem needs."""
        loops, kind = self.loops(), MethodWorkspace
        if problem.avoids and AvoidingWorkspace in loops:
            kind = AvoidingWorkspace
        elif problem.constraints and ConstrainedWorkspace in loops:
            kind = ConstrainedWorkspace
        return kind(
            problem,
            self.options,
            loops[kind](),
            self.layout,
            self.prepare,
            self.remembered,
        )

    def prepare(self, workspace: MethodWorkspace) -> None:
        """Fill fields of the method's record that depend on the start, before each search."""


class IterativeSolver(LoopSolver, Generic[StateT]):
    """A solver whose method is written in Python: its start and its step."""

    clock_interval: ClassVar[int] = 1

    def workspace(self, problem: IkProblem) -> MethodWorkspace:
        return PythonWorkspace(problem, self)

    @abstractmethod
    def start(self, problem: IkProblem, at: Evaluation) -> StateT:
        """Return the state at the start of an attempt."""

    @abstractmethod
    def step(self, problem: IkProblem, state: StateT) -> StateT:
        """Do one iteration; return the new state, evaluated, its variables inside the limits."""
