# SPDX-License-Identifier: Apache-2.0
"""Following errors: measured joint positions compared with the recent commands.

A controller lags, and states come late. So a joint is compared with all its commands of the last
WINDOW: its following error is the distance to the range of these commands. A lag shorter than
WINDOW makes no error, at any speed, while a joint that stops following soon has one.

A robot that is switched off in motion is detected much earlier: it stands still, although its
command moved on for longer than its usual lag. The lag is learned from the robot's motion. The
difference to the command that it had before, when it last moved or rested (a sag), does not count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ik_core.maths.rotations import Array

from .measured_state import Differences, Joints

WINDOW = 0.25  # [s] longest lag of controller and states together that makes no error
PERIODS = 2.0  # periods of the commands by which the window is longer: a message may take so long
BLOCKS = 128  # most blocks of the window, each at least one period long
# This many samples in a row, over AGREEING_TIME [s], prove that a joint does not follow.
AGREEING = 3
AGREEING_TIME = 0.004
# A joint stands still if it moved less than STILL [rad or m] while its command moved by more than
# MOVED_ON [rad or m].
STILL = 1e-3
MOVED_ON = 5e-3
# [s] Lag of a robot that has not moved yet; the delay of its trajectories is added.
FIRST_LAG = 0.05
LAG_TIME = 0.5  # [s] the lag is learned from the last motion of this duration
# Samples count as motion while the command moves by more than FAST [rad or m] in FAST_TIME [s].
FAST = 4.0 * MOVED_ON
FAST_TIME = 0.1
STARTING = 25.0  # [rad/s^2 or m/s^2] largest acceleration of a robot that begins to move
LATE = 0.006  # [s] a robot stands still if it does not move for its lag and this time
LEARNED = 0.003  # [s] least time between samples from which the lag is learned
LONGEST_STEP = 0.05  # [s] samples farther apart do not count as time of motion


class Commanded(NamedTuple):
    """Ranges of commanded positions (k, n) since the begins of k blocks of time, the newest first.

    lowest, highest : (k, n) [rad or m] over this block and all newer ones
    ages : (k,) [s] time since the block began
    """

    lowest: Array
    highest: Array
    ages: Array

    def since(self, seconds: float) -> Commanded:
        """Return the range (1, n) over the last `seconds`; at least that of the newest block."""
        block = max(int(self.ages.searchsorted(seconds, 'right')) - 1, 0)
        return Commanded(*(rows[block : block + 1] for rows in self))

    def range_since(self, seconds: float) -> Array:
        """Return the range (n,) [rad or m] of each joint's commands in the last `seconds`."""
        lowest, highest, _ = self.since(seconds)
        width: Array = (highest - lowest)[0]
        return width


class CommandHistory:
    """The lowest and the highest commanded position of each joint, by blocks of time.

    It covers the last `seconds`; `period` [s] is that of the commands. Blocks make the time to add
    a command independent of the rate. Blocks without a command, as after a stall, get the range
    between the commands before and after them.
    """

    def __init__(self, n: int, seconds: float, period: float) -> None:
        self._duration = max(period, seconds / (BLOCKS - 2))
        count = math.ceil(seconds / self._duration) + 1
        self._ages = np.arange(count)
        self._numbers = np.full(count, -count - 1, np.int64)
        self._lowest, self._highest = np.zeros((2, count, n))
        self._last, self._last_q = math.inf, np.zeros(n)  # block number and q of the last command

    def add(self, q: Array, now: float) -> None:
        """Add the command q (n,) of the time `now` [s]."""
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
        """Return the ranges of the commands up to `now` [s]; None if there are none."""
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
    """The usual time from a command to the robot being there: `seconds` [s], learned.

    It is the longest lag of the last complete LAG_TIME of motion.
    """

    def __init__(self, delay: float) -> None:
        self.seconds = FIRST_LAG + delay
        self._longest, self._time = 0.0, 0.0

    def learn(self, lag: float, duration: float) -> None:
        """Learn from the lag [s] of a sample in motion, `duration` [s] after the previous one."""
        self._longest, self._time = max(self._longest, lag), self._time + duration
        if self._time >= LAG_TIME:
            self.seconds, self._longest, self._time = self._longest, 0.0, 0.0


