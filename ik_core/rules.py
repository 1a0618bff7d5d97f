# SPDX-License-Identifier: Apache-2.0
"""Rules of all searches. They decide whether a point is inside the limits, within the tolerances,
a closest point or only a saddle, which point is the best so far, and the status of an answer.

Each rule exists only here, except that the choice of whole turns is in
`robot.limits.write_answer`. Rules take numbers and arrays of a point, (n,) or (G, 2), so that
`decide` of the default solver, the loop of the other methods (`optim.loop`) and Python use the
same ones.
"""

from __future__ import annotations

from .kernels.jit import inline_kernel, kernel
from .kernels.signatures import Array1, Array2
from .maths.boxed_step import clamp, is_blocked
from .maths.lanes import most
from .maths.linalg import SHORTEST_COLUMN, STATIONARY, negative_curvature, stiffness
from .maths.rotations import Array

# statuses of a search or an attempt; FAILED: a callback raised; COLLIDED: the attempt ended where
# the robot collides, or all possible answers collide
RUNNING, REACHED, CLOSEST, STALLED, EXHAUSTED, FAILED, COLLIDED = range(7)

SAME_COST = 1e-10  # costs with a smaller relative difference belong to the same closest point

# largest cosine between the residual and the column of a variable at a limit that may still leave
# it: where points count as stationary, the sign of smaller slopes is meaningless, and their
# curvature decides
PRESSED = 10.0 * STATIONARY

FLAT = 1e-7  # smaller curvatures, relative to `stiffness`, are those of motions without effect

# step of the central differences for the Hessian [rad or m], relative to |x| + 1
DIFFERENCE = 1e-5

SADDLE_STEP = 0.3  # [rad or m] first step off a saddle


@kernel
def put_inside(x: Array, bounds: Array) -> None:
    """Move x (n,) to the nearest point inside the bounds (2+, n), lower and upper limits."""
    for j in range(x.shape[0]):
        x[j] = clamp(x[j], bounds[0, j], bounds[1, j])


@kernel(entry='ik_is_within')
def is_within(
    position: float, rotation: float, position_tolerance: float, rotation_tolerance: float
) -> bool:
    """Return whether a goal's errors [m, rad] are within its tolerances; NaN is not."""
    return (position <= position_tolerance) & (rotation <= rotation_tolerance)


@kernel(entry='ik_are_within')
def are_within(errors: Array2, position_tolerance: float, rotation_tolerance: float) -> bool:
    """Return whether there are goals, and the errors (G, 2) of all are within their tolerances."""
    for g in range(errors.shape[0]):
        if not is_within(errors[g, 0], errors[g, 1], position_tolerance, rotation_tolerance):
            return False
    return errors.shape[0] > 0


@kernel
def is_solved(
    errors: Array, position_tolerance: float, rotation_tolerance: float, weighed: bool
) -> bool:
    """Return whether a search ends because its goals are reached.

    weighed : True if goals are weighted against other tasks; reaching them is then not the end
    """
    return not weighed and are_within(errors, position_tolerance, rotation_tolerance)


@kernel
def is_steep(gradient: float, square: float, cost: float) -> bool:
    """Return whether the cost has a significant slope along a variable.

    The cosine between the residual and the variable's column, whose squared length is `square`,
    is compared with STATIONARY: a first-order criterion that does not depend on scales.
    """
    return gradient * gradient > STATIONARY * STATIONARY * square * cost


@kernel
def is_pressing(gradient: float, square: float, cost: float) -> bool:
    """Return whether the cost's slope is steep enough to keep a variable at its limit."""
    return gradient * gradient > PRESSED * PRESSED * square * cost


@kernel
def descent_along(
    x: float, lower: float, upper: float, gradient: float, square: float, cost: float
) -> int:
    """1 if the cost falls along a variable, -1 if only a limit prevents that, else 0."""
    if not is_steep(gradient, square, cost):
        return 0
    return -1 if is_blocked(x, lower, upper, gradient) else 1


