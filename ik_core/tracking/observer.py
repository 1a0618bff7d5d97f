# SPDX-License-Identifier: Apache-2.0
"""Observers, which are given all inputs and outputs of a tracker."""

from __future__ import annotations

from typing import Protocol

from ..optim.search import Clock
from .instructions import Instruction
from .state import Snapshot
from .status import Command


class Observer(Protocol):
    """Observes all inputs and outputs of a tracker, as they happen."""

    @property
    def is_due(self) -> bool:
        """True if the observer needs a snapshot before anything else."""

    def begin(self, snapshot: Snapshot) -> None:
        """Observe a tracker in this state from now on."""

    def applied(self, instruction: Instruction) -> None:
        """Receive an instruction that was applied."""

    def ticked(self, now: float, command: Command) -> None:
        """Receive a tick and its command."""

    def read(self, seconds: float) -> None:
        """Receive a reading of the clock."""

    def failed(self, *, changed: bool) -> None:
        """Drop the readings of an instruction or a tick that raised.

        changed : a running solve begins again
        """


class ObservedClock:
    """A clock that reports its readings to an observer, if there is one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.observer: Observer | None = None

    def __call__(self) -> float:
        """Return the next reading."""
        seconds = self._clock()
        if self.observer is not None:
            self.observer.read(seconds)
        return seconds
