# SPDX-License-Identifier: Apache-2.0
"""The kernel: it solves a list of subproblem records for all branches, in lanes of any width.

A sign selects one of the two solutions of a record. A *branch* is a choice of all signs, of which
there are at most three. Lanes hold poses, whose branches are solved one after the other in passes;
or they hold the branches of a single pose (`spread`: the number of signs that differ from lane to
lane). Passes count in binary, the last sign fastest. Each begins with the first record whose sign
has changed, and keeps the joints solved before it. If a record has no solution in any lane, or the
joints solved so far violate their limits, all passes with the same signs up to there are skipped.

All candidates, including those of `elimination`, are checked by one criterion: the loop must close
inside the limits. `records` describes the arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..kernels.jit import inline_kernel, kernel
from ..kernels.signatures import Array2
from ..maths.lanes import (
    Number,
    angle_of,
    bits,
    cos_sin,
    floor,
    in_lanes,
    least,
    most,
    root,
    select,
)
from ..maths.rotations import Array, IntArray, compose, frame_at, from_axes, in_axes
from ..maths.vectors import Vector, cross, dot, minus, times
from ..robot.limits import FULL_TURN
from . import records as rec
from .formulas import (
    COARSE,
    FINE,
    ZERO_COEFFICIENT,
    Affine,
    across,
    add,
    blend,
    combined,
    cone,
    line,
    line_of_shift,
    plane,
    product,
    quartic,
    rotated,
    sphere,
    turn,
)
from .records import axis_at, frame_in, point_at, put_frame_in, result_at

EXACT = 1e-9  # Largest error [m, rad] of a solution
SAME = 1e-4  # Solutions that differ by no more in any joint are the same [rad or m]
# A joint that violates a limit by no more is moved onto it [rad or m]; EXACT allows for this.
LIMIT_SNAP = 1e-9
# An exact solution that violates a limit by at most this, or by MISSES, may be next to one inside
# the limits and within the tolerances.
TOUCHING_LIMIT = 1e-4
# Solutions whose subproblems are further from their ends than this differ from all others.
CLEARLY_DIFFERENT = 1e-7
# A subproblem has no solution, not even nearby, if its gap is below minus this, or below minus the
# margin if that is larger.
LENIENT = 0.025
# Rounds to the upper one if two turns are equally near, half a turn more and half a turn less, as
# where a wrist flips; also if rounding favours the lower one.
HALF = 0.5 - 1e-9
# Distance of undetermined joints from the start [rad]. NaN: mark the joints as undetermined.
BY_START = 0.0
POSES = 0  # `spread` if each lane has another pose
BRANCHES = rec.SIGNS  # `spread` if each lane has another branch of one pose
FRESH, ADDED, MEASURED = range(3)  # Tasks of `solve_branches`

_in_lanes = in_lanes[rec.WIDTH]
_arrays_at = rec.ARRAYS.vector_view()


# --- the loop ------------------------------------------------------------------------------------


@inline_kernel
def _carry(
    plan: IntArray,
    numbers: Array,
    lanes: Array,
    span: int,
    direction: float,
    v: Vector,
    offset: float,
) -> Vector:
    """Return v moved by the elements of a span of paths."""
    first, last = plan[span], plan[span + 1]
    return _carry_along(plan, numbers, lanes, first, last, direction, v, offset)


@inline_kernel
def _carry_along(
    plan: IntArray, numbers: Array, lanes: Array, first: int, last: int, direction: float,
    v: Vector, offset: float,
) -> Vector:  # fmt: skip
    """Return v moved by elements first..last-1 of the paths; offset 1.0: a point, 0.0: a
    direction.

    direction: 1.0: by their motions, the last element first; -1.0: by the inverses, the first one
    first
    """
    for i in range(first, last):
        k = plan[i] if direction < 0.0 else plan[first + last - 1 - i]
        if k == rec.TARGET:
            frame = frame_in(lanes, rec.POSE)
            shift = times(offset, (frame[9], frame[10], frame[11]))
            if (direction > 0.0) == (plan[rec.MIRRORED] != 0):
                v = add(from_axes(frame, v), shift)
            else:
                v = in_axes(frame, minus(v, shift))
        elif numbers[k, rec.SLIDES] > 0.0:
            v = add(v, times(direction * offset * lanes[rec.COS + k], axis_at(numbers, k)))
        else:
            point = times(offset, point_at(numbers, k))
            c, s = lanes[rec.COS + k], direction * lanes[rec.SIN + k]
            v = add(rotated(axis_at(numbers, k), c, s, minus(v, point)), point)
    return v


@inline_kernel
def error_of(plan: IntArray, numbers: Array, lanes: Array) -> Number:
    """Return the gap of the loop at the goal's frame [m, rad]."""
    zero = 0.0 * lanes[rec.GOAL]
    x = numbers[rec.TIP, 0] + zero, numbers[rec.TIP, 3] + zero, numbers[rec.TIP, 6] + zero
    y = numbers[rec.TIP, 1] + zero, numbers[rec.TIP, 4] + zero, numbers[rec.TIP, 7] + zero
    p = numbers[rec.TIP, 9] + zero, numbers[rec.TIP, 10] + zero, numbers[rec.TIP, 11] + zero
    for i in range(plan[rec.JOINTS] - 1, -1, -1):
        frame = frame_at(numbers, rec.JUDGED + i)
        c, s = lanes[rec.COS + i + 1], lanes[rec.SIN + i + 1]
        if numbers[i + 1, rec.SLIDES] > 0.0:
            p = p[0], p[1], p[2] + c
        else:
            x, y, p = _spun(c, s, x), _spun(c, s, y), _spun(c, s, p)
        x, y, p = from_axes(frame, x), from_axes(frame, y), from_axes(frame, p)
        p = add(p, (frame[9], frame[10], frame[11]))
    p = minus(p, (lanes[rec.GOAL + 9], lanes[rec.GOAL + 10], lanes[rec.GOAL + 11]))
    if plan[rec.POINT_ONLY] != 0:
        return root(dot(p, p))
    z = cross(x, y)
    x = minus(x, (lanes[rec.GOAL], lanes[rec.GOAL + 3], lanes[rec.GOAL + 6]))
    y = minus(y, (lanes[rec.GOAL + 1], lanes[rec.GOAL + 4], lanes[rec.GOAL + 7]))
    z = minus(z, (lanes[rec.GOAL + 2], lanes[rec.GOAL + 5], lanes[rec.GOAL + 8]))
    return root(most(dot(p, p), 0.5 * (dot(x, x) + dot(y, y) + dot(z, z))))


