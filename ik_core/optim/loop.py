# SPDX-License-Identifier: Apache-2.0
"""The compiled loop that methods share, and the work between their attempts.

A method is two kernels, which `method_loop` puts into a loop of its own:

    start(search)            set the method's state, at x, which is evaluated
    step(search) -> bool     one iteration: move x, evaluate there last; False if x stays

When a step begins, `residual`, `columns`, `gradient`, `cost`, frames and errors are those at x,
and x is inside the limits. A step that returns True leaves x inside the limits, with cost,
residual, frames and errors at x; the loop then differentiates. A step that returns False leaves x,
cost and residual as they were.

The loop runs until an attempt is over, or its iterations are. `settle` then does the work that is
the same for all methods, and rare: it begins the search, leaves stationary points that are no
minima, begins other attempts, and concludes. It is compiled once for all of them.

All rules are those of the default solver, one function each in `rules`: inside the limits, within
tolerance, solved, stationary, clamped at a limit, curved downwards, stalled, best so far, status
of an answer; whole turns of an answer are in `robot.limits`. Two loops apply them, this one and
`solvers.damped_search.run` with its `decide`, since the order in which they apply them differs:

- A step here evaluates as often as it needs to (line searches, sweeps over joints, central
  differences) and decides itself which point it keeps. There, `evaluate` makes one point in every
  lane, and `decide` keeps it or goes back.
- The cost may rise here, as it does in the papers' methods, so every point passed may be the best
  one. There it never rises, so the best point of an attempt is its last.
- Attempts are made here one after the other, each to its end, with the papers' counts of
  iterations. There, several run at a time, those that stagnate are left, and the best of them are
  followed to their ends later.
- Steps off a saddle are evaluations here, no iterations, and linear constraints may replace the
  limits (`constrained`). There, each is the step of a lane.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .. import rules
from ..kernels.jit import call_back, kernel, placeholder, with_kernels
from ..maths.vectors import copy_to
from ..robot.limits import random_configuration, write_answer
from ..rules import (
    CLOSEST,
    EXHAUSTED,
    FAILED,
    REACHED,
    RUNNING,
    STALLED,
    answer_status,
    has_stalled,
    is_better,
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
from .layouts import BEGIN, ENDED, MOVED, NEW, STEP, Record, goals_of, search_at
from .second_order import leave_or_conclude

# An iteration that moves no variable by more than this, relative to |x| + 1, ends the attempt.
STANDSTILL = 1e-12

Kernel = Callable[..., Any]


# Placeholders for the method's kernels; each copy of the loop below substitutes them.
start = step = placeholder


@cache
def method_loop(name: str, start: Kernel, step: Kernel) -> Kernel:
    """Return the loop around a method's kernels, an entry: (address, most iterations)."""
    return loop_of(name, start, step, f'ik_run_{name}')


def loop_of(name: str, start: Kernel, step: Kernel, entry: str = '') -> Kernel:
    """Return the loop around a method's kernels; entry : its symbol if it is an entry."""
    made: Kernel = with_kernels(_run, f'run_{name}', entry, start=start, step=step)
    return made


def _run(address: int, iterations: int) -> None:
    """Continue the attempt until it is over, for at most this many iterations."""
    search = search_at(address)
    x = search.x
    while search.status == RUNNING and search.phase != ENDED:
        if search.phase != STEP:
            if search.phase == BEGIN:
                search.attempt_iterations = 0
                evaluate_here(search)
                differentiate_here(search)
            start(search)
            search.phase, search.resumed = STEP, 0
            keep_best(search)
        elif iterations > 0:
            iterations -= 1
            search.iterations += 1
            search.attempt_iterations += 1
            copy_to(x, search.before)
            if search.disturbed > 0:
                update(goals_of(search), x, search.trial_residual)
                search.disturbed = 0
            if step(search):
                differentiate_here(search)
                keep_best(search)
            check_end_of_attempt(search)
        else:
            return


@kernel
def check_end_of_attempt(search: Record) -> None:
    """Set `ended_by` if the attempt has ended at x; `settle` checks stationary points later."""
    ended = RUNNING
    if at_stationary_point(search):
        ended = CLOSEST
    elif _has_stalled(search):
        ended = STALLED
    elif search.attempt_iterations >= search.problem.max_iterations:
        ended = EXHAUSTED
    if ended != RUNNING:
        search.phase, search.ended_by = ENDED, ended


@kernel
def keep_best(search: Record) -> None:
    """Keep x if it is the best point so far; end the search if it is a solution."""
    if search.status == RUNNING and is_solved(search):
        search.status = REACHED
        keep_if_better(search, REACHED)
    else:
        keep_if_better(search, RUNNING)


