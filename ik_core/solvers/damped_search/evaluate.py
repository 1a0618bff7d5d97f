# SPDX-License-Identifier: Apache-2.0
"""`evaluate`: the next point of every lane, a damped step from the last one, and the model there.

    minimise |r + J dx|^2 + mu |dx|^2   subject to   lower <= x + dx <= upper,   mu = nu |r|^2

One source for one lane and for several. The pose of a chain, the common case, has a residual of
its own, without tables of rows, and no Jacobian where no lane keeps its point (`_evaluate_pose`):
by the code for goals of every other kind a solve takes 4 % longer.
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
from ...tasks.kernels import SCALE, chain_columns, goal_jacobian, packed_of
from .layouts import IDLE, JACOBIAN, RESIDUAL, Record
from .model import (
    ask,
    joint_cost,
    miss,
    set_frames,
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
    """Fill residual and cost of the trial points, and the Jacobian if a lane accepts its trial.

    there : index of the trial points
    before : costs of the last points, which trials have to be below
    fresh : lanes whose points are accepted at any cost
    """
    set_frames(problem, lanes, lanes.x[there])
    last = problem.tree.shape[0] - 1
    tip = compose(frame_at(lanes.frames, last), frame_at(problem.tools, 0))
    residual, errors = lanes.residual[there], lanes.errors
    cost = _pose_residual(problem.tools, lanes.target, tip, residual, errors)
    if problem.weighed > 0:
        cost = cost + joint_cost(problem, lanes.x[there])
    lanes.cost[there] = cost
    missed = (errors[0, 0] > problem.tolerance[0]) | (errors[0, 1] > problem.tolerance[1])
    if problem.weighed > 0 or bits(((cost < before) | fresh) & missed) != 0:
        _pose_jacobian(problem, lanes, there, tip)


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
    residual, columns = lanes.residual[there], lanes.columns[there]
    t, tree, geometry = frame_at(lanes.target, 0), problem.tree, problem.geometry
    rates = (t[0], t[3], t[6]), (t[1], t[4], t[7]), (t[2], t[5], t[8])
    chain_columns(tree, geometry, lanes.frames, tip, rates, problem.tools, SCALE, columns)
    slopes(problem, lanes.x[there], residual, columns, lanes.gradient[there], lanes.squares[there])


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
