"""The loop: `run_search` goes on with a search, `conclude` makes an answer of it; `solve_each`
does many, without lanes.

Each of them takes a problem's arrays and the search's own, eight in all (`memory.search_arrays`):
as one tuple of arrays, numba would need three times as long to take them.
"""

from __future__ import annotations

from ..._jit import inlined, inner, njit
from ...maths.boxed_step import bounded_step, cap_step, damping_factor, predicted_decrease
from ...maths.linalg import bounded_newton_step
from ...maths.rotations import Array, IntArray
from ...maths.vectors import copy_to, differ
from ...optim.memory import FOREVER
from ...robot.kinematics import OFFSET
from ...robot.limits import take_nearest_turns
from .attempts import begin, begin_attempt, is_hopeless, is_over, next_attempt, turned_round
from .beginnings import begins_elsewhere, choose_beginning
from .memory import (
    ANSWER,
    ANSWER_COST,
    ANSWER_STATUS,
    ATTEMPT,
    ATTEMPT_ITERATIONS,
    BEGIN,
    BEST,
    BEST_COST,
    CLOSEST,
    COST,
    DX,
    EVALUATIONS,
    FIRST,
    FOLLOWING,
    GRADIENT,
    GROWTH,
    HELD,
    ITERATIONS,
    LEAVING,
    MAX_STEP,
    NEW,
    NU,
    PHASE,
    REACHED,
    RUNNING,
    SEED,
    STAGNANT,
    STALLED,
    START,
    STATUS,
    TRIAL,
    WEIGHED,
    SearchArrays,
    X,
    carve,
)
from .model import (
    ROUNDING,
    SMALLEST_DAMPING,
    SMALLEST_MOVE,
    at_stationary_point,
    cost_at,
    differentiate,
    is_solved,
    model_hessian,
    modelled_decrease,
    take_step,
    true_hessian,
    within_tolerances,
)
from .saddles import SADDLE_TRIALS, find_descent, find_descent_inside, leave_saddle

DONE = -1
"""Returned in the place of a problem's number by what solves many, once all are solved."""


@inlined
def choose_first(search: SearchArrays, plan: IntArray, numbers: Array, room: Array) -> None:
    """FIRST = where the first attempt at a target begins, for the start START."""
    starts, points = search.vectors[START : START + 1], search.vectors[FIRST : FIRST + 1]
    choose_beginning(plan, numbers, search.p.targets, starts, 0, 1, room, points)


@inner
def run_search(
    tree: IntArray,
    geometry: Array,
    table: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    counters: IntArray,
    memory: Array,
    plan: IntArray,
    everywhere: Array,
    room: Array,
    iterations: int,
    attempts: int,
) -> int:
    """Begin a search at FIRST, or go on with it: at most so many iterations, or until so many
    attempts were left; return its status.

    When that is not RUNNING, the answer is concluded. everywhere: the numbers for the first
    restart, see `begins_elsewhere`; plan is of length 0 where that is a random one.

    Takes few arrays: handing on all parts of a search by their names costs more.
    """
    search = carve(tree, geometry, table, tools, targets, bounds, counters, memory)
    if counters[PHASE] == NEW:
        begin(search)
    while counters[STATUS] == RUNNING:
        if counters[PHASE] == BEGIN:
            first_restart = counters[ATTEMPT] == 1 and counters[FOLLOWING] == 0
            elsewhere = first_restart and begins_elsewhere(search, plan, everywhere, room)
            if counters[ATTEMPT] >= attempts and not elsewhere:
                return RUNNING
            begin_attempt(search)
        elif iterations > 0:
            iterations -= 1
            _iterate(search)
        else:
            return RUNNING
    conclude_search(search)
    return int(counters[ANSWER_STATUS])


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
        begin(search)
    conclude_search(search)


