# SPDX-License-Identifier: Apache-2.0
"""The ticker, which runs the ticks in a thread and never at the same time as callbacks.

A rclpy timer would do, but each wake-up of an executor rebuilds its wait set in Python, over all
entities of the node: at 1 kHz that alone takes about a fifth of a core (`ik bench rate`: the bare
timer). So ticks have a thread of their own, and the executor wakes only for services and
parameters. Callbacks and ticks exclude each other: all callbacks are in one `Gate`, whose lock the
tick holds, too. So the rest of the node's code needs no locks.

The thread wakes before the deadline, by the duration of the slowest recent ticks (`Lead`). It
reads messages, takes the step, sleeps until the deadline, and only then publishes. So a goal,
which takes long to read and to solve, delays no message. Housekeeping follows the message, when
the time to the next tick is longest.

With simulated time, which jumps and pauses, a rclpy timer runs the ticks.
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

LEAST_LEAD = 200_000  # [ns] a tick begins at least this long before its deadline
# [ns] A tick begins at most this long before its deadline: longer ticks are exceptions.
MOST_LEAD = 2_000_000
LEAD_FRACTION = 0.6  # of a period, at most, begins a tick early: housekeeping needs the rest
MARGIN = 100_000  # [ns] allowance for waking up while the interpreter is busy
FORGETTING = 2_000_000_000  # [ns] time constant of the slowest tick: goals may come seldom


class Worker(Protocol):
    """The methods that a ticker calls; each must return within a part of a period."""

    def prepare(self) -> None:
        """Read messages, before the step."""

    def step(self) -> None:
        """Compute the command, before the deadline."""

    def publish(self, due: int) -> int:
        """Publish at the deadline `due` [ns], on the clock of the ticks.

        Returns the deadline that was served: a later one if that has passed meanwhile.
        """

    def rest(self) -> None:
        """Do housekeeping after a tick."""

    def failed(self, text: str) -> None:
        """Handle an exception of another method; `text` is its traceback."""


class Housekeeping:
    """Periodic actions: pairs of a period [s] and a function."""

    def __init__(self, *actions: tuple[float, Callable[[], object]]) -> None:
        self._actions = actions
        self._due = [0.0] * len(actions)

    def run(self, seconds: float) -> None:
        """Run the actions that are due, the longest overdue first; begin none after `seconds`."""
        began = now = time.monotonic()
        while now - began <= seconds:
            i = self._due.index(min(self._due))
            if now < self._due[i]:
                return
            period, action = self._actions[i]
            self._due[i] = now + period
            action()
            now = time.monotonic()


class Gate(Forgetting, MutuallyExclusiveCallbackGroup):
    """A callback group that runs one callback at a time, and holds `lock` meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()

    def beginning_execution(self, entity: Any) -> bool:
        """Acquire the lock for a callback; return False if another callback runs."""
        if not super().beginning_execution(entity):
            return False
        self.lock.acquire()
        return True

    def ending_execution(self, entity: Any) -> None:
        """Release the lock after a callback."""
        self.lock.release()
        super().ending_execution(entity)


class Lead:
    """The time `ns` [ns] from a tick's begin to its deadline: the slowest recent duration."""

    def __init__(self, period: int) -> None:
        self._most = min(MOST_LEAD, round(LEAD_FRACTION * period))
        self._decay = period / FORGETTING
        self._slowest = 0.0
        self.learn(0)

    def learn(self, duration: int) -> None:
        """Update the lead by the duration [ns] of a tick without waiting and publishing."""
        self._slowest = max(duration, self._slowest - self._decay * self._slowest)
        self.ns = min(max(round(self._slowest) + MARGIN, LEAST_LEAD), self._most)


class Ticker:
    """Runs a worker at `rate` [Hz], holding the lock, from a thread of its own, until stopped.

    It holds the lock from the step to its message, so nothing changes in between. Deadlines are
    multiples of the period on the steady clock, so lateness does not add up. A tick publishes for
    the last deadline that has passed, however late the thread was woken. Earlier deadlines are
    skipped, never caught up, and the meter counts them. Exceptions of the worker are passed to
    its `failed`, and the ticks continue.
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
        """Stop the ticks; the caller holds the lock."""
        self._stopped.set()

    def _run(self) -> None:
        _reduce_timer_slack()
        while not self._stopped.is_set():
            self._due = self._last_deadline(self._due + self._period)
            _sleep_until(self._due - self._lead.ns)
            with self._lock:
                self._tick()
            with self._lock:
                self._attempt(self._worker.rest)

    def _tick(self) -> None:
        """Run one tick, including the wait for its deadline."""
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
        """Run an action unless stopped; pass its exception to the worker."""
        if not self._stopped.is_set():
            _guarded(action, self._worker)

    def _publish(self) -> None:
        self._due = self._last_deadline(self._due)
        self._due = self._worker.publish(self._due)

    def _last_deadline(self, due: int) -> int:
        """Return the last deadline [ns] that has passed, but none before `due`."""
        behind = time.monotonic_ns() - due
        return due + self._period * max(behind // self._period, 0)


def _reduce_timer_slack() -> None:
    """Set the timer slack of this thread to 1 ns: by default Linux wakes it up to 50 us late."""
    with suppress(OSError):  # other systems have no such file
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
    """A ticker on the time of /clock; its rclpy timer decides which ticks are skipped.

    It does no housekeeping, since /clock may stand still.
    """

    def __init__(
        self, node: Node, clock: ROSClock, rate: float, worker: Worker, meter: TickMeter
    ) -> None:
        self._node, self._clock, self._worker, self._meter = node, clock, worker, meter
        self._stopped = False
        self._timer = node.create_timer(1.0 / rate, self._run, clock=clock)

    def stop(self) -> None:
        """Stop the ticks; may be called from a callback of this ticker."""
        self._stopped = True
        self._node.destroy_timer(self._timer)

    def _run(self) -> None:
        if self._stopped:  # the executor had collected the timer before
            return
        started, period = time.monotonic_ns(), self._timer.timer_period_ns
        due = self._clock.now().nanoseconds + self._timer.time_until_next_call() - period
        publish = partial(self._worker.publish, due)
        for action in (self._worker.prepare, self._worker.step, publish):
            if not self._stopped:
                _guarded(action, self._worker)
        self._meter.tick(due, period, time.monotonic_ns() - started)
