# SPDX-License-Identifier: Apache-2.0
"""`decide`: all rules of a search, applied to the new point of one lane. Plain scalar code.

It keeps the point or goes back, adapts the damping, ends the attempt or not, and gives the lane
its next task: another attempt, one of the best to follow to its end, the check of an answer,
another search. The answer is that of the earliest attempt that reaches the goals, so the number of
lanes changes no bit of it.
"""

from __future__ import annotations

import math

import numpy as np

from ... import rules
from ...closed_form.nearest import nearest_solutions
from ...collision.rows import deepest, is_collision_free
from ...kernels.jit import inline_kernel, kernel
from ...maths.boxed_step import clamp
from ...maths.lanes import HAS_LANES
from ...maths.rotations import Array, IntArray
from ...maths.vectors import copy_to
from ...optim.evaluation import user_accepts
from ...robot.kinematics import OFFSET
from ...robot.limits import FULL_TURN, random_configuration, write_answer
from ...rules import (
    SAME_COST,
    answer_status,
    are_within,
    descent_along,
    has_stalled,
    is_better,
    is_solved,
    put_inside,
)
from .layouts import (
    ATTEMPTS,
    CHECK,
    CLOSEST,
    COLLIDED,
    DESCEND,
    EVALUATIONS,
    EXHAUSTED,
    FOLLOW,
    FREE,
    IDLE,
    ITERATIONS,
    POOL,
    REACHED,
    REPORTED_COLLISIONS,
    RUNNING,
    STALLED,
    STATUS,
    Record,
)
from .second_order import SADDLE_TRIALS, SLOW_ITERATIONS, finds_descent, finds_descent_inside

COST_ROUNDING = 1e-13  # Relative changes of the cost below this are rounding

SMALLEST_MOVE = 1e-13  # [rad or m] A step that moves no joint by more counts as no step

SMALLEST_DAMPING = 1e-9  # Damping after the first step is rejected

# An attempt is abandoned unless its cost falls to this fraction within `patience` iterations.
CLEAR_DROP = 0.8

FIRST_DROP = 5
# After iteration FIRST_DROP a followed attempt is dropped if HOPED_DECREASES more decreases like
# its last one would not bring it below the best cost: decreases become ever smaller.
HOPED_DECREASES = 10.0

# No attempt is dropped while the best one misses the goals by less than this many tolerances: the
# goals may be in reach, and near a singular goal a small decrease does not predict the next ones.
NEARLY_REACHED = 1e3

SAME_POINT = 1e-6  # Points within this distance [rad or m] count as one


@kernel
def decide(problem: Record, searches: Record, lanes: Record, w: int, last: int) -> None:
    """Decide on the new point of a lane; attempts after `last` wait for a later call."""
    if lanes.phase[w] == CHECK:
        _end_check(problem, searches, lanes, w)
        return
    if lanes.fresh[w] > 0.0:
        ended = _unless_collided(problem, searches, lanes, w, _begin_descent(problem, lanes, w))
        goes_on = ended == RUNNING
    else:
        i = lanes.search[w]
        lanes.steps[w] += 1
        searches.iterations[i] += 1
        ended = _unless_collided(problem, searches, lanes, w, _judge(problem, searches, lanes, w))
        searches.evaluations[i] += 1 + lanes.hessian_evaluations[w]
        lanes.hessian_evaluations[w] = 0
        goes_on = ended not in (REACHED, COLLIDED) and (
            not _is_over(problem, lanes, w, ended) or _turns_round(problem, lanes, w)
        )
    if goes_on:
        _note_exact(problem, lanes, w)
    else:
        _end_attempt(problem, searches, lanes, w, ended)
        next_task(problem, searches, lanes, w, last)


# --- a step --------------------------------------------------------------------------------------


