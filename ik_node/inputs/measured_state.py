# SPDX-License-Identifier: Apache-2.0
"""Where a robot is, put together from samples, none of which is believed blindly.

A sample is what one message says of one joint. It is refused

- far outside the limits of the joint, where no joint can be,
- and where the joint could not have come to in the time since the last sample, until several
  samples in a row agree: then it is there, however it came there.

Drivers report a joint with endless turns within one turn, or with all of its turns. Each sample is
taken for the copy of its angle that is nearest to the sample before, and the first one for the
copy that is nearest to the last command: so measured angles have the turns of the commands.

A motion begins from a measured state only where all joints rest (`Rest`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ik_core import Robot
from ik_core.maths.rotations import Array

from ..joint_limits import LEAST_TOLERANCE, mimic_unit

REST_TIME = 0.2  # [s] over at least this time the samples of a joint at rest agree,
REST_SPEED = 0.01  # [rad/s or m/s] and the slope of a line through them is below this,
REST_SAMPLES = 3  # of this many samples at least
WATCHED = 0.3  # [s] samples older than this do not count, as long as there are enough younger ones
REMEMBERED = 512  # samples of a joint: as many as may come in that time
TINY = 1e-30  # [s^2] against a division by 0 where there is but one moment
# This many samples in a row, over JUMP_TIME [s], prove that a joint is where it could not have
# come to.
JUMPED = 5
JUMP_TIME = 0.05
# [rad] A joint that turns may be so far outside its limits: a description may allow less than the
# robot can do, but not by that much. One that slides may be by its range, and SHORTEST [m] at
# least.
HALF_A_TURN = math.pi
SHORTEST = 0.1
# [rad or m] Nor may a joint without limits be farther away: such an angle has no digits left that
# say where the joint is within its turn.
FARTHEST = 1e8
# A robot that is pushed, or swings, may exceed the velocity of its description so much,
FASTER = 1.5
BUNCHED = 0.05  # and so many seconds may messages come too late, the next one right behind them
TURN = 2.0 * math.pi
Joints = NDArray[np.intp]


class Differences:
    """Differences of positions [rad or m]; joints with endless turns have the same one each turn.

    Drivers may give the angle of such a joint within a turn, or with all of its turns.
    """

    def __init__(self, continuous: NDArray[np.bool_]) -> None:
        self._turns = np.where(continuous, TURN, 0.0)
        self._any = bool(continuous.any())

    def between(self, q: Array, other: Array, joints: Joints) -> Array:
        """q - other, of some joints, by the shorter way round."""
        difference: Array = q - other
        if self._any:
            difference -= self._turns[joints] * np.rint(difference / TURN)
        return difference

    def nearest(self, q: Array, near: Array, joints: Joints) -> Array:
        """The copies of q, of some joints, that are nearest to `near`; q where that is NaN."""
        if not self._any:
            return q
        turns = np.rint((q - near) / TURN)
        return q - self._turns[joints] * np.where(np.isnan(near), 0.0, turns)


class Runs:
    """For each joint, how many samples in a row agree with the first of them, and how long."""

    def __init__(self, differences: Differences, n: int) -> None:
        self._differences = differences
        self._first = np.zeros(n)
        self._count = np.zeros(n, np.intp)
        self._times = np.full((2, n), math.inf)  # of the first and the last sample

    def add(self, joints: Joints, q: Array, now: float, tolerance: Array) -> None:
        """Take samples; one farther than the tolerance from the first of its run begins anew."""
        apart = np.abs(self._differences.between(q, self._first[joints], joints))
        new = (apart > tolerance) | np.isinf(self._times[0, joints])
        begin = joints[new]
        self._first[begin], self._count[begin], self._times[0, begin] = q[new], 0, now
        self._times[1, joints] = now
        self._count[joints] += 1

    def end(self, joints: Joints) -> None:
        """Begin anew with the next samples of these joints."""
        self._count[joints], self._times[:, joints] = 0, math.inf

    def last(self, joints: Joints, count: int, seconds: float) -> NDArray[np.bool_]:
        """Whether the runs of some joints have so many samples, over so many seconds."""
        first, last = self._times[:, joints]
        return (self._count[joints] >= count) & (last >= first + seconds)


class Rest:
    """Whether joints rest, by their samples of the last WATCHED [s]."""

    def __init__(self, n: int) -> None:
        self._times = np.full((n, REMEMBERED), -math.inf)
        self._q = np.zeros((n, REMEMBERED))
        self._counts = np.zeros(n, np.intp)

    def add(self, joints: Joints, q: Array, now: float) -> None:
        """Take samples of some joints; where the clock jumped back, begin anew."""
        newest = self._times[joints, (self._counts[joints] - 1) % REMEMBERED]
        self.forget(joints[newest > now])
        place = self._counts[joints] % REMEMBERED
        self._times[joints, place], self._q[joints, place] = now, q
        self._counts[joints] += 1

    def forget(self, joints: Joints) -> None:
        """Begin anew with the next samples of these joints."""
        self._times[joints], self._counts[joints] = -math.inf, 0

    def joints(self, joints: Joints, tolerance: Array) -> NDArray[np.bool_]:
        """Mask of joints that rest, by a tolerance of each."""
        times, counts = self._times[joints], self._counts[joints]
        newest = times.max(axis=1)
        last_few = times[np.arange(joints.size), (counts - REST_SAMPLES) % REMEMBERED]
        oldest = np.minimum(newest - WATCHED, last_few)[:, None]
        rests = counts >= REST_SAMPLES
        watched = (times >= oldest) & np.isfinite(times)
        q = np.where(watched, self._q[joints], self._q[joints, (counts - 1) % REMEMBERED][:, None])
        t = np.subtract(times, newest[:, None], where=watched, out=np.zeros_like(times))
        weight = watched / np.maximum(watched.sum(axis=1), 1)[:, None]
        apart = np.where(watched, t - (weight * t).sum(axis=1)[:, None], 0.0)
        moments = np.maximum((apart * apart).sum(axis=1), TINY)
        slope = (apart * q).sum(axis=1) / moments
        rests &= -t.min(axis=1) >= REST_TIME
        return rests & (np.ptp(q, axis=1) < tolerance) & (np.abs(slope) < REST_SPEED)


class MeasuredState:
    """The positions of a robot's joints, from messages that may have some joints only.

    robot, needed : `needed` are the joints without which nothing can start; the others stay in
        the middle of their limits until they are measured
    commanded : where joints were commanded to be last, by name, as far as they were
    mimics : the mimic joints whose positions count, too, where they are measured

    Times [s] are of one clock; `tolerance` [rad or m] is how much samples of a robot at rest may
    differ, a number or one for each joint (n + m,).
    """

    def __init__(
        self,
        robot: Robot,
        needed: Sequence[str],
        commanded: Mapping[str, float],
        mimics: Sequence[str] = (),
    ) -> None:
        self._n, self.names = robot.n, (*robot.joint_names, *robot.mimic_joints)
        own = [robot.mimic_limits[name] for name in robot.mimic_joints]
        lower = np.append(robot.lower, [limits.lower for limits in own])
        upper = np.append(robot.upper, [limits.upper for limits in own])
        self._lower, self._upper = np.maximum(lower, -FARTHEST), np.minimum(upper, FARTHEST)
        self._velocity = np.append(robot.velocity, [limits.velocity for limits in own])
        self.units = (
            *robot.joint_units,
            *(mimic_unit(robot, name) for name in robot.mimic_joints),
        )
        n = len(self.names)
        read = {*robot.joint_names, *mimics}
        self._index = {name: i for i, name in enumerate(self.names) if name in read}
        self.mimic_indices = [self._index[name] for name in mimics]
        self._mimics = np.array(self.mimic_indices, np.intp)
        self._needed = np.array([self._index[name] for name in needed], np.intp)
        self._q = np.append(robot.middle_configuration, np.zeros(n - robot.n))
        self._near = np.array([commanded.get(name, math.nan) for name in self.names])
        self._times, self._received = np.full((2, n), -math.inf)
        self._latest = -math.inf
        turns = np.array([unit == 'rad' for unit in self.units])
        span = self._upper - self._lower
        margin = np.where(turns, HALF_A_TURN, np.maximum(span, SHORTEST))
        self._lowest, self._highest = self._lower - margin, self._upper + margin
        self.continuous = np.append(robot.continuous, (turns & np.isinf(upper - lower))[self._n :])
        self._differences = Differences(self.continuous)
        self._rest = Rest(n)
        self._elsewhere = Runs(self._differences, n)
        self.others: set[str] = set()
        """Names of joints that came in messages without any joint of this robot."""

    @property
    def joints(self) -> Mapping[str, int]:
        """The indices of the joints that are read, by name."""
        return self._index

    @property
    def q(self) -> Array:
        """The measured positions (n,) of the independent joints, a copy."""
        return self._q[: self._n].copy()

    @property
    def all_positions(self) -> Array:
        """The measured positions (n + m,), mimic joints included, a copy.

        Joints that were never measured are somewhere.
        """
        return self._q.copy()

    def mimics(self, now: float, timeout: float) -> dict[str, float]:
        """The measured positions of mimic joints, by name, where they came in that time [s]."""
        self._follow_clock(now)
        return {
            self.names[i]: float(self._q[i])
            for i in self.mimic_indices
            if now - self._received[i] <= timeout
        }

    def take(
        self,
        positions: Mapping[str, float],
        now: float,
        tolerance: float | Array,
        time: float | None = None,
    ) -> tuple[Joints, list[str]]:
        """Take finite samples by name: which joints are believed, and doubts of others.

        A doubt is a sentence that says why a sample is refused. The samples came `now`, and were
        measured at `time`, by default now.
        """
        self._follow_clock(now)
        time = now if time is None else time
        joints = np.array([self._index[name] for name in positions], np.intp)
        q = np.array(list(positions.values()), float)
        possible = (q >= self._lowest[joints]) & (q <= self._highest[joints])
        doubts = []
        if not possible.all():
            doubts += [self._beyond(i, value) for i, value in _pairs(joints, q, ~possible)]
            joints, q = joints[possible], q[possible]
        believed = self._is_there(joints, q, time, self._of(tolerance, joints))
        if not believed.all():
            doubts += [self._too_far(i, value, time) for i, value in _pairs(joints, q, ~believed)]
            self._rest.forget(joints[~believed])
            joints, q = joints[believed], q[believed]
        q = self._differences.nearest(q, self._near[joints], joints)
        self._rest.add(joints, q, time)
        self._q[joints] = self._near[joints] = q
        self._times[joints], self._received[joints] = time, now
        return joints, doubts

    def age(self, now: float) -> float:
        """Seconds since the oldest of the last news of the needed joints; inf before any."""
        self._follow_clock(now)
        return now - float(self._received[self._needed].min(initial=now))

    def rests(self, tolerance: float | Array) -> bool:
        """Whether all needed joints rest, and the mimic joints that are measured."""
        joints = self._moving
        return bool(self._rest.joints(joints, self._of(tolerance, joints)).all())

    def _of(self, tolerance: float | Array, joints: Joints) -> Array:
        """The tolerances of some joints."""
        return np.maximum(np.broadcast_to(tolerance, self._q.shape)[joints], LEAST_TOLERANCE)

    def never_heard(self, names: Sequence[str]) -> list[str]:
        """Those of some joints that no message has had."""
        return [name for name in names if self._received[self._index[name]] == -math.inf]

    @property
    def _moving(self) -> Joints:
        """The joints that have to rest: the needed ones, and mimic joints with news of late."""
        mimics = self._mimics
        if not mimics.size:
            return self._needed
        latest = self._times[self._needed].max(initial=-math.inf)
        return np.append(self._needed, mimics[self._times[mimics] > latest - WATCHED])

    def forget_rest(self) -> None:
        """Count the rest of all joints from their next samples on."""
        self._rest.forget(np.arange(self._q.size))

    def unknown(self, now: float, timeout: float, tolerance: float | Array) -> tuple[str, ...]:
        """Name the joints that should rest but do not, or have no sample for that long [s]."""
        self._follow_clock(now)
        joints = self._moving
        known = self._rest.joints(joints, self._of(tolerance, joints))
        known &= now - self._received[joints] <= timeout
        return tuple(self.names[i] for i in joints[~known])

    def distance(self, q: Array) -> float:
        """How far [rad or m] the needed joint is that is farthest from its place in q.

        In q (n + m,) mimic joints with news of late count, too. Whole turns of joints that turn
        endlessly do not.
        """
        joints = self._needed if q.size == self._n else self._moving
        apart = self._differences.between(self._q[joints], q[joints], joints)
        return float(np.abs(apart).max(initial=0.0))

    def away_from(self, q: Array) -> Array:
        """How far (n + m,) the joints that count in `distance` are from q (n + m,); others 0."""
        joints, away = self._moving, np.zeros_like(q)
        away[joints] = self._differences.between(self._q[joints], q[joints], joints)
        return away

    def _is_there(
        self, joints: Joints, q: Array, now: float, tolerance: Array
    ) -> NDArray[np.bool_]:
        """Mask of joints that could have come to q, or are there, by several samples in a row."""
        apart = np.abs(self._differences.between(q, self._q[joints], joints))
        seconds = np.maximum(now - self._times[joints], 0.0) + BUNCHED
        there = apart <= FASTER * self._velocity[joints] * seconds + tolerance
        if there.all():
            self._elsewhere.end(joints)
            return there
        others = joints[~there]
        self._elsewhere.add(others, q[~there], now, tolerance[~there])
        there[~there] = self._elsewhere.last(others, JUMPED, JUMP_TIME)
        self._elsewhere.end(joints[there])
        return there

    def _follow_clock(self, now: float) -> None:
        """Treat old samples as news if the clock jumped back."""
        if now < self._latest:
            for times in (self._received, self._times):
                np.minimum(times, now, out=times)
            self._elsewhere.end(np.arange(self._q.size))
        self._latest = now

    def _beyond(self, i: int, value: float) -> str:
        name, unit = self.names[i], self.units[i]
        limits = f'[{self._lower[i]:.4g}, {self._upper[i]:.4g}]'
        return f'{name} can not be at {value:.4g} {unit}: its limits are {limits}'

    def _too_far(self, i: int, value: float, now: float) -> str:
        name, unit, seconds = self.names[i], self.units[i], now - self._times[i]
        before = f'it was at {self._q[i]:.4g} {unit} {seconds:.2g} s before'
        return f'{name} can not be at {value:.4g} {unit}: {before}'


def _pairs(joints: Joints, q: Array, which: NDArray[np.bool_]) -> list[tuple[int, float]]:
    return list(zip(joints[which].tolist(), q[which].tolist(), strict=True))
