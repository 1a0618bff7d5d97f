# SPDX-License-Identifier: Apache-2.0
"""The second-order test of a stationary point inside the limits, and the descent from a saddle.

An arm stretched out towards a goal, or away from it, is at a stationary point although bending it
might lower the cost. The curvature decides: half the cost's Hessian over the free variables. It is
computed by central differences of the gradient, for tasks of any kind.

Variables that are not clamped at a limit are free (`mark_clamped`, `free_hessian`, `free_slope`,
`expand`). With linear constraints the free space is that which the active ones leave
(`constrained`).
"""

from __future__ import annotations

from ..kernels.jit import kernel
from ..maths.linalg import (
    cholesky_solve,
    curves_down_inside,
    fill_free,
    free_block,
    stiffness,
)
from ..maths.rotations import Array
from ..maths.vectors import copy_to, divide_by_largest
from ..rules import (
    CLOSEST,
    DIFFERENCE,
    FLAT,
    RUNNING,
    SADDLE_STEP,
    STALLED,
    clamp_at_limits,
    curves_down,
)
from .evaluation import (
    differentiate,
    evaluate,
    evaluate_here,
    put_inside,
    slope,
    take_trial,
)
from .layouts import Record

LONGEST_STEP = 0.3  # [rad or m] Longest step towards a minimum

SADDLE_HALVINGS = 12  # Maximum number of halvings of a step away from a saddle, to either side

# The Newton step to a minimum is taken if it gains more than this fraction of the cost.
WORTHWHILE = 1e-9


@kernel
def leave_or_conclude(search: Record) -> int:
    """Leave a saddle, or end at a minimum; called at a stationary point.

    Returns CLOSEST at a minimum inside the limits, RUNNING if x was moved to a lower point and
    evaluated there, STALLED if the cost curves downwards but no lower point was found.

    Variables at a limit where the gradient vanishes are first treated as free. If there is no
    lower point along the descent direction found so, they are clamped. If the cost then curves
    upwards, each of them is moved inwards, one by one.
    """
    half_hessian(search)
    free = mark_clamped(search, False)
    definite = _find_descent(search)
    if not definite and descend(search):
        return RUNNING
    if not definite and free > 0:
        mark_clamped(search, True)
        definite = _find_descent(search)
        if not definite and descend(search):
            return RUNNING
        if definite and find_descent_inside(search):
            if descend(search):
                return RUNNING
            definite = False
    if definite and go_to_minimum(search):
        return RUNNING
    evaluate_here(search)
    return CLOSEST if definite else STALLED


@kernel
def half_hessian(search: Record) -> None:
    """Fill the lower triangle of `hessian` (n, n), by central differences of J'r at x."""
    x, trial = search.x, search.trial
    above, below = search.dx, search.descent
    residual = search.trial_residual
    copy_to(x, trial)
    for j in range(x.shape[0]):
        step = DIFFERENCE * (1.0 + abs(x[j]))
        for side in range(2):
            trial[j] = x[j] - step if side == 1 else x[j] + step
            evaluate(search, trial, residual)
            differentiate(search, trial, search.trial_columns)
            slope(search.trial_columns, residual, below)
            if side == 0:
                copy_to(below, above)
        trial[j] = x[j]
        for k in range(x.shape[0]):
            search.normal[j, k] = (above[k] - below[k]) / (2.0 * step)
    for j in range(x.shape[0]):
        for k in range(j + 1):
            search.hessian[j, k] = 0.5 * (search.normal[j, k] + search.normal[k, j])


@kernel
def mark_clamped(search: Record, all_at_limits: bool) -> int:
    """Mark variables that are clamped at limits; return the number of others at a limit."""
    x, bounds, gradient, squares = search.x, search.problem.bounds, search.gradient, search.squares
    return clamp_at_limits(
        x, bounds, gradient, squares, search.cost, all_at_limits, search.clamped
    )


@kernel
def _find_descent(search: Record) -> bool:
    """Return True if the cost curves upwards; else set `descent`, along which it does not."""
    size = free_hessian(search)
    if not curves_down(search.hessian, search.normal, search.rhs, size):
        return True
    expand(search, size, search.descent)
    divide_by_largest(search.descent)
    return False


@kernel
def find_descent_inside(search: Record) -> bool:
    """Set `descent` to a direction of negative curvature that leaves a limit.

    Returns whether one was found.
    """
    x, clamped, direction = search.x, search.clamped, search.descent
    mark_clamped(search, False)
    least = FLAT * stiffness(search.hessian)
    found = curves_down_inside(search.hessian, x, search.problem.bounds, clamped, least, direction)
    mark_clamped(search, True)
    return found


@kernel
def free_hessian(search: Record) -> int:
    """Fill the lower triangle of `normal` with the free variables' Hessian; return its size."""
    return free_block(search.hessian, search.clamped, search.normal)


@kernel
def free_slope(search: Record, size: int) -> None:
    """`rhs` = minus half the gradient of the free variables."""
    row = 0
    for j in range(search.joints):
        if search.clamped[j] == 0.0:
            search.rhs[row] = -search.gradient[j]
            row += 1


@kernel
def expand(search: Record, size: int, direction: Array) -> None:
    """direction (n,) = `rhs` for the free variables, 0 for others."""
    fill_free(search.rhs, search.clamped, direction)


@kernel
def descend(search: Record) -> bool:
    """Move x to a lower point along +-`descent`, by ever shorter steps; False without one."""
    length = SADDLE_STEP
    for _ in range(SADDLE_HALVINGS):
        if _try(search, length) or _try(search, -length):
            return True
        length *= 0.5
    return False


@kernel
def _try(search: Record, length: float) -> bool:
    """Move x by a step along `descent`, inside the limits; return whether that lowers the cost."""
    trial = search.trial
    for j in range(trial.shape[0]):
        trial[j] = search.x[j] + length * search.descent[j]
    put_inside(search, trial)
    cost = evaluate(search, trial, search.trial_residual)
    if not cost < search.cost:
        return False
    take_trial(search, cost)
    return True


@kernel
def go_to_minimum(search: Record) -> bool:
    """Take a Newton step if its minimum is clearly lower; return whether x moved."""
    direction = search.descent
    size = free_hessian(search)
    trace = 0.0
    for i in range(size):
        trace += search.normal[i, i]
    for i in range(size):
        search.normal[i, i] += FLAT * trace
    free_slope(search, size)
    if not cholesky_solve(search.normal, search.rhs, size):
        return False
    expand(search, size, direction)
    gain = 0.0
    for j in range(direction.shape[0]):
        gain -= direction[j] * search.gradient[j]
    if gain <= WORTHWHILE * search.cost:
        return False
    longest = divide_by_largest(direction)
    return _try(search, min(longest, LONGEST_STEP))