@inline_kernel
def _begin_descent(problem: Record, lanes: Record, w: int) -> int:
    """Set the damping where an attempt begins; return REACHED or RUNNING."""
    cost = lanes.cost[1 - lanes.here, w]
    lanes.fresh[w] = 0.0
    lanes.mark[w], lanes.nu[w], lanes.growth[w] = cost, problem.damping, 2.0
    if lanes.phase[w] == FOLLOW:  # far away the Hessian grows with the distance, not its square
        lanes.nu[w] /= max(1.0, math.sqrt(cost))
    return REACHED if _is_solved(problem, lanes, w) else RUNNING


@inline_kernel
def _judge(problem: Record, searches: Record, lanes: Record, w: int) -> int:
    """Keep the new point or go back, and adapt the damping; return the attempt's status."""
    before, cost = lanes.cost[lanes.here, w], lanes.cost[1 - lanes.here, w]
    if cost < before:
        lanes.nu[w] *= lanes.factor[w]
        lanes.growth[w], lanes.saddle_trials[w] = 2.0, 0
        if _is_solved(problem, lanes, w):
            return REACHED
        if _is_hopeless(problem, searches, lanes, w, before - cost):
            return STALLED
        ended = CLOSEST if is_stationary(problem, lanes, w) else RUNNING
        if ended == RUNNING and _has_stalled(problem, lanes, w):
            return STALLED
    else:
        _go_back(lanes, w)
        if lanes.saddle_trials[w] > 0:
            return _try_further(problem, lanes, w)
        if abs(lanes.decrease[w]) < COST_ROUNDING * before:
            ended = CLOSEST  # what is left to gain is below the rounding of the cost
        elif lanes.largest[w] > SMALLEST_MOVE:
            lanes.nu[w] = max(lanes.nu[w], SMALLEST_DAMPING) * lanes.growth[w]
            lanes.growth[w] *= 2.0
            return RUNNING
        else:
            ended = CLOSEST if is_stationary(problem, lanes, w) else STALLED
    follows = lanes.phase[w] == FOLLOW
    if ended == CLOSEST and follows and finds_descent(problem, lanes, w, False):
        lanes.saddle_trials[w] = 1
        return RUNNING
    return ended


@inline_kernel
def _has_stalled(problem: Record, lanes: Record, w: int) -> bool:
    """Return whether a step moved all variables by less than `relative_change` of the largest."""
    largest, there = 0.0, 1 - lanes.here
    if problem.relative_change == 0.0:
        return False
    for j in range(lanes.x.shape[1]):
        largest = max(largest, abs(lanes.x[there, j, w]))
    return has_stalled(lanes.largest[w], 0.0, largest, problem.relative_change)


@inline_kernel
def _try_further(problem: Record, lanes: Record, w: int) -> int:
    """After a failed step off a saddle: try a shorter one, or another direction, or end."""
    lanes.saddle_trials[w] += 1
    if lanes.saddle_trials[w] % SADDLE_TRIALS != 1:
        return RUNNING
    if lanes.saddle_trials[w] > 2 * SADDLE_TRIALS:
        return STALLED
    if finds_descent(problem, lanes, w, True) or finds_descent_inside(problem, lanes, w):
        return RUNNING
    return CLOSEST


@inline_kernel
def _go_back(lanes: Record, w: int) -> None:
    """Replace the new point by the last one."""
    here = lanes.here
    copy_point(lanes, here, w, lanes, 1 - here, w)


@kernel
def copy_point(source: Record, a: int, v: int, target: Record, b: int, w: int) -> None:
    """Copy point a of lane v in one record to point b of lane w in another, or the same."""
    target.cost[b, w] = source.cost[a, v]
    x, gradient, squares = source.x, source.gradient, source.squares
    residual, columns = source.residual, source.columns
    for i in range(residual.shape[1]):
        target.residual[b, i, w] = residual[a, i, v]
    for j in range(x.shape[1]):
        target.x[b, j, w] = x[a, j, v]
        target.gradient[b, j, w] = gradient[a, j, v]
        target.squares[b, j, w] = squares[a, j, v]
        for i in range(columns.shape[2]):
            target.columns[b, j, i, w] = columns[a, j, i, v]


