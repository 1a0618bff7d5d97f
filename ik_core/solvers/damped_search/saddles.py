"""Leaving stationary points that are no minima: arms stretched out towards or away from a goal."""

from __future__ import annotations

from ..._jit import inner
from ...maths.linalg import curves_down_inside, free_block, negative_curvature, stiffness
from .memory import (
    DESCENT,
    DX,
    HELD,
    LEAVING,
    SearchArrays,
    X,
)
from .model import is_held, leans

SADDLE_STEP = 0.3
"""First step off a saddle [rad or m]."""

SADDLE_TRIALS = 16

FLAT = 1e-7
"""Motions that change nothing have no curvature to speak of: below this share (`stiffness`)."""


@inner
def find_descent(search: SearchArrays, all_at_limits: int) -> bool:
    """At a stationary point: vectors[DESCENT] = a way down along negative curvature.

    False at a minimum. Joints that the slope presses against a limit stay there; where
    `all_at_limits` is 1, all that are at one.
    """
    x, held, normal = search.vectors[X], search.vectors[HELD], search.normal
    _hold(search, all_at_limits)
    size = free_block(search.hessian, held, normal)
    least = FLAT * stiffness(search.hessian)
    for i in range(size):
        normal[i, i] += least
    if not negative_curvature(normal, search.rhs, size):
        return False
    largest = 0.0
    for i in range(size):
        largest = max(largest, abs(search.rhs[i]))
    row = 0
    for j in range(x.shape[0]):
        search.vectors[DESCENT, j] = 0.0
        if held[j] == 0.0:
            search.vectors[DESCENT, j] = search.rhs[row] / largest
            row += 1
    return True


@inner
def find_descent_inside(search: SearchArrays) -> bool:
    """The same, off a limit or several that the slope does not press against."""
    x, held, way = search.vectors[X], search.vectors[HELD], search.vectors[DESCENT]
    _hold(search, 0)
    least = FLAT * stiffness(search.hessian)
    return curves_down_inside(search.hessian, x, search.bounds, held, least, way)


@inner
def _hold(search: SearchArrays, all_at_limits: int) -> None:
    for j in range(search.vectors.shape[1]):
        x, lower, upper = search.vectors[X, j], search.bounds[0, j], search.bounds[1, j]
        loose = all_at_limits == 0 and not (leans(search, j) and is_held(search, j))
        free = lower < x < upper or (loose and lower != upper)
        search.vectors[HELD, j] = 0.0 if free else 1.0


@inner
def leave_saddle(search: SearchArrays) -> None:
    """dx = a step along the way down, to one side and the other, ever shorter."""
    trial = (search.counters[LEAVING] - 1) % SADDLE_TRIALS
    length = SADDLE_STEP * 0.5 ** (trial // 2)
    if trial % 2 == 1:
        length = -length
    for j in range(search.vectors.shape[1]):
        search.vectors[DX, j] = length * search.vectors[DESCENT, j]
