# SPDX-License-Identifier: Apache-2.0
"""Counters of ticks, durations, totals and suppressed warnings."""

from __future__ import annotations

import math
from array import array
from collections import Counter

import numpy as np

from ik_core.tracking.solution.goal_solver import SOLVING_FRACTION

WARNING_PERIOD = 2.0  # [s] warnings of a kind in between are counted, not logged


class Throttle:
    """Admits one message of each kind per period, and counts the suppressed ones."""

    def __init__(self, period: float = WARNING_PERIOD) -> None:
        self._period = period
        self._next: dict[str, float] = {}
        self._suppressed: Counter[str] = Counter()

    def admit(self, kind: str, now: float) -> int | None:
        """Return the number suppressed since the last one admitted; None to suppress this one."""
        if now < self._next.get(kind, now):
            self._suppressed[kind] += 1
            return None
        self._next[kind] = now + self._period
        return self._suppressed.pop(kind, 0)


class Ring:
    """A ring buffer of the last SIZE values."""

    SIZE = 1024

    def __init__(self) -> None:
        self._values = array('d', bytes(8 * self.SIZE))
        self._count = 0

    def add(self, value: float) -> None:
        """Add a value; it replaces the oldest one once the buffer is full."""
        self._values[self._count % self.SIZE] = value
        self._count += 1

    @property
    def size(self) -> int:
        """Number of values in the buffer."""
        return min(self._count, self.SIZE)

    def percentiles(self, *percents: float) -> list[float]:
        """Return percentiles of the values; 0 if there are none."""
        values = self._values[: self._count] or self._values[:1]
        return list(map(float, np.percentile(values, percents)))


class TickMeter:
    """Counts ticks, and the deadlines that were skipped since a tick came too late.

    Ticks are counted by their nominal times, so jitter never counts as a skipped tick. Times
    in ns. `durations` holds those of the last ticks.
    """

    def __init__(self) -> None:
        self.durations = Ring()
        self.ticks = 0
        self.late_ticks = 0
        self._nominal: int | None = None

    def restart(self) -> None:
        """Do not count the time until the next tick as skipped ticks; the totals stay."""
        self._nominal = None

    def tick(self, nominal: int, period: int, duration: int = 0) -> None:
        """Count a tick of this duration, and the deadlines skipped since the previous one."""
        if self._nominal is not None:
            self.late_ticks += max(0, round((nominal - self._nominal) / period) - 1)
        self._nominal = nominal
        self.ticks += 1
        self.durations.add(duration)


def allowed_rate(rate: float, duration: float) -> float:
    """Return the highest rate [Hz] for ticks that take `duration` [s] at `rate` [Hz].

    Solving takes at most the fraction SOLVING_FRACTION of a period, at any rate; the rest of the
    duration does not depend on the rate.
    """
    rest = duration - SOLVING_FRACTION / rate
    return (1.0 - SOLVING_FRACTION) / rest if rest > 0.0 else math.inf


class RisingTotal:
    """The total of a count that is reset to 0 from time to time."""

    def __init__(self) -> None:
        self.total = 0
        self._last = 0

    def add(self, count: int) -> None:
        """Add the increase of the count since the last call."""
        self.total += count - self._last if count >= self._last else count
        self._last = count
