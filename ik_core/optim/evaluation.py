# SPDX-License-Identifier: Apache-2.0
"""A search's problem at a point: cost, residual and errors, and the derivatives there."""

from __future__ import annotations

from .. import rules
from ..kernels.jit import call_back, kernel
from ..maths.boxed_step import is_blocked
from ..maths.rotations import Array
from ..maths.vectors import copy_to
from ..rules import FAILED, are_within, is_stationary, lengthen
from ..tasks.kernels import goal_jacobian, update
from .layouts import JACOBIAN, RESIDUAL, Record, goals_of


@kernel
def evaluate(search: Record, x: Array, residual: Array) -> float:
    """Fill the residual (m,) and the goals' errors at x (n,); return the cost."""
    search.evaluations += 1
    first = search.problem.goal_rows
    if search.joint_rows > 0:
        scales, rests = search.joint_scales, search.problem.rests
        for j in range(x.shape[0]):
            residual[first + j] = scales[j] * (x[j] - rests[j])
    if search.problem.tasks != 0:
        _ask(search, x, residual, RESIDUAL)
    return update(goals_of(search), x, residual) + search.problem.joint_cost


@kernel
def evaluate_here(search: Record) -> None:
    """Fill cost, residual and errors at x."""
    search.cost = evaluate(search, search.x, search.residual)


@kernel
def differentiate(search: Record, x: Array, columns: Array) -> None:
    """columns (n, m) = those of the Jacobian at x (n,), where `evaluate` was called last."""
    goal_jacobian(goals_of(search), 0, columns)
    if search.joint_rows > 0:
        first = search.problem.goal_rows
        for j in range(x.shape[0]):
            columns[j, first + j] = search.joint_scales[j]
    if search.problem.tasks != 0:
        _ask(search, x, search.residual, JACOBIAN)
        first = search.problem.goal_rows + search.joint_rows
        found = search.problem.found
        for j in range(columns.shape[0]):
            for i in range(found.shape[0]):
                columns[j, first + i] = found[i, j]


@kernel
def _ask(search: Record, x: Array, residual: Array, wanted: int) -> None:
    """Call back the tasks without a kernel: fills `found`, and their rows of the residual."""
    problem = search.problem
    copy_to(x, problem.asked)
    problem.wanted = wanted
    if call_back(problem.tasks) != 0:
        search.status = FAILED
    if wanted == RESIDUAL:
        first = problem.goal_rows + search.joint_rows
        for i in range(problem.found.shape[0]):
            residual[first + i] = problem.found[i, 0]


@kernel
def slope(columns: Array, residual: Array, gradient: Array) -> None:
    """gradient (n,) = J'r, half the cost's."""
    for j in range(columns.shape[0]):
        total = 0.0
        for i in range(columns.shape[1]):
            total += columns[j, i] * residual[i]
        gradient[j] = total


@kernel
def differentiate_here(search: Record) -> None:
    """Fill the Jacobian's columns, the squares of their lengths and half the gradient at x."""
    columns = search.columns
    differentiate(search, search.x, columns)
    slope(columns, search.residual, search.gradient)
    for j in range(columns.shape[0]):
        square = 0.0
        for i in range(columns.shape[1]):
            square += columns[j, i] * columns[j, i]
        search.squares[j] = square
    lengthen(search.squares)


@kernel
def within_tolerances(search: Record) -> bool:
    """Return whether all goals are reached at the last evaluated point; False without goals."""
    tolerance = search.problem.tolerance
    return are_within(search.errors, tolerance[0], tolerance[1])


@kernel
def is_solved(search: Record) -> bool:
    """Return whether the search ends at the last evaluated point."""
    tolerance, weighed = search.problem.tolerance, search.problem.weighed > 0
    return rules.is_solved(search.errors, tolerance[0], tolerance[1], weighed)


@kernel
def is_clamped(search: Record, j: int) -> bool:
    """Return whether a variable is at a limit that descent would have it cross."""
    x, gradient = search.x[j], search.gradient[j]
    return is_blocked(x, search.problem.bounds[0, j], search.problem.bounds[1, j], gradient)


@kernel
def at_stationary_point(search: Record) -> bool:
    """Return whether the cost falls in no direction inside the limits."""
    bounds, squares = search.problem.bounds, search.squares
    return is_stationary(search.x, bounds, search.gradient, squares, search.cost)


@kernel
def user_accepts(problem: Record) -> bool:
    """Return whether the user's own check accepts `row`; if it raises, `failed` is set."""
    if problem.valid == 0:
        return True
    if call_back(problem.valid) != 0:
        problem.failed = 1
        return False
    return bool(problem.is_valid != 0)


@kernel
def project(search: Record, x: Array) -> None:
    """Move x (n,) inside the limits; replace values that are not finite by the current ones."""
    for j in range(x.shape[0]):
        if not abs(x[j]) < 1e300:
            x[j] = search.x[j]
    rules.put_inside(x, search.problem.bounds)


@kernel
def put_inside(search: Record, x: Array) -> None:
    """Move x (n,) inside the limits, or inside linear constraints, if there are any."""
    project(search, x)


@kernel
def take_trial(search: Record, cost: float) -> None:
    """Move the search to the trial point, which was evaluated last, with this cost."""
    search.cost = cost
    copy_to(search.trial, search.x)
    copy_to(search.trial_residual, search.residual)
