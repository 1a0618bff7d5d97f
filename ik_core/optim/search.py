"""The loop that all solvers share: stop rules, the best so far, budgets, restarts, results.

A `Search` is one solve under way. It runs within one budget after the other until it is done, so
a caller with a clock of its own (a control loop) can spread it over many calls.
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import InvalidOption
from ..maths.linalg import SHORTEST_COLUMN, STATIONARY
from ..maths.rotations import Array
from ..options import OptionSet, exact_number, option
from ..problem import Evaluation, IkProblem
from ..result import IkResult, IkStatus
from ..robot.limits import random_configuration

Clock = Callable[[], float]

default_clock: Clock = time.perf_counter


@dataclass(eq=False)
class State:
    """Where an iterative method stands; `evaluations` counts those of the last step."""

    at: Evaluation
    evaluations: int = 1

    def resume(self, last: Any) -> None:
        """At a start: take over what the method remembers of `last`, a state of its kind."""


StateT = TypeVar('StateT', bound=State)


class Method(Protocol[StateT]):
    """What the shared loop runs: a method is its start and its step."""

    options: Any

    def start(self, problem: IkProblem, at: Evaluation) -> StateT:
        """The state at the start of an attempt."""

    def step(self, problem: IkProblem, state: StateT) -> StateT:
        """One iteration: a new state, evaluated, with its variables inside the limits."""


@dataclass(frozen=True)
class Budget:
    """How long a solve, or one `run` of it, may take: `seconds`, `iterations`, or both."""

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

    max_iterations: int = option(
        200, 'iterations per attempt before it is given up', bounds=(1, 10**9)
    )
    restarts: int = option(
        0, 'further attempts from random configurations where one fails', bounds=(0, 10**6)
    )
    random_seed: int = option(0, 'chooses the random configurations', bounds=(0, 2**32 - 1))
    record_history: bool = option(False, 'keep the cost after every iteration in the result')


class Search(ABC):
    """One solve under way."""

    def __init__(self, problem: IkProblem, q0: ArrayLike | None, clock: Clock) -> None:
        self.problem = problem
        self.clock = clock
        self.q0 = problem.load(q0)
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
        """Whether there is nothing left to do."""
        return self.status is not None

    def run(self, budget: Budget | None = None) -> bool:
        """Go on until done or the budget is used up; return whether it is done."""
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
        """Once for each iteration that the budget allows."""
        for _ in itertools.count() if iterations is None else range(iterations):
            if deadline is not None and self.clock() >= deadline:
                self.limited_by = IkStatus.TIME_LIMIT
                return
            yield

    @abstractmethod
    def iterate_until(self, deadline: float | None, iterations: int | None) -> None:
        """Iterate until `status` is set, the clock passes the deadline, or so many times."""

    @abstractmethod
    def result(self) -> IkResult:
        """The best so far."""

    def memory(self) -> State | None:
        """What a search for goals that moved on a little can `resume`; None without any."""
        return None

    def resume(self, memory: State) -> None:  # noqa: B027 (most take over nothing)
        """Before the first `run`: take over the memory of the solver's last search."""

    def finish(
        self,
        x: Array,
        iterations: int,
        evaluations: int,
        restarts: int,
        history: tuple[float, ...] = (),
    ) -> IkResult:
        """The result for variables x, judged again: what is reported is what x achieves."""
        problem = self.problem
        inside = problem.limits.project(x)
        x = problem.limits.nearest_turn(inside, self.x0)
        cost = problem.cost_at(x)
        position, orientation = problem.packed.errors.T.copy()
        status = self.status or self.limited_by
        if problem.is_solved(position, orientation):
            status = IkStatus.REACHED
        elif status is IkStatus.REACHED:  # lost to rounding in the last digit of a tolerance
            status = IkStatus.STALLED
        elif (
            status is IkStatus.CLOSEST
            and (x != inside).any()
            and not is_stationary(problem, problem.at(x))
        ):  # a limit that held the closest point may hold it no more a whole turn away
            status = IkStatus.STALLED
        q = self.q0.copy()
        q[problem.variables] = x
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


