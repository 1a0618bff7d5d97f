"""What calls the tick, and keeps it apart from the callbacks.

A rclpy timer would do, but each wake-up of an executor rebuilds its wait set in Python, over all
entities of the node: at 1 kHz that alone takes about a fifth of a core (`ik bench rate`: the bare
timer). So the tick has a thread that sleeps until each deadline. The same thread takes messages
shortly before the tick (`inputs`), and does chores after it, when the time to the next one is
longest: as long as the executor sleeps, nothing keeps the interpreter from the tick. It wakes
for services and parameters. What it runs and the tick exclude each other: all callbacks are in
one `Gate`, whose lock the tick holds too, so no other code of the node needs to think of threads.

Under simulated time, which jumps and pauses, the ticks come from a rclpy timer.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import ROSClock
from rclpy.node import Node

from .callback_groups import Forgetting
from .counters import TickMeter

SWITCH_INTERVAL = 1e-4
"""[s] For sys.setswitchinterval: how long the executor's thread may keep a tick from running."""


LEAD = 350_000
"""[ns] How long before a tick messages are taken: about what a goal needs, read and checked."""


class Worker(Protocol):
    """What a ticker runs; none of it may take long."""

    def prepare(self) -> None:
        """Before a tick: take what came."""

    def tick(self, due: int) -> int:
        """At the deadline `due` [ns], of the clock that the ticks follow.

        Returns the deadline that it has served, a later one where it took that long.
        """

    def rest(self) -> None:
        """After a tick: chores that are not urgent."""

    def failed(self, text: str) -> None:
        """One of these raised an exception, whose traceback this is."""


class Chores:
    """Actions that are each due once per so many seconds."""

    def __init__(self, *chores: tuple[float, Callable[[], None]]) -> None:
        self._chores = chores
        self._due = [0.0] * len(chores)

    def run(self, seconds: float) -> None:
        """Do what is due, the longest overdue first; begin nothing after so many seconds."""
        began = now = time.monotonic()
        while now - began <= seconds:
            i = self._due.index(min(self._due))
            if now < self._due[i]:
                return
            period, action = self._chores[i]
            self._due[i] = now + period
            action()
            now = time.monotonic()


class Gate(Forgetting, MutuallyExclusiveCallbackGroup):
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
    """Runs a worker at `rate` [Hz], holding the lock, from a thread of its own, until stopped.

    Deadlines are multiples of the period on the steady clock, so lateness does not add up. A tick
    is for the last one that has come when it begins, however late the thread was woken; those
    before it are skipped, never caught up, and the meter counts them. What the worker raises is
    handed to its `failed`, and the ticks go on.
    """

    def __init__(
        self, rate: float, worker: Worker, meter: TickMeter, lock: threading.RLock
    ) -> None:
        self._period = round(1e9 / rate)
        self._lead = min(LEAD, self._period // 2)
        self._worker, self._meter, self._lock = worker, meter, lock
        self._stopped = threading.Event()
        self._due = time.monotonic_ns()
        threading.Thread(target=self._run, name='ik_node_tick', daemon=True).start()

    def stop(self) -> None:
        """Nothing begins after this, which the holder of the lock calls."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._due = self._last_deadline(self._due + self._period)
            _sleep_until(self._due - self._lead)
            duration = self._attempt(self._worker.prepare)
            _sleep_until(self._due)
            duration += self._attempt(self._tick)
            if self._stopped.is_set():
                return
            self._meter.tick(self._due, self._period, duration)
            self._attempt(self._worker.rest)

    def _attempt(self, action: Callable[[], object]) -> int:
        """Do it, unless stopped; how long that took [ns]."""
        with self._lock:
            started = time.monotonic_ns()
            if not self._stopped.is_set():
                _guarded(action, self._worker)
            return time.monotonic_ns() - started

    def _tick(self) -> None:
        self._due = self._last_deadline(self._due)
        self._due = self._worker.tick(self._due)

    def _last_deadline(self, due: int) -> int:
        """The last one that has come, but none before `due`."""
        behind = time.monotonic_ns() - due
        return due + self._period * max(behind // self._period, 0)


def _sleep_until(due: int) -> None:
    time.sleep(max(due - time.monotonic_ns(), 0) * 1e-9)


def _guarded(action: Callable[[], object], worker: Worker) -> None:
    try:
        action()
    except Exception:
        worker.failed(traceback.format_exc())


class SimulatedTicker:
    """The same, by the time on /clock: what is skipped and what is not is the timer's to say.

    Chores are left to others: /clock may stand still.
    """

    def __init__(
        self, node: Node, clock: ROSClock, rate: float, worker: Worker, meter: TickMeter
    ) -> None:
        self._node, self._clock, self._worker, self._meter = node, clock, worker, meter
        self._stopped = False
        self._timer = node.create_timer(1.0 / rate, self._run, clock=clock)

    def stop(self) -> None:
        """Nothing begins after this, also where it is called from what this runs."""
        self._stopped = True
        self._node.destroy_timer(self._timer)

    def _run(self) -> None:
        if self._stopped:  # the executor had the timer already
            return
        started, period = time.monotonic_ns(), self._timer.timer_period_ns
        due = self._clock.now().nanoseconds + self._timer.time_until_next_call() - period
        for action in (self._worker.prepare, partial(self._worker.tick, due)):
            if not self._stopped:
                _guarded(action, self._worker)
        self._meter.tick(due, period, time.monotonic_ns() - started)