@inline_kernel
def _is_over(problem: Record, lanes: Record, w: int, ended: int) -> bool:
    """Return whether the attempt has ended, stagnates, or has used its steps; counts stagnant
    steps."""
    cost = lanes.cost[1 - lanes.here, w]
    if cost < CLEAR_DROP * lanes.mark[w]:
        lanes.mark[w], lanes.stagnant[w] = cost, 0
    else:
        lanes.stagnant[w] += 1
    if ended != RUNNING or lanes.steps[w] >= problem.max_iterations:
        return True
    return lanes.phase[w] == DESCEND and lanes.stagnant[w] >= problem.patience


@inline_kernel
def _turns_round(problem: Record, lanes: Record, w: int) -> bool:
    """Turn joints that a limit blocks by a whole turn, inside the limits; return whether any.

    The posture stays the same, but the joint can move on. Only if restarts are allowed: without
    them the joints should stay near the start.
    """
    there, bounds, x, turned = 1 - lanes.here, problem.bounds, lanes.x, False
    if problem.restarts == 0 or lanes.steps[w] >= problem.max_iterations:
        return False
    for j in range(x.shape[1]):
        if bounds[4, j] > 0.0 and _slope(problem, lanes, w, j) < 0:
            turn = FULL_TURN if lanes.gradient[there, j, w] > 0.0 else -FULL_TURN
            x[there, j, w] = clamp(x[there, j, w] + turn, bounds[0, j], bounds[1, j])
            turned = True
    if turned:
        lanes.nu[w], lanes.growth[w], lanes.stagnant[w] = problem.damping, 2.0, 0
    return turned


@inline_kernel
def _note_exact(problem: Record, lanes: Record, w: int) -> None:
    """Mark the lane if its next step needs the Hessian or leaves a saddle."""
    slow = lanes.phase[w] == FOLLOW and lanes.stagnant[w] >= SLOW_ITERATIONS
    exact = 1 if slow or problem.weighed > 0 or lanes.saddle_trials[w] > 0 else 0
    lanes.nonstandard_steps += exact - lanes.exact[w]
    lanes.exact[w] = exact


@inline_kernel
def _is_hopeless(problem: Record, searches: Record, lanes: Record, w: int, drop: float) -> bool:
    """Return whether a followed attempt is unlikely to end below the best followed so far."""
    i = lanes.search[w]
    if lanes.phase[w] != FOLLOW or searches.followed[i] <= 1 or lanes.steps[w] < FIRST_DROP:
        return False
    cost, best = lanes.cost[1 - lanes.here, w], searches.best_cost[i]
    if best < (NEARLY_REACHED * problem.tolerance[0]) ** 2:
        return False
    return bool(cost - HOPED_DECREASES * drop > best * (1.0 - SAME_COST))


# --- a point -------------------------------------------------------------------------------------


@inline_kernel
def _is_solved(problem: Record, lanes: Record, w: int) -> bool:
    """Return whether the search ends at a lane's point."""
    tolerance = problem.tolerance
    return is_solved(lanes.errors[:, :, w], tolerance[0], tolerance[1], problem.weighed > 0)


@inline_kernel
def _is_reached(problem: Record, lanes: Record, w: int) -> bool:
    """Return whether there are goals and all are within their tolerances."""
    tolerance = problem.tolerance
    return are_within(lanes.errors[:, :, w], tolerance[0], tolerance[1])


@inline_kernel
def is_stationary(problem: Record, lanes: Record, w: int) -> bool:
    """Return whether the cost falls in no direction inside the limits."""
    there = 1 - lanes.here
    return rules.is_stationary(
        lanes.x[there, :, w],
        problem.bounds,
        lanes.gradient[there, :, w],
        lanes.squares[there, :, w],
        lanes.cost[there, w],
    )


