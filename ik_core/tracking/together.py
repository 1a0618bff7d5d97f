# SPDX-License-Identifier: Apache-2.0
"""Joints that wait for each other: on one straight line, or each so slow that all arrive together.

Joints that rest, or move in the direction of what is left to go, are one joint with the limits
that the first of them meets. Others are planned on their own: the one that needs longest is not
held up, and each other one gets the top speed with which it needs as long ([Kroeger2011] calls it
time synchronization). That is planned once for a target, and then only followed.
"""

from __future__ import annotations

import math

from ..kernels.jit import kernel
from ..maths.rotations import Array
from .braking import ACCELERATION, LOWER, UPPER, VELOCITY
from .second_order_motion import BRAKING_ROUNDING, allowed_rate
from .steps import ACT, CAP, DDQ, DQ, DRIFT, FREE, GOAL, JERK, LEFT, PLANNED, SUDDEN, Q, put
from .third_order_motion import EXACT, speed_to_take, stopping_way, time_to, towards

IN_TIME = 1e-7
"""To what part of their ways and times joints arrive at the same time."""


@kernel
def move_on_a_line(joints: Array, period: float) -> bool:
    """Move all joints along the straight line to the goal, where they are on their way on it.

    Seen along the joint that has the longest way.
    """
    longest, way = -1, 0.0
    for i in range(joints.shape[1]):
        left = joints[GOAL, i] - joints[Q, i]
        if not may_wait(i, joints) or joints[DRIFT, i] != 0.0:
            return False
        if abs(left) > abs(way):
            longest, way = i, left
    if longest < 0:
        return False
    v, a, size = joints[DQ, longest], joints[DDQ, longest], max(1.0, abs(joints[Q, longest]))
    velocity = most = jerk = math.inf
    for i in range(joints.shape[1]):
        share = (joints[GOAL, i] - joints[Q, i]) / way
        rounding = EXACT * (max(1.0, abs(joints[Q, i])) + abs(share) * size)
        off, bent = abs(joints[DQ, i] - share * v), abs(joints[DDQ, i] - share * a)
        if off * period > min(rounding * (1.0 + period * abs(v / way)), BRAKING_ROUNDING):
            return False
        if bent * period**2 > min(rounding * (1.0 + period**2 * abs(a / way)), BRAKING_ROUNDING):
            return False
        if share != 0.0:
            velocity = min(velocity, joints[VELOCITY, i] / abs(share))
            most = min(most, joints[ACCELERATION, i] / abs(share))
            jerk = min(jerk, joints[JERK, i] / abs(share))
    exact = EXACT * (size + abs(way))
    side = math.copysign(1.0, way)
    if not is_ahead(abs(way), side * v, side * a, velocity, most, jerk, exact, exact / period):
        return False
    gone, v, a, arrived = towards(way, v, a, -velocity, velocity, most, jerk, period, exact)
    for i in range(joints.shape[1]):
        share = (joints[GOAL, i] - joints[Q, i]) / way
        q = joints[GOAL, i] if arrived else joints[Q, i] + share * gone
        put(i, joints, q, share * v, share * a, share * gone / period)
        joints[LEFT, i] = 0.0
    return True


@kernel
def may_wait(i: int, joints: Array) -> bool:
    """Whether a joint follows its goal, inside its limits: one outside comes back first."""
    inside = joints[LOWER, i] <= joints[Q, i] <= joints[UPPER, i]
    return bool(inside and joints[ACT, i] == FREE)


@kernel
def is_ahead(
    way: float, v: float, a: float, velocity: float, most: float, jerk: float, exact: float,
    slow: float,
) -> bool:  # fmt: skip
    """Whether a joint can go on to `way` > 0 without turning round or exceeding its velocity."""
    if jerk > SUDDEN:
        return False
    left = v + a * abs(a) / (2.0 * jerk)  # when the acceleration is run out
    if v < -slow or left < -slow or left > velocity * (1.0 + IN_TIME):
        return False
    return stopping_way(v, a, most, jerk) <= way + exact


@kernel
def has_jerk_limits(joints: Array) -> bool:
    """Whether there is a joint with a jerk limit."""
    for i in range(joints.shape[1]):  # noqa: SIM110 (numba compiles no generator expression)
        if joints[JERK, i] < math.inf:
            return True
    return False


@kernel
def time_left(joints: Array, period: float) -> float:
    """The time until all arrive together: as planned for these goals, or planned now."""
    planned, left = True, math.inf
    for i in range(joints.shape[1]):
        left = min(left, joints[LEFT, i])
        planned = planned and joints[LEFT, i] > 0.0 and joints[GOAL, i] == joints[PLANNED, i]
        planned = planned and joints[ACT, i] == FREE and joints[DRIFT, i] == 0.0
    left = max(left - period, period) if planned else plan_to_arrive_together(joints, period)
    for i in range(joints.shape[1]):
        joints[LEFT, i], joints[PLANNED, i] = left, joints[GOAL, i]
    return left


@kernel
def plan_to_arrive_together(joints: Array, period: float) -> float:
    """Cap the speeds so that all joints arrive with the last one; return the time it takes."""
    longest, n = period, joints.shape[1]
    for i in range(n):
        joints[CAP, i] = math.inf
        if may_wait(i, joints):
            joints[CAP, i] = time_alone(i, joints, period)
            if joints[CAP, i] < math.inf:
                longest = max(longest, joints[CAP, i])
    for i in range(n):
        if joints[CAP, i] < longest - period and joints[JERK, i] < math.inf:
            joints[CAP, i] = cap_to_take(i, joints, longest, period)
        else:
            joints[CAP, i] = math.inf
    return longest


@kernel
def time_alone(i: int, joints: Array, period: float) -> float:
    """How long a joint takes that waits for no other."""
    velocity, drift, jerk = joints[VELOCITY, i], joints[DRIFT, i], joints[JERK, i]
    way = joints[GOAL, i] - drift * period - joints[Q, i]
    return time_to(
        way, joints[DQ, i] - drift, joints[DDQ, i] if jerk < math.inf else 0.0,
        min(-velocity - drift, 0.0), max(velocity - drift, 0.0), joints[ACCELERATION, i],
        min(jerk, SUDDEN), IN_TIME * abs(way) + EXACT * max(1.0, abs(joints[Q, i])),
    )  # fmt: skip


@kernel
def cap_to_take(i: int, joints: Array, time: float, period: float) -> float:
    """The top speed, seen from its target, with which a joint takes this time."""
    most, jerk, drift = joints[ACCELERATION, i], joints[JERK, i], joints[DRIFT, i]
    v, a = joints[DQ, i] - drift, joints[DDQ, i]
    way = joints[GOAL, i] - drift * period - joints[Q, i]
    if way < stopping_way(v, a, most, jerk):
        way, v, a, drift = -way, -v, -a, -drift
    fastest = joints[VELOCITY, i] - drift
    return speed_to_take(time, way, v, a, fastest, most, jerk, IN_TIME * time)


@kernel
def common_rate(joints: Array, rate: float, period: float) -> float:
    """The greatest rate [1/s] at which the ways of all joints without a jerk limit may shrink."""
    for i in range(joints.shape[1]):
        if joints[JERK, i] == math.inf and may_wait(i, joints):
            step = joints[ACCELERATION, i] * period
            rate = allowed_rate(
                rate,
                joints[Q, i],
                joints[DQ, i],
                joints[GOAL, i],
                joints[VELOCITY, i],
                step,
                period,
            )
    return rate
