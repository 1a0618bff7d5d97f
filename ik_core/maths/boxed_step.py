# SPDX-License-Identifier: Apache-2.0
"""Damped steps inside limits, for one problem or for lanes of them (`lanes`).

    minimise |r + J dx|^2 + mu |dx|^2   subject to   l <= x + dx <= u

An active-set method: variables at a limit that descent would cross are clamped. Variables that a
solution moves outside are put on their limit and clamped, and the problem is solved again for the
free ones. There are at most n + 1 rounds, usually one. Clamped variables stay in the matrices as
zeros, so that lanes with different clamped variables execute the same instructions.
"""

from __future__ import annotations

from ..kernels.jit import inline_kernel, kernel
from .lanes import SMALLEST, Number, bits, least, most, select
from .rotations import Array
from .vectors import Vector, dot

Half = tuple[float, float, float, float, float, float]  # symmetric (3, 3): 00, 10, 11, 20, 21, 22
Factors = tuple[float, float, float, float, float, float, bool]

POSE = 6  # rows of a pose: three of the position, three of the rotation
DIAGONAL_SHIFT = 1e-14  # times the trace, added to the diagonal: keeps a singular matrix definite


@kernel
def bounded_step(
    columns: Array,
    residual: Array,
    gradient: Array,
    mu: float,
    x: Array,
    bounds: Array,
    dx: Array,
    clamped: Array,
    free_columns: Array,
    normal: Array,
    rhs: Array,
) -> None:
    """Minimise |r + J dx|^2 + mu |dx|^2 with x + dx inside the bounds; the result is dx (n,).

    columns (n, m) is J', residual (m,) is r, gradient (n,) is J'r, bounds (2+, n) are lower and
    upper limits. clamped (n,) becomes 1 for clamped variables; free_columns (n, m), normal and
    rhs, of size max(m, n), are scratch. Of the two equivalent systems ([Buss2009] Eq. 10 and 11)
    the one with the smaller matrix is solved.
    """
    bounded_steps(
        columns, residual, gradient, mu, x, bounds, dx, clamped, free_columns, normal, rhs, -1
    )


@inline_kernel
def bounded_steps(
    columns: Array,
    residual: Array,
    gradient: Array,
    mu: float,
    x: Array,
    bounds: Array,
    dx: Array,
    clamped: Array,
    free_columns: Array,
    normal: Array,
    rhs: Array,
    wanted: int,
) -> None:
    """Compute `bounded_step` for the lanes in the bits of `wanted`; others get any result."""
    n, m = columns.shape
    for j in range(n):
        dx[j] = 0.0
        clamped[j] = select(is_blocked(x[j], bounds[0, j], bounds[1, j], gradient[j]), 1.0, 0.0)
    for i in range(m):
        rhs[i] = residual[i]
    for _ in range(n + 1):
        if m == POSE and n >= m:
            outside = _pose_round(columns, rhs, mu, x, bounds, dx, clamped)
        else:
            if n >= m:
                _dual_step(columns, mu, dx, clamped, free_columns, normal, rhs)
            else:
                _primal_step(columns, gradient, mu, dx, clamped, free_columns, normal, rhs)
            outside = _put_inside(x, bounds, dx, clamped)
        if outside & wanted == 0:
            break
        if n >= m:
            _add_clamped(columns, residual, dx, clamped, rhs)


@inline_kernel
def _add_clamped(columns: Array, residual: Array, dx: Array, clamped: Array, rhs: Array) -> None:
    """Write r + J dx of the clamped variables to rhs (m,)."""
    n, m = columns.shape
    for i in range(m):
        rhs[i] = residual[i]
    for j in range(n):
        moved = clamped[j] * dx[j]
        for i in range(m):
            rhs[i] += moved * columns[j, i]


@kernel
def _put_inside(x: Array, bounds: Array, dx: Array, clamped: Array) -> int:
    """Clamp the variables that a step moves outside; return the lanes that had any, as bits."""
    outside = 0
    for j in range(x.shape[0]):
        bounded = clamp(x[j] + dx[j], bounds[0, j], bounds[1, j])
        leaves = (bounded != x[j] + dx[j]) & (clamped[j] == 0.0)
        dx[j] = select(leaves, bounded - x[j], dx[j])
        clamped[j] = select(leaves, 1.0, clamped[j])
        outside |= bits(leaves)
    return outside


@inline_kernel
def clamp(x: Number, lower: float, upper: float) -> Number:
    """The number nearest to x inside the limits."""
    return least(most(x, lower), upper)


