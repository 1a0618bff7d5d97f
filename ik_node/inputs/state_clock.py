# SPDX-License-Identifier: Apache-2.0
"""The clock that stamps joint_states: how far it is from this one, and when states were measured.

The controller stamps them, and plays trajectories by the same clock. States take some time to
come, some longer than others, so the newest of each second counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from builtin_interfaces.msg import Time

from ..conversions import time_to_seconds

WATCHED = 1.0  # [s] how long stamps are collected
OLDEST = 0.05  # [s] a stamp may be so old when its state comes,
NEWEST = -0.005  # least age [s]
# [s] A state that comes so late, compared with others, has a stamp that can't be trusted.
LATEST = 1.0


class StateClock:
    """Compares stamps with `now` [s], which gives the time of this computer's ROS clock."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since = self._age = self._age_before = math.inf

    def lateness(self, stamp: Time) -> float | None:
        """How much longer a state took to arrive than the quickest state lately [s].

        It was measured at least so long before it arrived. None if its stamp does not tell.
        """
        seconds, age = time_to_seconds(stamp), 0.0
        least = min(self._age, self._age_before)
        if seconds == 0.0 or math.isinf(least):
            return None
        age = self._now() - seconds - least
        return max(age, 0.0) if age <= LATEST else None

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
            self._since, self._age, self._age_before = now, math.inf, math.inf
        self._age = min(self._age, now - seconds)
        if now - self._since < WATCHED:
            return None
        age, self._since, self._age, self._age_before = self._age, now, math.inf, self._age
        return None if NEWEST <= age <= OLDEST else age
