# SPDX-License-Identifier: Apache-2.0
"""Running searches: budgets, the clock, results.

A `Search` is one solve that runs within one budget after the other until it is done, so a caller
with a clock of its own (a control loop) can spread it over many calls.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import rules
from ..exceptions import InvalidOption
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array
from ..options import OptionSet, exact_number, option
from ..problem import Evaluation, IkProblem
from ..result import IkResult, IkStatus
from ..rules import RUNNING, answer_status
from .layouts import FOREVER

Clock = Callable[[], float]

STATUSES = {
    rules.REACHED: IkStatus.REACHED,
    rules.CLOSEST: IkStatus.CLOSEST,
    rules.STALLED: IkStatus.STALLED,
    rules.EXHAUSTED: IkStatus.ITERATION_LIMIT,
    rules.COLLIDED: IkStatus.COLLISION,
}
CODES = {status: code for code, status in STATUSES.items()}
# The codes that kernels use for the statuses of ended searches.
CODES[IkStatus.TOO_FEW_JOINTS] = rules.CLOSEST

# Maximum number of iterations in a kernel call: longer calls would save no time
MAX_KERNEL_STEPS = 1024
WORK_AT_ONCE = 20_000_000  # Approximate maximum number of multiplications in a kernel call


@dataclass(frozen=True)
class Budget:
    """Limits of a solve, or of one `run` of a search: `seconds`, `iterations`, or both.

    `iterations` counts all attempts and secondary tasks; a solver's option `max_iterations` limits
    each attempt at the goals alone.
    """

    seconds: float | None = None
    iterations: int | None = None

    def __post_init__(self) -> None:
        for name, kind in (('seconds', float), ('iterations', int)):
            value = getattr(self, name)
            if value is None:
                continue
            number = exact_number(value, kind)
            if number is None or not number >= 0:
                noun = 'a whole number' if kind is int else 'a number'
                raise InvalidOption(f'Budget: {name} = {value!r}: {noun} >= 0 is needed')
            object.__setattr__(self, name, number)


@dataclass(frozen=True)
class SearchOptions(OptionSet):
    """Options of every solver that the shared loop runs."""

    max_iterations: int = option(200, 'iterations per attempt', bounds=(1, 10**9))
    restarts: int = option(
        0, 'further attempts from random configurations after a failed one', bounds=(0, 10**6)
    )
    random_seed: int = option(0, 'seed of the random configurations', bounds=(0, 2**32 - 1))
    relative_change: float = option(
        0.0,
        'an iteration ends the attempt if it moves no variable by more than this fraction of the '
        'largest one; 0: only if no variable moves',
        bounds=(0.0, 1.0),
    )
    record_history: bool = option(False, 'store the cost after every iteration in the result')


def steps_at_once(variables: int, rows: int) -> int:
    """Return the iterations of a kernel in a call, for a residual of this many rows.

    Python handles Ctrl-C only between calls, so they return within 0.1 s, for any robot. An
    iteration takes about as long as a decomposition of a matrix of all variables and rows.
    """
    return max(1, min(MAX_KERNEL_STEPS, WORK_AT_ONCE // (variables + rows) ** 3))


class Search(ABC):
    """A solve that runs in steps."""

    def __init__(self, problem: IkProblem, q0: VectorLike | None, clock: Clock) -> None:
        self.problem = problem
        self.clock = clock
        self.q0 = problem.evaluator.load(q0)
        self.status: IkStatus | None = None
        self.solve_time = 0.0

    limited_by = IkStatus.ITERATION_LIMIT
    """The status where a budget ended the last run."""

    @cached_property
    def x0(self) -> Array:
        """The start's variables, inside their limits."""
        return self.problem.limits.project(self.q0[self.problem.variables])

    @property
    def done(self) -> bool:
        """True if there is nothing left to do."""
        return self.status is not None

    def run(self, budget: Budget | None = None) -> bool:
        """Continue until done or the budget is used up; return whether it is done."""
        if budget is not None and not isinstance(budget, Budget):
            raise InvalidOption(f'budget = {budget!r}: Budget(seconds=0.01), say, is needed')
        started = self.clock()
        self.limited_by = IkStatus.ITERATION_LIMIT
        if budget is None:
            self.iterate_until(None, None)
        else:
            deadline = None if budget.seconds is None else started + budget.seconds
            self.iterate_until(deadline, budget.iterations)
        self.solve_time += self.clock() - started
        return self.done

    def allowed_iterations(self, deadline: float | None, iterations: int | None) -> Iterator[None]:
        """Yield once for each iteration that the budget allows."""
        for _ in itertools.count() if iterations is None else range(iterations):
            if deadline is not None and self.clock() >= deadline:
                self.limited_by = IkStatus.TIME_LIMIT
                return
            yield

    @abstractmethod
    def iterate_until(self, deadline: float | None, iterations: int | None) -> None:
        """Iterate until `status` is set or the clock passes the deadline, at most this often."""

    @abstractmethod
    def result(self) -> IkResult:
        """Return the best so far."""

    @property
    def x(self) -> Array:
        """The current point (variables,), which need not be the best one."""
        return self.x0.copy()

    @property
    def q(self) -> Array:
        """The whole robot (n,) at the current point."""
        q = self.q0.copy()
        q[self.problem.variables] = self.x
        return q

    @property
    def cost(self) -> float:
        """The cost at the current point [m^2]."""
        return self.problem.evaluator.cost_at(self.x)

    def stay_on_branch(self) -> None:  # noqa: B027 (a descent stays on its branch)
        """Stay on the branch of the start, for goals that move slowly; before the first `run`."""

    def memory(self) -> Any:
        """Return state that a search for nearly the same goals can `resume`, or None."""
        return None

    def resume(self, memory: Any) -> None:  # noqa: B027 (most have none)
        """Begin with the memory of the solver's last search; before the first `run`."""

    def finish(
        self,
        x: Array,
        iterations: int,
        evaluations: int,
        restarts: int,
        history: tuple[float, ...] = (),
    ) -> IkResult:
        """Return the result for variables x, evaluated again at the nearest whole turns."""
        problem = self.problem
        inside = problem.limits.project(x)
        x = problem.limits.nearest_turn(inside, self.x0)
        cost = problem.evaluator.cost_at(x)
        position, orientation = problem.packed.errors.T.copy()
        status = self.status or self.limited_by
        is_reached = problem.is_solved(position, orientation)
        stays = not (x != inside).any() or is_stationary(problem, problem.at(x))
        code = answer_status(CODES.get(status, RUNNING), is_reached, stays)
        status = problem.explained(STATUSES.get(code, status), position, orientation)
        q = self.q0.copy()
        q[problem.variables] = x
        if status is IkStatus.REACHED and problem.avoids and not problem.avoidance.may_answer(q):
            status = IkStatus.COLLISION
        return IkResult(
            q,
            status,
            position,
            orientation,
            cost,
            iterations,
            evaluations,
            restarts,
            self.solve_time,
            history,
        )