@inline_kernel
def _spun(c: Number, s: Number, v: Vector) -> Vector:
    """Return v rotated about the z axis."""
    return c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]


# --- records -------------------------------------------------------------------------------------


@inline_kernel
def _free(lanes: Array, k: int) -> tuple[Number, Number]:
    """Return the cosine and sine that element k gets if it is undetermined (`set_free`)."""
    return lanes[rec.FREE + 2 * k], lanes[rec.FREE + 2 * k + 1]


@inline_kernel
def _turn(numbers: Array, lanes: Array, k: int, a: Vector, w: Vector) -> None:
    """Solve the element k that brings a to w, both relative to its point."""
    h = axis_at(numbers, k)
    if numbers[k, rec.SLIDES] > 0.0:
        lanes[rec.COS + k] = dot(h, minus(w, a))
    else:
        lanes[rec.COS + k], lanes[rec.SIN + k] = turn(h, a, w, _free(lanes, k), lanes[rec.SHORT])


@inline_kernel
def _solve(
    plan: IntArray, numbers: Array, lanes: Array, r: int, one: int, again: bool, shared: bool
) -> None:
    """Solve the joints of the record at index r of the plan, and the gap of its sign.

    one: the record's number; again: only its sign has changed since the last call; shared: only
    the plan's last sign has
    """
    kind, j, offset = plan[r + rec.KIND], plan[r + rec.JOINT], float(plan[r + rec.IS_POINT])
    kept = rec.KEPT + rec.KEEPS * one
    if again and kind < rec.PLACE and numbers[j, rec.SLIDES] == 0.0:
        a = lanes[kept + 4], lanes[kept + 5], lanes[kept + 6]
        w = lanes[kept + 7], lanes[kept + 8], lanes[kept + 9]
        _angle_of_sign(plan, numbers, lanes, r, kept, a, w, offset)
        return
    if kind >= rec.PLACE:
        _solve_three(plan, numbers, lanes, r)
        return
    h, p = axis_at(numbers, j), times(offset, point_at(numbers, j))
    seen, row = plan[r + rec.SEEN], plan[r + rec.MOVED]
    h0, p0 = axis_at(numbers, seen), times(offset, point_at(numbers, seen))
    x = point_at(numbers, row) if plan[r + rec.IS_POINT] != 0 else axis_at(numbers, row)
    a = minus(_carry(plan, numbers, lanes, r + rec.INSIDE, 1.0, x, offset), p)
    middle = plan[r + rec.SHARED]
    if shared:
        x = lanes[kept + 10], lanes[kept + 11], lanes[kept + 12]
    else:
        x = _carry_along(plan, numbers, lanes, plan[r + rec.OUTSIDE], middle, -1.0, x, offset)
        lanes[kept + 10], lanes[kept + 11], lanes[kept + 12] = x
    last = plan[r + rec.OUTSIDE + 1]
    if kind == rec.TURN:
        around = plan[r + rec.AROUND]
        if not (shared and around == middle):
            w = _carry_along(plan, numbers, lanes, middle, around, -1.0, x, offset)
            lanes[kept], lanes[kept + 1] = turn(h, a, w, _free(lanes, j), lanes[rec.SHORT])
        c, s = lanes[kept], lanes[kept + 1]
        for i in range(around, last):
            k = plan[i]
            ck, sk = lanes[rec.COS + k], dot(h, axis_at(numbers, k)) * lanes[rec.SIN + k]
            c, s = c * ck + s * sk, s * ck - c * sk
        lanes[rec.COS + j], lanes[rec.SIN + j] = c, s
        return
    w = minus(_carry_along(plan, numbers, lanes, middle, last, -1.0, x, offset), p0)
    f = _carry(plan, numbers, lanes, r + rec.BETWEEN, -1.0, h0, 0.0)
    g = minus(_carry(plan, numbers, lanes, r + rec.BETWEEN, -1.0, p0, offset), p)
    sign = plan[r + rec.SIGN]
    if numbers[j, rec.SLIDES] > 0.0:
        if kind == rec.PLANE:
            lanes[rec.COS + j] = (dot(h0, w) + dot(f, minus(g, a))) / dot(f, h)
        else:
            lanes[rec.COS + j], lanes[rec.GAP + sign] = line_of_shift(
                h, minus(a, g), w, lanes[rec.SIGN_OF + sign]
            )
        a = add(a, times(lanes[rec.COS + j], h))
    else:
        if kind == rec.PLANE:
            x, y, d, gap = plane(h, a, f, dot(h0, w) + dot(f, g), lanes[rec.SHORT])
        elif kind == rec.CONE:
            x, y, d, gap = cone(h, a, f, h0, w)
        else:
            x, y, d, gap = sphere(h, a, g, w, lanes[rec.SHORT])
        lanes[kept], lanes[kept + 1], lanes[kept + 2], lanes[kept + 3], lanes[rec.GAP + sign] = (
            line(x, y, d, gap, _free(lanes, j), lanes[rec.SHORT])
        )
        lanes[kept + 4], lanes[kept + 5], lanes[kept + 6] = a
        lanes[kept + 7], lanes[kept + 8], lanes[kept + 9] = w
        _angle_of_sign(plan, numbers, lanes, r, kept, a, w, offset)
        return
    if plan[r + rec.FIRST] >= 0:
        _turn_first(plan, numbers, lanes, r, add(a, p), w, offset)