class IterativeSearch(Search, Generic[StateT]):
    """The loop for methods that are only a start and a step."""

    def __init__(
        self, method: Method[StateT], problem: IkProblem, q0: ArrayLike | None, clock: Clock
    ) -> None:
        super().__init__(problem, q0, clock)
        self.method = method
        self.options = method.options
        self.iterations = self.evaluations = self.restarts = 0
        self.history: list[float] = []
        self.best: Evaluation | None = None
        self.best_status: IkStatus | None = None  # how an attempt ended there
        self._begin_attempt(self.x0)

    def _begin_attempt(self, x: Array) -> None:
        self.state = self.method.start(self.problem, self.problem.at(x))
        self.evaluations += 1
        self._attempt_iterations = 0
        self._judge()

    def iterate_until(self, deadline: float | None, iterations: int | None) -> None:
        for _ in self.allowed_iterations(deadline, iterations):
            if self.done:
                break
            self._iterate()

    def _iterate(self) -> None:
        before = self.state.at
        self.state = self.method.step(self.problem, self.state)
        self.iterations += 1
        self._attempt_iterations += 1
        self.evaluations += self.state.evaluations
        if self.options.record_history:
            self.history.append(self.state.at.cost)
        self._judge()
        if not self.done:
            self._stop_or_restart(before)

    def _judge(self) -> None:
        """Keep the best point; be done where it is a solution."""
        at = self.state.at
        solved = self.problem.is_solved(at.position_errors, at.orientation_errors)
        if solved and not self.problem.other_tasks:
            self.best, self.status = at, IkStatus.REACHED
        elif self.best is None or at.cost < self.best.cost:
            self.best, self.best_status = at, None

    def _stop_or_restart(self, before: Evaluation) -> None:
        ended = self._attempt_status(before)
        if ended is None:
            return
        if self.best is self.state.at:
            self.best_status = ended
        # Weighed against other tasks, a goal that is not met is a compromise, not a failure.
        if self.restarts < self.options.restarts and not self.problem.other_tasks:
            self.restarts += 1
            limits = self.problem.limits
            x = np.empty_like(self.x0)
            random_configuration(
                self.options.random_seed,
                self.restarts,
                limits.sample_lower,
                limits.sample_upper,
                x,
            )
            self._begin_attempt(x)
        else:
            # Where the best was only passed, that this attempt ended at a closest point says
            # nothing of it.
            passed = IkStatus.STALLED if ended is IkStatus.CLOSEST else ended
            self.status = self.best_status or passed

    def _attempt_status(self, before: Evaluation) -> IkStatus | None:
        """Why this attempt is over, or None."""
        at = self.state.at
        if is_stationary(self.problem, at):
            return IkStatus.CLOSEST
        if np.max(np.abs(at.x - before.x)) <= 1e-12 * (1.0 + np.max(np.abs(at.x))):
            return IkStatus.STALLED
        if self._attempt_iterations >= self.options.max_iterations:
            return IkStatus.ITERATION_LIMIT
        return None

    def memory(self) -> State | None:
        """See Search."""
        return self.state

    def resume(self, memory: State) -> None:
        """See Search."""
        self.state.resume(memory)

    def result(self) -> IkResult:
        """The best so far."""
        best = self.best or self.state.at
        return self.finish(
            best.x, self.iterations, self.evaluations, self.restarts, tuple(self.history)
        )


def is_stationary(problem: IkProblem, at: Evaluation) -> bool:
    """Whether the cost has no descent left inside the limits (first-order, scale-free).

    The residual is at right angles to every column of the Jacobian whose variable is not held
    by a limit.
    """
    gradient = at.jacobian.T @ at.residual
    held = problem.limits.active(at.x, -gradient)
    lengths = np.linalg.norm(at.jacobian, axis=0)
    scale = np.maximum(lengths, SHORTEST_COLUMN * lengths.max()) * np.sqrt(at.cost)
    return bool((held | (np.abs(gradient) <= STATIONARY * scale)).all())
