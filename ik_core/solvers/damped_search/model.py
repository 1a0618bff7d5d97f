# SPDX-License-Identifier: Apache-2.0
"""The model at a point: residual, Jacobian and gradient of goals and joint tasks of all kinds.

A `point` is a record `POINT`, or `LANES` for one point in each lane.
"""

from __future__ import annotations

from ...kernels.jit import call_back, inline_kernel, kernel
from ...kernels.records import as_vectors8
from ...maths.lanes import Number, cos_sin
from ...maths.rotations import Array, Frame, compose, frame_at, put_frame
from ...robot.kinematics import (
    KIND,
    MULTIPLIER,
    PARENT,
    PRISMATIC,
    VARIABLE,
    moved_frame,
)
from ...rules import lengthen
from ...tasks.kernels import goal_residuals, packed_of
from .layouts import Record


@inline_kernel
def set_angles(problem: Record, point: Record, x: Array) -> None:
    """Fill the value of each body's joint, with its cosine and sine."""
    tree, geometry, angle, offset = problem.tree, problem.geometry, point.angle, point.offset
    for k in range(tree.shape[0]):
        angle[k] = geometry[k, MULTIPLIER] * x[tree[k, VARIABLE]] + offset[k]
    angles, cosines, sines = as_vectors8(angle), as_vectors8(point.cosine), as_vectors8(point.sine)
    for i in range(angles.shape[0]):
        cosines[i], sines[i] = cos_sin(angles[i])


@inline_kernel
def lifted(f: Frame, like: Number) -> Frame:
    """Copy a frame to all lanes, in registers."""
    o = 0.0 * like
    return (
        o + f[0], o + f[1], o + f[2], o + f[3], o + f[4], o + f[5],
        o + f[6], o + f[7], o + f[8], o + f[9], o + f[10], o + f[11],
    )  # fmt: skip


@inline_kernel
def miss(problem: Record, point: Record, x: Array, residual: Array) -> Number:
    """Place all bodies at x, fill the goals' rows of the residual; return the cost of all rows."""
    tree, geometry, frames = problem.tree, problem.geometry, point.frames
    angle, cosine, sine = point.angle, point.cosine, point.sine
    set_angles(problem, point, x)
    for k in range(tree.shape[0]):
        parent, own, first = tree[k, PARENT], frame_at(geometry, k), cosine[k]
        frame = compose(frame_at(frames, parent), own) if parent >= 0 else lifted(own, first)
        if tree[k, KIND] == PRISMATIC:
            first = angle[k]
        put_frame(frames, k, moved_frame(tree, k, frame, first, sine[k]))
    cost = goal_residuals(packed_of(problem, point), residual)
    if problem.weighed > 0:
        cost = cost + joint_cost(problem, x)
    return cost


@inline_kernel
def slopes(
    problem: Record, x: Array, residual: Array, columns: Array, gradient: Array, squares: Array
) -> None:
    """Fill half the cost's gradient, and the squares of the columns' lengths (`lengthen`)."""
    n, m = columns.shape
    for j in range(n):
        slope = square = 0.0
        for i in range(m):
            slope += columns[j, i] * residual[i]
            square += columns[j, i] * columns[j, i]
        gradient[j], squares[j] = slope, square
    if problem.weighed > 0:
        add_joint_slopes(problem, x, gradient, squares)
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


@inline_kernel
def add_joint_slopes(problem: Record, x: Array, gradient: Array, squares: Array) -> None:
    """Add the joint tasks to half the gradient, and to the squares."""
    weights, rests = problem.weights, problem.rests
    for j in range(x.shape[0]):
        gradient[j] = gradient[j] + weights[j] * (x[j] - rests[j])
        squares[j] = squares[j] + weights[j]