@inline_kernel
def _angle_of_sign(
    plan: IntArray, numbers: Array, lanes: Array, r: int, kept: int, a: Vector, w: Vector,
    offset: float,
) -> None:  # fmt: skip
    """Solve the joint of a record by its sign, from both angles, then its first joint."""
    sign, j = lanes[rec.SIGN_OF + plan[r + rec.SIGN]], plan[r + rec.JOINT]
    c, s = lanes[kept] + sign * lanes[kept + 2], lanes[kept + 1] + sign * lanes[kept + 3]
    lanes[rec.COS + j], lanes[rec.SIN + j] = c, s
    if plan[r + rec.FIRST] >= 0:
        a = add(rotated(axis_at(numbers, j), c, s, a), times(offset, point_at(numbers, j)))
        _turn_first(plan, numbers, lanes, r, a, w, offset)


@inline_kernel
def _turn_first(
    plan: IntArray, numbers: Array, lanes: Array, r: int, a: Vector, w: Vector, offset: float
) -> None:
    """Solve the first joint of a record, which brings a to w after its other joints are set."""
    k = plan[r + rec.FIRST]
    a = _carry(plan, numbers, lanes, r + rec.BETWEEN, 1.0, a, offset)
    _turn(numbers, lanes, k, minus(a, times(offset, point_at(numbers, plan[r + rec.SEEN]))), w)


@kernel
def _solve_three(plan: IntArray, numbers: Array, lanes: Array, r: int) -> None:
    """Solve a record of three joints: E1 E2 v(E3) = far, for a point (PLACE) or a normal (LEVEL).

    Its height along the first axis is one equation, f . E2 v = b1; the length of the point, or
    where the plane is, another one, g . E2 v = b2. With |E2 v| = |v| they leave an equation in the
    third joint alone. Where the first joint slides, the height gives its shift.
    """
    j, i, first = plan[r + rec.JOINT], plan[r + rec.INNER], plan[r + rec.FIRST]
    h, p, slides = axis_at(numbers, j), point_at(numbers, j), numbers[i, rec.SLIDES] > 0.0
    h0, p0 = axis_at(numbers, plan[r + rec.SEEN]), point_at(numbers, plan[r + rec.SEEN])
    f = _carry(plan, numbers, lanes, r + rec.BETWEEN, -1.0, h0, 0.0)
    g = minus(p, _carry(plan, numbers, lanes, r + rec.BETWEEN, -1.0, p0, 1.0))
    moved = point_at(numbers, plan[r + rec.MOVED])
    w = minus(_carry(plan, numbers, lanes, r + rec.OUTSIDE, -1.0, moved, 1.0), p0)
    if plan[r + rec.KIND] == rec.PLACE:
        far, offset = w, 1.0
        v0, v1, v2, square, b1, b2 = _terms_of_point(plan, numbers, lanes, r, f, g, w)
    else:
        far = _carry(
            plan, numbers, lanes, r + rec.OUTSIDE, -1.0, axis_at(numbers, plan[r + rec.MOVED]), 0.0
        )
        v0, v1, v2, square, b1, b2 = _terms_of_plane(plan, numbers, lanes, r, w, far)
        g, offset = times(-1.0, g), 0.0
    zero = 0.0 * lanes[rec.GOAL]
    along = dot(h, v0) + zero, dot(h, v1) + zero, dot(h, v2) + zero
    shift, one = (zero, zero, zero), (zero + 1.0, zero, zero)
    y0, y1, k = v0, v0, zero
    if numbers[first, rec.SLIDES] > 0.0:  # E2 v = y0 - d f, whose height along h gives the shift d
        y0 = minus(_carry(plan, numbers, lanes, r + rec.BETWEEN, -1.0, add(w, p0), 1.0), p)
        shift = _affine(1.0 / dot(h, f), (dot(h, y0) + zero, zero, zero), -1.0, along)
        rest = _affine(1.0, square, 2.0 * dot(y0, f), shift)
        rest = rest[0] - dot(y0, y0), rest[1], rest[2]
        poly = combined(
            1.0, product(slides, rest, one), -1.0, product(slides, shift, shift)
        )  # |v|^2 = |y0 - d f|^2
    elif numbers[j, rec.SLIDES] > 0.0:  # the height along f gives the shift d of the second joint
        seen = dot(f, v0) + zero, dot(f, v1) + zero, dot(f, v2) + zero
        shift = _affine(1.0 / dot(f, h), b1, -1.0, seen)
        seen = dot(g, v0) + zero, dot(g, v1) + zero, dot(g, v2) + zero
        rest = _affine(2.0, seen, -1.0, b2)
        rise = _affine(1.0, shift, 2.0, along)
        rise = rise[0] + 2.0 * dot(h, g), rise[1], rise[2]
        poly = combined(
            1.0, product(slides, rest, one), 1.0, product(slides, shift, rise)
        )  # |v + d h + g|^2 = |w|^2
    else:  # the part of E2 v across h is (b1 y0 + b2 y1) / k
        b1, b2 = _affine(1.0, b1, -dot(h, f), along), _affine(1.0, b2, -dot(h, g), along)
        flat, lever = across(h, f), across(h, g)
        y0, y1, k = cross(lever, h), cross(h, flat), dot(h, cross(flat, lever)) + zero
        poly = combined(
            dot(lever, lever), product(slides, b1, b1),
            -2.0 * dot(flat, lever), product(slides, b1, b2),
        )  # fmt: skip
        poly = combined(1.0, poly, dot(flat, flat), product(slides, b2, b2))
        poly = combined(1.0, poly, k * k, product(slides, along, along))
        poly = combined(1.0, poly, -k * k, product(slides, square, one))
    size, sign = dot(g, g) + dot(w, w) + abs(square[0]), plan[r + rec.SIGN]
    signs = lanes[rec.SIGN_OF + sign], lanes[rec.SIGN_OF + sign + 1]
    c, s, gap = quartic(poly, size * size, signs, _free(lanes, i))
    lanes[rec.GAP + sign] = lanes[rec.GAP + sign + 1] = gap
    lanes[rec.CAREFUL] = 1.0  # as the gap does not tell how far two lines are apart
    if slides:
        c = s / most(1.0 + c, ZERO_COEFFICIENT)
        s = c * c
    lanes[rec.COS + i], lanes[rec.SIN + i] = c, s
    v = add(v0, blend(c, v1, s, v2))
    d = shift[0] + c * shift[1] + s * shift[2]
    if numbers[j, rec.SLIDES] > 0.0:
        lanes[rec.COS + j] = d
        a = add(v, times(d, h))
    else:
        if numbers[first, rec.SLIDES] > 0.0:
            y0 = minus(y0, times(d, f))
        else:
            one_b, two_b = b1[0] + c * b1[1] + s * b1[2], b2[0] + c * b2[1] + s * b2[2]
            y0 = times(1.0 / k, blend(one_b, y0, two_b, y1))
        lanes[rec.COS + j], lanes[rec.SIN + j] = turn(h, v, y0, _free(lanes, j), lanes[rec.SHORT])
        a = rotated(h, lanes[rec.COS + j], lanes[rec.SIN + j], v)
    _turn_first(plan, numbers, lanes, r, add(a, times(offset, p)), far, offset)


