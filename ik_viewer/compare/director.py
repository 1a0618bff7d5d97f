# SPDX-License-Identifier: Apache-2.0
"""The director: lets a race go on in a thread of its own, at the pace of a film."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from .contestants import Contestant
from .race import UNTIL_THE_END, Race
from .start import Start
from .stepped_solve import Run

# [Hz], [s] Frames of the solvers, and what all of them together may take of one.
RATE, BUDGET = 30.0, 0.015
MOST_DUE = 10  # frames that are made up for at most
PACES = {
    '1 update a frame': 1,
    '4 updates a frame': 4,
    '16 updates a frame': 16,
    'as many as possible': UNTIL_THE_END,
}


class Director:
    """Lets a race go on in a thread of its own, frame by frame, until it is over."""

    def __init__(self) -> None:
        self.updates = PACES['4 updates a frame']
        self.race: Race | None = None
        self._wake = threading.Event()
        self._closed = False
        threading.Thread(target=self._run, name='compare director', daemon=True).start()

    def begin(
        self,
        contestants: Sequence[Contestant],
        start: Start,
        make: Callable[[Contestant, Start], Run] = Run,
    ) -> Race:
        """Begin a race of runs that `make` makes; the one before ends."""
        self.end()
        self.race = Race(contestants, start, make)
        self._wake.set()
        return self.race

    def end(self) -> None:
        """End the race."""
        race, self.race = self.race, None
        if race is not None:
            race.close()

    def close(self) -> None:
        """End the race and the thread."""
        self.end()
        self._closed = True
        self._wake.set()

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._closed:
            race, began = self.race, time.perf_counter()
            frames, last = (began - last) * RATE, began
            if race is None or race.over:
                self._wake.wait()
                self._wake.clear()
                last = time.perf_counter()
                continue
            race.advance(self.updates * due_frames(frames), BUDGET)
            time.sleep(max(1.0 / RATE - (time.perf_counter() - began), 0.001))


def due_frames(frames: float) -> int:
    """Number of frames to make up for after so many went by: a busy machine shows fewer."""
    return min(max(round(frames), 1), MOST_DUE)
