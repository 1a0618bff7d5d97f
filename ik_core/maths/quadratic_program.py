"""Convex quadratic programs inside a box, to their exact minimum.

    minimise g'p + p'Bp / 2   subject to   l <= x + p <= u

by an active-set method like that of [StarkParker1995] for least squares: over the variables that
no limit holds, the minimum is that of B_FF; what would leave the box is stopped at its limit and
held, and a held variable that the slope g + Bp draws inwards is released, one at a time, until
none is. As the guess to begin with, all that would leave are held at once.
"""

from __future__ import annotations

from .._jit import inner, njit
from .boxed_step import is_blocked
from .linalg import cholesky_solve, free_block
from .rotations import Array

DRAWN = 1e-12
"""Share of the slope's terms below which it is rounding, and draws nothing inwards."""

RELEASES = 10
"""Variables released, for each variable there is, before rounding must have made a circle."""


@njit
def quadratic_program(
    hessian: Array,
    gradient: Array,
    x: Array,
    bounds: Array,
    step: Array,
    held: Array,
    normal: Array,
    rhs: Array,
) -> bool:
    """step (n,) = the p that minimises g'p + p'Bp / 2 with x + p inside the bounds.

    hessian (n, n) is B, positive definite, its lower triangle; gradient (n,) g; x (n,) is inside
    bounds (2+, n), lower and upper. held (n,) is 1 for the variables on a limit afterwards; normal
    (n, n) and rhs (n,) are scratch. False, and no step, where B is not positive definite.
    """
    n = x.shape[0]
    for j in range(n):
        lower, upper = bounds[0, j], bounds[1, j]
        step[j] = 0.0
        pinned = lower == upper
        held[j] = 1.0 if pinned or is_blocked(x[j], lower, upper, gradient[j]) else 0.0
    if not _guess(hessian, gradient, x, bounds, step, held, normal, rhs):
        return False
    for _ in range(RELEASES * n):
        j = _drawn_inwards(hessian, gradient, x, bounds, step, held)
        if j < 0:
            break
        held[j] = 0.0
        _settle(hessian, gradient, x, bounds, step, held, normal, rhs)
    return True


@inner
def _guess(
    hessian: Array,
    gradient: Array,
    x: Array,
    bounds: Array,
    step: Array,
    held: Array,
    normal: Array,
    rhs: Array,
) -> bool:
    """A step to begin with: what a minimum over the free puts outside is held at its limit."""
    n = x.shape[0]
    leaving = True
    while leaving:
        if not _free_minimum(hessian, gradient, step, held, normal, rhs):
            for j in range(n):
                step[j] = 0.0
            return False
        leaving = False
        row = 0
        for j in range(n):
            if held[j] == 0.0:
                step[j] = min(max(rhs[row], bounds[0, j] - x[j]), bounds[1, j] - x[j])
                row += 1
                if step[j] != rhs[row - 1]:
                    held[j] = 1.0
                    leaving = True
    return True


@inner
def _settle(
    hessian: Array,
    gradient: Array,
    x: Array,
    bounds: Array,
    step: Array,
    held: Array,
    normal: Array,
    rhs: Array,
) -> None:
    """Go to the minimum over the free variables; what meets a limit on the way is held there."""
    n = x.shape[0]
    while _free_minimum(hessian, gradient, step, held, normal, rhs):
        share, first, end, row = 1.0, -1, 0.0, 0
        for j in range(n):
            if held[j] == 0.0:
                way = rhs[row] - step[j]
                farthest = (bounds[1, j] if way > 0.0 else bounds[0, j]) - x[j]
                if abs(way) * share > abs(farthest - step[j]):
                    share, first, end = abs((farthest - step[j]) / way), j, farthest
                row += 1
        row = 0
        for j in range(n):
            if held[j] == 0.0:
                step[j] += share * (rhs[row] - step[j])
                row += 1
        if first < 0:
            break
        step[first], held[first] = end, 1.0


@inner
def _free_minimum(
    hessian: Array, gradient: Array, step: Array, held: Array, normal: Array, rhs: Array
) -> bool:
    """rhs = the steps of the free variables at the minimum, while the held ones keep theirs."""
    size = free_block(hessian, held, normal)
    row = 0
    for j in range(held.shape[0]):
        if held[j] == 0.0:
            rhs[row] = -gradient[j]
            for k in range(held.shape[0]):
                if held[k] != 0.0:
                    rhs[row] -= hessian[max(j, k), min(j, k)] * step[k]
            row += 1
    return cholesky_solve(normal, rhs, size)


@inner
def _drawn_inwards(
    hessian: Array, gradient: Array, x: Array, bounds: Array, step: Array, held: Array
) -> int:
    """The held variable that the slope draws most from its limit; -1 where it draws none."""
    n = x.shape[0]
    most, found = 0.0, -1
    for j in range(n):
        if held[j] == 0.0 or bounds[0, j] == bounds[1, j]:
            continue
        slope, size = gradient[j], abs(gradient[j])
        for k in range(n):
            part = hessian[max(j, k), min(j, k)] * step[k]
            slope += part
            size += abs(part)
        inwards = -slope if step[j] <= bounds[0, j] - x[j] else slope
        if inwards > max(most, DRAWN * size):
            most, found = inwards, j
    return found
