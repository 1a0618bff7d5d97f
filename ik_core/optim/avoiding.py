# SPDX-License-Identifier: Apache-2.0
"""The shared loop among obstacles: iterates are free of collisions, as answers have to be.

With `avoid`, `valid` or reach cones other kernels stand in those of the loop, made by
`substitute`, as with linear constraints (`constrained`), which may be there as well:

    the step        first the way out of a collision, if x collides; then the minimum of the model
                    over all x + p with d_k + grad d_k . p >= margin for all near pairs of links,
                    d_k being their distance: rows beside those of the linear constraints. A reach
                    cone has rows, too: d_k is the angle above an edge's plane, the margin 0
    line search     along p, each trial being put to a free point near it; trials for which none is
                    found are too long. So no iterate enters a collision
    the way out     steps to the nearest point by these rows, each of which makes the worst
                    violation of a margin less: no collision on the way is deeper than at the start
    stationary      the slope leaves no step between these rows: to first order, since the
                    curvature of distances is left out
    best so far     points that are free, and that the user's own check accepts

Everything is judged by the kernel of `Collisions.free`. A direction outside its reach cone is
handled as a pair nearer than its margin. Steps between iterates are not checked.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..collision.records import model_numbers, state_numbers
from ..collision.rows import add_slopes, deepest, distances_at
from ..collision.rows import is_free as is_free_at
from ..kernels.jit import kernel, substitute, with_kernels
from ..kernels.records import FLOAT, INT, Layout
from ..maths.rotations import Array
from ..maths.vectors import copy_to
from ..robot.cone_kernels import (
    INWARD,
    are_inside,
    cones_at,
    farthest_out,
    height_above,
    place_cones,
)
from ..rules import COLLIDED, FAILED, REACHED, RUNNING, STALLED, is_better
from . import constrained, loop, quasi_newton, second_order
from .constrained import (
    free_hessian_inside,
    minimum_inside,
    nearest_inside,
    program_of,
    steepest_step,
)
from .evaluation import (
    at_stationary_point,
    evaluate,
    is_solved,
    project,
    put_inside,
    take_trial,
    user_accepts,
    within_tolerances,
)
from .layouts import ENDED, Record
from .line_search import SMALLEST_MOVE, line_search_at, project_onto
from .loop import Kernel, method_loop
from .quasi_newton import quasi_newton_at

NEAR = 0.1
"""[m] Pairs of links farther apart than this and their margin have no row."""
NEAR_EDGE = 0.5
"""[rad] Edges of reach cones farther away have no row."""
MOST_ROWS = 64
"""Rows of pairs at most, of the nearest pairs; those without a row are still judged."""
SPARE = 1e-6
"""[m] Rows ask for this much more than the margin, so that points on them are free."""
SPARE_ANGLE = 1e-9
"""[rad] Likewise of cones, of which the angles are exact."""
FAR = 1e9
"""[rad or m] Stands for an infinite bound of a row."""
LEAST_SLOPE = 1e-9
"""[m or rad, per rad or m] What the variables change less has no row."""
CORRECTIONS = 5
"""Corrections of a trial that collides: each goes to the nearest point by the rows at the one
before.
"""
LONGEST_STEP = 0.3
"""Longest step out of a collision [rad or m]."""
RISE = 0.05
"""[m or rad] A step of the way out asks for no more than this from one row."""
LESS = 0.01
"""A step of the way out has to make the worst violation less by this share of what it asks."""
HALVINGS = 8
"""Halvings of a step out of a collision."""

AVOIDED = Layout(
    'avoided',
    ('joints', 'robot_joints'),
    model=(INT,),  # address of the collision model; 0: there are no collisions to avoid
    state=(INT,),
    cones=(INT,),  # address of the record `robot.cone_kernels.CONES`; 0: there are no cones
    reach=(FLOAT,),  # [m] the largest margin
    first=(INT,),  # rows before those of the distances
    slopes=(FLOAT, 'robot_joints'),  # of a distance
    collided=(INT,),  # attempts that reached the goals at a point that may be no answer
    colliding=(FLOAT, 'joints'),  # the first such point
)
avoided_at = AVOIDED.vector_view()


# --- judging -------------------------------------------------------------------------------------


@kernel
def _set_row(problem: Record, x: Array) -> None:
    for j in range(x.shape[0]):
        problem.row[problem.columns[j]] = x[j]


@kernel
def is_free(search: Record, x: Array) -> bool:
    """Return whether the robot is free of collisions at x (n,), and directions in their cones."""
    avoided = avoided_at(search.avoidance)
    _set_row(search.problem, x)
    if avoided.cones != 0:
        cones = cones_at(avoided.cones)
        place_cones(cones, search.problem.row)
        if not are_inside(cones):
            return False
    if avoided.model == 0:
        return True
    return is_free_at(avoided.model, avoided.state, search.problem.row)


@kernel
def may_answer(search: Record, x: Array) -> bool:
    """Whether x (n,) is free of collisions and the user's own check accepts it."""
    if search.status == FAILED or not is_free(search, x):
        return False
    is_accepted = user_accepts(search.problem)
    if search.problem.failed > 0:
        search.status = FAILED
    return is_accepted


