# SPDX-License-Identifier: Apache-2.0
"""The model at a point: residual, Jacobian, gradient; for goals and joint tasks of all kinds.

For one point and for lanes of them: a `point` is a record `LANES` or `POINT`.
"""

from __future__ import annotations

from ...kernels.jit import call_back, inline_kernel, kernel
from ...maths.lanes import Number
from ...maths.rotations import Array
from ...robot.kinematics import place_bodies, set_angles
from ...rules import lengthen
from ...tasks.kernels import goal_residuals, packed_of
from .layouts import Record


@inline_kernel
def set_frames(problem: Record, point: Record, x: Array) -> None:
    """Fill the frames of all bodies at x."""
    tree, geometry = problem.tree, problem.geometry
    angle, cosine, sine = point.angle, point.cosine, point.sine
    set_angles(tree, geometry, point.offset, x, angle, cosine, sine)
    place_bodies(tree, geometry, angle, cosine, sine, point.frames)


@inline_kernel
def miss(problem: Record, point: Record, x: Array, residual: Array) -> Number:
    """Place all bodies at x, fill the goals' rows of the residual; return the cost of all rows."""
    set_frames(problem, point, x)
    cost = goal_residuals(packed_of(problem, point), residual)
    if problem.weighed > 0:
        cost = cost + joint_cost(problem, x)
    return cost


@inline_kernel
def slopes(
    problem: Record, x: Array, residual: Array, columns: Array, gradient: Array, squares: Array
) -> None:
    """Fill half the cost's gradient, and the squared norms of the Jacobian's columns.

    The squared norms are never 0 (`lengthen`).
    """
    n, m = columns.shape
    for j in range(n):
        slope = square = 0.0
        for i in range(m):
            slope += columns[j, i] * residual[i]
            square += columns[j, i] * columns[j, i]
        gradient[j], squares[j] = slope, square
    if problem.weighed > 0:
        weights, rests = problem.weights, problem.rests
        for j in range(n):
            gradient[j] = gradient[j] + weights[j] * (x[j] - rests[j])
            squares[j] = squares[j] + weights[j]
    lengthen(squares)


@kernel
def ask(problem: Record, wanted: int) -> None:
    """Call the tasks without a kernel: they fill `found`, for the variables in `asked`."""
    problem.wanted = wanted
    if call_back(problem.tasks) != 0:
        problem.failed = 1


@inline_kernel
def joint_cost(problem: Record, x: Array) -> Number:
    """Return the cost of the joint tasks at x."""
    weights, rests = problem.weights, problem.rests
    cost = problem.joint_cost
    for j in range(x.shape[0]):
        away = x[j] - rests[j]
        cost = cost + weights[j] * away * away
    return cost
