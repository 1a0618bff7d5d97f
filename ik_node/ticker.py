# SPDX-License-Identifier: Apache-2.0
"""The ticker, which calls the tick and keeps it apart from the callbacks.

A rclpy timer would do, but each wake-up of an executor rebuilds its wait set in Python, over all
entities of the node: at 1 kHz that alone takes about a fifth of a core (`ik bench rate`: the bare
timer). So the tick has a thread of its own. As long as the executor sleeps, nothing keeps the
interpreter from it. It wakes for services and parameters. What it runs and the tick exclude each
other: all callbacks are in one `Gate`, whose lock the tick holds too, so no other code of the node
needs to think of threads.

What can be done before a deadline is: the thread wakes early, by as much as the slowest ticks of
late have taken (`Lead`), takes messages, takes the step, and sleeps on until the deadline, at
which only publishing is left. So a goal, which takes long to read and to solve, makes no message
late. Housekeeping is done after it, when the time to the next one is longest.

Under simulated time, which jumps and pauses, the ticks come from a rclpy timer.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import ROSClock
from rclpy.node import Node

from .callback_groups import Forgetting
from .counters import TickMeter

# [s] sys.setswitchinterval: the longest time that the executor's thread may keep a tick from
# running.
SWITCH_INTERVAL = 1e-4

LEAST_LEAD = 200_000  # [ns] the work of a tick begins at least this long before it is due,
# [ns] at most this long: longer work is an exception that does not come again soon,
MOST_LEAD = 2_000_000
LEAD_SHARE = 0.6  # and at most this share of the period: housekeeping needs the rest
MARGIN = 100_000  # [ns] time for waking up while the interpreter is busy
FORGETTING = 2_000_000_000  # [ns] how long what took long is remembered: goals may come seldom


class Worker(Protocol):
    """The work of a ticker; none of it may take long."""

    def prepare(self) -> None:
        """Before a tick: take what came."""

    def step(self) -> None:
        """Before its deadline: work out what there is to publish."""

    def publish(self, due: int) -> int:
        """At the deadline `due` [ns], of the clock that the ticks follow.

        Returns the deadline that it has served, a later one where it took that long.
        """

    def rest(self) -> None:
        """Do housekeeping after a tick."""

    def failed(self, text: str) -> None:
        """One of these raised an exception, whose traceback this is."""


class Housekeeping:
    """Actions that are each due once per so many seconds."""

    def __init__(self, *chores: tuple[float, Callable[[], object]]) -> None:
        self._housekeeping_actions = chores
        self._due = [0.0] * len(chores)

    def run(self, seconds: float) -> None:
        """Do what is due, the longest overdue first; begin nothing after so many seconds."""
        began = now = time.monotonic()
        while now - began <= seconds:
            i = self._due.index(min(self._due))
            if now < self._due[i]:
                return
            period, action = self._housekeeping_actions[i]
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


class Lead:
    """How long before its deadline a tick begins: `ns`, as long as the slowest of late took."""

    def __init__(self, period: int) -> None:
        self._most = min(MOST_LEAD, round(LEAD_SHARE * period))
        self._forgotten = period / FORGETTING
        self._slowest = 0.0
        self.learn(0)

    def learn(self, duration: int) -> None:
        """A tick took so long [ns], without waiting and publishing."""
        self._slowest = max(duration, self._slowest - self._forgotten * self._slowest)
        self.ns = min(max(round(self._slowest) + MARGIN, LEAST_LEAD), self._most)


class Ticker:
    """Runs a worker at `rate` [Hz], holding the lock, from a thread of its own, until stopped.

    It holds the lock from the step to its message: nothing changes in between. Deadlines are
    multiples of the period on the steady clock, so lateness does not add up. A tick is for the
    last one that has come when it publishes, however late the thread was woken; those before it
    are skipped, never caught up, and the meter counts them. What the worker raises is handed to
    its `failed`, and the ticks go on.
    """

    def __init__(
        self, rate: float, worker: Worker, meter: TickMeter, lock: threading.RLock
    ) -> None:
        self._period = round(1e9 / rate)
        self._lead = Lead(self._period)
        self._worker, self._meter, self._lock = worker, meter, lock
        self._stopped = threading.Event()
        self._due = time.monotonic_ns()
        threading.Thread(target=self._run, name='ik_node_tick', daemon=True).start()

    def stop(self) -> None:
        """Begin nothing more; called by the holder of the lock."""
        self._stopped.set()

    def _run(self) -> None:
        _wake_in_time()
        while not self._stopped.is_set():
            self._due = self._last_deadline(self._due + self._period)
            _sleep_until(self._due - self._lead.ns)
            with self._lock:
                self._tick()
            with self._lock:
                self._attempt(self._worker.rest)

    def _tick(self) -> None:
        """All of one tick, and the wait in it."""
        began = time.monotonic_ns()
        self._attempt(self._worker.prepare)
        self._attempt(self._worker.step)
        worked = time.monotonic_ns() - began
        if self._stopped.is_set():
            return
        self._lead.learn(worked)
        _sleep_until(self._due)
        began = time.monotonic_ns()
        self._attempt(self._publish)
        self._meter.tick(self._due, self._period, worked + time.monotonic_ns() - began)

    def _attempt(self, action: Callable[[], object]) -> None:
        """Do it, unless stopped."""
        if not self._stopped.is_set():
            _guarded(action, self._worker)

    def _publish(self) -> None:
        self._due = self._last_deadline(self._due)
        self._due = self._worker.publish(self._due)

    def _last_deadline(self, due: int) -> int:
        """The last one that has come, but none before `due`."""
        behind = time.monotonic_ns() - due
        return due + self._period * max(behind // self._period, 0)


def _wake_in_time() -> None:
    """Linux wakes a thread up to 50 us late, together with others; this one is not to wait."""
    with suppress(OSError):  # elsewhere
        slack = Path(f'/proc/{threading.get_native_id()}/timerslack_ns')
        slack.write_text('1', encoding='ascii')


def _sleep_until(due: int) -> None:
    time.sleep(max(due - time.monotonic_ns(), 0) * 1e-9)


def _guarded(action: Callable[[], object], worker: Worker) -> None:
    try:
        action()
    except Exception:
        worker.failed(traceback.format_exc())


class SimulatedTicker:
    """A ticker by the time on /clock; its rclpy timer decides which ticks are skipped.

    Housekeeping is left to others: /clock may stand still.
    """

    def __init__(
        self, node: Node, clock: ROSClock, rate: float, worker: Worker, meter: TickMeter
    ) -> None:
        self._node, self._clock, self._worker, self._meter = node, clock, worker, meter
        self._stopped = False
        self._timer = node.create_timer(1.0 / rate, self._run, clock=clock)

    def stop(self) -> None:
        """Begin nothing more, also when called from a callback of this ticker."""
        self._stopped = True
        self._node.destroy_timer(self._timer)

    def _run(self) -> None:
        if self._stopped:  # the executor had the timer already
            return
        started, period = time.monotonic_ns(), self._timer.timer_period_ns
        due = self._clock.now().nanoseconds + self._timer.time_until_next_call() - period
        publish = partial(self._worker.publish, due)
        for action in (self._worker.prepare, self._worker.step, publish):
            if not self._stopped:
                _guarded(action, self._worker)
        self._meter.tick(due, period, time.monotonic_ns() - started)