# v = v0 + c v1 + s v2 with the third joint's (c, s), or (d, d^2); |v|^2; b1; b2.
Terms = tuple[Vector, Vector, Vector, Affine, Affine, Affine]


@kernel
def _terms_of_point(
    plan: IntArray, numbers: Array, lanes: Array, r: int, f: Vector, g: Vector, w: Vector
) -> Terms:
    """Return the terms of a PLACE: v is the point, relative to the second joint's point."""
    i, zero = plan[r + rec.INNER], 0.0 * lanes[rec.GOAL]
    h, p = axis_at(numbers, i), point_at(numbers, i)
    x = point_at(numbers, plan[r + rec.MOVED])
    u = minus(_carry(plan, numbers, lanes, r + rec.INSIDE, 1.0, x, 1.0), p)
    flat, side = across(h, u), cross(h, u)
    rest, swing = minus(u, flat), flat
    if numbers[i, rec.SLIDES] > 0.0:
        rest, swing, side = u, add(h, times(0.0, u)), times(0.0, u)
    own = point_at(numbers, plan[r + rec.JOINT])
    v0 = minus(_carry(plan, numbers, lanes, r + rec.MIDDLE, 1.0, add(p, rest), 1.0), own)
    v1 = _carry(plan, numbers, lanes, r + rec.MIDDLE, 1.0, swing, 0.0)
    v2 = _carry(plan, numbers, lanes, r + rec.MIDDLE, 1.0, side, 0.0)
    square = dot(v0, v0) + dot(v1, v1) + zero, 2.0 * dot(v0, v1) + zero, 2.0 * dot(v0, v2) + zero
    if numbers[i, rec.SLIDES] > 0.0:
        square = dot(v0, v0) + zero, square[1], dot(v1, v1) + zero
    reach = dot(w, w) - dot(g, g)
    b2 = 0.5 * (reach - square[0]), -0.5 * square[1], -0.5 * square[2]
    return (
        v0,
        v1,
        v2,
        square,
        (dot(axis_at(numbers, plan[r + rec.SEEN]), w) - dot(f, g) + zero, zero, zero),
        b2,
    )


@kernel
def _terms_of_plane(
    plan: IntArray, numbers: Array, lanes: Array, r: int, w: Vector, far: Vector
) -> Terms:
    """Return the terms of a LEVEL: v is the normal, which also gives the plane's position."""
    i, zero = plan[r + rec.INNER], 0.0 * lanes[rec.GOAL]
    h, p = axis_at(numbers, i), point_at(numbers, i)
    x, z = point_at(numbers, plan[r + rec.MOVED]), axis_at(numbers, plan[r + rec.MOVED])
    a = _carry(plan, numbers, lanes, r + rec.INSIDE, 1.0, x, 1.0)
    n = _carry(plan, numbers, lanes, r + rec.INSIDE, 1.0, z, 0.0)
    swing, side = across(h, n), cross(h, n)
    rest, own = minus(n, swing), point_at(numbers, plan[r + rec.JOINT])
    arm = minus(p, _carry(plan, numbers, lanes, r + rec.MIDDLE, -1.0, own, 1.0))
    v0 = _carry(plan, numbers, lanes, r + rec.MIDDLE, 1.0, rest, 0.0)
    v1 = _carry(plan, numbers, lanes, r + rec.MIDDLE, 1.0, swing, 0.0)
    v2 = _carry(plan, numbers, lanes, r + rec.MIDDLE, 1.0, side, 0.0)
    fixed = dot(n, minus(a, p)) - dot(far, w) + dot(rest, arm)
    b1 = dot(axis_at(numbers, plan[r + rec.SEEN]), far) + zero, zero, zero
    b2 = fixed + zero, dot(swing, arm) + zero, dot(side, arm) + zero
    return v0, v1, v2, (zero + 1.0, zero, zero), b1, b2


@kernel
def _affine(p: Number, x: Affine, q: Number, y: Affine) -> Affine:
    """Return p (x + q y)."""
    return p * (x[0] + q * y[0]), p * (x[1] + q * y[1]), p * (x[2] + q * y[2])


# --- joint values --------------------------------------------------------------------------------


