# SPDX-License-Identifier: Apache-2.0
"""How far a joint travels until it rests, in discrete time.

A joint at velocity v that sheds `step = acceleration * period` per tick travels

    D(v) = period * (v + (v - step) + (v - 2 step) + ... )        (the positive terms)

before it rests: a sum, not v^2 / 2a, and it is the sum that has to fit. Its inverse is the
greatest velocity from which a joint still stops in a given distance.

In kernels `limits` is a (4, n) array: lower, upper, velocity, acceleration; inf where none.
"""

from __future__ import annotations

import math

from ..kernels.jit import kernel

LOWER, UPPER, VELOCITY, ACCELERATION = range(4)
COUNTABLE = 1e15
"""Ticks of braking that are still told apart, and fit into an integer."""


@kernel
def stopping_distance(speed: float, step: float, period: float) -> float:
    """Return D(speed): the way of this tick at `speed`, and of the braking ticks after it."""
    if speed <= step:
        return speed * period
    ticks = math.floor(min(speed / step, COUNTABLE))
    return period * (ticks + 1.0) * (speed - 0.5 * step * ticks)


@kernel(entry='ik_approach_speed')
def approach_speed(distance: float, step: float, period: float) -> float:
    """Return the greatest speed whose stopping distance is at most `distance` (inverse of D)."""
    if distance <= step * period or distance == math.inf:
        return distance / period
    fitting = 0.5 * (math.sqrt(1.0 + 8.0 * distance / (step * period)) - 1.0)
    ticks = math.floor(min(fitting, COUNTABLE))
    return distance / (period * (ticks + 1.0)) + 0.5 * step * ticks
