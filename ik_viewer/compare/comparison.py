# SPDX-License-Identifier: Apache-2.0
"""All methods together: frame by frame, none of them keeping the others waiting.

They take turns on one thread. Who does not come back in time, as from an update of seconds, keeps
that thread for itself, and the others go on in a new one. So the page never waits, and the others
only once.
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

UNTIL_THE_END = 10**9  # updates a frame: as many as its time allows

PATIENCE = 0.1  # [s] frame delay after which a slow solve gets its own thread


class Lane:
    """A thread that does one thing at a time, and is idle in between."""

    def __init__(self, name: str) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def ask(self, work: Callable[[], None]) -> bool:
        """Have it done; False where it is still busy. `work` never raises."""
        if not self._idle.is_set():
            return False
        self._idle.clear()
        self._work.put(work)
        return True

    def wait(self, seconds: float) -> bool:
        """Wait for it to be idle, at most so long; whether it is."""
        return self._idle.wait(max(0.0, seconds))

    def close(self) -> None:
        """End the thread, once it is idle."""
        self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
            self._idle.set()


class Comparison:
    """The solves of some methods from one start.

    make : another kind of solve
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
        self._lane = Lane('compare')
        self._at_work = 0
        self._left_behind: dict[int, Lane] = {}
        self._closed = False

    @property
    def over(self) -> bool:
        """Whether all are done or have failed."""
        return all(solve.over for solve in self.solves)

    @property
    def states(self) -> list[MethodState]:
        """How they stand, in their order."""
        return [solve.state for solve in self.solves]

    def advance(self, updates: int, seconds: float) -> list[MethodState]:
        """Advance all solves by a frame: by at most `updates` each, in about `seconds` together.

        Returns their states; one in the middle of a slow update has its last one.
        """
        deadline = time.perf_counter() + seconds + PATIENCE
        waiting = [i for i, solve in enumerate(self.solves) if not solve.over]
        share = seconds / max(len(waiting), 1)
        together = [i for i in waiting if i not in self._left_behind]
        self._lane.ask(partial(self._take_turns, self._lane, together, updates, share))
        for i in set(waiting) - set(together):
            self._left_behind[i].ask(partial(self.solves[i].advance, updates, share))
        if not self._lane.wait(deadline - time.perf_counter()):
            self._leave_behind()
        return self.states

    def close(self) -> None:
        """End all threads; a slow update ends first, beside all else.

        Called while another thread is in `advance`, that one begins no thread any more.
        """
        with self._lock:
            self._closed = True
            for lane in (self._lane, *self._left_behind.values()):
                lane.close()

    def _take_turns(self, lane: Lane, solves: Sequence[int], updates: int, share: float) -> None:
        for i in solves:
            with self._lock:
                if lane is not self._lane:  # it is another one that they take turns on by now
                    return
                self._at_work = i
            self.solves[i].advance(updates, share)

    def _leave_behind(self) -> None:
        """Who is at work now keeps the thread; the others get another."""
        with self._lock:
            if self._closed:
                return
            self._left_behind[self._at_work] = self._lane
            self._lane = Lane('compare')
