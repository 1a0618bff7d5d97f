"""One period of a governor's motion: each joint by its rule, and joints that wait for each other.

In kernels the state is (4, n): q, dq, ddq, and the mean velocity of the last period. Without a
jerk limit that is dq; where the limit has just been switched off it is not, and both have to
change by no more than an acceleration allows. `limits` (5, n) are those in force: lower, upper,
velocity, acceleration, jerk; positions and velocities that have none get FAR, a number with which
nothing overflows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._jit import inner, njit
from ..maths.rotations import Array
from .second_order import (
    ACCELERATION,
    JERK,
    LOWER,
    UPPER,
    VELOCITY,
    allowed_rate,
    inside,
    landed,
    moving_target_speed,
    standing_target_speed,
    stopping_distance,
)
from .third_order import (
    EXACT,
    along,
    ramp,
    runs_out,
    speed_to_take,
    stop_extent,
    stopping_way,
    time_to,
    towards,
)

Q, DQ, DDQ, MEAN = range(4)
FREE, EASE, BRAKE = range(3)
FAR = 1e100
"""[rad or m; rad/s or m/s] Where there is no limit."""
FAST = 1e6
"""[rad/s or m/s] No joint follows a target that moves as fast as this."""
SUDDEN = 1e15
"""[rad/s^3 or m/s^3] A jerk limit as high as this is none."""
STRAIGHT = 4e-15
"""What rounding of positions may make of one line."""


# --- stops ------------------------------------------------------------------------------------


@inner
def braked(dq: float, mean: float, step: float) -> float:
    """The velocity of a joint without a jerk limit after a period of braking."""
    return inside(0.0, max(dq, mean) - step, min(dq, mean) + step)


@inner
def extent_of_stop(
    dq: float, ddq: float, mean: float, most: float, jerk: float, period: float
) -> tuple[float, float]:
    """From where to where the fastest stop leads: at most 0 and at least 0."""
    if jerk < math.inf:
        return stop_extent(dq, ddq, most, jerk)
    speed = braked(dq, mean, most * period)
    way = math.copysign(stopping_distance(abs(speed), most * period, period), speed)
    return min(way, 0.0), max(way, 0.0)


@njit
def stop_point(state: Array, limits: Array, period: float, point: Array) -> None:
    """Write to point (n,) where the joints rest if all brake as hard as they may from now on."""
    for i in range(point.size):
        dq, ddq, most, jerk = state[DQ, i], state[DDQ, i], limits[ACCELERATION, i], limits[JERK, i]
        if jerk < math.inf:
            way = stopping_way(dq, ddq, most, jerk)
        else:
            low, high = extent_of_stop(dq, ddq, state[MEAN, i], most, jerk, period)
            way = low + high
        point[i] = inside(state[Q, i] + way, limits[LOWER, i], limits[UPPER, i])


# --- limits that change -----------------------------------------------------------------------


@inner
def fits(
    q: float, dq: float, ddq: float, mean: float, most: float, jerk: float, lowest: float,
    highest: float, fastest: float, period: float,
) -> bool:  # fmt: skip
    """Whether a stop with these limits of acceleration and jerk keeps the others.

    The velocity neither turns round nor exceeds `fastest` while the acceleration is run out.
    """
    if jerk < math.inf:
        left = dq + ddq * abs(ddq) / (2.0 * jerk)
        if not (dq * left >= 0.0 and abs(left) <= fastest):
            return False
    elif abs(dq - mean) > 2.0 * most * period:
        return False
    low, high = extent_of_stop(dq, ddq, mean, most, jerk, period)
    return lowest <= q + low and q + high <= highest


@njit
def adopt(
    state: Array, limits: Array, asked: Array, waits: NDArray[np.int8], period: float
) -> bool:
    """Bring the limits in force to those asked for, where the state fits them.

    `waits` (n,) tells what the other joints are to do meanwhile. Returns whether there are none.
    """
    done = True
    for i in range(waits.size):
        waits[i] = FREE
        for row in (LOWER, UPPER, VELOCITY):
            limits[row, i] = asked[row, i]
        most, jerk = asked[ACCELERATION, i], asked[JERK, i]
        limits[ACCELERATION, i] = max(limits[ACCELERATION, i], most)
        step = limits[ACCELERATION, i] * period
        if limits[JERK, i] < jerk == math.inf and abs(state[DQ, i] - state[MEAN, i]) > 2.0 * step:
            done = False  # an acceleration above its limit comes down first
            continue
        limits[JERK, i] = max(limits[JERK, i], jerk)
        if limits[ACCELERATION, i] == most and limits[JERK, i] == jerk:
            continue
        waits[i] = _waits(i, state, limits, most, jerk, period)
        if waits[i] == FREE:
            limits[ACCELERATION, i], limits[JERK, i] = most, jerk
        else:
            done = False
    return done


@inner
def _waits(i: int, state: Array, limits: Array, most: float, jerk: float, period: float) -> int:
    """What a joint has to do until its state fits lower limits; FREE if it does already."""
    q, dq, ddq, mean = state[Q, i], state[DQ, i], state[DDQ, i], state[MEAN, i]
    old_most, old_jerk = limits[ACCELERATION, i], limits[JERK, i]
    low, high = extent_of_stop(dq, ddq, mean, old_most, old_jerk, period)
    lowest, highest = min(limits[LOWER, i], q + low), max(limits[UPPER, i], q + high)
    way, speed = dq * period, dq
    if old_jerk < math.inf:
        way, speed = runs_out(dq, ddq, old_jerk)
    fastest = math.inf if jerk == old_jerk else max(limits[VELOCITY, i], abs(speed))
    if jerk == old_jerk and jerk < math.inf:  # then only the acceleration is lowered
        low, high = stop_extent(dq, ddq, most, jerk)
        if lowest <= q + low and q + high <= highest:
            return FREE
    elif fits(q, dq, ddq, mean, most, jerk, lowest, highest, fastest, period):
        return FREE
    settles = jerk < math.inf and dq * speed >= 0.0
    if settles and fits(q + way, speed, 0.0, speed, most, jerk, lowest, highest, fastest, period):
        return EASE
    return BRAKE


# --- steps ------------------------------------------------------------------------------------


@inner
def second_order_step(
    i: int, state: Array, limits: Array, goal: float, drift: float, rate: float, act: int,
    period: float,
) -> None:  # fmt: skip
    """Move a joint without a jerk limit, at most at `rate` times the way that is left."""
    q, dq, mean = state[Q, i], state[DQ, i], state[MEAN, i]
    lower, upper, velocity = limits[LOWER, i], limits[UPPER, i], limits[VELOCITY, i]
    step = limits[ACCELERATION, i] * period
    if act != FREE:
        wanted = 0.0 if act == BRAKE else dq
    elif lower <= q <= upper:
        if drift != 0.0:
            wanted = moving_target_speed(q, goal, drift, lower, upper, velocity, step, period)
        else:
            wanted = standing_target_speed(goal - q, velocity, step, period, rate)
    else:
        wanted = standing_target_speed(goal - q, velocity, step, period, math.inf)
    speed = inside(wanted, max(dq, mean) - step, min(dq, mean) + step)
    after = q + speed * period
    state[Q, i] = landed(after, goal if act == FREE else inside(after, lower, upper), lower, upper)
    state[DQ, i] = state[MEAN, i] = speed
    state[DDQ, i] = (speed - dq) / period


@inner
def third_order_step(
    i: int, state: Array, limits: Array, goal: float, drift: float, cap: float, act: int,
    period: float,
) -> None:  # fmt: skip
    """Move a joint with a jerk limit, seen from its target at most at the speed `cap`."""
    q, dq, ddq, velocity = state[Q, i], state[DQ, i], state[DDQ, i], limits[VELOCITY, i]
    most, jerk = limits[ACCELERATION, i], limits[JERK, i]
    low, high = stop_extent(dq, ddq, most, jerk)
    exact = EXACT * (max(1.0, abs(q)) + high - low)
    lowest = min(limits[LOWER, i], q + low) - 4.0 * exact
    highest = max(limits[UPPER, i], q + high) + 4.0 * exact
    if act == FREE:
        way, v, a, arrived = towards(
            goal - drift * period - q, dq - drift, ddq, max(-cap, min(-velocity - drift, 0.0)),
            min(cap, max(velocity - drift, 0.0)), most, jerk, period, exact,
        )  # fmt: skip
        way, v = way + drift * period, v + drift
        low, high = stop_extent(v, a, most, jerk)
        if lowest <= q + way + low and q + way + high <= highest:
            _put(i, state, goal if arrived else q + way, v, a, way, limits, period)
            return
        goal = limits[UPPER, i] if q + way + high > highest else limits[LOWER, i]
        way, v, a, arrived = towards(
            goal - q, dq, ddq, -velocity, velocity, most, jerk, period, exact
        )
        low, high = stop_extent(v, a, most, jerk)
        if lowest <= q + way + low and q + way + high <= highest:
            _put(i, state, goal if arrived else q + way, v, a, way, limits, period)
            return
    end = runs_out(dq, ddq, jerk)[1] if act == EASE else 0.0
    way, v, a = along(dq, ddq, end, ramp(dq, ddq, end, most, jerk), period)
    _put(i, state, q + way, v, a, way, limits, period)


@inner
def _put(
    i: int, state: Array, q: float, dq: float, ddq: float, way: float, limits: Array, period: float
) -> None:
    lower, upper = limits[LOWER, i], limits[UPPER, i]
    state[Q, i] = landed(q, inside(q, lower, upper), lower, upper)
    state[DQ, i], state[DDQ, i], state[MEAN, i] = dq, ddq, way / period


@njit
def advance(
    state: Array, limits: Array, target: Array, drift: Array, together: bool,
    acts: NDArray[np.int8], caps: Array, period: float,
) -> None:  # fmt: skip
    """Move the state (4, n) in place by one period towards the target (n,), or as acts (n,) say.

    together: all joints arrive at the same time, instead of each as soon as it can.
    drift (n,): the velocity at which the target came and will move on, 0 to come to rest there.
    caps (n,): room for what joints wait for each other.
    """
    rate = 1.0 / period
    if together:
        has_jerk = False
        for i in range(caps.size):
            has_jerk = has_jerk or limits[JERK, i] < math.inf
        if has_jerk:
            if move_on_a_line(state, limits, target, drift, acts, period):
                return
            rate = min(
                rate, slow_down_to_the_last(state, limits, target, drift, acts, caps, period)
            )
        rate = common_rate(state, limits, target, acts, rate, period)
    for i in range(caps.size):
        act = acts[i]
        lower, upper = limits[LOWER, i], limits[UPPER, i]
        goal = inside(target[i], lower, upper)
        speed = drift[i] if lower <= state[Q, i] <= upper else 0.0
        if not (abs(goal) < FAR and abs(speed) < FAST):
            act, goal, speed = BRAKE, state[Q, i], 0.0
        if limits[JERK, i] < math.inf:
            velocity = limits[VELOCITY, i] if goal == target[i] else 0.0
            cap = caps[i] if together else math.inf
            speed = inside(speed, -velocity, velocity)
            third_order_step(i, state, limits, goal, speed, cap, act, period)
        else:
            second_order_step(i, state, limits, goal, speed, rate, act, period)


# --- together ---------------------------------------------------------------------------------


@inner
def common_rate(
    state: Array, limits: Array, target: Array, acts: NDArray[np.int8], rate: float, period: float
) -> float:
    """The greatest rate [1/s] at which the ways of all joints without a jerk limit may shrink.

    Joints outside their limits have no say: they come back first.
    """
    for i in range(target.size):
        q, lower, upper = state[Q, i], limits[LOWER, i], limits[UPPER, i]
        if limits[JERK, i] == math.inf and acts[i] == FREE and lower <= q <= upper:
            goal = inside(target[i], lower, upper)
            step = limits[ACCELERATION, i] * period
            velocity = limits[VELOCITY, i]
            if math.isfinite(goal):
                rate = allowed_rate(rate, q, state[DQ, i], goal, velocity, step, period)
    return rate


@inner
def slow_down_to_the_last(
    state: Array, limits: Array, target: Array, drift: Array, acts: NDArray[np.int8],
    caps: Array, period: float,
) -> float:  # fmt: skip
    """Write to caps (n,) the speeds at which all joints arrive with the last one.

    Returns the inverse of the time that it needs.
    """
    longest = 0.0
    for i in range(caps.size):
        caps[i] = math.inf
        q, lower, upper = state[Q, i], limits[LOWER, i], limits[UPPER, i]
        goal = inside(target[i], lower, upper)
        if acts[i] == FREE and lower <= q <= upper and abs(goal) < FAR and abs(drift[i]) < FAST:
            velocity, jerk = limits[VELOCITY, i], min(limits[JERK, i], SUDDEN)
            speed = inside(drift[i], -velocity, velocity)
            caps[i] = time_to(
                goal - speed * period - q, state[DQ, i] - speed, state[DDQ, i], -velocity - speed,
                velocity - speed, limits[ACCELERATION, i], jerk, EXACT * max(1.0, abs(q)),
            )  # fmt: skip
            if caps[i] < math.inf:
                longest = max(longest, caps[i])
    for i in range(caps.size):
        if caps[i] < longest - period and limits[JERK, i] < math.inf:
            caps[i] = _cap(i, state, limits, target, drift, longest, period)
        else:
            caps[i] = math.inf
    return 1.0 / longest if longest > period else 1.0 / period


@inner
def _cap(
    i: int, state: Array, limits: Array, target: Array, drift: Array, time: float, period: float
) -> float:
    most, jerk, velocity = limits[ACCELERATION, i], limits[JERK, i], limits[VELOCITY, i]
    speed = inside(drift[i], -velocity, velocity)
    way = inside(target[i], limits[LOWER, i], limits[UPPER, i]) - speed * period - state[Q, i]
    v, a = state[DQ, i] - speed, state[DDQ, i]
    if way - stopping_way(v, a, most, jerk) < 0.0:
        way, v, a, speed = -way, -v, -a, -speed
    return speed_to_take(time, way, v, a, velocity - speed, most, jerk)


@inner
def move_on_a_line(
    state: Array, limits: Array, target: Array, drift: Array, acts: NDArray[np.int8],
    period: float,
) -> bool:  # fmt: skip
    """Move all joints along the straight line to the target, if they are on their way on it.

    Seen along the joint that has the longest way, they then are one joint, with the limits that
    the first of them meets.
    """
    longest, way, scale = -1, 0.0, 1.0
    for i in range(target.size):
        q, lower, upper = state[Q, i], limits[LOWER, i], limits[UPPER, i]
        goal = inside(target[i], lower, upper)
        if acts[i] != FREE or drift[i] != 0.0 or not (lower <= q <= upper and abs(goal) < FAR):
            return False
        scale = max(scale, abs(q))
        if abs(goal - q) > abs(way):
            longest, way = i, goal - q
    if longest < 0:
        return False
    speed, acceleration = state[DQ, longest], state[DDQ, longest]
    velocity = most = jerk = math.inf
    exact = STRAIGHT * scale
    for i in range(target.size):
        share = (inside(target[i], limits[LOWER, i], limits[UPPER, i]) - state[Q, i]) / way
        if not (
            abs(state[DQ, i] - share * speed) <= exact * (1.0 / period + abs(speed / way))
            and abs(state[DDQ, i] - share * acceleration)
            <= exact * (1.0 / period**2 + abs(acceleration / way))
        ):
            return False
        if share != 0.0:
            velocity = min(velocity, limits[VELOCITY, i] / abs(share))
            most = min(most, limits[ACCELERATION, i] / abs(share))
            jerk = min(jerk, limits[JERK, i] / abs(share))
    side = 1.0 if way > 0.0 else -1.0
    length, speed, acceleration = abs(way), side * speed, side * acceleration
    if jerk > SUDDEN:
        return False
    left = speed + acceleration * abs(acceleration) / (2.0 * jerk)
    exact = EXACT * (scale + length)
    ahead = stopping_way(speed, acceleration, most, jerk) <= length + exact
    if not (
        ahead and speed >= -exact / period and -exact / period <= left <= velocity * (1 + 1e-12)
    ):
        return False
    gone, v, a, arrived = towards(
        length, speed, acceleration, 0.0, velocity, most, jerk, period, exact
    )
    for i in range(target.size):
        goal = inside(target[i], limits[LOWER, i], limits[UPPER, i])
        share = (goal - state[Q, i]) / way * side
        q = goal if arrived else state[Q, i] + share * gone
        _put(i, state, q, share * v, share * a, share * gone, limits, period)
    return True
