# SPDX-License-Identifier: Apache-2.0
"""Angles on the command line, in radians or with --degrees in degrees; joint values from it."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..maths.rotations import Array
from ..robot.limits import FULL_TURN
from ..robot.robot import Robot
from .parser import UsageError, is_number

JointValue = float | tuple[str, float]  # of `--q0`, `--near`, `--joints`: by order, or by name


@dataclass(frozen=True)
class Angles:
    """The unit of angles, `rad` or `deg`, and its number per radian."""

    unit: str
    per_radian: float

    def of_joints(self, robot: Robot, q: ArrayLike) -> Array:
        """Convert joint values (..., n) from [rad or m] to the shown unit."""
        return np.asarray(q, float) * self._scales(robot)

    def to_joints(self, robot: Robot, shown: ArrayLike) -> Array:
        """Convert joint values (..., n) from the shown unit to [rad or m]."""
        return np.asarray(shown, float) / self._scales(robot)

    def unit_of(self, robot: Robot, joint: int) -> str:
        """The unit in which a joint is shown."""
        return 'm' if robot.joint_units[joint] == 'm' else self.unit

    def headings(self, robot: Robot) -> list[str]:
        """Return the joints' names as headings of a table, with `[deg]` where that is the unit."""
        units = [self.unit_of(robot, i) for i in range(robot.n)]
        names = zip(robot.joint_names, units, strict=True)
        return [f'{name} [deg]' if unit == 'deg' else name for name, unit in names]

    def by_name(self, robot: Robot, q: Array) -> dict[str, float]:
        """Convert joint values (n,) [rad or m] to the shown unit, by name, with mimic joints."""
        shown = {}
        for name, value in robot.joint_values(q).items():
            mimic = robot.mimic_joints.get(name)
            joint = robot.joint_index(mimic.joint if mimic else name)
            shown[name] = value * (self.per_radian if robot.joint_units[joint] == 'rad' else 1.0)
        return shown

    def _scales(self, robot: Robot) -> Array:
        return np.array([1.0 if unit == 'm' else self.per_radian for unit in robot.joint_units])


RADIANS, DEGREES = Angles('rad', 1.0), Angles('deg', math.degrees(1.0))


def joint_value(text: str) -> JointValue:
    """Parse a value of `--q0`, `--near` or `--joints`."""
    name, equals, value = text.rpartition('=')
    if not is_number(value) or (equals and not name):
        raise argparse.ArgumentTypeError(f'{text!r} should be a number, or JOINT=VALUE')
    return (name, float(value)) if equals else float(value)


def configuration(
    robot: Robot, given: Sequence[JointValue], others: Array, angles: Angles, name: str = 'q0'
) -> Array:
    """The configuration (n,) from given values; joints that are not named are as in `others`.

    Raises UsageError if names and numbers are mixed, FrameNotFound for an unknown joint, and
    InvalidConfiguration, which calls it `name`, for a wrong count of numbers.
    """
    named = [value for value in given if isinstance(value, tuple)]
    if not named:
        numbers = robot.checked([value for value in given if isinstance(value, float)], name)
        return _with_degree_note(robot, angles.to_joints(robot, numbers), angles)
    if len(named) < len(given):
        raise UsageError('give a number for every joint, or JOINT=VALUE for some, not both')
    shown = angles.of_joints(robot, others)
    for joint, value in named:
        shown[robot.joint_index(joint)] = value
    return _with_degree_note(robot, angles.to_joints(robot, robot.checked(shown, name)), angles)


def _with_degree_note(robot: Robot, q: Array, angles: Angles) -> Array:
    """Return q; warn on stderr if a joint is so far beyond its limits that degrees are likely."""
    beyond = np.maximum(robot.lower - q, q - robot.upper)
    for name, value, unit, far in zip(
        robot.joint_names, q.tolist(), robot.joint_units, beyond.tolist(), strict=True
    ):
        if angles == RADIANS and unit == 'rad' and far > FULL_TURN:
            print(
                f'ik: note: {name} = {value:g} rad is far beyond its limits; for degrees '
                'add --degrees',
                file=sys.stderr,
            )
            break
    return q
