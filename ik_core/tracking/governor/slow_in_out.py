# SPDX-License-Identifier: Apache-2.0
"""Slow in, slow out: a speed that rises and falls with the path ([Dorta2014] Fig. 3.4).

The governor's own motion speeds up evenly in time, so its speed rises as the square root of the
path. Here a point goes ahead of the joints on the straight line to the solution, and they follow
it. With s the distance gone and r the distance left, both of the joint that has farthest to go,

    speed = V max(LEAST_SPEED, min(1, s / b, r / b)),    b = RAMP (s + r)

where V is so low that neither V nor V^2 / b, the acceleration where the rise ends, nor V^3 / b^2,
the jerk there, exceeds FULL of a joint's limit. Where the rise ends the acceleration does, at
once: whatever that asks of the joints, it is the governor that moves them, within its limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...maths.rotations import Array
from .motion_limits import MotionLimits

# The fraction of the path over which the speed rises, and that over which it falls.
RAMP = 0.25
# The first step starts from rest, and the last one has to arrive: the least fraction of V.
LEAST_SPEED = 0.01
# The fraction of the limits that is used; the rest is for joints that have to catch up.
FULL = 0.95


@dataclass(eq=False)
class SlowInOut:
    """A point (n,) on its path to the solution, with a velocity (n,) at first.

    gone : distance of the joint that has farthest to go, since the beginning
    """

    point: Array
    velocity: Array
    gone: float = 0.0

    def advance(
        self, solution: Array, limits: MotionLimits, period: float
    ) -> tuple[Array, Array | None]:
        """Return the point (n,) a period later, and its velocity (n,), None once it arrived."""
        path = solution - self.point
        left = float(np.max(np.abs(path)))
        if left == 0.0 or not math.isfinite(left):
            return solution, None
        direction = path / left
        ramp = RAMP * (self.gone + left)
        top = top_speed(direction, ramp, limits)
        if self.velocity.any():  # begin as fast as the joints already move in this direction
            speed = float(self.velocity @ direction / (direction @ direction))
            self.gone = min(max(speed / top, 0.0), 1.0) * ramp
            self.velocity = np.zeros_like(self.velocity)
        speed = top * max(LEAST_SPEED, min(1.0, self.gone / ramp, left / ramp))
        if speed * period >= left:
            self.point = solution.copy()
            return self.point, None
        self.point = self.point + speed * period * direction
        self.gone += speed * period
        return self.point, speed * direction


def top_speed(direction: Array, ramp: float, limits: MotionLimits) -> float:
    """Return V, the highest speed of the leading joint on a path.

    direction (n,) : of the path; its largest component is 1 or -1
    ramp : b, the distance over which the speed rises
    """
    with np.errstate(divide='ignore'):
        usable = FULL / np.abs(direction)
    velocity = float(np.min(limits.velocity * usable))
    acceleration = float(np.min(limits.acceleration * usable))
    jerk = float(np.min(limits.jerk * usable))
    return min(velocity, math.sqrt(acceleration * ramp), (jerk * ramp * ramp) ** (1.0 / 3.0))
