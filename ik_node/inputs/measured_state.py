"""Where a robot is, put together from samples, none of which is believed blindly.

A sample is what one message says of one joint. It is refused

- far outside the limits of the joint, where no joint can be,
- and where the joint could not have come to in the time since the last sample, until several
  samples in a row agree: then it is there, however it came there.

What is begun from a measured state is begun where all joints rest: where the last few samples of
each of them agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ik_core import Robot
from ik_core.maths.rotations import Array

AGREEING = 3
"""So many samples in a row make sure where a joint is,"""
JUMPED = 5
"""and so many, over JUMP_TIME [s], where it could not have come to."""
JUMP_TIME = 0.05
LEAST_TOLERANCE = 1e-3
"""[rad or m] Samples that agree may differ so much, even with a tolerance of 0."""
HALF_A_TURN = math.pi
"""[rad] A joint that turns may be so far outside its limits: a description may allow less than the
robot can do, but not by that much. One that slides may be by its range, and SHORTEST [m] at least.
"""
SHORTEST = 0.1
FASTER = 1.5
"""A robot that is pushed, or swings, may exceed the velocity of its description so much,"""
BUNCHED = 0.05
"""and so many seconds may messages come too late, the next one right behind them."""
TURN = 2.0 * math.pi
Joints = NDArray[np.intp]


class Differences:
    """Differences of positions [rad or m]; joints with endless turns have the same one each turn.

    Drivers may give the angle of such a joint within a turn, or with all of its turns.
    """

    def __init__(self, robot: Robot) -> None:
        self._turns = np.where(robot.continuous, TURN, 0.0)
        self._any = bool(robot.continuous.any())

    def between(self, q: Array, other: Array, joints: Joints) -> Array:
        """q - other, of some joints, by the shorter way round."""
        difference: Array = q - other
        if self._any:
            difference -= self._turns[joints] * np.rint(difference / TURN)
        return difference


class Runs:
    """For each joint, how many samples in a row agree with the first of them, and how long."""

    def __init__(self, differences: Differences, n: int) -> None:
        self._differences = differences
        self._first = np.zeros(n)
        self._count = np.zeros(n, np.intp)
        self._times = np.full((2, n), math.inf)  # of the first and the last sample

    def add(self, joints: Joints, q: Array, now: float, tolerance: float) -> None:
        """Take samples; one farther than the tolerance from the first of its run begins anew."""
        apart = np.abs(self._differences.between(q, self._first[joints], joints))
        new = (apart > tolerance) | np.isinf(self._times[0, joints])
        begin = joints[new]
        self._first[begin], self._count[begin], self._times[0, begin] = q[new], 0, now
        self._times[1, joints] = now
        self._count[joints] += 1

    def interrupt(self, joints: Joints) -> None:
        """Count again from the next samples of these joints on, also where they still agree."""
        self._count[joints] = 0

    def end(self, joints: Joints) -> None:
        """Begin anew with the next samples of these joints."""
        self._count[joints], self._times[:, joints] = 0, math.inf

    def last(self, joints: Joints, count: int, seconds: float) -> NDArray[np.bool_]:
        """Whether the runs of some joints have so many samples, over so many seconds."""
        first, last = self._times[:, joints]
        return (self._count[joints] >= count) & (last >= first + seconds)

    def follow_clock(self, now: float) -> None:
        """No sample is newer than now."""
        np.minimum(self._times, now, out=self._times, where=np.isfinite(self._times))


class MeasuredState:
    """The positions of a robot's joints, from messages that may have some joints only.

    `needed` are the joints without which nothing can start; the others stay in the middle of
    their limits until they are measured. Times `now` [s] are of one clock, `tolerance` [rad or m]
    is how much samples of a robot at rest may differ.
    """

    def __init__(self, robot: Robot, needed: Sequence[str]) -> None:
        self._robot = robot
        self._index = {name: i for i, name in enumerate(robot.joint_names)}
        self._needed = np.array([self._index[name] for name in needed], np.intp)
        self._q = robot.middle_configuration
        self._received = np.full(robot.n, -math.inf)
        self._latest = -math.inf
        self._lowest, self._highest = _farthest(robot)
        self._differences = Differences(robot)
        self._steady = Runs(self._differences, robot.n)
        self._elsewhere = Runs(self._differences, robot.n)

    @property
    def joints(self) -> Mapping[str, int]:
        """The indices of the joints, by name."""
        return self._index

    @property
    def q(self) -> Array:
        """The measured positions (n,), a copy."""
        return self._q.copy()

    def take(
        self, positions: Mapping[str, float], now: float, tolerance: float
    ) -> tuple[Joints, list[str]]:
        """Take finite samples by name: which joints are believed, and doubts of the others.

        A doubt is a sentence that says why a sample is refused.
        """
        self._follow_clock(now)
        tolerance = max(tolerance, LEAST_TOLERANCE)
        joints = np.array([self._index[name] for name in positions], np.intp)
        q = np.array(list(positions.values()), float)
        possible = (q >= self._lowest[joints]) & (q <= self._highest[joints])
        doubts = []
        if not possible.all():
            doubts += [self._beyond(i, value) for i, value in _pairs(joints, q, ~possible)]
            joints, q = joints[possible], q[possible]
        believed = self._is_there(joints, q, now, tolerance)
        if not believed.all():
            doubts += [self._too_far(i, value, now) for i, value in _pairs(joints, q, ~believed)]
            self._steady.interrupt(joints[~believed])
            joints, q = joints[believed], q[believed]
        self._steady.add(joints, q, now, tolerance)
        self._q[joints], self._received[joints] = q, now
        return joints, doubts

    def age(self, now: float) -> float:
        """Seconds since the oldest of the last news of the needed joints; inf before any."""
        self._follow_clock(now)
        return now - float(self._received[self._needed].min(initial=now))

    def rests(self, seconds: float = 0.0) -> bool:
        """Whether the last samples of all needed joints agree, those of so long at least."""
        return bool(self._steady.last(self._needed, AGREEING, seconds).all())

    def unknown(self, now: float, timeout: float) -> tuple[str, ...]:
        """The needed joints without news for that long [s], or whose samples do not agree."""
        self._follow_clock(now)
        known = self._steady.last(self._needed, AGREEING, 0.0)
        known &= now - self._received[self._needed] <= timeout
        return tuple(self._robot.joint_names[i] for i in self._needed[~known])

    def distance(self, q: Array) -> float:
        """How far [rad or m] the needed joint is that is farthest from its place in q (n,)."""
        return float(np.abs(self._q - q)[self._needed].max(initial=0.0))

    def _is_there(
        self, joints: Joints, q: Array, now: float, tolerance: float
    ) -> NDArray[np.bool_]:
        """Which joints could have come to q, or are there, since samples in a row say so."""
        apart = np.abs(self._differences.between(q, self._q[joints], joints))
        seconds = now - self._received[joints] + BUNCHED
        there = apart <= FASTER * self._robot.velocity[joints] * seconds + tolerance
        if there.all():
            self._elsewhere.end(joints)
            return there
        others = joints[~there]
        self._elsewhere.add(others, q[~there], now, tolerance)
        there[~there] = self._elsewhere.last(others, JUMPED, JUMP_TIME)
        self._elsewhere.end(joints[there])
        return there

    def _follow_clock(self, now: float) -> None:
        """Where the clock jumped back, let what is known count as news."""
        if now < self._latest:
            np.minimum(self._received, now, out=self._received)
            self._steady.follow_clock(now)
            self._elsewhere.follow_clock(now)
        self._latest = now

    def _beyond(self, i: int, value: float) -> str:
        robot = self._robot
        name, unit = robot.joint_names[i], robot.joint_units[i]
        limits = f'[{robot.lower[i]:.4g}, {robot.upper[i]:.4g}]'
        return f'{name} can not be at {value:.4g} {unit}: its limits are {limits}'

    def _too_far(self, i: int, value: float, now: float) -> str:
        robot, seconds = self._robot, now - self._received[i]
        name, unit = robot.joint_names[i], robot.joint_units[i]
        before = f'it was at {self._q[i]:.4g} {unit} {seconds:.2g} s before'
        return f'{name} can not be at {value:.4g} {unit}: {before}'


def _farthest(robot: Robot) -> tuple[Array, Array]:
    """The lowest and the highest positions (n,) that joints can be at."""
    turns = np.array([unit == 'rad' for unit in robot.joint_units])
    margin = np.where(turns, HALF_A_TURN, np.maximum(robot.upper - robot.lower, SHORTEST))
    return robot.lower - margin, robot.upper + margin


def _pairs(joints: Joints, q: Array, which: NDArray[np.bool_]) -> list[tuple[int, float]]:
    return list(zip(joints[which].tolist(), q[which].tolist(), strict=True))
