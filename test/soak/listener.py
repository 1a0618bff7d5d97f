# SPDX-License-Identifier: Apache-2.0
"""Hears what a node commands, and judges it by limits that it is given.

Messages are counted (`Numbers`): what is lost on the way here breaks a chain of differences, and
nothing else does. A joint that is commanded under two descriptions is judged across the change.
Where the state of the robot is measured (`arm`), a motion may begin anew where the robot is, if
both the command and the robot are at rest.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from .checker import HISTORY, Checker, Verdict
from .expected_limits import (
    ACCELERATION,
    JERK,
    LOWER,
    UPPER,
    VELOCITY,
    Allowance,
    Array,
    Description,
)

SAME_PLACE = 1e-9
DEFAULT = 'default'  # The name of the limits of joints that have none of their own
Limits = Mapping[tuple[str, int], float]  # Limits that were set, by joint, or DEFAULT, and row
UP_TO_DATE = 0.2  # [s] A sample that is not older is of now
# [periods] A longer gap between publications may be a loss, where messages have no numbers
HOLE = 10
# [ns] In which mimic joints, on their way to where their drivers put them, get nearer by
MIMIC_TIME = 10_000_000_000
# [rad or m] at least, or get there: a limit may let the slowest joint move at 0.01 rad/s
MIMIC_WAY = 0.05
MOVES = 0.02  # [rad/s or m/s] A joint that is commanded to move faster is in motion


class Numbers:
    """Numbers messages, so that a gap in the numbers is a loss; `period` [s] between messages.

    They are the middleware's sequence numbers. Cyclone DDS has none: there a gap of HOLE periods
    between two publications counts as a loss, and the motion is not judged across it.
    """

    def __init__(self, period: float) -> None:
        self._period, self._number, self._published = period, 0, 0

    def of(self, info: Mapping[str, Any]) -> int:
        """The number of the message with this info."""
        number = info.get('publication_sequence_number')
        if number is not None:
            return int(number)
        periods = 1e-9 * (info['source_timestamp'] - self._published) / self._period
        self._published = info['source_timestamp']
        self._number += round(periods) if periods > HOLE else 1
        return self._number


@dataclass(frozen=True)
class Sample:
    """Commanded joints: positions (n,), and velocities if the message has them.

    `stamp` [ns] is when it was, `number` counts the samples a period apart.
    """

    names: tuple[str, ...]
    q: Array
    dq: Array | None
    stamp: int
    number: int


class Robot:
    """Known limits of a robot's joints: those of its description, and those that were set.

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

    def taken_over(self, before: Robot) -> dict[tuple[str, int], float]:
        """Limits set for another robot that stay in force: those of joints of both.

        A joint that mimics another one here has no position limits to be set. Where limits
        contradict each other, only the defaults stay.
        """
        positions, mimics = (LOWER, UPPER), self.description.mimics
        kept = {
            (joint, k): x
            for (joint, k), x in before.set.items()
            if joint == DEFAULT
            or (joint in self.names and not (joint in mimics and k in positions))
        }
        rows = self.rows(self.names, kept)
        if (rows[LOWER] > rows[UPPER]).any():
            return {key: x for key, x in kept.items() if key[0] == DEFAULT}
        return kept

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
    """Judges the commands for robots that come and go; see `Checker`.

    Its methods may be called from any thread. `rests_at(names, q, stamp, slack)` says where (n,)
    a robot whose state is measured said that it rests at a time [ns], if that is near q (n,).
    `robot` is the one in force, `trace` a list that gets all stamps [ns] and positions (n,) while
    it is one, `delay` [s] by how much the last message came late: on a busy machine they wait.
    """

    def __init__(
        self,
        rate: float,
        rests_at: Callable[..., Array | None] = lambda *sample: None,
    ) -> None:
        self.period, self.rests_at = 1.0 / rate, rests_at
        self._lock = threading.RLock()
        self._numbers = Numbers(self.period)
        self.verdicts: list[tuple[str, Verdict]] = []
        self.states = self.lost = self.moved = self.restarts = 0
        self.others: Counter[str] = Counter()
        self.first: dict[str, str] = {}
        self.last_arrival = time.monotonic()
        self.longest_silence = 0.0, ''
        self.action = ''
        self.trace: list[tuple[int, Array]] | None = None
        self.delay = 0.0
        self._checker: Checker | None = None
        self.renew()

    def renew(self) -> None:
        """Forget everything: from now on messages are from another process."""
        with self._lock:
            self.finish()
            self._checker = None
            self._names: tuple[str, ...] = ()
            self._due: list[tuple[int, Array]] = []
            self._expected: list[Array] = []
            self._number = self.moved_until = 0
            self._rests_since = time.monotonic()
            self._speed, self._kept = 0.0, dict[str, float]()
            self.robot: Robot | None = None
            self._adopted = 0
            self._coming: Robot | None = None
            self._mimics_since: int | None = None  # None: they do, and have to go on
            self._mimics_from = math.inf  # how far away they were then

    def expect_robot(self, robot: Robot) -> None:
        """This robot's description is published: it may be in force from now on, or may not."""
        with self._lock:
            before, self._coming = self.robot, robot
            if self._checker is None or before is None:
                return
            if _has(robot, self._names):
                may_hold = [self._rows_of(before), robot.rows(self._names, before.set)]
                self._checker.change(_loosest(may_hold))

    def adopt_robot(self, robot: Robot, stamp: int) -> None:
        """This robot is in force, since a time [ns]."""
        with self._lock:
            if robot is self.robot:
                self._coming = None
                return
            robot.set = {}
            if self.robot is not None:
                robot.set = robot.taken_over(self.robot)
            self.robot, self._coming = robot, None
            self._adopted = stamp
            self._let_mimics_move(stamp)
            if self._checker is not None and _has(robot, self._names):
                self._due.append((stamp, self._rows_of(robot)))

    def _rows_of(self, robot: Robot, more: Limits = MappingProxyType({})) -> Array:
        return robot.rows(self._names, more)

    @property
    def latest(self) -> dict[str, float]:
        """Return the last command of each joint of the present robot."""
        with self._lock:
            return {name: self._kept[name] for name in self._names}

    @property
    def speed(self) -> float:
        """Return the largest speed of a joint in the last command [rad/s or m/s], 0 if that is
        old."""
        return self._speed if time.monotonic() - self.last_arrival < UP_TO_DATE else 0.0

    @property
    def moves(self) -> bool:
        """True if a joint is commanded to move."""
        return self.speed > MOVES

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
        """True if these are the ones that were set, and none of before is allowed any more."""
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
        self.take(Sample(tuple(message.name), q, dq, stamp, self._numbers.of(info)))

    def receive_commands(self, names: tuple[str, ...], q: Array, info: Mapping[str, Any]) -> None:
        """Judge positions (n,) that have neither names nor a stamp."""
        self.take(Sample(names, q, None, info['source_timestamp'], self._numbers.of(info)))

    def take(self, sample: Sample) -> None:
        """Judge a sample."""
        with self._lock:
            self._note_arrival()
            self.states += 1
            self._follow(sample)
            if self._checker is None:
                return
            self._adopt(sample.stamp)
            self._note_motion(sample)
            start = self._start_of(sample)
            if start is not None:
                self.restarts += 1
                self._checker.begin(start)
                self._let_mimics_move(sample.stamp)
            self._checker.see(sample.q, sample.dq)
            self._check_mimics(sample)
            if self.trace is not None:
                self.trace.append((sample.stamp, sample.q))

    def object(self, kind: str, detail: str = '') -> None:
        """Note something that is wrong, and of the first of its kind the details."""
        with self._lock:
            self.others[kind] += 1
            self.first.setdefault(kind, f'{detail} after {self.action}')

    def description_limits(self, joint: str) -> tuple[float, ...]:
        """Return the limits of a joint in the description of the present robot."""
        unknown = (-math.inf, math.inf, math.inf, math.inf, math.inf)  # the default
        robot = self.robot
        return unknown if robot is None else robot.description.rows.get(joint, unknown)

    def silent_by_right(self) -> None:
        """Nothing was to be heard until now."""
        with self._lock:
            self.last_arrival = time.monotonic()

    def expect(self, more: Limits) -> None:
        """These limits are about to be set: they may hold from now on, or may not."""
        with self._lock:
            if self._checker and self.robot and _has(self.robot, self._names):
                self._expected = [self._rows_of(self.robot, given) for given in ({}, more)]
                before = [self._checker.allowance.asked] if self._due else []
                self._checker.change(_loosest([*before, *self._expected]))

    def answered(self, more: Limits, accepted: bool) -> None:
        """They were set, or refused: so they hold from here on, or do not."""
        with self._lock:
            if accepted and self.robot:
                self.robot.set |= more
            if self._checker and self.robot and _has(self.robot, self._names):
                self._due.append((time.time_ns(), self._rows_of(self.robot)))
                self._expected = []

    def finish(self) -> None:
        """Judge what has come."""
        with self._lock:
            if self._checker is not None:
                self._checker.finish()

    @property
    def findings(self) -> list[str]:
        """Return the faults, in a few words each."""
        broken = [f'{robot}...: {v}' for robot, v in self.verdicts if v.violations]
        others = self.others.items()
        return broken + [f'{count} x {kind} (first: {self.first[kind]})' for kind, count in others]

    @property
    def violations(self) -> int:
        """Return the number of violations of all kinds."""
        return sum(v.violations for _, v in self.verdicts) + sum(self.others.values())

    def _note_arrival(self) -> None:
        now = time.monotonic()
        self.longest_silence = max(self.longest_silence, (now - self.last_arrival, self.action))
        self.last_arrival = now

    def _note_motion(self, sample: Sample) -> None:
        assert self._checker is not None
        before = self._checker.q
        if before:
            self._speed = float(np.max(np.abs(sample.q - before[-1]))) / self.period
            if self._speed > 0.0:
                self.moved += 1
                self._rests_since, self.moved_until = time.monotonic(), sample.stamp

    def _start_of(self, sample: Sample) -> Array | None:
        """Return the positions (n,) from which resting joints begin anew, or None: the robot rests
        there.

        They rest after a step that a stop can have ended with. What a motion from there may do is
        no start.
        """
        assert self._checker is not None
        before = self._checker.q[-2:]
        if len(before) < 2:
            return None
        step = self._checker.allowed[ACCELERATION] * self.period**2 + SAME_PLACE
        last, now = np.diff([*before, sample.q], axis=0)
        if (np.abs(last) > step).any() or (np.abs(now - last) <= step).all():
            return None
        return self.rests_at(sample.names, sample.q, sample.stamp, step.max())

    def _follow(self, sample: Sample) -> None:
        """Go on with the same joints, or with others."""
        skipped = sample.number - self._number - 1
        if sample.names != self._names:
            self._begin(sample)
        elif self._checker is not None and skipped > 0:
            self.lost += skipped
            self._checker.forget(skipped)
            self._let_mimics_move(sample.stamp)  # a start may be among what is not known
        self._number = sample.number
        self._kept.update(zip(sample.names, sample.q.tolist(), strict=True))

    def _begin(self, sample: Sample) -> None:
        """Judge other joints, or in another order; those that were known before go on."""
        self.finish()
        names, before, old = sample.names, self._checker, self._names
        self._names, self._due, self._expected, self._checker = names, [], [], None
        known = (self._coming, self.robot)
        robot = next((r for r in known if r and _has(r, names)), None)
        if robot is None:
            self.object('unknown joints', str(names))
            return
        if self.robot is None or not _has(self.robot, names):
            self.adopt_robot(robot, sample.stamp)  # whose joints nobody else has
        rows = robot.rows(names, {} if self.robot is None else self.robot.set)
        columns = [old.index(name) if name in old else None for name in names]
        checker = self._checker = Checker(rows, self.period)
        self.verdicts.append((names[0], checker.verdict))
        if before is None:
            return
        allowed = _loosest([rows, _columns(columns, before.allowed, rows)])
        checker.allowance = Allowance(allowed, self.period)
        checker.change(rows)
        # A joint that was never commanded before may have taken its first step already.
        start = sample.q if sample.dq is None else sample.q - self.period * sample.dq
        kept = np.array([self._kept.get(n, x) for n, x in zip(names, start, strict=True)])
        rest = [kept] * max(HISTORY - len(before.q), 0)
        checker.q = rest + [_columns(columns, q, kept) for q in before.q[-HISTORY:]]
        still = np.zeros(len(names))
        checker.dq = [still] * (HISTORY - len(before.dq))
        checker.dq += [_columns(columns, dq, still) for dq in before.dq[-HISTORY:]]
        checker.remember(checker.allowed)

    def _adopt(self, stamp: int) -> None:
        assert self._checker is not None
        while self._due and self._due[0][0] < stamp:
            rows = self._due.pop(0)[1]
            may_hold = [rows, *(later for _, later in self._due), *self._expected]
            self._checker.change(_loosest(may_hold))

    def _check_mimics(self, sample: Sample) -> None:
        """Mimic joints follow their drivers; after a change of the robot, once they got there.

        The description may come before the last samples of the robot before.
        """
        robot, names, q = self.robot, self._names, sample.q
        if robot is None or self._coming is not None:
            return
        if sample.stamp < self._adopted or not _has(robot, names):
            return
        away = 0.0
        for name, mimic in robot.description.mimics.items():
            if {name, mimic.joint} <= set(names):
                driver = q[names.index(mimic.joint)]
                led = mimic.multiplier * driver + mimic.offset
                away = max(away, abs(q[names.index(name)] - led))
        if away <= SAME_PLACE:
            self._mimics_since = None
        elif self._mimics_since is None or sample.stamp - self._mimics_since > MIMIC_TIME:
            self.object('mimic', f'{away:.3g} from where its driver leads it')
        elif self._speed == 0.0:  # stopped on the way there, it may rest
            self._let_mimics_move(sample.stamp)
        elif away <= self._mimics_from - MIMIC_WAY:
            self._mimics_since, self._mimics_from = sample.stamp, away

    def _let_mimics_move(self, stamp: int) -> None:
        """From a time [ns] on mimic joints may be on their way to where their drivers put them."""
        self._mimics_since, self._mimics_from = stamp, math.inf


def _has(robot: Robot, names: tuple[str, ...]) -> bool:
    return set(robot.commanded) == set(names)


def _columns(columns: list[int | None], old: Array, new: Array) -> Array:
    """Joints (..., n) from these columns of `old`, and those without one from `new`."""
    known = [new[..., k] if i is None else old[..., i] for k, i in enumerate(columns)]
    return np.stack(known, axis=-1)


def _loosest(limits: list[Array]) -> Array:
    """Return the widest of these limits (5, n)."""
    loosest: Array = np.max(limits, axis=0)
    loosest[LOWER] = np.min([rows[LOWER] for rows in limits], axis=0)
    return loosest
