# SPDX-License-Identifier: Apache-2.0
"""Where the joints were in the last seconds, by the stamps of the states that said so.

The stamp of a goal in the frame of a link says when the link was seen there. The history of the
measured joints answers where they were then; where the node reads no joint_states, that of its
own commands does. Each joint has a row of its own, since drivers may report joints in several
messages.
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

SPAN = 10_000_000_000  # [ns] how long positions are kept, as tf2 keeps transforms
SPACING = 800_000  # [ns] positions that are closer in time are thinned out: those above 1 kHz
SIZE = SPAN // SPACING  # positions of a joint in that time; up to twice as many are kept
# [ns] A stamp so much older than the last one says that the clock was set back.
SET_BACK = 1_000_000_000


class ConfigurationHistory:
    """The positions of joints over time; times are stamps [ns].

    now : gives the time of the clock that stamps are of [ns]
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.begin(0, commanded=False)

    def begin(self, n: int, *, commanded: bool) -> None:
        """Forget all, and keep positions of n joints from now on: commanded or measured ones."""
        self._commanded = commanded
        self._rows = [(array('q'), array('d')) for _ in range(n)]  # of each joint, by time

    def add_command(self, time: int, q: Array) -> None:
        """Keep what was commanded, q (n,), unless it is measured positions that are kept."""
        if self._commanded:
            self.add(time, q.tolist(), range(len(self._rows)))

    def add_measured(self, time: int, q: Array, joints: NDArray[np.intp]) -> None:
        """Keep q[joints], which were measured; joints from n on are mimic joints.

        time : 0 where the state has no stamp; it then counts from its receipt
        """
        n = len(self._rows)
        self.add(time or self._now(), q.tolist(), (i for i in joints.tolist() if i < n))

    def add(self, time: int, q: Sequence[float], joints: Iterable[int]) -> None:
        """Keep the positions of joints, by their indices into q, at a moment [ns]."""
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
        """The positions of these joints at a moment [ns]; NaN for those that were never added.

        Between two positions they went straight on. NotYet where the moment is later than the
        newest position, Refused where it is earlier than the oldest, or than SPAN ago.
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
        share = (time - times[k - 1]) / (times[k] - times[k - 1])
        return q[k - 1] + share * (q[k] - q[k - 1])
