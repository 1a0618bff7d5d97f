# SPDX-License-Identifier: Apache-2.0
"""Limits that change in motion: the limits in force approach the requested ones."""

from __future__ import annotations

import math

from ...kernels.jit import kernel
from ...kernels.signatures import Array2
from ...maths.rotations import Array
from . import joint_table as t
from .stop_spline import extent_of_stop
from .third_order import runs_out


@kernel(entry='ik_governor_adopt')
def adopt(joints: Array2, asked: Array2, period: float) -> bool:
    """Adopt the requested limits (5, n) for the joints whose state fits them.

    Sets the acts of the other joints; returns whether there are none.
    """
    done = True
    for i in range(asked.shape[1]):
        for row in (t.LOWER, t.UPPER, t.VELOCITY):
            joints[row, i] = asked[row, i]
        most, jerk = asked[t.ACCELERATION, i], asked[t.JERK, i]
        joints[t.ACCELERATION, i] = max(joints[t.ACCELERATION, i], most)
        swing = 2.0 * joints[t.ACCELERATION, i] * period
        off = abs(joints[t.DQ, i] - joints[t.MEAN, i])
        if joints[t.JERK, i] < jerk == math.inf and off > swing:
            done = False  # an acceleration above its limit comes down first
            continue
        if joints[t.JERK, i] < jerk and not may_be_quicker(i, joints, jerk, period):
            done = False  # and no quicker than a stop allows
            continue
        joints[t.JERK, i] = max(joints[t.JERK, i], jerk)
        if joints[t.ACCELERATION, i] > most or joints[t.JERK, i] > jerk:
            act = act_until_fit(i, joints, most, jerk, period)
            if act == t.FREE:
                joints[t.ACCELERATION, i], joints[t.JERK, i] = most, jerk
                joints[t.LEFT, i] = 0.0
            else:
                joints[t.ACT, i] = act
                done = False
    return done


@kernel
def may_be_quicker(i: int, joints: Array, jerk: float, period: float) -> bool:
    """Return whether a stop with a higher jerk keeps the position limits.

    It does, unless the joint brakes harder than its acceleration limit allows, as after that was
    lowered: the higher jerk ends this sooner, and the stop becomes longer.
    """
    q, dq, ddq, mean = joints[t.Q, i], joints[t.DQ, i], joints[t.DDQ, i], joints[t.MEAN, i]
    most = joints[t.ACCELERATION, i]
    if abs(ddq) <= most:
        return True
    lowest, highest = reach_of_stop(i, joints, period)
    return fits(q, dq, ddq, mean, most, jerk, lowest, highest, math.inf, period)


@kernel
def act_until_fit(i: int, joints: Array, most: float, jerk: float, period: float) -> int:
    """Return the act of joint i until its state fits lower limits; FREE if it does already.

    most, jerk : the requested limits of acceleration and jerk
    """
    q, dq, ddq, mean = joints[t.Q, i], joints[t.DQ, i], joints[t.DDQ, i], joints[t.MEAN, i]
    in_force = joints[t.JERK, i]
    lowest, highest = reach_of_stop(i, joints, period)
    way, speed = dq * period, dq  # at the first tick when the acceleration has come to 0
    if in_force < math.inf:
        way, speed = runs_out(dq, ddq, in_force)
        way += speed * (-abs(ddq) / in_force % period)
    fastest = max(joints[t.VELOCITY, i], abs(speed)) if jerk < in_force else math.inf
    if fits(q, dq, ddq, mean, most, jerk, lowest, highest, fastest, period):
        return t.FREE
    if dq * speed >= 0.0 and fits(
        q + way, speed, 0.0, speed, most, jerk, lowest, highest, fastest, period
    ):
        return t.EASE
    return t.BRAKE


@kernel
def reach_of_stop(i: int, joints: Array, period: float) -> tuple[float, float]:
    """Return the position limits of joint i, extended to where its stop leads by now."""
    q, dq, ddq, mean = joints[t.Q, i], joints[t.DQ, i], joints[t.DDQ, i], joints[t.MEAN, i]
    low, high = extent_of_stop(dq, ddq, mean, joints[t.ACCELERATION, i], joints[t.JERK, i], period)
    return min(joints[t.LOWER, i], q + low), max(joints[t.UPPER, i], q + high)


@kernel
def fits(
    q: float, dq: float, ddq: float, mean: float, most: float, jerk: float, lowest: float,
    highest: float, fastest: float, period: float,
) -> bool:  # fmt: skip
    """Return whether a stop with these acceleration and jerk limits keeps the velocity and
    position limits.

    With a lower jerk, which needs a limit of speed `fastest`, the velocity may neither exceed it
    nor change its sign while the acceleration is run out.
    """
    if jerk == math.inf:
        if abs(dq - mean) > 2.0 * most * period:
            return False
    elif fastest < math.inf:
        left = dq + ddq * abs(ddq) / (2.0 * jerk)
        if not ((dq * left > 0.0 or ddq == 0.0) and abs(left) <= fastest):
            return False
    low, high = extent_of_stop(dq, ddq, mean, most, jerk, period)
    return lowest <= q + low and q + high <= highest
