# SPDX-License-Identifier: Apache-2.0
"""The time that ticks follow, and the time that messages are stamped with."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from rclpy.node import Node

SET = 10_000_000  # [ns] a clock that gains more on another one from tick to tick has been set
UNDISTURBED = 5_000  # [ns] two clocks that are read in so short a time were read together
CLOCK_PATIENCE = 2.0  # [s] a simulated clock that does not advance for longer stands still
SMOOTHING = 16  # ticks over which what one clock gains on another is spread


class Moment(NamedTuple):
    """One moment on the clock of the ticks (`due`) and on that of messages (`stamp`) [ns]."""

    due: int
    stamp: int


class NodeClock:
    """The clocks of a node, in ns: Python's, which are cheaper to read, or /clock.

    `now` is for durations.
    """

    now: Callable[[], int]

    def __init__(self, node: Node) -> None:
        self._node = node
        self._ahead = 0
        self._seen = (0, time.monotonic())  # simulated time [ns], since when it is that
        self.follow(simulated=False)

    def follow(self, simulated: bool) -> None:
        """Follow /clock from now on, or the machine's time."""
        self.simulated = simulated
        self.now = self._simulated_time if simulated else time.monotonic_ns
        self._seen = (0, time.monotonic())

    def seconds(self) -> float:
        """`now` in s."""
        return 1e-9 * self.now()

    @property
    def has_begun(self) -> bool:
        """Whether a time has come on /clock; true without a simulated clock."""
        return self.now() > 0

    @property
    def stands_still(self) -> bool:
        """Whether the clock does not advance; asked now and then, since it compares times."""
        if not self.simulated:
            return False
        now = self.now()
        if now != self._seen[0]:
            self._seen = (now, time.monotonic())
        return now == 0 or self.stood_for > CLOCK_PATIENCE

    @property
    def stood_for(self) -> float:
        """How long the simulated clock has stood still [s], as `stands_still` last saw it."""
        return time.monotonic() - self._seen[1]

    def moment(self, due: int) -> Moment:
        """The moment that is `due` on the clock of the ticks.

        Messages say when joints are to be where, so the difference of the clocks is smoothed.
        """
        if self.simulated:
            return Moment(due, due)
        before, stamp, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        gain = stamp - (before + after) // 2 - self._ahead
        if abs(gain) > SET:
            self._ahead += gain
        elif after - before < UNDISTURBED:
            self._ahead += round(gain / SMOOTHING)
        return Moment(due, due + self._ahead)

    def _simulated_time(self) -> int:
        nanoseconds: int = self._node.get_clock().now().nanoseconds
        return nanoseconds
