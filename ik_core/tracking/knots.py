# SPDX-License-Identifier: Apache-2.0
"""The commanded motion between the ticks: knots of splines, for controllers that interpolate.

What a governor commands are positions at the ticks. The curve of the joints through time is the
quadratic spline of these positions: halfway between two ticks it is halfway between their
positions, with the mean velocity between them,

    x(k - 1/2) = (q(k-1) + q(k)) / 2,    v(k - 1/2) = (q(k) - q(k-1)) / T

and from there to k + 1/2 it has the constant acceleration (q(k+1) - 2 q(k) + q(k-1)) / T^2: that
of the ticks. So it stays between the ticks inside the limits that they keep, and the cubic spline
with these positions and velocities is the same curve.

The stop from the last tick on, as the governor would brake from tick to tick, is part of that
curve. A joint without a jerk limit sheds the same velocity in every tick but the first and the
last: few knots are enough. One with a jerk limit needs some around each change of the jerk; in
between, its curve is a cubic. All joints have knots where one of them needs one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..kernels.jit import kernel
from ..kernels.signatures import Array2, IntArray1
from ..maths.rotations import Array
from .braking import ACCELERATION
from .steps import DDQ, DQ, JERK, MEAN, Q, braked
from .third_order_motion import along, ramp

MOST = 7
"""How many knots a joint needs, after the first one."""


@kernel(entry='ik_governor_stop_knots')
def stop_knots(
    joints: Array2,
    period: float,
    ticks: IntArray1,
    positions: Array2,
    velocities: Array2,
) -> int:
    """Write the knots from the last one that is certain to that in which all joints rest.

    joints: a table as in `steps`. ticks (1 + MOST n,), ascending: a knot lies so
    many periods after the first one, which is half a period before the last tick. positions,
    velocities (1 + MOST n, n). Returns how many knots there are.
    """
    ticks[0] = 0
    count = 1
    for i in range(joints.shape[1]):
        count = _add_ticks_of(i, joints, period, ticks, count)
    for i in range(joints.shape[1]):
        for k in range(count):
            if joints[JERK, i] == math.inf:
                positions[k, i], velocities[k, i] = _slowed(i, joints, period, ticks[k])
            else:
                positions[k, i], velocities[k, i] = _ramped(i, joints, period, ticks[k])
        velocities[count - 1, i] = 0.0  # without rounding
    return count


@kernel
def _add_ticks_of(
    i: int, joints: Array, period: float, ticks: NDArray[np.int64], count: int
) -> int:
    """Add the ticks in which joint i needs knots; how many there are then."""
    if joints[JERK, i] == math.inf:
        step = joints[ACCELERATION, i] * period
        whole = math.floor(abs(braked(joints[DQ, i], joints[MEAN, i], step)) / step)
        return _put(ticks, _put(ticks, _put(ticks, count, 1), 1 + whole), 2 + whole)
    phases = ramp(joints[DQ, i], joints[DDQ, i], 0.0, joints[ACCELERATION, i], joints[JERK, i])
    count, end = _put(ticks, count, 1), 0.0
    for duration in (phases[1], phases[2], phases[4]):
        end += duration / period
        count = _put(ticks, _put(ticks, count, math.floor(end)), math.ceil(end) + 1)
    return count


@kernel
def _put(ticks: NDArray[np.int64], count: int, tick: int) -> int:
    """Put a tick in its place among the `count` first, which ascend, unless it is there."""
    k = count
    while ticks[k - 1] > tick:
        k -= 1
    if ticks[k - 1] == tick:
        return count
    for j in range(count, k, -1):
        ticks[j] = ticks[j - 1]
    ticks[k] = tick
    return count + 1


@kernel
def _slowed(i: int, joints: Array, period: float, ticks: int) -> tuple[float, float]:
    """Position and velocity of joint i, without a jerk limit, so many ticks after its knot."""
    q, mean, step = joints[Q, i], joints[MEAN, i], joints[ACCELERATION, i] * period
    if ticks == 0:
        return q - 0.5 * mean * period, mean
    speed = braked(joints[DQ, i], mean, step)
    whole = math.floor(abs(speed) / step)
    whole_steps = min(ticks - 1, whole)
    shed = math.copysign(step * whole_steps, speed) if whole_steps > 0 else 0.0
    way = 0.5 * speed + whole_steps * (speed - 0.5 * shed)
    speed -= shed
    if ticks - 1 > whole:
        way, speed = way + 0.5 * speed, 0.0
    return q + way * period, speed


@kernel
def _ramped(i: int, joints: Array, period: float, ticks: int) -> tuple[float, float]:
    """Positions of a joint with a jerk limit, likewise."""
    q, dq, ddq, mean = joints[Q, i], joints[DQ, i], joints[DDQ, i], joints[MEAN, i]
    if ticks == 0:
        return q - 0.5 * mean * period, mean
    phases = ramp(dq, ddq, 0.0, joints[ACCELERATION, i], joints[JERK, i])
    before = along(dq, ddq, 0.0, phases, (ticks - 1) * period)[0]
    after = along(dq, ddq, 0.0, phases, ticks * period)[0]
    return q + 0.5 * (before + after), (after - before) / period
