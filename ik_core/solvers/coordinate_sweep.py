# SPDX-License-Identifier: Apache-2.0
"""One sweep of `cyclic_coordinate_descent`, whose module has the formulas."""

from __future__ import annotations

import math

from ..kernels.jit import kernel
from ..kernels.records import FLOAT, INT
from ..maths.boxed_step import clamp
from ..maths.rotations import Array, Frame, IntArray, frame_at, in_axes
from ..maths.vectors import Vector, cross, dot, minus, norm
from ..optim.layouts import METHOD, Record, goals_of
from ..robot.kinematics import KIND, MULTIPLIER, PRISMATIC, VARIABLE, place_body
from ..robot.limits import FULL_TURN
from ..tasks.kernels import (
    AXIS,
    COMPONENTS,
    GOAL_AXES,
    NONE,
    POSITION,
    ROTATION,
    ROWS,
    SCALE,
    TWO_AXES,
    VECTOR,
    Packed,
    update,
)

# how a body takes its step
SKIP, CLOSED_FORM, SEARCH = range(3)

COORDINATE_DESCENT = METHOD.extended(
    'coordinate_descent',
    # the plan of a sweep, in its order:
    body=(INT, 'bodies'),
    how=(INT, 'bodies'),  # it takes its step
    ball=(INT, 'bodies', 3),  # bodies of the ball joint that turns before it; -1: none does
    carried=(INT, 'bodies', 'goals'),  # 1 for goals that it moves
    # scratch:
    aims=(FLOAT, 'goals', 9),  # matrices with columns h: cost = const - 2 sum h.e, e columns of R
)
own_at = COORDINATE_DESCENT.vector_view()

# B and C below this, relative to the terms of their sums, are rounding: all angles are equally
# good.
EQUAL_ANGLES = 1e-14

NOISE = 1e-14  # A search has to lower the cost by at least this fraction

SCAN = 32  # Steps per turn of the scan before a golden section search

RESOLUTION = 1e-11  # Width [rad or m] at which a golden section ends

SPACING = 1e-15  # Width, relative to the variable, below which doubles may be adjacent

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@kernel
def sweep(search: Record) -> None:
    """Sweep once over the bodies: x, inside its bounds, becomes better or stays.

    The goals' frames move along with each step; a body's own frame is brought up to date when
    its turn comes, so a sweep costs about as much as one evaluation.
    """
    own, p, x, bounds = own_at(search.own), goals_of(search), search.x, search.problem.bounds
    _aim(p, own.aims)
    for step in range(search.bodies):
        k, carried = own.body[step], own.carried[step]
        place_body(p.tree, p.geometry, x, k, p.frames)
        if own.ball[step, 0] >= 0:
            _turn_ball(p, bounds, own.ball[step], carried, x)
        j = p.tree[k, VARIABLE]
        if own.how[step] == SEARCH:
            _search(p, search.trial_residual, x, j, bounds[0, j], bounds[1, j])
        elif own.how[step] == CLOSED_FORM:
            before, ratio, frame = x[j], p.geometry[k, MULTIPLIER], frame_at(p.frames, k)
            if p.tree[k, KIND] == PRISMATIC:
                shift = _best_shift(p, carried, frame)
                x[j] = clamp(before + shift / ratio, bounds[0, j], bounds[1, j])
                _shift_tips(carried, frame, ratio * (x[j] - before), p.tips)
            else:
                b, c = _turn_terms(p, own.aims, carried, frame)
                x[j] = _turn_inside(before, ratio, b, c, bounds[0, j], bounds[1, j])
                _turn_tips(carried, frame, ratio * (x[j] - before), p.tips)
            place_body(p.tree, p.geometry, x, k, p.frames)


@kernel
def chordal_cost(p: Packed) -> float:
    """Return the cost that sweeps lower, from the goals' unscaled components."""
    cost = 0.0
    for i in range(p.table.shape[0]):
        chord = 1.0
        if p.table[i, ROTATION] == VECTOR or p.table[i, ROTATION] == AXIS:
            angle = norm((p.raw[i, 3], p.raw[i, 4], p.raw[i, 5]))
            if angle > 1e-8:
                chord = 2.0 * math.sin(0.5 * angle) / angle
        for c in range(COMPONENTS):
            if p.table[i, ROWS + c] >= 0:
                component = p.tools[i, SCALE + c] * p.raw[i, c] * (chord if c >= 3 else 1.0)
                cost += component * component
    return cost


