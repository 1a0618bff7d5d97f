# SPDX-License-Identifier: Apache-2.0
"""Kernels for the residuals and Jacobians of all goals of a problem at once.

Residuals are the actual minus the desired value, before scaling:
- position: the difference of the origins [m], in the root's axes or in the target's;
- rotation vector: log(Rt' R) [rad], in the target's axes;
- axis: the rotation vector that turns the target's z axis onto the tip's [rad], in the root's
  axes; of length pi if they are opposite;
- two axes: the differences of the x and of the y axes, in the root's axes
  ([EngellErleben2011] A.1).
If a goal is a region, a residual counts from its boundary: components of a position or a rotation
vector from the walls of a box, an axis from the surface of a cone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..kernels.jit import inline_kernel, kernel
from ..kernels.signatures import Array1, Array2, IntArray2
from ..maths.lanes import angle_of, least, most, root, select
from ..maths.rotations import (
    Array,
    Frame,
    compose,
    frame_at,
    from_axes,
    in_axes,
    inverse_left_jacobian,
    log_curvature,
    put_frame,
    relative_log,
)
from ..maths.vectors import Vector, cross, dot, minus, norm
from ..robot.kinematics import (
    KIND,
    PARENT,
    PRISMATIC,
    VARIABLE,
    body_frames,
    joint_axis,
    joint_origin,
    joint_twist,
)

# columns of `table`; from ROWS on, the rows of the stacked residual for the three position and up
# to six rotation components (-1: masked, or no such component); CHAIN: 1 if the goal is a whole
# pose, in the root's axes, at the end of a chain whose joints are the variables, one each
BODY, POSITION, ROTATION, ROWS, GEOMETRIC, CHAIN = 0, 1, 2, 3, 12, 13
# kinds of position: none, or components in these axes
NONE, ROOT_AXES, GOAL_AXES = 0, 1, 2
# kinds of rotation, besides NONE
VECTOR, AXIS, TWO_AXES = 1, 2, 3
# columns of `tools` after the goal's frame in the body's: the scale of each component, the half
# width of its box, the angle of the cone
SCALE, SLACK, CONE = 12, 21, 30
COMPONENTS = 9
# axes count as parallel below these sines of their angle: for the residual, and for its rates
SHORT, BLUNT = 1e-12, 1e-6


class Packed(NamedTuple):
    """The goals of a problem, and the results that `goal_residuals` writes.

    tree (K, 3), geometry (K, 14): the bodies that carry goals, as in `kinematics`
    table (G, 14) int: body (-1: fixed to the root), kinds of position and rotation, rows,
        1 if the rotation may have geometric columns, 1 if it is the pose of a chain
    tools (G, 31): the goal's frame in the body's frame, scales, slack, cone
    targets (G, 12): desired frames of the goals, in the root link's frame
    frames (K, 12), tips (G, 12): result: frames of the bodies and of the goals, likewise
    raw (G, 9): result: all components relative to the target itself, unscaled
    scales (G, 9): result: scales of the components; 0 for those inside their box
    errors (G, 2): result: norms of the unmasked components [m, rad]; for two axes the angle
    """

    tree: IntArray2
    geometry: Array2
    table: IntArray2
    tools: Array2
    targets: Array2
    frames: Array2
    tips: Array2
    raw: Array2
    scales: Array2
    errors: Array2


@inline_kernel
def packed_of(problem: Any, point: Any) -> Packed:
    """The goals of a record PROBLEM, at a point with target, frames and the results after them."""
    return Packed(
        problem.tree,
        problem.geometry,
        problem.table,
        problem.tools,
        point.target,
        point.frames,
        point.tips,
        point.raw,
        point.scales,
        point.errors,
    )


@kernel(entry='ik_goals_update')
def update(p: Packed, x: Array1, residual: Array1) -> float:
    """Compute all results at variables x; return the cost, the residual's squared norm."""
    body_frames(p.tree, p.geometry, x, p.frames)
    return goal_residuals(p, residual)


@kernel
def goal_residuals(p: Packed, residual: Array) -> float:
    """Compute the stacked residual (m,), tips, raw and errors; return its squared norm."""
    cost = 0.0
    for i in range(p.table.shape[0]):
        tip = frame_at(p.tools, i)
        if p.table[i, BODY] >= 0:
            tip = compose(frame_at(p.frames, p.table[i, BODY]), tip)
        put_frame(p.tips, i, tip)
        target = frame_at(p.targets, i)
        if p.table[i, POSITION] != NONE:
            x, y, z = _position_residual(p.table[i, POSITION], tip, target)
            p.raw[i, 0], p.raw[i, 1], p.raw[i, 2] = x, y, z
        if p.table[i, ROTATION] != NONE:
            x, y, z = _rotation_residual(p.table[i, ROTATION], tip, target)
            p.raw[i, 3], p.raw[i, 4], p.raw[i, 5] = x, y, z
        if p.table[i, ROTATION] == TWO_AXES:
            for c in range(3):
                p.raw[i, 6 + c] = tip[3 * c + 1] - target[3 * c + 1]
        position, rotation = _stack(p, i, residual)
        p.errors[i, 0], p.errors[i, 1] = root(position), root(rotation)
        if p.table[i, ROTATION] == TWO_AXES:
            p.errors[i, 1] = norm(relative_log(target, tip))
    for row in range(residual.shape[0]):
        cost += residual[row] * residual[row]
    return cost


