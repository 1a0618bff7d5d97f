# SPDX-License-Identifier: Apache-2.0
"""`run`, the loop around `evaluate` and `decide`, and the kernels that Python calls.

Single solves, whole or step by step, and batches are this loop over one lane, four, or as many as
the machine has. All state is in records, so a search can be continued.
"""

from __future__ import annotations

import math
from typing import Any

from ...kernels.jit import inline_kernel, kernel, placeholder, with_kernels
from ...kernels.signatures import Array1, Array2
from ...maths.lanes import LANES as WIDEST
from ...maths.rotations import Array
from ...maths.vectors import copy_to
from ...robot.limits import LARGEST_POSITION, write_answer
from ...rules import answer_status, are_within, is_better, put_inside
from . import layouts
from .decide import (
    assign,
    avoids,
    copy_point,
    decide,
    free,
    join,
    load_search,
    may_answer,
    nearest_guess,
    next_task,
)
from .evaluate import evaluate
from .layouts import (
    DESCEND,
    FAILED,
    FINISH,
    FIRST,
    IDLE,
    NEW,
    PARALLEL,
    RUNNING,
    Record,
)
from .second_order import evaluate_point

# Lanes of a single solve, four if the machine has them. Usually one of the first restarts reaches
# the goal, and eight lanes take twice as long on processors with registers of half the width.
FOUR = min(WIDEST, 4)
# Steps of a single solve in one lane, where a step takes less time than in several lanes. Most
# first attempts need only a few.
FIRST_STEPS = 8

NOT_FINITE = -1  # Status of a start that is not finite, or too large

searches_at = layouts.SEARCHES.vector_view()
problem_at = layouts.PROBLEM.vector_view()
single_lane, single_scalars = layouts.LANES.vector_view(1), layouts.LANES.scalar_view(1)
four_lanes, four_scalars = layouts.LANES.vector_view(FOUR), layouts.LANES.scalar_view(FOUR)
# Kernels for as many lanes as the copy of `_solve_batch` has.
batch_lanes = batch_scalars = placeholder


@kernel
def run(
    problem: Record, searches: Record, lanes: Record, scalars: Record, last: int, steps: int
) -> bool:
    """Continue searches until all have ended, or for `steps` steps; return whether any is running.

    lanes, scalars : the same record, lanes side by side and lane by lane
    last : attempts after this one wait for a later call

    Evaluations of initial guesses do not count as steps.
    """
    width, some_idle = scalars.phase.shape[0], True
    while True:
        if some_idle:
            working = 0
            for w in range(width):
                if scalars.phase[w] == IDLE:
                    assign(problem, searches, scalars, w, last)
                working += 0 if scalars.phase[w] == IDLE else 1
            if working == 0:
                return False
            some_idle = False
        fresh = True
        for w in range(width):
            fresh = fresh and scalars.fresh[w] > 0.0
        if not fresh:
            if steps <= 0:
                return True
            steps -= 1
        scalars.here = 1 - scalars.here
        evaluate(problem, lanes, scalars)
        for w in range(width):
            if scalars.phase[w] != IDLE:
                decide(problem, searches, scalars, w, last)
                some_idle = some_idle or scalars.phase[w] == IDLE
        if problem.failed != 0:
            for w in range(width):
                searches.status[scalars.search[w]] = FAILED
            return False


# Status, cost, iterations, evaluations, restarts and abandoned evaluations of a search.
Outcome = tuple[int, float, int, int, int, int]