@kernel
def is_blocked(x: float, lower: float, upper: float, gradient: float) -> bool:
    """Return whether x is at a limit that a step against the gradient would cross."""
    return ((x <= lower) & (gradient > 0.0)) | ((x >= upper) & (gradient < 0.0))


@kernel
def _dual_step(
    columns: Array,
    mu: float,
    dx: Array,
    clamped: Array,
    free_columns: Array,
    normal: Array,
    rhs: Array,
) -> None:
    """Solve for the free dx = -J' (J J' + mu I)^-1 (r + J dx of the clamped), an m x m system
    ([Buss2009] Eq. 11)."""
    n, m = columns.shape
    for j in range(n):
        free = 1.0 - clamped[j]
        for i in range(m):
            free_columns[j, i] = free * columns[j, i]
    _fill_dual(free_columns, columns, normal)
    regularise(normal, mu, m)
    solve_positive(normal, rhs, m)
    for j in range(n):
        total = clamped[j] * dx[j]
        for i in range(m):
            total -= free_columns[j, i] * rhs[i]
        dx[j] = total


@kernel
def _pose_round(
    columns: Array, rhs: Array, mu: float, x: Array, bounds: Array, dx: Array, clamped: Array
) -> int:
    """Compute `_dual_step` and `_put_inside` for six rows, with all sums in registers.

    rhs (6,) is r + J dx of the clamped variables. Returns the lanes in which variables were
    clamped, as bits.
    """
    a00 = a10 = a11 = a20 = a21 = a22 = 0.0 * mu
    b00 = b01 = b02 = b10 = b11 = b12 = b20 = b21 = b22 = c00 = c10 = c11 = c20 = c21 = c22 = a00
    for j in range(columns.shape[0]):
        u0, u1, u2 = columns[j, 0], columns[j, 1], columns[j, 2]
        v0, v1, v2 = columns[j, 3], columns[j, 4], columns[j, 5]
        stays = clamped[j] > 0.0
        if bits(stays) != 0:
            u0, u1, u2 = select(stays, 0.0, u0), select(stays, 0.0, u1), select(stays, 0.0, u2)
            v0, v1, v2 = select(stays, 0.0, v0), select(stays, 0.0, v1), select(stays, 0.0, v2)
        a00, a10, a11 = a00 + u0 * u0, a10 + u1 * u0, a11 + u1 * u1
        a20, a21, a22 = a20 + u2 * u0, a21 + u2 * u1, a22 + u2 * u2
        b00, b01, b02 = b00 + v0 * u0, b01 + v0 * u1, b02 + v0 * u2
        b10, b11, b12 = b10 + v1 * u0, b11 + v1 * u1, b12 + v1 * u2
        b20, b21, b22 = b20 + v2 * u0, b21 + v2 * u1, b22 + v2 * u2
        c00, c10, c11 = c00 + v0 * v0, c10 + v1 * v0, c11 + v1 * v1
        c20, c21, c22 = c20 + v2 * v0, c21 + v2 * v1, c22 + v2 * v2
    extra = mu + DIAGONAL_SHIFT * (a00 + a11 + a22 + c00 + c11 + c22)
    s, t = _solve_halves(
        (a00 + extra, a10, a11 + extra, a20, a21, a22 + extra),
        (b00, b01, b02),
        (b10, b11, b12),
        (b20, b21, b22),
        (c00 + extra, c10, c11 + extra, c20, c21, c22 + extra),
        (rhs[0], rhs[1], rhs[2]),
        (rhs[3], rhs[4], rhs[5]),
    )
    outside = 0
    for j in range(columns.shape[0]):
        total = columns[j, 0] * s[0] + columns[j, 1] * s[1] + columns[j, 2] * s[2]
        total += columns[j, 3] * t[0] + columns[j, 4] * t[1] + columns[j, 5] * t[2]
        free = clamped[j] == 0.0
        aim = x[j] - total
        bounded = clamp(aim, bounds[0, j], bounds[1, j])
        leaves = (bounded != aim) & free
        move = select(leaves, bounded - x[j], -total)
        dx[j] = select(free, move, dx[j])
        if bits(leaves) != 0:
            clamped[j] = select(leaves, 1.0, clamped[j])
        outside |= bits(leaves)
    return outside


