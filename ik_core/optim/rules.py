"""The rules that every search follows: what is reached, what is closest, what an answer is.

Numbers only, so that all loops share them whatever their arrays are.
"""

from __future__ import annotations

from .._jit import small
from ..maths.boxed_step import is_blocked
from ..maths.linalg import STATIONARY
from .memory import REACHED, STALLED


@small
def is_within(
    position: float, rotation: float, position_tolerance: float, rotation_tolerance: float
) -> bool:
    """Whether a goal's errors [m, rad] are within its tolerances; what is no number is not."""
    return (position <= position_tolerance) & (rotation <= rotation_tolerance)


@small
def is_steep(gradient: float, square: float, cost: float) -> bool:
    """Whether the cost's slope along a variable is more than nothing: its column, with this square
    of its length, leans on the residual (first-order, scale-free)."""
    return gradient * gradient > STATIONARY * STATIONARY * square * cost


@small
def descent_along(
    x: float, lower: float, upper: float, gradient: float, square: float, cost: float
) -> int:
    """Whether the cost falls along a variable: 1; -1 where only a limit is in the way; else 0.

    A point where none is 1 is stationary: a closest point, or a saddle.
    """
    if not is_steep(gradient, square, cost):
        return 0
    return -1 if is_blocked(x, lower, upper, gradient) else 1


@small
def answer_status(status: int, is_reached: bool) -> int:
    """The status of an answer that was evaluated again, for that of the search."""
    if is_reached:
        return REACHED
    # else lost to rounding in the last digit of a tolerance
    return STALLED if status == REACHED else status
