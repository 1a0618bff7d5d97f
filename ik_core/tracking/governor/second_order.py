# SPDX-License-Identifier: Apache-2.0
"""A joint without a jerk limit, in discrete time: dq is the velocity of the last period.

A joint at velocity v that sheds `step = acceleration * period` per tick travels

    D(v) = period * (v + (v - step) + (v - 2 step) + ... )        (the positive terms)

before it rests: a sum, not v^2 / 2a, and it is the sum that has to fit. Its inverse is the
greatest velocity from which a joint still stops in a given distance. With that as its top speed
towards a target inside the limits, the joint can stop before the target and before the limit,
arrives exactly, and stays. Speeding up is limited by the acceleration alone, so a move starts and
ends slowly.
"""

from __future__ import annotations

import math

from ...kernels.jit import kernel
from ...maths.rotations import Array
from . import joint_table as t

# Ticks of braking up to this number are told apart, and fit into an integer.
COUNTABLE = 1e15


@kernel
def second_order_step(i: int, joints: Array, max_rate: float, period: float) -> None:
    """Move joint i, without a jerk limit, by one period, by its act or towards its goal.

    max_rate [1/s] : its speed is at most this rate times its distance to the goal
    """
    q, dq, mean, goal = joints[t.Q, i], joints[t.DQ, i], joints[t.MEAN, i], joints[t.GOAL, i]
    lower, upper, velocity = joints[t.LOWER, i], joints[t.UPPER, i], joints[t.VELOCITY, i]
    step, drift, act = joints[t.ACCELERATION, i] * period, joints[t.DRIFT, i], joints[t.ACT, i]
    if act != t.FREE:
        wanted = 0.0 if act == t.BRAKE else dq
    elif drift != 0.0:
        # Seen from the moving goal the joint comes to rest: it starts at the goal's position of a
        # tick ago, and its own speed is what exceeds the drift.
        lag = goal - drift * period - q
        wanted = drift + math.copysign(approach_speed(abs(lag), step, period), lag)
        left = upper - q if wanted > 0.0 else q - lower  # so slow that it stops at its limit
        fastest = min(velocity, approach_speed(max(left, 0.0), step, period))
        wanted = t.inside(wanted, -fastest, fastest)
    else:
        rate = max_rate if lower <= q <= upper else math.inf
        speed = min(approach_speed(abs(goal - q), step, period), velocity)
        wanted = math.copysign(min(speed, rate * abs(goal - q)), goal - q)
    speed = t.inside(wanted, max(dq, mean) - step, min(dq, mean) + step)
    after = q + speed * period
    if act != t.FREE:
        goal = t.inside(after, lower, upper)
    joints[t.Q, i] = t.landed(after, goal, lower, upper)
    joints[t.DQ, i] = joints[t.MEAN, i] = speed
    joints[t.DDQ, i] = (speed - dq) / period


@kernel
def braked(dq: float, mean: float, step: float) -> float:
    """Return the velocity after one period of braking, of a joint without a jerk limit."""
    return t.inside(0.0, max(dq, mean) - step, min(dq, mean) + step)


@kernel
def stopping_distance(speed: float, step: float, period: float) -> float:
    """Return D(speed): the distance of this tick at `speed`, and of the braking ticks after it."""
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