@inline_kernel
def _slope(problem: Record, lanes: Record, w: int, j: int) -> int:
    """Return `descent_along` variable j at a lane's point: 1, -1 or 0."""
    there, bounds = 1 - lanes.here, problem.bounds
    return descent_along(
        lanes.x[there, j, w],
        bounds[0, j],
        bounds[1, j],
        lanes.gradient[there, j, w],
        lanes.squares[there, j, w],
        lanes.cost[there, w],
    )


# --- what is to be avoided -----------------------------------------------------------------------


@kernel
def may_answer(problem: Record, searches: Record, lanes: Record, i: int, x: Array) -> bool:
    """Return whether search i may answer x: the robot is free of collisions there, and the user's
    own check accepts it."""
    row = lanes.row
    _set_row(problem, searches, lanes, i, x)
    if problem.collisions != 0 and not is_collision_free(
        problem.collisions, lanes.collisions, row
    ):
        return False
    if problem.valid != 0:
        copy_to(row, problem.row)
    return user_accepts(problem)


@inline_kernel
def _set_row(problem: Record, searches: Record, lanes: Record, i: int, x: Array) -> None:
    """Fill all joints of search i, with its variables at x."""
    row, columns = lanes.row, problem.columns
    copy_to(searches.rows[i], row)
    for j in range(x.shape[0]):
        row[columns[j]] = x[j]


@kernel
def _is_settled(problem: Record, searches: Record, lanes: Record, w: int) -> bool:
    """Return whether links collide where the goals put them, so that all solutions do."""
    if problem.settled == 0:
        return False
    x, there = lanes.point.x, 1 - lanes.here
    for j in range(x.shape[0]):
        x[j] = lanes.x[there, j, w]
    _set_row(problem, searches, lanes, lanes.search[w], x)
    if is_collision_free(problem.settled, lanes.settled, lanes.row):
        return False
    return deepest(problem.settled, lanes.settled, lanes.row, problem.reach) > problem.slack


@inline_kernel
def avoids(problem: Record) -> bool:
    """Return whether the problem has anything to avoid."""
    return problem.collisions != 0 or problem.valid != 0


@kernel
def _lane_may_answer(problem: Record, searches: Record, lanes: Record, w: int) -> bool:
    """Return whether a lane's point may be an answer."""
    if not avoids(problem):
        return True
    verdict = searches.verdicts[lanes.search[w]]
    if verdict != 0 and lanes.attempt[w] == 0 and lanes.steps[w] == 0:
        return verdict == FREE
    x, there = lanes.point.x, 1 - lanes.here
    for j in range(x.shape[0]):
        x[j] = lanes.x[there, j, w]
    return may_answer(problem, searches, lanes, lanes.search[w], x)


@inline_kernel
def _unless_collided(problem: Record, searches: Record, lanes: Record, w: int, ended: int) -> int:
    """Return how the attempt ended: COLLIDED in place of REACHED if the robot collides."""
    if ended == REACHED and not _lane_may_answer(problem, searches, lanes, w):
        return COLLIDED
    return ended


@inline_kernel
def _note_collided(searches: Record, lanes: Record, w: int) -> None:
    """Count an attempt that reached the goals where the robot collides; keep the first ones."""
    i, k = lanes.search[w], lanes.attempt[w]
    first, rank = searches.first_collided, min(searches.collided[i], REPORTED_COLLISIONS)
    while rank > 0 and first[i, rank - 1] > k:
        rank -= 1
        if rank + 1 < REPORTED_COLLISIONS:
            first[i, rank + 1] = first[i, rank]
            copy_to(searches.colliding[i, rank], searches.colliding[i, rank + 1])
    if rank < REPORTED_COLLISIONS:
        first[i, rank] = k
        for j in range(lanes.x.shape[1]):
            searches.colliding[i, rank, j] = lanes.x[1 - lanes.here, j, w]
    searches.collided[i] += 1


# --- the end of an attempt -----------------------------------------------------------------------


