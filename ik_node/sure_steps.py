"""Steps of the joints that are taken whatever raises."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from ik_core.tracking import Tracker
from ik_core.tracking.governor import Governor


class SureSteps:
    """The steps of a tracker, for who can't do without a single one of them.

    Where one raises, the governor brakes for it, and `failed` is told the traceback.
    """

    def __init__(self, tracker: Tracker, failed: Callable[[str], None]) -> None:
        self._tracker, self._failed = tracker, failed

    @property
    def governor(self) -> Governor:
        """What has the state of the joints."""
        return self._tracker.governor

    @property
    def at_rest(self) -> bool:
        """Whether no joint is commanded to move."""
        return self._tracker.at_rest

    def take_back(self) -> None:
        """See Tracker."""
        try:
            self._tracker.take_back()
        except Exception:
            self.governor.take_back()
            self._failed(traceback.format_exc())

    def skip_tick(self, *, braking: bool) -> None:
        """See Tracker."""
        steps = self.governor.steps
        try:
            self._tracker.skip_tick(braking=braking)
        except Exception:
            if self.governor.steps == steps:
                self.governor.brake(as_told=braking)
            self._failed(traceback.format_exc())
