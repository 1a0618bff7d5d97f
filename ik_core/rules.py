"""The rules that every search follows: what is inside the limits, what is reached, what is a
closest point, which point is the best so far, what the status of an answer is.

Each is here alone. They take numbers and views of a point, (n,) or (G, 2), so that kernels of one
problem, of lanes and of a method's loop share them, and Python, too; whole turns are in
`robot.limits.take_nearest_turns`.
"""

from __future__ import annotations

from ._jit import njit, small
from .maths.boxed_step import clamped, is_blocked
from .maths.linalg import STATIONARY
from .maths.rotations import Array

RUNNING, REACHED, CLOSEST, STALLED, EXHAUSTED, FAILED = range(6)
"""Statuses of a search or an attempt. FAILED: a callback raised."""

SAME_COST = 1e-10
"""Costs that differ by less than this share are those of the same closest point."""


@njit
def put_inside(x: Array, bounds: Array) -> None:
    """Move x (n,) to the nearest point inside the bounds (2+, n), lower and upper."""
    for j in range(x.shape[0]):
        x[j] = clamped(x[j], bounds[0, j], bounds[1, j])


@small
def is_within(
    position: float, rotation: float, position_tolerance: float, rotation_tolerance: float
) -> bool:
    """Whether a goal's errors [m, rad] are within its tolerances; what is no number is not."""
    return (position <= position_tolerance) & (rotation <= rotation_tolerance)


@njit
def are_within(errors: Array, position_tolerance: float, rotation_tolerance: float) -> bool:
    """Whether there are goals, and the errors (G, 2) of all are within their tolerances."""
    for g in range(errors.shape[0]):
        if not is_within(errors[g, 0], errors[g, 1], position_tolerance, rotation_tolerance):
            return False
    return errors.shape[0] > 0


@small
def is_steep(gradient: float, square: float, cost: float) -> bool:
    """Whether the cost's slope along a variable is more than nothing: its column, with this square
    of its length, leans on the residual (first-order, scale-free)."""
    return gradient * gradient > STATIONARY * STATIONARY * square * cost


@small
def descent_along(
    x: float, lower: float, upper: float, gradient: float, square: float, cost: float
) -> int:
    """Whether the cost falls along a variable: 1; -1 where only a limit is in the way; else 0."""
    if not is_steep(gradient, square, cost):
        return 0
    return -1 if is_blocked(x, lower, upper, gradient) else 1


@njit
def is_stationary(x: Array, bounds: Array, gradient: Array, squares: Array, cost: float) -> bool:
    """Whether the cost falls nowhere inside the limits: a closest point, or a saddle.

    gradient (n,) : half the cost's; squares (n,) : of the lengths of the Jacobian's columns
    """
    for j in range(x.shape[0]):
        slope = descent_along(x[j], bounds[0, j], bounds[1, j], gradient[j], squares[j], cost)
        if slope > 0:
            return False
    return True


@small
def is_better(cost: float, status: int, best_cost: float, best_status: int) -> bool:
    """Whether a point is better than the best so far, for how attempts ended there.

    RUNNING where one only passed. Of two points that may be the same, the better one is where an
    attempt ended, and best of all one known to be stationary.
    """
    known = _knowledge(status) - _knowledge(best_status)
    if status == REACHED:
        return True
    if known > 0:
        return cost <= best_cost * (1.0 + SAME_COST)
    return cost < best_cost * (1.0 + SAME_COST * known)


@small
def _knowledge(status: int) -> int:
    """How much is known of a point where a search has this status."""
    if status == RUNNING:
        return 0
    return 2 if status == CLOSEST else 1


@small
def answer_status(status: int, is_reached: bool, stays: bool) -> int:
    """The status of an answer that was evaluated again, for that of the search.

    stays : False where whole turns took the answer off a stationary point, since the limit that
        held it there may hold it no more
    """
    if is_reached:
        return REACHED
    # else REACHED was lost to rounding in the last digit of a tolerance
    lost = status == REACHED or (status == CLOSEST and not stays)
    return STALLED if lost else status