@inline_kernel
def _end_attempt(problem: Record, searches: Record, lanes: Record, w: int, ended: int) -> None:
    """Record the status and the point of a finished attempt."""
    i, k = lanes.search[w], lanes.attempt[w]
    descended = lanes.phase[w] == DESCEND
    if descended and searches.lanes[i] > 1:
        for other in range(lanes.phase.shape[0]):
            if _shares_search(lanes, w, other) and lanes.attempt[other] < k:
                lanes.later_steps[other] += lanes.steps[w]
    if ended == REACHED:
        if descended:
            _call_off(searches, lanes, w)
        _keep(problem, searches, lanes, w, REACHED)
        searches.costs[i] = lanes.cost[1 - lanes.here, w]
        for g in range(lanes.errors.shape[0]):
            searches.errors[i, g, 0] = lanes.errors[g, 0, w]
            searches.errors[i, g, 1] = lanes.errors[g, 1, w]
    elif ended == COLLIDED:
        _note_collided(searches, lanes, w)
        if descended and _is_settled(problem, searches, lanes, w):
            _call_off(searches, lanes, w)
    elif searches.best_status[i] != REACHED:  # by a later attempt
        if ended == RUNNING:
            ended = EXHAUSTED
        cost, best = lanes.cost[1 - lanes.here, w], searches.best_cost[i]
        if descended:
            _pool(searches, lanes, w)
            is_best = _comes_before(cost, k, best, searches.best[i])
        else:
            is_best = is_better(cost, ended, best, searches.best_status[i])
        if is_best and _lane_may_answer(problem, searches, lanes, w):
            _keep(problem, searches, lanes, w, ended)
        elif is_best:
            for j in range(lanes.x.shape[1]):
                searches.blocked[i, j] = lanes.x[1 - lanes.here, j, w]


@inline_kernel
def _shares_search(lanes: Record, w: int, other: int) -> bool:
    """Return whether another lane runs an attempt of the same search."""
    same = lanes.search[other] == lanes.search[w]
    return other != w and same and lanes.phase[other] == DESCEND


@inline_kernel
def _call_off(searches: Record, lanes: Record, w: int) -> None:
    """Cancel all attempts after one that reached the goals, or showed that none can.

    Their steps leave the counts, which are those of attempts made one after the other.
    """
    i, k, dropped = lanes.search[w], lanes.attempt[w], lanes.later_steps[w]
    if searches.lanes[i] > 1:
        for other in range(lanes.phase.shape[0]):
            if not _shares_search(lanes, w, other):
                continue
            if lanes.attempt[other] > k:
                dropped += lanes.steps[other]
                # lanes after this one are evaluated, but not counted yet; those that begin are
                # counted, but only evaluated if they come after it
                searches.abandoned[i] += 1 if other > w else 0
                searches.abandoned[i] -= 1 if lanes.fresh[other] > 0.0 else 0
                _release(searches, lanes, other)
            else:
                lanes.later_steps[other] -= lanes.later_steps[w]
    searches.iterations[i] -= dropped
    dropped_evaluations = dropped + searches.begun[i] - (k + 1)
    searches.evaluations[i] -= dropped_evaluations
    searches.abandoned[i] += dropped_evaluations
    searches.begun[i] = searches.needed[i] = k + 1


@inline_kernel
def _keep(problem: Record, searches: Record, lanes: Record, w: int, status: int) -> None:
    """Store a lane's point as the best of its search."""
    i, there = lanes.search[w], 1 - lanes.here
    searches.best[i], searches.best_status[i] = lanes.attempt[w], status
    searches.best_cost[i] = lanes.cost[there, w]
    points, x = searches.points, lanes.x
    for j in range(points.shape[1]):
        points[i, j] = x[there, j, w]


@inline_kernel
def _comes_before(cost: float, attempt: int, other_cost: float, other: int) -> bool:
    """Return whether one abandoned attempt comes before another; independent of the lanes."""
    return cost < other_cost or (cost == other_cost and attempt < other)