class FollowingErrorMonitor:
    """Monitors the following errors of commanded joints, from their first sample on.

    continuous : (k,) mask of joints with endless turns, among all k joints

    Times [s] are of one clock: when commands take effect, and when samples were measured.
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
        self._since = np.full(n, math.inf)  # [s] first of the consecutive samples beyond the limit
        self._lag = UsualLag(delay)
        self._still: tuple[Array, float] | None = None  # where joints stand still, and since when
        self._excess_then = np.zeros(n)  # their excess at that time
        self._then = Commanded(
            np.zeros((1, n)), np.zeros((1, n)), np.zeros(1)
        )  # of these commands
        # A robot that seems to stand still: positions, when it had to move, when last seen there.
        self._suspect: tuple[Array, float, float] | None = None
        self._latest = math.inf
        self.sag = np.zeros(n)  # [rad or m] measured minus commanded where both rest
        self.errors = np.zeros(n)  # [rad or m] the last following errors
        self.behind: list[int] = []  # joints that do not follow, by several consecutive samples
        self.stands = False  # whether the robot stands still longer than its usual lag

    def command(self, q: Array, now: float) -> None:
        """Add the command q (k,) of the time `now` [s]."""
        self._history.add(q, now)

    def watch(self, joints: Joints) -> None:
        """Monitor those of these joints that are commanded, from now on."""
        self._watched[joints] = self._commanded[joints]

    def measure(
        self, q: Array, joints: Joints, allowed: Array, time: float, *, standstill: bool = True
    ) -> None:
        """Compare the measured positions q[joints] of the time `time` [s] with the commands.

        allowed : (k,) [rad or m] largest following errors
        standstill : whether to detect a standstill and to learn the lag, too
        """
        commanded = self._history.until(time)
        if commanded is None:
            return
        self.errors[joints] = np.abs(self._excess(q, commanded.since(math.inf)))[0, joints]
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
        """Restart the detection: past samples do not count."""
        self._counts[:] = 0
        self.behind, self.stands, self._still = [], False, None

    def note_late_start(self, q: Array, time: float) -> None:
        """Learn the lag of a robot that was reported as standing still, and now moves.

        A robot that is far away at once has moved meanwhile: only its states were late.
        """
        if self._suspect is None:
            return
        position, due, last = self._suspect
        distance = np.abs(q - position)[self._watched].max(initial=0.0)
        if distance <= MOVED_ON:
            self._suspect = position, due, time
            return
        if math.sqrt(distance) <= math.sqrt(MOVED_ON) + math.sqrt(0.5 * STARTING) * (time - last):
            self._lag.seconds = min(max(time - due, self._lag.seconds), WINDOW)
        self._suspect = None

    def is_at(self, q: Array, measured: Array, allowed: Array) -> bool:
        """Return whether monitored joints are measured within `allowed` of q (k,)."""
        apart = np.abs(self._differences.between(measured, q, self._every))
        return bool((apart <= allowed)[self._watched].all())

    def _excess(self, q: Array, commanded: Commanded) -> Array:
        """Return the signed distance (k, n) of each joint q (n,) to each commanded range."""
        middle = 0.5 * (commanded.lowest + commanded.highest)
        reach = 0.5 * (commanded.highest - commanded.lowest)
        apart = self._differences.between(q, middle, self._every)
        off: Array = apart - np.minimum(np.maximum(apart, -reach), reach)
        return off

    def _detect_standstill(self, q: Array, commanded: Commanded, time: float) -> None:
        """Set `stands` and `sag` by the measured q (n,)."""
        watched, late = self._watched, self._lag.seconds + LATE
        recent = commanded.since(late)
        if (recent.highest - recent.lowest <= STILL)[0, watched].all():
            self.sag = self._excess(q, recent)[0]  # the command has not moved for so long
        if self._still is None or (np.abs(q - self._still[0]) > STILL)[watched].any():
            self._still = q.copy(), time
            self._excess_then, self._then = self._excess(q, recent)[0], recent
        off = np.abs(self._excess(q - self._excess_then, recent)[0])
        # A sag depends on the pose, so sagging joints compare the commands of then and now.
        then = self._then
        gap = np.maximum(recent.lowest - then.highest, then.lowest - recent.highest)[0]
        is_late = (np.where(np.abs(self.sag) > MOVED_ON, gap, off) > MOVED_ON)[watched].any()
        was_led = (commanded.range_since(WINDOW) > MOVED_ON)[watched].any()
        self.stands = bool(is_late and was_led and time - self._still[1] >= LATE)
        self._suspect = (q.copy(), time - late, time) if self.stands else None

    def _learn_lag(self, q: Array, commanded: Commanded, time: float) -> None:
        """Learn the lag while the robot moves: the age of the newest command that q matches."""
        watched = self._watched
        duration = time - self._latest
        if 0.0 < duration < LEARNED:
            return
        self._latest = time
        is_fast = (commanded.range_since(FAST_TIME) > FAST)[watched].any()
        if self.stands or not is_fast or not 0.0 < duration < LONGEST_STEP:
            return
        off = np.abs(self._excess(q - self.sag, commanded))[:, watched]
        fits = np.flatnonzero((off <= MOVED_ON).all(axis=1))
        if fits.size:  # else the robot matches no command
            self._lag.learn(float(commanded.ages[fits[0]]), duration)