@inline_kernel
def _set_joint(
    numbers: Array, lanes: Array, i: int, k: int, value: Number
) -> tuple[Number, Number]:
    """Set joint i, of element k, to the turn next to the start, inside the limits if possible.

    Returns its violation of the limits and its distance from the start [rad or m]. value: its
    angle, or shift
    """
    lower, upper, start = numbers[k, rec.LOWER], numbers[k, rec.UPPER], lanes[rec.START + i]
    x = numbers[k, rec.MULTIPLIER] * (value - numbers[k, rec.OFFSET])
    if numbers[k, rec.SLIDES] == 0.0:
        in_turns = x * (1.0 / FULL_TURN)
        turns = floor((start * (1.0 / FULL_TURN) + HALF) - in_turns)
        turns = least(turns, floor((upper + LIMIT_SNAP) * (1.0 / FULL_TURN) - in_turns))
        turns = most(turns, -floor(in_turns - (lower - LIMIT_SNAP) * (1.0 / FULL_TURN)))
        x = x + FULL_TURN * turns
        if upper - lower < FULL_TURN:
            above, below = x - upper, lower - x + FULL_TURN
            x = select((above > LIMIT_SNAP) & (below < above), x - FULL_TURN, x)
    beyond = most(lower - x, x - upper)
    x = select(beyond > LIMIT_SNAP, x, most(least(x, upper), lower))
    lanes[rec.POINT + i] = x
    return beyond, x - start


@inline_kernel
def _set_joints(
    plan: IntArray, numbers: Array, lanes: Array, r: int, count: int, least_gap: float
) -> bool:
    """Set the joints that a record has solved; return whether any lane may still lead to a
    solution.

    count: the record's number; least_gap: with a smaller gap there is no solution
    """
    used = plan[r + rec.KNOWN_SIGNS]
    gap = 1.0 + 0.0 * lanes[rec.GOAL]
    if used > 0:
        gap = lanes[rec.GAP + used - 1]
    useful = gap > least_gap
    if bits(useful) == 0:
        return False
    beyond, apart = lanes[rec.LIMIT_VIOLATION + count], lanes[rec.SQUARED_DISTANCE + count]
    for m in range(plan[r + rec.SOLVED], plan[r + rec.SOLVED + 1]):
        i = plan[m]
        k = i + 1
        value = lanes[rec.COS + k]
        if numbers[k, rec.SLIDES] == 0.0:
            value = angle_of(lanes[rec.COS + k], lanes[rec.SIN + k])
        over, gap = _set_joint(numbers, lanes, i, k, value)
        beyond, apart = most(beyond, over), apart + gap * gap
    missed = select(
        lanes[rec.SQUARED_DISTANCE + count] >= rec.NONE, 1.0, 0.0
    )  # by a record before: nothing is lost
    lost = useful & (apart != apart) & (missed < 0.5)
    lanes[rec.UNDETERMINED] = select(lost, 1.0, lanes[rec.UNDETERMINED])
    lanes[rec.LIMIT_VIOLATION + count + 1] = beyond
    lanes[rec.SQUARED_DISTANCE + count + 1] = select(useful, apart, rec.NONE)
    useful = useful & (beyond <= numbers[rec.SETTINGS, rec.MARGIN]) & (apart < lanes[rec.BOUND])
    return bits(useful | lost) != 0


@kernel
def set_free(plan: IntArray, numbers: Array, memory: Array, free: float) -> None:
    """Set undetermined joints to their start values plus `free`, and virtual ones to 0."""
    lanes = _in_lanes(memory)
    zero = 0.0 * lanes[rec.BOUND]
    _set_short(memory, COARSE)
    for k in range(plan[rec.ELEMENTS]):
        lanes[rec.FREE + 2 * k], lanes[rec.FREE + 2 * k + 1] = zero + 1.0, zero
    for i in range(plan[rec.JOINTS]):
        k = i + 1
        lanes[rec.FREE + 2 * k], lanes[rec.FREE + 2 * k + 1] = zero + free, zero + free
        if not math.isnan(free):
            start = lanes[rec.START + i] + free
            value = numbers[k, rec.MULTIPLIER] * start + numbers[k, rec.OFFSET]
            lanes[rec.FREE + 2 * k], lanes[rec.FREE + 2 * k + 1] = cos_sin(value)


@kernel
def prepare(plan: IntArray, numbers: Array, memory: Array) -> None:
    """Prepare the values that all branches share, from GOAL, START and VALUE."""
    lanes = _in_lanes(memory)
    pose = compose(frame_in(lanes, rec.GOAL), frame_at(numbers, rec.HOME))
    put_frame_in(lanes, rec.POSE, pose)
    zero = 0.0 * lanes[rec.GOAL]
    beyond, apart, k = zero - rec.NONE, zero, plan[rec.REDUNDANT]
    if k >= 0:
        value = numbers[k, rec.MULTIPLIER] * lanes[rec.VALUE] + numbers[k, rec.OFFSET]
        beyond, gap = _set_joint(numbers, lanes, k - 1, k, value)
        apart = gap * gap
        lanes[rec.COS + k] = value
        if numbers[k, rec.SLIDES] == 0.0:
            lanes[rec.COS + k], lanes[rec.SIN + k] = cos_sin(value)
    lanes[rec.LIMIT_VIOLATION], lanes[rec.SQUARED_DISTANCE] = beyond, apart
    lanes[rec.UNDETERMINED], lanes[rec.CAREFUL] = zero, zero
    for sign in range(rec.SIGNS):
        lanes[rec.GAP + sign] = zero + 1.0


@kernel
def solve_lanes(plan: IntArray, numbers: Array, memory: Array, spread: int) -> None:
    """Fill the results for GOAL, START and VALUE, with FREE at NaN.

    A few poses have undetermined joints. These are solved again with their start values: first all
    joints that only rounding may determine; then, if that gives no solution, only those that
    surely are undetermined. UNDETERMINED still marks these poses.
    """
    prepare(plan, numbers, memory)
    solve_branches(plan, numbers, memory, spread, FRESH)
    lanes = _in_lanes(memory)
    lost = lanes[rec.UNDETERMINED]
    if bits(lost > 0.0) != 0:
        set_free(plan, numbers, memory, BY_START)
        prepare(plan, numbers, memory)
        solve_branches(plan, numbers, memory, spread, FRESH)
        _set_short(memory, FINE)
        solve_branches(plan, numbers, memory, spread, ADDED)
        set_free(plan, numbers, memory, math.nan)
        lanes[rec.UNDETERMINED] = lost


