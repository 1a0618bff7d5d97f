# SPDX-License-Identifier: Apache-2.0
"""One sweep of `cyclic_coordinate_descent`, whose module has the formulas: a kernel over the plan.

The plan (K, GOALS + G) says in which order the bodies take their steps, and how each does.
"""

from __future__ import annotations

import math

from ..kernels.jit import kernel
from ..maths.boxed_step import clamp
from ..maths.rotations import Array, Frame, IntArray, frame_at, in_axes
from ..maths.vectors import Vector, cross, dot, minus, norm
from ..robot.kinematics import KIND, MULTIPLIER, PRISMATIC, VARIABLE, place_body
from ..robot.limits import TURN
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

# How a body takes its step
SKIP, CLOSED_FORM, SEARCH = range(3)
# Columns of the plan of a sweep; from GOALS on, one for each goal: whether the body moves it
BODY, HOW, BALL, GOALS = 0, 1, 2, 5

FLAT = 1e-14
"""B and C below this share of what they are sums of are rounding: no turn is better."""

NOISE = 1e-14
"""A search that lowers the cost by a smaller share than this has found nothing."""

SCAN = 32
"""Steps per turn of the scan that comes before a golden section."""

RESOLUTION = 1e-11
"""Width [rad or m] at which a golden section ends."""

SPACING = 1e-15
"""Width, relative to the variable, below which there may be no number between two others."""

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@kernel
def sweep(
    p: Packed, bounds: Array, plan: IntArray, residual: Array, aims: Array, x: Array
) -> None:
    """One iteration: x (variables,), inside its bounds, becomes better or stays.

    `p` is that of x; aims (G, 9) and residual (m,) are scratch.

    The goals' frames move along with each step; a body's own frame is brought up to date when
    its turn comes, so a sweep costs about as much as one evaluation.
    """
    _aim(p, aims)
    for step in range(plan.shape[0]):
        row, k = plan[step], plan[step, BODY]
        place_body(p.tree, p.geometry, x, k, p.frames)
        if row[BALL] >= 0:
            _turn_ball(p, bounds, row, x)
        j = p.tree[k, VARIABLE]
        if row[HOW] == SEARCH:
            _search(p, residual, x, j, bounds[0, j], bounds[1, j])
        elif row[HOW] == CLOSED_FORM:
            before, ratio, frame = x[j], p.geometry[k, MULTIPLIER], frame_at(p.frames, k)
            if p.tree[k, KIND] == PRISMATIC:
                shift = _best_shift(p, row, frame)
                x[j] = clamp(before + shift / ratio, bounds[0, j], bounds[1, j])
                _shift_tips(row, frame, ratio * (x[j] - before), p.tips)
            else:
                b, c = _turn_terms(p, aims, row, frame)
                x[j] = _turn_inside(before, ratio, b, c, bounds[0, j], bounds[1, j])
                _turn_tips(row, frame, ratio * (x[j] - before), p.tips)
            place_body(p.tree, p.geometry, x, k, p.frames)


@kernel
def chordal_cost(p: Packed) -> float:
    """The cost that sweeps lower, from the goals' components, unscaled (`goal_residuals`)."""
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
    """aims (G, 9): matrices with columns h so that cost = const - 2 sum h.e over columns e of R.

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
def _turn_terms(p: Packed, aims: Array, row: IntArray, frame: Frame) -> tuple[float, float]:
    """B and C of cost = const - 2 (B cos a + C sin a), both 0 where the turn does not matter."""
    b = c = size = 0.0
    axis, centre = (frame[2], frame[5], frame[8]), (frame[9], frame[10], frame[11])
    for i in range(p.table.shape[0]):
        if row[GOALS + i] == 0:
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
    if math.sqrt(b * b + c * c) <= FLAT * size:
        return 0.0, 0.0
    return b, c


@kernel
def _turn_inside(x: float, ratio: float, b: float, c: float, lower: float, upper: float) -> float:
    """The variable that turns the joint best: the nearest such value inside the limits, or the
    better limit. `ratio` is the joint's angle per unit of the variable."""
    if b == 0.0 and c == 0.0:
        return x
    best, turn = x + math.atan2(c, b) / ratio, TURN / abs(ratio)
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
def _best_shift(p: Packed, row: IntArray, frame: Frame) -> float:
    """The best shift [m] along the axis: sum w v d / sum w v^2 for the components v of the axis
    and d of the error, in the axes in which the weights act.
    """
    missing = size = 0.0
    axis = (frame[2], frame[5], frame[8])
    for i in range(p.table.shape[0]):
        if row[GOALS + i] == 0 or p.table[i, POSITION] == NONE:
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
def _turn_tips(row: IntArray, frame: Frame, angle: float, tips: Array) -> None:
    """Turn the goals' frames that the body moves about the z axis of its frame."""
    if angle == 0.0:
        return
    c, s = math.cos(angle), math.sin(angle)
    axis, centre = (frame[2], frame[5], frame[8]), (frame[9], frame[10], frame[11])
    for i in range(tips.shape[0]):
        if row[GOALS + i] == 0:
            continue
        tip = tips[i]
        for d in range(3):
            column = (tip[d], tip[3 + d], tip[6 + d])
            tip[d], tip[3 + d], tip[6 + d] = _turned(column, axis, c, s)
        e = _turned(minus((tip[9], tip[10], tip[11]), centre), axis, c, s)
        tip[9], tip[10], tip[11] = centre[0] + e[0], centre[1] + e[1], centre[2] + e[2]


