"""Hears what a node commands, and judges it by limits that it is given.

Messages are counted by the middleware's sequence numbers: what is lost on the way here breaks a
chain of differences, and nothing else does. Where the state of the robot is measured (`arm`), a
motion may begin anew where the robot is, from rest only.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from .checker import Checker, Verdict
from .limits import ACCELERATION, JERK, LOWER, VELOCITY, Array, Description

SAME_PLACE = 1e-9
DEFAULT = 'default'
"""The name of the limits of joints that have none of their own."""
Limits = Mapping[tuple[str, int], float]
"""Limits that were set, by joint, or DEFAULT, and row."""


@dataclass(frozen=True)
class Sample:
    """What joints are commanded: positions (n,), and velocities where they are said.

    `stamp` [ns] is when it was, `number` counts the samples a period apart.
    """

    names: tuple[str, ...]
    q: Array
    dq: Array | None
    stamp: int
    number: int


class Robot:
    """What is known of the limits of a robot's joints: its description, and what was set.

    `commanded` are the joints that commands are for, in their order; by default all.
    """

    def __init__(
        self,
        description: Description,
        velocity: float,
        acceleration: float,
        commanded: tuple[str, ...] = (),
    ) -> None:
        self.description = description
        self._defaults = {(DEFAULT, VELOCITY): velocity, (DEFAULT, ACCELERATION): acceleration}
        self.names = tuple(description.rows)
        self.commanded = commanded or self.names
        self.set: dict[tuple[str, int], float] = {}

    def rows(self, names: tuple[str, ...], more: Limits) -> Array:
        """The limits (5, n) of joints by name, with those that are about to be set."""
        given = self._defaults | self.set | dict(more)
        return np.array([self._row(name, given) for name in names]).T

    def forget(self) -> None:
        """Only the defaults stay in force: the joints' own limits go with the robot."""
        self.set = {(joint, k): x for (joint, k), x in self.set.items() if joint == DEFAULT}

    def _row(self, name: str, given: Limits) -> list[float]:
        row = list(self.description.rows[name])
        for k in range(5):
            tighter = max if k == LOWER else min
            row[k] = tighter(row[k], given.get((name, k), row[k]))
        for k in range(VELOCITY, JERK + 1):
            if math.isinf(row[k]) and not (k == VELOCITY and name in self.description.mimics):
                row[k] = given.get((DEFAULT, k), math.inf)
        return row