@kernel
def _aim(p: Packed, aims: Array) -> None:
    """Fill aims (G, 9): matrices of columns h; cost = const - 2 sum h.e over the columns e of R.

    For the components v = sin(t / 2) n of the quaternion of Rt'R = M, 4 v_x^2 = 1 + M_xx - M_yy
    - M_zz and so on: the sum of 4 w v^2 is linear in the diagonal of M, which is Rt's columns
    times R's.
    """
    for i in range(p.table.shape[0]):
        wx, wy, wz = p.tools[i, SCALE + 3], p.tools[i, SCALE + 4], p.tools[i, SCALE + 5]
        wx, wy, wz = wx * wx, wy * wy, wz * wz
        if p.table[i, ROTATION] == VECTOR:
            pulls = (0.5 * (wy + wz - wx), 0.5 * (wz + wx - wy), 0.5 * (wx + wy - wz))
        elif p.table[i, ROTATION] == AXIS:
            pulls = (0.0, 0.0, wx)
        elif p.table[i, ROTATION] == TWO_AXES:
            pulls = (wx, wx, 0.0)
        else:
            continue
        for c in range(3):
            for d in range(0, 9, 3):
                aims[i, d + c] = pulls[c] * p.targets[i, d + c]


@kernel
def _turn_terms(p: Packed, aims: Array, carried: IntArray, frame: Frame) -> tuple[float, float]:
    """Return B and C of cost = const - 2 (B cos a + C sin a); both 0 if no turn is better."""
    b = c = size = 0.0
    axis, centre = (frame[2], frame[5], frame[8]), (frame[9], frame[10], frame[11])
    for i in range(p.table.shape[0]):
        if carried[i] == 0:
            continue
        tip, target, aim = frame_at(p.tips, i), frame_at(p.targets, i), aims[i]
        if p.table[i, POSITION] != NONE:
            weight = p.tools[i, SCALE] * p.tools[i, SCALE]
            e = minus((tip[9], tip[10], tip[11]), centre)
            h = minus((target[9], target[10], target[11]), centre)
            b += weight * (dot(h, e) - dot(h, axis) * dot(e, axis))
            c += weight * dot(axis, cross(e, h))
            size += weight * (dot(e, e) + dot(h, h))
        if p.table[i, ROTATION] != NONE:
            for d in range(3):
                e = (tip[d], tip[3 + d], tip[6 + d])
                h = (aim[d], aim[3 + d], aim[6 + d])
                b += dot(h, e) - dot(h, axis) * dot(e, axis)
                c += dot(axis, cross(e, h))
                size += math.sqrt(dot(h, h))
    if math.sqrt(b * b + c * c) <= EQUAL_ANGLES * size:
        return 0.0, 0.0
    return b, c


@kernel
def _turn_inside(x: float, ratio: float, b: float, c: float, lower: float, upper: float) -> float:
    """Return the variable's best value: the nearest best turn inside the limits, or the better
    limit. `ratio` is the joint's angle per unit of the variable."""
    if b == 0.0 and c == 0.0:
        return x
    best, turn = x + math.atan2(c, b) / ratio, FULL_TURN / abs(ratio)
    if best < lower:
        best += turn
    elif best > upper:
        best -= turn
    if lower <= best <= upper:
        return best
    best, most = x, b
    for limit in (lower, upper):  # both finite, and less than a turn apart
        gain = b * math.cos(ratio * (limit - x)) + c * math.sin(ratio * (limit - x))
        if gain > most:
            best, most = limit, gain
    return best


@kernel
def _best_shift(p: Packed, carried: IntArray, frame: Frame) -> float:
    """Return the best shift [m] along the axis, sum w v d / sum w v^2.

    v and d are components of the axis and the error, in the axes of the weights w.
    """
    missing = size = 0.0
    axis = (frame[2], frame[5], frame[8])
    for i in range(p.table.shape[0]):
        if carried[i] == 0 or p.table[i, POSITION] == NONE:
            continue
        tip, t = frame_at(p.tips, i), frame_at(p.targets, i)
        v, d = axis, (t[9] - tip[9], t[10] - tip[10], t[11] - tip[11])
        if p.table[i, POSITION] == GOAL_AXES:
            v, d = in_axes(t, v), in_axes(t, d)
        for component in range(3):
            weight = p.tools[i, SCALE + component] ** 2
            missing += weight * v[component] * d[component]
            size += weight * v[component] * v[component]
    return missing / size if size > 0.0 else 0.0


