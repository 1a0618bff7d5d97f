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
    clamped: Array,
    normal: Array,
    rhs: Array,
) -> None:
    """direction (n,) = p_F = -(B_FF)^-1 g_F over the free variables, 0 for clamped ones.

    model (n, n) : B, its lower triangle; gradient (n,) : g; bounds (2+, n) : lower and upper
    clamped (n,) : filled with 1 for clamped variables, else 0
    normal, rhs : scratch

    A variable is clamped at a limit that -g would have it cross, then also at one that p would
    have it cross. 0 if B_FF is not positive definite.
    """
    n = x.shape[0]
    for j in range(n):
        clamped[j] = 1.0 if is_blocked(x[j], bounds[0, j], bounds[1, j], gradient[j]) else 0.0
    crossing = True
    while crossing:
        _solve_free(model, gradient, direction, clamped, normal, rhs)
        crossing = False
        for j in range(n):
            if is_blocked(x[j], bounds[0, j], bounds[1, j], -direction[j]):
                clamped[j] = 1.0
                crossing = True


@kernel
def _solve_free(
    model: Array, gradient: Array, direction: Array, clamped: Array, normal: Array, rhs: Array
) -> None:
    """direction (n,) = -(B_FF)^-1 g_F over the free variables, 0 for the others."""
    size = free_block(model, clamped, normal)
    row = 0
    for j in range(clamped.shape[0]):
        if clamped[j] == 0.0:
            rhs[row] = -gradient[j]
            row += 1
    if not cholesky_solve(normal, rhs, size):
        for i in range(size):
            rhs[i] = 0.0
    fill_free(rhs, clamped, direction)


@kernel
def fraction_inside(x: Array, step: Array, bounds: Array) -> float:
    """Return the largest fraction in [0, 1] of a step (n,) that stays inside, from x (n,) inside.

    After this fraction the variable that ends the step is on its limit, but for rounding.
    """
    return fraction_within(x, step, bounds[0], bounds[1])


@kernel
def fraction_within(x: Array, step: Array, lower: Array, upper: Array) -> float:
    """Return `fraction_inside`, for limits (n,) each."""
    fraction = 1.0
    for j in range(x.shape[0]):
        if step[j] > 0.0:
            fraction = min(fraction, (upper[j] - x[j]) / step[j])
        elif step[j] < 0.0:
            fraction = min(fraction, (lower[j] - x[j]) / step[j])
    return fraction
