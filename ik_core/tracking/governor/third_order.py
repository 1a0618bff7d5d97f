# SPDX-License-Identifier: Apache-2.0
"""A joint with velocity, acceleration and jerk limits: closed-form motions, sampled at the ticks.

A ramp changes the velocity v to `end` and the acceleration a to 0 in the least time: at most three
phases of constant jerk, +J up to the acceleration p, none while p is held, -J down to 0 (mirrored
where the velocity has to fall). Running out a alone adds a |a| / 2J to v, so

    need = end - v - a |a| / 2J        its sign is that of p
    p = min(A, sqrt(J need + max(a, 0)^2))      (for need > 0)

and the rest of the change takes place while p is held. A ramp to 0 is a stop. An acceleration
above its limit, which was lowered, comes down at the limit of the jerk.

The fastest motion to a point is a ramp to full speed, and a stop in time: the point where a stop
would end only moves on while the joint goes, so the moment to begin it is the one zero of a
monotone function. That is the trajectory of [Kroeger2011] (type IV, end at rest), [Haschke2008]
and [BerscheidKroeger2021]. But only one period of it is taken before it is planned again, so in
nearly every period one evaluation decides: can the joint go on for a whole period and stop in
time, or has it begun to stop? The phases may end inside of periods: positions, velocities and
accelerations at the ticks are samples of a motion that keeps its limits at all times, so their
differences keep them too.

Units: rad or m, and seconds. Distances are signed. `most` is A, `jerk` is J; A may be inf.
"""

from __future__ import annotations

import math

from ...kernels.jit import kernel
from ...maths.rotations import Array
from . import joint_table as t

# Relative rounding error of a distance and of the position at its end.
SOLVED_WITHIN = 4e-15
# A moment in an interval is found to this fraction of the interval.
SAME_DURATION = 1e-15
# Iterations after which a search for a moment ends in any case; it takes about ten.
TRIES = 100


@kernel
def third_order_step(i: int, joints: Array, period: float) -> None:
    """Move joint i, with a jerk limit, by one period, by its act or towards its goal.

    Relative to its target it is at most as fast as its top speed. If it could not stop inside its
    limits after that, it heads for the limit; if not even that is possible, it brakes.
    """
    q, dq, ddq, goal = joints[t.Q, i], joints[t.DQ, i], joints[t.DDQ, i], joints[t.GOAL, i]
    lower, upper, velocity = joints[t.LOWER, i], joints[t.UPPER, i], joints[t.VELOCITY, i]
    most, jerk, cap = joints[t.ACCELERATION, i], joints[t.JERK, i], joints[t.CAP, i]
    drift, act = joints[t.DRIFT, i], joints[t.ACT, i]
    low, high = stop_extent(dq, ddq, most, jerk)
    exact = SOLVED_WITHIN * (max(1.0, abs(q)) + high - low)
    lowest, highest = min(lower, q + low) - 4.0 * exact, max(upper, q + high) + 4.0 * exact
    slowest, fastest = max(min(-velocity - drift, 0.0), -cap), min(max(velocity - drift, 0.0), cap)
    for _ in range(2 if act == t.FREE else 0):
        distance, v, a, arrived = towards(
            goal - drift * period - q, dq - drift, ddq, slowest, fastest, most, jerk, period, exact
        )
        distance, v = distance + drift * period, v + drift
        low, high = stop_extent(v, a, most, jerk)
        if lowest <= q + distance + low and q + distance + high <= highest:
            t.put(i, joints, goal if arrived else q + distance, v, a, distance / period)
            return
        goal, drift = upper if q + distance + high > highest else lower, 0.0
        slowest, fastest = -velocity, velocity
    end = runs_out(dq, ddq, jerk)[1] if act == t.EASE else 0.0
    distance, v, a = along(dq, ddq, end, ramp(dq, ddq, end, most, jerk), period)
    t.put(i, joints, q + distance, v, a, distance / period)


@kernel
def ramp(
    v: float, a: float, end: float, most: float, jerk: float
) -> tuple[float, float, float, float, float]:
    """Return the ramp from v, a to the velocity `end`: jerk and time, time held, jerk and time."""
    need = end - v - a * abs(a) / (2.0 * jerk)
    side = 1.0 if need >= 0.0 else -1.0
    need, a = side * need, side * a
    reach = math.sqrt(jerk * need + max(a, 0.0) ** 2)
    peak = min(most, reach)
    first, rate = (peak - a) / jerk, jerk
    hold = 0.0
    if first < 0.0:  # an acceleration above its limit
        first, rate = -first, -jerk
    if peak < reach:
        gained = 0.5 * (peak + a) * first
        hold = max((side * (end - v) - gained - 0.5 * peak * peak / jerk) / peak, 0.0)
    return side * rate, first, hold, -side * jerk, peak / jerk