@inline_kernel
def _solve_halves(
    a: Half, b0: Vector, b1: Vector, b2: Vector, c: Half, r: Vector, t: Vector
) -> tuple[Vector, Vector]:
    """Solve A u + B'v = r, B u + C v = t, where b0, b1 and b2 are the rows of B.

    Factorises A as L D L', then its Schur complement C - B A^-1 B'. Returns zeros if the matrix
    (A, B'; B, C) is not positive definite.
    """
    upper = _factors(a)
    y, d0, d1, d2 = _down(upper, r), _down(upper, b0), _down(upper, b1), _down(upper, b2)
    e0, e1, e2 = _divided(upper, d0), _divided(upper, d1), _divided(upper, d2)
    c00, c10, c11, c20, c21, c22 = c
    lower = _factors(
        (
            c00 - dot(d0, e0),
            c10 - dot(d1, e0),
            c11 - dot(d1, e1),
            c20 - dot(d2, e0),
            c21 - dot(d2, e1),
            c22 - dot(d2, e2),
        )
    )
    rest = (t[0] - dot(e0, y), t[1] - dot(e1, y), t[2] - dot(e2, y))
    v = _up(lower, _divided(lower, _down(lower, rest)))
    y = _divided(upper, y)
    u = _up(
        upper,
        (
            y[0] - (e0[0] * v[0] + e1[0] * v[1] + e2[0] * v[2]),
            y[1] - (e0[1] * v[0] + e1[1] * v[1] + e2[1] * v[2]),
            y[2] - (e0[2] * v[0] + e1[2] * v[1] + e2[2] * v[2]),
        ),
    )
    good = upper[6] & lower[6]
    return (
        (select(good, u[0], 0.0), select(good, u[1], 0.0), select(good, u[2], 0.0)),
        (select(good, v[0], 0.0), select(good, v[1], 0.0), select(good, v[2], 0.0)),
    )


@inline_kernel
def _factors(a: Half) -> Factors:
    """L (10, 20, 21) and 1 / D of A = L D L', and True if all of D is positive."""
    a00, a10, a11, a20, a21, a22 = a
    d0 = 1.0 / select(a00 > 0.0, a00, 1.0)
    l10, l20 = a10 * d0, a20 * d0
    p1, q = a11 - l10 * a10, a21 - l20 * a10
    d1 = 1.0 / select(p1 > 0.0, p1, 1.0)
    l21 = q * d1
    p2 = a22 - l20 * a20 - l21 * q
    d2 = 1.0 / select(p2 > 0.0, p2, 1.0)
    return l10, l20, l21, d0, d1, d2, (a00 > 0.0) & (p1 > 0.0) & (p2 > 0.0)


@inline_kernel
def _down(f: Factors, v: Vector) -> Vector:
    """L^-1 v."""
    y = v[1] - f[0] * v[0]
    return v[0], y, v[2] - f[1] * v[0] - f[2] * y


@inline_kernel
def _divided(f: Factors, v: Vector) -> Vector:
    """D^-1 v."""
    return f[3] * v[0], f[4] * v[1], f[5] * v[2]


@inline_kernel
def _up(f: Factors, v: Vector) -> Vector:
    """L'^-1 v."""
    y = v[1] - f[2] * v[2]
    return v[0] - f[0] * y - f[1] * v[2], y, v[2]


@inline_kernel
def _fill_dual(a: Array, b: Array, normal: Array) -> None:
    """Write the lower triangle of A'B, which is symmetric, for A and B (n, m)."""
    n, m = a.shape
    if m % 3 == 0:  # rows of goals come in threes
        for i in range(0, m, 3):
            for k in range(0, i + 1, 3):
                _fill_block(a, b, i, k, normal)
        return
    for i in range(m):
        for k in range(i + 1):
            total = 0.0
            for j in range(n):
                total += a[j, i] * b[j, k]
            normal[i, k] = total


@inline_kernel
def _fill_block(a: Array, b: Array, i: int, k: int, normal: Array) -> None:
    """Write three by three elements of A'B: nine independent sums keep a processor busy."""
    s00 = s01 = s02 = s10 = s11 = s12 = s20 = s21 = s22 = 0.0
    for j in range(a.shape[0]):
        a0, a1, a2 = a[j, i], a[j, i + 1], a[j, i + 2]
        b0, b1, b2 = b[j, k], b[j, k + 1], b[j, k + 2]
        s00, s01, s02 = s00 + a0 * b0, s01 + a0 * b1, s02 + a0 * b2
        s10, s11, s12 = s10 + a1 * b0, s11 + a1 * b1, s12 + a1 * b2
        s20, s21, s22 = s20 + a2 * b0, s21 + a2 * b1, s22 + a2 * b2
    normal[i, k], normal[i, k + 1], normal[i, k + 2] = s00, s01, s02
    normal[i + 1, k], normal[i + 1, k + 1], normal[i + 1, k + 2] = s10, s11, s12
    normal[i + 2, k], normal[i + 2, k + 1], normal[i + 2, k + 2] = s20, s21, s22


