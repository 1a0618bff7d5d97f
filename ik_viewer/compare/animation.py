# SPDX-License-Identifier: Apache-2.0
"""The animation of a comparison: a thread that advances it frame by frame."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from .comparison import UNTIL_THE_END, Comparison
from .methods import Method
from .start import Start
from .stepped_solve import SteppedSolve

# [Hz] frames of the solves; [s] time that all solves together may take in a frame.
RATE, BUDGET = 30.0, 0.015
MOST_DUE = 10  # after a delay, at most this many frames are caught up at once
PACES = {
    '1 update a frame': 1,
    '4 updates a frame': 4,
    '16 updates a frame': 16,
    'as many as possible': UNTIL_THE_END,
}


class Animation:
    """A thread that advances a comparison frame by frame, until it is over."""

    def __init__(self) -> None:
        self.updates = PACES['4 updates a frame']
        self.comparison: Comparison | None = None
        self._wake = threading.Event()
        self._closed = False
        threading.Thread(target=self._run, name='compare animation', daemon=True).start()

    def begin(
        self,
        methods: Sequence[Method],
        start: Start,
        make: Callable[[Method, Start], SteppedSolve] = SteppedSolve,
    ) -> Comparison:
        """Begin a comparison, in place of the previous one; `make` makes each solve."""
        self.end()
        self.comparison = Comparison(methods, start, make)
        self._wake.set()
        return self.comparison

    def end(self) -> None:
        """End the comparison."""
        comparison, self.comparison = self.comparison, None
        if comparison is not None:
            comparison.close()

    def close(self) -> None:
        """End the comparison and the thread."""
        self.end()
        self._closed = True
        self._wake.set()

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._closed:
            comparison, began = self.comparison, time.perf_counter()
            frames, last = (began - last) * RATE, began
            if comparison is None or comparison.over:
                self._wake.wait()
                self._wake.clear()
                last = time.perf_counter()
                continue
            comparison.advance(self.updates * due_frames(frames), BUDGET)
            time.sleep(max(1.0 / RATE - (time.perf_counter() - began), 0.001))


def due_frames(frames: float) -> int:
    """Return the number of frames to advance after `frames` periods."""
    return min(max(round(frames), 1), MOST_DUE)