@inline_kernel
def _stack(p: Packed, i: int, residual: Array) -> tuple[float, float]:
    """Write the components to their rows; return the sums of their squares, unscaled, of position
    and rotation.

    Also writes `scales`, which are 0 for components inside their box.
    """
    outside = _outside_cone(p, i)
    position = rotation = 0.0
    for c in range(COMPONENTS):
        row = p.table[i, ROWS + c]
        if row < 0:
            continue
        slack = p.tools[i, SLACK + c]
        value = _beyond(p.raw[i, c], slack)
        scale = p.tools[i, SCALE + c]
        p.scales[i, c] = select(value == 0.0, 0.0, scale) if slack > 0.0 else scale
        if c < 3:
            position += value * value
        else:
            value *= outside
            rotation += value * value
        residual[row] = scale * value
    return position, rotation


@inline_kernel
def _beyond(value: float, slack: float) -> float:
    """The part of a component outside the box [-slack, slack]."""
    return value - least(most(value, -slack), slack)


@inline_kernel
def _outside_cone(p: Packed, i: int) -> float:
    """The fraction of an axis goal's residual that is outside its cone; 1 without a cone."""
    cone = p.tools[i, CONE]
    if cone == 0.0:
        return 1.0
    angle = norm((p.raw[i, 3], p.raw[i, 4], p.raw[i, 5]))
    return select(angle > cone, 1.0 - cone / most(angle, cone), 0.0)


@inline_kernel
def _position_residual(axes: int, tip: Frame, target: Frame) -> Vector:
    """The three position components."""
    missing = (tip[9] - target[9], tip[10] - target[10], tip[11] - target[11])
    return in_axes(target, missing) if axes == GOAL_AXES else missing


@inline_kernel
def _rotation_residual(kind: int, tip: Frame, target: Frame) -> Vector:
    """The first three rotation components."""
    if kind == VECTOR:
        return relative_log(target, tip)
    if kind == AXIS:
        return _axis_residual(tip, target)
    return tip[0] - target[0], tip[3] - target[3], tip[6] - target[6]


@inline_kernel
def _axis_residual(tip: Frame, target: Frame) -> Vector:
    """The rotation vector from the target's z axis to the tip's, in the root's axes."""
    a, b = (tip[2], tip[5], tip[8]), (target[2], target[5], target[8])
    n = cross(b, a)
    sine, cosine = norm(n), dot(a, b)
    scale = select(sine > SHORT, angle_of(cosine, sine) / most(sine, SHORT), 1.0)
    opposite = (sine < SHORT) & (cosine < 0.0)  # any perpendicular axis: the target's x
    return (
        select(opposite, math.pi * target[0], scale * n[0]),
        select(opposite, math.pi * target[3], scale * n[1]),
        select(opposite, math.pi * target[6], scale * n[2]),
    )


@kernel(entry='ik_goal_jacobian')
def goal_jacobian(p: Packed, geometric: int, columns: Array2) -> None:
    """Write the transposed Jacobian of the stacked residual to columns (variables, m).

    Call it after `goal_residuals` at the same frames. If `geometric` is not 0, rotation vectors
    whose three rows have one weight get the angular velocity in the target's axes instead of their
    exact derivative: the gradient is the same, and a Gauss-Newton step becomes exact for a free
    rotation.
    """
    if p.table.shape[0] == 1 and p.table[0, CHAIN] > 0:
        _chain_jacobian(p, geometric, columns)
        return
    for j in range(columns.shape[0]):
        for c in range(columns.shape[1]):
            columns[j, c] = 0.0
    for i in range(p.table.shape[0]):
        tip, target = frame_at(p.tips, i), frame_at(p.targets, i)
        point = (tip[9], tip[10], tip[11])
        kind = p.table[i, ROTATION]
        rates = _rotation_rates(p, i, tip, target, geometric)
        k = p.table[i, BODY]
        while k >= 0:
            j = p.tree[k, VARIABLE]
            linear, spin = joint_twist(p.tree, p.geometry, p.frames, k, point)
            first = second = (0.0, 0.0, 0.0)
            if p.table[i, POSITION] == GOAL_AXES:
                linear = in_axes(target, linear)
            if kind == TWO_AXES:
                first = cross(spin, (tip[0], tip[3], tip[6]))
                second = cross(spin, (tip[1], tip[4], tip[7]))
            elif kind != NONE:
                first = dot(rates[0], spin), dot(rates[1], spin), dot(rates[2], spin)
            _add(p, i, j, 0, linear, columns)
            _add(p, i, j, 3, first, columns)
            _add(p, i, j, 6, second, columns)
            k = p.tree[k, PARENT]