@inlined
def _iterate(search: SearchArrays) -> None:
    """Try a step, judge it, and see whether the attempt is over."""
    counters, values = search.counters, search.values
    gradient, dx = search.vectors[GRADIENT], search.vectors[DX]
    counters[ITERATIONS] += 1
    counters[ATTEMPT_ITERATIONS] += 1
    # A residual that stays large makes Gauss-Newton slow; then the exact Hessian is worth it.
    exact = counters[FOLLOWING] > 0 and counters[STAGNANT] >= 2
    given = exact or search.options[WEIGHED] > 0.0
    if counters[LEAVING] > 0:
        leave_saddle(search)
    elif given:
        model_hessian(search, exact)
        bounded_newton_step(
            search.hessian,
            gradient,
            values[NU] * values[COST],
            search.vectors[X],
            search.bounds,
            dx,
            search.vectors[HELD],
            search.normal,
            search.rhs,
        )
    else:
        bounded_step(
            search.columns,
            search.residual,
            gradient,
            values[NU] * values[COST],
            search.vectors[X],
            search.bounds,
            dx,
            search.vectors[HELD],
            search.loose,
            search.normal,
            search.rhs,
        )
    if counters[LEAVING] == 0:
        cap_step(dx, search.options[MAX_STEP])
    if given:
        decrease = modelled_decrease(search.hessian, gradient, dx)
    else:
        decrease = predicted_decrease(search.columns, gradient, dx)
    largest = take_step(search.vectors[X], dx, search.bounds, search.vectors[TRIAL])
    cost = cost_at(search, search.vectors[TRIAL], search.trial_residual)
    counters[EVALUATIONS] += 1
    ended = _judge(search, cost, decrease, largest)
    if counters[STATUS] == RUNNING and is_over(search, ended) and not turned_round(search):
        next_attempt(search, ended)


@inlined
def _judge(search: SearchArrays, cost: float, decrease: float, largest: float) -> int:
    """Take the trial point or leave it; how the attempt ends here, or RUNNING."""
    counters, values = search.counters, search.values
    if cost < values[COST]:
        drop = values[COST] - cost
        values[NU] *= damping_factor(drop, decrease)
        values[GROWTH] = 2.0
        values[COST] = cost
        copy_to(search.vectors[TRIAL], search.vectors[X])
        copy_to(search.trial_residual, search.residual)
        counters[LEAVING] = 0
        if is_solved(search):
            counters[STATUS] = REACHED
            return REACHED
        differentiate(search)
        if is_hopeless(search, drop):
            return STALLED
        ended = CLOSEST if at_stationary_point(search) else RUNNING
    elif counters[LEAVING] > 0:
        counters[LEAVING] += 1
        if counters[LEAVING] % SADDLE_TRIALS != 1:
            return RUNNING
        if counters[LEAVING] > 2 * SADDLE_TRIALS or find_descent(search, 1):
            return STALLED
        return RUNNING if find_descent_inside(search) else CLOSEST
    elif abs(decrease) < ROUNDING * values[COST]:
        ended = CLOSEST  # what is left to gain is below the rounding of the cost
    elif largest > SMALLEST_MOVE:
        values[NU] = max(values[NU], SMALLEST_DAMPING) * values[GROWTH]
        values[GROWTH] *= 2.0
        return RUNNING
    else:
        ended = CLOSEST if at_stationary_point(search) else STALLED
    if ended == CLOSEST and counters[FOLLOWING] > 0:
        true_hessian(search)
        if find_descent(search, 0):
            counters[LEAVING] = 1
            return RUNNING
    return ended