class Workspace(ABC):
    """The records of a compiled search for one problem, and its kernels.

    A solver keeps one from solve to solve; at most one search is under way in it.
    """

    problem: IkProblem
    steps_at_once: int
    """Iterations in a call of a kernel, by the function of this name."""

    def __reduce__(self) -> str:
        raise TypeError(
            'a search under way can be neither copied nor pickled: its records are memory by '
            'addresses; a solver can'
        )

    @abstractmethod
    def load(self, q0: VectorLike | None) -> Array:
        """Restart the search: read the targets and the start; return the whole start (n,)."""

    def stay_on_branch(self) -> None:  # noqa: B027 (as a Search's)
        """Search the branch of the start only; before the first `run`."""

    @abstractmethod
    def run(self, iterations: int) -> IkStatus | None:
        """Run at most this many iterations; return how the search ended, None if it continues."""

    @abstractmethod
    def conclude(self) -> None:
        """Make an answer of the best point so far."""

    @abstractmethod
    def result(
        self,
        q: Array,
        solve_time: float,
        limited_by: IkStatus = IkStatus.ITERATION_LIMIT,
        history: tuple[float, ...] = (),
    ) -> IkResult:
        """Return the result, with the answer written into the start q (n,)."""

    @property
    @abstractmethod
    def iterations(self) -> int:
        """Number of iterations so far."""

    @property
    @abstractmethod
    def x(self) -> Array | None:
        """The current point (variables,), a copy; None before the search has begun."""

    @property
    @abstractmethod
    def cost(self) -> float:
        """The cost at the current point."""

    @property
    @abstractmethod
    def between_attempts(self) -> bool:
        """True if an attempt's first point is evaluated next, which is no iteration."""

    def memory(self) -> Any:
        return None

    def resume(self, memory: Any) -> None:  # noqa: B027 (as a Search's)
        """Begin with the memory of the solver's last search; before the first `run`."""


class CompiledSearch(Search):
    """A search whose loop is a kernel, called for some iterations at a time.

    interval : iterations between two readings of the clock
    history : whether to record the cost after every iteration
    """

    def __init__(
        self,
        workspace: Workspace,
        q0: VectorLike | None,
        clock: Clock,
        interval: int,
        history: bool,
    ) -> None:
        self.problem = workspace.problem
        self.clock = clock
        self.q0 = workspace.load(q0)
        self.status = None
        self.solve_time = 0.0
        self.workspace = workspace
        self._interval = 1 if history else min(interval, workspace.steps_at_once)
        self._history: list[float] | None = [] if history else None

    def iterate_until(self, deadline: float | None, iterations: int | None) -> None:
        left = FOREVER if iterations is None else iterations
        patient = deadline is None and self._history is None
        interval = self.workspace.steps_at_once if patient else self._interval
        while self.status is None:
            late = deadline is not None and self.clock() >= deadline
            if late and not self.workspace.between_attempts:
                self.limited_by = IkStatus.TIME_LIMIT
                return
            chunk = 0 if late else min(left, interval)  # 0: whether an attempt begins at a goal
            self.status = self.workspace.run(chunk)
            left -= chunk
            self._note_cost()
            if left <= 0:
                return

    def _note_cost(self) -> None:
        history = self._history
        if history is not None and self.workspace.iterations > len(history):
            history.append(self.workspace.cost)

    @property
    def x(self) -> Array:
        x = self.workspace.x
        return super().x if x is None else x

    @property
    def cost(self) -> float:
        return self.workspace.cost

    def stay_on_branch(self) -> None:
        self.workspace.stay_on_branch()

    def memory(self) -> Any:
        return self.workspace.memory()

    def resume(self, memory: Any) -> None:
        self.workspace.resume(memory)

    def result(self) -> IkResult:
        """Return the best so far."""
        if not self.done:
            self.workspace.conclude()
        history = tuple(self._history or ())
        return self.workspace.result(self.q0.copy(), self.solve_time, self.limited_by, history)


def is_stationary(problem: IkProblem, at: Evaluation) -> bool:
    """Return whether the cost falls in no direction inside the limits."""
    gradient = at.jacobian.T @ at.residual
    squares = np.square(at.jacobian).sum(axis=0)
    rules.lengthen(squares)
    bounds = problem.limits.packed
    return rules.is_stationary(at.x, bounds, gradient, squares, at.cost)
