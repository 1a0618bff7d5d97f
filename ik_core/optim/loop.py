"""The compiled loop that methods share, and what lies between their attempts.

A method is two kernels, which `method_loop` puts into a loop of its own:

    start(search)            remember what the method begins with, at x, evaluated there
    step(search) -> bool     one iteration: move x, evaluate there last; False where x stays

Where a step begins, `rows[RESIDUAL]`, `columns`, `vectors[GRADIENT]` and `values[COST]` are those
at x, and x is inside the limits, as it has to be where the step ends; the arrays of `search.p` are
those at x, too.

The loop runs until an attempt is over, or its iterations are. `settle` then does what is the same
for all methods, and rare: it begins the search, leaves stationary points that are no minima,
begins other attempts, and concludes. It is compiled once for all of them.

All rules are those of the default solver, one function each in `rules`: inside the limits, within
tolerance, solved, stationary, held at a limit, curved downwards, standing still, best so far, the
status of an answer; its turns are in `robot.limits`. Two loops apply them, this one and
`solvers.damped_search.run` with its `decide`, since the order in which they apply them differs:

- A step here evaluates as often as it needs to (line searches, sweeps over joints, central
  differences) and decides itself which point it keeps. There, `evaluate` makes one point in every
  lane, and `decide` keeps it or goes back.
- The cost may rise here, as it does in the papers' methods, so every point that is passed may be
  the best one. There it never rises, so the best point of an attempt is its last.
- Attempts are made here one after the other, each to its end, with the papers' counts of
  iterations. There, attempts that stagnate are left, several at a time are under way, and the best
  of them are followed to their ends later.
- Steps off a saddle are evaluations here, no iterations, and linear constraints may stand in the
  place of the limits (`constrained`). There, each is the step of a lane.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .. import rules
from .._jit import call_back, inner, njit, slot, with_kernels
from ..maths.rotations import Array, IntArray
from ..maths.vectors import copy_to
from ..robot.limits import random_configuration, take_answer
from ..rules import (
    CLOSEST,
    EXHAUSTED,
    FAILED,
    REACHED,
    RUNNING,
    STALLED,
    answer_status,
    is_better,
    stands_still,
)
from ..tasks.kernels import update
from .evaluation import (
    at_stationary_point,
    differentiate_here,
    evaluate,
    evaluate_here,
    is_solved,
    put_inside,
    within_tolerances,
)
from .memory import (
    ANSWER,
    ANSWER_COST,
    ANSWER_STATUS,
    ATTEMPT,
    ATTEMPT_ITERATIONS,
    BEFORE,
    BEGIN,
    BEST,
    BEST_COST,
    BEST_STATUS,
    COST,
    DISTURBED,
    ENDED,
    ENDED_BY,
    EVALUATIONS,
    ITERATIONS,
    MAX_ITERATIONS,
    METHOD,
    METHOD_WANTED,
    MOVED,
    NEW,
    PHASE,
    RELATIVE_CHANGE,
    RESIDUAL,
    RESTARTS,
    RESUMED,
    SEED,
    START,
    STATUS,
    STEP,
    TRIAL_RESIDUAL,
    SearchArrays,
    X,
    carve,
)
from .second_order import leave_or_conclude

STANDSTILL = 1e-12
"""An iteration that moves no variable by more, relative to |x| + 1, has come to a stop."""

Kernel = Callable[..., Any]


start = step = slot
"""The method's, in its copy of the loop below."""


@cache
def method_loop(name: str, start: Kernel, step: Kernel) -> Kernel:
    """The loop around a method's kernels: (..., iterations), at most so many more."""
    kernel: Kernel = with_kernels(_run, f'run_{name}', start=start, step=step)
    return kernel


def _run(
    tree: IntArray,
    geometry: Array,
    table: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    counters: IntArray,
    memory: Array,
    iterations: int,
) -> None:
    """Go on with the attempt until it is over, or so many iterations are done."""
    search = carve(tree, geometry, table, tools, targets, bounds, counters, memory)
    x = search.vectors[X]
    while counters[STATUS] == RUNNING and counters[PHASE] != ENDED:
        if counters[PHASE] != STEP:
            if counters[PHASE] == BEGIN:
                counters[ATTEMPT_ITERATIONS] = 0
                evaluate_here(search)
                differentiate_here(search)
            start(search)
            counters[PHASE], counters[RESUMED] = STEP, 0
            keep_best(search)
        elif iterations > 0:
            iterations -= 1
            counters[ITERATIONS] += 1
            counters[ATTEMPT_ITERATIONS] += 1
            copy_to(x, search.vectors[BEFORE])
            if counters[DISTURBED] > 0:
                update(search.p, x, search.rows[TRIAL_RESIDUAL])
                counters[DISTURBED] = 0
            if step(search):
                differentiate_here(search)
                keep_best(search)
            see_whether_it_is_over(search)
        else:
            return


@inner
def see_whether_it_is_over(search: SearchArrays) -> None:
    """Note how the attempt ended here, if it did; at a stationary point that is to be seen."""
    counters, ended = search.counters, RUNNING
    if at_stationary_point(search):
        ended = CLOSEST
    elif _stands_still(search):
        ended = STALLED
    elif counters[ATTEMPT_ITERATIONS] >= search.options[MAX_ITERATIONS]:
        ended = EXHAUSTED
    if ended != RUNNING:
        counters[PHASE], counters[ENDED_BY] = ENDED, ended


@inner
def keep_best(search: SearchArrays) -> None:
    """Keep x if it is the best so far, which it passes; be done where it is a solution."""
    if search.counters[STATUS] == RUNNING and is_solved(search):
        search.counters[STATUS] = REACHED
        keep_if_better(search, REACHED)
    else:
        keep_if_better(search, RUNNING)