@inlined
def conclude_search(search: SearchArrays) -> None:
    """The answer: the best point, the nearest such turns, judged again; as `Search.finish`."""
    counters, values, vectors = search.counters, search.values, search.vectors
    ended = counters[STATUS] != RUNNING
    best = X if ended or values[COST] <= values[BEST_COST] else BEST
    answer = vectors[ANSWER]
    copy_to(vectors[START if counters[EVALUATIONS] == 0 else best], answer)
    take_nearest_turns(
        answer, vectors[START], search.bounds[0], search.bounds[1], search.bounds[4]
    )
    status = counters[STATUS]
    counters[ANSWER_STATUS], values[ANSWER_COST] = status, values[COST]
    if status == REACHED and not differ(answer, vectors[X]):
        return  # as judged just now
    values[ANSWER_COST] = cost_at(search, answer, search.trial_residual)
    if within_tolerances(search):
        status = REACHED
    elif status == REACHED:  # lost to rounding in the last digit of a tolerance
        status = STALLED
    elif status == CLOSEST and differ(answer, search.vectors[X]):
        # a limit that held the closest point may hold it no more a whole turn away
        copy_to(answer, search.vectors[X])
        copy_to(search.trial_residual, search.residual)
        values[COST] = values[ANSWER_COST]
        differentiate(search)
        status = CLOSEST if at_stationary_point(search) else STALLED
    counters[ANSWER_STATUS] = status


@njit
def solve_each(
    tree: IntArray,
    geometry: Array,
    table: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    counters: IntArray,
    memory: Array,
    plan: IntArray,
    everywhere: Array,
    room: Array,
    frozen: IntArray,
    angles: Array,
    own_targets: Array,
    starts: Array,
    near: Array,
    seeds: IntArray,
    first: int,
    last: int,
    answers: Array,
    costs: Array,
    errors: Array,
    codes: IntArray,
    begins: bool,
    steps: int,
) -> int:
    """Solve the problems first..last-1 of N with one memory, each as a single solve does, in at
    most so many iterations; return DONE, or which problem is `first` in the call that continues.

    plan, everywhere, room: see `run_search`. What differs from problem to problem:
    frozen (F,), angles (N, F) : the bodies of joints that stand still, and where they stand
    own_targets (N, G, 12), starts (N, variables), seeds (N,)
    near (N, variables) : next to which turn an answer should be, as a rule the starts
    begins : False to continue

    What is filled: answers (N, variables), costs (N,), errors (N, G, 2), and codes (N, 4): status,
    iterations, evaluations, restarts.
    """
    search = carve(tree, geometry, table, tools, targets, bounds, counters, memory)
    for i in range(first, last):
        if begins or i > first:
            open_problem(
                search, geometry, targets, frozen, angles, own_targets, starts, near, seeds, i
            )
        before = counters[ITERATIONS]
        status = run_search(
            tree, geometry, table, tools, targets, bounds, counters, memory, plan, everywhere,
            room, steps, FOREVER,
        )  # fmt: skip
        steps -= counters[ITERATIONS] - before
        if status == RUNNING:
            return i
        hand_in(search, i, answers, costs, errors, codes)
    return DONE


@inlined
def open_problem(
    search: SearchArrays,
    geometry: Array,
    targets: Array,
    frozen: IntArray,
    angles: Array,
    own_targets: Array,
    starts: Array,
    near: Array,
    seeds: IntArray,
    i: int,
) -> None:
    """Begin the search with problem i of those of `solve_each`."""
    for k in range(frozen.shape[0]):
        geometry[frozen[k], OFFSET] = angles[i, k]
    for g in range(targets.shape[0]):
        copy_to(own_targets[i, g], targets[g])
    for k in range(search.counters.shape[0]):
        search.counters[k] = 0
    search.options[SEED] = seeds[i]
    copy_to(starts[i], search.vectors[FIRST])
    begin(search)
    copy_to(near[i], search.vectors[START])  # for the turns of the answer


@inlined
def hand_in(
    search: SearchArrays, i: int, answers: Array, costs: Array, errors: Array, codes: IntArray
) -> None:
    """Fill what `solve_each` fills for problem i, of a search that is concluded."""
    counters = search.counters
    copy_to(search.vectors[ANSWER], answers[i])
    costs[i] = search.values[ANSWER_COST]
    for g in range(errors.shape[1]):
        copy_to(search.p.errors[g], errors[i, g])
    codes[i, 0], codes[i, 1] = counters[ANSWER_STATUS], counters[ITERATIONS]
    codes[i, 2], codes[i, 3] = counters[EVALUATIONS], counters[ATTEMPT]
