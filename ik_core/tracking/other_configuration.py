# SPDX-License-Identifier: Apache-2.0
"""The search for another configuration, beside the ticks, for a goal that is not reached.

A seeded solve stays on its branch, so a goal that it misses may be reached from elsewhere. Once
for each goal, `REST` seconds after the joints came to rest without reaching it, a
`ConfigurationSearch` looks from other starts, in a thread. What it finds comes back to the tracker
as an instruction, `OfferConfiguration`, which a recording keeps as any other.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ..display import angle, length
from ..exceptions import InvalidOption
from ..maths.rotations import Array
from ..optim.search import Budget
from ..problem import IkProblem
from ..result import IkResult
from ..solvers import Solver
from .status import Command, TrackStatus

REST = 1.0
"""[s] The joints rest for this long before another configuration is looked for."""
SLICE = 0.005
"""[s] A search runs for this long before it checks whether it was called off."""
LONGEST = 5.0
"""[s] A search ends after this time, with what it has found."""
BETTER = 0.99
"""Another configuration must cost less than this fraction of where the joints rest."""
MISSED = (TrackStatus.CLOSEST, TrackStatus.STOPPED_SHORT, TrackStatus.TOO_FEW_JOINTS)
"""Statuses of joints that rest and have not reached a goal of the tips."""


class OtherConfiguration(NamedTuple):
    """The result of a search from other starts.

    q (n,) : the configuration; None if nothing comes closer, or once the joints go there
    note : a sentence about it
    """

    q: Array | None
    note: str


class Work(Protocol):
    """A call under way, as a `Job`."""

    @property
    def done(self) -> bool:
        """Whether there is a result, or an exception."""

    def result(self) -> OtherConfiguration | None:
        """The result; raises what the call raised."""


Run = Callable[[Callable[[], OtherConfiguration | None]], Work]
"""Begins a call beside the ticks."""


class Unreached(NamedTuple):
    """A goal that the joints have not reached where they rest, and the solver to search for it.

    start (n,) : where the joints rest
    cost : the cost there
    is_solved : whether errors (G,) [m] and (G,) [rad] are within the tolerances
    """

    solver: Solver
    problem: IkProblem
    start: Array
    cost: float
    is_solved: Callable[[Array, Array], bool]

    def search(self, called_off: threading.Event) -> OtherConfiguration | None:
        """Search to the end, or for the longest time; None if it is called off."""
        search = self.solver.begin(self.problem, self.start)
        for _ in range(math.ceil(LONGEST / SLICE)):
            if called_off.is_set():
                return None
            if search.run(Budget(seconds=SLICE)):
                break
        return self._judge(search.result())

    def _judge(self, found: IkResult) -> OtherConfiguration:
        """Compare what was found with where the joints rest."""
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
    """Searches for another configuration, one for each goal, beside the ticks.

    run : begins a call beside the ticks; None: there are no searches
    """

    def __init__(self, run: Run | None) -> None:
        if run is not None and not callable(run):
            raise InvalidOption(f'background = {run!r}: must be a function that begins a call')
        self._run = run
        self._ticks = 0  # of rest, for this goal
        self._goal: object = None  # that is followed
        self._is_searched = False
        self._work: Work | None = None
        self._found: OtherConfiguration | None = None
        self._called_off = threading.Event()

    def found(self, goal: object) -> OtherConfiguration | None:
        """Return the result of a search that has ended, if its goal is still followed.

        goal : an object that is replaced when goals, limits or the problem change
        """
        if goal is not self._goal:
            self._goal, self._ticks, self._is_searched, self._found = goal, 0, False, None
            self._called_off.set()
        if self._work is not None and self._work.done:
            work, self._work = self._work, None
            if not self._called_off.is_set():
                self._found = _found_by(work)
        return self._found

    def after_tick(
        self, command: Command, goal: object, period: float, describe: Callable[[], Unreached]
    ) -> None:
        """Begin a search if one is due, after a tick that went well; what was found is used.

        describe : returns what to search for
        """
        self._found = None
        rests = goal is self._goal and command.status in MISSED and not command.dq.any()
        self._ticks = self._ticks + 1 if rests else 0
        is_due = not self._is_searched and self._work is None and self._ticks * period >= REST
        if self._run is None or not is_due:
            return
        self._is_searched, self._called_off = True, threading.Event()
        called_off = self._called_off
        try:
            unreached = describe()
            self._work = self._run(lambda: unreached.search(called_off))
        except Exception as error:  # nothing depends on it: the joints rest as before
            self._found = _failed(error)


def _found_by(work: Work) -> OtherConfiguration | None:
    """The result of a search that has ended; an exception becomes a note."""
    try:
        return work.result()
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> OtherConfiguration:
    return OtherConfiguration(None, f'the search for another one failed: {error}')