@inner
def keep_if_better(search: SearchArrays, status: int) -> None:
    """Keep x, where an attempt has this status, if it is better than the best so far."""
    values, vectors = search.values, search.vectors
    if is_better(values[COST], status, values[BEST_COST], int(values[BEST_STATUS])):
        values[BEST_COST], values[BEST_STATUS] = values[COST], status
        copy_to(vectors[X], vectors[BEST])


@inner
def _stands_still(search: SearchArrays) -> bool:
    largest = moved = 0.0
    for j in range(search.vectors.shape[1]):
        x = search.vectors[X, j]
        largest = max(largest, abs(x))
        moved = max(moved, abs(x - search.vectors[BEFORE, j]))
    least = STANDSTILL * (1.0 + largest)
    return stands_still(moved, least, largest, search.options[RELATIVE_CHANGE])


@inner
def _begin(search: SearchArrays) -> None:
    """Begin the first attempt at the start, put inside the limits."""
    vectors = search.vectors
    rules.put_inside(vectors[START], search.bounds)
    copy_to(vectors[START], vectors[BEST])
    copy_to(vectors[START], vectors[X])
    search.counters[PHASE] = BEGIN
    search.values[BEST_COST] = np.inf
    search.values[BEST_STATUS] = RUNNING


@inner
def _end_attempt(search: SearchArrays) -> None:
    """After an attempt: it goes on from a lower point, or another begins, or there is none."""
    counters, ended = search.counters, search.counters[ENDED_BY]
    if ended == CLOSEST:
        ended = leave_or_conclude(search)
        if ended == RUNNING:
            differentiate_here(search)
            keep_best(search)
            counters[PHASE] = MOVED
            if counters[ATTEMPT_ITERATIONS] >= search.options[MAX_ITERATIONS]:
                ended = EXHAUSTED
    if ended != RUNNING and counters[STATUS] == RUNNING:
        next_attempt(search, ended)


@inner
def next_attempt(search: SearchArrays, ended: int) -> None:
    """After an attempt: restart, or end with the best."""
    counters, values, vectors = search.counters, search.values, search.vectors
    keep_if_better(search, ended)
    if counters[ATTEMPT] < search.options[RESTARTS]:
        counters[ATTEMPT] += 1
        counters[PHASE] = BEGIN
        lower, upper, seed = search.bounds[2], search.bounds[3], int(search.options[SEED])
        random_configuration(seed, counters[ATTEMPT], lower, upper, vectors[X])
        put_inside(search, vectors[X])
    elif values[BEST_STATUS] != RUNNING:
        counters[STATUS] = int(values[BEST_STATUS])
    else:
        # Where the best was only passed, that this attempt ended at a closest point says nothing
        # of it.
        counters[STATUS] = STALLED if ended == CLOSEST else ended


@inner
def _conclude(search: SearchArrays) -> None:
    """The answer: the best point, the nearest such turns, judged again; as `Search.finish`."""
    counters, values, vectors = search.counters, search.values, search.vectors
    answer, evaluations = vectors[ANSWER], counters[EVALUATIONS]
    turned = take_answer(vectors[BEST], vectors[START], search.bounds, answer)
    values[ANSWER_COST] = evaluate(search, answer, search.rows[TRIAL_RESIDUAL])
    is_reached, stays = within_tolerances(search), True
    if counters[STATUS] == CLOSEST and not is_reached and turned:
        copy_to(answer, vectors[X])
        copy_to(search.rows[TRIAL_RESIDUAL], search.rows[RESIDUAL])
        values[COST] = values[ANSWER_COST]
        differentiate_here(search)
        stays = at_stationary_point(search)
    status = answer_status(counters[STATUS], is_reached, stays)
    counters[ANSWER_STATUS] = FAILED if counters[STATUS] == FAILED else status
    counters[EVALUATIONS], counters[DISTURBED] = evaluations, 1


@njit
def settle(
    tree: IntArray,
    geometry: Array,
    table: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    counters: IntArray,
    memory: Array,
) -> int:
    """Do what is due between the runs of a method's loop; the status of the answer, if it is
    concluded, or RUNNING."""
    search = carve(tree, geometry, table, tools, targets, bounds, counters, memory)
    if counters[PHASE] == NEW:
        _begin(search)
    elif counters[PHASE] == ENDED and counters[STATUS] == RUNNING:
        _end_attempt(search)
    if counters[STATUS] == RUNNING:
        return RUNNING
    _conclude(search)
    return counters[ANSWER_STATUS]


@njit
def conclude(
    tree: IntArray,
    geometry: Array,
    table: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    counters: IntArray,
    memory: Array,
) -> None:
    """Make an answer of the best so far; the search can go on afterwards."""
    search = carve(tree, geometry, table, tools, targets, bounds, counters, memory)
    if counters[PHASE] == NEW:
        _begin(search)
    _conclude(search)


# --- a method written in Python ----------------------------------------------------------------

STARTING, STEPPING = range(2)
"""What is wanted of it: counters[METHOD_WANTED]."""


@inner
def call_start(search: SearchArrays) -> None:
    """`start`, of a method whose `Callback` is counters[METHOD]."""
    _call(search, STARTING)


@inner
def call_step(search: SearchArrays) -> bool:
    """`step`, of a method whose `Callback` is counters[METHOD]; it moves x."""
    _call(search, STEPPING)
    if search.counters[STATUS] != RUNNING:
        return False
    evaluate_here(search)
    return True


@inner
def _call(search: SearchArrays, wanted: int) -> None:
    search.counters[METHOD_WANTED] = wanted
    if call_back(search.counters[METHOD]) != 0:
        search.counters[STATUS] = FAILED
