# SPDX-License-Identifier: Apache-2.0
"""Motions without a jerk limit, in discrete time: the greatest speed that can still stop.

With the greatest speed from which a joint still stops in time (`braking`) as the cap towards a
target inside the limits, the joint can stop before the target and before the limit, arrives
exactly, and stays. Speeding up is capped by the acceleration alone, so a move starts and ends
slowly.
"""

from __future__ import annotations

import math

from ..kernels.jit import kernel
from .braking import approach_speed

ROUNDING = 1e-14
"""Relative: a few units in the last place of a joint position."""
BRAKING_ROUNDING = 1e-11
"""Rounding error added up over the many ticks of braking."""


@kernel
def inside(value: float, lower: float, upper: float) -> float:
    """Clamp the value to the limits."""
    return min(max(value, lower), upper)


@kernel
def landed(q: float, target: float, lower: float, upper: float) -> float:
    """Return q without what rounding leaves between it and the target or a limit."""
    scale = max(1.0, abs(q))
    if abs(q - target) <= ROUNDING * scale:
        return target
    limit = inside(q, lower, upper)
    return limit if abs(q - limit) <= BRAKING_ROUNDING * scale else q


@kernel
def allowed_rate(
    rate: float, q: float, dq: float, goal: float, velocity: float, step: float, period: float
) -> float:
    """Return the greatest k <= rate [1/s] with k * (goal - q) a velocity allowed in this tick.

    Joints that all move at k times their way to go arrive together; from rest, on a straight line
    in joint space. A joint that still moves the other way turns round first: until then k is 0.
    """
    way = goal - q
    if way == 0.0:
        return rate
    speed = dq if way > 0.0 else -dq
    allowed = min(velocity, approach_speed(abs(way), step, period))
    return min(rate, min(allowed, max(speed + step, 0.0)) / abs(way))


@kernel
def standing_target_speed(
    way: float, velocity: float, step: float, period: float, rate: float
) -> float:
    """Return the velocity [rad/s or m/s] to go for a way with, at most `rate` times the way."""
    speed = min(approach_speed(abs(way), step, period), velocity)
    return math.copysign(min(speed, rate * abs(way)), way)


@kernel
def moving_target_speed(
    q: float, goal: float, drift: float, lower: float, upper: float, velocity: float,
    step: float, period: float,
) -> float:  # fmt: skip
    """Return the velocity with which a joint catches up with a goal that moves at `drift`.

    Seen from the goal the joint comes to rest: it starts at the goal's place of a tick ago, and
    its own speed is what it has above the drift. It stays so slow that it stops inside its limits.
    """
    lag = goal - drift * period - q
    wanted = drift + math.copysign(approach_speed(abs(lag), step, period), lag)
    room = upper - q if wanted > 0.0 else q - lower
    fastest = min(velocity, approach_speed(max(room, 0.0), step, period))
    return inside(wanted, -fastest, fastest)
