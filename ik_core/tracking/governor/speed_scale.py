# SPDX-License-Identifier: Apache-2.0
"""Speed limits of tips on lines and jogs, so that their joints keep their limits."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...kernels.jit import kernel
from ...kernels.signatures import Array1, Array2
from . import joint_table as t
from .second_order import approach_speed

# The fraction of a joint's acceleration that may follow a bend of its path, and the fraction that
# may slow it down on its path: both may be needed at once.
BENDING, BRAKING = 0.3, 0.6


@kernel(entry='ik_governor_scale_bounds')
def scale_bounds(
    target: Array1,
    velocity: Array1,
    before: Array1,
    limits: Array2,
    period: float,
    fraction: float,
) -> tuple[float, float]:
    """Return the bounds of the factor by which the target's velocity changes in the next tick.

    velocity, before (n,) : of the target, now and in the last tick, both at the speed of now
    limits (4, n) : of the joints, the first rows of `joint_table`
    fraction : of its velocity limit that a joint may have

    The upper bound lets no joint exceed `fraction` of its velocity, nor the speed from which it
    can stop at its position limit if all joints slow down in proportion, nor speed up by more than
    BENDING of its acceleration: a path that bends in joint space asks for an acceleration that
    grows with the square of the speed. The lower bound brakes by BRAKING of the acceleration, and
    by a bend that speeds a joint up on top of it: the two work against each other, most of all
    where the path ends in a singularity.

    A joint that is to stop at its limit within one tick bends the path, too. One so slow that
    BENDING allows that, as one that stays at its limit but for rounding, brakes no other.
    """
    growth, braking, lost = math.inf, 1.0, 1.0  # fractions of its speed that the path can lose
    for i in range(velocity.size):
        if velocity[i] != 0.0:
            speed, step = abs(velocity[i]), limits[t.ACCELERATION, i] * period
            faster = (velocity[i] - before[i]) / velocity[i] * speed
            braking = min(braking, BRAKING * step / speed)
            lost = min(lost, (BRAKING * step + min(max(faster, 0.0), step)) / speed)
    for i in range(velocity.size):
        speed, step = abs(velocity[i]), limits[t.ACCELERATION, i] * period
        if speed > 0.0:
            growth = min(
                growth, fraction * limits[t.VELOCITY, i] / speed, 1.0 + BENDING * step / speed
            )
            limit = limits[t.UPPER, i] if velocity[i] > 0.0 else limits[t.LOWER, i]
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
    """Speed limits of a tip that its joints set, as fractions of its full speed.

    slack : upper bound, less than 1 where the joints lag behind, down to 0
    growth : factor by which the speed of the last tick may grow; less than 1: it has to fall
    least : factor by which the joints can brake the speed of the last tick
    change : by which these factors may change from tick to tick
    """

    slack: float = 1.0
    growth: float = math.inf
    least: float = 0.0
    change: float = math.inf

    def most(self, fraction: float) -> float:
        """Return the greatest fraction of full speed that may follow this one."""
        return min(self.slack, fraction * self.growth) if fraction > 0.0 else self.slack


# A tip whose joints do not limit it.
UNLIMITED = SpeedScale()
# A tip whose joints rest: what it asks of them is known after its first step.
CREEP = SpeedScale(slack=1e-3)