@kernel
def violation(search: Record, x: Array) -> float:
    """Largest violation at x (n,): of a pair's margin [m], or of a direction's cone [rad]; at most
    0 if x is free."""
    avoided, worst = avoided_at(search.avoidance), -FAR
    _set_row(search.problem, x)
    if avoided.cones != 0:
        cones = cones_at(avoided.cones)
        place_cones(cones, search.problem.row)
        worst = farthest_out(cones)
    if avoided.model == 0:
        return worst
    return max(worst, deepest(avoided.model, avoided.state, search.problem.row, avoided.reach))


# --- rows ----------------------------------------------------------------------------------------


@kernel
def set_rows(search: Record, x: Array, leaves: bool) -> int:
    """Put rows for cones and near pairs at x (n,) below the linear constraints; returns the worst
    one, -1 without any.

    leaves : ask of pairs nearer than their margin to leave it; else only not to come nearer. And
        likewise of directions outside their cones
    """
    avoided, q = avoided_at(search.avoidance), search.problem.row
    row, worst, least = avoided.first, -1, np.inf
    _set_row(search.problem, x)
    if avoided.cones != 0:
        cones = cones_at(avoided.cones)
        place_cones(cones, q)
        for k in range(INWARD * cones.body.shape[0]):
            height = height_above(cones, k // INWARD, k % INWARD - 1, FAR)
            if height >= NEAR_EDGE:
                continue
            if _put_row(search, x, row, cones.slopes, height, SPARE_ANGLE, leaves):
                if height - SPARE_ANGLE < least:
                    worst, least = row, height - SPARE_ANGLE
                row += 1
    count = 0
    if avoided.model != 0:
        count = distances_at(avoided.model, avoided.state, q, avoided.reach + NEAR, False)
    for slot in range(count):
        model = model_numbers(avoided.model)
        state = state_numbers(avoided.state)
        for j in range(avoided.slopes.shape[0]):
            avoided.slopes[j] = 0.0
        add_slopes(model, state, slot, avoided.slopes)
        distance, wanted = state.distances[slot, 0], model.margin[state.found[slot]] + SPARE
        if _put_row(search, x, row, avoided.slopes, distance, wanted, leaves):
            if distance - wanted < least:
                worst, least = row, distance - wanted
            row += 1
    clear_rows(search, row - avoided.first)
    return worst


@kernel
def _put_row(
    search: Record,
    x: Array,
    row: int,
    slopes: Array,
    distance: float,
    wanted: float,
    leaves: bool,
) -> bool:
    """Put a row that asks for at least this distance, which has these slopes (robot's joints,) at
    x (n,); False without room for it, or without a slope."""
    rows, columns, n = program_of(search).rows, search.problem.columns, x.shape[0]
    square = value = 0.0
    for j in range(n):
        slope = slopes[columns[j]]
        square += slope * slope
        value += slope * x[j]
    if square <= LEAST_SLOPE * LEAST_SLOPE or row >= rows.shape[0]:
        return False
    length, rise = math.sqrt(square), min(wanted - distance, RISE if leaves else 0.0)
    for j in range(n):
        rows[row, j] = slopes[columns[j]] / length
    rows[row, n], rows[row, n + 1] = (value + rise) / length, FAR
    return True


@kernel
def clear_rows(search: Record, used: int) -> None:
    """Make all rows below the linear constraints and so many others bound nothing."""
    rows, n = program_of(search).rows, search.joints
    for row in range(avoided_at(search.avoidance).first + used, rows.shape[0]):
        for j in range(n):
            rows[row, j] = 0.0
        rows[row, n], rows[row, n + 1] = -FAR, FAR


@kernel
def bring_free(search: Record, x: Array, step: Array) -> bool:
    """Move x (n,) to a free point near it; False, with x anywhere inside the limits, where none is
    found. step (n,) is scratch."""
    project_onto(search, x)
    for _ in range(CORRECTIONS):
        if is_free(search, x):
            return True
        set_rows(search, x, True)
        if not nearest_inside(search, x, search.rhs, step):
            return False
    return is_free(search, x)


@kernel
def put_inside_free(search: Record, x: Array) -> None:
    """Put x inside at a free point; without one, at the search's point. A restart stays at x: its
    steps then lead out of the collision.
    """
    project(search, x)
    if avoided_at(search.avoidance).first > 0:
        clear_rows(search, 0)
        nearest_inside(search, x, search.rhs, search.dx)
    if not bring_free(search, x, search.dx):
        copy_to(search.x, x)


# --- steps ---------------------------------------------------------------------------------------


@kernel
def minimum_free(search: Record) -> None:
    """DX = the minimum of the model between the rows at x."""
    set_rows(search, search.x, False)
    minimum_inside(search)


@kernel
def armijo_free(search: Record, direction: Array, tau: float) -> bool:
    """Armijo's line search over free points; trials that can't be made free are too long."""
    x, trial, gradient = search.x, search.trial, search.gradient
    own, largest = line_search_at(search.own), 0.0
    for j in range(x.shape[0]):
        largest = max(largest, abs(x[j]))
    while True:
        moved = slope = 0.0
        for j in range(x.shape[0]):
            trial[j] = x[j] + tau * direction[j]
            moved = max(moved, abs(tau * direction[j]))
        if not moved > SMALLEST_MOVE * (1.0 + largest):
            return False
        if bring_free(search, trial, search.held):
            for j in range(x.shape[0]):
                slope += 2.0 * gradient[j] * (trial[j] - x[j])
            if slope < 0.0:
                cost = evaluate(search, trial, search.trial_residual)
                if cost < search.cost + own.alpha * slope:
                    take_trial(search, cost)
                    return True
        tau *= own.beta


descend_free = with_kernels(
    quasi_newton.descend, 'descend_free', model_step=minimum_free, armijo=armijo_free
)


@kernel
def way_out(search: Record) -> bool:
    """A step out of a collision that makes the worst violation less; False where none does."""
    x, trial, step = search.x, search.trial, search.held
    before, n = violation(search, x), x.shape[0]
    worst = set_rows(search, x, True)
    copy_to(x, trial)
    if worst < 0:
        return False
    if not nearest_inside(search, trial, search.rhs, step):  # then out of the worst one alone
        if avoided_at(search.avoidance).first > 0:
            return False
        row, value = program_of(search).rows[worst], 0.0
        for j in range(n):
            value += row[j] * x[j]
        for j in range(n):
            trial[j] = x[j] + (row[n] - value) * row[j]
        project_onto(search, trial)
    longest = 0.0
    for j in range(n):
        step[j] = trial[j] - x[j]
        longest = max(longest, abs(step[j]))
    if longest == 0.0:
        return False
    tau = min(1.0, LONGEST_STEP / longest)
    for _ in range(HALVINGS):
        for j in range(n):
            trial[j] = x[j] + tau * step[j]
        asked = min(before + SPARE, RISE)
        if violation(search, trial) < before - LESS * tau * asked or is_free(search, trial):
            take_trial(search, evaluate(search, trial, search.trial_residual))
            return True
        tau *= 0.5
    return False


@kernel
def step_free(search: Record) -> bool:
    """Take one step out of a collision, or one line search that enters none."""
    if is_free(search, search.x):
        return descend_free(search)
    quasi_newton_at(search.own).moved = 0  # the model learns nothing from it
    return way_out(search)


# --- rules ---------------------------------------------------------------------------------------


@kernel
def steepest_step_free(search: Record, program: Any) -> bool:
    """The steepest step between the rows at x."""
    set_rows(search, search.x, False)
    return steepest_step(search, program)


BETWEEN = {steepest_step: steepest_step_free}
is_stationary_between = substitute(constrained.is_stationary_inside, 'between', BETWEEN)
hold_rows = substitute(constrained.hold_constraints, 'between', BETWEEN)


@kernel
def is_stationary_free(search: Record) -> bool:
    """Whether x is stationary under the rows; False for a point that collides."""
    return is_free(search, search.x) and is_stationary_between(search)


@kernel
def go_lower(search: Record) -> bool:
    """As `go_to_minimum`. Where rows hold x, the curvature of distances may leave a way down, as
    round a ball: then each way that the rows leave is tried."""
    program, n = program_of(search), search.joints
    rows = 0
    for c in range(n, program.sides.shape[0]):
        rows += 1 if program.sides[c] != 0.0 else 0
    size = free_hessian_inside(search)
    if go_to_minimum(search):
        return True
    for i in range(size if rows > 0 else 0):
        copy_to(program.free[n - size + i], search.descent)
        if descend(search):
            return True
    return False


@kernel
def keep_if_better_free(search: Record, status: int) -> None:
    """Keep points that may be an answer, if they are better."""
    better = is_better(search.cost, status, search.best_cost, search.best_status)
    if better and may_answer(search, search.x):
        search.best_cost, search.best_status = search.cost, status
        copy_to(search.x, search.best)


@kernel
def keep_best_free(search: Record) -> None:
    """Keep the best point; a solution that the user's check refuses ends the attempt."""
    x = search.x
    if search.status != RUNNING or not is_solved(search):
        keep_if_better_free(search, RUNNING)
        return
    if may_answer(search, x):
        keep_if_better_free(search, REACHED)
        search.status = REACHED
        return
    avoided = avoided_at(search.avoidance)
    if avoided.collided == 0:
        copy_to(x, avoided.colliding)
    avoided.collided += 1
    if is_free(search, x):
        search.phase, search.ended_by = ENDED, STALLED


POINTS = {
    **constrained.INSTEAD,
    at_stationary_point: is_stationary_free,
    put_inside: put_inside_free,
    second_order.hold: hold_rows,
    loop.keep_if_better: keep_if_better_free,
    loop.keep_best: keep_best_free,
}
go_to_minimum = substitute(second_order.go_to_minimum, 'free', POINTS)
descend = substitute(second_order.descend, 'free', POINTS)
see_whether_it_is_over = substitute(loop.see_whether_it_is_over, 'free', POINTS)
next_attempt = substitute(loop.next_attempt, 'free', POINTS)


@kernel
def see_whether_it_is_over_free(search: Record) -> None:
    """Check whether the search is over, unless that is known."""
    if search.phase != ENDED:
        see_whether_it_is_over(search)


@kernel
def next_attempt_free(search: Record, ended: int) -> None:
    """Begin the next attempt; without a free point, or with solutions that collide, return
    COLLIDED.
    """
    next_attempt(search, ended)
    status = search.status
    over = status != RUNNING and status != REACHED and status != FAILED
    collided = avoided_at(search.avoidance).collided > 0
    if over and (collided or search.best_cost == np.inf):
        search.status = COLLIDED


@kernel
def reached_free(search: Record) -> bool:
    """Whether all goals are reached at the answer, which may be one."""
    return within_tolerances(search) and may_answer(search, search.answer)


# --- the loop ------------------------------------------------------------------------------------

INSTEAD = {
    **POINTS,
    second_order.go_to_minimum: go_lower,
    loop.see_whether_it_is_over: see_whether_it_is_over_free,
    loop.next_attempt: next_attempt_free,
    within_tolerances: reached_free,
}
settle = substitute(loop.settle, 'free', INSTEAD)
conclude = substitute(loop.conclude, 'free', INSTEAD)


@cache
def free_loop(name: str, start: Kernel) -> Kernel:
    """The loop around a method's start, as `method_loop`, with the step among obstacles."""
    own = {start: start, step_free: step_free}
    made: Kernel = substitute(method_loop(name, start, step_free), 'free', {**INSTEAD, **own})
    return made
