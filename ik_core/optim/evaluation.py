"""A search's problem at a point: cost, residual and errors, and the derivatives there."""

from __future__ import annotations

from .. import rules
from .._jit import call_back, inner
from ..maths.boxed_step import is_blocked
from ..maths.rotations import Array
from ..maths.vectors import copy_to
from ..rules import FAILED, are_within, is_stationary, lengthen
from ..tasks.kernels import goal_jacobian, update
from .memory import (
    ASKED,
    COST,
    EVALUATIONS,
    GOAL_ROWS,
    GRADIENT,
    JACOBIAN_ROWS,
    JOINT_COST,
    JOINT_RESTS,
    JOINT_ROWS,
    JOINT_SCALES,
    ORIENTATION_TOLERANCE,
    POSITION_TOLERANCE,
    RESIDUAL,
    RESIDUAL_ROWS,
    SQUARES,
    STATUS,
    TASKS,
    TRIAL,
    TRIAL_RESIDUAL,
    WANTED,
    WEIGHED,
    SearchArrays,
    X,
)


@inner
def evaluate(search: SearchArrays, x: Array, residual: Array) -> float:
    """Evaluate everything at x (n,): the residual (m,) and the goals' errors; return the cost."""
    search.counters[EVALUATIONS] += 1
    first = search.counters[GOAL_ROWS]
    if search.counters[JOINT_ROWS] > 0:
        for j in range(x.shape[0]):
            away = x[j] - search.vectors[JOINT_RESTS, j]
            residual[first + j] = search.vectors[JOINT_SCALES, j] * away
    if search.counters[TASKS] != 0:
        _ask(search, x, residual, RESIDUAL_ROWS)
    return update(search.p, x, residual) + search.values[JOINT_COST]


@inner
def evaluate_here(search: SearchArrays) -> None:
    """Evaluate at x: cost, residual and errors."""
    search.values[COST] = evaluate(search, search.vectors[X], search.rows[RESIDUAL])


@inner
def differentiate(search: SearchArrays, x: Array, columns: Array) -> None:
    """columns (n, m): those of the Jacobian at x (n,), where `evaluate` was called last."""
    goal_jacobian(search.p, 0, columns)
    if search.counters[JOINT_ROWS] > 0:
        first = search.counters[GOAL_ROWS]
        for j in range(x.shape[0]):
            columns[j, first + j] = search.vectors[JOINT_SCALES, j]
    if search.counters[TASKS] != 0:
        _ask(search, x, search.rows[RESIDUAL], JACOBIAN_ROWS)
        first = search.counters[GOAL_ROWS] + search.counters[JOINT_ROWS]
        for j in range(columns.shape[0]):
            for i in range(first, columns.shape[1]):
                columns[j, i] = search.work[i, j]


@inner
def _ask(search: SearchArrays, x: Array, residual: Array, wanted: int) -> None:
    """Have the tasks that no kernel knows evaluated: their rows of `work`, or of the residual."""
    copy_to(x, search.vectors[ASKED])
    search.counters[WANTED] = wanted
    if call_back(search.counters[TASKS]) != 0:
        search.counters[STATUS] = FAILED
    if wanted == RESIDUAL_ROWS:
        for i in range(search.counters[GOAL_ROWS] + search.counters[JOINT_ROWS], len(residual)):
            residual[i] = search.work[i, 0]


@inner
def slope(columns: Array, residual: Array, gradient: Array) -> None:
    """gradient (n,) = J'r, half the cost's."""
    for j in range(columns.shape[0]):
        total = 0.0
        for i in range(columns.shape[1]):
            total += columns[j, i] * residual[i]
        gradient[j] = total


@inner
def differentiate_here(search: SearchArrays) -> None:
    """The Jacobian's columns, the squares of their lengths and half the gradient, at x."""
    columns = search.columns
    differentiate(search, search.vectors[X], columns)
    slope(columns, search.rows[RESIDUAL], search.vectors[GRADIENT])
    for j in range(columns.shape[0]):
        square = 0.0
        for i in range(columns.shape[1]):
            square += columns[j, i] * columns[j, i]
        search.vectors[SQUARES, j] = square
    lengthen(search.vectors[SQUARES])


@inner
def within_tolerances(search: SearchArrays) -> bool:
    """Whether all goals are reached where they were evaluated last; not so without any."""
    options = search.options
    position, orientation = options[POSITION_TOLERANCE], options[ORIENTATION_TOLERANCE]
    return are_within(search.p.errors, position, orientation)


@inner
def is_solved(search: SearchArrays) -> bool:
    """Whether the search ends where the goals were evaluated last."""
    options = search.options
    position, orientation = options[POSITION_TOLERANCE], options[ORIENTATION_TOLERANCE]
    return rules.is_solved(search.p.errors, position, orientation, options[WEIGHED] > 0.0)


@inner
def is_held(search: SearchArrays, j: int) -> bool:
    """Whether a variable is at a limit that descent would have it cross."""
    x, gradient = search.vectors[X, j], search.vectors[GRADIENT, j]
    return is_blocked(x, search.bounds[0, j], search.bounds[1, j], gradient)


@inner
def at_stationary_point(search: SearchArrays) -> bool:
    """Whether the cost falls nowhere inside the limits."""
    vectors, cost = search.vectors, search.values[COST]
    return is_stationary(vectors[X], search.bounds, vectors[GRADIENT], vectors[SQUARES], cost)


@inner
def project(search: SearchArrays, x: Array) -> None:
    """Put x (n,) inside the limits; what is not finite becomes where the search stands."""
    for j in range(x.shape[0]):
        if not abs(x[j]) < 1e300:
            x[j] = search.vectors[X, j]
    rules.put_inside(x, search.bounds)


@inner
def put_inside(search: SearchArrays, x: Array) -> None:
    """`project`, where linear constraints may stand in the place of the limits alone."""
    project(search, x)


@inner
def take_trial(search: SearchArrays, cost: float) -> None:
    """Move x to the trial point, which was evaluated last."""
    search.values[COST] = cost
    copy_to(search.vectors[TRIAL], search.vectors[X])
    copy_to(search.rows[TRIAL_RESIDUAL], search.rows[RESIDUAL])
