"""Residuals and Jacobians of goals, for all goals of a problem at once.

`goals` (G, 12) int: body (-1: fixed to the root), position axes (NONE, ROOT_AXES, GOAL_AXES),
rotation (NONE, VECTOR, AXIS, TWO_AXES), then the rows of the stacked residual that the three
position and up to six rotation components go to (-1: masked or not there).
`tools` (G, 21) float: the goal's frame in the body's frame, then the scale of each component.
`targets` (G, 12) float: the frames that the goals' frames shall reach, in the root link's.

Residuals are "where it is" minus "where it should be", before scaling:
- position: the difference of the origins [m], in the root's axes or in the target's;
- rotation vector: log(Rt' R) [rad], in the target's axes;
- axis: the rotation vector that turns the target's z axis onto the tip's [rad], in the root's
  axes; of length pi where they are opposite;
- two axes: the differences of the x and of the y axes, in the root's axes (Engell-Norregard &
  Erleben, A.1).
"""

from __future__ import annotations

import math

from .._jit import njit
from ..kinematics import PRISMATIC
from ..rotations import (
    Array,
    IntArray,
    compose,
    inverse_left_jacobian,
    log_curvature,
    relative_log,
)

NONE = 0
ROOT_AXES = 1
GOAL_AXES = 2
VECTOR = 1
AXIS = 2
TWO_AXES = 3


@njit
def goal_residuals(
    frames: Array,
    goals: IntArray,
    tools: Array,
    targets: Array,
    tips: Array,
    raw: Array,
    errors: Array,
    residual: Array,
) -> float:
    """Fill the stacked residual (m,) and what goes with it; return its squared norm.

    tips (G, 12): the goals' frames in the root's; raw (G, 9): all components, unscaled;
    errors (G, 2): the norms of the unmasked components [m, rad]; for two axes the angle.
    """
    for i in range(goals.shape[0]):
        tip, r, target = tips[i], raw[i], targets[i]
        if goals[i, 0] < 0:
            for c in range(12):
                tip[c] = tools[i, c]
        else:
            compose(frames[goals[i, 0]], tools[i], tip)
        _position_residual(goals[i, 1], tip, target, r)
        if goals[i, 2] == VECTOR:
            r[3], r[4], r[5] = relative_log(target, tip)
        elif goals[i, 2] == AXIS:
            _axis_residual(tip, target, r)
        elif goals[i, 2] == TWO_AXES:
            for c in range(3):
                r[3 + c] = tip[3 * c] - target[3 * c]
                r[6 + c] = tip[3 * c + 1] - target[3 * c + 1]
        errors[i, 0] = math.sqrt(_stack(goals[i], tools[i], r, 0, 3, residual))
        errors[i, 1] = math.sqrt(_stack(goals[i], tools[i], r, 3, 9, residual))
        if goals[i, 2] == TWO_AXES:
            x, y, z = relative_log(target, tip)
            errors[i, 1] = math.sqrt(x * x + y * y + z * z)
    cost = 0.0
    for row in range(residual.shape[0]):
        cost += residual[row] * residual[row]
    return cost


@njit
def _stack(goal: IntArray, tool: Array, r: Array, first: int, last: int, residual: Array) -> float:
    """Put these components into their rows; return the sum of their squares, unscaled."""
    square = 0.0
    for c in range(first, last):
        row = goal[3 + c]
        if row >= 0:
            square += r[c] * r[c]
            residual[row] = tool[12 + c] * r[c]
    return square


@njit
def _position_residual(axes: int, tip: Array, target: Array, r: Array) -> None:
    dx, dy, dz = tip[9] - target[9], tip[10] - target[10], tip[11] - target[11]
    if axes == GOAL_AXES:
        for c in range(3):
            r[c] = target[c] * dx + target[3 + c] * dy + target[6 + c] * dz
    else:
        r[0], r[1], r[2] = dx, dy, dz


@njit
def _axis_residual(tip: Array, target: Array, r: Array) -> None:
    ax, ay, az = tip[2], tip[5], tip[8]
    bx, by, bz = target[2], target[5], target[8]
    nx, ny, nz = by * az - bz * ay, bz * ax - bx * az, bx * ay - by * ax
    sine = math.sqrt(nx * nx + ny * ny + nz * nz)
    cosine = ax * bx + ay * by + az * bz
    if sine < 1e-12 and cosine < 0.0:  # opposite: any axis across will do, take the target's x
        r[3], r[4], r[5] = math.pi * target[0], math.pi * target[3], math.pi * target[6]
        return
    scale = math.atan2(sine, cosine) / sine if sine > 1e-12 else 1.0
    r[3], r[4], r[5] = scale * nx, scale * ny, scale * nz


