# SPDX-License-Identifier: Apache-2.0
"""The rules that every search follows: what is inside the limits, what is reached, what is a
closest point and what only a saddle, which point is the best so far, what the status of an answer
is.

Each is here alone; on which whole turns an answer is given is in `robot.limits.write_answer`. They
take numbers and views of a point, (n,) or (G, 2), so that `decide` of the default solver and the
loop of the other methods (`optim.loop`) share them, and Python, too.
"""

from __future__ import annotations

from .kernels.jit import inline_kernel, kernel
from .kernels.signatures import Array1, Array2
from .maths.boxed_step import clamped, is_blocked
from .maths.lanes import most
from .maths.linalg import SHORTEST_COLUMN, STATIONARY, negative_curvature, stiffness
from .maths.rotations import Array

RUNNING, REACHED, CLOSEST, STALLED, EXHAUSTED, FAILED, COLLIDED = range(7)
"""Statuses of a search or an attempt. FAILED: a callback raised. COLLIDED: the attempt ended where
the robot collides, or all that would be an answer did."""

SAME_COST = 1e-10
"""Costs that differ by less than this share are those of the same closest point."""

PRESSED = 10.0 * STATIONARY
"""Largest cosine between the residual and the column of a variable at a limit that may yet leave
it: where points count as stationary, the sign of lesser slopes says nothing, their curvature does.
"""

FLAT = 1e-7
"""Motions that change nothing have no curvature to speak of: below this share (`stiffness`)."""

DIFFERENCE = 1e-5
"""Half the distance of the points whose gradients are compared [rad or m], relative to |x| + 1,
where the Hessian is found by differences."""

SADDLE_STEP = 0.3
"""First step off a saddle [rad or m]."""


@kernel
def put_inside(x: Array, bounds: Array) -> None:
    """Move x (n,) to the nearest point inside the bounds (2+, n), lower and upper."""
    for j in range(x.shape[0]):
        x[j] = clamped(x[j], bounds[0, j], bounds[1, j])


@kernel(entry='ik_is_within')
def is_within(
    position: float, rotation: float, position_tolerance: float, rotation_tolerance: float
) -> bool:
    """Whether a goal's errors [m, rad] are within its tolerances; what is no number is not."""
    return (position <= position_tolerance) & (rotation <= rotation_tolerance)


@kernel(entry='ik_are_within')
def are_within(errors: Array2, position_tolerance: float, rotation_tolerance: float) -> bool:
    """Whether there are goals, and the errors (G, 2) of all are within their tolerances."""
    for g in range(errors.shape[0]):
        if not is_within(errors[g, 0], errors[g, 1], position_tolerance, rotation_tolerance):
            return False
    return errors.shape[0] > 0


@kernel
def is_solved(
    errors: Array, position_tolerance: float, rotation_tolerance: float, weighed: bool
) -> bool:
    """Whether a search ends here. Weighed against other tasks, goals that are reached are not
    the end."""
    return not weighed and are_within(errors, position_tolerance, rotation_tolerance)


@kernel
def is_steep(gradient: float, square: float, cost: float) -> bool:
    """Whether the cost's slope along a variable is more than nothing: its column, with this square
    of its length, leans on the residual (first-order, scale-free)."""
    return gradient * gradient > STATIONARY * STATIONARY * square * cost


@kernel
def is_pressing(gradient: float, square: float, cost: float) -> bool:
    """Whether the cost's slope is steep enough to hold a variable at its limit."""
    return gradient * gradient > PRESSED * PRESSED * square * cost


@kernel
def descent_along(
    x: float, lower: float, upper: float, gradient: float, square: float, cost: float
) -> int:
    """Whether the cost falls along a variable: 1; -1 where only a limit is in the way; else 0."""
    if not is_steep(gradient, square, cost):
        return 0
    return -1 if is_blocked(x, lower, upper, gradient) else 1


