# SPDX-License-Identifier: Apache-2.0
"""The playhead: the time of a clip, which can be stopped, moved and scaled."""

from __future__ import annotations

from ik_core.exceptions import InvalidOption

# Speeds to choose from, by their names on a page
SPEEDS = {'1/10': 0.1, '1/4': 0.25, '1/2': 0.5, 'real time': 1.0, 'twice': 2.0}


class Playhead:
    """The time of a clip of `frames`, which are `period` [s] apart; it repeats at the end."""

    def __init__(self, frames: int, period: float) -> None:
        if frames < 1 or not period > 0.0:
            raise InvalidOption(f'{frames} frames, {period!r} s apart, are not a clip')
        self.frames, self.period = frames, period
        self.time = 0.0
        self.speed = 1.0
        self.playing = True

    @property
    def duration(self) -> float:
        """Duration [s] of the clip; each frame is shown for a period."""
        return self.frames * self.period

    @property
    def frame(self) -> int:
        """The displayed frame."""
        return min(int(self.time / self.period + 1e-9), self.frames - 1)

    def advance(self, seconds: float) -> None:
        """Advance by this time [s]."""
        if self.playing:
            self.time = (self.time + self.speed * seconds) % self.duration

    def go_to(self, frame: int) -> None:
        """Move to a frame, clamped to the ends."""
        self.time = min(max(frame, 0), self.frames - 1) * self.period
