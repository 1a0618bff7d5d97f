# SPDX-License-Identifier: Apache-2.0
"""How fast tips may go for the joints' sake, where they move along a line or by a twist."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, Array2
from .braking import ACCELERATION, LOWER, UPPER, VELOCITY, approach_speed

BENDING = 0.3
"""The share of a joint's acceleration that may follow a bend of its path."""
BRAKING = 0.6
"""The share of a joint's acceleration that may slow it down on its path."""


@kernel(entry='ik_governor_scale_bounds')
def scale_bounds(
    target: Array1, velocity: Array1, before: Array1, limits: Array2, period: float, share: float
) -> tuple[float, float]:
    """Return by what factors the velocity (n,) of the target may grow, and fall, in the next tick.

    At most, so that no joint is to be faster than `share` of its velocity, or than it can stop at
    its position limit where all joints slow down together, or is to speed up by more than BENDING
    of its acceleration: a path that bends in joint space, with `before` the velocity of the last
    tick at the speed of now, asks for an acceleration that grows with the square of the speed. At
    least, what BRAKING of the acceleration allows, and a bend that speeds a joint up on top of it:
    the two work against each other, most of all where the path ends in a singularity.

    A joint that is to stop at its limit within one tick bends the path, too: one that is so slow
    that BENDING allows that, as one that stays at its limit but for rounding, brakes no other.
    """
    growth, braking, lost = math.inf, 1.0, 1.0  # shares of its speed that the path can lose
    for i in range(velocity.size):
        if velocity[i] != 0.0:
            speed, step = abs(velocity[i]), limits[ACCELERATION, i] * period
            faster = (velocity[i] - before[i]) / velocity[i] * speed
            braking = min(braking, BRAKING * step / speed)
            lost = min(lost, (BRAKING * step + min(max(faster, 0.0), step)) / speed)
    for i in range(velocity.size):
        speed, step = abs(velocity[i]), limits[ACCELERATION, i] * period
        if speed > 0.0:
            growth = min(growth, share * limits[VELOCITY, i] / speed, 1.0 + BENDING * step / speed)
            limit = limits[UPPER, i] if velocity[i] > 0.0 else limits[LOWER, i]
            # A bend outward works against the brake: it takes at most this much of it on the way.
            brake = braking * speed
            brake /= 1.0 + max(0.0, (velocity[i] - before[i]) / velocity[i]) / braking
            stoppable = approach_speed(abs(limit - target[i]), brake, period)
            growth = min(growth, max(stoppable, BENDING * step) / speed)
        bend = abs(velocity[i] - before[i])
        if bend > BENDING * step:
            growth = min(growth, math.sqrt(BENDING * step / bend))
    return growth, 1.0 - lost


class SpeedScale(NamedTuple):
    """How fast the joints let tips go: shares of full speed.

    `slack`: less than 1 where the joints lag behind, down to 0. The speed of the last tick may
    grow by the factor `growth`, which is less than 1 where joints are too fast, and the joints can
    brake it by the factor `least`. From tick to tick these factors may change by `change`.
    """

    slack: float = 1.0
    growth: float = math.inf
    least: float = 0.0
    change: float = math.inf

    def most(self, share: float) -> float:
        """The greatest share that may follow a share."""
        return min(self.slack, share * self.growth) if share > 0.0 else self.slack


FREE = SpeedScale()
"""Scale for joints that do not move along with tips."""
CREEP = SpeedScale(slack=1e-3)
"""Scale for joints with jerk limits at rest: their speed is known after the first step."""
