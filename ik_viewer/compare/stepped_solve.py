# SPDX-License-Identifier: Apache-2.0
"""The solve of one method in steps that can be shown.

It has no limits on rates. It shows the configuration after each update, better or worse, and its
answer once it is done. Times are measured by separate, uninterrupted solves, since reading the
state after every update takes time.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ik_core import Budget, IkProblem, IkResult, IkStatus
from ik_core.maths.rotations import Array
from ik_core.optim.search import Search

from ..arm import error_text
from .methods import Method
from .start import Start

MEASURING = Budget(seconds=0.3)  # of an uninterrupted solve
MEASURED = 3  # the fastest of this many solves counts, since other programs disturb them


class Phase(Enum):
    """The phase of a solve; the value is its text on the page."""

    WAITING = 'waiting'
    RUNNING = 'running'
    DONE = 'done'
    FAILED = 'failed'


@dataclass
class Curve:
    """Errors by iteration: position [m], orientation [rad]; the first are those at the start."""

    iterations: list[int] = field(default_factory=list)
    position: list[float] = field(default_factory=list)
    orientation: list[float] = field(default_factory=list)

    def add(self, iteration: int, position: float, orientation: float) -> None:
        """Add a point."""
        self.iterations.append(iteration)
        self.position.append(position)
        self.orientation.append(orientation)


class MethodState(NamedTuple):
    """The state of a method's solve.

    q : configuration (n,)
    position_error, orientation_error : largest errors [m], [rad] at q
    text : how the solve ended, or why it failed
    time, update_time : [s] of a whole uninterrupted solve, and of one update; 0 while unknown
    """

    phase: Phase
    q: Array
    iterations: int = 0
    position_error: float = 0.0
    orientation_error: float = 0.0
    text: str = ''
    time: float = 0.0
    update_time: float = 0.0

    @property
    def reached(self) -> bool:
        """True if the goals are reached."""
        return self.text == IkStatus.REACHED.value


class SteppedSolve:
    """The solve of one method from a start. One thread at a time may call `advance`."""

    def __init__(self, method: Method, start: Start) -> None:
        self.method = method
        self.curve = Curve()
        self.state = MethodState(Phase.WAITING, start.q0)
        self._start = start
        self._search: Search | None = None
        self._judge: IkProblem | None = None

    @property
    def over(self) -> bool:
        """True if the solve is done or has failed."""
        return self.state.phase in (Phase.DONE, Phase.FAILED)

    def advance(self, updates: int, seconds: float) -> None:
        """Make at most `updates` within `seconds`; never raises.

        The last update can't be interrupted, so it may take longer.
        """
        if self.over:
            return
        try:
            if self._search is None:
                self._begin()
            self._advance(updates, time.perf_counter() + seconds)
        except Exception as error:  # any error of a solver is the result of its method
            text = error_text(error)
            self.state = self.state._replace(phase=Phase.FAILED, text=text)

    def _begin(self) -> None:
        self._judge = self._start.problem()
        self._search = self.method.make().begin(self._start.problem(), self._start.q0)
        self._start_at(self._search.q, 0)

    def _advance(self, updates: int, deadline: float) -> None:
        search = self._search
        assert search is not None
        for _ in range(updates):
            done = search.run(Budget(iterations=1))
            self._start_at(search.q, self.state.iterations + 1)
            if done:
                self._end(search.result())
            if done or time.perf_counter() >= deadline:
                return

    def _start_at(self, q: Array, iterations: int) -> None:
        """Store the configuration after an update. Raises ArithmeticError if it is not finite."""
        assert self._judge is not None
        position, orientation = (float(errors.max()) for errors in self._judge.errors(q))
        if not (math.isfinite(position) and math.isfinite(orientation)):
            raise ArithmeticError('it diverged: its numbers are not finite')
        self.curve.add(iterations, position, orientation)
        self.state = MethodState(Phase.RUNNING, q, iterations, position, orientation)

    def _end(self, result: IkResult) -> None:
        """Show the answer, then measure the time of uninterrupted solves."""
        answer = MethodState(
            Phase.RUNNING,
            result.q,
            result.iterations,
            float(result.position_errors.max()),
            float(result.orientation_errors.max()),
            result.status.value,
        )
        self.state = answer
        problem, solver = self._start.problem(), self.method.make()
        solves = [solver.solve(problem, self._start.q0, MEASURING) for _ in range(MEASURED)]
        seconds = min(solve.solve_time for solve in solves)
        each = min(solve.solve_time / max(solve.iterations, 1) for solve in solves)
        self.state = answer._replace(phase=Phase.DONE, time=seconds, update_time=each)
