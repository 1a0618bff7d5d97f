# SPDX-License-Identifier: Apache-2.0
"""The stop from the last tick on: where it ends, and its curve as splines.

A governor commands positions at the ticks. The curve of the joints through time is the quadratic
spline of these positions: halfway between two ticks it is halfway between their
positions, with the mean velocity between them,

    x(k - 1/2) = (q(k-1) + q(k)) / 2,    v(k - 1/2) = (q(k) - q(k-1)) / T

and from there to k + 1/2 it has the constant acceleration (q(k+1) - 2 q(k) + q(k-1)) / T^2: that
of the ticks. So it stays between the ticks inside the limits that they keep, and the cubic spline
with these positions and velocities is the same curve.

The stop, as the governor would brake from tick to tick, is part of that curve. Its knots are for
controllers that interpolate. A joint without a jerk limit sheds the same velocity in every tick
but the first and the last: few knots are enough. One with a jerk limit needs some around each
change of the jerk; in between, its curve is a cubic. All joints have knots where one of them needs
one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...kernels.jit import kernel
from ...kernels.signatures import Array1, Array2, IntArray1
from ...maths.rotations import Array
from . import joint_table as t
from .second_order import braked, stopping_distance
from .third_order import along, ramp, ramp_stop_distance, stop_extent

# Knots that one joint needs after the first: the next one, and two around the end of each of the
# three phases of a ramp.
MAX_KNOTS = 7


@kernel
def extent_of_stop(
    dq: float, ddq: float, mean: float, most: float, jerk: float, period: float
) -> tuple[float, float]:
    """Return the least and the greatest distance on the fastest stop: at most 0, at least 0."""
    if jerk < math.inf:
        return stop_extent(dq, ddq, most, jerk)
    speed = braked(dq, mean, most * period)
    distance = math.copysign(stopping_distance(abs(speed), most * period, period), speed)
    return min(distance, 0.0), max(distance, 0.0)


@kernel(entry='ik_governor_stop_point')
def stop_point(joints: Array2, period: float, point: Array1) -> None:
    """Write to point (n,) where the joints rest if all brake as hard as they may from now on."""
    for i in range(point.size):
        dq, ddq, mean = joints[t.DQ, i], joints[t.DDQ, i], joints[t.MEAN, i]
        most, jerk = joints[t.ACCELERATION, i], joints[t.JERK, i]
        if jerk < math.inf:
            distance = ramp_stop_distance(dq, ddq, most, jerk)
        else:
            low, high = extent_of_stop(dq, ddq, mean, most, jerk, period)
            distance = low + high
        point[i] = t.inside(joints[t.Q, i] + distance, joints[t.LOWER, i], joints[t.UPPER, i])


@kernel(entry='ik_governor_announced_accelerations')
def announced_accelerations(joints: Array2, period: float, accelerations: Array1) -> None:
    """Write the accelerations (n,) of a stop in which all joints slow down in proportion.

    So do joints without jerk limits that stay inside their limits by that. The others brake as
    hard as they may.
    """
    n = accelerations.size
    rate = math.inf  # [1/s] of the slowest to stop
    for i in range(n):
        accelerations[i] = joints[t.ACCELERATION, i]
        if _slows_down(i, joints):
            rate = min(rate, accelerations[i] / abs(joints[t.DQ, i]))
    if rate == math.inf:
        return
    shed = min(rate * period, 1.0)  # fraction of its speed, in each period
    count = math.floor(1.0 / shed)
    seconds = period * (count - 0.5 * shed * count * (count + 1))
    for i in range(n):
        end = joints[t.Q, i] + joints[t.DQ, i] * seconds  # where a stop at this rate ends
        if _slows_down(i, joints) and joints[t.LOWER, i] <= end <= joints[t.UPPER, i]:
            accelerations[i] = rate * abs(joints[t.DQ, i])


@kernel
def _slows_down(i: int, joints: Array) -> bool:
    """Return whether joint i can slow down in proportion to others: it has no jerk limit."""
    dq = joints[t.DQ, i]
    if joints[t.JERK, i] < math.inf or dq != joints[t.MEAN, i]:
        return False
    return 0.0 < abs(dq) <= float(joints[t.VELOCITY, i])


@kernel(entry='ik_governor_stop_knots')
def stop_knots(
    joints: Array2,
    period: float,
    ticks: IntArray1,
    positions: Array2,
    velocities: Array2,
) -> int:
    """Write the knots from the last one that is certain to that in which all joints rest.

    joints (15, n) : see `joint_table`
    ticks (1 + MAX_KNOTS n,) : ascending; the periods from the first knot, which is half a period
        before the last tick, to each knot
    positions, velocities (1 + MAX_KNOTS n, n)

    Returns how many knots there are.
    """
    ticks[0] = 0
    count = 1
    for i in range(joints.shape[1]):
        count = _add_ticks_of(i, joints, period, ticks, count)
    for i in range(joints.shape[1]):
        for k in range(count):
            if joints[t.JERK, i] == math.inf:
                positions[k, i], velocities[k, i] = _second_order_knot(i, joints, period, ticks[k])
            else:
                positions[k, i], velocities[k, i] = _third_order_knot(i, joints, period, ticks[k])
        velocities[count - 1, i] = 0.0  # without rounding
    return count


@kernel
def _add_ticks_of(
    i: int, joints: Array, period: float, ticks: NDArray[np.int64], count: int
) -> int:
    """Insert the ticks in which joint i needs knots; return how many there are then."""
    dq, most, jerk = joints[t.DQ, i], joints[t.ACCELERATION, i], joints[t.JERK, i]
    count = _insert(ticks, count, 1)
    if jerk == math.inf:
        step = most * period
        whole = math.floor(abs(braked(dq, joints[t.MEAN, i], step)) / step)
        return _insert(ticks, _insert(ticks, count, 1 + whole), 2 + whole)
    phases, end = ramp(dq, joints[t.DDQ, i], 0.0, most, jerk), 0.0
    for duration in (phases[1], phases[2], phases[4]):
        end += duration / period
        count = _insert(ticks, _insert(ticks, count, math.floor(end)), math.ceil(end) + 1)
    return count


@kernel
def _insert(ticks: NDArray[np.int64], count: int, tick: int) -> int:
    """Insert a tick into the `count` first, which ascend, unless it is there."""
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
def _second_order_knot(i: int, joints: Array, period: float, ticks: int) -> tuple[float, float]:
    """Return position and velocity of joint i, without a jerk limit, in the knot of a tick."""
    q, mean = joints[t.Q, i], joints[t.MEAN, i]
    step = joints[t.ACCELERATION, i] * period
    if ticks == 0:
        return q - 0.5 * mean * period, mean
    speed = braked(joints[t.DQ, i], mean, step)
    whole = math.floor(abs(speed) / step)
    whole_steps = min(ticks - 1, whole)
    shed = math.copysign(step * whole_steps, speed) if whole_steps > 0 else 0.0
    distance = 0.5 * speed + whole_steps * (speed - 0.5 * shed)
    speed -= shed
    if ticks - 1 > whole:
        distance, speed = distance + 0.5 * speed, 0.0
    return q + distance * period, speed


@kernel
def _third_order_knot(i: int, joints: Array, period: float, ticks: int) -> tuple[float, float]:
    """Return position and velocity of joint i, with a jerk limit, in the knot of a tick."""
    q, dq, ddq, mean = joints[t.Q, i], joints[t.DQ, i], joints[t.DDQ, i], joints[t.MEAN, i]
    if ticks == 0:
        return q - 0.5 * mean * period, mean
    phases = ramp(dq, ddq, 0.0, joints[t.ACCELERATION, i], joints[t.JERK, i])
    before = along(dq, ddq, 0.0, phases, (ticks - 1) * period)[0]
    after = along(dq, ddq, 0.0, phases, ticks * period)[0]
    return q + 0.5 * (before + after), (after - before) / period
