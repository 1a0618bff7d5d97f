# SPDX-License-Identifier: Apache-2.0
"""Steps of the joints that are taken even if the tracker raises an exception."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import Protocol

from ik_core.tracking import Command
from ik_core.tracking.governor import Governor
from ik_core.tracking.instructions import Instruction


class Mover(Protocol):
    """The mover of the joints in ticks: a Tracker, or an Alignment before it."""

    @property
    def governor(self) -> Governor:
        """The owner of the joints' state."""

    @property
    def at_rest(self) -> bool:
        """True if no joint is commanded to move."""

    @property
    def stopping_time(self) -> float:
        """Longest time [s] until the joints rest, if they brake from the next tick on."""

    def apply(self, instruction: Instruction) -> None:
        """Apply an instruction. Raises IkError."""

    def tick(self, now: float, instructions: Iterable[Instruction] = ()) -> Command:
        """Apply instructions and take one step; after an exception, no step was taken."""

    def skip_tick(self, *, braking: bool) -> None:
        """Take the step of a tick that was skipped.

        braking : take the stop that the last command announced
        """

    def undo_tick(self) -> None:
        """Undo all steps since the last tick began, including the one of that tick."""


class CommittedSteps:
    """Skipped and undone ticks of a mover, which always succeed.

    If the mover raises, its governor does the work alone (it brakes, or undoes), and `failed` is
    called with the traceback.
    """

    def __init__(self, mover: Mover, failed: Callable[[str], None]) -> None:
        self._mover, self._failed = mover, failed

    @property
    def governor(self) -> Governor:
        """The owner of the joints' state."""
        return self._mover.governor

    @property
    def at_rest(self) -> bool:
        """True if no joint is commanded to move."""
        return self._mover.at_rest

    def undo_tick(self) -> None:
        """Undo all steps since the last tick began, including the one of that tick."""
        try:
            self._mover.undo_tick()
        except Exception:
            self.governor.undo_tick()
            self._failed(traceback.format_exc())

    def skip_tick(self, *, braking: bool) -> None:
        """Take the step of a tick that was skipped.

        braking : take the stop that the last command announced
        """
        try:
            self._mover.skip_tick(braking=braking)
        except Exception:
            if braking:
                self.governor.brake(announced=True)
            else:
                self.governor.give_up()
            self._failed(traceback.format_exc())
