# SPDX-License-Identifier: Apache-2.0
"""A comparison: solves of several methods, advanced frame by frame.

The solves share one thread. A solve that takes too long, such as an update of seconds,
keeps that thread, and the others continue in a new one. So the page never waits for a slow solve,
and the others wait only once.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from .methods import Method
from .start import Start
from .stepped_solve import MethodState, SteppedSolve

UNTIL_THE_END = 10**9  # updates per frame: as many as its time allows

PATIENCE = 0.1  # [s] a solve that delays a frame by more keeps its thread for itself


class Worker:
    """A thread that does one job at a time, and is idle in between."""

    def __init__(self, name: str) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, work: Callable[[], None]) -> bool:
        """Start a job, which must not raise; return False if the thread is still busy."""
        if not self._idle.is_set():
            return False
        self._idle.clear()
        self._work.put(work)
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until the thread is idle, for at most `seconds`; return whether it is."""
        return self._idle.wait(max(0.0, seconds))

    def close(self) -> None:
        """End the thread after its present job."""
        self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
            self._idle.set()


class Comparison:
    """Solves of several methods from the same start.

    make : makes each solve, by default a SteppedSolve
    """

    def __init__(
        self,
        methods: Sequence[Method],
        start: Start,
        make: Callable[[Method, Start], SteppedSolve] = SteppedSolve,
    ) -> None:
        self.start = start
        self.solves = [make(method, start) for method in methods]
        self._lock = threading.Lock()
        self._worker = Worker('compare')
        self._running = 0
        self._slow: dict[int, Worker] = {}
        self._closed = False

    @property
    def over(self) -> bool:
        """True if all solves are done or have failed."""
        return all(solve.over for solve in self.solves)

    @property
    def states(self) -> list[MethodState]:
        """The state of each solve, in their order."""
        return [solve.state for solve in self.solves]

    def advance(self, updates: int, seconds: float) -> list[MethodState]:
        """Advance all solves by a frame: at most `updates` each, about `seconds` in total.

        Returns their states; a solve in a slow update has its last one.
        """
        deadline = time.perf_counter() + seconds + PATIENCE
        waiting = [i for i, solve in enumerate(self.solves) if not solve.over]
        seconds_each = seconds / max(len(waiting), 1)
        on_time = [i for i in waiting if i not in self._slow]
        self._worker.submit(
            partial(self._take_turns, self._worker, on_time, updates, seconds_each)
        )
        for i in set(waiting) - set(on_time):
            self._slow[i].submit(partial(self.solves[i].advance, updates, seconds_each))
        if not self._worker.wait(deadline - time.perf_counter()):
            self._separate_slow()
        return self.states

    def close(self) -> None:
        """End all threads; those in a slow update end after it, in the background.

        If another thread is in `advance`, it starts no thread any more.
        """
        with self._lock:
            self._closed = True
            for worker in (self._worker, *self._slow.values()):
                worker.close()

    def _take_turns(
        self, worker: Worker, solves: Sequence[int], updates: int, seconds: float
    ) -> None:
        for i in solves:
            with self._lock:
                if worker is not self._worker:  # the others have moved to another thread
                    return
                self._running = i
            self.solves[i].advance(updates, seconds)

    def _separate_slow(self) -> None:
        """Leave the thread to the running solve, and make another one for the others."""
        with self._lock:
            if self._closed:
                return
            self._slow[self._running] = self._worker
            self._worker = Worker('compare')