@inline_kernel
def _chain_jacobian(p: Packed, geometric: int, columns: Array) -> None:
    """Compute `goal_jacobian` for the pose of a chain: nothing has to be added up."""
    tip = frame_at(p.tips, 0)
    rates = _rotation_rates(p, 0, tip, frame_at(p.targets, 0), geometric)
    chain_columns(p.tree, p.geometry, p.frames, tip, rates, p.scales, 0, columns)


@inline_kernel
def chain_columns(
    tree: IntArray2, geometry: Array2, frames: Array2, tip: Frame,
    rates: tuple[Vector, Vector, Vector], scales: Array, first: int, columns: Array,
) -> None:  # fmt: skip
    """Write the columns of a chain's pose, of which each variable moves one joint.

    rates : rows of d(rotation residual) / d(angular velocity in the root's axes)
    scales : row 0 has those of the six components, from column `first` on
    """
    point = tip[9], tip[10], tip[11]
    s0, s1, s2 = scales[0, first], scales[0, first + 1], scales[0, first + 2]
    s3, s4, s5 = scales[0, first + 3], scales[0, first + 4], scales[0, first + 5]
    for k in range(tree.shape[0]):
        j = tree[k, VARIABLE]
        linear, spin = joint_twist(tree, geometry, frames, k, point)
        u, v, w = dot(rates[0], spin), dot(rates[1], spin), dot(rates[2], spin)
        columns[j, 0], columns[j, 1] = s0 * linear[0], s1 * linear[1]
        columns[j, 2], columns[j, 3] = s2 * linear[2], s3 * u
        columns[j, 4], columns[j, 5] = s4 * v, s5 * w


@inline_kernel
def _add(p: Packed, i: int, j: int, c: int, rates: Vector, columns: Array) -> None:
    """Add the rates of components c, c + 1 and c + 2 to their rows of column j."""
    x, y, z = p.table[i, ROWS + c], p.table[i, ROWS + c + 1], p.table[i, ROWS + c + 2]
    if x >= 0:
        columns[j, x] += p.scales[i, c] * rates[0]
    if y >= 0:
        columns[j, y] += p.scales[i, c + 1] * rates[1]
    if z >= 0:
        columns[j, z] += p.scales[i, c + 2] * rates[2]


@inline_kernel
def _rotation_rates(
    p: Packed, i: int, tip: Frame, target: Frame, geometric: int
) -> tuple[Vector, Vector, Vector]:
    """The rows of d(rotation residual) / d(angular velocity in the root's axes)."""
    if p.table[i, ROTATION] == AXIS:
        return _axis_rates(p, i, tip, target)
    x = (target[0], target[3], target[6])
    y = (target[1], target[4], target[7])
    z = (target[2], target[5], target[8])
    if p.table[i, ROTATION] != VECTOR or (geometric != 0 and p.table[i, GEOMETRIC] != 0):
        return x, y, z
    a, b, c = inverse_left_jacobian(p.raw[i, 3], p.raw[i, 4], p.raw[i, 5])
    return from_axes(target, a), from_axes(target, b), from_axes(target, c)


@inline_kernel
def _axis_rates(p: Packed, i: int, tip: Frame, target: Frame) -> tuple[Vector, Vector, Vector]:
    """The rates of r = (t / s) b x a, t = atan2(s, a.b), s = |b x a|, outside its cone.

    With a' = w x a: r' = (t / s) b x a' + (t / s)' b x a, where (t / s)' = (1 - t c / s) t' / s
    and t' = (b x a).w / s. In terms of w: b x (w x a) = (a.b) w - a (b.w). With a cone of angle
    g, f = 1 - g / t: (f r)' = f r' + (g / t) u t', for the unit vector u along r.
    """
    a, b = (tip[2], tip[5], tip[8]), (target[2], target[5], target[8])
    n = cross(b, a)
    cosine, sine = dot(a, b), norm(n)
    f, square = _outside_cone(p, i), most(sine * sine, BLUNT * BLUNT)
    # aligned: the limit; opposite: no derivative exists, use the same finite value
    small = sine < BLUNT
    ratio = select(small, 1.0, angle_of(cosine, sine) / most(sine, BLUNT))
    growth = select(small, 1.0 / 3.0, (1.0 - ratio * cosine) / square)
    along = select(small | (f == 0.0), 0.0, (1.0 - f) / square)
    x, y, z = f * growth + along, -f * ratio, f * ratio * cosine
    return (
        (x * n[0] * n[0] + y * a[0] * b[0] + z, x * n[0] * n[1] + y * a[0] * b[1],
         x * n[0] * n[2] + y * a[0] * b[2]),
        (x * n[1] * n[0] + y * a[1] * b[0], x * n[1] * n[1] + y * a[1] * b[1] + z,
         x * n[1] * n[2] + y * a[1] * b[2]),
        (x * n[2] * n[0] + y * a[2] * b[0], x * n[2] * n[1] + y * a[2] * b[1],
         x * n[2] * n[2] + y * a[2] * b[2] + z),
    )  # fmt: skip