@kernel
def _turn_tips(carried: IntArray, frame: Frame, angle: float, tips: Array) -> None:
    """Turn the goals' frames that the body moves about the z axis of its frame."""
    if angle == 0.0:
        return
    c, s = math.cos(angle), math.sin(angle)
    axis, centre = (frame[2], frame[5], frame[8]), (frame[9], frame[10], frame[11])
    for i in range(tips.shape[0]):
        if carried[i] == 0:
            continue
        tip = tips[i]
        for d in range(3):
            column = (tip[d], tip[3 + d], tip[6 + d])
            tip[d], tip[3 + d], tip[6 + d] = _turned(column, axis, c, s)
        e = _turned(minus((tip[9], tip[10], tip[11]), centre), axis, c, s)
        tip[9], tip[10], tip[11] = centre[0] + e[0], centre[1] + e[1], centre[2] + e[2]


@kernel
def _shift_tips(carried: IntArray, frame: Frame, shift: float, tips: Array) -> None:
    """Shift the goals' frames that the body moves along the z axis of its frame."""
    for i in range(tips.shape[0]):
        if carried[i] != 0:
            for d in range(3):
                tips[i, 9 + d] += shift * frame[3 * d + 2]


@kernel
def _search(p: Packed, residual: Array, x: Array, j: int, lower: float, upper: float) -> None:
    """Minimise the cost over x[j], inside its limits and a turn or 2 pi metres to each side.

    A scan outwards, then a golden section about the best value. Updates all frames.
    """
    before, step = x[j], FULL_TURN / SCAN
    best, least = before, _cost_at(p, residual, x, j, before)
    for i in range(1, SCAN + 1):
        for side in (-step, step):
            value = clamp(before + i * side, lower, upper)
            if abs(value - before) > (i - 1) * step:  # else the scan is past the limit
                cost = _cost_at(p, residual, x, j, value)
                if cost < least * (1.0 - NOISE):
                    best, least = value, cost
    found = _golden_section(p, residual, x, j, max(lower, best - step), min(upper, best + step))
    cost = _cost_at(p, residual, x, j, found)
    _cost_at(p, residual, x, j, found if cost < least * (1.0 - NOISE) else best)


