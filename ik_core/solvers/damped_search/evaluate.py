# SPDX-License-Identifier: Apache-2.0
"""`evaluate`: the next point of every lane, a damped step from the last one, and the model there.

    minimise |r + J dx|^2 + mu |dx|^2   subject to   lower <= x + dx <= upper,   mu = nu |r|^2

One source for one lane and for several. The pose of a chain, the common case, has its own
straight-line code (`_evaluate_pose`); goals of every other kind go by `tasks.kernels`.
"""

from __future__ import annotations

from ...kernels.jit import inline_kernel, kernel
from ...maths.boxed_step import (
    bounded_steps,
    cap_step,
    clamp,
    damping_factor,
    predicted_decrease,
)
from ...maths.lanes import Number, bits, most, root, select
from ...maths.rotations import Array, Frame, compose, frame_at, relative_log
from ...robot.kinematics import KIND, PRISMATIC, VARIABLE
from ...rules import lengthen
from ...tasks.kernels import SCALE, goal_jacobian, packed_of
from .layouts import IDLE, JACOBIAN, RESIDUAL, Record
from .model import (
    add_joint_slopes,
    ask,
    joint_cost,
    lifted,
    miss,
    set_angles,
    slopes,
)
from .second_order import exact_step


@kernel
def evaluate(problem: Record, lanes: Record, scalars: Record) -> None:
    """Make the next point of every lane, and the model there.

    lanes, scalars : the same record, lanes side by side and lane by lane
    """
    here, there = lanes.here, 1 - lanes.here
    fresh = lanes.fresh > 0.0
    stepping = bits(lanes.fresh == 0.0)
    if stepping != 0:
        if lanes.nonstandard_steps < scalars.phase.shape[0]:
            _damped_step(problem, lanes, here, stepping)
        if lanes.nonstandard_steps > 0:
            for w in range(scalars.phase.shape[0]):
                if scalars.exact[w] > 0 and scalars.fresh[w] == 0.0:
                    exact_step(problem, scalars, w)
    lanes.largest = _take_step(problem.bounds, lanes.dx, fresh, lanes.x[here], lanes.x[there])
    before = lanes.cost[here]
    if problem.pose > 0:
        _evaluate_pose(problem, lanes, there, before, fresh)
    else:
        _evaluate_goals(problem, lanes, scalars, there)
    lanes.factor = damping_factor(before - lanes.cost[there], lanes.decrease)


@inline_kernel
def _damped_step(problem: Record, lanes: Record, here: int, stepping: int) -> None:
    """dx = the minimiser of the damped linear model inside the bounds, of at most `max_step`."""
    columns, gradient, dx = lanes.columns[here], lanes.gradient[here], lanes.dx
    bounded_steps(
        columns,
        lanes.residual[here],
        gradient,
        lanes.nu * lanes.cost[here],
        lanes.x[here],
        problem.bounds,
        dx,
        lanes.clamped,
        lanes.free_columns,
        lanes.normal,
        lanes.rhs,
        stepping,
    )
    cap_step(dx, problem.max_step)
    lanes.decrease = predicted_decrease(columns, gradient, dx)


@inline_kernel
def _take_step(bounds: Array, dx: Array, fresh: Number, x: Array, trial: Array) -> Number:
    """trial = x + dx, inside the bounds to the last bit, or x if fresh; also the largest move."""
    largest = 0.0
    for j in range(x.shape[0]):
        moved = clamp(x[j] + dx[j], bounds[0, j], bounds[1, j])
        trial[j] = select(fresh, x[j], moved)
        largest = most(largest, abs(trial[j] - x[j]))
    return largest


# --- the pose of a chain -------------------------------------------------------------------------


@inline_kernel
def _evaluate_pose(
    problem: Record, lanes: Record, there: int, before: Number, fresh: Number
) -> None:
    """Fill residual and cost, and the Jacobian if some lane keeps its point."""
    tip = _place_joints(problem, lanes, lanes.x[there])
    residual, errors = lanes.residual[there], lanes.errors
    cost = _pose_residual(problem.tools, lanes.target, tip, residual, errors)
    if problem.weighed > 0:
        cost = cost + joint_cost(problem, lanes.x[there])
    lanes.cost[there] = cost
    missed = (errors[0, 0] > problem.tolerance[0]) | (errors[0, 1] > problem.tolerance[1])
    if problem.weighed > 0 or bits(((cost < before) | fresh) & missed) != 0:
        _pose_jacobian(problem, lanes, there, tip)


@inline_kernel
def _place_joints(problem: Record, lanes: Record, x: Array) -> Frame:
    """Fill the axes and origins of all joints at x; return the tip's frame."""
    tree, geometry, axis, origin = problem.tree, problem.geometry, lanes.axis, lanes.origin
    angle, cosine, sine = lanes.angle, lanes.cosine, lanes.sine
    set_angles(problem, lanes, x)
    frame = lifted(frame_at(geometry, 0), cosine[0])
    for k in range(tree.shape[0]):
        if k > 0:
            frame = compose(frame, frame_at(geometry, k))
        a0, a1, a2, a3, a4, a5, a6, a7, a8, px, py, pz = frame
        if tree[k, KIND] == PRISMATIC:
            d = angle[k]
            px, py, pz = px + d * a2, py + d * a5, pz + d * a8
        else:
            c, s = cosine[k], sine[k]
            a0, a1 = c * a0 + s * a1, c * a1 - s * a0
            a3, a4 = c * a3 + s * a4, c * a4 - s * a3
            a6, a7 = c * a6 + s * a7, c * a7 - s * a6
        axis[k, 0], axis[k, 1], axis[k, 2] = a2, a5, a8
        origin[k, 0], origin[k, 1], origin[k, 2] = px, py, pz
        frame = a0, a1, a2, a3, a4, a5, a6, a7, a8, px, py, pz
    return compose(frame, frame_at(problem.tools, 0))


