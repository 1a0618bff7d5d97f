# SPDX-License-Identifier: Apache-2.0
"""One period of a governor's motion: of each joint by its rule, within limits that may change.

Kernels share a table `joints` (15, n), a column for each joint: the limits in force; the state;
what it is told; and what it waits for.

- Positions and velocities without a limit have FAR, a number with which nothing overflows.
- MEAN is the mean velocity of the last period. Without a jerk limit that is DQ; where one has just
  been switched off it is not, and both have to change by no more than an acceleration allows.
- DRIFT is the velocity at which the target, GOAL, came and will move on; 0 to come to rest there.
- CAP is a top speed, PLANNED the goal that it was planned for, LEFT the time [s] until all joints
  arrive there together; 0 where nothing is planned (see `together`).
"""

from __future__ import annotations

import math

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, Array2
from ..maths.rotations import Array
from .braking import ACCELERATION, LOWER, UPPER, VELOCITY, stopping_distance
from .second_order_motion import inside, landed, moving_target_speed, standing_target_speed
from .third_order_motion import (
    EXACT,
    along,
    ramp,
    runs_out,
    stop_extent,
    stopping_way,
    towards,
)

JERK, Q, DQ, DDQ, MEAN, GOAL, DRIFT, ACT, CAP, PLANNED, LEFT = range(4, 15)
ROWS = 15
FREE, EASE, BRAKE = range(3)  # acts: to follow, to run out the acceleration, to brake
FAR = 1e100
"""[rad or m; rad/s or m/s] Where there is no limit."""
FAST = 1e6
"""[rad/s or m/s] No joint follows a target that moves as fast as this."""
SUDDEN = 1e15
"""[rad/s^3 or m/s^3] A jerk limit as high as this is none."""


# --- stops ------------------------------------------------------------------------------------


@kernel
def braked(dq: float, mean: float, step: float) -> float:
    """The velocity after one period of braking, of a joint without a jerk limit."""
    return inside(0.0, max(dq, mean) - step, min(dq, mean) + step)


@kernel
def extent_of_stop(
    dq: float, ddq: float, mean: float, most: float, jerk: float, period: float
) -> tuple[float, float]:
    """From where to where the fastest stop leads: at most 0 and at least 0."""
    if jerk < math.inf:
        return stop_extent(dq, ddq, most, jerk)
    speed = braked(dq, mean, most * period)
    way = math.copysign(stopping_distance(abs(speed), most * period, period), speed)
    return min(way, 0.0), max(way, 0.0)


@kernel(entry='ik_governor_stop_point')
def stop_point(joints: Array2, period: float, point: Array1) -> None:
    """Write to point (n,) where the joints rest if all brake as hard as they may from now on."""
    for i in range(point.size):
        dq, ddq, mean = joints[DQ, i], joints[DDQ, i], joints[MEAN, i]
        most, jerk = joints[ACCELERATION, i], joints[JERK, i]
        if jerk < math.inf:
            way = stopping_way(dq, ddq, most, jerk)
        else:
            low, high = extent_of_stop(dq, ddq, mean, most, jerk, period)
            way = low + high
        point[i] = inside(joints[Q, i] + way, joints[LOWER, i], joints[UPPER, i])


# --- limits that change -----------------------------------------------------------------------


@kernel(entry='ik_governor_adopt')
def adopt(joints: Array2, asked: Array2, period: float) -> bool:
    """Bring the limits in force to those asked for (5, n), where the state fits them.

    Tells the other joints what to do meanwhile, and returns whether there are none.
    """
    done = True
    for i in range(asked.shape[1]):
        for row in (LOWER, UPPER, VELOCITY):
            joints[row, i] = asked[row, i]
        most, jerk = asked[ACCELERATION, i], asked[JERK, i]
        joints[ACCELERATION, i] = max(joints[ACCELERATION, i], most)
        swing = 2.0 * joints[ACCELERATION, i] * period
        if joints[JERK, i] < jerk == math.inf and abs(joints[DQ, i] - joints[MEAN, i]) > swing:
            done = False  # an acceleration above its limit comes down first
            continue
        if joints[JERK, i] < jerk and not may_be_quicker(i, joints, jerk, period):
            done = False  # and no quicker than a stop allows
            continue
        joints[JERK, i] = max(joints[JERK, i], jerk)
        if joints[ACCELERATION, i] > most or joints[JERK, i] > jerk:
            act = act_until_fit(i, joints, most, jerk, period)
            if act == FREE:
                joints[ACCELERATION, i], joints[JERK, i], joints[LEFT, i] = most, jerk, 0.0
            else:
                joints[ACT, i] = act
                done = False
    return done