@njit
def goal_jacobian(
    tree: IntArray,
    geometry: Array,
    frames: Array,
    goals: IntArray,
    tools: Array,
    targets: Array,
    tips: Array,
    raw: Array,
    geometric: int,
    rates: Array,
    columns: Array,
) -> None:
    """columns (variables, m): the transposed Jacobian of the stacked residual.

    Call after `goal_residuals` at the same frames. Where `geometric` is not 0, rotation
    vectors whose three rows share a weight get the angular velocity in the target's axes
    instead of their exact derivative: the same gradient, and a Gauss-Newton step that is exact
    for a free rotation. `rates` (6, 3) is scratch.
    """
    for j in range(columns.shape[0]):
        for c in range(columns.shape[1]):
            columns[j, c] = 0.0
    for i in range(goals.shape[0]):
        tip, target = tips[i], targets[i]
        if goals[i, 2] == VECTOR:
            _vector_rate(target, raw[i], geometric != 0 and _share_weight(tools[i]), rates)
        elif goals[i, 2] == AXIS:
            _axis_rate(tip, target, rates)
        elif goals[i, 2] == TWO_AXES:
            _two_axes_rate(tip, rates)
        k = goals[i, 0]
        while k >= 0:
            f = frames[k]
            scale = geometry[k, 12]
            ax, ay, az = scale * f[2], scale * f[5], scale * f[8]
            column = columns[tree[k, 2]]
            if tree[k, 1] == PRISMATIC:
                _add_position(goals, tools, target, i, ax, ay, az, column)
            else:
                if goals[i, 1] != NONE:
                    dx, dy, dz = tip[9] - f[9], tip[10] - f[10], tip[11] - f[11]
                    vx, vy, vz = ay * dz - az * dy, az * dx - ax * dz, ax * dy - ay * dx
                    _add_position(goals, tools, target, i, vx, vy, vz, column)
                if goals[i, 2] != NONE:
                    for c in range(6 if goals[i, 2] == TWO_AXES else 3):
                        row = goals[i, 6 + c]
                        if row >= 0:
                            rate = rates[c, 0] * ax + rates[c, 1] * ay + rates[c, 2] * az
                            column[row] += tools[i, 15 + c] * rate
            k = tree[k, 0]


@njit
def _add_position(
    goals: IntArray,
    tools: Array,
    target: Array,
    i: int,
    vx: float,
    vy: float,
    vz: float,
    column: Array,
) -> None:
    if goals[i, 1] == GOAL_AXES:
        vx, vy, vz = (
            target[0] * vx + target[3] * vy + target[6] * vz,
            target[1] * vx + target[4] * vy + target[7] * vz,
            target[2] * vx + target[5] * vy + target[8] * vz,
        )
    if goals[i, 3] >= 0:
        column[goals[i, 3]] += tools[i, 12] * vx
    if goals[i, 4] >= 0:
        column[goals[i, 4]] += tools[i, 13] * vy
    if goals[i, 5] >= 0:
        column[goals[i, 5]] += tools[i, 14] * vz


@njit
def _share_weight(tool: Array) -> bool:
    """Whether the three rotation components have the same scale (masked: 0)."""
    return tool[15] == tool[16] and tool[15] == tool[17]


@njit
def _vector_rate(target: Array, r: Array, geometric: bool, rates: Array) -> None:
    """rates = d log(Rt' R) / d(angular velocity in the root's axes)."""
    if geometric:
        for c in range(3):
            for d in range(3):
                rates[c, d] = target[3 * d + c]
        return
    inverse_left_jacobian(r[3], r[4], r[5], rates)
    for c in range(3):
        x, y, z = rates[c, 0], rates[c, 1], rates[c, 2]
        for d in range(3):
            rates[c, d] = x * target[3 * d] + y * target[3 * d + 1] + z * target[3 * d + 2]


@njit
def _axis_rate(tip: Array, target: Array, rates: Array) -> None:
    """rates = d r / d(angular velocity) for r = (t / s) b x a, t = atan2(s, a.b), s = |b x a|.

    With a' = w x a: r' = (t / s) b x a' + (t / s)' b x a, where (t / s)' = (1 - t c / s) t' / s
    and t' = (b x a).w / s. In terms of w: b x (w x a) = (a.b) w - a (b.w).
    """
    a0, a1, a2 = tip[2], tip[5], tip[8]
    b0, b1, b2 = target[2], target[5], target[8]
    n0, n1, n2 = b1 * a2 - b2 * a1, b2 * a0 - b0 * a2, b0 * a1 - b1 * a0
    cosine = a0 * b0 + a1 * b1 + a2 * b2
    sine = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    if sine < 1e-6:  # aligned: the limit; opposite: no derivative exists, the same finite one
        ratio, growth = 1.0, 1.0 / 3.0
    else:
        ratio = math.atan2(sine, cosine) / sine
        growth = (1.0 - ratio * cosine) / (sine * sine)
    a, b, n = (a0, a1, a2), (b0, b1, b2), (n0, n1, n2)
    for c in range(3):
        for d in range(3):
            rates[c, d] = growth * n[c] * n[d] - ratio * a[c] * b[d]
        rates[c, c] += ratio * cosine