@kernel
def _golden_section(
    p: Packed, residual: Array, x: Array, j: int, low: float, high: float
) -> float:
    """Return the x[j] between `low` and `high` with the least cost, if it is unimodal there."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    left_cost, right_cost = _cost_at(p, residual, x, j, left), _cost_at(p, residual, x, j, right)
    resolution = max(RESOLUTION, SPACING * max(abs(low), abs(high)))
    while high - low > resolution:
        if left_cost < right_cost:
            high, right, right_cost = right, left, left_cost
            left = high - GOLDEN * (high - low)
            left_cost = _cost_at(p, residual, x, j, left)
        else:
            low, left, left_cost = left, right, right_cost
            right = low + GOLDEN * (high - low)
            right_cost = _cost_at(p, residual, x, j, right)
    return left if left_cost < right_cost else right


@kernel
def _cost_at(p: Packed, residual: Array, x: Array, j: int, value: float) -> float:
    """Return the cost that sweeps lower, with x[j] = value; updates all frames."""
    x[j] = value
    update(p, x, residual)
    return chordal_cost(p)


@kernel
def _turn_ball(p: Packed, bounds: Array, ball: IntArray, carried: IntArray, x: Array) -> None:
    """Turn a ball joint about the axis across the directions to its one tip and to its goal."""
    k1, k2, k3 = ball[0], ball[1], ball[2]
    for k in (k1, k2, k3):
        place_body(p.tree, p.geometry, x, k, p.frames)
    i = 0
    while carried[i] == 0:
        i += 1
    f1, f2, f3 = frame_at(p.frames, k1), frame_at(p.frames, k2), frame_at(p.frames, k3)
    tip, target = frame_at(p.tips, i), frame_at(p.targets, i)
    u1, u2, u3 = (f1[2], f1[5], f1[8]), (f2[2], f2[5], f2[8]), (f3[2], f3[5], f3[8])
    centre = (f3[9], f3[10], f3[11])
    e = minus((tip[9], tip[10], tip[11]), centre)
    h = minus((target[9], target[10], target[11]), centre)
    across, size = cross(e, h), dot(e, e) + dot(h, h)
    sine = norm(across)
    if sine <= EQUAL_ANGLES * size:  # no axis is better than others
        return
    axis, angle = (
        (across[0] / sine, across[1] / sine, across[2] / sine),
        math.atan2(sine, dot(e, h)),
    )
    j1, j2, j3 = p.tree[k1, VARIABLE], p.tree[k2, VARIABLE], p.tree[k3, VARIABLE]
    x1, x2, x3 = x[j1], x[j2], x[j3]
    missing = minus(e, h)
    least, shortest = dot(missing, missing), 0.0
    for sign in (1.0, -1.0):
        da, db, dc = _split_turn(u1, u2, u3, axis, angle, sign)
        y1 = _step_inside(x1, da, bounds[0, j1], bounds[1, j1])
        y2 = _step_inside(x2, db, bounds[0, j2], bounds[1, j2])
        y3 = _step_inside(x3, dc, bounds[0, j3], bounds[1, j3])
        reached = _turned_by(_turned_by(_turned_by(e, u3, y3 - x3), u2, y2 - x2), u1, y1 - x1)
        missing = minus(reached, h)
        cost, moved = dot(missing, missing), abs(y1 - x1) + abs(y2 - x2) + abs(y3 - x3)
        alike = abs(cost - least) <= EQUAL_ANGLES * size
        if (alike and moved < shortest) or (cost < least and not alike):
            least, shortest = cost, moved
            x[j1], x[j2], x[j3] = y1, y2, y3
            for d in range(3):
                p.tips[i, 9 + d] = centre[d] + reached[d]
    for k in (k1, k2, k3):
        place_body(p.tree, p.geometry, x, k, p.frames)


@kernel
def _split_turn(
    u1: Vector, u2: Vector, u3: Vector, axis: Vector, angle: float, sign: float
) -> Vector:
    """Return turns (da, db, dc) about a ball joint's axes that make a turn W: one of two ways.

    For the axes as they stand, u2 at right angles to both others, W = R(u1, da) R(u2, db)
    R(u3, dc). W u3 = R(u1, da) R(u2, db) u3 gives db, up to a sign, by its part along u1, which
    da does not change, and then da; W u2 gives dc.
    """
    goal3, goal2 = _turned_by(u3, axis, angle), _turned_by(u2, axis, angle)
    middle = math.atan2(dot(u1, cross(u2, u3)), dot(u1, u3))
    spread = math.atan2(norm(cross(u1, goal3)), dot(u1, goal3))
    db = middle + sign * spread
    da = _angle_about(u1, _turned_by(u3, u2, db), goal3)
    dc = _angle_about(u3, u2, _turned_by(_turned_by(goal2, u1, -da), u2, -db))
    return da, db, dc


@kernel
def _angle_about(axis: Vector, start: Vector, end: Vector) -> float:
    """Return the turn about `axis` from `start` to `end`; 0 if one is parallel to the axis."""
    sine = dot(axis, cross(start, end))
    cosine = dot(start, end) - dot(start, axis) * dot(end, axis)
    is_clear = math.sqrt(sine * sine + cosine * cosine) > EQUAL_ANGLES
    return math.atan2(sine, cosine) if is_clear else 0.0


@kernel
def _step_inside(x: float, step: float, lower: float, upper: float) -> float:
    """Return x + step, or that plus whole turns, inside the limits; else the nearest limit."""
    turn = FULL_TURN
    best = x + step - turn * round(step / turn)
    if best < lower and best + turn <= upper:
        best += turn
    elif best > upper and best - turn >= lower:
        best -= turn
    if best < lower:
        return upper if best + turn - upper < lower - best else lower
    if best > upper:
        return lower if lower - (best - turn) < best - upper else upper
    return best


@kernel
def _turned_by(v: Vector, axis: Vector, angle: float) -> Vector:
    """Return a vector turned about a unit axis by an angle."""
    return _turned(v, axis, math.cos(angle), math.sin(angle))


@kernel
def _turned(v: Vector, axis: Vector, c: float, s: float) -> Vector:
    """Return a vector turned about a unit axis, by an angle with cosine c and sine s (Rodrigues;
    Eq. 5 does it with quaternions)."""
    along = (1.0 - c) * dot(axis, v)
    w = cross(axis, v)
    return (
        c * v[0] + s * w[0] + along * axis[0],
        c * v[1] + s * w[1] + along * axis[1],
        c * v[2] + s * w[2] + along * axis[2],
    )
