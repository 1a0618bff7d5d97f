# SPDX-License-Identifier: Apache-2.0
"""The history of joint positions over the last seconds, by the stamps of the states.

A goal in the frame of a link is meant for the link's pose at the goal's stamp. The history of the
measured joints gives that pose; if the node reads no joint_states, the history of its own commands
does. Each joint has a row of its own, since drivers may report joints in several messages.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ik_core.maths.rotations import Array

from .goal_frames import NotYet, too_old

SPAN = 10_000_000_000  # [ns] positions are kept for this time, as transforms in tf2
SPACING = 800_000  # [ns] least time between positions; above 1 kHz they are thinned out
SIZE = SPAN // SPACING  # positions of a joint within SPAN; up to twice as many are kept
# [ns] A stamp older than the last one by more than this means that the clock was set back.
SET_BACK = 1_000_000_000


class ConfigurationHistory:
    """The positions of joints over time; times are stamps [ns].

    now : returns the time [ns] of the clock of the stamps
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.begin(0, commanded=False)

    def begin(self, n: int, *, commanded: bool) -> None:
        """Restart the history, of n joints: of commanded or of measured positions."""
        self._commanded = commanded
        self._rows = [(array('q'), array('d')) for _ in range(n)]  # times, positions of each joint

    def add_command(self, time: int, q: Array) -> None:
        """Add a command q (n,), if this is a history of commands."""
        if self._commanded:
            self.add(time, q.tolist(), range(len(self._rows)))

    def add_measured(self, time: int, q: Array, joints: NDArray[np.intp]) -> None:
        """Add measured positions q[joints]; indices from n on are mimic joints, which are ignored.

        time : the stamp [ns]; 0 for a state without one, which gets the present time
        """
        n = len(self._rows)
        self.add(time or self._now(), q.tolist(), (i for i in joints.tolist() if i < n))

    def add(self, time: int, q: Sequence[float], joints: Iterable[int]) -> None:
        """Add the positions q[joints] at a time [ns]."""
        for i in joints:
            times, positions = self._rows[i]
            since = time - times[-1] if times else SPACING
            if since < -SET_BACK:
                del times[:], positions[:]
            elif since < 0:
                continue
            count = len(times)
            if since == 0 or (count > 1 and times[-1] - times[-2] < SPACING):
                times[-1], positions[-1] = time, q[i]
                continue
            times.append(time)
            positions.append(q[i])
            if count >= 2 * SIZE:
                del times[:SIZE], positions[:SIZE]

    def at(self, time: int, joints: Iterable[int]) -> Array:
        """Return the positions of joints at a time [ns]; NaN for those that were never added.

        Positions are interpolated linearly. Raises NotYet for a time after the newest position,
        and Refused for one before the oldest, or more than SPAN before the newest.
        """
        return np.array([self._position(time, i) for i in joints])

    def _position(self, time: int, i: int) -> float:
        times, q = self._rows[i]
        if not times:
            return math.nan
        if time > times[-1]:
            what = 'command' if self._commanded else 'measured state'
            raise NotYet(time - times[-1], f'the last {what}')
        oldest = max(times[0], times[-1] - SPAN)
        if time < oldest:
            raise too_old(self._now() - time, self._now() - oldest)
        k = bisect_left(times, time)
        if times[k] == time:
            return q[k]
        fraction = (time - times[k - 1]) / (times[k] - times[k - 1])
        return q[k - 1] + fraction * (q[k] - q[k - 1])