@njit
def _two_axes_rate(tip: Array, rates: Array) -> None:
    """rates = d (x, y) / d(angular velocity): a' = w x a for both axes a."""
    for axis in range(2):
        a0, a1, a2 = tip[axis], tip[3 + axis], tip[6 + axis]
        row = 3 * axis
        rates[row, 0], rates[row, 1], rates[row, 2] = 0.0, a2, -a1
        rates[row + 1, 0], rates[row + 1, 1], rates[row + 1, 2] = -a2, 0.0, a0
        rates[row + 2, 0], rates[row + 2, 1], rates[row + 2, 2] = a1, -a0, 0.0


@njit
def add_curvature(
    tree: IntArray,
    geometry: Array,
    frames: Array,
    goals: IntArray,
    tools: Array,
    targets: Array,
    tips: Array,
    raw: Array,
    hessian: Array,
) -> None:
    """Add sum_i r_i r_i'' to the lower triangle of J'J, with J from geometric columns.

    hessian (variables, variables) is then half the exact Hessian of the cost, with which
    Newton's method converges fast where the residual stays large: at goals out of reach. Axis
    goals and rotation vectors with unequal weights keep the Gauss-Newton approximation.

    For a joint with axis b that moves a goal with velocity v, and one above it that turns
    about a: v' = a x v, and for the rotation vector r in the root's axes
    (r.b)' = a.b + k ((r.a)(r.b) - r.r a.b) + r.(a x b) / 2, k as in `inverse_left_jacobian`;
    the term a.b is J'J's.
    """
    for i in range(goals.shape[0]):
        px, py, pz = _position_pull(goals[i], tools[i], targets[i], raw[i])
        rx, ry, rz, weight, k = _rotation_pull(goals[i], tools[i], targets[i], raw[i])
        square = rx * rx + ry * ry + rz * rz
        below = goals[i, 0]
        while below >= 0:
            f = frames[below]
            bx, by, bz = f[2], f[5], f[8]
            vx, vy, vz, turn = bx, by, bz, 0.0
            if tree[below, 1] != PRISMATIC:
                dx, dy, dz = tips[i, 9] - f[9], tips[i, 10] - f[10], tips[i, 11] - f[11]
                vx, vy, vz = by * dz - bz * dy, bz * dx - bx * dz, bx * dy - by * dx
                turn = weight
            along = rx * bx + ry * by + rz * bz
            # p.(a x v) = a.(v x p), and the same for the rotation's part: a.g in all
            gx = (
                vy * pz
                - vz * py
                + turn * (k * (rx * along - square * bx) + 0.5 * (by * rz - bz * ry))
            )
            gy = (
                vz * px
                - vx * pz
                + turn * (k * (ry * along - square * by) + 0.5 * (bz * rx - bx * rz))
            )
            gz = (
                vx * py
                - vy * px
                + turn * (k * (rz * along - square * bz) + 0.5 * (bx * ry - by * rx))
            )
            above = below
            while above >= 0:
                if tree[above, 1] != PRISMATIC:
                    a = frames[above]
                    term = geometry[below, 12] * geometry[above, 12]
                    term *= a[2] * gx + a[5] * gy + a[8] * gz
                    row, column = tree[below, 2], tree[above, 2]
                    if row == column and above != below:
                        term *= 2.0  # two joints of one variable: the pair counts both ways
                    hessian[max(row, column), min(row, column)] += term
                above = tree[above, 0]
            below = tree[below, 0]


@njit
def _position_pull(
    goal: IntArray, tool: Array, target: Array, r: Array
) -> tuple[float, float, float]:
    """The gradient of half the squared position residual, in the root's axes."""
    x = tool[12] * tool[12] * r[0] if goal[3] >= 0 else 0.0
    y = tool[13] * tool[13] * r[1] if goal[4] >= 0 else 0.0
    z = tool[14] * tool[14] * r[2] if goal[5] >= 0 else 0.0
    return _to_root(target, x, y, z) if goal[1] == GOAL_AXES else (x, y, z)


@njit
def _rotation_pull(
    goal: IntArray, tool: Array, target: Array, r: Array
) -> tuple[float, float, float, float, float]:
    """The rotation vector in the root's axes, its weight, and k; weight 0 where not covered."""
    if goal[2] != VECTOR or not _share_weight(tool):
        return 0.0, 0.0, 0.0, 0.0, 0.0
    x, y, z = _to_root(target, r[3], r[4], r[5])
    return x, y, z, tool[15] * tool[15], log_curvature(x * x + y * y + z * z)


@njit
def _to_root(target: Array, x: float, y: float, z: float) -> tuple[float, float, float]:
    return (
        target[0] * x + target[1] * y + target[2] * z,
        target[3] * x + target[4] * y + target[5] * z,
        target[6] * x + target[7] * y + target[8] * z,
    )
