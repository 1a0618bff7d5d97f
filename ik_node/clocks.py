# SPDX-License-Identifier: Apache-2.0
"""The clock of the ticks, and the clock of message stamps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from rclpy.node import Node

SET = 10_000_000  # [ns] a larger drift between two ticks means that a clock was set
UNDISTURBED = 5_000  # [ns] readings of two clocks farther apart in time are not compared
CLOCK_PATIENCE = 2.0  # [s] a simulated clock that does not advance for longer stands still
SMOOTHING = 16  # a drift between the clocks is spread over this many ticks


class Moment(NamedTuple):
    """A moment, on the clock of the ticks (`due`) and on that of message stamps (`stamp`) [ns]."""

    due: int
    stamp: int


class NodeClock:
    """The clocks of a node [ns]: the machine's, or /clock.

    `now` reads the clock of the ticks; only differences of its values have a meaning. Python
    reads the machine's clocks, which is cheaper than by rclpy.
    """

    now: Callable[[], int]

    def __init__(self, node: Node) -> None:
        self._node = node
        self._ahead = 0
        self._seen = (0, time.monotonic())  # simulated time [ns], and when it was first seen [s]
        self.follow(simulated=False)

    def follow(self, simulated: bool) -> None:
        """Follow /clock from now on, or the machine's time."""
        self.simulated = simulated
        self.now = self._simulated_time if simulated else time.monotonic_ns
        self._seen = (0, time.monotonic())

    def seconds(self) -> float:
        """Return `now` in seconds."""
        return 1e-9 * self.now()

    @property
    def has_begun(self) -> bool:
        """True if /clock has published a time; True without a simulated clock."""
        return self.now() > 0

    @property
    def stands_still(self) -> bool:
        """True if the clock does not advance, compared with earlier reads of this property."""
        if not self.simulated:
            return False
        now = self.now()
        if now != self._seen[0]:
            self._seen = (now, time.monotonic())
        return now == 0 or self.stood_for > CLOCK_PATIENCE

    @property
    def stood_for(self) -> float:
        """Time [s] since `stands_still` saw the simulated clock advance."""
        return time.monotonic() - self._seen[1]

    def moment(self, due: int) -> Moment:
        """Return the moment at `due` [ns] on the clock of the ticks.

        Stamps are the times of setpoints, so jitter in the difference of the clocks is smoothed.
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
