"""Evaluation at x, the linear or quadratic model there, and steps judged by it."""

from __future__ import annotations

from ..._jit import inlined
from ...maths.boxed_step import is_blocked
from ...maths.lanes import bits, least, most, select
from ...maths.linalg import SHORTEST_COLUMN, STATIONARY, gauss_newton_hessian
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
    WEIGHED,
    WEIGHTS,
    SearchArrays,
    X,
)

ROUNDING = 1e-13
"""Changes of the cost below this share of it are noise."""

SMALLEST_MOVE = 1e-13
"""A step that moves no joint by more [rad or m] is none."""

SMALLEST_DAMPING = 1e-9
"""Where a step is refused, the damping grows from here on."""

DIFFERENCE = 1e-5
"""Half the distance of the points whose gradients are compared [rad or m], relative to |x| + 1."""


@inlined
def cost_at(search: SearchArrays, x: Array, residual: Array) -> float:
    """Evaluate everything at x; return the cost."""
    cost = update(search.p, x, residual)
    if search.options[WEIGHED] > 0.0:
        for j in range(x.shape[0]):
            away = x[j] - search.vectors[REST, j]
            cost += search.vectors[WEIGHTS, j] * away * away
        cost += search.values[JOINT_COST]
    return cost


@inlined
def differentiate(search: SearchArrays) -> None:
    """The Jacobian's columns, their squares (of vanishing ones more), and half the cost's
    gradient, at x as evaluated."""
    vectors = search.vectors
    goal_jacobian(search.p, 1, search.columns)
    slopes(search.columns, search.residual, vectors[GRADIENT], vectors[SQUARES])
    if search.options[WEIGHED] > 0.0:
        for j in range(vectors.shape[1]):
            weight = vectors[WEIGHTS, j]
            vectors[GRADIENT, j] += weight * (vectors[X, j] - vectors[REST, j])
            vectors[SQUARES, j] += weight
    lengthen(vectors[SQUARES])


@inlined
def model_hessian(search: SearchArrays, exact: bool) -> None:
    """hessian = half the cost's at x: of the Gauss-Newton model, or the exact one."""
    gauss_newton_hessian(search.columns, search.hessian)
    if exact:
        update(search.p, search.vectors[X], search.residual)
        add_curvature(search.p, search.hessian)
    for j in range(search.vectors.shape[1]):
        search.hessian[j, j] += search.vectors[WEIGHTS, j]


@inlined
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


@inlined
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


@inlined
def is_solved(search: SearchArrays) -> bool:
    """Whether all goals are reached. Weighed against other tasks, that alone is not the end."""
    if search.options[WEIGHED] > 0.0:
        return False
    return within_tolerances(search)


@inlined
def within_tolerances(search: SearchArrays) -> bool:
    """Whether all goals are reached where they were evaluated last."""
    errors = search.p.errors
    for i in range(errors.shape[0]):
        if not errors[i, 0] <= search.options[POSITION_TOLERANCE]:
            return False
        if not errors[i, 1] <= search.options[ORIENTATION_TOLERANCE]:
            return False
    return errors.shape[0] > 0


@inlined
def at_stationary_point(search: SearchArrays) -> bool:
    """As `optim.search.is_stationary`: no column of a free variable leans on the residual."""
    vectors, bounds = search.vectors, search.bounds
    gradient, squares = vectors[GRADIENT], vectors[SQUARES]
    return free_slopes(vectors[X], bounds, gradient, squares, search.values[COST]) == 0.0


@inlined
def leans(search: SearchArrays, j: int) -> bool:
    """Whether the cost's slope along a variable is more than nothing."""
    gradient, square = search.vectors[GRADIENT, j], search.vectors[SQUARES, j]
    return is_steep(gradient, square, search.values[COST])


@inlined
def is_held(search: SearchArrays, j: int) -> bool:
    """Whether a variable is at a limit that descent would have it cross."""
    x, gradient = search.vectors[X, j], search.vectors[GRADIENT, j]
    return is_blocked(x, search.bounds[0, j], search.bounds[1, j], gradient)


@inlined
def modelled_decrease(hessian: Array, gradient: Array, dx: Array) -> float:
    """How much a quadratic model falls over dx: -(2 g'dx + dx'H dx), H by its lower triangle."""
    linear, quadratic = 0.0, 0.0
    for j in range(dx.shape[0]):
        linear += gradient[j] * dx[j]
        quadratic += hessian[j, j] * dx[j] * dx[j]
        for k in range(j):
            quadratic += 2.0 * hessian[j, k] * dx[j] * dx[k]
    return -(2.0 * linear + quadratic)


@inlined
def take_step(x: Array, dx: Array, bounds: Array, trial: Array) -> float:
    """trial = x + dx, inside the bounds to the last bit; returns the largest move."""
    largest = 0.0
    for j in range(x.shape[0]):
        trial[j] = least(most(x[j] + dx[j], bounds[0, j]), bounds[1, j])
        largest = most(largest, abs(trial[j] - x[j]))
    return largest


# --- of one problem, or of lanes of them ---------------------------------------------------------


@inlined
def slopes(columns: Array, residual: Array, gradient: Array, squares: Array) -> None:
    """Half the gradient J'r (n,) of |r|^2, and the squares (n,) of the columns' lengths."""
    n, m = columns.shape
    for j in range(n):
        slope = square = 0.0
        for i in range(m):
            slope += columns[j, i] * residual[i]
            square += columns[j, i] * columns[j, i]
        gradient[j], squares[j] = slope, square


@inlined
def lengthen(squares: Array) -> None:
    """Have columns that vanish beside the longest one count as longer."""
    longest = 0.0
    for j in range(squares.shape[0]):
        longest = most(longest, squares[j])
    for j in range(squares.shape[0]):
        squares[j] = most(squares[j], SHORTEST_COLUMN * SHORTEST_COLUMN * longest)


@inlined
def is_steep(gradient: float, square: float, cost: float) -> bool:
    """Whether the slope along a column is more than nothing: its cosine with the residual."""
    return gradient * gradient > STATIONARY * STATIONARY * square * cost


@inlined
def free_slopes(x: Array, bounds: Array, gradient: Array, squares: Array, cost: float) -> float:
    """How many variables slope downwards, and not across a limit, counted until there is one."""
    count = 0.0
    for j in range(x.shape[0]):
        blocked = is_blocked(x[j], bounds[0, j], bounds[1, j], gradient[j])
        steep = is_steep(gradient[j], squares[j], cost)
        count += select(blocked, 0.0, select(steep, 1.0, 0.0))
        if bits(count == 0.0) == 0:  # in all lanes
            break
    return count
