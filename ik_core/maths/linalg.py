# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of steps: small Cholesky solves, curvature, damped steps, steps inside limits."""

from __future__ import annotations

import math

import numpy as np

from ..kernels.jit import kernel
from . import safe
from .boxed_step import clamp, is_blocked, regularise
from .rotations import Array

# largest cosine between the residual and a free column of the Jacobian at a closest point
STATIONARY = 1e-6

# shorter columns, relative to the longest one, count as this long: if a column vanishes together
# with the slope along it, its angle to the residual is meaningless
SHORTEST_COLUMN = 1e-3

# of `curves_down_inside`: sweeps over all variables, and the largest ratio of two of them
SWEEPS, FARTHEST = 20, 10.0

# if damping^2 is larger, relative to |J|^2, JJ' + damping^2 I keeps half of the digits
WELL_CONDITIONED = 1e-8


@kernel
def cholesky_solve(a: Array, b: Array, n: int) -> bool:
    """Solve A y = b in place (b becomes y) for the leading n x n symmetric block of `a`.

    Reads and overwrites the lower triangle. Returns False, with b undefined, if A is not positive
    definite.
    """
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= a[j, k] * a[j, k]
        if not s > 0.0:
            return False
        d = 1.0 / math.sqrt(s)
        a[j, j] = d  # the inverse of the factor's diagonal: divisions are slow
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s * d
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= a[i, k] * b[k]
        b[i] = s * a[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= a[k, i] * b[k]
        b[i] = s * a[i, i]
    return True


@kernel
def negative_curvature(a: Array, v: Array, n: int) -> bool:
    """Find v (n,) with v'Av < 0 for the leading n x n block of `a`; return False if there is none.

    Reads and overwrites the lower triangle: a Cholesky factorisation L L' up to the first negative
    pivot p, in row j. With l the computed part of that row, v = (-L^-T l, 1, 0...) has v'Av = p.
    """
    for j in range(n):
        pivot = a[j, j]
        for k in range(j):
            pivot -= a[j, k] * a[j, k]
        if pivot < 0.0:
            for i in range(n):
                v[i] = -a[j, i] if i < j else 0.0
            v[j] = 1.0
            for i in range(j - 1, -1, -1):
                for k in range(i + 1, j):
                    v[i] -= a[k, i] * v[k]
                v[i] *= a[i, i]
            return True
        d = 1.0 / math.sqrt(max(pivot, 1e-300))
        a[j, j] = d
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s * d
    return False


@kernel
def stiffness(a: Array) -> float:
    """The scale of the curvature of a symmetric matrix (n, n), of which the lower triangle is
    read.

    It is the sum of the diagonal's magnitudes, or the largest other element if that is larger, as
    for the saddle x y.
    """
    trace = largest = 0.0
    for i in range(a.shape[0]):
        trace += abs(a[i, i])
        for k in range(i):
            largest = max(largest, abs(a[i, k]))
    return max(trace, largest)


@kernel
def curves_down_inside(
    a: Array, x: Array, bounds: Array, clamped: Array, least: float, v: Array
) -> bool:
    """Find v (n,) with v'Av < -least |v|^2 that points inside from the limits that x is at.

    `a` (n, n) is symmetric, of which the lower triangle is read, and positive over the variables
    between their limits. `clamped` variables stay 0. For each other one at a limit, v is 1 in its
    direction inwards, and the other elements minimise v'Av by the Gauss-Seidel method within the
    limits. The largest element of v is 1. Returns whether such a v is found; it may miss some.
    """
    n = x.shape[0]
    for j in range(n):
        if clamped[j] != 0.0 or bounds[0, j] < x[j] < bounds[1, j]:
            continue
        for k in range(n):
            v[k] = 0.0
        v[j] = 1.0 if x[j] <= bounds[0, j] else -1.0
        for _ in range(SWEEPS):
            for k in range(n):
                if k != j and clamped[k] == 0.0:
                    _relax(a, x, bounds, k, v)
            curvature = squares = largest = 0.0
            for k in range(n):
                curvature += v[k] * row_product(a, k, v)
                squares += v[k] * v[k]
                largest = max(largest, abs(v[k]))
            if curvature < -least * squares:
                for k in range(n):
                    v[k] /= largest
                return True
    return False


@kernel
def _relax(a: Array, x: Array, bounds: Array, k: int, v: Array) -> None:
    """Set v[k] to the minimiser of v'Av, at most FARTHEST, and not out of the limits."""
    slope = row_product(a, k, v) - a[k, k] * v[k]
    if a[k, k] * FARTHEST > abs(slope):
        v[k] = -slope / a[k, k]
    else:
        v[k] = -FARTHEST if slope > 0.0 else FARTHEST if slope < 0.0 else 0.0
    if x[k] <= bounds[0, k]:
        v[k] = max(v[k], 0.0)
    if x[k] >= bounds[1, k]:
        v[k] = min(v[k], 0.0)


@kernel
def row_product(a: Array, k: int, v: Array) -> float:
    """Element k of A v, for the lower triangle of a symmetric matrix."""
    total = 0.0
    for i in range(v.shape[0]):
        total += v[i] * (a[k, i] if i <= k else a[i, k])
    return total


@kernel
def bounded_newton_step(
    hessian: Array,
    gradient: Array,
    mu: float,
    x: Array,
    bounds: Array,
    dx: Array,
    clamped: Array,
    normal: Array,
    rhs: Array,
) -> None:
    """Minimise 2 g'dx + dx'(H + mu I) dx with x + dx inside the bounds; the result is dx (n,).

    Like `boxed_step.bounded_step`, for any quadratic model: the lower triangle of `hessian` (n,
    n), and `gradient` (n,). clamped (n,) becomes 1 for clamped variables; normal and rhs are
    scratch.
    """
    n, free = dx.shape[0], 0
    for j in range(n):
        dx[j] = 0.0
        clamped[j] = 1.0 if is_blocked(x[j], bounds[0, j], bounds[1, j], gradient[j]) else 0.0
        free += 1 if clamped[j] == 0.0 else 0
    while free > 0:
        _free_newton_step(hessian, gradient, mu, dx, clamped, normal, rhs)
        before = free
        for j in range(n):
            if clamped[j] == 0.0:
                bounded = clamp(x[j] + dx[j], bounds[0, j], bounds[1, j])
                if bounded != x[j] + dx[j]:
                    dx[j] = bounded - x[j]
                    clamped[j] = 1.0
                    free -= 1
        if free == before:
            break


@kernel
def gauss_newton_hessian(columns: Array, hessian: Array) -> None:
    """Write the lower triangle of J'J to hessian, for columns (n, m) = J'."""
    n, m = columns.shape
    for j in range(n):
        for k in range(j + 1):
            s = 0.0
            for i in range(m):
                s += columns[j, i] * columns[k, i]
            hessian[j, k] = s


@kernel
def _free_newton_step(
    hessian: Array,
    gradient: Array,
    mu: float,
    dx: Array,
    clamped: Array,
    normal: Array,
    rhs: Array,
) -> None:
    """Solve for the free dx = -(H + mu I)^-1 (g + H dx of the clamped), for one problem.

    If H is not positive definite, mu is raised until H + mu I is: so it solves over the free
    variables alone, several times if need be, unlike the step of lanes in `boxed_step`, which is
    given J and keeps clamped variables as zeros.
    """
    n = hessian.shape[0]
    solved = False
    for _ in range(40):
        free = free_block(hessian, clamped, normal)
        row = 0
        for j in range(n):
            if clamped[j] == 0.0:
                rhs[row] = -gradient[j]
                for k in range(n):
                    if clamped[k] != 0.0:
                        rhs[row] -= hessian[max(j, k), min(j, k)] * dx[k]
                row += 1
        size = regularise(normal, mu, free)
        solved = cholesky_solve(normal, rhs, free)
        if solved:
            break
        mu = max(4.0 * mu, 1e-6 * size)
    row = 0
    for j in range(n):
        if clamped[j] == 0.0:
            dx[j] = rhs[row] if solved else 0.0
            row += 1


@kernel
def free_block(matrix: Array, clamped: Array, block: Array) -> int:
    """Copy the rows and columns of a symmetric matrix (n, n) that are not clamped to `block`.

    Only lower triangles are read and written. Returns the size of the block.
    """
    row = 0
    for j in range(clamped.shape[0]):
        if clamped[j] == 0.0:
            column = 0
            for k in range(j + 1):
                if clamped[k] == 0.0:
                    block[row, column] = matrix[j, k]
                    column += 1
            row += 1
    return row


@kernel
def fill_free(values: Array, clamped: Array, vector: Array) -> None:
    """vector (n,) = values, in their order, for the variables that are not clamped; else 0."""
    row = 0
    for j in range(clamped.shape[0]):
        vector[j] = 0.0
        if clamped[j] == 0.0:
            vector[j] = values[row]
            row += 1


@kernel
def damped_solve(
    columns: Array,
    error: Array,
    square: float,
    wary: bool,
    normal: Array,
    rhs: Array,
    dx: Array,
) -> bool:
    """Minimise |J dx - e|^2 + square |dx|^2, for J's columns (n, m), e (m,); the result is dx
    (n,).

    It is J'(JJ' + d^2 I)^-1 e ([Buss2009] Eq. 11), or equally (J'J + d^2 I)^-1 J'e (Eq. 10), by
    the smaller matrix. Returns False if that is not positive definite, or, if `wary`, if the
    damping is too small to keep it well conditioned for every J. normal and rhs are scratch.
    """
    n, m = columns.shape
    if wary and square <= WELL_CONDITIONED * square_sum(columns):
        return False
    if m <= n:
        gram_of_rows(columns, square, normal)
        for i in range(m):
            rhs[i] = error[i]
        if not cholesky_solve(normal, rhs, m):
            return False
        for j in range(n):
            dx[j] = 0.0
            for i in range(m):
                dx[j] += columns[j, i] * rhs[i]
        return True
    gauss_newton_hessian(columns, normal)
    for j in range(n):
        normal[j, j] += square
        dx[j] = 0.0
        for i in range(m):
            dx[j] += columns[j, i] * error[i]
    return cholesky_solve(normal, dx, n)


@kernel
def is_above(columns: Array, threshold: float, normal: Array, rhs: Array) -> bool:
    """Return whether all singular values of J, with columns (n, m), exceed a threshold; False if
    the threshold is too small to be resolved in JJ'."""
    n, m = columns.shape
    square = threshold * threshold
    if m > n or square <= 1e-6 * square_sum(columns):
        return False
    gram_of_rows(columns, -square, normal)
    return cholesky_solve(normal, rhs, m)


@kernel
def square_sum(matrix: Array) -> float:
    """The squared Frobenius norm."""
    total = 0.0
    for j in range(matrix.shape[0]):
        for i in range(matrix.shape[1]):
            total += matrix[j, i] * matrix[j, i]
    return total


@kernel
def gram_of_rows(columns: Array, square: float, normal: Array) -> None:
    """Write the lower triangle of JJ' + square I to `normal`, for J's columns (n, m)."""
    n, m = columns.shape
    for i in range(m):
        for k in range(i):
            normal[i, k] = 0.0
        normal[i, i] = square
    for j in range(n):
        for i in range(m):
            for k in range(i + 1):
                normal[i, k] += columns[j, i] * columns[j, k]


def damped_step(jacobian: Array, error: Array, damping: float) -> Array:
    """The step that minimises |J dq - e|^2 + damping^2 |dq|^2, for J (m, n), e (m,).

    `damped_solve` for Python, where LAPACK solves matrices of any size, and where damping may be
    too small to keep them well conditioned: then the step comes from singular values, the sum of
    s / (s^2 + d^2) v u'e ([Buss2009] section 6). Those lost to rounding count as 0, so without
    damping it is the shortest of the least-squares steps.
    """
    m, n = jacobian.shape
    square = damping * damping
    if square <= WELL_CONDITIONED * np.einsum('ij,ij', jacobian, jacobian):
        return _step_by_singular_values(jacobian, error, square)
    if m <= n:
        dual = jacobian @ jacobian.T
        dual.flat[:: m + 1] += square
        return safe.finite(jacobian.T @ safe.solve(dual, error))
    primal = jacobian.T @ jacobian
    primal.flat[:: n + 1] += square
    return safe.solve(primal, jacobian.T @ error)


def _step_by_singular_values(jacobian: Array, error: Array, square: float) -> Array:
    """The step by the singular value decomposition, see `damped_step`."""
    u, s, vt = safe.svd(jacobian)
    kept = s > np.finfo(float).eps * max(jacobian.shape) * max(s, default=0.0)
    u, s, vt = u[:, kept], s[kept], vt[kept]
    return safe.finite((s / (s * s + square) * (error @ u)) @ vt)
