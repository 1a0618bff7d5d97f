# SPDX-License-Identifier: Apache-2.0
"""Whether a robot follows: where its joints are, compared with where they were commanded to be.

A controller lags, and states come late. So a joint is compared with all that it was commanded to
be in the last WINDOW: its following error is how far it is outside of that. A lag shorter than
that is no error, at any speed, while a joint that stays behind for good has one soon.

A robot that is switched off in motion is noticed much earlier: it stands still, although it was
commanded to be elsewhere for longer than it usually takes to get there. How long that is, its
lag, is learned from its motion. How far off it was when it moved last, or where it rested, as
where it sags, does not count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ik_core.maths.rotations import Array

from .measured_state import Differences, Joints

WINDOW = 0.25  # [s] the longest lag of controller and state together that is no error,
PERIODS = 2.0  # further periods of the commands that a message may take
BLOCKS = 128  # the window is cut into at most this many blocks, each at least one period long
# This many samples in a row, over AGREEING_TIME [s], prove that a joint does not follow.
AGREEING = 3
AGREEING_TIME = 0.004
STILL = 1e-3  # [rad or m] a joint stands that moves less than this,
LEFT = 5e-3  # [rad or m] although its command has moved on by more than this
# [s] The lag of a robot that has not moved yet, besides that of its trajectories,
FIRST_LAG = 0.05
LAG_TIME = 0.5  # time of motion over which the lag is learned,
FAST = 4.0 * LEFT  # [rad or m] as long as a command moves on by more than this
FAST_TIME = 0.1  # [s] in this time
STARTING = 25.0  # [rad/s2 or m/s2] a robot that begins to move does not accelerate more
LATE = 0.006  # [s] a robot stands that does not move for so much longer than its lag
LEARNED = 0.003  # [s] the lag is learned from samples that are so far apart at least
LONGEST_STEP = 0.05  # [s] samples farther apart do not count as time of motion


class Commanded(NamedTuple):
    """Ranges of the positions commanded in blocks of time, the newest first: all (k, n).

    lowest, highest: of this block and those after it; ages (k,) [s]: how long ago it began.
    """

    lowest: Array
    highest: Array
    ages: Array

    def since(self, seconds: float) -> Commanded:
        """The last block (1, n) that began in the last seconds, the newest one at least."""
        block = max(int(self.ages.searchsorted(seconds, 'right')) - 1, 0)
        return Commanded(*(rows[block : block + 1] for rows in self))

    def range_since(self, seconds: float) -> Array:
        """How much (n,) each joint was commanded to move in the last seconds."""
        lowest, highest, _ = self.since(seconds)
        way: Array = (highest - lowest)[0]
        return way


class CommandHistory:
    """The lowest and the highest position of each joint that was commanded, by blocks of time.

    It covers the last `seconds`; `period` [s] is that of the commands. What a tick adds takes as
    long at any rate. Between commands farther apart, joints may have been anywhere on the way:
    after a stall, the last trajectory's stop is known by its ends.
    """

    def __init__(self, n: int, seconds: float, period: float) -> None:
        self._duration = max(period, seconds / (BLOCKS - 2))
        count = math.ceil(seconds / self._duration) + 1
        self._ages = np.arange(count)
        self._numbers = np.full(count, -count - 1, np.int64)
        self._lowest, self._highest = np.zeros((2, count, n))
        self._last, self._last_q = math.inf, np.zeros(n)  # the number and q of the last command

    def add(self, q: Array, now: float) -> None:
        """Take what is commanded (n,) now [s]."""
        number, size = math.floor(now / self._duration), self._numbers.size
        if number - self._last > 1:
            between = np.arange(max(self._last + 1, number - size + 1), number, dtype=np.int64)
            rows = between % size
            self._numbers[rows] = between
            self._lowest[rows] = np.minimum(self._last_q, q)
            self._highest[rows] = np.maximum(self._last_q, q)
        self._last, self._last_q = number, q
        row = number % size
        lowest, highest = self._lowest[row], self._highest[row]
        if self._numbers[row] != number:
            self._numbers[row] = number
            lowest[:] = highest[:] = q
        else:
            np.minimum(lowest, q, out=lowest)
            np.maximum(highest, q, out=highest)

    def until(self, now: float) -> Commanded | None:
        """The commands up to now; None where there are none."""
        numbers = math.floor(now / self._duration) - self._ages
        rows = numbers % self._numbers.size
        valid = self._numbers[rows] == numbers
        if not valid.any():
            return None
        rows, numbers = rows[valid], numbers[valid]
        return Commanded(
            np.minimum.accumulate(self._lowest[rows]),
            np.maximum.accumulate(self._highest[rows]),
            now - self._duration * numbers,
        )


class UsualLag:
    """How long [s] a robot takes to be where it was commanded to be: `seconds`, as learned.

    It is the longest lag in the last whole LAG_TIME of motion.
    """

    def __init__(self, delay: float) -> None:
        self.seconds = FIRST_LAG + delay
        self._longest, self._time = 0.0, 0.0

    def learn(self, lag: float, duration: float) -> None:
        """Take the lag of a sample in motion, `duration` [s] after the one before."""
        self._longest, self._time = max(self._longest, lag), self._time + duration
        if self._time >= LAG_TIME:
            self.seconds, self._longest, self._time = self._longest, 0.0, 0.0


class Following:
    """Watches the following errors of commanded joints, from their first sample on.

    continuous (k,) : joints with endless turns, of all k
    commanded : indices of the joints that commands are published for
    period : [s] between commands
    delay : [s] how much later than commanded the trajectories have the joints there

    Times [s] are of one clock: of commands when they hold, of samples when they were measured.
    """

    def __init__(
        self,
        continuous: NDArray[np.bool_],
        commanded: Sequence[int],
        period: float,
        delay: float = 0.0,
    ) -> None:
        n = continuous.size
        self._history = CommandHistory(n, WINDOW + PERIODS * period, period)
        self._differences = Differences(continuous)
        self._every = np.arange(n)
        self._commanded = np.isin(self._every, commanded)
        self._watched = np.zeros(n, bool)
        self._counts = np.zeros(n, np.intp)
        self._since = np.full(n, math.inf)  # the first sample of each run beyond
        self._lag = UsualLag(delay)
        self._still: tuple[Array, float] | None = None  # where joints stand, since when
        self._off_then = np.zeros(n)  # how far off they were then,
        self._then = Commanded(
            np.zeros((1, n)), np.zeros((1, n)), np.zeros(1)
        )  # of these commands
        # Where they stood; when they had to leave; when they were still there.
        self._stood: tuple[Array, float, float] | None = None
        self._latest = math.inf
        self.sag = np.zeros(n)
        """[rad or m] How far (n,) joints are from their command where both rest."""
        self.errors = np.zeros(n)
        """[rad or m] The last following error of each joint."""
        self.behind: list[int] = []
        """The joints that do not follow: several samples in a row say so."""
        self.stands = False
        """Whether the robot stands although it would have begun to move, as it usually does."""

    def command(self, q: Array, now: float) -> None:
        """Take what is commanded (k,) now [s]."""
        self._history.add(q, now)

    def watch(self, joints: Joints) -> None:
        """Watch these joints from now on, where they are commanded: they are measured."""
        self._watched[joints] = self._commanded[joints]

    def measure(
        self, q: Array, joints: Joints, allowed: Array, time: float, *, standstill: bool = True
    ) -> None:
        """Compare the measured positions (k,) of some joints with what was commanded.

        standstill : find out whether the robot stands, too
        """
        commanded = self._history.until(time)
        if commanded is None:
            return
        self.errors[joints] = np.abs(self._off(q, commanded.since(math.inf)))[0, joints]
        beyond = (self.errors > allowed) & self._watched
        fresh = np.zeros(self._every.size, bool)
        fresh[joints] = True
        self._since[fresh & beyond & (self._counts == 0)] = time
        self._counts[joints] += 1
        self._counts[~beyond] = 0
        proved = (self._counts >= AGREEING) & (time - self._since >= AGREEING_TIME)
        self.behind = np.flatnonzero(proved).tolist()
        self.stands = False
        if standstill:
            self._detect_standstill(q, commanded, time)
            self._learn_lag(q, commanded, time)

    def forget(self) -> None:
        """Begin anew: what was measured until now does not count."""
        self._counts[:] = 0
        self.behind, self.stands, self._still = [], False, None

    def note_late_start(self, q: Array, time: float) -> None:
        """Learn from a robot that was taken for one that stands, and moves after all: it lags.

        One that is far away at once has moved meanwhile: only its states stood.
        """
        if self._stood is None:
            return
        place, due, last = self._stood
        way = np.abs(q - place)[self._watched].max(initial=0.0)
        if way <= LEFT:
            self._stood = place, due, time
            return
        if math.sqrt(way) <= math.sqrt(LEFT) + math.sqrt(0.5 * STARTING) * (time - last):
            self._lag.seconds = min(max(time - due, self._lag.seconds), WINDOW)
        self._stood = None

    def is_at(self, q: Array, measured: Array, allowed: Array) -> bool:
        """Whether the watched joints are, but for the errors allowed, measured at q (k,)."""
        apart = np.abs(self._differences.between(measured, q, self._every))
        return bool((apart <= allowed)[self._watched].all())

    def _off(self, q: Array, commanded: Commanded) -> Array:
        """How far (k, n), and to which side, each joint is outside of each range commanded."""
        middle = 0.5 * (commanded.lowest + commanded.highest)
        reach = 0.5 * (commanded.highest - commanded.lowest)
        apart = self._differences.between(q, middle, self._every)
        off: Array = apart - np.minimum(np.maximum(apart, -reach), reach)
        return off

    def _detect_standstill(self, q: Array, commanded: Commanded, time: float) -> None:
        """Find out whether the robot stands."""
        watched, late = self._watched, self._lag.seconds + LATE
        recent = commanded.since(late)
        if (recent.highest - recent.lowest <= STILL)[0, watched].all():
            self.sag = self._off(q, recent)[0]  # the command has not moved for so long
        if self._still is None or (np.abs(q - self._still[0]) > STILL)[watched].any():
            self._still = q.copy(), time
            self._off_then, self._then = self._off(q, recent)[0], recent
        off = np.abs(self._off(q - self._off_then, recent)[0])
        # Where joints sag, how far depends on the pose: what they were commanded then counts.
        then = self._then
        gap = np.maximum(recent.lowest - then.highest, then.lowest - recent.highest)[0]
        is_late = (np.where(np.abs(self.sag) > LEFT, gap, off) > LEFT)[watched].any()
        was_led = (commanded.range_since(WINDOW) > LEFT)[watched].any()
        self.stands = bool(is_late and was_led and time - self._still[1] >= LATE)
        self._stood = (q.copy(), time - late, time) if self.stands else None

    def _learn_lag(self, q: Array, commanded: Commanded, time: float) -> None:
        """Learn the lag of the robot while it moves."""
        watched = self._watched
        duration = time - self._latest
        if 0.0 < duration < LEARNED:
            return
        self._latest = time
        is_fast = (commanded.range_since(FAST_TIME) > FAST)[watched].any()
        if self.stands or not is_fast or not 0.0 < duration < LONGEST_STEP:
            return
        off = np.abs(self._off(q - self.sag, commanded))[:, watched]
        fits = np.flatnonzero((off <= LEFT).all(axis=1))
        if fits.size:  # else it is nowhere where it was commanded to be
            self._lag.learn(float(commanded.ages[fits[0]]), duration)
