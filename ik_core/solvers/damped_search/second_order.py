# SPDX-License-Identifier: Apache-2.0
"""Steps with the exact Hessian, and off saddles, for one lane at a time.

Gauss-Newton converges slowly if the residual stays large; then the exact Hessian is worth it.
Stationary points other than minima are arms stretched out towards or away from a goal.

The shared loop leaves saddles by `optim.second_order`, which makes all trials at once and lets
linear constraints define what is free. Here each trial is one step of a lane, beside other lanes.
"""

from __future__ import annotations

from ...kernels.jit import inline_kernel, kernel
from ...maths.boxed_step import cap_step, predicted_decrease
from ...maths.linalg import (
    bounded_newton_step,
    curves_down_inside,
    fill_free,
    free_block,
    gauss_newton_hessian,
    stiffness,
)
from ...maths.rotations import Array
from ...maths.vectors import copy_to, divide_by_largest
from ...rules import DIFFERENCE, FLAT, SADDLE_STEP, clamp_at_limits, curves_down
from ...tasks.kernels import (
    GEOMETRIC,
    NONE,
    ROTATION,
    VECTOR,
    add_curvature,
    goal_jacobian,
    packed_of,
)
from .layouts import FOLLOW, JACOBIAN, RESIDUAL, Record
from .model import ask, miss, slopes

SLOW_ITERATIONS = 2  # Iterations without a clear drop of the cost until the exact Hessian is used

# Steps away from a saddle, alternately to both sides, each shorter than the last.
SADDLE_TRIALS = 16