@kernel(entry='ik_solve')
def solve(address: int, steps: int, q: Array1, errors: Array2) -> Outcome:
    """Begin or continue a single search, for at most `steps` steps after the FIRST_STEPS.

    address : of `SEARCHES`
    q (n,) : begin a whole solve at these joints of the whole robot, and fill those that move with
        the answer, if it is found in this call; of length 0 to go on
    errors (2, G) : of the goals [m, rad], filled with q

    The status is NOT_FINITE if q is not finite or beyond `LARGEST_POSITION`, or if the errors are
    not finite, since a target is not.
    """
    searches = searches_at(address)
    problem = problem_at(searches.problem)
    lanes, single, columns = (
        single_lane(searches.single),
        single_scalars(searches.single),
        problem.columns,
    )
    if q.shape[0] > 0:
        if not set_start(problem, searches, q):
            return NOT_FINITE, 0.0, 0, 0, 0, 0
        searches.guesses_first = searches.guesses_restart = 1 if problem.plan.shape[0] > 0 else 0
    if searches.stage == NEW:
        begin_single(problem, searches, single)
        parallel = q.shape[0] > 0 and searches.four_lanes != 0 and problem.restarts > 0
        searches.stage = FIRST if parallel else FINISH
    if searches.stage == FIRST:
        run(problem, searches, lanes, single, 0, FIRST_STEPS)
        if searches.status[0] == RUNNING:
            four = four_scalars(searches.four_lanes)
            reset(four, 1)
            four.follows = 0
            _continue_in_lanes(problem, searches, single, four)
            searches.stage = PARALLEL
    if searches.stage == PARALLEL and searches.status[0] == RUNNING:
        four = four_scalars(searches.four_lanes)
        parallel = run(
            problem, searches, four_lanes(searches.four_lanes), four, problem.restarts, steps
        )
        if not parallel and searches.status[0] == RUNNING:  # no attempt is left
            join(problem, searches, single, 0, 0)
            next_task(problem, searches, single, 0, problem.restarts)
            searches.stage = FINISH
    if searches.stage == FINISH and searches.status[0] == RUNNING:
        run(problem, searches, lanes, single, problem.restarts, steps)
    if searches.status[0] != RUNNING:
        for j in range(min(q.shape[0], columns.shape[0])):
            q[columns[j]] = searches.points[0, j]
        for g in range(errors.shape[1]):
            errors[0, g], errors[1, g] = searches.errors[0, g, 0], searches.errors[0, g, 1]
            if not errors[0, g] + errors[1, g] < math.inf:
                return NOT_FINITE, 0.0, 0, 0, 0, 0
    return (
        int(searches.status[0]),
        float(searches.costs[0]),
        int(searches.iterations[0]),
        int(searches.evaluations[0]),
        max(int(searches.begun[0]) - 1, 0),
        int(searches.abandoned[0]),
    )


@kernel
def set_start(problem: Record, searches: Record, q: Array) -> bool:
    """Set the start to all joints q (n,); return False for infinite or too large values."""
    for j in range(q.shape[0]):
        if not abs(q[j]) <= LARGEST_POSITION:
            return False
    searches.stage = NEW
    for j in range(problem.columns.shape[0]):
        searches.starts[0, j] = q[problem.columns[j]]
    return True


@kernel(entry='ik_solve_check_start')
def check_start(address: int, q: Array1, errors: Array2) -> tuple[int, float]:
    """Evaluate joints q (n,) of the whole robot, put inside the limits.

    Fills q, and errors (2, G) of the goals [m, rad]. Returns REACHED, RUNNING or NOT_FINITE, and
    the cost.
    """
    searches = searches_at(address)
    problem = problem_at(searches.problem)
    if not set_start(problem, searches, q):
        return NOT_FINITE, 0.0
    status, point = conclude(address), single_scalars(searches.single).point
    for j in range(problem.columns.shape[0]):
        q[problem.columns[j]] = point.answers[0, j]
    for g in range(errors.shape[1]):
        errors[0, g], errors[1, g] = point.errors[g, 0], point.errors[g, 1]
    return status, float(point.cost)


@inline_kernel
def begin_single(problem: Record, searches: Record, single: Record) -> None:
    """Choose the initial guess of attempt 0: the start, or the nearest closed-form solution."""
    starts = searches.starts
    put_starts(problem, searches)
    copy_to(starts[0], searches.guesses[0])
    if searches.guesses_first > 0:
        nearest_guess(
            problem.plan,
            problem.guess_numbers,
            searches.targets[0],
            starts,
            0,
            1,
            single.scratch,
            searches.guesses,
        )
    for k in range(searches.owners.shape[0]):
        searches.owners[k] = 0
    reset(single, 0)
    searches.status[0] = RUNNING


