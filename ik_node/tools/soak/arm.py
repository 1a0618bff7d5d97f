"""Robots behind a controller: they go where they are commanded, a little late, and say so.

While they are switched off they stay where they are, and still say so. What they say can be
falsified: `false_samples`.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence

from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from .limits import Array

LAG = 0.03
"""[s] From a command to the moment in which the joints are there."""
PERIOD = 0.008
REMEMBERED = 250
"""Samples in which a node may have seen where a joint is."""


class Arm:
    """All joints of the robots, at `start` in the beginning. Its methods are for any thread."""

    def __init__(self, node: Node, start: Mapping[str, float]) -> None:
        self._lock = threading.Lock()
        self._positions = dict(start)
        self._commands: deque[tuple[float, tuple[str, ...], list[float]]] = deque()
        self._said: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=REMEMBERED))
        self._publisher = node.create_publisher(
            JointState, 'joint_states', qos_profile_sensor_data
        )
        self._node = node
        self._on = True
        node.create_timer(PERIOD, self._follow)

    def command(self, names: Sequence[str], q: Array) -> None:
        """Go there."""
        with self._lock:
            self._commands.append((time.monotonic() + LAG, tuple(names), q.tolist()))

    def switch(self, on: bool) -> None:
        """Obey, or stay where it is."""
        with self._lock:
            self._commands.clear()
            self._on = on

    def was_at(self, name: str, position: float) -> bool:
        """Whether it said so a moment ago."""
        with self._lock:
            return position in self._said[name]

    def distance(self, commanded: Mapping[str, float]) -> float:
        """How far [rad or m] the joint is that is farthest from where it is commanded to be."""
        with self._lock:
            return max(abs(self._positions[name] - q) for name, q in commanded.items())

    def say_falsely(self, numbers: random.Random) -> None:
        """Publish one sample that can't be right, of one kind or another."""
        with self._lock:
            positions = dict(self._positions)
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

    def _follow(self) -> None:
        now = time.monotonic()
        with self._lock:
            while self._commands and self._commands[0][0] <= now:
                _, names, q = self._commands.popleft()
                if self._on:
                    self._positions.update(zip(names, q, strict=True))
            message = self._message(self._positions)
            for name, position in self._positions.items():
                self._said[name].append(position)
        self._publisher.publish(message)

    def _message(self, positions: Mapping[str, float]) -> JointState:
        message = JointState(name=list(positions), position=list(positions.values()))
        message.header.stamp = self._node.get_clock().now().to_msg()
        return message
