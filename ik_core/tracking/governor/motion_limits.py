# SPDX-License-Identifier: Apache-2.0
"""Limits of every commanded step."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from ...exceptions import InvalidOption
from ...maths.argument_types import VectorLike
from ...maths.rotations import Array
from ...robot.robot import Robot, check_robot


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of every commanded step: arrays (n,), one value per joint, inf for no limit.

    `lower`, `upper` [rad or m]; `velocity` [rad/s or m/s], `acceleration` [rad/s^2 or m/s^2] and
    `jerk` [rad/s^3 or m/s^3], by default unlimited, are positive. List a joint that must not move
    in the problem's `frozen_joints`. Raises InvalidOption for NaN, a wrong length or sign, or
    lower > upper.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array = field(default_factory=lambda: np.array(np.inf))

    def __post_init__(self) -> None:
        if np.ndim(self.jerk) == 0:
            object.__setattr__(self, 'jerk', np.full(np.shape(self.lower), self.jerk))
        for f in fields(self):
            row = _row(getattr(self, f.name), f.name)
            row.flags.writeable = False
            object.__setattr__(self, f.name, row)
        self._check_shapes()
        self._refuse(self.lower > self.upper, 'lower is above upper')
        self._refuse(np.isposinf(self.lower) | np.isneginf(self.upper), 'no position is allowed')
        self._refuse(self.velocity <= 0.0, 'velocity must be positive')
        self._refuse(self.acceleration <= 0.0, 'acceleration must be positive')
        self._refuse(self.jerk <= 0.0, 'jerk must be positive')

    @classmethod
    def of(
        cls,
        robot: Robot,
        *,
        velocity: float | VectorLike = np.inf,
        acceleration: float | VectorLike = np.inf,
        jerk: float | VectorLike = np.inf,
    ) -> MotionLimits:
        """Return the robot's own limits, tightened by these rates, one number or (n,).

        Velocities, accelerations and jerks that the description states are kept: the lower of
        both counts.
        """
        check_robot(robot)
        given = {'velocity': velocity, 'acceleration': acceleration, 'jerk': jerk}
        rates = {name: _row(value, name) for name, value in given.items()}
        for name, row in rates.items():
            if row.shape not in ((), (robot.n,)):
                raise InvalidOption(
                    f'{name} limits have shape {row.shape}; one number or {robot.n} are needed'
                )
            rates[name] = np.minimum(getattr(robot, name), row)
        return cls(robot.lower, robot.upper, **rates)

    @property
    def rows(self) -> Array:
        """A new array (5, n): lower, upper, velocity, acceleration, jerk."""
        return np.array([getattr(self, f.name) for f in fields(self)])

    @property
    def has_jerk(self) -> bool:
        """True if the jerk of any joint is limited."""
        return bool(np.isfinite(self.jerk).any())

    def is_same(self, other: MotionLimits) -> bool:
        """Return whether all limits are equal."""
        return all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
        )

    def check_size(self, n: int) -> None:
        """Raise InvalidOption if these limits are not for n joints."""
        if self.lower.size != n:
            raise InvalidOption(f'limits for {self.lower.size} joints; the robot has {n}')

    def _check_shapes(self) -> None:
        for f in fields(self):
            row = getattr(self, f.name)
            if row.ndim != 1 or row.shape != self.lower.shape:
                raise InvalidOption(
                    f'{f.name} limits have shape {row.shape}; one number for each joint is needed'
                )
            self._refuse(np.isnan(row), f'{f.name} is NaN')

    def _refuse(self, wrong: NDArray[np.bool_], what: str) -> None:
        if wrong.any():
            raise InvalidOption(f'limits of joint {int(np.argmax(wrong))} (of q): {what}')


def _row(given: float | VectorLike, name: str) -> Array:
    try:
        return np.array(given, float, order='C')
    except (TypeError, ValueError):
        raise InvalidOption(f'{name} limits are not made of numbers: {given!r}') from None


def checked_limits(limits: object) -> MotionLimits:
    """Return `limits`; raise InvalidOption if they are no MotionLimits."""
    if not isinstance(limits, MotionLimits):
        raise InvalidOption(
            f'limits is {limits!r}: MotionLimits are needed, as MotionLimits.of(robot) makes them'
        )
    return limits