@kernel
def may_be_quicker(i: int, joints: Array, jerk: float, period: float) -> bool:
    """Whether a stop with a higher jerk keeps the position limits.

    It does, but where the joint brakes harder than its acceleration limit allows, as after that
    was lowered: the higher jerk ends this sooner, and the stop becomes longer.
    """
    q, dq, ddq, mean = joints[Q, i], joints[DQ, i], joints[DDQ, i], joints[MEAN, i]
    most = joints[ACCELERATION, i]
    if abs(ddq) <= most:
        return True
    lowest, highest = reach_of_stop(i, joints, period)
    return fits(q, dq, ddq, mean, most, jerk, lowest, highest, math.inf, period)


@kernel
def reach_of_stop(i: int, joints: Array, period: float) -> tuple[float, float]:
    """Bounds of a joint's way: its position limits, or farther, where its stop leads by now."""
    q, dq, ddq, mean = joints[Q, i], joints[DQ, i], joints[DDQ, i], joints[MEAN, i]
    low, high = extent_of_stop(dq, ddq, mean, joints[ACCELERATION, i], joints[JERK, i], period)
    return min(joints[LOWER, i], q + low), max(joints[UPPER, i], q + high)


@kernel
def act_until_fit(i: int, joints: Array, most: float, jerk: float, period: float) -> int:
    """The action of a joint until its state fits lower limits; FREE if it does already."""
    q, dq, ddq, mean = joints[Q, i], joints[DQ, i], joints[DDQ, i], joints[MEAN, i]
    in_force = joints[JERK, i]
    lowest, highest = reach_of_stop(i, joints, period)
    way, speed = dq * period, dq  # at the first tick when the acceleration has come to 0
    if in_force < math.inf:
        way, speed = runs_out(dq, ddq, in_force)
        way += speed * (-abs(ddq) / in_force % period)
    fastest = max(joints[VELOCITY, i], abs(speed)) if jerk < in_force else math.inf
    if fits(q, dq, ddq, mean, most, jerk, lowest, highest, fastest, period):
        return FREE
    if dq * speed >= 0.0 and fits(
        q + way, speed, 0.0, speed, most, jerk, lowest, highest, fastest, period
    ):
        return EASE
    return BRAKE


