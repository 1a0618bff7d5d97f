# SPDX-License-Identifier: Apache-2.0
"""Counters: ticks, durations, totals, and warnings that are held back."""

from __future__ import annotations

import math
from array import array
from collections import Counter

import numpy as np

from ik_core.tracking.solution.goal_solver import SOLVING_SHARE

WARNING_PERIOD = 2.0
"""Seconds between two warnings of the same kind; what is left out is counted."""


class Throttle:
    """Lets each kind of message through once per period, and counts those that it held back."""

    def __init__(self, period: float = WARNING_PERIOD) -> None:
        self._period = period
        self._next: dict[str, float] = {}
        self._held: Counter[str] = Counter()

    def admit(self, kind: str, now: float) -> int | None:
        """How many were held back since the last one let through; None to hold this one too."""
        if now < self._next.get(kind, now):
            self._held[kind] += 1
            return None
        self._next[kind] = now + self._period
        return self._held.pop(kind, 0)


class Ring:
    """The last SIZE of many values."""

    SIZE = 1024

    def __init__(self) -> None:
        self._values = array('d', bytes(8 * self.SIZE))
        self._count = 0

    def add(self, value: float) -> None:
        """Add a value, in place of the oldest."""
        self._values[self._count % self.SIZE] = value
        self._count += 1

    @property
    def size(self) -> int:
        """How many values are there."""
        return min(self._count, self.SIZE)

    def percentiles(self, *percents: float) -> list[float]:
        """Percentiles of what is there; 0 where nothing is."""
        values = self._values[: self._count] or self._values[:1]
        return list(map(float, np.percentile(values, percents)))


class TickMeter:
    """Counts ticks, and those that were skipped because another came too late.

    Each tick is known by its nominal time, which the ticker gives, so jitter is never mistaken
    for a skipped tick. Times in ns. `durations` holds those of the last ticks.
    """

    def __init__(self) -> None:
        self.durations = Ring()
        self.ticks = 0
        self.late_ticks = 0
        self._nominal: int | None = None

    def restart(self) -> None:
        """Count from the next tick on; the totals stay."""
        self._nominal = None

    def tick(self, nominal: int, period: int, duration: int = 0) -> None:
        """Count a tick that took so long, and the nominal times since the one before."""
        if self._nominal is not None:
            self.late_ticks += max(0, round((nominal - self._nominal) / period) - 1)
        self._nominal = nominal
        self.ticks += 1
        self.durations.add(duration)


def allowed_rate(rate: float, duration: float) -> float:
    """Return the highest rate [Hz] of ticks that take so long [s] at `rate`.

    Solving stops after SOLVING_SHARE of a period at any rate; the rest takes as long as it does.
    """
    rest = duration - SOLVING_SHARE / rate
    return (1.0 - SOLVING_SHARE) / rest if rest > 0.0 else math.inf


class RisingTotal:
    """The total of a count that starts at 0 again and again."""

    def __init__(self) -> None:
        self.total = 0
        self._last = 0

    def add(self, count: int) -> None:
        """Count what came since the last time."""
        self.total += count - self._last if count >= self._last else count
        self._last = count