@kernel
def _set_short(memory: Array, square: float) -> None:
    for lane in range(memory.shape[1]):
        memory[rec.SHORT, lane] = square


# --- branches ------------------------------------------------------------------------------------


@kernel
def set_signs(plan: IntArray, memory: Array, spread: int) -> None:
    """Set the branch signs that differ from lane to lane, and remove BOUND."""
    signs = min(spread, plan[rec.USED_SIGNS])
    for lane in range(memory.shape[1]):
        memory[rec.BOUND, lane] = rec.NONE
        for sign in range(signs):
            second = (lane >> (signs - 1 - sign)) & 1
            memory[rec.SIGN_OF + sign, lane] = -1.0 if second else 1.0


@kernel
def _set_pass(plan: IntArray, lanes: Array, spread: int, before: int, count: int) -> int:
    """Set the other signs for a pass; return the first one that has changed."""
    used, changed = plan[rec.USED_SIGNS], 0
    for sign in range(used - 1, spread - 1, -1):
        bit = used - 1 - sign
        lanes[rec.SIGN_OF + sign] = -1.0 if (count >> bit) & 1 else 1.0
        if ((count ^ before) >> bit) & 1:
            changed = sign
    return changed


@kernel
def passes_of(plan: IntArray, spread: int) -> int:
    """Return the number of passes."""
    return 1 << max(plan[rec.USED_SIGNS] - spread, 0)


@kernel
def solve_branches(plan: IntArray, numbers: Array, memory: Array, spread: int, task: int) -> None:
    """Fill the results of all passes, after `prepare`.

    task: FRESH: solutions; ADDED: also, but only those better than the results; MEASURED: the
    joints of all branches, solutions or not, and their distances from their ends
    """
    lanes, least_gap = _in_lanes(memory), -max(LENIENT, numbers[rec.SETTINGS, rec.MARGIN])
    if task == MEASURED:
        least_gap = -rec.NONE
    passes, before, count, reached = passes_of(plan, spread), 0, 0, -1
    while count < passes:
        changed = _set_pass(plan, lanes, spread, before, count)
        first = plan[rec.BEGINS + changed] if count > 0 else 0
        again = count > 0  # in the first record of a later pass only the sign is another
        if changed < plan[rec.USED_SIGNS] - 1:
            reached = -1  # no record so far has been solved for these signs but the last
        before, left_out = count, 0
        for one in range(first, plan[rec.RECORDS]):
            r = rec.HEADER + rec.RECORD * one
            _solve(plan, numbers, lanes, r, one, again and one == first, one <= reached)
            reached = max(reached, one)
            useful = _set_joints(plan, numbers, lanes, r, one, least_gap)
            is_last = task == MEASURED and plan[r + rec.KNOWN_SIGNS] == plan[rec.USED_SIGNS]
            if not (useful or is_last):
                known = max(plan[r + rec.KNOWN_SIGNS], spread)
                left_out = 1 << max(plan[rec.USED_SIGNS] - known, 0)
                break
        for slot in range(count, count + (left_out if task != ADDED else 0)):
            lanes[result_at(slot) + rec.DISTANCE] = rec.NONE
            lanes[result_at(slot) + rec.LIMIT_MARGIN] = -rec.NONE
        if left_out == 0:
            check_closure(plan, numbers, lanes, result_at(count), task)
        count += max(left_out, 1)


@inline_kernel
def check_closure(plan: IntArray, numbers: Array, lanes: Array, at: int, task: int) -> None:
    """Write the result of the branch in each lane: a solution, a near-solution, or neither."""
    margin = numbers[rec.SETTINGS, rec.MARGIN]
    beyond = lanes[rec.LIMIT_VIOLATION + plan[rec.RECORDS]]
    apart = lanes[rec.SQUARED_DISTANCE + plan[rec.RECORDS]]
    kept, end_margin = (beyond <= margin) & (apart < lanes[rec.BOUND]), -beyond
    for sign in range(plan[rec.USED_SIGNS]):
        end_margin = least(end_margin, lanes[rec.GAP + sign])
    if task == MEASURED:
        kept = apart < rec.NONE  # but for what is undetermined
        for sign in range(plan[rec.USED_SIGNS]):
            lanes[at + rec.GAPS + sign] = lanes[rec.GAP + sign]
    else:
        error = error_of(plan, numbers, lanes)
        touching = max(TOUCHING_LIMIT, numbers[rec.SETTINGS, rec.MISSES])
        kept = kept & (error <= margin)
        kept = kept & ((beyond <= LIMIT_SNAP) | (error > EXACT) | (beyond <= touching))
        error = most(error, select(beyond > LIMIT_SNAP, beyond, 0.0))
        if task == ADDED:
            before = lanes[at + rec.ERROR]
            there = lanes[at + rec.DISTANCE] < rec.NONE
            better = kept & ((error <= EXACT) | (lanes[at + rec.DISTANCE] >= rec.NONE))
            better = better & ((before > EXACT) | (lanes[at + rec.DISTANCE] >= rec.NONE))
            _put_result(plan, lanes, at, better, error, apart, end_margin)
            lanes[rec.CAREFUL] = select(kept | there, 1.0, lanes[rec.CAREFUL])
            return
        lanes[at + rec.ERROR] = error
        careful = kept & ((end_margin < CLEARLY_DIFFERENT) | (error > EXACT))
        lanes[rec.CAREFUL] = select(careful, 1.0, lanes[rec.CAREFUL])
    lanes[at + rec.LIMIT_MARGIN] = select(kept, end_margin, -rec.NONE)
    lanes[at + rec.DISTANCE] = select(kept, apart, rec.NONE)
    for i in range(plan[rec.JOINTS]):
        lanes[at + i] = lanes[rec.POINT + i]