@kernel(entry='ik_is_stationary')
def is_stationary(
    x: Array1, bounds: Array2, gradient: Array1, squares: Array1, cost: float
) -> bool:
    """Whether the cost falls nowhere inside the limits: a closest point, or a saddle.

    gradient (n,) : half the cost's; squares (n,) : of the lengths of the Jacobian's columns
    """
    for j in range(x.shape[0]):
        slope = descent_along(x[j], bounds[0, j], bounds[1, j], gradient[j], squares[j], cost)
        if slope > 0:
            return False
    return True


@inline_kernel(entry='ik_lengthen')
def lengthen(squares: Array1) -> None:
    """Raise the squares of columns (n,) that vanish beside the longest one."""
    longest = 0.0
    for j in range(squares.shape[0]):
        longest = most(longest, squares[j])
    for j in range(squares.shape[0]):
        squares[j] = most(squares[j], SHORTEST_COLUMN * SHORTEST_COLUMN * longest)


@kernel
def hold_at_limits(
    x: Array,
    bounds: Array,
    gradient: Array,
    squares: Array,
    cost: float,
    all_at_limits: bool,
    held: Array,
) -> int:
    """held (n,) = 1 for variables that stay at a limit, else 0; return how many others are at one.

    gradient, squares, cost : as for `is_stationary`
    all_at_limits : hold all variables that are at a limit
    """
    loose = 0
    for j in range(x.shape[0]):
        lower, upper = bounds[0, j], bounds[1, j]
        stays = _is_held(x[j], lower, upper, gradient[j], squares[j], cost, all_at_limits)
        held[j] = 1.0 if stays else 0.0
        loose += 0 if stays or lower < x[j] < upper else 1
    return loose


@kernel
def _is_held(
    x: float,
    lower: float,
    upper: float,
    gradient: float,
    square: float,
    cost: float,
    all_at_limits: bool,
) -> bool:
    """Return whether a variable stays at its limit in the second-order test: the slope presses it
    there, it has only one value, or all at limits are to stay."""
    if lower < x < upper:
        return False
    if all_at_limits or lower == upper:
        return True
    return is_blocked(x, lower, upper, gradient) and is_pressing(gradient, square, cost)


@kernel
def curves_down(hessian: Array, free: Array, way: Array, size: int) -> bool:
    """Find a way (size,) along which the cost curves downwards; False at a minimum.

    free : its leading block is the Hessian over what is not held; it is overwritten
    """
    least = FLAT * stiffness(hessian)  # of all variables: those that are free may change nothing
    for i in range(size):
        free[i, i] += least
    return negative_curvature(free, way, size)


@kernel
def has_stalled(moved: float, least: float, largest: float, relative_change: float) -> bool:
    """Whether a step that moved no variable by more ends an attempt: by more than `least`, or
    than `relative_change` of the largest variable."""
    return moved <= max(least, relative_change * largest)


@kernel
def is_better(cost: float, status: int, best_cost: float, best_status: int) -> bool:
    """Whether a point is better than the best so far, by costs and by how attempts ended there.

    The status is RUNNING at a point that an attempt only passed. Of two points with nearly the
    same cost a stationary one is better than one where an attempt ended, and that is better than
    one passed.
    """
    known = _rank(status) - _rank(best_status)
    if status == REACHED:
        return True
    if known > 0:
        return cost <= best_cost * (1.0 + SAME_COST)
    return cost < best_cost * (1.0 + SAME_COST * known)


@kernel
def _rank(status: int) -> int:
    """How much is known of a point where a search has this status."""
    if status == RUNNING:
        return 0
    return 2 if status == CLOSEST else 1


@kernel(entry='ik_answer_status')
def answer_status(status: int, is_reached: bool, stays: bool) -> int:
    """The status of an answer that was evaluated again, for that of the search.

    stays : False where whole turns took the answer off a stationary point, since the limit that
        held it there may hold it no more
    """
    if status == COLLIDED:
        return COLLIDED
    if is_reached:
        return REACHED
    # else REACHED was lost to rounding in the last digit of a tolerance
    lost = status == REACHED or (status == CLOSEST and not stays)
    return STALLED if lost else status