@kernel
def exact_step(problem: Record, lanes: Record, w: int) -> None:
    """Replace a lane's step by one with the Hessian, or one off a saddle."""
    point = lanes.point
    load_lane(problem, lanes, w, lanes.here)
    exact = lanes.phase[w] == FOLLOW and lanes.stagnant[w] >= SLOW_ITERATIONS
    has_hessian = exact or problem.weighed > 0
    dx, gradient, at_saddle = point.dx, point.gradient, lanes.saddle_trials[w] > 0
    # The curvature of tasks without a kernel takes two points for each joint. So it is left out
    # until as many iterations were slow.
    slow = exact and lanes.stagnant[w] >= dx.shape[0]
    if slow and problem.tasks != 0 and not at_saddle:
        _fill_by_differences(problem, point)
    elif has_hessian:
        _fill_hessian(problem, point, exact)
    if at_saddle:  # to one side and the other, ever shorter
        trial = (lanes.saddle_trials[w] - 1) % SADDLE_TRIALS
        length = SADDLE_STEP * 0.5 ** (trial // 2)
        for j in range(dx.shape[0]):
            dx[j] = (-length if trial % 2 == 1 else length) * lanes.descent[j, w]
    else:
        bounded_newton_step(
            point.hessian,
            gradient,
            lanes.nu[w] * lanes.cost[lanes.here, w],
            point.x,
            problem.bounds,
            dx,
            point.clamped,
            point.normal,
            point.rhs,
        )
        cap_step(dx, problem.max_step)
    if has_hessian:
        lanes.decrease[w] = _modelled_decrease(point.hessian, gradient, dx)
    else:
        lanes.decrease[w] = predicted_decrease(point.columns, gradient, dx)
    for j in range(dx.shape[0]):
        lanes.dx[j, w] = dx[j]
    lanes.hessian_evaluations[w] += point.evaluations


@kernel
def load_lane(problem: Record, lanes: Record, w: int, at: int) -> None:
    """Copy one of a lane's two points to `POINT`, with the rows of tasks, and its model."""
    point, first = lanes.point, problem.goal_rows
    x, residual, columns = point.x, point.residual, point.columns
    target, offset = point.target, point.offset
    for j in range(x.shape[0]):
        x[j] = lanes.x[at, j, w]
    for g in range(target.shape[0]):
        for c in range(12):
            target[g, c] = lanes.target[g, c, w]
    for k in range(offset.shape[0]):
        offset[k] = lanes.offset[k, w]
    point.evaluations = 1
    if problem.tasks != 0:
        for i in range(first, residual.shape[0]):
            residual[i] = lanes.residual[at, i, w]
    point.cost = miss(problem, point, x, residual)
    goal_jacobian(packed_of(problem, point), 1, columns)
    if problem.tasks != 0:
        for j in range(x.shape[0]):
            for i in range(first, residual.shape[0]):
                columns[j, i] = lanes.columns[at, j, i, w]
    slopes(problem, x, residual, columns, point.gradient, point.squares)


@kernel
def evaluate_point(problem: Record, point: Record) -> None:
    """Fill cost and model at the point."""
    x, residual, columns = point.x, point.residual, point.columns
    first, found = problem.goal_rows, problem.found
    point.evaluations += 1
    if problem.tasks != 0:
        copy_to(x, problem.asked)
        ask(problem, RESIDUAL)
        for i in range(found.shape[0]):
            residual[first + i] = found[i, 0]
    point.cost = miss(problem, point, x, residual)
    goal_jacobian(packed_of(problem, point), 1, columns)
    if problem.tasks != 0:
        ask(problem, JACOBIAN)
        for i in range(found.shape[0]):
            for j in range(x.shape[0]):
                columns[j, first + i] = found[i, j]
    slopes(problem, x, residual, columns, point.gradient, point.squares)


@kernel
def _fill_hessian(problem: Record, point: Record, exact: bool) -> None:
    """hessian = that of half the cost: exact, or that of the Gauss-Newton model."""
    hessian, weights = point.hessian, problem.weights
    gauss_newton_hessian(point.columns, hessian)
    if exact:
        add_curvature(packed_of(problem, point), hessian)
    for j in range(weights.shape[0]):
        hessian[j, j] += weights[j]


@kernel
def _fill_true_hessian(problem: Record, point: Record) -> None:
    """hessian = the exact one; by differences if `add_curvature` leaves a part out."""
    table = problem.table
    if problem.tasks != 0:
        _fill_by_differences(problem, point)
        return
    for i in range(table.shape[0]):
        kind = table[i, ROTATION]
        if kind != NONE and (kind != VECTOR or table[i, GEOMETRIC] == 0):
            _fill_by_differences(problem, point)
            return
    _fill_hessian(problem, point, True)


@kernel
def _fill_by_differences(problem: Record, point: Record) -> None:
    """hessian = central differences of the gradient."""
    x, above, gradient = point.x, point.dx, point.gradient
    for j in range(x.shape[0]):
        here, step = x[j], DIFFERENCE * (1.0 + abs(x[j]))
        for side in range(2):
            x[j] = here - step if side == 1 else here + step
            evaluate_point(problem, point)
            if side == 0:
                copy_to(gradient, above)
        x[j] = here
        for k in range(x.shape[0]):
            point.normal[j, k] = (above[k] - gradient[k]) / (2.0 * step)
    for j in range(x.shape[0]):
        for k in range(j + 1):
            point.hessian[j, k] = 0.5 * (point.normal[j, k] + point.normal[k, j])
    evaluate_point(problem, point)


@inline_kernel
def _modelled_decrease(hessian: Array, gradient: Array, dx: Array) -> float:
    """Return the decrease of a quadratic model, -(2 g'dx + dx'H dx), H by its lower triangle."""
    linear, quadratic = 0.0, 0.0
    for j in range(dx.shape[0]):
        linear += gradient[j] * dx[j]
        quadratic += hessian[j, j] * dx[j] * dx[j]
        for k in range(j):
            quadratic += 2.0 * hessian[j, k] * dx[j] * dx[k]
    return -(2.0 * linear + quadratic)


# --- saddles -------------------------------------------------------------------------------------


@kernel
def finds_descent(problem: Record, lanes: Record, w: int, all_at_limits: bool) -> bool:
    """Set `descent` to a direction of negative curvature at a lane's stationary point.

    Returns False at a minimum. Joints that the slope presses against a limit stay there; with
    `all_at_limits` every joint at a limit does.
    """
    point = lanes.point
    load_lane(problem, lanes, w, 1 - lanes.here)
    _fill_true_hessian(problem, point)
    lanes.hessian_evaluations[w] += point.evaluations
    clamped, normal, rhs = point.clamped, point.normal, point.rhs
    _hold(problem, point, all_at_limits)
    size = free_block(point.hessian, clamped, normal)
    if not curves_down(point.hessian, normal, rhs, size):
        return False
    fill_free(rhs, clamped, point.descent)
    divide_by_largest(point.descent)
    _keep_descent(lanes, w)
    return True


@kernel
def finds_descent_inside(problem: Record, lanes: Record, w: int) -> bool:
    """Return whether there is a direction of negative curvature away from a limit; store it."""
    point = lanes.point
    load_lane(problem, lanes, w, 1 - lanes.here)
    _fill_true_hessian(problem, point)
    lanes.hessian_evaluations[w] += point.evaluations
    _hold(problem, point, False)
    least = FLAT * stiffness(point.hessian)
    if not curves_down_inside(
        point.hessian, point.x, problem.bounds, point.clamped, least, point.descent
    ):
        return False
    _keep_descent(lanes, w)
    return True


@kernel
def _keep_descent(lanes: Record, w: int) -> None:
    direction = lanes.point.descent
    for j in range(direction.shape[0]):
        lanes.descent[j, w] = direction[j]


@kernel
def _hold(problem: Record, point: Record, all_at_limits: bool) -> None:
    gradient, squares = point.gradient, point.squares
    clamp_at_limits(
        point.x, problem.bounds, gradient, squares, point.cost, all_at_limits, point.clamped
    )