@kernel
def along(
    v: float,
    a: float,
    end: float,
    phases: tuple[float, float, float, float, float],
    seconds: float,
) -> tuple[float, float, float]:
    """Return distance, velocity, acceleration after `seconds` on a ramp and at its end speed."""
    rate, first, hold, last_rate, last = phases
    time = min(first, seconds)
    distance = time * (v + time * (0.5 * a + time * rate / 6.0))
    v, a = v + time * (a + 0.5 * time * rate), a + time * rate
    if seconds <= first:
        return distance, v, a
    seconds -= first
    time = min(hold, seconds)
    distance += time * (v + 0.5 * time * a)
    v += time * a
    if seconds <= hold:
        return distance, v, a
    seconds -= hold
    time = min(last, seconds)
    distance += time * (v + time * (0.5 * a + time * last_rate / 6.0))
    if seconds < last:
        return distance, v + time * (a + 0.5 * time * last_rate), a + time * last_rate
    if seconds > last and end != 0.0:
        distance += (seconds - last) * end
    return distance, end, 0.0


@kernel
def duration(phases: tuple[float, float, float, float, float]) -> float:
    """Return how long a ramp takes."""
    return phases[1] + phases[2] + phases[4]


@kernel
def ramp_stop_distance(v: float, a: float, most: float, jerk: float) -> float:
    """Return the distance of a stop from v, a."""
    return along(v, a, 0.0, ramp(v, a, 0.0, most, jerk), math.inf)[0]


@kernel
def stop_extent(v: float, a: float, most: float, jerk: float) -> tuple[float, float]:
    """Return the least and the greatest distance on a stop from v, a: at most 0 and at least 0.

    Where a is so great that v changes its sign before a is run out, the stop turns round further
    out than it ends. That is left out: until it turns round, a stop sheds a as fast as the jerk
    allows, so any step turns it round as soon or sooner, and it first comes to turn round on the
    path of a stop that ended inside.
    """
    distance = ramp_stop_distance(v, a, most, jerk)
    return min(distance, 0.0), max(distance, 0.0)


@kernel
def runs_out(v: float, a: float, jerk: float) -> tuple[float, float]:
    """Return the distance and the velocity when a has come down to 0."""
    time = abs(a) / jerk
    return time * (v + time * a / 3.0), v + 0.5 * time * a


@kernel
def last_moment(
    distance: float, v: float, a: float, end: float, most: float, jerk: float, seconds: float,
    exact: float,
) -> float:  # fmt: skip
    """Return how long to stay on the ramp to `end` so that a stop then ends at `distance`.

    A stop at once ends before it, and one after `seconds` behind it; the result misses it by at
    most `exact` (Chandrupatla's method, 1997: inverse quadratic interpolation where that is
    reliable, else bisection).
    """
    phases = ramp(v, a, end, most, jerk)
    new, old, oldest = seconds, 0.0, 0.0
    far = _miss(distance, v, a, end, most, jerk, phases, new)
    near = _miss(distance, v, a, end, most, jerk, phases, old)
    farthest, fraction = near, 0.5
    for _ in range(TRIES):
        time = new + fraction * (old - new)
        miss = _miss(distance, v, a, end, most, jerk, phases, time)
        if (miss > 0.0) == (far > 0.0):
            oldest, farthest = new, far
        else:
            oldest, farthest = old, near
            old, near = new, far
        new, far = time, miss
        if abs(far) <= exact or abs(old - new) <= SAME_DURATION * seconds:
            break
        fraction = _interpolated(new, old, oldest, far, near, farthest)
        fraction = min(max(fraction, SAME_DURATION), 1.0 - SAME_DURATION)
    if far > exact:
        return old
    return new


@kernel
def _miss(
    distance: float, v: float, a: float, end: float, most: float, jerk: float,
    phases: tuple[float, float, float, float, float], time: float,
) -> float:  # fmt: skip
    """Return how far behind `distance` a stop ends that begins after some time on a ramp."""
    gone, v, a = along(v, a, end, phases, time)
    return gone + ramp_stop_distance(v, a, most, jerk) - distance


@kernel
def _interpolated(
    new: float, old: float, oldest: float, far: float, near: float, farthest: float
) -> float:
    """Return the fraction of the interval from `new` to `old` at which to evaluate next."""
    if farthest in (near, far):
        return 0.5
    position = (new - old) / (oldest - old)
    rise = (far - near) / (farthest - near)
    if 1.0 - math.sqrt(1.0 - position) < rise < math.sqrt(position):
        return far / (near - far) * farthest / (near - farthest) + (oldest - new) / (
            old - new
        ) * far / (farthest - far) * near / (farthest - near)
    return 0.5