@kernel
def reset(lanes: Record, following: int) -> None:
    """Make all lanes idle: a search may have been interrupted. following: the next search."""
    for w in range(lanes.phase.shape[0]):
        free(lanes, w)
        lanes.exact[w] = 0
    lanes.nonstandard_steps, lanes.next, lanes.follows = 0, following, 1


@kernel
def _continue_in_lanes(problem: Record, searches: Record, single: Record, four: Record) -> None:
    """Continue a single search, at the same point, in the first of several lanes."""
    is_under_way = single.phase[0] == DESCEND
    searches.lanes[0] = 0
    join(problem, searches, four, 0, 0)
    if not is_under_way:
        next_task(problem, searches, four, 0, problem.restarts)
        return
    copy_point(single, 1 - single.here, 0, four, 1 - four.here, 0)
    four.attempt[0], four.steps[0], four.later_steps[0] = single.attempt[0], single.steps[0], 0
    four.stagnant[0], four.saddle_trials[0], four.fresh[0] = single.stagnant[0], 0, 0.0
    four.nu[0], four.growth[0], four.mark[0] = single.nu[0], single.growth[0], single.mark[0]
    free(single, 0)


@kernel(entry='ik_solve_conclude')
def conclude(address: int) -> int:
    """Evaluate the best point so far of a running search, turned next to the start: fill
    `answers`, errors and cost of its `POINT`; return REACHED or RUNNING."""
    searches = searches_at(address)
    problem, single = problem_at(searches.problem), single_scalars(searches.single)
    point, there = single.point, 1 - single.here
    best, best_cost, status = point.answers[0], searches.best_cost[0], searches.best_status[0]
    if searches.stage == NEW:
        put_starts(problem, searches)
        copy_to(searches.references[0], best)
    else:
        copy_to(searches.points[0], best)
        if single.phase[0] != IDLE and is_better(
            single.cost[there, 0], RUNNING, best_cost, status
        ):
            for j in range(best.shape[0]):
                point.x[j] = single.x[there, j, 0]
            if not avoids(problem) or may_answer(problem, searches, single, 0, point.x):
                copy_to(point.x, best)
    write_answer(best, searches.references[0], problem.bounds, point.x)
    load_search(problem, searches, 0, point)
    evaluate_point(problem, point)
    copy_to(point.x, point.answers[0])
    tolerance = problem.tolerance
    is_reached = are_within(point.errors, tolerance[0], tolerance[1])
    if is_reached and avoids(problem):
        is_reached = may_answer(problem, searches, single, 0, point.x)
    return answer_status(RUNNING, is_reached, True)


@inline_kernel
def put_starts(problem: Record, searches: Record) -> None:
    """Set the reference for full turns to the start, inside the limits."""
    copy_to(searches.starts[0], searches.references[0])
    put_inside(searches.references[0], problem.bounds)


def _solve_batch(address: int, batch_address: int, begins: bool, steps: int) -> bool:
    """Begin or continue all searches, for `steps` steps of all lanes; return whether any is
    running.

    address : of `SEARCHES`; batch_address : of `LANES`
    """
    searches, scalars = searches_at(address), batch_scalars(batch_address)
    problem = problem_at(searches.problem)
    if begins:
        reset(scalars, 0)
        for k in range(searches.owners.shape[0]):
            searches.owners[k] = 0
    return run(problem, searches, batch_lanes(batch_address), scalars, problem.restarts, steps)


def solve_batch_in(count: int) -> Any:
    """Return the kernel for this number of lanes."""
    return with_kernels(
        _solve_batch,
        f'solve_batch_{count}',
        f'ik_solve_batch_{count}' if count in (4, 8) else '',
        count,
        batch_lanes=layouts.LANES.vector_view(count),
        batch_scalars=layouts.LANES.scalar_view(count),
    )


solve_batches = {count: solve_batch_in(count) for count in {1, 4, 8, WIDEST}}
solve_batch = solve_batches[WIDEST]