@kernel
def _pool(searches: Record, lanes: Record, w: int) -> None:
    """Insert a lane's point into the pool of its search, sorted by cost, then by attempt."""
    i, there, attempt = lanes.search[w], 1 - lanes.here, lanes.attempt[w]
    cost, pool_index = lanes.cost[there, w], searches.pool_index[i]
    costs, attempts, pool = searches.pool_costs, searches.pool_attempts, searches.pool
    if pool_index < 0:
        pool_index = 0
        while searches.owners[pool_index] != 0:
            pool_index += 1
        searches.pool_index[i], searches.owners[pool_index] = pool_index, i + 1
        for k in range(POOL):
            costs[pool_index, k] = np.inf
    rank = POOL
    if cost < np.inf:
        while rank > 0 and _comes_before(
            cost, attempt, costs[pool_index, rank - 1], attempts[pool_index, rank - 1]
        ):
            rank -= 1
    if rank == POOL:
        return
    for k in range(POOL - 1, rank, -1):
        if costs[pool_index, k - 1] < np.inf:
            costs[pool_index, k], attempts[pool_index, k] = (
                costs[pool_index, k - 1],
                attempts[pool_index, k - 1],
            )
            copy_to(pool[pool_index, k - 1], pool[pool_index, k])
    costs[pool_index, rank], attempts[pool_index, rank] = cost, attempt
    for j in range(pool.shape[2]):
        pool[pool_index, rank, j] = lanes.x[there, j, w]


# --- from one attempt to the next ----------------------------------------------------------------


@kernel
def next_task(problem: Record, searches: Record, lanes: Record, w: int, last: int) -> None:
    """Give a lane whose attempt is over the next task of its search, or release it."""
    i = lanes.search[w]
    if lanes.phase[w] == DESCEND:
        begun, needed = searches.begun[i], searches.needed[i]
        if begun < needed and begun <= last:
            _begin_attempt(problem, searches, lanes, w)
            return
        if (
            begun < needed
            or searches.lanes[i] > 1
            or (searches.best_status[i] != REACHED and lanes.follows == 0)
        ):
            _release(searches, lanes, w)
            return
    elif searches.best_cost[i] == np.inf and searches.begun[i] <= problem.attempts_while_colliding:
        _begin_attempt(problem, searches, lanes, w)
        return
    if searches.best_status[i] == REACHED or not _follow_next(searches, lanes, w):
        _finish(problem, searches, lanes, w)


@inline_kernel
def _begin_attempt(problem: Record, searches: Record, lanes: Record, w: int) -> None:
    """Begin the next attempt: at its given start, in closed form, or at random."""
    i, bounds, point = lanes.search[w], problem.bounds, lanes.point
    attempt = searches.begun[i]
    searches.begun[i] += 1
    lanes.attempt[w], lanes.later_steps[w] = attempt, 0
    if attempt == 0:
        copy_to(searches.guesses[i], point.x)
        put_inside(point.x, bounds)
    elif attempt > 1 or not _guess_restart(problem, searches, lanes, w):
        random_configuration(searches.seeds[i], attempt, bounds[2], bounds[3], point.x)
        if avoids(problem) and problem.plan.shape[0] > 0:  # to see many solutions
            copy_to(point.x, point.starts[0])
            _guess(problem, searches, lanes, i, problem.guess_numbers)
            copy_to(point.answers[0], point.x)
    if problem.restarts == 0:  # the only attempt there is counts as one that is followed
        searches.followed[i] = 1
    _begin_at(searches, lanes, w, point.x, FOLLOW if problem.restarts == 0 else DESCEND)


@kernel
def _stay(
    plan: IntArray,
    numbers: Array,
    targets: Array,
    starts: Array,
    first: int,
    last: int,
    memory: Array,
    points: Array,
) -> None:
    """Do nothing; replaces `nearest_solutions` on machines without lanes."""


nearest_guess = nearest_solutions if HAS_LANES else _stay


