# SPDX-License-Identifier: Apache-2.0
"""The shared loop among obstacles: iterates are free of collisions, as answers have to be.

With `avoid`, `valid` or reach cones `substitute` replaces kernels of the loop, as it does for
linear constraints (`constrained`), which the problem may have as well:

    step            If x collides, an escape step. Else the minimum of the model over all x + p
                    with d_k + grad d_k . p >= margin for all near pairs of links, where d_k is
                    their distance: rows beside those of the linear constraints. A reach cone has
                    rows, too: d_k is the angle above an edge's plane, the margin 0
    line search     along p. Each trial is moved to a free point near it; a trial without one is
                    too long. So no iterate enters a collision
    escape step     towards the nearest point by these rows. Each makes the worst violation of a
                    margin less, so no collision on the path is deeper than at the start
    stationary      These rows leave no descent step: to first order, since the curvature of
                    distances is left out
    best so far     points that are free, and that the user's own check accepts

The kernel of `Collisions.free` checks every point. A direction outside its reach cone is handled
as a pair nearer than its margin. Steps between iterates are not checked.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..collision.records import model_numbers, state_numbers
from ..collision.rows import add_slopes, deepest, distances_at, is_collision_free
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
from .line_search import SMALLEST_RELATIVE_MOVE, line_search_at, project_onto
from .loop import Kernel, loop_of
from .quasi_newton import quasi_newton_at

ROW_DISTANCE = 0.1  # [m] Pairs of links farther apart than this and their margin have no row
ROW_ANGLE = 0.5  # [rad] Edges of reach cones farther away have no row
MAX_PAIR_ROWS = 64  # Only this many of the nearest pairs have rows; the others are still checked
ROW_SPARE = 1e-6  # [m] Rows demand this much more than the margin, so that points on them are free
ROW_SPARE_ANGLE = 1e-9  # [rad] The same for cones, whose angles are exact
NO_BOUND = 1e9  # [rad or m] Replaces an infinite bound of a row
LEAST_SLOPE = 1e-9  # [m or rad, per rad or m] A distance with a smaller slope has no row
# Corrections of a trial that collides: each moves it to the nearest point that meets the last
# one's rows.
COLLISION_CORRECTIONS = 5
LONGEST_STEP = 0.3  # [rad or m] Longest escape step
RISE = 0.05  # [m or rad] Largest increase of a distance that an escape step demands of a row
# An escape step must lower the worst violation by this fraction of the increase that it demands.
LESS = 0.01
ESCAPE_HALVINGS = 8  # Maximum number of halvings of an escape step

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


# --- checks --------------------------------------------------------------------------------------


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
    return is_collision_free(avoided.model, avoided.state, search.problem.row)


@kernel
def may_answer(search: Record, x: Array) -> bool:
    """Return whether x (n,) is free, as by `is_free`, and the user's own check accepts it."""
    if search.status == FAILED or not is_free(search, x):
        return False
    is_accepted = user_accepts(search.problem)
    if search.problem.failed > 0:
        search.status = FAILED
    return is_accepted


