"""Hears what a node publishes, and judges it by limits that it is told of.

Messages are counted by the middleware's sequence numbers: what is lost on the way here breaks a
chain of differences, and nothing else does.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from .checker import Checker, Verdict
from .limits import ACCELERATION, LOWER, VELOCITY, Array, Description

SAME_PLACE = 1e-9


class Robot:
    """What is known of the limits of a robot's joints: its description, and what was set."""

    def __init__(self, description: Description, velocity: float, acceleration: float) -> None:
        self.description = description
        self._defaults = velocity, acceleration
        self.names = tuple(description.rows)
        self.drivers = [name for name in self.names if name not in description.mimics]
        self.set: dict[tuple[str, int], float] = {}

    def rows(self, names: tuple[str, ...], more: Mapping[tuple[str, int], float]) -> Array:
        """The limits (5, n) of joints by name, with those that are about to be set."""
        return np.array([self._row(name, self.set | dict(more)) for name in names]).T

    def _row(self, name: str, given: Mapping[tuple[str, int], float]) -> list[float]:
        row = list(self.description.rows[name])
        for k in range(5):
            tighter = max if k == LOWER else min
            row[k] = tighter(row[k], given.get((name, k), row[k]))
        if name not in self.description.mimics:
            for k, default in zip((VELOCITY, ACCELERATION), self._defaults, strict=True):
                row[k] = row[k] if math.isfinite(row[k]) else default
        return row


class Listener:
    """Judges joint states of robots that come and go; see `Checker`.

    Its methods may be called from any thread.
    """

    def __init__(self, robots: list[Robot], rate: float) -> None:
        self.robots = {frozenset(robot.names): robot for robot in robots}
        self._period = 1.0 / rate
        self._lock = threading.RLock()
        self._checker: Checker | None = None
        self._names: tuple[str, ...] = ()
        self._due: list[tuple[int, Array]] = []
        self._sequence = 0
        self._kept: dict[str, float] = {}
        self.verdicts: list[tuple[str, Verdict]] = []
        self.states = self.lost = self.moved = 0
        self.others: Counter[str] = Counter()
        self.last_arrival = time.monotonic()
        self.longest_silence = 0.0, ''
        self.action = ''

    @property
    def robot(self) -> Robot | None:
        """The one whose states came last."""
        return self.robots.get(frozenset(self._names))

    def receive(self, message: JointState, info: Mapping[str, Any]) -> None:
        """Judge a message."""
        with self._lock:
            now = time.monotonic()
            self.longest_silence = max(
                self.longest_silence, (now - self.last_arrival, self.action)
            )
            self.last_arrival = now
            self.states += 1
            q, dq = np.array(message.position), np.array(message.velocity)
            self.moved += bool(dq.any())
            self._follow(tuple(message.name), q, info['publication_sequence_number'])
            if self._checker is not None:
                self._adopt(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)
                self._checker.see(q, dq)
                self._check_mimics(q)

    def silent_by_right(self) -> None:
        """Nothing was to be heard until now."""
        with self._lock:
            self.last_arrival = time.monotonic()

    def expect(self, more: Mapping[tuple[str, int], float]) -> None:
        """These limits are about to be set: they may hold from now on, or may not."""
        with self._lock:
            if self._checker is not None and self.robot is not None:
                old, new = (self.robot.rows(self._names, given) for given in ({}, more))
                loosest = np.maximum(old, new)
                loosest[LOWER] = np.minimum(old[LOWER], new[LOWER])
                self._checker.change(loosest)

    def answered(self, more: Mapping[tuple[str, int], float], accepted: bool) -> None:
        """They were set, or refused: so they hold from here on, or do not."""
        with self._lock:
            if self._checker is not None and self.robot is not None:
                if accepted:
                    self.robot.set |= more
                rows = self.robot.rows(self._names, {})
                self._due.append((time.time_ns(), rows))

    def finish(self) -> None:
        """Judge what has come."""
        with self._lock:
            if self._checker is not None:
                self._checker.finish()

    @property
    def violations(self) -> int:
        """All, of all kinds."""
        return sum(v.violations for _, v in self.verdicts) + sum(self.others.values())

    def _follow(self, names: tuple[str, ...], q: Array, sequence: int) -> None:
        """Go on with the same robot, or with another one."""
        if names != self._names:
            self._begin(names, q)
        elif self._checker is not None and sequence > self._sequence + 1:
            self.lost += sequence - self._sequence - 1
            self._checker.forget(sequence - self._sequence - 1)
        self._sequence = sequence
        self._kept.update(zip(names, q.tolist(), strict=True))

    def _begin(self, names: tuple[str, ...], q: Array) -> None:
        self.finish()
        self._names, self._due, self._checker = names, [], None
        robot = self.robot
        if robot is None:
            self.others['unknown joints'] += 1
            return
        robot.set.clear()
        rows = robot.rows(names, {})
        self._checker = Checker(rows, self._period)
        self.verdicts.append((names[0], self._checker.verdict))
        far = [abs(self._kept.get(name, x) - x) for name, x in zip(names, q, strict=True)]
        if (np.array(far) > rows[ACCELERATION] * self._period**2 + SAME_PLACE).any():
            self.others['a jump where the robot is another'] += 1

    def _adopt(self, stamp: int) -> None:
        assert self._checker is not None
        while self._due and self._due[0][0] < stamp:
            self._checker.change(self._due.pop(0)[1])

    def _check_mimics(self, q: Array) -> None:
        robot = self.robot
        assert robot is not None
        for name, mimic in robot.description.mimics.items():
            at, driver = self._names.index(name), self._names.index(mimic.joint)
            if abs(q[at] - mimic.multiplier * q[driver] - mimic.offset) > SAME_PLACE:
                self.others['mimic'] += 1
