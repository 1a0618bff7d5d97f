# SPDX-License-Identifier: Apache-2.0
"""The active set: the variables that a step leaves on their limits, as in Rosen [Rosen1960]."""

from __future__ import annotations

from ..kernels.jit import kernel
from ..maths.boxed_step import is_blocked
from ..maths.linalg import cholesky_solve, fill_free, free_block
from ..maths.rotations import Array


@kernel
def reduced_direction(
    model: Array,
    gradient: Array,
    x: Array,
    bounds: Array,
    direction: Array,
    held: Array,
    normal: Array,
    rhs: Array,
) -> None:
    """direction (n,) = p_F = -(B_FF)^-1 g_F over the free variables, 0 for those held.

    model (n, n) is B, its lower triangle; gradient (n,) g, bounds (2+, n) lower and upper. A
    variable is held at a limit that -g would have it cross, and, in another look, at one that p
    would have it cross. 0 where B_FF is not positive definite. held (n,), 1 or 0, normal and rhs
    are scratch.
    """
    n = x.shape[0]
    for j in range(n):
        held[j] = 1.0 if is_blocked(x[j], bounds[0, j], bounds[1, j], gradient[j]) else 0.0
    crossing = True
    while crossing:
        _solve_free(model, gradient, direction, held, normal, rhs)
        crossing = False
        for j in range(n):
            if is_blocked(x[j], bounds[0, j], bounds[1, j], -direction[j]):
                held[j] = 1.0
                crossing = True


@kernel
def _solve_free(
    model: Array, gradient: Array, direction: Array, held: Array, normal: Array, rhs: Array
) -> None:
    """direction (n,) = -(B_FF)^-1 g_F over the variables that are not held, 0 for the others."""
    size = free_block(model, held, normal)
    row = 0
    for j in range(held.shape[0]):
        if held[j] == 0.0:
            rhs[row] = -gradient[j]
            row += 1
    if not cholesky_solve(normal, rhs, size):
        for i in range(size):
            rhs[i] = 0.0
    fill_free(rhs, held, direction)


@kernel
def share_inside(x: Array, step: Array, bounds: Array) -> float:
    """The largest share in [0, 1] of a step (n,) that stays inside, from x (n,) inside.

    The variable that ends it is on its limit after that share, but for rounding.
    """
    return share_within(x, step, bounds[0], bounds[1])


@kernel
def share_within(x: Array, step: Array, lower: Array, upper: Array) -> float:
    """`share_inside`, for limits (n,) each."""
    share = 1.0
    for j in range(x.shape[0]):
        if step[j] > 0.0:
            share = min(share, (upper[j] - x[j]) / step[j])
        elif step[j] < 0.0:
            share = min(share, (lower[j] - x[j]) / step[j])
    return share
