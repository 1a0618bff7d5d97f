"""The time that ticks follow, and the time that messages are stamped with."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.node import Node


class NodeClock:
    """The clocks of a node, in ns: Python's, which are the cheaper, or /clock where it says so.

    `now` is for durations, `stamp` for the headers of messages.
    """

    now: Callable[[], int]
    stamp: Callable[[], int]

    def __init__(self, node: Node) -> None:
        self._node = node
        self.follow(simulated=False)

    def follow(self, simulated: bool) -> None:
        """Follow /clock from now on, or the machine's time."""
        self.simulated = simulated
        self.now = self._simulated_time if simulated else time.monotonic_ns
        self.stamp = self._simulated_time if simulated else time.time_ns

    def seconds(self) -> float:
        """`now` in s."""
        return 1e-9 * self.now()

    def _simulated_time(self) -> int:
        nanoseconds: int = self._node.get_clock().now().nanoseconds
        return nanoseconds