@kernel(entry='ik_is_stationary')
def is_stationary(
    x: Array1, bounds: Array2, gradient: Array1, squares: Array1, cost: float
) -> bool:
    """Return whether the cost falls nowhere inside the limits: at a closest point or a saddle.

    gradient (n,) : of half the cost
    squares (n,) : squared lengths of the Jacobian's columns
    """
    for j in range(x.shape[0]):
        slope = descent_along(x[j], bounds[0, j], bounds[1, j], gradient[j], squares[j], cost)
        if slope > 0:
            return False
    return True


@inline_kernel(entry='ik_lengthen')
def lengthen(squares: Array1) -> None:
    """Raise the squared lengths of columns (n,) that nearly vanish, relative to the longest."""
    longest = 0.0
    for j in range(squares.shape[0]):
        longest = most(longest, squares[j])
    for j in range(squares.shape[0]):
        squares[j] = most(squares[j], SHORTEST_COLUMN * SHORTEST_COLUMN * longest)


@kernel
def clamp_at_limits(
    x: Array,
    bounds: Array,
    gradient: Array,
    squares: Array,
    cost: float,
    all_at_limits: bool,
    clamped: Array,
) -> int:
    """Set clamped (n,) to 1 for variables that stay at a limit, else 0; return how many others are
    at a limit.

    gradient, squares, cost : as for `is_stationary`
    all_at_limits : clamp all variables that are at a limit
    """
    free = 0
    for j in range(x.shape[0]):
        lower, upper = bounds[0, j], bounds[1, j]
        stays = _is_clamped(x[j], lower, upper, gradient[j], squares[j], cost, all_at_limits)
        clamped[j] = 1.0 if stays else 0.0
        free += 0 if stays or lower < x[j] < upper else 1
    return free


@kernel
def _is_clamped(
    x: float,
    lower: float,
    upper: float,
    gradient: float,
    square: float,
    cost: float,
    all_at_limits: bool,
) -> bool:
    """Return whether a variable stays at its limit in the second-order test.

    It does if the slope presses it against the limit, if its limits are equal, or if all variables
    at limits should stay (`all_at_limits`).
    """
    if lower < x < upper:
        return False
    if all_at_limits or lower == upper:
        return True
    return is_blocked(x, lower, upper, gradient) and is_pressing(gradient, square, cost)


@kernel
def curves_down(hessian: Array, free: Array, direction: Array, size: int) -> bool:
    """Find a direction (size,) of downward curvature of the cost; return False at a minimum.

    free : its leading block is the Hessian over the free variables; it is overwritten
    """
    least = FLAT * stiffness(hessian)  # of all variables, since the free ones may have no effect
    for i in range(size):
        free[i, i] += least
    return negative_curvature(free, direction, size)


@kernel
def has_stalled(moved: float, least: float, largest: float, relative_change: float) -> bool:
    """Return whether a step ends an attempt: it moved no variable by more than `least` [rad or m],
    or than `relative_change` of the largest variable."""
    return moved <= max(least, relative_change * largest)


@kernel
def is_better(cost: float, status: int, best_cost: float, best_status: int) -> bool:
    """Return whether a point is better than the best so far, by costs and statuses.

    The status is RUNNING at a point that an attempt only passed. Of two points with nearly the
    same cost a stationary one is better than one where an attempt ended, which is better than one
    that was passed.
    """
    known = _rank(status) - _rank(best_status)
    if status == REACHED:
        return True
    if known > 0:
        return cost <= best_cost * (1.0 + SAME_COST)
    return cost < best_cost * (1.0 + SAME_COST * known)


@kernel
def _rank(status: int) -> int:
    """Rank a point: 2 if it is stationary, 1 if an attempt ended there, 0 if it was passed."""
    if status == RUNNING:
        return 0
    return 2 if status == CLOSEST else 1


@kernel(entry='ik_answer_status')
def answer_status(status: int, is_reached: bool, stays: bool) -> int:
    """The status of an answer after its final evaluation, from that of the search.

    stays : False if whole turns moved the answer away from a limit at which it was stationary
    """
    if status == COLLIDED:
        return COLLIDED
    if is_reached:
        return REACHED
    # otherwise REACHED was lost to rounding in the last digit of a tolerance
    lost = status == REACHED or (status == CLOSEST and not stays)
    return STALLED if lost else status
