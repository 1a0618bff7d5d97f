"""How fast tips may go for the joints' sake, where they move along a line or by a twist."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._jit import njit
from ..maths.rotations import Array
from .braking import ACCELERATION, LOWER, UPPER, VELOCITY, approach_speed

BENDING = 0.3
"""The share of a joint's acceleration that may follow a bend of its path."""
BRAKING = 0.6
"""The share of a joint's acceleration that may slow it down on its path."""


@njit
def scale_bounds(
    target: Array, velocity: Array, before: Array, limits: Array, period: float, share: float
) -> tuple[float, float]:
    """Return by what factors the velocity (n,) of the target may grow, and fall, in the next tick.

    At most, so that no joint is to be faster than `share` of its velocity, or than it can stop at
    its position limit, or is to speed up by more than BENDING of its acceleration: a path that
    bends in joint space, with `before` the velocity of the last tick, asks for an acceleration
    that grows with the square of the speed. At least, what BRAKING of the acceleration allows.
    """
    growth, least = math.inf, 0.0
    for i in range(velocity.size):
        speed, step = abs(velocity[i]), limits[ACCELERATION, i] * period
        if speed > 0.0:
            growth = min(growth, share * limits[VELOCITY, i] / speed, 1.0 + BENDING * step / speed)
            least = max(least, 1.0 - BRAKING * step / speed)
            limit = limits[UPPER, i] if velocity[i] > 0.0 else limits[LOWER, i]
            stoppable = approach_speed(abs(limit - target[i]), BRAKING * step, period)
            growth = min(growth, stoppable / speed)
        bend = abs(velocity[i] - before[i])
        if bend > BENDING * step:
            growth = min(growth, math.sqrt(BENDING * step / bend))
    return growth, least


class SpeedScale(NamedTuple):
    """How fast the joints let tips go: shares of full speed.

    `slack`: less than 1 where the joints lag behind, down to 0. The speed of the last tick may
    grow by the factor `growth`, which is less than 1 where joints are too fast, and the joints can
    brake it by the factor `least`.
    """

    slack: float = 1.0
    growth: float = math.inf
    least: float = 0.0

    def most(self, share: float) -> float:
        """The greatest share that may follow a share."""
        return min(self.slack, share * self.growth) if share > 0.0 else self.slack


FREE = SpeedScale()
"""That of joints which do not move along with tips."""