@kernel
def _put_result(
    plan: IntArray, lanes: Array, at: int, better: Any, error: Number, apart: Number,
    end_margin: Number,
) -> None:  # fmt: skip
    """Replace a result in the lanes in which the new one is better."""
    lanes[at + rec.ERROR] = select(better, error, lanes[at + rec.ERROR])
    lanes[at + rec.LIMIT_MARGIN] = select(better, end_margin, lanes[at + rec.LIMIT_MARGIN])
    lanes[at + rec.DISTANCE] = select(better, apart, lanes[at + rec.DISTANCE])
    for i in range(plan[rec.JOINTS]):
        lanes[at + i] = select(better, lanes[rec.POINT + i], lanes[at + i])


# --- solutions -----------------------------------------------------------------------------------


@kernel
def _rank(lanes: Array, results: int) -> None:
    """Set RANKED of each result to the number of nearer results in its lane."""
    for one in range(results):
        lanes[rec.RANKED + one] = 0.0 * lanes[rec.GOAL]
    for one in range(results):
        apart = lanes[result_at(one) + rec.DISTANCE]
        for two in range(one):
            nearer = select(apart < lanes[result_at(two) + rec.DISTANCE], 1.0, 0.0)
            lanes[rec.RANKED + one] = lanes[rec.RANKED + one] + (1.0 - nearer)
            lanes[rec.RANKED + two] = lanes[rec.RANKED + two] + nearer


@kernel
def _rank_branches(memory: Array, branches: int) -> None:
    """Rank the branches of one pose, one branch in each lane."""
    at = result_at(0) + rec.DISTANCE
    for one in range(branches):
        apart, nearer = memory[at, one], 0
        for two in range(branches):
            nearer += memory[at, two] < apart or (memory[at, two] == apart and two < one)
        memory[rec.RANKED, one] = nearer


@kernel
def _write_sorted(
    plan: IntArray, memory: Array, lane: int, spread: int, results: int, starts: Array, q: Array,
    rows: int, i: int,
) -> int:  # fmt: skip
    """Write solutions in the order of their ranks; they differ clearly."""
    first, count, beside = min(i, starts.shape[0] - 1), 0, (1 << spread) - 1
    for one in range(results << spread):
        at, own = result_at(one >> spread), lane + (one & beside)
        if memory[at + rec.DISTANCE, own] < rec.NONE:
            row = rows * i + int(memory[rec.RANKED + (one >> spread), own])
            if plan[rec.JOINTS] < q.shape[1]:
                for j in range(q.shape[1]):
                    q[row, j] = starts[first, j]
            for j in range(plan[rec.JOINTS]):
                q[row, plan[rec.COLUMN + j]] = memory[at + j, own]
            count += 1
    for row in range(rows * i + count, rows * (i + 1)):
        for j in range(q.shape[1]):
            q[row, j] = np.nan
    return count


@kernel
def write_solutions(
    plan: IntArray, numbers: Array, memory: Array, lane: int, spread: int, results: int,
    starts: Array, q: Array, errors: Array, i: int,
) -> int:  # fmt: skip
    """Write the solutions and near-solutions of pose i to q (N rows, n), each once, nearest to the
    start first; return their number.

    They are in `results` results of 1 << spread lanes, from `lane` on.
    """
    count, capacity, beside = 0, min(errors.shape[0], rec.MOST_FOUND), (1 << spread) - 1
    for one in range(results << spread):
        at, own = result_at(one >> spread), lane + (one & beside)
        apart = memory[at + rec.DISTANCE, own]
        if not apart < rec.NONE:
            continue
        row, known = count, -1
        for k in range(count):
            other = int(memory[rec.RANKED + k, lane])
            there, its = result_at(other >> spread), lane + (other & beside)
            if row == count and memory[there + rec.DISTANCE, its] > apart:
                row = k
            if known < 0 and _are_same(plan, memory, at, own, there, its):
                known = k
        if known >= 0:  # the more accurate of two that are the same
            other = int(memory[rec.RANKED + known, lane])
            there, its = result_at(other >> spread), lane + (other & beside)
            if memory[at + rec.ERROR, own] < memory[there + rec.ERROR, its]:
                memory[rec.RANKED + known, lane] = one
            continue
        if count == capacity:
            continue
        for k in range(count, row, -1):
            memory[rec.RANKED + k, lane] = memory[rec.RANKED + k - 1, lane]
        memory[rec.RANKED + row, lane] = one
        count += 1
    first, rows, found = min(i, starts.shape[0] - 1), errors.shape[0], 0
    largest = rec.NONE  # error: where there are solutions, what is clearly beside one is none
    for k in range(count):
        one = int(memory[rec.RANKED + k, lane])
        if memory[result_at(one >> spread) + rec.ERROR, lane + (one & beside)] <= EXACT:
            largest = numbers[rec.SETTINGS, rec.MISSES]
    for k in range(count):
        one = int(memory[rec.RANKED + k, lane])
        at, own = result_at(one >> spread), lane + (one & beside)
        if memory[at + rec.ERROR, own] > largest:
            continue
        errors[found] = memory[at + rec.ERROR, own]
        if plan[rec.JOINTS] < q.shape[1]:
            for j in range(q.shape[1]):
                q[rows * i + found, j] = starts[first, j]
        for j in range(plan[rec.JOINTS]):
            q[rows * i + found, plan[rec.COLUMN + j]] = memory[at + j, own]
        found += 1
    for k in range(found, rows):
        for j in range(q.shape[1]):
            q[rows * i + k, j] = np.nan
    return found


@kernel
def _has_near(errors: Array, count: int) -> bool:
    """Return whether any of the first `count` results is only a near-solution."""
    near = False
    for k in range(count):
        near |= errors[k] > EXACT
    return near


@kernel
def _are_same(plan: IntArray, memory: Array, at: int, lane: int, there: int, beside: int) -> bool:
    """Return whether two results are the same, modulo whole turns."""
    for j in range(plan[rec.JOINTS]):
        gap = abs(memory[at + j, lane] - memory[there + j, beside])
        if gap > SAME and abs(gap - FULL_TURN) > SAME:
            return False
    return True


