# SPDX-License-Identifier: Apache-2.0
"""Motions of one joint within velocity, acceleration and jerk limits, in closed form.

A ramp changes the velocity v to `end` and the acceleration a to 0 in the least time: at most three
phases of constant jerk, +J up to the acceleration p, none while p is held, -J down to 0 (mirrored
where the velocity has to fall). What running out a alone adds to v is a |a| / 2J, so

    need = end - v - a |a| / 2J        its sign is that of p
    p = min(A, sqrt(J need + max(a, 0)^2))      (for need > 0)

and what is left of the change takes place while p is held. A ramp to 0 is a stop. An acceleration
above its limit, which was lowered, comes down at the limit of the jerk.

The fastest way to a point is to go for it, a ramp to full speed, and to stop in time: the point
where a stop would end only moves on while the joint goes, so the moment to begin with it is the
one zero of a monotone function. That is the trajectory of [Kroeger2011] (type IV, end at rest),
[Haschke2008] and [BerscheidKroeger2021]; but as only one period of it is taken before it is
planned again, in nearly every period one look decides: can the joint go on for a whole
period and stop in time, or has it begun to stop? The phases end when they end, inside of periods:
positions, velocities and accelerations at the ticks are samples of a motion that keeps its limits
at all times, so their differences keep them too.

Units: rad or m, and seconds. `most` is A, `jerk` is J; A may be inf.
"""

from __future__ import annotations

import math

from ..kernels.jit import kernel

EXACT = 4e-15
"""Relative rounding error of a way and of the position at its end."""
CLOSE = 1e-15
"""The share of an interval to which a moment in it is found."""
TRIES = 100
SOON = 0.1
"""[s] How far ahead is looked first for the moment to stop."""


@kernel
def ramp(
    v: float, a: float, end: float, most: float, jerk: float
) -> tuple[float, float, float, float, float]:
    """The ramp from v, a to the velocity `end`: jerk and time, time of holding, jerk and time."""
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
    """The way, velocity and acceleration after so long on a ramp, and at its end speed then."""
    rate, first, hold, last_rate, last = phases
    time = min(first, seconds)
    way = time * (v + time * (0.5 * a + time * rate / 6.0))
    v, a = v + time * (a + 0.5 * time * rate), a + time * rate
    if seconds <= first:
        return way, v, a
    seconds -= first
    time = min(hold, seconds)
    way += time * (v + 0.5 * time * a)
    v += time * a
    if seconds <= hold:
        return way, v, a
    seconds -= hold
    time = min(last, seconds)
    way += time * (v + time * (0.5 * a + time * last_rate / 6.0))
    if seconds < last:
        return way, v + time * (a + 0.5 * time * last_rate), a + time * last_rate
    if seconds > last and end != 0.0:
        way += (seconds - last) * end
    return way, end, 0.0


@kernel
def duration(phases: tuple[float, float, float, float, float]) -> float:
    """How long a ramp takes."""
    return phases[1] + phases[2] + phases[4]


@kernel
def stopping_way(v: float, a: float, most: float, jerk: float) -> float:
    """How far a stop from v, a leads."""
    return along(v, a, 0.0, ramp(v, a, 0.0, most, jerk), math.inf)[0]


@kernel
def stop_extent(v: float, a: float, most: float, jerk: float) -> tuple[float, float]:
    """From where to where a stop from v, a leads: at most 0 and at least 0.

    Where a is so great that v changes its sign before a is run out, the stop turns round further
    out than it ends. That is left out: until it turns round, a stop sheds a as fast as the jerk
    allows, so any step turns it round as soon or sooner, and it first comes to turn round on the
    way of a stop that ended inside.
    """
    way = stopping_way(v, a, most, jerk)
    return min(way, 0.0), max(way, 0.0)


@kernel
def runs_out(v: float, a: float, jerk: float) -> tuple[float, float]:
    """The way and the velocity when a has come down to 0."""
    time = abs(a) / jerk
    return time * (v + time * a / 3.0), v + 0.5 * time * a


@kernel
def last_moment(
    way: float, v: float, a: float, end: float, most: float, jerk: float, seconds: float,
    exact: float,
) -> float:  # fmt: skip
    """How long to go on with the ramp to `end` so that a stop then ends at `way`, to `exact`.

    A stop at once ends before it, and one after `seconds` behind it (Chandrupatla's method, 1997:
    inverse quadratic interpolation where it can be trusted, else bisection).
    """
    phases = ramp(v, a, end, most, jerk)
    new, old, oldest = seconds, 0.0, 0.0
    far = _miss(way, v, a, end, most, jerk, phases, new)
    near = _miss(way, v, a, end, most, jerk, phases, old)
    farthest, share = near, 0.5
    for _ in range(TRIES):
        time = new + share * (old - new)
        miss = _miss(way, v, a, end, most, jerk, phases, time)
        if (miss > 0.0) == (far > 0.0):
            oldest, farthest = new, far
        else:
            oldest, farthest = old, near
            old, near = new, far
        new, far = time, miss
        if abs(far) <= exact or abs(old - new) <= CLOSE * seconds:
            break
        share = _interpolated(new, old, oldest, far, near, farthest)
        share = min(max(share, CLOSE), 1.0 - CLOSE)
    if far > exact:
        return old
    return new


