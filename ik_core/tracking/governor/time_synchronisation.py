# SPDX-License-Identifier: Apache-2.0
"""Synchronized joints: they move along one straight line, or at least arrive at the same time.

Joints that rest, or already move along the straight line to the target, are planned as one joint;
its limits are those that any of them reaches first. Otherwise each joint is planned on its own:
the slowest one moves as fast as it can, and the top speeds of the others are reduced until they
take as long (the time synchronization of [Kroeger2011]). A target is planned for once, in the
first period; later periods follow the plan.
"""

from __future__ import annotations

import math

from ...kernels.jit import kernel
from ...maths.rotations import Array
from . import joint_table as t
from .second_order import approach_speed
from .third_order import SOLVED_WITHIN, ramp_stop_distance, speed_to_take, time_to, towards

# Joints arrive at the same time up to this fraction of their distances and times.
IN_TIME = 1e-7


@kernel
def move_on_a_line(joints: Array, period: float) -> bool:
    """Move all joints along the straight line to the goal; False where they are not on it.

    The motion is planned for the joint with the longest distance; the others move in proportion.
    """
    longest, distance = -1, 0.0
    for i in range(joints.shape[1]):
        left = joints[t.GOAL, i] - joints[t.Q, i]
        if not t.follows(i, joints) or joints[t.DRIFT, i] != 0.0:
            return False
        if abs(left) > abs(distance):
            longest, distance = i, left
    if longest < 0:
        return False
    v, a, size = joints[t.DQ, longest], joints[t.DDQ, longest], max(1.0, abs(joints[t.Q, longest]))
    velocity = most = jerk = math.inf
    for i in range(joints.shape[1]):
        fraction = (joints[t.GOAL, i] - joints[t.Q, i]) / distance
        rounding = SOLVED_WITHIN * (max(1.0, abs(joints[t.Q, i])) + abs(fraction) * size)
        off, bent = abs(joints[t.DQ, i] - fraction * v), abs(joints[t.DDQ, i] - fraction * a)
        if off * period > min(rounding * (1.0 + period * abs(v / distance)), t.BRAKING_ROUNDING):
            return False
        if bent * period**2 > min(
            rounding * (1.0 + period**2 * abs(a / distance)), t.BRAKING_ROUNDING
        ):
            return False
        if fraction != 0.0:
            velocity = min(velocity, joints[t.VELOCITY, i] / abs(fraction))
            most = min(most, joints[t.ACCELERATION, i] / abs(fraction))
            jerk = min(jerk, joints[t.JERK, i] / abs(fraction))
    exact = SOLVED_WITHIN * (size + abs(distance))
    side = math.copysign(1.0, distance)
    if not is_ahead(
        abs(distance), side * v, side * a, velocity, most, jerk, exact, exact / period
    ):
        return False
    gone, v, a, arrived = towards(distance, v, a, -velocity, velocity, most, jerk, period, exact)
    for i in range(joints.shape[1]):
        fraction = (joints[t.GOAL, i] - joints[t.Q, i]) / distance
        q = joints[t.GOAL, i] if arrived else joints[t.Q, i] + fraction * gone
        t.put(i, joints, q, fraction * v, fraction * a, fraction * gone / period)
        joints[t.LEFT, i] = 0.0
    return True


@kernel
def is_ahead(
    distance: float, v: float, a: float, velocity: float, most: float, jerk: float, exact: float,
    slow: float,
) -> bool:  # fmt: skip
    """Return whether a joint can go on to `distance` > 0 without turning round or too fast."""
    if jerk > t.SUDDEN:
        return False
    left = v + a * abs(a) / (2.0 * jerk)  # when the acceleration is run out
    if v < -slow or left < -slow or left > velocity * (1.0 + IN_TIME):
        return False
    return ramp_stop_distance(v, a, most, jerk) <= distance + exact


@kernel
def time_left(joints: Array, period: float) -> float:
    """Return the time until all joints arrive: as planned for these goals, or planned now."""
    planned, left = True, math.inf
    for i in range(joints.shape[1]):
        left = min(left, joints[t.LEFT, i])
        planned = planned and joints[t.LEFT, i] > 0.0 and joints[t.GOAL, i] == joints[t.PLANNED, i]
        planned = planned and joints[t.ACT, i] == t.FREE and joints[t.DRIFT, i] == 0.0
    left = max(left - period, period) if planned else plan_common_arrival(joints, period)
    for i in range(joints.shape[1]):
        joints[t.LEFT, i], joints[t.PLANNED, i] = left, joints[t.GOAL, i]
    return left


@kernel
def plan_common_arrival(joints: Array, period: float) -> float:
    """Cap the speeds so that all joints arrive with the last one; return the time it takes."""
    longest, n = period, joints.shape[1]
    for i in range(n):
        joints[t.CAP, i] = math.inf
        if t.follows(i, joints):
            velocity, drift, jerk = joints[t.VELOCITY, i], joints[t.DRIFT, i], joints[t.JERK, i]
            distance = joints[t.GOAL, i] - drift * period - joints[t.Q, i]
            joints[t.CAP, i] = time_to(
                distance, joints[t.DQ, i] - drift, joints[t.DDQ, i] if jerk < math.inf else 0.0,
                min(-velocity - drift, 0.0), max(velocity - drift, 0.0),
                joints[t.ACCELERATION, i], min(jerk, t.SUDDEN),
                IN_TIME * abs(distance) + SOLVED_WITHIN * max(1.0, abs(joints[t.Q, i])),
            )  # fmt: skip
            if joints[t.CAP, i] < math.inf:
                longest = max(longest, joints[t.CAP, i])
    for i in range(n):
        if joints[t.CAP, i] < longest - period and joints[t.JERK, i] < math.inf:
            joints[t.CAP, i] = cap_to_take(i, joints, longest, period)
        else:
            joints[t.CAP, i] = math.inf
    return longest


@kernel
def cap_to_take(i: int, joints: Array, time: float, period: float) -> float:
    """Return the top speed, seen from its target, with which joint i takes this time."""
    most, jerk, drift = joints[t.ACCELERATION, i], joints[t.JERK, i], joints[t.DRIFT, i]
    v, a = joints[t.DQ, i] - drift, joints[t.DDQ, i]
    distance = joints[t.GOAL, i] - drift * period - joints[t.Q, i]
    if distance < ramp_stop_distance(v, a, most, jerk):
        distance, v, a, drift = -distance, -v, -a, -drift
    fastest = joints[t.VELOCITY, i] - drift
    return speed_to_take(time, distance, v, a, fastest, most, jerk, IN_TIME * time)


@kernel
def common_rate(joints: Array, rate: float, period: float) -> float:
    """Return the greatest k <= rate [1/s] that is allowed to all joints without a jerk limit.

    Joints that all move at k times their distance to the goal arrive at the same time; from rest,
    on a straight line in joint space. A joint that still moves the other way turns round first:
    until then k is 0.
    """
    for i in range(joints.shape[1]):
        distance = joints[t.GOAL, i] - joints[t.Q, i]
        if joints[t.JERK, i] == math.inf and distance != 0.0 and t.follows(i, joints):
            step = joints[t.ACCELERATION, i] * period
            speed = joints[t.DQ, i] if distance > 0.0 else -joints[t.DQ, i]
            allowed = min(joints[t.VELOCITY, i], approach_speed(abs(distance), step, period))
            rate = min(rate, min(allowed, max(speed + step, 0.0)) / abs(distance))
    return rate