@kernel
def keep_if_better(search: Record, status: int) -> None:
    """Keep x, with this status of the attempt, if it is better than the best point so far."""
    if is_better(search.cost, status, search.best_cost, search.best_status):
        search.best_cost, search.best_status = search.cost, status
        copy_to(search.x, search.best)


@kernel
def _has_stalled(search: Record) -> bool:
    largest = moved = 0.0
    for j in range(search.joints):
        x = search.x[j]
        largest = max(largest, abs(x))
        moved = max(moved, abs(x - search.before[j]))
    least = STANDSTILL * (1.0 + largest)
    return has_stalled(moved, least, largest, search.problem.relative_change)


@kernel
def _begin(search: Record) -> None:
    """Begin the first attempt at the start, moved inside the limits."""
    rules.put_inside(search.start, search.problem.bounds)
    copy_to(search.start, search.best)
    copy_to(search.start, search.x)
    search.phase = BEGIN
    search.best_cost = np.inf
    search.best_status = RUNNING


@kernel
def _end_attempt(search: Record) -> None:
    """End an attempt: continue from a lower point, begin another, or stop."""
    ended = search.ended_by
    if ended == CLOSEST:
        ended = leave_or_conclude(search)
        if ended == RUNNING:
            differentiate_here(search)
            keep_best(search)
            search.phase = MOVED
            if search.attempt_iterations >= search.problem.max_iterations:
                ended = EXHAUSTED
    if ended != RUNNING and search.status == RUNNING:
        next_attempt(search, ended)


@kernel
def next_attempt(search: Record, ended: int) -> None:
    """Restart after an attempt, or end with the best."""
    keep_if_better(search, ended)
    if search.attempt < search.problem.restarts:
        search.attempt += 1
        search.phase = BEGIN
        lower, upper = search.problem.bounds[2], search.problem.bounds[3]
        random_configuration(search.seed, search.attempt, lower, upper, search.x)
        put_inside(search, search.x)
    elif search.best_status != RUNNING:
        search.status = search.best_status
    else:
        # the best point was only passed: that this attempt ended at a closest point does not
        # make it one
        search.status = STALLED if ended == CLOSEST else ended


@kernel
def _conclude(search: Record) -> None:
    """Make the answer, as `Search.finish` does: evaluate the best point at the nearest turns."""
    answer, evaluations = search.answer, search.evaluations
    turned = write_answer(search.best, search.start, search.problem.bounds, answer)
    search.answer_cost = evaluate(search, answer, search.trial_residual)
    is_reached, stays = within_tolerances(search), True
    if search.status == CLOSEST and not is_reached and turned:
        copy_to(answer, search.x)
        copy_to(search.trial_residual, search.residual)
        search.cost = search.answer_cost
        differentiate_here(search)
        stays = at_stationary_point(search)
    status = answer_status(search.status, is_reached, stays)
    search.answer_status = FAILED if search.status == FAILED else status
    search.evaluations, search.disturbed = evaluations, 1


@kernel(entry='ik_loop_settle')
def settle(address: int) -> int:
    """Do the work between the runs of a method's loop.

    Returns RUNNING, or the status of the answer, once the search has concluded.
    """
    search = search_at(address)
    if search.phase == NEW:
        _begin(search)
    elif search.phase == ENDED and search.status == RUNNING:
        _end_attempt(search)
    if search.status == RUNNING:
        return RUNNING
    _conclude(search)
    return search.answer_status


@kernel(entry='ik_loop_conclude')
def conclude(address: int) -> None:
    """Make an answer of the best point so far; the search can continue afterwards."""
    search = search_at(address)
    if search.phase == NEW:
        _begin(search)
    _conclude(search)


# --- a method written in Python ----------------------------------------------------------------

# Values of `method_wanted`: the callback starts the method, or takes a step.
STARTING, STEPPING = range(2)


@kernel
def call_start(search: Record) -> None:
    """Start a method written in Python, by its callback."""
    _call(search, STARTING)


@kernel
def call_step(search: Record) -> bool:
    """Call the step of a method written in Python, which moves x; return False if it ended."""
    _call(search, STEPPING)
    if search.status != RUNNING:
        return False
    evaluate_here(search)
    return True


@kernel
def _call(search: Record, wanted: int) -> None:
    search.method_wanted = wanted
    if call_back(search.method) != 0:
        search.status = FAILED


# The loop of all methods that are written in Python.
run_python = method_loop('python', call_start, call_step)
