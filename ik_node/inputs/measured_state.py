# SPDX-License-Identifier: Apache-2.0
"""The measured positions of a robot, from samples that are checked for plausibility.

A sample is the position of one joint in one message. It is refused if

- it is far outside the limits of the joint,
- or the joint could not have moved there since the last sample. It is accepted nevertheless once
  several consecutive samples agree.

Drivers report a joint with endless turns within one turn, or with all of its turns. Each sample is
shifted by whole turns to the angle nearest to the previous sample, and the first one to that
nearest to the last command. So measured angles have the turns of the commands.

A motion begins from a measured state only if all joints rest (`RestDetector`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ik_core import Robot
from ik_core.maths.rotations import Array

from ..joint_limits import LEAST_TOLERANCE, mimic_unit

# A joint rests if at least REST_SAMPLES samples agree over REST_TIME [s], and the slope of the
# line through them is below REST_SPEED [rad/s or m/s].
REST_TIME = 0.2
REST_SPEED = 0.01
REST_SAMPLES = 3
WATCHED = 0.3  # [s] older samples do not count, if there are REST_SAMPLES newer ones
REMEMBERED = 512  # samples kept of a joint: as many as may come in WATCHED
TINY = 1e-30  # [s^2] prevents a division by 0 if all samples have the same time
# This many consecutive samples, over JUMP_TIME [s], prove a position that a joint could not have
# moved to.
JUMPED = 5
JUMP_TIME = 0.05
# Plausible distance outside the limits, since descriptions may allow less than the robot can do:
# HALF_TURN [rad] for a joint that turns; for one that slides its range, and at least SHORTEST [m].
HALF_TURN = math.pi
SHORTEST = 0.1
# [rad or m] Largest plausible position without limits: larger angles have no digits left for the
# position within a turn.
FARTHEST = 1e8
# A plausible speed is at most this multiple of the velocity limit: robots are pushed, or swing.
FASTER = 1.5
BUNCHED = 0.05  # [s] delay of a message after which the next one may follow at once
FULL_TURN = 2.0 * math.pi
Joints = NDArray[np.intp]


class Differences:
    """Differences of positions [rad or m]; whole turns of joints with endless turns do not count.

    Drivers report the angle of such a joint within a turn, or with all of its turns.
    """

    def __init__(self, continuous: NDArray[np.bool_]) -> None:
        self._turns = np.where(continuous, FULL_TURN, 0.0)
        self._any = bool(continuous.any())

    def between(self, q: Array, other: Array, joints: Joints) -> Array:
        """Return q - other of some joints, without whole turns."""
        difference: Array = q - other
        if self._any:
            difference -= self._turns[joints] * np.rint(difference / FULL_TURN)
        return difference

    def nearest(self, q: Array, near: Array, joints: Joints) -> Array:
        """Return q of some joints, shifted by whole turns nearest to `near`; unshifted for NaN."""
        if not self._any:
            return q
        turns = np.rint((q - near) / FULL_TURN)
        return q - self._turns[joints] * np.where(np.isnan(near), 0.0, turns)


class AgreeingRuns:
    """Runs of consecutive samples of each joint that agree with the first one of the run."""

    def __init__(self, differences: Differences, n: int) -> None:
        self._differences = differences
        self._first = np.zeros(n)
        self._count = np.zeros(n, np.intp)
        self._times = np.full((2, n), math.inf)  # [s] of the first and the last sample of each run

    def add(self, joints: Joints, q: Array, now: float, tolerance: Array) -> None:
        """Add samples; one beyond the tolerance from the first of its run begins a new run."""
        apart = np.abs(self._differences.between(q, self._first[joints], joints))
        new = (apart > tolerance) | np.isinf(self._times[0, joints])
        begin = joints[new]
        self._first[begin], self._count[begin], self._times[0, begin] = q[new], 0, now
        self._times[1, joints] = now
        self._count[joints] += 1

    def end(self, joints: Joints) -> None:
        """End the runs of these joints."""
        self._count[joints], self._times[:, joints] = 0, math.inf

    def last(self, joints: Joints, count: int, seconds: float) -> NDArray[np.bool_]:
        """Return a mask of the joints whose runs have `count` samples and span `seconds`."""
        first, last = self._times[:, joints]
        return (self._count[joints] >= count) & (last >= first + seconds)


class RestDetector:
    """Detects which joints rest, by their samples of the last WATCHED [s]."""

    def __init__(self, n: int) -> None:
        self._times = np.full((n, REMEMBERED), -math.inf)
        self._q = np.zeros((n, REMEMBERED))
        self._counts = np.zeros(n, np.intp)

    def add(self, joints: Joints, q: Array, now: float) -> None:
        """Add samples of some joints; drop the previous ones if the clock jumped back."""
        newest = self._times[joints, (self._counts[joints] - 1) % REMEMBERED]
        self.forget(joints[newest > now])
        column = self._counts[joints] % REMEMBERED
        self._times[joints, column], self._q[joints, column] = now, q
        self._counts[joints] += 1

    def forget(self, joints: Joints) -> None:
        """Drop the samples of these joints."""
        self._times[joints], self._counts[joints] = -math.inf, 0

    def joints(self, joints: Joints, tolerance: Array) -> NDArray[np.bool_]:
        """Return a mask of the joints that rest, with a tolerance [rad or m] for each."""
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
    """The measured positions of a robot, from messages that may have only some of the joints.

    needed : the joints that a start needs; others count as in the middle of their limits until
        they are measured
    commanded : last commands of joints, by name
    mimics : the mimic joints whose positions count, too, if they are measured

    Times [s] are of one clock; `tolerance` [rad or m] is the largest difference between samples of
    a joint at rest, a number or (n + m,).
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
        margin = np.where(turns, HALF_TURN, np.maximum(span, SHORTEST))
        self._lowest, self._highest = self._lower - margin, self._upper + margin
        self.continuous = np.append(robot.continuous, (turns & np.isinf(upper - lower))[self._n :])
        self._differences = Differences(self.continuous)
        self._rest = RestDetector(n)
        self._elsewhere = AgreeingRuns(self._differences, n)
        self.others: set[str] = set()  # joints of messages without any joint of this robot

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
        """The measured positions (n + m,), mimic joints last, a copy.

        Joints that were never measured have arbitrary positions.
        """
        return self._q.copy()

    def mimics(self, now: float, timeout: float) -> dict[str, float]:
        """Return measured positions of mimic joints, by name, if newer than `timeout` [s]."""
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
        """Take finite samples [rad or m] by name; return the accepted joints, and doubts.

        A doubt is a sentence that says why a sample is refused. The samples were received at `now`
        [s] and measured at `time` [s], by default now.
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
        believed = self._is_there(joints, q, time, self._tolerances(tolerance, joints))
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
        """Return the largest age [s] of the needed joints' newest samples; inf without one."""
        self._follow_clock(now)
        return now - float(self._received[self._needed].min(initial=now))

    def rests(self, tolerance: float | Array) -> bool:
        """Return whether all needed joints and all measured mimic joints rest."""
        joints = self._moving
        return bool(self._rest.joints(joints, self._tolerances(tolerance, joints)).all())

    def _tolerances(self, tolerance: float | Array, joints: Joints) -> Array:
        """Return the tolerances [rad or m] of some joints."""
        return np.maximum(np.broadcast_to(tolerance, self._q.shape)[joints], LEAST_TOLERANCE)

    def never_heard(self, names: Sequence[str]) -> list[str]:
        """Return the joints among `names` that no message has contained."""
        return [name for name in names if self._received[self._index[name]] == -math.inf]

    @property
    def _moving(self) -> Joints:
        """The joints that have to rest: the needed ones, and mimic joints with recent samples."""
        mimics = self._mimics
        if not mimics.size:
            return self._needed
        latest = self._times[self._needed].max(initial=-math.inf)
        return np.append(self._needed, mimics[self._times[mimics] > latest - WATCHED])

    def forget_rest(self) -> None:
        """Drop the samples that show rest: all joints have to come to rest again."""
        self._rest.forget(np.arange(self._q.size))

    def unknown(self, now: float, timeout: float, tolerance: float | Array) -> tuple[str, ...]:
        """Return the joints that should rest but do not, or have no sample for `timeout` [s]."""
        self._follow_clock(now)
        joints = self._moving
        known = self._rest.joints(joints, self._tolerances(tolerance, joints))
        known &= now - self._received[joints] <= timeout
        return tuple(self.names[i] for i in joints[~known])

    def away_from(self, q: Array) -> Array:
        """Return measured minus q (n + m,) of the joints that have to rest; 0 for others."""
        joints, away = self._moving, np.zeros_like(q)
        away[joints] = self._differences.between(self._q[joints], q[joints], joints)
        return away

    def _is_there(
        self, joints: Joints, q: Array, now: float, tolerance: Array
    ) -> NDArray[np.bool_]:
        """Return a mask of joints that could have moved to q, or are proved there by samples."""
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
        """Set the times of old samples to `now` [s] if the clock jumped back."""
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