@kernel
def _shift_tips(row: IntArray, frame: Frame, shift: float, tips: Array) -> None:
    """Shift the goals' frames that the body moves along the z axis of its frame."""
    for i in range(tips.shape[0]):
        if row[GOALS + i] != 0:
            for d in range(3):
                tips[i, 9 + d] += shift * frame[3 * d + 2]


@kernel
def _search(p: Packed, residual: Array, x: Array, j: int, lower: float, upper: float) -> None:
    """Minimise the cost over x[j], inside its limits and a turn or 2 pi metres to each side: a
    scan outwards, then a golden section about the best. All frames are up to date afterwards."""
    before, step = x[j], TURN / SCAN
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
    """The x[j] between `low` and `high` with the least cost, if it has one minimum there."""
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
    """The cost that sweeps lower with x[j] = value; brings all frames up to date."""
    x[j] = value
    update(p, x, residual)
    return chordal_cost(p)


@kernel
def _turn_ball(p: Packed, bounds: Array, row: IntArray, x: Array) -> None:
    """Turn a ball joint about the axis across the directions to its one tip and to its goal."""
    k1, k2, k3 = row[BALL], row[BALL + 1], row[BALL + 2]
    for k in (k1, k2, k3):
        place_body(p.tree, p.geometry, x, k, p.frames)
    i = 0
    while row[GOALS + i] == 0:
        i += 1
    f1, f2, f3 = frame_at(p.frames, k1), frame_at(p.frames, k2), frame_at(p.frames, k3)
    tip, target = frame_at(p.tips, i), frame_at(p.targets, i)
    u1, u2, u3 = (f1[2], f1[5], f1[8]), (f2[2], f2[5], f2[8]), (f3[2], f3[5], f3[8])
    centre = (f3[9], f3[10], f3[11])
    e = minus((tip[9], tip[10], tip[11]), centre)
    h = minus((target[9], target[10], target[11]), centre)
    across, size = cross(e, h), dot(e, e) + dot(h, h)
    sine = norm(across)
    if sine <= FLAT * size:  # no axis is better than others
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
        cost, way = dot(missing, missing), abs(y1 - x1) + abs(y2 - x2) + abs(y3 - x3)
        alike = abs(cost - least) <= FLAT * size
        if (alike and way < shortest) or (cost < least and not alike):
            least, shortest = cost, way
            x[j1], x[j2], x[j3] = y1, y2, y3
            for d in range(3):
                p.tips[i, 9 + d] = centre[d] + reached[d]
    for k in (k1, k2, k3):
        place_body(p.tree, p.geometry, x, k, p.frames)


@kernel
def _split_turn(
    u1: Vector, u2: Vector, u3: Vector, axis: Vector, angle: float, sign: float
) -> Vector:
    """The turns (da, db, dc) about a ball joint's axes that are a turn W: one of two ways.

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
    """The turn about `axis` from `start` to `end`; 0 where one is parallel to the axis."""
    sine = dot(axis, cross(start, end))
    cosine = dot(start, end) - dot(start, axis) * dot(end, axis)
    return math.atan2(sine, cosine) if math.sqrt(sine * sine + cosine * cosine) > FLAT else 0.0


@kernel
def _step_inside(x: float, step: float, lower: float, upper: float) -> float:
    """x + step or whole turns from there, inside the limits, else the limit next to it."""
    turn = TURN
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
    """A vector turned about a unit axis by an angle."""
    return _turned(v, axis, math.cos(angle), math.sin(angle))


@kernel
def _turned(v: Vector, axis: Vector, c: float, s: float) -> Vector:
    """A vector turned about a unit axis (Rodrigues; Eq. 5 does it with quaternions), by an angle
    with the cosine c and the sine s."""
    along = (1.0 - c) * dot(axis, v)
    w = cross(axis, v)
    return (
        c * v[0] + s * w[0] + along * axis[0],
        c * v[1] + s * w[1] + along * axis[1],
        c * v[2] + s * w[2] + along * axis[2],
    )