@kernel
def _guess_restart(problem: Record, searches: Record, lanes: Record, w: int) -> bool:
    """Put the initial guess of restart 1 into `POINT`, at the nearest closed-form solution.

    Only if attempt 0 began at a start near the goal, and failed; return whether it is so.
    """
    i, point = lanes.search[w], lanes.point
    if searches.guesses_restart == 0:
        return False
    apart = 0.0
    copy_to(searches.guesses[i], point.starts[0])
    _guess(problem, searches, lanes, i, problem.restart_numbers)
    for j in range(point.x.shape[0]):
        point.x[j] = point.answers[0, j]
        apart = max(apart, abs(point.answers[0, j] - point.starts[0, j]))
    return apart > SAME_POINT


@kernel
def _guess(problem: Record, searches: Record, lanes: Record, i: int, numbers: Array) -> None:
    """Find the closed-form solution of search i nearest to `starts` of `POINT`: its `answers`."""
    point = lanes.point
    copy_to(searches.targets[i, 0], point.target[0])
    nearest_guess(
        problem.plan, numbers, point.target, point.starts, 0, 1, lanes.scratch, point.answers
    )


@inline_kernel
def _follow_next(searches: Record, lanes: Record, w: int) -> bool:
    """Begin to follow the next attempt of the pool to its end; return False without one."""
    i = lanes.search[w]
    rank, pool_index, point = searches.followed[i], searches.pool_index[i], lanes.point
    if pool_index < 0 or rank == POOL or searches.pool_costs[pool_index, rank] == np.inf:
        return False
    if rank == 0:
        searches.best_cost[i] = np.inf
    searches.followed[i] = rank + 1
    copy_to(searches.pool[pool_index, rank], point.x)
    _begin_at(searches, lanes, w, point.x, FOLLOW)
    return True


@kernel
def _begin_at(searches: Record, lanes: Record, w: int, x: Array, phase: int) -> None:
    """Set the point of a lane's next evaluation to x."""
    there = 1 - lanes.here
    for j in range(x.shape[0]):
        lanes.x[there, j, w] = x[j]
    lanes.phase[w], lanes.fresh[w], lanes.steps[w] = phase, 1.0, 0
    lanes.stagnant[w] = lanes.saddle_trials[w] = 0
    lanes.nonstandard_steps -= lanes.exact[w]
    lanes.exact[w] = 0
    if phase != CHECK:
        searches.evaluations[lanes.search[w]] += 1


@inline_kernel
def _finish(problem: Record, searches: Record, lanes: Record, w: int) -> None:
    """Move the best point to the nearest whole turns; evaluate it again if that moved it."""
    i, best = lanes.search[w], lanes.point.x
    answer = searches.points[i]
    copy_to(answer, best)
    all_collided = searches.collided[i] > 0 or searches.best_cost[i] == np.inf
    if avoids(problem) and searches.best_status[i] != REACHED and all_collided:
        searches.best_status[i] = COLLIDED
    turned = write_answer(best, searches.references[i], problem.bounds, answer)
    if searches.best_status[i] == REACHED and not turned:
        _write(searches, lanes, w, REACHED)  # as judged just now
        return
    lanes.turned[w] = 1 if turned else 0
    _begin_at(searches, lanes, w, answer, CHECK)


@inline_kernel
def _end_check(problem: Record, searches: Record, lanes: Record, w: int) -> None:
    """Record cost, errors and status of an answer that was evaluated again."""
    i = lanes.search[w]
    status = searches.best_status[i]
    searches.costs[i] = lanes.cost[1 - lanes.here, w]
    for g in range(lanes.errors.shape[0]):
        searches.errors[i, g, 0] = lanes.errors[g, 0, w]
        searches.errors[i, g, 1] = lanes.errors[g, 1, w]
    if status == REACHED and not _lane_may_answer(problem, searches, lanes, w):
        status = COLLIDED  # by rounding of a turn
    stays = lanes.turned[w] == 0 or is_stationary(problem, lanes, w)
    status = answer_status(status, _is_reached(problem, lanes, w), stays)
    _write(searches, lanes, w, status)


