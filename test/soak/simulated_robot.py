# SPDX-License-Identifier: Apache-2.0
"""A robot behind a controller: it goes where it is commanded, a little late, and says so.

It may be off, and holds its position then, or be led by somebody else. What its driver says can be
wrong: frozen, late, bunched, inexact, within a turn (`Driver`), or impossible (`say_falsely`). It
may sag, and its driver may end and start again elsewhere.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from .expected_limits import Array

LAG = 0.03  # [s] From a command to the moment in which the joints are there
PERIOD = 0.005
REMEMBERED = round(2.0 / PERIOD)  # Samples in which a node may have seen where a joint is
AT_REST = 150_000_000  # [ns] A robot from whose state a motion begins has been at rest for so long
# [rad or m] The node's state_tolerance: states of a robot at rest may differ so much
TOLERANCE = 0.02
SAME = 1e-9
SWAY = 0.6  # [rad] So far to both sides somebody else leads a joint
Aim = Callable[[], Mapping[str, float]]


@dataclass
class Driver:
    """Faults of a driver that reports joint positions.

    `wraps`: this joint's angle within (-pi, pi]; `frozen`: where they were when it froze; `noise`
    [rad]; `late` [s]: on the way; `bunch` [s]: what comes in so long is sent at once; `sag` [rad]:
    a joint hangs so far below where it was commanded to be; `silent`: it says nothing.
    """

    wraps: str = ''
    frozen: bool = False
    noise: float = 0.0
    late: float = 0.0
    bunch: float = 0.0
    sag: float = 0.0
    silent: bool = False


class Arm:
    """The joints of a robot, at `start` in the beginning. Its methods are for any thread.

    `aim` says where it is commanded to be now, by joint. `driver` may be set to another one,
    `delay` [s] to 0: it is the longest by which this process was too slow to move the robot.
    `largest_step` [rad] may be set to 0: so far a command moved a joint at once.
    """

    def __init__(self, node: Node, start: Mapping[str, float], aim: Aim) -> None:
        self._lock = threading.Lock()
        self.positions = dict(start)
        self._said, self._aim = dict(start), aim
        self._commands: deque[tuple[float, Mapping[str, float]]] = deque()
        self._past: deque[tuple[int, dict[str, float], dict[str, float]]] = deque(
            maxlen=REMEMBERED
        )
        self._sent: deque[tuple[float, JointState]] = deque()
        self._led_from: tuple[float, float, dict[str, float]] | None = None
        self._node, self._on = node, True
        self._forgotten: Mapping[str, float] | None = None  # a command of before it was off
        self._numbers = random.Random(0)
        self._followed = time.monotonic()
        self.largest_step = 0.0
        self.driver, self.delay = Driver(), 0.0
        self._publisher = node.create_publisher(
            JointState, 'joint_states', qos_profile_sensor_data
        )

    def switch(self, on: bool) -> dict[str, float]:
        """Obey, or stay; where it is."""
        with self._lock:
            self._commands.clear()
            self._on, self._forgotten = on, self._aim()
            return dict(self.positions)

    def place(self, way: float) -> dict[str, float]:
        """Stand elsewhere, one joint by so much [rad], and forget all commands; where it is."""
        with self._lock:
            self._commands.clear()
            self.positions[next(iter(self.positions))] += way
            return dict(self.positions)

    def lead(self, speed: float) -> None:
        """Let somebody else lead all joints to and fro at a speed [rad/s]; 0: nobody."""
        with self._lock:
            here = time.monotonic(), speed, dict(self.positions)
            self._led_from = here if speed else None

    def rests_at(
        self, names: tuple[str, ...], q: Array, stamp: int, slack: float = SAME
    ) -> Array | None:
        """Return the reported position (n,) at which the robot has rested since before `stamp`
        [ns], at most `slack` from q (n,); else None."""
        with self._lock:
            past = list(self._past)
        wanted = dict(zip(names, q.tolist(), strict=True))
        said = [s for _, true, s in past if _apart(s, true) <= TOLERANCE]
        nearest = min(said, key=lambda s: _apart(wanted, s), default={})
        if not nearest or _apart(wanted, nearest) > slack:
            return None
        rested = all(
            _apart(wanted, true) <= 2.0 * TOLERANCE
            for at, true, _ in past
            if stamp - AT_REST <= at <= stamp
        )
        return np.array([nearest[name] for name in names]) if rested else None

    def distance(self, commanded: Mapping[str, float]) -> float:
        """Return the largest distance [rad or m] of a joint from its command."""
        with self._lock:
            return _apart(commanded, self.positions)

    def say_falsely(self, numbers: random.Random) -> None:
        """Publish one sample that can't be right, of one kind or another."""
        with self._lock:
            positions = dict(self.positions)
        name = numbers.choice(list(positions))
        kind = numbers.randrange(5)
        positions[name] += numbers.choice([-1.0, 1.0]) * numbers.choice([0.5, 2.0, 200.0, 1e300])
        if kind == 0:
            positions[name] = numbers.choice([math.nan, math.inf])
        message = self._message(positions)
        if kind == 1:
            message.position = message.position[:-1]
        elif kind == 2:
            message.name = ['nobody', *message.name[1:]]
        self._publisher.publish(message)

    def follow(self) -> None:
        """Move on, and say where it is, if it is time to; to be called often."""
        now = time.monotonic()
        if now - self._followed < PERIOD:
            return
        aim = self._aim()
        with self._lock:
            self.delay = max(self.delay, now - self._followed)
            self._followed = now
            if aim is not self._forgotten:
                self._commands.append((now + LAG, aim))
            while self._commands and self._commands[0][0] <= now:
                _, q = self._commands.popleft()
                if self._on and self._led_from is None and q:
                    there = dict(q)
                    if self.driver.sag:
                        there[next(iter(there))] -= self.driver.sag
                    step = max(abs(x - self.positions[name]) for name, x in there.items())
                    self.largest_step = max(self.largest_step, step)
                    self.positions.update(there)
            if self._led_from is not None:
                began, speed, start = self._led_from
                way = _to_and_fro(speed * (now - began))
                self.positions.update({name: x + way for name, x in start.items()})
            message = self._say()
        if not self.driver.silent:
            self._send(message, now)

    def _say(self) -> JointState:
        driver, noise = self.driver, self._numbers.uniform
        if not driver.frozen:
            self._said = {
                name: x + noise(-driver.noise, driver.noise) if driver.noise else x
                for name, x in self.positions.items()
            }
        said = dict(self._said)
        self._past.append((time.time_ns(), dict(self.positions), dict(said)))
        if driver.wraps:
            said[driver.wraps] = math.remainder(said[driver.wraps], math.tau)
        return self._message(said)

    def _send(self, message: JointState, now: float) -> None:
        due = now + self.driver.late
        bunch = self.driver.bunch
        self._sent.append((math.ceil(due / bunch) * bunch if bunch else due, message))
        while self._sent and self._sent[0][0] <= now:
            self._publisher.publish(self._sent.popleft()[1])

    def _message(self, positions: Mapping[str, float]) -> JointState:
        message = JointState(name=list(positions), position=list(positions.values()))
        message.header.stamp = self._node.get_clock().now().to_msg()
        return message


def _apart(q: Mapping[str, float], other: Mapping[str, float]) -> float:
    return max((abs(other[name] - x) for name, x in q.items()), default=0.0)


def _to_and_fro(way: float) -> float:
    """Return the position after a path of this length, up to SWAY, back to -SWAY and so on."""
    return SWAY * (1.0 - abs((way / SWAY + 1.0) % 4.0 - 2.0))
