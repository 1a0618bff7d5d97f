# SPDX-License-Identifier: Apache-2.0
"""A way of the joints whose speed rises and falls in proportion to it ([Dorta2014] Fig. 3.4).

The governor's own way speeds up evenly in time, so its speed rises as the square root of the way
gone. Here a point goes ahead of the joints on the straight line to the solution, and they follow
it. With s the way gone and r the way left, both of the joint that has farthest to go,

    speed = V max(LEAST, min(1, s / b, r / b)),    b = SHARE (s + r)

where V is so low that neither V nor V^2 / b, the acceleration where the rise ends, nor V^3 / b^2,
the jerk there, exceeds FULL of a joint's limit. Where the rise ends the acceleration does, at
once: whatever that asks of the joints, it is the governor that moves them, within its limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..maths.rotations import Array
from .motion_limits import MotionLimits

SHARE = 0.25
"""Share of the way over which the speed rises, and falls."""
LEAST = 0.01
"""Least share of the top speed: the first step starts from rest, and the last one has to arrive.
"""
FULL = 0.95
"""Share of the limits that is used; the rest is for joints that have to catch up."""


@dataclass(eq=False)
class Approach:
    """A point (n,) on its way to the solution, the way `gone`, and its velocity (n,) at first."""

    point: Array
    velocity: Array
    gone: float = 0.0

    def advance(
        self, solution: Array, limits: MotionLimits, period: float
    ) -> tuple[Array, Array | None]:
        """The point (n,) a period later, and its velocity (n,); None where it has arrived."""
        way = solution - self.point
        left = float(np.max(np.abs(way)))
        if left == 0.0 or not math.isfinite(left):
            return solution, None
        direction = way / left
        ramp = SHARE * (self.gone + left)
        top = top_speed(direction, ramp, limits)
        if self.velocity.any():  # it goes on as fast as the joints already go this way
            speed = float(self.velocity @ direction / (direction @ direction))
            self.gone = min(max(speed / top, 0.0), 1.0) * ramp
            self.velocity = np.zeros_like(self.velocity)
        speed = top * max(LEAST, min(1.0, self.gone / ramp, left / ramp))
        if speed * period >= left:
            self.point = solution.copy()
            return self.point, None
        self.point = self.point + speed * period * direction
        self.gone += speed * period
        return self.point, speed * direction


def top_speed(direction: Array, ramp: float, limits: MotionLimits) -> float:
    """V, for the joints' shares of the way (n,) and the way b over which the speed rises."""
    with np.errstate(divide='ignore'):
        shares = FULL / np.abs(direction)
    velocity = float(np.min(limits.velocity * shares))
    acceleration = float(np.min(limits.acceleration * shares))
    jerk = float(np.min(limits.jerk * shares))
    return min(velocity, math.sqrt(acceleration * ramp), (jerk * ramp * ramp) ** (1.0 / 3.0))