@kernel
def error_at_start(plan: IntArray, numbers: Array, lanes: Array) -> Number:
    """Return the gap of the loop at START [m, rad]."""
    for i in range(plan[rec.JOINTS]):
        k = i + 1
        value = numbers[k, rec.MULTIPLIER] * lanes[rec.START + i] + numbers[k, rec.OFFSET]
        lanes[rec.COS + k] = value
        if numbers[k, rec.SLIDES] == 0.0:
            lanes[rec.COS + k], lanes[rec.SIN + k] = cos_sin(value)
    return error_of(plan, numbers, lanes)


@kernel
def load_start(
    plan: IntArray, starts: Array, values: Array, i: int, lane: int, memory: Array
) -> None:
    """Load START and VALUE of pose i into a lane; a single row serves all poses."""
    row = min(i, starts.shape[0] - 1)
    for j in range(plan[rec.JOINTS]):
        memory[rec.START + j, lane] = starts[row, plan[rec.COLUMN + j]]
    memory[rec.VALUE, lane] = values[min(i, values.shape[0] - 1)]


@kernel
def load_goal(targets: Array, i: int, lane: int, memory: Array) -> None:
    """Load GOAL of pose i into a lane."""
    row = min(i, targets.shape[0] - 1)
    for c in range(12):
        memory[rec.GOAL + c, lane] = targets[row, c]


@kernel(entry='ik_solve_poses')
def solve_poses(address: int, first: int, last: int, free: float) -> bool:
    """Solve the poses first..last-1 of N; return whether the last one has near-solutions.

    address : of `ARRAYS`, with memory (ROWS, WIDTH), targets (N, 12), starts (N, n), values (N,).
        Results: q (N S, n), NaN behind the last, and counts (N,). A count is -1 if a pose has
        near-solutions, or if joints are undetermined and the start's values lead to no solution,
        or are not to be tried. A single pose has its count also in the first case; its errors (S,)
        exceed EXACT for near-solutions and for solutions outside the limits
    free : see `BY_START`.
    """
    arrays = _arrays_at(address)
    plan, numbers, memory, targets = arrays.plan, arrays.numbers, arrays.memory, arrays.targets
    starts, values, q = arrays.starts, arrays.values, arrays.q
    errors, counts = arrays.errors, arrays.counts
    is_single, near = last - first == 1, False
    spread = BRANCHES if is_single and rec.WIDTH == 1 << BRANCHES else POSES
    set_signs(plan, memory, spread)
    set_free(plan, numbers, memory, math.nan if free == BY_START else free)
    poses = rec.WIDTH >> spread
    for begin in range(first, last, poses):
        for lane in range(rec.WIDTH):
            i = min(begin + (lane >> spread), last - 1)
            load_goal(targets, i, lane, memory)
            load_start(plan, starts, values, i, lane, memory)
        if free == BY_START:
            solve_lanes(plan, numbers, memory, spread)
        else:
            prepare(plan, numbers, memory)
            solve_branches(plan, numbers, memory, spread, FRESH)
        signs, results = min(spread, plan[rec.USED_SIGNS]), passes_of(plan, spread)
        careful = bits(_in_lanes(memory)[rec.CAREFUL] > 0.0)
        if spread != POSES:
            _rank_branches(memory, 1 << signs)
        else:
            _rank(_in_lanes(memory), results)
        for i in range(begin, min(begin + poses, last)):
            lane, near = (i - begin) << spread, False
            if careful if spread != POSES else (careful >> lane) & 1:
                counts[i] = write_solutions(
                    plan, numbers, memory, lane, signs, results, starts, q, errors, i
                )
                near = _has_near(errors, counts[i])
            else:
                rows = errors.shape[0]
                counts[i] = _write_sorted(plan, memory, lane, signs, results, starts, q, rows, i)
            if counts[i] == 0 or free != BY_START:
                for beside in range(1 << spread):
                    if memory[rec.UNDETERMINED, lane + beside] > 0.0:
                        counts[i] = -1
            if near and not is_single:
                counts[i] = -1
    return near


@kernel(entry='ik_check_candidates')
def check_candidates(address: int, candidates: Array2) -> bool:
    """Write the candidates (k, elements) that close the loop of one pose as its solutions.

    A candidate has the angle or shift of each element. Returns whether some are only near.
    """
    arrays = _arrays_at(address)
    plan, numbers, memory, targets = arrays.plan, arrays.numbers, arrays.memory, arrays.targets
    starts, values, q = arrays.starts, arrays.values, arrays.q
    errors, counts, lanes = arrays.errors, arrays.counts, _in_lanes(memory)
    for lane in range(rec.WIDTH):
        memory[rec.BOUND, lane] = rec.NONE
        load_goal(targets, 0, lane, memory)
        load_start(plan, starts, values, 0, lane, memory)
    prepare(plan, numbers, memory)
    results, beyond_alone, apart_alone = 0, lanes[rec.LIMIT_VIOLATION], lanes[rec.SQUARED_DISTANCE]
    for first in range(0, candidates.shape[0], rec.WIDTH):
        beyond, apart = beyond_alone, apart_alone
        for i in range(plan[rec.JOINTS]):
            k = i + 1
            if k == plan[rec.REDUNDANT]:
                continue
            for lane in range(rec.WIDTH):
                row = min(first + lane, candidates.shape[0] - 1)
                memory[rec.COS + k, lane] = candidates[row, k]
            value = lanes[rec.COS + k]
            if numbers[k, rec.SLIDES] == 0.0:
                lanes[rec.COS + k], lanes[rec.SIN + k] = cos_sin(value)
            over, gap = _set_joint(numbers, lanes, i, k, value)
            beyond, apart = most(beyond, over), apart + gap * gap
        lanes[rec.LIMIT_VIOLATION + plan[rec.RECORDS]] = beyond
        lanes[rec.SQUARED_DISTANCE + plan[rec.RECORDS]] = apart
        if results < rec.SLOTS:
            check_closure(plan, numbers, lanes, result_at(results), FRESH)
            results += 1
    counts[0] = write_solutions(plan, numbers, memory, 0, BRANCHES, results, starts, q, errors, 0)
    return _has_near(errors, counts[0])
