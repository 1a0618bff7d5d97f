# SPDX-License-Identifier: Apache-2.0
"""The fastest motion along a path of the joints, q(u), within limits of all orders.

Without jerk limits the square of the speed, b = (du/dt)^2, is piecewise linear in u, and the
largest values that lead to rest are found backwards, the motion then forwards, as in [Pham2018].

With jerk limits that motion is smoothed over the time in which an acceleration is built up, and
serves as a clock tau: q(u(tau)) rests at both ends, with an acceleration of zero. A motion along
the path is then y(tau) = log(d tau / dt), any smooth function, and

    velocity      e^y   q'
    acceleration  e^2y (q'' + q' y')
    jerk          e^3y (q''' + 3 q'' y' + q' (y'' + 2 y'^2))        ' = d / d tau

An interior point method finds the y of least duration. Between its points y is a spline; where
that exceeds limits, they are tightened and y is computed again. Any y keeps all limits if it is
lowered enough: the last step is to lower it by what still exceeds them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline, PPoly, make_interp_spline
from scipy.linalg import LinAlgError, solveh_banded
from scipy.ndimage import maximum_filter1d

from ..maths.rotations import Array
from .kernels import STILL, fastest_squares
from .task import Rates, TipUse

LEAST_POINTS, MANY_POINTS, MOST_POINTS = 400, 1500, 30_000  # of the clock
FINE, COARSE = 8, 3  # points of the clock while an acceleration is built up; of many points
AVERAGED = 2000  # points of the motion that is averaged
CHECKED = 4  # checked points in a step of the clock
PASSES = 4  # each keeps limits better between the points of the clock
CLOSELY = 0.003  # relative excess there that is not worth another pass
ITERATIONS = 60
FIRST_MEAN, LAST_MEAN = 1.0, 1e-3  # sum of all complementarities, over the duration of the clock
REDUCTION = 0.2  # of the complementarity, from step to step
LARGEST_MOVE = 0.5  # of y
SMOOTHNESS = 0.03  # weight of squared second differences of y: between points limits count, too
END_SMOOTHNESS, END_POINTS = 30.0, 6  # near rest, where y hardly matters
KEPT = 0.95  # part of the way to the boundary


@dataclass(frozen=True, eq=False)
class TimeLaw:
    """The timing of a path: `place(t)` is its parameter, with derivatives, at times t (M,) [s]."""

    duration: float
    place: Callable[[Array], Array]
    """Parameter, and its first three derivatives with respect to the time: (4, M)."""

    def slowed(self, factor: float) -> TimeLaw:
        """The same motion, taking `factor` times as long."""
        powers = factor ** -np.arange(4.0)[:, np.newaxis]
        own = self.place
        return TimeLaw(self.duration * factor, lambda t: own(t / factor) * powers)


def fastest(spline: PPoly, tip_use: TipUse | None, rates: Rates) -> TimeLaw:
    """The fastest motion from rest to rest along a cubic spline of the variables.

    tip_use : use of the tip's largest speed, see `Task`; None without one
    """
    law = _without_jerk(spline, tip_use, rates)
    if np.isfinite(rates.jerk).any():
        law = _with_jerk(spline, tip_use, rates, law)
    return law


def in_succession(laws: Sequence[TimeLaw]) -> TimeLaw:
    """Motions along the pieces of a path, one after the other; each begins and ends at rest."""
    if len(laws) == 1:
        return laws[0]
    starts = np.concatenate([[0.0], np.cumsum([law.duration for law in laws])])

    def place(t: Array) -> Array:
        which = np.clip(np.searchsorted(starts, t, 'right') - 1, 0, len(laws) - 1)
        motion = np.empty((4, len(t)))
        for k, law in enumerate(laws):
            own = which == k
            motion[:, own] = law.place(np.minimum(t[own] - starts[k], law.duration))
        return motion

    return TimeLaw(float(starts[-1]), place)


def use_of_limits(spline: PPoly, tip_use: TipUse | None, rates: Rates, motion: Array) -> Array:
    """Velocity, acceleration and jerk as fractions of their limits (3, M, v + 1), the tip last.

    motion (4, M) : the parameter and its first three derivatives with respect to the time
    """
    u, du, ddu, dddu = motion
    one, two, three = (spline(u, k) for k in (1, 2, 3))
    du, ddu, dddu = du[:, np.newaxis], ddu[:, np.newaxis], dddu[:, np.newaxis]
    use = np.zeros((3, len(u), spline.c.shape[2] + 1))
    use[0, :, :-1] = one * du / rates.velocity
    if tip_use is not None:
        use[0, :, -1] = tip_use(u) * du[:, 0]
    use[1, :, :-1] = (two * du**2 + one * ddu) / rates.acceleration
    use[2, :, :-1] = (three * du**3 + 3.0 * two * du * ddu + one * dddu) / rates.jerk
    return np.abs(use)


def at_knots(spline: PPoly, law: TimeLaw, times: Array, places: Array) -> tuple[Array, Array]:
    """The times (2 K,) at which a motion passes the inner knots of a spline, and the motion there
    (4, 2 K), on either side of them: third derivatives leap.

    places (M,) : the parameter at times (M,), rising
    """
    knots = spline.x[1:-1]
    passed = np.tile(np.interp(knots, places, times), 2)
    motion = law.place(passed)
    motion[0] = np.concatenate([np.nextafter(knots, -np.inf), knots])
    return passed, motion


# --- without jerk --------------------------------------------------------------------------------


def _without_jerk(spline: PPoly, tip_use: TipUse | None, rates: Rates) -> TimeLaw:
    """The fastest motion within velocity and acceleration limits."""
    grid = _grid(spline)
    one, two = spline(grid, 1), spline(grid, 2)
    with np.errstate(divide='ignore'):
        speed = (rates.velocity / np.maximum(np.abs(one), STILL)).min(axis=1)
        if tip_use is not None:
            speed = np.minimum(speed, 1.0 / np.maximum(tip_use(grid), STILL))
    inside = np.isfinite(rates.acceleration)
    most = np.minimum(speed, 1e6) ** 2
    one, two = (
        one[:, inside] / rates.acceleration[inside],
        two[:, inside] / rates.acceleration[inside],
    )
    square = np.empty(len(grid))
    fastest_squares(grid, np.ascontiguousarray(one), np.ascontiguousarray(two), most, square)
    return _law_of_squares(grid, square)


def _grid(spline: PPoly) -> Array:
    """Values of the parameter: the knots and points between them, more at both ends."""
    knots = spline.x
    pieces = max(2, math.ceil(400 / len(knots)))
    part = np.arange(pieces) / pieces
    grid = (knots[:-1, np.newaxis] + np.diff(knots)[:, np.newaxis] * part).ravel()
    grid = np.append(grid, knots[-1])
    length = grid[-1] - grid[0]
    ends = length * 10.0 ** np.linspace(-7.0, -2.0, 26)
    return np.unique(np.concatenate([grid, grid[0] + ends, grid[-1] - ends]))


def _law_of_squares(grid: Array, square: Array) -> TimeLaw:
    """The motion whose squared speeds (K,) are linear between these places (K,)."""
    speed = np.sqrt(square)
    step = np.diff(grid)
    seconds = 2.0 * step / np.maximum(speed[:-1] + speed[1:], 1e-12)
    times = np.concatenate([[0.0], np.cumsum(seconds)])
    rise = 0.5 * np.diff(square) / step

    def place(t: Array) -> Array:
        i = np.clip(np.searchsorted(times, t, 'right') - 1, 0, len(step) - 1)
        after = np.clip(t - times[i], 0.0, seconds[i])
        u = grid[i] + after * (speed[i] + 0.5 * rise[i] * after)
        motion = np.array([u, speed[i] + rise[i] * after, rise[i], np.zeros_like(u)])
        outside = (t < 0.0) | (t > times[-1])
        motion[1:, outside] = 0.0
        return motion

    return TimeLaw(float(times[-1]), place)


# --- with jerk -----------------------------------------------------------------------------------


def _with_jerk(spline: PPoly, tip_use: TipUse | None, rates: Rates, law: TimeLaw) -> TimeLaw:
    """The fastest motion within limits of all orders, improved from one without jerk limits."""
    both = np.isfinite(rates.jerk) & np.isfinite(rates.acceleration)
    build_up = float((rates.acceleration / rates.jerk)[both].max()) if both.any() else 0.0
    build_up = max(build_up, 0.01 * law.duration)
    return _improved(spline, tip_use, rates, _smoothed(law, build_up), build_up)


def _smoothed(law: TimeLaw, width: float) -> TimeLaw:
    """A motion, averaged over the time `width`: a spline with a continuous jerk, at rest at both
    ends."""
    tau = _clock_points(law.duration + width, width)
    fine = np.linspace(0.0, law.duration, max(AVERAGED, len(tau)) + 1)
    place = CubicSpline(fine, law.place(fine)[0])
    total, start, end = place.antiderivative(), float(place(0.0)), float(place(law.duration))

    def integral(t: Array) -> Array:
        late = np.maximum(t - law.duration, 0.0)
        return total(np.clip(t, 0.0, law.duration)) + start * np.minimum(t, 0.0) + end * late

    u = (integral(tau) - integral(tau - width)) / width
    rest = [(1, 0.0), (2, 0.0)]
    spline = make_interp_spline(tau, u, k=5, bc_type=(rest, rest))
    return TimeLaw(law.duration + width, lambda t: np.array([spline(t, nu=k) for k in range(4)]))


def _clock_points(duration: float, build_up: float) -> Array:
    """Points (K,) of a clock, several while an acceleration is built up."""
    times = duration / build_up
    count = min(max(FINE * times, LEAST_POINTS), max(COARSE * times, MANY_POINTS), MOST_POINTS)
    return np.linspace(0.0, duration, math.ceil(count) + 1)


def _improved(
    spline: PPoly,
    tip_use: TipUse | None,
    rates: Rates,
    clock: TimeLaw,
    build_up: float,
) -> TimeLaw:
    """The fastest motion that is a smooth function of a clock, within limits of all orders."""
    tau = _clock_points(clock.duration, build_up)
    fine = np.linspace(0.0, clock.duration, CHECKED * (len(tau) - 1) + 1)
    rows = _rows(spline, tip_use, rates, clock.place(tau))
    motion = clock.place(fine)
    leaps, leaping = at_knots(spline, clock, fine, motion[0])
    checked = np.concatenate([fine, leaps])
    between = _rows(spline, tip_use, rates, np.hstack([motion, leaping]))
    before = np.minimum((leaps / tau[1]).astype(int), len(tau) - 2)
    y, best, least = np.zeros(len(tau)), None, math.inf
    for _ in range(PASSES):
        y = _fastest_rate(rows, y, float(tau[1]))
        bent = CubicSpline(tau, y, bc_type='clamped')
        uses = np.abs(_uses(between, *(bent(checked, k) for k in range(3))))
        lowered = bent.c.copy()
        lowered[-1] -= _excess(uses, rows[3])
        seconds = float(np.exp(-y).sum()) * math.exp(_excess(uses, rows[3]))
        if seconds < least:
            best, least = PPoly(lowered, tau), seconds
        near = maximum_filter1d(uses[: len(fine)], 2 * CHECKED + 1, axis=0)[::CHECKED]
        for k in (before, before + 1):
            np.maximum.at(near, k, uses[len(fine) :])
        if float(near.max()) < 1.0 + CLOSELY:
            break
        tighter = np.maximum(near, 1.0)
        rows = rows[0] * tighter, rows[1] * tighter, rows[2] * tighter, rows[3]
    assert best is not None
    return _law_of_clock(clock, best, fine)


Rows = tuple[Array, Array, Array, Array]
"""Coefficients (K, c) of uses of limits, e^(power y) (free + slope y' + bend (y'' + 2 y'^2)), and
the powers (c,) of e^y."""


def _rows(spline: PPoly, tip_use: TipUse | None, rates: Rates, motion: Array) -> Rows:
    """The uses of all limits that are finite, of a motion (4, K) that is a clock."""
    places = motion[0]
    du, ddu, dddu = (row[:, np.newaxis] for row in motion[1:])
    one, two, three = (spline(places, k) for k in (1, 2, 3))
    tip = 0.0 * du if tip_use is None else tip_use(places)[:, np.newaxis] * du
    velocity, acceleration, jerk = rates.velocity, rates.acceleration, rates.jerk
    first = one * du
    second = two * du**2 + one * ddu
    third = three * du**3 + 3.0 * two * du * ddu + one * dddu
    free = np.hstack([first / velocity, tip, second / acceleration, third / jerk])
    slope = np.hstack([0.0 * first, 0.0 * tip, first / acceleration, 3.0 * second / jerk])
    bend = np.hstack([0.0 * first, 0.0 * tip, 0.0 * first, first / jerk])
    powers = np.repeat([1.0, 2.0, 3.0], [len(velocity) + 1, len(velocity), len(velocity)])
    has_tip = [0.0 if tip_use is not None else math.inf]
    limited = np.isfinite(np.concatenate([velocity, has_tip, acceleration, jerk]))
    return free[:, limited], slope[:, limited], bend[:, limited], powers[limited]


def _uses(rows: Rows, y: Array, slope: Array, bend: Array) -> Array:
    """The uses (K, c) of limits, with signs, at y and its derivatives (K,)."""
    free, by_slope, by_bend, powers = rows
    s, b = slope[:, np.newaxis], bend[:, np.newaxis]
    use = by_bend * (b + 2.0 * s * s)
    use += by_slope * s
    use += free
    use *= _scales(y, powers)
    return np.asarray(use)


def _scales(y: Array, powers: Array) -> Array:
    """The factors (K, c) of uses of limits: e^y (K,) to whole powers (c,) from 1 to 3."""
    once = np.exp(y)
    return np.stack([once, once**2, once**3], axis=1)[:, powers.astype(int) - 1]


def _excess(uses: Array, powers: Array) -> float:
    """Return the amount to subtract from all of y so that no use of a limit exceeds 1."""
    worst = np.abs(uses).max(axis=0)
    return float((np.log(np.maximum(worst, 1e-300)) / powers).max())


def _fastest_rate(rows: Rows, y: Array, step: float) -> Array:
    """The function y (K,) of least duration from a first one, by an interior point method.

    Iterates need not keep the limits; of what each is after lowering, the fastest is returned.
    """
    powers, total = rows[3], step * len(y)
    use, stencil = _linearised(rows, y, step)
    room = np.array([np.maximum(1.0 - use, 0.1), np.maximum(1.0 + use, 0.1)])  # slacks
    mean = FIRST_MEAN / use.size
    force = mean / room  # multipliers
    best, least = y, math.inf
    for _ in range(ITERATIONS):
        seconds = float(np.exp(-y).sum()) * step / total
        lowered = _excess(use, powers)
        after = seconds * math.exp(lowered)
        if after < least:
            best, least = y - lowered, after
        short = room + np.stack([use, -use]) - 1.0
        stiff = force / room
        push = (mean + force * short) / room
        move = _newton_move(
            y,
            step / total,
            powers,
            use,
            stencil,
            stiff[0] + stiff[1],
            push[0] - push[1],
            force[0] - force[1],
        )
        if move is None:
            break
        along = _applied(stencil, move)
        room_move = np.stack([-along, along]) - short
        force_move = (mean - force * room_move) / room - force
        primal, dual = _longest(room, room_move), _longest(force, force_move)
        primal = min(primal, LARGEST_MOVE / max(float(np.abs(move).max()), 1e-12))
        y = y + primal * move
        room = room + primal * room_move
        force = force + dual * force_move
        use, stencil = _linearised(rows, y, step)
        left = float(np.vdot(room, force)) / room.size
        mean = max(REDUCTION * left, LAST_MEAN / use.size)
        if left < 2.0 * LAST_MEAN / use.size:
            break
    return best


def _slopes(y: Array, step: float) -> tuple[Array, Array]:
    """First and second derivatives (K,) by central differences; as if mirrored at both ends."""
    wide = np.concatenate([y[1:2], y, y[-2:-1]])
    return (wide[2:] - wide[:-2]) / (2.0 * step), (wide[2:] - 2.0 * y + wide[:-2]) / step**2


def _linearised(rows: Rows, y: Array, step: float) -> tuple[Array, tuple[Array, Array, Array]]:
    """The uses (K, c), and their derivatives by y at the point before, here and the one after."""
    slope, bend = _slopes(y, step)
    _, by_slope, by_bend, powers = rows
    use = _uses(rows, y, slope, bend)
    scale = _scales(y, powers)
    bent = by_bend * (scale / step**2)
    along = bent * (2.0 * step * slope[:, np.newaxis]) + by_slope * (scale / (2.0 * step))
    before, own, ahead = bent - along, powers * use - 2.0 * bent, bent + along
    ahead[0] += before[0]  # mirrored
    before[-1] += ahead[-1]
    before[0], ahead[-1] = 0.0, 0.0
    return use, (before, own, ahead)


def _applied(stencil: tuple[Array, Array, Array], move: Array) -> Array:
    """The change (K, c) of uses by a move (K,) of y, to first order."""
    before, own, ahead = stencil
    change = own * move[:, np.newaxis]
    change[1:] += before[1:] * move[:-1, np.newaxis]
    change[:-1] += ahead[:-1] * move[1:, np.newaxis]
    return np.asarray(change)


def _newton_move(
    y: Array, step: float, powers: Array, use: Array, stencil: tuple[Array, Array, Array],
    stiff: Array, push: Array, force: Array,
) -> Array | None:  # fmt: skip
    """The move (K,) of y by the reduced system, which has five bands; None if that is singular."""
    before, own, ahead = stencil
    speed = step * np.exp(-y)
    weight = np.full(len(y) - 2, SMOOTHNESS / len(y))
    weight[:END_POINTS] = weight[-END_POINTS:] = END_SMOOTHNESS / len(y)
    bend = weight * np.diff(y, 2)
    gradient = -speed + _dot(push, own)
    gradient[:-2] += bend
    gradient[1:-1] -= 2.0 * bend
    gradient[2:] += bend
    gradient[:-1] += _dot(push, before)[1:]
    gradient[1:] += _dot(push, ahead)[:-1]
    bands = np.zeros((3, len(y)))  # two above the diagonal, and that
    # of the curvature of uses, the part that is certainly not negative
    curved = np.maximum(force * use, 0.0) @ powers**2
    stiff_before, stiff_own, stiff_ahead = stiff * before, stiff * own, stiff * ahead
    bands[2] = speed + _dot(stiff_own, own) + curved
    bands[2, :-1] += _dot(stiff_before, before)[1:]
    bands[2, 1:] += _dot(stiff_ahead, ahead)[:-1]
    bands[1, 1:] = _dot(stiff_own, ahead)[:-1] + _dot(stiff_before, own)[1:]
    bands[0, 2:] = _dot(stiff_before, ahead)[1:-1]
    bands[2, 1:-1] += 4.0 * weight
    bands[2, :-2] += weight
    bands[2, 2:] += weight
    bands[1, 1:-1] -= 2.0 * weight
    bands[1, 2:] -= 2.0 * weight
    bands[0, 2:] += weight
    try:
        return np.asarray(solveh_banded(bands, -gradient, check_finite=False))
    except (LinAlgError, ValueError):
        return None


def _dot(one: Array, two: Array) -> Array:
    """The dot products (K,) of rows (K, c)."""
    return np.asarray(np.einsum('kc,kc->k', one, two))


def _longest(values: Array, move: Array) -> float:
    """The largest step, at most 1, that keeps nearly all of positive values."""
    fastest = -float((move / values).min())
    return KEPT / fastest if fastest > KEPT else 1.0


def _law_of_clock(clock: TimeLaw, y: PPoly, fine: Array) -> TimeLaw:
    """The motion of y on a clock; `fine` are points of the clock, from end to end."""
    rate = CubicSpline(fine, np.exp(-y(fine)))
    time_of = rate.antiderivative()
    times = time_of(fine)

    def place(t: Array) -> Array:
        now = np.interp(t, times, fine)
        for _ in range(2):  # from an error of 1e-6: quadratic
            now = np.clip(now - (time_of(now) - t) / rate(now), 0.0, clock.duration)
        u, du, ddu, dddu = clock.place(now)
        w = 1.0 / rate(now)  # d tau / dt
        slope, bend = -rate(now, 1) * w, -rate(now, 2) * w + (rate(now, 1) * w) ** 2
        one, two = w * du, w**2 * (ddu + du * slope)
        three = w**3 * (dddu + 3.0 * ddu * slope + du * (bend + 2.0 * slope**2))
        motion = np.array([u, one, two, three])
        motion[1:, (t < 0.0) | (t > times[-1])] = 0.0
        return motion

    return TimeLaw(float(times[-1]), place)