@kernel
def add_curvature(p: Packed, hessian: Array) -> None:
    """Add sum_i r_i r_i'' to the lower triangle of J'J, with J from geometric columns.

    hessian (variables, variables) is then half the exact Hessian of the cost. With it Newton's
    method converges fast even if the residual stays large, at goals out of reach. Axis goals and
    rotation vectors with unequal weights keep the Gauss-Newton approximation.

    For a joint with axis b that moves a goal with velocity v, and one above it that turns about a:
    v' = a x v, and for the rotation vector r in the root's axes (r.b)' = a.b + k ((r.a)(r.b) - r.r
    a.b) + r.(a x b) / 2, k as in `inverse_left_jacobian`; the term a.b is part of J'J.
    """
    for i in range(p.table.shape[0]):
        tip = frame_at(p.tips, i)
        slope = _position_gradient(p, i)
        r, weight, k = _rotation_terms(p, i)
        square = dot(r, r)
        below = p.table[i, BODY]
        while below >= 0:
            b = joint_axis(p.geometry, p.frames, below)
            if p.tree[below, KIND] == PRISMATIC:
                g = cross(b, slope)
            else:
                v = cross(b, minus((tip[9], tip[10], tip[11]), joint_origin(p.frames, below)))
                # slope.(a x v) = a.(v x slope), and likewise for the rotation: a.g in total
                linear, angular = cross(v, slope), cross(b, r)
                along = dot(r, b)
                g = (
                    linear[0] + weight * (k * (r[0] * along - square * b[0]) + 0.5 * angular[0]),
                    linear[1] + weight * (k * (r[1] * along - square * b[1]) + 0.5 * angular[1]),
                    linear[2] + weight * (k * (r[2] * along - square * b[2]) + 0.5 * angular[2]),
                )
            _add_pairs(p, below, g, hessian)
            below = p.tree[below, PARENT]


@inline_kernel
def _add_pairs(p: Packed, below: int, g: Vector, hessian: Array) -> None:
    """Add a.g for the axes a of all joints from `below` upwards."""
    above = below
    while above >= 0:
        if p.tree[above, KIND] != PRISMATIC:
            term = dot(joint_axis(p.geometry, p.frames, above), g)
            row, column = p.tree[below, VARIABLE], p.tree[above, VARIABLE]
            if row == column and above != below:
                term *= 2.0  # two joints of one variable: the pair occurs in both orders
            hessian[max(row, column), min(row, column)] += term
        above = p.tree[above, PARENT]


@inline_kernel
def _position_gradient(p: Packed, i: int) -> Vector:
    """The gradient of half the squared position residual, in the root's axes."""
    x = p.scales[i, 0] * p.scales[i, 0] * _beyond(p.raw[i, 0], p.tools[i, SLACK])
    y = p.scales[i, 1] * p.scales[i, 1] * _beyond(p.raw[i, 1], p.tools[i, SLACK + 1])
    z = p.scales[i, 2] * p.scales[i, 2] * _beyond(p.raw[i, 2], p.tools[i, SLACK + 2])
    if p.table[i, POSITION] == GOAL_AXES:
        return from_axes(frame_at(p.targets, i), (x, y, z))
    return x, y, z


@inline_kernel
def _rotation_terms(p: Packed, i: int) -> tuple[Vector, float, float]:
    """The rotation vector in the root's axes, its weight, and k; zeros for other rotations."""
    if p.table[i, ROTATION] != VECTOR or p.table[i, GEOMETRIC] == 0:
        return (0.0, 0.0, 0.0), 0.0, 0.0
    r = from_axes(frame_at(p.targets, i), (p.raw[i, 3], p.raw[i, 4], p.raw[i, 5]))
    return r, p.tools[i, SCALE + 3] ** 2, log_curvature(dot(r, r))