@inline_kernel
def _pose_residual(
    tools: Array, targets: Array, tip: Frame, residual: Array, errors: Array
) -> Number:
    """residual = pose of the tip minus the target, scaled; return its squared norm."""
    target = frame_at(targets, 0)
    x, y, z = tip[9] - target[9], tip[10] - target[10], tip[11] - target[11]
    u, v, w = relative_log(target, tip)
    errors[0, 0], errors[0, 1] = root(x * x + y * y + z * z), root(u * u + v * v + w * w)
    a, b, c = tools[0, SCALE], tools[0, SCALE + 1], tools[0, SCALE + 2]
    d = tools[0, SCALE + 3]
    x, y, z, u, v, w = a * x, b * y, c * z, d * u, d * v, d * w
    residual[0], residual[1], residual[2] = x, y, z
    residual[3], residual[4], residual[5] = u, v, w
    return x * x + y * y + z * z + u * u + v * v + w * w


@inline_kernel
def _pose_jacobian(problem: Record, lanes: Record, there: int, tip: Frame) -> None:
    """Fill columns (angular velocities in the target's axes), gradient and squares."""
    tree, tools, axis, origin = problem.tree, problem.tools, lanes.axis, lanes.origin
    x, residual, columns = lanes.x[there], lanes.residual[there], lanes.columns[there]
    gradient, squares = lanes.gradient[there], lanes.squares[there]
    t0, t1, t2, t3, t4, t5, t6, t7, t8, _, _, _ = frame_at(lanes.target, 0)
    a, b, c = tools[0, SCALE], tools[0, SCALE + 1], tools[0, SCALE + 2]
    d = tools[0, SCALE + 3]
    r0, r1, r2 = residual[0], residual[1], residual[2]
    r3, r4, r5 = residual[3], residual[4], residual[5]
    for k in range(tree.shape[0]):
        j, zx, zy, zz = tree[k, VARIABLE], axis[k, 0], axis[k, 1], axis[k, 2]
        if tree[k, KIND] == PRISMATIC:
            px, py, pz = a * zx, b * zy, c * zz
            u = v = w = 0.0 * zx
        else:
            px, py, pz = tip[9] - origin[k, 0], tip[10] - origin[k, 1], tip[11] - origin[k, 2]
            px, py, pz = (
                a * (zy * pz - zz * py),
                b * (zz * px - zx * pz),
                c * (zx * py - zy * px),
            )
            u = d * (t0 * zx + t3 * zy + t6 * zz)
            v = d * (t1 * zx + t4 * zy + t7 * zz)
            w = d * (t2 * zx + t5 * zy + t8 * zz)
        columns[j, 0], columns[j, 1], columns[j, 2] = px, py, pz
        columns[j, 3], columns[j, 4], columns[j, 5] = u, v, w
        gradient[j] = px * r0 + py * r1 + pz * r2 + u * r3 + v * r4 + w * r5
        squares[j] = px * px + py * py + pz * pz + u * u + v * v + w * w
    if problem.weighed > 0:
        add_joint_slopes(problem, x, gradient, squares)
    lengthen(squares)


# --- goals of all kinds --------------------------------------------------------------------------


@kernel
def _evaluate_goals(problem: Record, lanes: Record, scalars: Record, there: int) -> None:
    """Fill residual, cost and model for goals of any kind."""
    x, residual, columns = lanes.x[there], lanes.residual[there], lanes.columns[there]
    if problem.tasks != 0:
        _ask_in_lanes(problem, scalars, RESIDUAL)
    lanes.cost[there] = miss(problem, lanes, x, residual)
    goal_jacobian(packed_of(problem, lanes), 1, columns)
    if problem.tasks != 0:
        _ask_in_lanes(problem, scalars, JACOBIAN)
    slopes(problem, x, residual, columns, lanes.gradient[there], lanes.squares[there])


@kernel
def _ask_in_lanes(problem: Record, lanes: Record, wanted: int) -> None:
    """Fill the rows of tasks without a kernel, in all lanes that keep their points."""
    there, asked, found, first = 1 - lanes.here, problem.asked, problem.found, problem.goal_rows
    for w in range(lanes.phase.shape[0]):
        cost, before = lanes.cost[there, w], lanes.cost[lanes.here, w]
        goes_on = wanted == RESIDUAL or cost < before or lanes.fresh[w] > 0.0
        if lanes.phase[w] == IDLE or not goes_on:
            continue
        for j in range(asked.shape[0]):
            asked[j] = lanes.x[there, j, w]
        ask(problem, wanted)
        for i in range(found.shape[0]):
            if wanted == RESIDUAL:
                lanes.residual[there, first + i, w] = found[i, 0]
                continue
            for j in range(asked.shape[0]):
                lanes.columns[there, j, first + i, w] = found[i, j]
