# SPDX-License-Identifier: Apache-2.0
"""The clock of the stamps of joint_states: its difference to this clock, and delays of states.

The controller stamps states, and plays trajectories, by the same clock. States arrive with varying
delays, so the least delay of each second counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from builtin_interfaces.msg import Time

from ..conversions import time_to_seconds

WATCHED = 1.0  # [s] stamps are collected over this time
# [s] Plausible ages of the newest stamp; any other means that the clocks differ.
OLDEST = 0.05
NEWEST = -0.005
# [s] A stamp with a larger delay, compared with others, is not trusted.
LATEST = 1.0


class StateClock:
    """Compares stamps with `now`, which returns the time [s] of this computer's ROS clock."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since = self._age = self._age_before = math.inf

    def lateness(self, stamp: Time) -> float | None:
        """Return how much longer [s] a state took to arrive than the quickest recent one.

        So it was measured at least that long before its arrival. None without a usable stamp.
        """
        seconds, age = time_to_seconds(stamp), 0.0
        least = min(self._age, self._age_before)
        if seconds == 0.0 or math.isinf(least):
            return None
        age = self._now() - seconds - least
        return max(age, 0.0) if age <= LATEST else None

    def difference(self, stamp: Time) -> float | None:
        """Take the stamp of a state; return the difference [s] of the clocks, if they differ.

        Returns None while that is not known, if the clocks agree, and for states without a stamp.
        """
        seconds, now = time_to_seconds(stamp), self._now()
        if seconds == 0.0:
            return None
        if (
            not 0.0 <= now - self._since <= 2.0 * WATCHED
        ):  # the first, or one of the clocks was set
            self._since, self._age, self._age_before = now, math.inf, math.inf
        self._age = min(self._age, now - seconds)
        if now - self._since < WATCHED:
            return None
        age, self._since, self._age, self._age_before = self._age, now, math.inf, self._age
        return None if NEWEST <= age <= OLDEST else age