@kernel
def towards(
    distance: float, v: float, a: float, lowest: float, highest: float, most: float, jerk: float,
    seconds: float, exact: float,
) -> tuple[float, float, float, bool]:  # fmt: skip
    """Take one period of the fastest motion to rest at `distance`; also whether it has arrived.

    The velocity stays between lowest <= 0 and highest >= 0, or comes there.
    """
    left = distance - ramp_stop_distance(v, a, most, jerk)
    going = 0.0
    gone, end = 0.0, 0.0
    if abs(left) > exact:
        side = 1.0 if left > 0.0 else -1.0
        end = highest if left > 0.0 else lowest
        phases = ramp(v, a, end, most, jerk)
        after = along(v, a, end, phases, seconds)
        if (
            side * (after[0] + ramp_stop_distance(after[1], after[2], most, jerk) - distance)
            <= 0.0
        ):
            return after[0], after[1], after[2], False
        going = last_moment(
            side * distance, side * v, side * a, side * end, most, jerk, seconds, 0.5 * exact
        )
        gone, v, a = along(v, a, end, phases, going)
    phases = ramp(v, a, 0.0, most, jerk)
    if duration(phases) <= seconds - going:
        return distance, 0.0, 0.0, True
    rest, v, a = along(v, a, 0.0, phases, seconds - going)
    return gone + rest, v, a, False


@kernel
def time_to(
    distance: float, v: float, a: float, lowest: float, highest: float, most: float, jerk: float,
    exact: float,
) -> float:  # fmt: skip
    """Return how long the fastest motion to rest at `distance` takes."""
    left = distance - ramp_stop_distance(v, a, most, jerk)
    side = 1.0 if left >= 0.0 else -1.0
    distance, v, a = side * distance, side * v, side * a
    end = highest if left >= 0.0 else -lowest
    if abs(left) <= exact:
        return duration(ramp(v, a, 0.0, most, jerk))
    phases = ramp(v, a, end, most, jerk)
    whole = duration(phases)
    seconds = min(whole, 0.1)  # most stops begin as soon; the interval grows where they don't
    miss = _miss(distance, v, a, end, most, jerk, phases, seconds)
    while miss <= 0.0 and seconds < whole:
        seconds = min(4.0 * seconds, whole)
        miss = _miss(distance, v, a, end, most, jerk, phases, seconds)
    if miss > 0.0:
        going = last_moment(distance, v, a, end, most, jerk, seconds, exact)
        _, v, a = along(v, a, end, phases, going)
        return going + duration(ramp(v, a, 0.0, most, jerk))
    cruise = -miss / end if end > 0.0 else math.inf
    return whole + cruise + duration(ramp(end, 0.0, 0.0, most, jerk))


@kernel
def speed_to_take(
    time: float, distance: float, v: float, a: float, highest: float, most: float, jerk: float,
    exact: float,
) -> float:  # fmt: skip
    """Return the top speed <= highest with which resting at `distance` takes at least this time.

    The motion is a ramp to that speed, which is kept for a while, and a stop. Its time is nearly
    linear in 1 / speed, so that is interpolated (the Illinois method).
    """
    early = _excess(time, distance, v, a, highest, most, jerk)
    if not early < 0.0:
        return highest
    slow = min(highest, abs(distance) / time)
    late = _excess(time, distance, v, a, slow, most, jerk)
    for _ in range(TRIES):
        if late >= 0.0:
            break
        slow *= 0.25
        late = _excess(time, distance, v, a, slow, most, jerk)
    fastest, slowest = 1.0 / highest, 1.0 / slow
    for _ in range(TRIES):
        if late <= exact or slowest - fastest <= SAME_DURATION * slowest:
            break
        middle = slowest - late * (slowest - fastest) / (late - early)
        excess = _excess(time, distance, v, a, 1.0 / middle, most, jerk)
        if excess >= 0.0:
            slowest, late, early = middle, excess, 0.5 * early
        else:
            fastest, early, late = middle, excess, 0.5 * late
    return 1.0 / slowest


@kernel
def _excess(
    time: float, distance: float, v: float, a: float, speed: float, most: float, jerk: float
) -> float:
    """Return how much longer than `time` it takes to rest at `distance` with this top speed."""
    up = ramp(v, a, speed, most, jerk)
    stop = duration(ramp(speed, 0.0, 0.0, most, jerk))
    left = distance - along(v, a, speed, up, duration(up))[0] - 0.5 * speed * stop
    return duration(up) + left / speed + stop - time if left >= 0.0 else -time
