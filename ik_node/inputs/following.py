"""Whether a robot follows: where its joints are, compared with where they were commanded to be.

A controller lags, and states come late. So a joint is compared with all that it was commanded to
be in the last WINDOW: its following error is how far it is outside of that. A lag shorter than
that is no error, at any speed, while a joint that stays behind for good has one soon.
"""

from __future__ import annotations

import math

import numpy as np

from ik_core import Robot
from ik_core.maths.rotations import Array

from .measured_state import AGREEING, Differences, Joints

WINDOW = 0.25
"""[s] The longest lag of controller and state together that is no error,"""
PERIODS = 2.0
"""and so many periods of the commands more, which are on their way that long."""
BLOCKS = 12


class CommandedRange:
    """The lowest and the highest position of each joint that was commanded in the last `seconds`.

    The time is cut into blocks, of which each has its own two: what a tick adds takes as long at
    any rate.
    """

    def __init__(self, n: int, seconds: float) -> None:
        self._duration = seconds / (BLOCKS - 1)
        self._numbers = np.full(BLOCKS, -BLOCKS - 1, np.int64)
        self._lowest, self._highest = np.zeros((2, BLOCKS, n))

    def add(self, q: Array, now: float) -> None:
        """Take what is commanded (n,) now [s]."""
        number = math.floor(now / self._duration)
        row = number % BLOCKS
        lowest, highest = self._lowest[row], self._highest[row]
        if self._numbers[row] != number:
            self._numbers[row] = number
            lowest[:] = highest[:] = q
        else:
            np.minimum(lowest, q, out=lowest)
            np.maximum(highest, q, out=highest)

    def at(self, now: float) -> tuple[Array, Array] | None:
        """Both (n,), where anything was commanded in that time."""
        number = math.floor(now / self._duration)
        valid = (self._numbers > number - BLOCKS) & (self._numbers <= number)
        if not valid.any():
            return None
        return self._lowest[valid].min(axis=0), self._highest[valid].max(axis=0)


class Following:
    """Watches the following errors of the joints `watched` (indices); `period` [s] of commands."""

    def __init__(self, robot: Robot, watched: list[int], period: float) -> None:
        self._range = CommandedRange(robot.n, WINDOW + PERIODS * period)
        self._differences = Differences(robot)
        self._every = np.arange(robot.n)
        self._watched = np.isin(self._every, watched)
        self._counts = np.zeros(robot.n, np.intp)
        self.errors = np.zeros(robot.n)
        """[rad or m] The last following error of each joint."""
        self.behind: list[int] = []
        """The joints that do not follow: several samples in a row say so."""

    def command(self, q: Array, now: float) -> None:
        """Take what is commanded (n,) now [s]."""
        self._range.add(q, now)

    def measure(self, q: Array, joints: Joints, allowed: Array, now: float) -> None:
        """Compare the measured positions (n,) of some joints with what was commanded."""
        commanded = self._range.at(now)
        if commanded is None:
            return
        lowest, highest = commanded
        middle, reach = 0.5 * (lowest + highest), 0.5 * (highest - lowest)
        apart = np.abs(self._differences.between(q, middle, self._every))
        self.errors[joints] = np.maximum(apart - reach, 0.0)[joints]
        beyond = (self.errors > allowed) & self._watched
        self._counts[joints] += 1
        self._counts[~beyond] = 0
        self.behind = np.flatnonzero(self._counts >= AGREEING).tolist()

    def forget(self) -> None:
        """Begin anew: what was measured until now does not count."""
        self._counts[:] = 0
        self.behind = []

    def is_at(self, q: Array, measured: Array, allowed: Array) -> bool:
        """Whether the watched joints are, but for the errors allowed, measured at q (n,)."""
        apart = np.abs(self._differences.between(measured, q, self._every))
        return bool((apart <= allowed)[self._watched].all())