@kernel
def _write(searches: Record, lanes: Record, w: int, status: int) -> None:
    """Write the result of a search, and end it."""
    i = lanes.search[w]
    searches.status[i] = searches.codes[i, STATUS] = status
    searches.codes[i, ITERATIONS] = searches.iterations[i]
    searches.codes[i, EVALUATIONS] = searches.evaluations[i]
    searches.codes[i, ATTEMPTS] = searches.begun[i] - 1
    if searches.pool_index[i] >= 0:
        searches.owners[searches.pool_index[i]] = 0
    _release(searches, lanes, w)


# --- lanes and searches --------------------------------------------------------------------------


@kernel
def assign(problem: Record, searches: Record, lanes: Record, w: int, last: int) -> None:
    """Assign the next search to an idle lane, or an attempt of the one with the fewest."""
    if lanes.next < searches.count:
        begin_search(problem, searches, lanes.next)
        join(problem, searches, lanes, w, lanes.next)
        lanes.next += 1
        next_task(problem, searches, lanes, w, last)
        return
    found, fewest = -1, last + 1
    for other in range(lanes.phase.shape[0]):
        if lanes.phase[other] == DESCEND:
            i = lanes.search[other]
            if searches.begun[i] < min(fewest, searches.needed[i]):
                found, fewest = i, searches.begun[i]
    if found >= 0:
        join(problem, searches, lanes, w, found)
        next_task(problem, searches, lanes, w, last)


@kernel
def begin_search(problem: Record, searches: Record, i: int) -> None:
    """Reset the state of a search."""
    searches.status[i], searches.pool_index[i] = RUNNING, -1
    searches.best_status[i], searches.best_cost[i] = STALLED, np.inf
    searches.needed[i] = problem.restarts + 1
    searches.begun[i] = searches.lanes[i] = searches.followed[i] = searches.best[i] = 0
    searches.iterations[i] = searches.evaluations[i] = searches.abandoned[i] = 0
    searches.collided[i] = 0
    if avoids(problem):
        copy_to(searches.starts[i], searches.points[i])
        put_inside(searches.points[i], problem.bounds)


@kernel
def join(problem: Record, searches: Record, lanes: Record, w: int, i: int) -> None:
    """Assign a lane to a search, with its targets."""
    geometry, frozen, offset, target = problem.geometry, problem.frozen, lanes.offset, lanes.target
    searches.lanes[i] += 1
    lanes.search[w], lanes.phase[w] = i, DESCEND
    for g in range(target.shape[0]):
        for c in range(12):
            target[g, c, w] = searches.targets[i, g, c]
    for k in range(offset.shape[0]):
        offset[k, w] = geometry[k, OFFSET]
    for k in range(frozen.shape[0]):
        offset[frozen[k], w] = searches.angles[i, k]


@kernel
def load_search(problem: Record, searches: Record, i: int, point: Record) -> None:
    """Copy the targets of a search, and its joints that do not move, to `POINT`."""
    geometry, frozen = problem.geometry, problem.frozen
    for g in range(point.target.shape[0]):
        copy_to(searches.targets[i, g], point.target[g])
    for k in range(point.offset.shape[0]):
        point.offset[k] = geometry[k, OFFSET]
    for k in range(frozen.shape[0]):
        point.offset[frozen[k]] = searches.angles[i, k]


@kernel
def _release(searches: Record, lanes: Record, w: int) -> None:
    """Detach a lane from its search."""
    searches.lanes[lanes.search[w]] -= 1
    free(lanes, w)


@kernel
def free(lanes: Record, w: int) -> None:
    """Make a lane idle."""
    lanes.phase[w], lanes.fresh[w] = IDLE, 1.0
    lanes.nonstandard_steps -= lanes.exact[w]
    lanes.exact[w] = 0
