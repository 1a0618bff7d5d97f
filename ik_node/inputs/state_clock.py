"""How far the clock that stamps joint_states is from this one.

The controller stamps them, and plays trajectories by the same clock. States take some time to
come, some longer than others, so the newest of each second counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from builtin_interfaces.msg import Time

from ..conversions import time_to_seconds

WATCHED = 1.0
"""[s] How long stamps are collected."""
OLDEST = 0.05
"""[s] A stamp may be so old when its state comes,"""
NEWEST = -0.005
"""and so new."""


class StateClock:
    """Compares stamps with `now` [s], which gives the time of this computer's ROS clock."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since = self._age = math.inf

    def difference(self, stamp: Time) -> float | None:
        """Take the stamp of a state; by how much the clocks differ [s], once it is known.

        None while it is not, where they go together, and for states without a stamp.
        """
        seconds, now = time_to_seconds(stamp), self._now()
        if seconds == 0.0:
            return None
        if (
            not 0.0 <= now - self._since <= 2.0 * WATCHED
        ):  # the first, or one of the clocks was set
            self._since, self._age = now, math.inf
        self._age = min(self._age, now - seconds)
        if now - self._since < WATCHED:
            return None
        age, self._since = self._age, math.inf
        return None if NEWEST <= age <= OLDEST else age
