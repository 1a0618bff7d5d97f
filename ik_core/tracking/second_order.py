"""Motions without a jerk limit, in discrete time: the greatest speed that can still stop.

A joint at velocity v that sheds `step = acceleration * period` per tick travels

    D(v) = period * (v + (v - step) + (v - 2 step) + ... )        (the positive terms)

before it rests: a sum, not v^2 / 2a, and it is the sum that has to fit. Its inverse is the
greatest velocity from which a joint still stops in a given distance (`approach_speed`). With it
as the cap towards a target inside the limits, the joint can stop before the target and before the
limit, arrives exactly, and stays. Speeding up is capped by the acceleration alone, so a move
starts and ends slowly.

In kernels `limits` is a (5, n) array: lower, upper, velocity, acceleration, jerk.
"""

from __future__ import annotations

import math

from .._jit import inner, njit
from ..maths.rotations import Array

LOWER, UPPER, VELOCITY, ACCELERATION, JERK = range(5)
ROUNDING = 1e-14  # relative: a few units in the last place of a joint position
BRAKING_ROUNDING = 1e-11  # the same, added up over the many ticks of braking
COUNTABLE = 1e15  # ticks of braking, as whole numbers
BENDING, BRAKING = 0.3, 0.6  # shares of a joint's acceleration: to follow a bend, to slow down


@njit
def stopping_distance(speed: float, step: float, period: float) -> float:
    """Return D(speed): the way of this tick at `speed`, and of the braking ticks after it."""
    if speed <= step:
        return speed * period
    ticks = math.floor(min(speed / step, COUNTABLE))
    return period * (ticks + 1.0) * (speed - 0.5 * step * ticks)


@njit
def approach_speed(distance: float, step: float, period: float) -> float:
    """Return the greatest speed whose stopping distance is at most `distance` (inverse of D)."""
    if distance <= step * period or distance == math.inf:
        return distance / period
    least = 0.5 * (math.sqrt(1.0 + 8.0 * distance / (step * period)) - 1.0)
    ticks = math.floor(min(least, COUNTABLE))
    return distance / (period * (ticks + 1.0)) + 0.5 * step * ticks


@inner
def inside(value: float, lower: float, upper: float) -> float:
    """The value, taken between the two."""
    return min(max(value, lower), upper)


@inner
def landed(q: float, target: float, lower: float, upper: float) -> float:
    """Return q without what rounding leaves between it and the target or a limit."""
    scale = max(1.0, abs(q))
    if abs(q - target) <= ROUNDING * scale:
        return target
    limit = inside(q, lower, upper)
    return limit if abs(q - limit) <= BRAKING_ROUNDING * scale else q


@inner
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


@inner
def standing_target_speed(
    way: float, velocity: float, step: float, period: float, rate: float
) -> float:
    """Return the velocity [rad/s or m/s] to go for a way with, at most `rate` times the way."""
    speed = min(approach_speed(abs(way), step, period), velocity)
    return math.copysign(min(speed, rate * abs(way)), way)


@inner
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


@njit
def pace_of(
    target: Array, drift: Array, before: Array, limits: Array, period: float, share: float
) -> tuple[float, float]:
    """Return by what factors the drift (n,) of the target may grow, and fall, in the next tick.

    At most, so that no joint is to be faster than `share` of its velocity, or than it can stop at
    its position limit, or is to speed up by more than BENDING of its acceleration: a path that
    bends in joint space, with `before` the drift of the last tick, asks for an acceleration that
    grows with the square of the speed. At least, what BRAKING of the acceleration allows.
    """
    growth, least = math.inf, 0.0
    for i in range(drift.size):
        speed, step = abs(drift[i]), limits[ACCELERATION, i] * period
        if speed > 0.0:
            growth = min(growth, share * limits[VELOCITY, i] / speed, 1.0 + BENDING * step / speed)
            least = max(least, 1.0 - BRAKING * step / speed)
            limit = limits[UPPER, i] if drift[i] > 0.0 else limits[LOWER, i]
            stoppable = approach_speed(abs(limit - target[i]), BRAKING * step, period)
            growth = min(growth, stoppable / speed)
        bend = abs(drift[i] - before[i])
        if bend > BENDING * step:
            growth = min(growth, math.sqrt(BENDING * step / bend))
    return growth, least