@kernel
def _miss(
    way: float, v: float, a: float, end: float, most: float, jerk: float,
    phases: tuple[float, float, float, float, float], time: float,
) -> float:  # fmt: skip
    """How far behind `way` a stop ends that begins after some time on a ramp."""
    gone, v, a = along(v, a, end, phases, time)
    return gone + stopping_way(v, a, most, jerk) - way


@kernel
def _interpolated(
    new: float, old: float, oldest: float, far: float, near: float, farthest: float
) -> float:
    """The share of the way from `new` to `old` at which to look next."""
    if farthest in (near, far):
        return 0.5
    place = (new - old) / (oldest - old)
    rise = (far - near) / (farthest - near)
    if 1.0 - math.sqrt(1.0 - place) < rise < math.sqrt(place):
        return far / (near - far) * farthest / (near - farthest) + (oldest - new) / (
            old - new
        ) * far / (farthest - far) * near / (farthest - near)
    return 0.5


@kernel
def towards(
    way: float, v: float, a: float, lowest: float, highest: float, most: float, jerk: float,
    seconds: float, exact: float,
) -> tuple[float, float, float, bool]:  # fmt: skip
    """Take one period of the fastest motion to rest at `way`; also whether it has arrived.

    The velocity stays between lowest <= 0 and highest >= 0, or comes there.
    """
    left = way - stopping_way(v, a, most, jerk)
    going = 0.0
    gone, end = 0.0, 0.0
    if abs(left) > exact:
        side = 1.0 if left > 0.0 else -1.0
        end = highest if left > 0.0 else lowest
        phases = ramp(v, a, end, most, jerk)
        after = along(v, a, end, phases, seconds)
        if side * (after[0] + stopping_way(after[1], after[2], most, jerk) - way) <= 0.0:
            return after[0], after[1], after[2], False
        going = last_moment(
            side * way, side * v, side * a, side * end, most, jerk, seconds, 0.5 * exact
        )
        gone, v, a = along(v, a, end, phases, going)
    phases = ramp(v, a, 0.0, most, jerk)
    if duration(phases) <= seconds - going:
        return way, 0.0, 0.0, True
    rest, v, a = along(v, a, 0.0, phases, seconds - going)
    return gone + rest, v, a, False


@kernel
def time_to(
    way: float, v: float, a: float, lowest: float, highest: float, most: float, jerk: float,
    exact: float,
) -> float:  # fmt: skip
    """How long the fastest motion to rest at `way` takes."""
    left = way - stopping_way(v, a, most, jerk)
    side = 1.0 if left >= 0.0 else -1.0
    way, v, a = side * way, side * v, side * a
    end = highest if left >= 0.0 else -lowest
    if abs(left) <= exact:
        return duration(ramp(v, a, 0.0, most, jerk))
    phases = ramp(v, a, end, most, jerk)
    whole = duration(phases)
    seconds = min(whole, SOON)
    miss = _miss(way, v, a, end, most, jerk, phases, seconds)
    while miss <= 0.0 and seconds < whole:
        seconds = min(4.0 * seconds, whole)
        miss = _miss(way, v, a, end, most, jerk, phases, seconds)
    if miss > 0.0:
        going = last_moment(way, v, a, end, most, jerk, seconds, exact)
        _, v, a = along(v, a, end, phases, going)
        return going + duration(ramp(v, a, 0.0, most, jerk))
    cruise = -miss / end if end > 0.0 else math.inf
    return whole + cruise + duration(ramp(end, 0.0, 0.0, most, jerk))


@kernel
def speed_to_take(
    time: float, way: float, v: float, a: float, highest: float, most: float, jerk: float,
    exact: float,
) -> float:  # fmt: skip
    """The top speed <= highest with which to rest at `way` takes this time, or a little more.

    A ramp to that speed, which is kept for a while, and a stop. What it takes falls with the
    speed nearly as 1 / speed does, so that is interpolated (the Illinois method).
    """
    early = _excess(time, way, v, a, highest, most, jerk)
    if not early < 0.0:
        return highest
    slow = min(highest, abs(way) / time)
    late = _excess(time, way, v, a, slow, most, jerk)
    for _ in range(TRIES):
        if late >= 0.0:
            break
        slow *= 0.25
        late = _excess(time, way, v, a, slow, most, jerk)
    fastest, slowest = 1.0 / highest, 1.0 / slow
    for _ in range(TRIES):
        if late <= exact or slowest - fastest <= CLOSE * slowest:
            break
        middle = slowest - late * (slowest - fastest) / (late - early)
        excess = _excess(time, way, v, a, 1.0 / middle, most, jerk)
        if excess >= 0.0:
            slowest, late, early = middle, excess, 0.5 * early
        else:
            fastest, early, late = middle, excess, 0.5 * late
    return 1.0 / slowest


@kernel
def _excess(
    time: float, way: float, v: float, a: float, speed: float, most: float, jerk: float
) -> float:
    """By how much more than `time` it takes to rest at `way` with this top speed."""
    up = ramp(v, a, speed, most, jerk)
    stop = duration(ramp(speed, 0.0, 0.0, most, jerk))
    left = way - along(v, a, speed, up, duration(up))[0] - 0.5 * speed * stop
    return duration(up) + left / speed + stop - time if left >= 0.0 else -time
