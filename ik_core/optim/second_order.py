# SPDX-License-Identifier: Apache-2.0
"""Whether a stationary point is a minimum inside the limits, and the way down where it is none.

An arm stretched out towards a goal, or away from it, is at a stationary point whatever the other
joints could gain by bending. There the curvature decides: half the cost's Hessian over the
variables that no limit holds, by central differences of the gradient, which serve all tasks alike.

What is free are these variables (`hold`, `free_hessian`, `free_slope`, `expand`); with linear
constraints, it is the space that the active ones leave (`constrained`).
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
    curves_down,
    hold_at_limits,
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

LONGEST_STEP = 0.3
"""The longest step towards a minimum [rad or m]."""

HALVINGS = 12
"""Halvings of a step off a saddle, to both sides."""

WORTHWHILE = 1e-9
"""Share of the cost that a minimum nearby has to gain to be gone to."""


@kernel
def leave_or_conclude(search: Record) -> int:
    """Leave a saddle, or end at a minimum; called at a stationary point.

    Returns CLOSEST at a minimum inside the limits, RUNNING if x was moved to a lower point and
    evaluated there, STALLED if the cost curves downwards but no lower point was found. Variables
    at a limit without a slope are free at first. If only those give a descent direction, and no
    lower point lies on it, they are held, and then each is tried inwards.
    """
    half_hessian(search)
    loose = hold(search, False)
    definite = _find_descent(search)
    if not definite and descend(search):
        return RUNNING
    if not definite and loose > 0:
        hold(search, True)
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
    """The lower triangle of `hessian` (n, n), by central differences of J'r at x."""
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
def hold(search: Record, all_at_limits: bool) -> int:
    """Mark variables that limits hold; return the number of others at a limit."""
    x, bounds, gradient, squares = search.x, search.problem.bounds, search.gradient, search.squares
    return hold_at_limits(x, bounds, gradient, squares, search.cost, all_at_limits, search.held)


@kernel
def _find_descent(search: Record) -> bool:
    """True where the cost curves upwards; else DESCENT = a way along which it does not."""
    size = free_hessian(search)
    if not curves_down(search.hessian, search.normal, search.rhs, size):
        return True
    expand(search, size, search.descent)
    divide_by_largest(search.descent)
    return False


@kernel
def find_descent_inside(search: Record) -> bool:
    """DESCENT = a way inside along which the cost curves downwards, off a limit or several."""
    x, held, way = search.x, search.held, search.descent
    hold(search, False)
    least = FLAT * stiffness(search.hessian)
    found = curves_down_inside(search.hessian, x, search.problem.bounds, held, least, way)
    hold(search, True)
    return found


@kernel
def free_hessian(search: Record) -> int:
    """The lower triangle of the Hessian over what is free, in `normal`; its size."""
    return free_block(search.hessian, search.held, search.normal)


@kernel
def free_slope(search: Record, size: int) -> None:
    """`rhs` = minus half the gradient over what is free."""
    row = 0
    for j in range(search.joints):
        if search.held[j] == 0.0:
            search.rhs[row] = -search.gradient[j]
            row += 1


@kernel
def expand(search: Record, size: int, direction: Array) -> None:
    """direction (n,) = `rhs` for what is free, 0 for what is held."""
    fill_free(search.rhs, search.held, direction)


@kernel
def descend(search: Record) -> bool:
    """Move x along DESCENT, to one side or the other, ever less; whether that lowered the cost."""
    length = SADDLE_STEP
    for _ in range(HALVINGS):
        if _try(search, length) or _try(search, -length):
            return True
        length *= 0.5
    return False


@kernel
def _try(search: Record, length: float) -> bool:
    """Move x by a step along DESCENT, inside the limits, if that lowers the cost."""
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
    """Where the cost curves upwards: one Newton step, if the minimum is clearly lower."""
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