class Listener:
    """Judges joint states of robots that come and go; see `Checker`.

    Its methods may be called from any thread. `was_said` tells whether a joint was said to be at a
    position a moment ago, where the state is measured.
    """

    def __init__(
        self,
        robots: list[Robot],
        rate: float,
        was_said: Callable[[str, float], bool] = lambda name, position: False,
    ) -> None:
        self.robots = {frozenset(robot.commanded): robot for robot in robots}
        self._period, self._was_said = 1.0 / rate, was_said
        self._lock = threading.RLock()
        self._checker: Checker | None = None
        self._names: tuple[str, ...] = ()
        self._due: list[tuple[int, Array]] = []
        self._expected: list[Array] = []
        self._number = self._stamp = 0
        self._rests_since = time.monotonic()
        self._kept: dict[str, float] = {}
        self.verdicts: list[tuple[str, Verdict]] = []
        self.states = self.lost = self.moved = self.restarts = 0
        self.others: Counter[str] = Counter()
        self.first: dict[str, str] = {}
        self.last_arrival = time.monotonic()
        self.longest_silence = 0.0, ''
        self.action = ''

    @property
    def robot(self) -> Robot | None:
        """The one whose states came last."""
        return self.robots.get(frozenset(self._names))

    @property
    def latest(self) -> dict[str, float]:
        """Where each joint of the present robot was commanded to be last."""
        with self._lock:
            return {name: self._kept[name] for name in self._names}

    @property
    def delay(self) -> float:
        """[s] How old the last sample is: on a busy machine they wait to be judged."""
        return 1e-9 * (time.time_ns() - self._stamp)

    @property
    def rests_since(self) -> float:
        """Since when (time.monotonic) no joint has been commanded to move."""
        return self._rests_since

    @property
    def limits(self) -> Array | None:
        """The limits (5, n) in force, of the joints of `names`, or None before any."""
        with self._lock:
            return None if self._checker is None else self._checker.allowed

    @property
    def limits_are_settled(self) -> bool:
        """Whether these are the ones that were set, and none of before is allowed any more."""
        with self._lock:
            checker = self._checker
            return not self._due and (
                checker is not None and checker.allowance.is_settled(checker.tick)
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The joints of the present robot, in the order of the commands."""
        return self._names

    def receive(self, message: JointState, info: Mapping[str, Any]) -> None:
        """Judge a joint state."""
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        q, dq = np.array(message.position), np.array(message.velocity)
        number = info['publication_sequence_number']
        self.take(Sample(tuple(message.name), q, dq, stamp, number))

    def take(self, sample: Sample) -> None:
        """Judge a sample."""
        with self._lock:
            self._note_arrival()
            self.states += 1
            self._follow(sample)
            if self._checker is None:
                return
            self._stamp = sample.stamp
            self._adopt(sample.stamp)
            self._note_motion(sample.q)
            if self._begins_where_it_is(sample):
                self.restarts += 1
                self._checker.begin(sample.q)
            self._checker.see(sample.q, sample.dq)
            self._check_mimics(sample.q)

    def object(self, kind: str, detail: str = '') -> None:
        """Note something that is wrong, and of the first of its kind the details."""
        with self._lock:
            self.others[kind] += 1
            self.first.setdefault(kind, f'{detail} after {self.action}')

    def has_said(self, names: tuple[str, ...], q: Array) -> bool:
        """Whether all joints were said to be where q (n,) says."""
        return all(map(self._was_said, names, q.tolist()))

    def description_limits(self, joint: str) -> tuple[float, ...]:
        """What the description of the present robot, or one that has this joint, allows it."""
        for robot in self.robots.values():
            if joint in robot.description.rows:
                return robot.description.rows[joint]
        return (-math.inf, math.inf, math.inf, math.inf, math.inf)  # the default

    def silent_by_right(self) -> None:
        """Nothing was to be heard until now."""
        with self._lock:
            self.last_arrival = time.monotonic()

    def expect(self, more: Limits) -> None:
        """These limits are about to be set: they may hold from now on, or may not."""
        with self._lock:
            if self._checker is not None and self.robot is not None:
                self._expected = [self.robot.rows(self._names, given) for given in ({}, more)]
                before = [self._checker.allowance.asked] if self._due else []
                self._checker.change(_loosest([*before, *self._expected]))

    def answered(self, more: Limits, accepted: bool) -> None:
        """They were set, or refused: so they hold from here on, or do not."""
        with self._lock:
            if self._checker is not None and self.robot is not None:
                if accepted:
                    self.robot.set |= more
                    self._share_defaults(more)
                rows = self.robot.rows(self._names, {})
                self._due.append((time.time_ns(), rows))
                self._expected = []

    def _share_defaults(self, more: Limits) -> None:
        """They are the node's, and stay when the robot is another."""
        defaults = {(joint, k): x for (joint, k), x in more.items() if joint == DEFAULT}
        for robot in self.robots.values():
            robot.set |= defaults

    def finish(self) -> None:
        """Judge what has come."""
        with self._lock:
            if self._checker is not None:
                self._checker.finish()

    @property
    def violations(self) -> int:
        """All, of all kinds."""
        return sum(v.violations for _, v in self.verdicts) + sum(self.others.values())

    def _note_arrival(self) -> None:
        now = time.monotonic()
        self.longest_silence = max(self.longest_silence, (now - self.last_arrival, self.action))
        self.last_arrival = now

    def _note_motion(self, q: Array) -> None:
        assert self._checker is not None
        before = self._checker.q
        if before and not np.array_equal(before[-1], q):
            self.moved += 1
            self._rests_since = time.monotonic()

    def _begins_where_it_is(self, sample: Sample) -> bool:
        """Whether joints that rest are commanded anew from where they are said to be.

        They rest after a step that a stop can have ended with.
        """
        assert self._checker is not None
        before = self._checker.q[-2:]
        if len(before) < 2 or np.array_equal(before[-1], sample.q):
            return False
        last_step = self._checker.allowed[ACCELERATION] * self._period**2
        rests = (np.abs(before[-1] - before[-2]) <= last_step).all()
        return bool(rests) and self.has_said(sample.names, sample.q)

    def _follow(self, sample: Sample) -> None:
        """Go on with the same robot, or with another one."""
        skipped = sample.number - self._number - 1
        if sample.names != self._names:
            self._begin(sample.names, sample.q)
        elif self._checker is not None and skipped > 0:
            self.lost += skipped
            self._checker.forget(skipped)
        self._number = sample.number
        self._kept.update(zip(sample.names, sample.q.tolist(), strict=True))

    def _begin(self, names: tuple[str, ...], q: Array) -> None:
        self.finish()
        self._names, self._due, self._expected, self._checker = names, [], [], None
        robot = self.robot
        if robot is None:
            self.object('unknown joints')
            return
        robot.forget()
        rows = robot.rows(names, {})
        self._checker = Checker(rows, self._period)
        self.verdicts.append((names[0], self._checker.verdict))
        far = [abs(self._kept.get(name, x) - x) for name, x in zip(names, q, strict=True)]
        is_far = (np.array(far) > rows[ACCELERATION] * self._period**2 + SAME_PLACE).any()
        if is_far and not self.has_said(names, q):
            self.object('a jump where the robot is another')

    def _adopt(self, stamp: int) -> None:
        assert self._checker is not None
        while self._due and self._due[0][0] < stamp:
            rows = self._due.pop(0)[1]
            may_hold = [rows, *(later for _, later in self._due), *self._expected]
            self._checker.change(_loosest(may_hold))

    def _check_mimics(self, q: Array) -> None:
        robot = self.robot
        assert robot is not None
        for name, mimic in robot.description.mimics.items():
            if not {name, mimic.joint} <= set(self._names):
                continue
            at, driver = self._names.index(name), self._names.index(mimic.joint)
            if abs(q[at] - mimic.multiplier * q[driver] - mimic.offset) > SAME_PLACE:
                self.object('mimic')


def _loosest(limits: list[Array]) -> Array:
    """What each of these limits (5, n) allows."""
    loosest: Array = np.max(limits, axis=0)
    loosest[LOWER] = np.min([rows[LOWER] for rows in limits], axis=0)
    return loosest
