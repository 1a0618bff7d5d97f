# SPDX-License-Identifier: Apache-2.0
"""A background search for another configuration, for a goal that is not reached.

A seeded solve stays on its branch, so a goal that it misses may be reached from another start.
Once for each goal, `REST` seconds after the joints came to rest without reaching it, a
`ConfigurationSearch` tries other starts, in a thread. Its result comes back to the tracker as an
instruction, `OfferConfiguration`, which a recording keeps as any other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ...display import angle, length
from ...exceptions import InvalidOption
from ...maths.rotations import Array
from ...optim.search import Budget
from ...problem import IkProblem
from ...result import IkResult
from ...solvers import Solver
from ..status import MISSED, Command

# [s] The joints rest for this long before the search begins.
REST = 1.0
# Another branch or configuration must cost less than this fraction of the present one.
BETTER = 0.99


class OtherConfiguration(NamedTuple):
    """The result of a search for another configuration.

    q (n,) : the configuration; None if nothing comes closer, or once the joints move there
    note : a sentence about it
    """

    q: Array | None
    note: str


class Work(Protocol):
    """A running call, such as a `Job`."""

    @property
    def done(self) -> bool:
        """True if there is a result, or an exception."""

    def result(self) -> OtherConfiguration | None:
        """Return the result; raise the exception of the call."""


# Begins a call in the background.
Run = Callable[[Callable[[], OtherConfiguration | None]], Work]


class Unreached(NamedTuple):
    """A goal that the resting joints have not reached, and the solver to search for it.

    start (n,) : q of the joints
    cost : at the start
    is_solved : returns whether errors (G,) [m] and (G,) [rad] are within the tolerances
    """

    solver: Solver
    problem: IkProblem
    start: Array
    cost: float
    is_solved: Callable[[Array, Array], bool]

    def search(self, cancelled: threading.Event) -> OtherConfiguration | None:
        """Search for 5 s at most; None if it is cancelled, which is checked every 5 ms."""
        search = self.solver.begin(self.problem, self.start)
        for _ in range(1000):
            if cancelled.is_set():
                return None
            if search.run(Budget(seconds=0.005)):
                break
        return self._compared(search.result())

    def _compared(self, found: IkResult) -> OtherConfiguration:
        """Return what was found if it is better than the start."""
        if self.is_solved(found.position_errors, found.orientation_errors):
            return OtherConfiguration(found.q, 'another configuration reaches it: set reconfigure')
        if found.cost < BETTER * self.cost:
            metres, radians = max(found.position_errors), max(found.orientation_errors)
            errors = [
                text for text, x in ((length(metres), metres), (angle(radians), radians)) if x
            ]
            note = f'another configuration costs less: {" and ".join(errors)} are left'
            return OtherConfiguration(found.q, f'{note}: set reconfigure')
        return OtherConfiguration(None, self.problem.explain(found, words=None).note)


class ConfigurationSearch:
    """Background searches for another configuration, one for each goal.

    run : begins a call in the background; None: there are no searches
    """

    def __init__(self, run: Run | None) -> None:
        if run is not None and not callable(run):
            raise InvalidOption(f'background = {run!r}: must be a function that begins a call')
        self._run = run
        self._ticks = 0  # of rest, for this goal
        self._goal: object = None  # the goal_id of a GoalSolver
        self._is_searched = False
        self._work: Work | None = None
        self._found: OtherConfiguration | None = None
        self._cancelled = threading.Event()

    def found(self, goal: object) -> OtherConfiguration | None:
        """Return the result of a search that has ended, if its goal is still followed.

        goal : an object that is replaced when goals, limits or the problem change
        """
        if goal is not self._goal:
            self._goal, self._ticks, self._is_searched, self._found = goal, 0, False, None
            self._cancelled.set()
        if self._work is not None and self._work.done:
            work, self._work = self._work, None
            if not self._cancelled.is_set():
                self._found = _found_by(work)
        return self._found

    def after_tick(
        self, command: Command, goal: object, period: float, describe: Callable[[], Unreached]
    ) -> None:
        """Begin a search if one is due, after a tick without an exception; forget a result.

        describe : returns what to search for
        """
        self._found = None
        rests = goal is self._goal and command.status in MISSED and not command.dq.any()
        self._ticks = self._ticks + 1 if rests else 0
        is_due = not self._is_searched and self._work is None and self._ticks * period >= REST
        if self._run is None or not is_due:
            return
        self._is_searched, self._cancelled = True, threading.Event()
        cancelled = self._cancelled
        try:
            unreached = describe()
            self._work = self._run(lambda: unreached.search(cancelled))
        except Exception as error:  # the joints rest all the same
            self._found = _failed(error)


def _found_by(work: Work) -> OtherConfiguration | None:
    """Return the result of a search that has ended; an exception becomes a note."""
    try:
        return work.result()
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> OtherConfiguration:
    return OtherConfiguration(None, f'the search for another one failed: {error}')
