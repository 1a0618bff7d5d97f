# SPDX-License-Identifier: Apache-2.0
"""Values for any parameter of a node, drawn from its descriptor: a new parameter is drawn too."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.parameter import Parameter

from .expected_limits import ACCELERATION, LOWER, ROWS, UPPER, VELOCITY

# Names of parameters that decide where files go and how large they are, whose clock counts, or
# what is a robot at rest
LEFT_ALONE = re.compile(
    'qos_overrides|use_sim_time|start_type_description_service|record_|state_tolerance'
)
STATIC = 'only while unconfigured'
CHOICES = re.compile('one of ([^;]*)')
LIMIT = re.compile(rf'joint_limits\.(.*)\.({"|".join(ROWS)})')
LARGE = 10**6  # Where a range has no end, numbers are drawn up to this, and its end itself


class Draws:
    """Draws values with these random numbers."""

    def __init__(self, numbers: random.Random) -> None:
        self._random = numbers

    def value(self, descriptor: ParameterDescriptor, default: Any) -> Any:
        """A value that the parameter may take, or one just outside of what it may."""
        choices = CHOICES.search(descriptor.additional_constraints)
        if self._random.random() < 0.3:
            return default
        if choices:
            return self._random.choice(choices[1].split(', '))
        if isinstance(default, bool):
            return self._random.random() < 0.5
        if isinstance(default, int):
            return self._integer(descriptor, default)
        if isinstance(default, float):
            return self._number(descriptor, default)
        if isinstance(default, str):
            return self._random.choice(['', 'nonsense'])
        return self._vector(default)

    def limit(self, row: int, widest: Sequence[float], with_jerk: bool) -> float:
        """A limit with which the joint still moves, and stops soon; `widest` are the URDF's."""
        uniform = self._random.uniform
        if row in (LOWER, UPPER):
            lower, upper = widest[:2]
            inward = uniform(0.0, 0.45) * (upper - lower) * self._random.choice([0.0, 1.0])
            return float(lower + inward if row == LOWER else upper - inward)
        if row == VELOCITY:
            return min(widest[VELOCITY], 2.0) * uniform(0.1, 1.0)
        if row == ACCELERATION:
            return float(10.0 ** uniform(-0.3, 1.3))
        return float(10.0 ** uniform(1.0, 3.0)) if with_jerk else math.inf

    def is_drawn(self, descriptor: ParameterDescriptor) -> bool:
        """Return whether a parameter may be drawn at all; static ones seldom, which refuse to
        change."""
        static = STATIC in descriptor.additional_constraints
        allowed = not (descriptor.read_only or LEFT_ALONE.match(descriptor.name))
        return allowed and (not static or self._random.random() < 0.02)

    def _number(self, descriptor: ParameterDescriptor, default: float) -> float:
        ranges = descriptor.floating_point_range
        if not ranges:
            return float(self._random.choice([default * 10.0 ** self._random.uniform(-2, 2), 0.0]))
        low, high = ranges[0].from_value, ranges[0].to_value
        if self._random.random() < 0.3:
            return float(self._random.choice([low, high, math.nextafter(high, math.inf), -1.0]))
        low, high = max(low, -LARGE), min(high, LARGE)
        if low > 0.0 and self._random.random() < 0.7:
            return float(low * (high / low) ** self._random.random())
        return float(self._random.uniform(low, high))

    def _integer(self, descriptor: ParameterDescriptor, default: int) -> int:
        ranges = descriptor.integer_range
        if not ranges:
            return int(default * self._random.choice([0, 1, 2, 10]))
        low, high = ranges[0].from_value, ranges[0].to_value
        if self._random.random() < 0.3:
            return int(self._random.choice([low, high, low - 1]))
        near = range(max(low, -LARGE), min(high, LARGE, 10 * abs(default) + 10) + 1)
        return self._random.choice(near)

    def _vector(self, default: list[Any]) -> list[Any]:
        if not all(isinstance(x, float) for x in default):
            return ['nonsense']
        size = self._random.choice([0.0, 0.05, 0.05, math.nan, math.inf])
        return [size * self._random.uniform(-1.0, 1.0) for _ in default]


def limit_of(name: str) -> tuple[str, int] | None:
    """The joint and the row of a parameter that is a limit; None for others."""
    match = LIMIT.fullmatch(name)
    return (match[1], ROWS.index(match[2])) if match else None


def plain(default: Any) -> Any:
    """A value as `Draws` has it: arrays as lists."""
    is_array = hasattr(default, '__len__') and not isinstance(default, str)
    return list(default) if is_array else default


def message(name: str, value: Any) -> Any:
    """A parameter to be set."""
    return Parameter(name, value=value).to_parameter_msg()
