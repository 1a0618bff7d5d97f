# SPDX-License-Identifier: Apache-2.0
"""Refinement of solutions by the problem's own kinematics, and their quality."""

from __future__ import annotations

import math

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, Array2
from ..maths.linalg import cholesky_solve
from ..maths.rotations import Array
from ..tasks.kernels import Packed, goal_jacobian, update

# Solutions are refined until their error [m, rad] is below this, or as far as possible.
REFINED_TO = 1e-12
REFINEMENT_STEPS = 40
# After this many steps that do not halve the error there is no solution nearby: at a double one
# Newton's method divides it by four.
MOST_SLOW = 8
# Damping of a step [m]: without need, least after a rejected step, and largest.
NO_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-7, 1e-6, 1.0


@kernel
def _error(p: Packed, x: Array, residual: Array) -> float:
    """Return the largest error [m, rad] at x."""
    update(p, x, residual)
    error = 0.0
    for i in range(p.errors.shape[0]):
        error = max(error, p.errors[i, 0], p.errors[i, 1])
    return error


@kernel
def _gram(columns: Array, damping: float, fixed: int, normal: Array) -> None:
    """Set normal (n, n) to J'J + damping^2, without the column of the fixed variable."""
    n, m = columns.shape
    for i in range(n):
        for j in range(i + 1):
            entry = damping * damping if i == j else 0.0
            if (i - fixed) * (j - fixed) != 0:
                for k in range(m):
                    entry += columns[i, k] * columns[j, k]
            normal[i, j] = normal[j, i] = entry


@kernel
def _step(
    columns: Array, residual: Array, damping: float, fixed: int, normal: Array, step: Array
) -> None:
    """Set step (n,) to the damped least squares step, without the fixed variable."""
    n, m = columns.shape
    _gram(columns, damping, fixed, normal)
    for i in range(n):
        step[i] = 0.0
        for k in range(m if i != fixed else 0):
            step[i] -= columns[i, k] * residual[k]
    cholesky_solve(normal, step, n)


@kernel
def _pinned(columns: Array, limits: Array, x: Array, step: Array) -> bool:
    """Remove the columns of variables at a limit that a step would cross; return whether there are
    any.

    If only the step were cut off there, it would converge slowly, or end beside the solution.
    """
    found = False
    for j in range(x.shape[0]):
        if (x[j] <= limits[0, j] and step[j] < 0.0) or (x[j] >= limits[1, j] and step[j] > 0.0):
            found = True
            for k in range(columns.shape[1]):
                columns[j, k] = 0.0
    return found


@kernel(entry='ik_closed_follow')
def follow(
    p: Packed,
    limits: Array2,
    fixed: int,
    x: Array1,
    residual: Array1,
    columns: Array2,
    normal: Array2,
    vectors: Array2,
) -> float:
    """Refine x (n,) to the solution near it inside the limits (5, n), by damped least squares.

    fixed: the variable that does not move, or -1. Returns the error [m, rad] that remains, that of
    p's errors. Scratch: residual (m,), columns (n, m), normal (n, n), vectors (2, n).
    """
    n, damping, slow = x.shape[0], NO_DAMPING, 0
    step, following = vectors[0], vectors[1]
    for j in range(n):
        x[j] = min(max(x[j], limits[0, j]), limits[1, j])
    error = _error(p, x, residual)
    for _ in range(REFINEMENT_STEPS):
        if error <= REFINED_TO or damping > MOST_DAMPING or slow > MOST_SLOW:
            break
        update(p, x, residual)
        goal_jacobian(p, 0, columns)
        _step(columns, residual, damping, fixed, normal, step)
        if _pinned(columns, limits, x, step):
            _step(columns, residual, damping, fixed, normal, step)
        for j in range(n):
            following[j] = min(max(x[j] + step[j], limits[0, j]), limits[1, j])
        nearer = _error(p, following, residual)
        slow += not nearer <= 0.5 * error
        if nearer < error:
            error, damping = nearer, max(0.1 * damping, NO_DAMPING)
            for j in range(n):
                x[j] = following[j]
        else:
            damping = max(10.0 * damping, LEAST_DAMPING)
    return _error(p, x, residual)


@kernel(entry='ik_closed_appraise')
def appraise(
    p: Packed,
    x: Array2,
    errors: Array2,
    fractions: Array1,
    residual: Array1,
    columns: Array2,
    normal: Array2,
    vectors: Array2,
) -> None:
    """Write the errors (k, 2) [m, rad] and fractions (k,) of solutions x (k, n) of one goal.

    A fraction is a lower bound of the ratio of the Jacobian's least singular value to its largest,
    and 0 if that is about the root of rounding. Scratch as in `follow`.
    """
    n, point = x.shape[1], vectors[0]
    for i in range(x.shape[0]):
        for j in range(n):
            point[j] = x[i, j]
        update(p, point, residual)
        errors[i, 0], errors[i, 1] = p.errors[0, 0], p.errors[0, 1]
        goal_jacobian(p, 0, columns)
        _gram(columns, 0.0, -1, normal)
        trace = 0.0
        for j in range(n):
            trace += normal[j, j]
        fractions[i] = 1.0 / math.sqrt(trace * _inverse_trace(normal, vectors[1]))


@kernel
def _inverse_trace(a: Array, unit: Array) -> float:
    """Return the trace of the inverse of a symmetric matrix, inf if it is singular; overwrites
    `a`.

    By the columns of the inverse of Cholesky's factor.
    """
    n, total = a.shape[0], 0.0
    for j in range(n):
        for i in range(j, n):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            if i > j:
                a[i, j] = s * a[j, j]
            elif s > 0.0:
                a[j, j] = 1.0 / math.sqrt(s)
            else:
                return math.inf
    for j in range(n):
        for i in range(j, n):
            s = 1.0 if i == j else 0.0
            for k in range(j, i):
                s -= a[i, k] * unit[k]
            unit[i] = s * a[i, i]
            total += unit[i] * unit[i]
    return total
