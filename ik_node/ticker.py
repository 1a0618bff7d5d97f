"""What calls the tick, and keeps it apart from the callbacks.

A rclpy timer would do, but each wake-up of an executor rebuilds its wait set in Python, over all
entities of the node: at 1 kHz that alone takes about a fifth of a core (`ik bench rate`: the bare
timer). So the tick has a thread that sleeps until each deadline and the executor wakes only for
messages. What the executor runs and the tick exclude each other: all callbacks are in one `Gate`,
whose lock the tick holds too, so no other code of the node needs to think of threads.

Under simulated time, which jumps and pauses, the ticks come from a rclpy timer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import ROSClock
from rclpy.node import Node

from .diagnostics import TickMeter

SWITCH_INTERVAL = 1e-4
"""[s] For sys.setswitchinterval: how long the executor's thread may keep a tick from running."""


class Gate(MutuallyExclusiveCallbackGroup):
    """Callbacks of which only one runs at a time, and only while nobody else holds `lock`."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()

    def beginning_execution(self, entity: Any) -> bool:
        """See rclpy."""
        if not super().beginning_execution(entity):
            return False
        self.lock.acquire()
        return True

    def ending_execution(self, entity: Any) -> None:
        """See rclpy."""
        self.lock.release()
        super().ending_execution(entity)


class Ticker:
    """Calls `tick` at `rate` [Hz], holding the lock, from a thread of its own, until stopped.

    Deadlines are multiples of the period on the steady clock, so lateness does not add up. Those
    that have passed when a tick ends are skipped, never caught up; the meter counts them.
    """

    def __init__(
        self, rate: float, tick: Callable[[], None], meter: TickMeter, lock: threading.RLock
    ) -> None:
        self._period = round(1e9 / rate)
        self._tick, self._meter, self._lock = tick, meter, lock
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name='ik_node_tick', daemon=True).start()

    def stop(self) -> None:
        """No tick begins after this, which the holder of the lock calls."""
        self._stopped.set()

    def _run(self) -> None:
        due = time.monotonic_ns()
        while not self._stopped.is_set():
            due = self._next_after(due)
            time.sleep(max(due - time.monotonic_ns(), 0) * 1e-9)
            with self._lock:
                if self._stopped.is_set():
                    return
                started = time.monotonic_ns()
                self._tick()
                self._meter.tick(due, self._period, time.monotonic_ns() - started)

    def _next_after(self, due: int) -> int:
        """The next deadline; not one that lies a whole period back already."""
        behind = time.monotonic_ns() - (due + self._period)
        return due + self._period * (1 + max(behind // self._period, 0))


class SimulatedTicker:
    """The same, by the time on /clock: what is skipped and what is not is the timer's to say."""

    def __init__(
        self, node: Node, clock: ROSClock, rate: float, tick: Callable[[], None], meter: TickMeter
    ) -> None:
        self._node, self._clock, self._tick, self._meter = node, clock, tick, meter
        self._timer = node.create_timer(1.0 / rate, self._run, clock=clock)

    def stop(self) -> None:
        """No tick begins after this."""
        self._node.destroy_timer(self._timer)

    def _run(self) -> None:
        started = time.monotonic_ns()
        self._tick()
        nominal = self._clock.now().nanoseconds + self._timer.time_until_next_call()
        period = self._timer.timer_period_ns
        self._meter.tick(nominal, period, time.monotonic_ns() - started)