@kernel
def fits(
    q: float, dq: float, ddq: float, mean: float, most: float, jerk: float, lowest: float,
    highest: float, fastest: float, period: float,
) -> bool:  # fmt: skip
    """Whether a stop with these limits of acceleration and jerk keeps the others.

    With a lower jerk, that has a limit of speed `fastest`, the velocity may neither exceed it
    nor turn round while the acceleration is run out.
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


# --- steps ------------------------------------------------------------------------------------


@kernel
def take_aim(i: int, joints: Array) -> None:
    """Take the goal into the limits, and away what no joint can follow.

    A joint outside comes back first, and one with a jerk limit comes to rest at its limit where
    the target drifts on beyond it. Where there is nothing to go to, the joint brakes.
    """
    q, lower, upper = joints[Q, i], joints[LOWER, i], joints[UPPER, i]
    goal = inside(joints[GOAL, i], lower, upper)
    if not (lower <= q <= upper):
        joints[DRIFT, i] = 0.0
    if not (abs(goal) < FAR and abs(joints[DRIFT, i]) < FAST):
        joints[ACT, i], goal = BRAKE, q
    if joints[ACT, i] != FREE:
        joints[DRIFT, i] = 0.0
    elif joints[JERK, i] < math.inf:
        velocity = joints[VELOCITY, i] if goal == joints[GOAL, i] else 0.0
        joints[DRIFT, i] = inside(joints[DRIFT, i], -velocity, velocity)
    joints[GOAL, i] = goal


@kernel
def second_order_step(i: int, joints: Array, most_rate: float, period: float) -> None:
    """Move a joint without a jerk limit, at most at `most_rate` [1/s] times the way to go."""
    q, dq, mean, goal = joints[Q, i], joints[DQ, i], joints[MEAN, i], joints[GOAL, i]
    lower, upper, velocity = joints[LOWER, i], joints[UPPER, i], joints[VELOCITY, i]
    step, drift, act = joints[ACCELERATION, i] * period, joints[DRIFT, i], joints[ACT, i]
    if act != FREE:
        wanted = 0.0 if act == BRAKE else dq
    elif drift != 0.0:
        wanted = moving_target_speed(q, goal, drift, lower, upper, velocity, step, period)
    else:
        rate = most_rate if lower <= q <= upper else math.inf
        wanted = standing_target_speed(goal - q, velocity, step, period, rate)
    speed = inside(wanted, max(dq, mean) - step, min(dq, mean) + step)
    after = q + speed * period
    if act != FREE:
        goal = inside(after, lower, upper)
    joints[Q, i] = landed(after, goal, lower, upper)
    joints[DQ, i] = joints[MEAN, i] = speed
    joints[DDQ, i] = (speed - dq) / period


@kernel
def third_order_step(i: int, joints: Array, period: float) -> None:
    """Move a joint with a jerk limit, at most at its top speed relative to its target.

    If it could not stop inside its limits after that, it heads for the limit; if not even that
    is possible, it brakes.
    """
    q, dq, ddq, goal = joints[Q, i], joints[DQ, i], joints[DDQ, i], joints[GOAL, i]
    lower, upper, velocity = joints[LOWER, i], joints[UPPER, i], joints[VELOCITY, i]
    most, jerk, drift, act = (
        joints[ACCELERATION, i],
        joints[JERK, i],
        joints[DRIFT, i],
        joints[ACT, i],
    )
    cap = joints[CAP, i]
    low, high = stop_extent(dq, ddq, most, jerk)
    exact = EXACT * (max(1.0, abs(q)) + high - low)
    lowest, highest = min(lower, q + low) - 4.0 * exact, max(upper, q + high) + 4.0 * exact
    slowest, fastest = max(min(-velocity - drift, 0.0), -cap), min(max(velocity - drift, 0.0), cap)
    for _ in range(2 if act == FREE else 0):
        way, v, a, arrived = towards(
            goal - drift * period - q, dq - drift, ddq, slowest, fastest, most, jerk, period, exact
        )
        way, v = way + drift * period, v + drift
        low, high = stop_extent(v, a, most, jerk)
        if lowest <= q + way + low and q + way + high <= highest:
            put(i, joints, goal if arrived else q + way, v, a, way / period)
            return
        goal, drift = upper if q + way + high > highest else lower, 0.0
        slowest, fastest = -velocity, velocity
    end = runs_out(dq, ddq, jerk)[1] if act == EASE else 0.0
    way, v, a = along(dq, ddq, end, ramp(dq, ddq, end, most, jerk), period)
    put(i, joints, q + way, v, a, way / period)


@kernel
def put(i: int, joints: Array, q: float, dq: float, ddq: float, mean: float) -> None:
    """Make this the state of a joint, without what rounding leaves to its limits."""
    lower, upper = joints[LOWER, i], joints[UPPER, i]
    joints[Q, i] = landed(q, inside(q, lower, upper), lower, upper)
    joints[DQ, i], joints[DDQ, i], joints[MEAN, i] = dq, ddq, mean
