"""Evaluation at x, the linear or quadratic model there, and steps judged by it."""

from __future__ import annotations

from ..._jit import inner, njit
from ...maths.linalg import SHORTEST_COLUMN, STATIONARY, gauss_newton_hessian, is_blocked
from ...maths.rotations import Array
from ...maths.vectors import copy_to
from ...tasks.kernels import (
    GEOMETRIC,
    NONE,
    ROTATION,
    VECTOR,
    add_curvature,
    goal_jacobian,
    update,
)
from .memory import (
    COST,
    DX,
    FOLLOWING,
    GRADIENT,
    JOINT_COST,
    ORIENTATION_TOLERANCE,
    POSITION_TOLERANCE,
    REST,
    SQUARES,
    TRIAL,
    WEIGHED,
    WEIGHTS,
    SearchArrays,
    X,
)

DIFFERENCE = 1e-5
"""Half the distance of the points whose gradients are compared [rad or m], relative to |x| + 1."""


@inner
def cost_at(search: SearchArrays, x: Array, residual: Array) -> float:
    """Evaluate everything at x; return the cost."""
    cost = update(search.p, x, residual)
    if search.options[WEIGHED] > 0.0:
        for j in range(x.shape[0]):
            away = x[j] - search.vectors[REST, j]
            cost += search.vectors[WEIGHTS, j] * away * away
        cost += search.values[JOINT_COST]
    return cost


@inner
def differentiate(search: SearchArrays) -> None:
    """The Jacobian's columns, their squares (of vanishing ones more), and half the cost's
    gradient, at x as evaluated."""
    goal_jacobian(search.p, 1, search.columns)
    n, m = search.columns.shape
    longest = 0.0
    for j in range(n):
        weight = search.vectors[WEIGHTS, j]
        gradient, square = weight * (search.vectors[X, j] - search.vectors[REST, j]), weight
        for i in range(m):
            gradient += search.columns[j, i] * search.residual[i]
            square += search.columns[j, i] * search.columns[j, i]
        search.vectors[GRADIENT, j], search.vectors[SQUARES, j] = gradient, square
        longest = max(longest, square)
    shortest = SHORTEST_COLUMN * SHORTEST_COLUMN * longest
    for j in range(n):
        search.vectors[SQUARES, j] = max(search.vectors[SQUARES, j], shortest)


@inner
def model_hessian(search: SearchArrays, exact: bool) -> None:
    """hessian = half the cost's at x: of the Gauss-Newton model, or the exact one."""
    gauss_newton_hessian(search.columns, search.hessian)
    if exact:
        update(search.p, search.vectors[X], search.residual)
        add_curvature(search.p, search.hessian)
    for j in range(search.vectors.shape[1]):
        search.hessian[j, j] += search.vectors[WEIGHTS, j]


@inner
def true_hessian(search: SearchArrays) -> None:
    """hessian = half the cost's at x; where `add_curvature` does not know all of it, by central
    differences of the gradient."""
    table = search.p.table
    for i in range(table.shape[0]):
        kind = table[i, ROTATION]
        if kind != NONE and (kind != VECTOR or table[i, GEOMETRIC] == 0):
            _hessian_by_differences(search)
            return
    # `True` would compile it a second time
    model_hessian(search, search.counters[FOLLOWING] > 0)


@inner
def _hessian_by_differences(search: SearchArrays) -> None:
    x, above, below = search.vectors[X], search.vectors[DX], search.vectors[GRADIENT]
    for j in range(x.shape[0]):
        here, step = x[j], DIFFERENCE * (1.0 + abs(x[j]))
        for side in range(2):
            x[j] = here - step if side == 1 else here + step
            cost_at(search, x, search.residual)
            differentiate(search)
            if side == 0:
                copy_to(below, above)
        x[j] = here
        for k in range(x.shape[0]):
            search.normal[j, k] = (above[k] - below[k]) / (2.0 * step)
    for j in range(x.shape[0]):
        for k in range(j + 1):
            search.hessian[j, k] = 0.5 * (search.normal[j, k] + search.normal[k, j])
    cost_at(search, x, search.residual)
    differentiate(search)


@inner
def is_solved(search: SearchArrays) -> bool:
    """Whether all goals are reached. Weighed against other tasks, that alone is not the end."""
    if search.options[WEIGHED] > 0.0:
        return False
    return within_tolerances(search)


@inner
def within_tolerances(search: SearchArrays) -> bool:
    """Whether all goals are reached where they were evaluated last."""
    errors = search.p.errors
    for i in range(errors.shape[0]):
        if errors[i, 0] > search.options[POSITION_TOLERANCE]:
            return False
        if errors[i, 1] > search.options[ORIENTATION_TOLERANCE]:
            return False
    return errors.shape[0] > 0


@inner
def at_stationary_point(search: SearchArrays) -> bool:
    """As `optim.search.is_stationary`: no column of a free variable leans on the residual."""
    leaning = 0
    for j in range(search.vectors.shape[1]):
        if leans(search, j) and not is_held(search, j):
            leaning += 1
    return leaning == 0


@inner
def leans(search: SearchArrays, j: int) -> bool:
    """Whether the cost's slope along a variable is more than nothing."""
    gradient, square = search.vectors[GRADIENT, j], search.vectors[SQUARES, j]
    return gradient * gradient > STATIONARY * STATIONARY * square * search.values[COST]


@inner
def is_held(search: SearchArrays, j: int) -> bool:
    """Whether a variable is at a limit that descent would have it cross."""
    x, gradient = search.vectors[X, j], search.vectors[GRADIENT, j]
    return is_blocked(x, search.bounds[0, j], search.bounds[1, j], gradient)


@njit
def predicted_decrease(
    columns: Array, hessian: Array, given: bool, gradient: Array, dx: Array
) -> float:
    """How much the model's cost falls over dx: -(2 g'dx + dx'H dx)."""
    n, m = columns.shape
    linear, quadratic = 0.0, 0.0
    for j in range(n):
        linear += gradient[j] * dx[j]
    if given:
        for j in range(n):
            quadratic += hessian[j, j] * dx[j] * dx[j]
            for k in range(j):
                quadratic += 2.0 * hessian[j, k] * dx[j] * dx[k]
    else:
        for i in range(m):
            s = 0.0
            for j in range(n):
                s += columns[j, i] * dx[j]
            quadratic += s * s
    return -(2.0 * linear + quadratic)


@njit
def damping_factor(actual: float, predicted: float) -> float:
    """What nu is multiplied by, for how well the model predicted the decrease [Nielsen1999]."""
    gain = actual / predicted if predicted > 0.0 else 0.0
    return max(1.0 / 3.0, 1.0 - (2.0 * min(gain, 2.0) - 1.0) ** 3)


@inner
def take_step(search: SearchArrays) -> float:
    """trial = x + dx, inside the bounds to the last bit; returns the largest move."""
    largest = 0.0
    for j in range(search.vectors.shape[1]):
        x = search.vectors[X, j]
        moved = min(max(x + search.vectors[DX, j], search.bounds[0, j]), search.bounds[1, j])
        search.vectors[TRIAL, j] = moved
        largest = max(largest, abs(moved - x))
    return largest