@kernel
def _primal_step(
    columns: Array,
    gradient: Array,
    mu: float,
    dx: Array,
    clamped: Array,
    free_columns: Array,
    normal: Array,
    rhs: Array,
) -> None:
    """Compute the damped step of the free variables, by an n x n system ([Buss2009] Eq. 10).

    (J'J + mu I) dx = -(g + J'J c) in the rows of free variables, for given steps c of clamped ones
    """
    n, m = columns.shape
    for i in range(m):  # J dx of the clamped variables
        normal[0, i] = 0.0
        for j in range(n):
            normal[0, i] += clamped[j] * dx[j] * columns[j, i]
    for j in range(n):
        free, total = 1.0 - clamped[j], gradient[j]
        for i in range(m):
            total += columns[j, i] * normal[0, i]
            free_columns[j, i] = free * columns[j, i]
        rhs[j] = -free * total
    for j in range(n):
        for k in range(j + 1):
            total = 0.0
            for i in range(m):
                total += free_columns[j, i] * free_columns[k, i]
            normal[j, k] = total
    regularise(normal, mu, n)
    for j in range(n):
        normal[j, j] += clamped[j]
    solve_positive(normal, rhs, n)
    for j in range(n):
        dx[j] = select(clamped[j] == 0.0, rhs[j], dx[j])


@kernel
def regularise(normal: Array, mu: float, size: int) -> float:
    """Add the damping, and the little that keeps a singular matrix positive definite.

    Returns the sum of the diagonal's magnitudes.
    """
    trace = 0.0
    for i in range(size):
        trace += abs(normal[i, i])
    for i in range(size):
        normal[i, i] += mu + DIAGONAL_SHIFT * trace
    return trace


@inline_kernel
def solve_positive(a: Array, b: Array, n: int) -> None:
    """Solve A y = b in place (b becomes y) for the leading n x n symmetric block of `a`.

    The factors L D L' need no roots: L replaces the elements below the diagonal, 1 / D those on
    it, L D those above it. Only the lower triangle of A is read. y = 0 if A is not positive
    definite.
    """
    bad = 0.0
    for j in range(n):
        pivot = a[j, j]
        for k in range(j):
            pivot -= a[j, k] * a[k, j]
        positive = pivot > 0.0
        bad = select(positive, bad, 1.0)
        d = 1.0 / select(positive, pivot, 1.0)
        a[j, j] = d
        for i in range(j + 1, n):
            total = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[k, j]
            a[j, i] = total
            a[i, j] = total * d
    for i in range(n):
        total = b[i]
        for k in range(i):
            total -= a[i, k] * b[k]
        b[i] = total
    for i in range(n - 1, -1, -1):
        total = b[i] * a[i, i]
        for k in range(i + 1, n):
            total -= a[k, i] * b[k]
        b[i] = total
    for i in range(n):
        b[i] = select(bad == 0.0, b[i], 0.0)


@inline_kernel
def predicted_decrease(columns: Array, gradient: Array, dx: Array) -> float:
    """The decrease of |r + J dx|^2 for a step dx: -(2 g'dx + |J dx|^2)."""
    n, m = columns.shape
    linear = quadratic = 0.0
    for j in range(n):
        linear += gradient[j] * dx[j]
    if m % 3 == 0:  # rows of goals come in threes
        for i in range(0, m, 3):
            x = y = z = 0.0
            for j in range(n):
                x, y = x + columns[j, i] * dx[j], y + columns[j, i + 1] * dx[j]
                z += columns[j, i + 2] * dx[j]
            quadratic = quadratic + x * x + y * y + z * z
    else:
        for i in range(m):
            total = 0.0
            for j in range(n):
                total += columns[j, i] * dx[j]
            quadratic += total * total
    return -(2.0 * linear + quadratic)


@kernel
def damping_factor(actual: float, predicted: float) -> float:
    """Factor for nu, from the ratio of actual and predicted decrease of the cost [Nielsen1999]."""
    gain = select(predicted > 0.0, actual / select(predicted > 0.0, predicted, 1.0), 0.0)
    bend = 2.0 * least(gain, 2.0) - 1.0
    return most(1.0 / 3.0, 1.0 - bend * bend * bend)


@kernel
def cap_step(dx: Array, max_step: float) -> None:
    """Scale the step so that no variable moves by more than max_step (ClampMaxAbs)."""
    largest = 0.0
    for j in range(dx.shape[0]):
        largest = most(largest, abs(dx[j]))
    if bits(largest > max_step) == 0:
        return
    scale = select(largest > max_step, max_step / most(largest, SMALLEST), 1.0)
    for j in range(dx.shape[0]):
        dx[j] = scale * dx[j]