@kernel
def violation(search: Record, x: Array) -> float:
    """Return the largest violation at x (n,), of a pair's margin [m] or a cone [rad].

    At most 0 if x is free.
    """
    avoided, worst = avoided_at(search.avoidance), -NO_BOUND
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
    """Write rows for cones and near pairs at x (n,), below those of the linear constraints.

    leaves : rows ask pairs nearer than their margin to leave it; else only not to come nearer. The
        same for directions outside their cones

    Returns the row with the worst violation, -1 without any.
    """
    avoided, q = avoided_at(search.avoidance), search.problem.row
    row, worst, least = avoided.first, -1, np.inf
    _set_row(search.problem, x)
    if avoided.cones != 0:
        cones = cones_at(avoided.cones)
        place_cones(cones, q)
        for k in range(INWARD * cones.body.shape[0]):
            height = height_above(cones, k // INWARD, k % INWARD - 1, NO_BOUND)
            if height >= ROW_ANGLE:
                continue
            if _put_row(search, x, row, cones.slopes, height, ROW_SPARE_ANGLE, leaves):
                if height - ROW_SPARE_ANGLE < least:
                    worst, least = row, height - ROW_SPARE_ANGLE
                row += 1
    count = 0
    if avoided.model != 0:
        count = distances_at(avoided.model, avoided.state, q, avoided.reach + ROW_DISTANCE, False)
    for near in range(count):
        model = model_numbers(avoided.model)
        state = state_numbers(avoided.state)
        for j in range(avoided.slopes.shape[0]):
            avoided.slopes[j] = 0.0
        add_slopes(model, state, near, avoided.slopes)
        distance, wanted = state.distances[near, 0], model.margin[state.found[near]] + ROW_SPARE
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
    """Write a row that asks for the wanted distance.

    distance, slopes (robot's joints,) : the distance at x (n,), and its gradient

    Returns False if there are no more rows, or the slopes vanish.
    """
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
    rows[row, n], rows[row, n + 1] = (value + rise) / length, NO_BOUND
    return True


@kernel
def clear_rows(search: Record, used: int) -> None:
    """Remove the bounds of all rows after those of the linear constraints and `used` others."""
    rows, n = program_of(search).rows, search.joints
    for row in range(avoided_at(search.avoidance).first + used, rows.shape[0]):
        for j in range(n):
            rows[row, j] = 0.0
        rows[row, n], rows[row, n + 1] = -NO_BOUND, NO_BOUND


@kernel
def bring_free(search: Record, x: Array, step: Array) -> bool:
    """Move x (n,) to a free point near it; step (n,) is scratch.

    Returns False if it finds none; x is then anywhere inside the limits.
    """
    project_onto(search, x)
    for _ in range(COLLISION_CORRECTIONS):
        if is_free(search, x):
            return True
        set_rows(search, x, True)
        if not nearest_inside(search, x, search.rhs, step):
            return False
    return is_free(search, x)


@kernel
def put_inside_free(search: Record, x: Array) -> None:
    """Move x to a free point inside, or to the search's point if there is none.

    For a restart, x is the search's point, so it stays: its steps then lead out of the collision.
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
    """dx = the minimum of the model between the rows at x."""
    set_rows(search, search.x, False)
    minimum_inside(search)


@kernel
def armijo_free(search: Record, direction: Array, tau: float) -> bool:
    """Move x to the first collision-free point along a direction that fulfils Armijo's rule.

    Trials that `bring_free` can't make free are shortened, too. Returns whether x moved.
    """
    x, trial, gradient = search.x, search.trial, search.gradient
    own, largest = line_search_at(search.own), 0.0
    for j in range(x.shape[0]):
        largest = max(largest, abs(x[j]))
    while True:
        moved = slope = 0.0
        for j in range(x.shape[0]):
            trial[j] = x[j] + tau * direction[j]
            moved = max(moved, abs(tau * direction[j]))
        if not moved > SMALLEST_RELATIVE_MOVE * (1.0 + largest):
            return False
        if bring_free(search, trial, search.clamped):
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
def escape_step(search: Record) -> bool:
    """Take a step out of a collision that lowers the worst violation; False if none does."""
    x, trial, step = search.x, search.trial, search.clamped
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
    for _ in range(ESCAPE_HALVINGS):
        for j in range(n):
            trial[j] = x[j] + tau * step[j]
        asked = min(before + ROW_SPARE, RISE)
        if violation(search, trial) < before - LESS * tau * asked or is_free(search, trial):
            take_trial(search, evaluate(search, trial, search.trial_residual))
            return True
        tau *= 0.5
    return False


@kernel
def step_free(search: Record) -> bool:
    """Step out of a collision, or line-search along free points; return whether x moved."""
    if is_free(search, search.x):
        return descend_free(search)
    quasi_newton_at(search.own).moved = 0  # the model learns nothing from it
    return escape_step(search)


# --- rules ---------------------------------------------------------------------------------------


@kernel
def steepest_step_free(search: Record, program: Any) -> bool:
    """Fill `dx` with the steepest descent step inside constraints, near pairs and cones.

    Returns whether there is one.
    """
    set_rows(search, search.x, False)
    return steepest_step(search, program)


BETWEEN = {steepest_step: steepest_step_free}
is_stationary_between = substitute(constrained.is_stationary_inside, 'between', BETWEEN)
mark_clamping_rows = substitute(constrained.mark_clamping, 'between', BETWEEN)


@kernel
def is_stationary_free(search: Record) -> bool:
    """Return whether x is stationary between the rows; False for a point that collides."""
    return is_free(search, search.x) and is_stationary_between(search)


@kernel
def go_lower(search: Record) -> bool:
    """Move x to a lower point, by a Newton step or along active rows; return whether it moved.

    The rows leave out the curvature of distances: round a ball the cost may fall.
    """
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
    """Keep x as the best point if it is better and may be an answer."""
    better = is_better(search.cost, status, search.best_cost, search.best_status)
    if better and may_answer(search, search.x):
        search.best_cost, search.best_status = search.cost, status
        copy_to(search.x, search.best)


@kernel
def keep_best_free(search: Record) -> None:
    """Keep x if it is the best so far; end attempts at solutions that the user's check refuses."""
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
    second_order.mark_clamped: mark_clamping_rows,
    loop.keep_if_better: keep_if_better_free,
    loop.keep_best: keep_best_free,
}
go_to_minimum = substitute(second_order.go_to_minimum, 'free', POINTS)
descend = substitute(second_order.descend, 'free', POINTS)
check_end_of_attempt = substitute(loop.check_end_of_attempt, 'free', POINTS)
next_attempt = substitute(loop.next_attempt, 'free', POINTS)


@kernel
def check_end_of_attempt_free(search: Record) -> None:
    """Check whether the attempt is over, unless that is known."""
    if search.phase != ENDED:
        check_end_of_attempt(search)


@kernel
def next_attempt_free(search: Record, ended: int) -> None:
    """Begin the next attempt, or end.

    The search ends as COLLIDED if no point was free, or if solutions were found that collide.
    """
    next_attempt(search, ended)
    status = search.status
    over = status != RUNNING and status != REACHED and status != FAILED
    collided = avoided_at(search.avoidance).collided > 0
    if over and (collided or search.best_cost == np.inf):
        search.status = COLLIDED


@kernel
def reached_free(search: Record) -> bool:
    """Return whether the answer reaches all goals and may be one."""
    return within_tolerances(search) and may_answer(search, search.answer)


# --- the loop ------------------------------------------------------------------------------------

INSTEAD = {
    **POINTS,
    second_order.go_to_minimum: go_lower,
    loop.check_end_of_attempt: check_end_of_attempt_free,
    loop.next_attempt: next_attempt_free,
    within_tolerances: reached_free,
}
settle = substitute(loop.settle, 'free', INSTEAD, 'ik_loop_settle_free')
conclude = substitute(loop.conclude, 'free', INSTEAD, 'ik_loop_conclude_free')


@cache
def free_loop(name: str, start: Kernel) -> Kernel:
    """Return the loop around a method's start and the step among obstacles."""
    instead, entry = {**INSTEAD, start: start, step_free: step_free}, f'ik_run_{name}_free'
    made: Kernel = substitute(loop_of(name, start, step_free), 'free', instead, entry)
    return made
