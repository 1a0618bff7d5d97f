"""Which lane makes which attempt of which problem: `solve_many`, all problems of a batch.

A lane that is free takes the first attempt of the next problem: target and start go from the
arrays of the batch into the lane, and where the attempt reaches the goals the answer from the lane
into those. A problem whose first attempt does not is put *aside*, with where it ended, until all
first attempts are made or under way.

Then it gets a *desk*: the memory of a search of its own, as `search` knows it, which pools
attempts, draws restarts and concludes. Where all have theirs, a lane that is free takes the next
restart of a problem that is under way. So a single problem has its restarts side by side.

The answer is that of attempts made one after the other: those that are over wait in their lanes
until all earlier ones are, and of those that reach the goals the earliest counts. Neither the
number of lanes nor that of threads changes a result. Problems that no attempt solves go on at
their desk alone (`search.run_search`). A call makes a limited number of steps, and the next one
continues: Python can look at its signals in between.
"""

from __future__ import annotations

from ..._jit import inlined, njit
from ...maths.lanes import LANES, in_lanes, numbers_of
from ...maths.rotations import Array, IntArray
from ...maths.vectors import copy_to
from ...optim.memory import FOREVER
from ...robot.kinematics import OFFSET
from ...robot.limits import random_configuration
from . import crew as own
from .attempts import next_attempt, turned_round
from .beginnings import are_apart, begins_elsewhere, choose_beginning
from .board import (
    AT_WORK,
    BEGUN,
    DESK,
    IDLE,
    KNOWN,
    NOWHERE,
    NUMBER,
    OVER,
    PROBLEM,
    PUT,
    STATE,
    TAKEN,
    THERE,
    Aside,
    Desks,
    Elsewhere,
    Found,
    Given,
    aside_in,
    begin_in_lane,
    clear,
    free,
)
from .crew import Crew, crew_of, step
from .first_attempts import begin_first, end_first, put_aside
from .memory import (
    ATTEMPT,
    ATTEMPT_ITERATIONS,
    COST,
    EVALUATIONS,
    FOLLOWING,
    GRADIENT,
    ITERATIONS,
    NU,
    OPTIONS,
    REACHED,
    RESTARTS,
    RUNNING,
    SEED,
    SQUARES,
    STALLED,
    STATUS,
    SearchArrays,
    X,
    carve_rows,
    row_count,
)
from .search import DONE, conclude_search, hand_in, open_problem, run_search

lanes_of = in_lanes[LANES]


@njit
def solve_many(
    tree: IntArray,
    geometries: Array,
    table: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    counters: IntArray,
    memories: Array,
    crew_memory: Array,
    board: IntArray,
    plan: IntArray,
    everywhere: Array,
    room: Array,
    aside: IntArray,
    notes: Array,
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
    """Solve the problems first..last-1 of N, each as a single solve does, in at most so many steps
    of all lanes; return DONE, or which problem is `first` in the call that continues.

    For L lanes, and D desks, at most as many: geometries (D, K, 14), targets (D, G, 12), counters
    (D, COUNTERS), memories (D, size) as of `search`; crew_memory (crew_size, L), with the geometry
    in it; board (BOARD, L); aside (C,) and notes (aside_size,), for all problems. The rest is as
    in `search.solve_each`. Unless `begins`, what is on the board is continued: what a call before
    left there, or a search whose first attempts were made elsewhere.
    """
    rows = row_count(table)
    desks = Desks(tree, geometries, table, tools, targets, bounds, counters, memories)
    given = Given(frozen, angles, own_targets, starts, near, seeds)
    elsewhere = Elsewhere(plan, everywhere, room)
    found = Found(answers, costs, errors, codes)
    kept = aside_in(aside, notes, bounds.shape[1])
    crew = crew_of(tree, table, tools, bounds, memories[0, :OPTIONS], rows, lanes_of(crew_memory))
    if begins:
        clear(board)
    while True:
        steps = _follow(board, desks, rows, elsewhere, found, steps)
        if steps <= 0:
            return first
        at_work = 0
        for lane in range(board.shape[1]):
            if board[STATE, lane] == IDLE and first < last:
                begin_first(crew, board, lane, given, first)
                first += 1
            elif board[STATE, lane] == IDLE:
                _begin_at_desk(crew, board, lane, desks, rows, given, elsewhere, kept, found)
            at_work += 1 if board[STATE, lane] == AT_WORK else 0
        if at_work == 0:
            return DONE
        there = over = 0
        while there | over == 0 and steps > 0:
            there, over = step(crew)
            steps -= 1
        for lane in range(board.shape[1]):
            if (there | over) >> lane & 1 == 0 or board[STATE, lane] != AT_WORK:
                continue
            place, reached = board[DESK, lane], (there >> lane) & 1 != 0
            if place == NOWHERE and reached:
                end_first(crew, board, lane, given, kept, found)
                continue
            search = _search_at(desks, rows, max(place, 0))
            if not reached and _turns_round(crew, lane, search):
                continue
            if place == NOWHERE:
                put_aside(crew, board, lane, STALLED, kept, found)
            else:
                _see_to(crew, board, lane, reached, search, found)


@inlined
def _search_at(desks: Desks, rows: int, place: int) -> SearchArrays:
    """The search at a desk."""
    return carve_rows(
        desks.tree,
        desks.geometries[place],
        desks.table,
        desks.tools,
        desks.targets[place],
        desks.bounds,
        desks.counters[place],
        desks.memories[place],
        rows,
    )


# --- What is aside gets a desk -------------------------------------------------------------------


@inlined
def _begin_at_desk(
    crew: Crew,
    board: IntArray,
    lane: int,
    desks: Desks,
    rows: int,
    given: Given,
    elsewhere: Elsewhere,
    aside: Aside,
    found: Found,
) -> None:
    """Give a lane the next attempt of a problem that has, or now gets, a desk, if there is one."""
    waits = board[TAKEN, 0] < board[PUT, 0]
    place = _place(board, lane, desks.counters, waits, int(crew.options[RESTARTS]))
    if place < 0:
        free(crew, board, lane)
        return
    search = _search_at(desks, rows, place)
    if board[PROBLEM, place] < 0:
        _open_next(board, place, desks, search, given, elsewhere, aside, found)
    else:
        number = board[BEGUN, place]
        if number > 1 or (
            number == 1
            and not begins_elsewhere(search, elsewhere.plan, elsewhere.numbers, elsewhere.room)
        ):
            _begin_at_random(search, number)
    _send(crew, board, lane, place, search, given.frozen)


@inlined
def _open_next(
    board: IntArray,
    place: int,
    desks: Desks,
    search: SearchArrays,
    given: Given,
    elsewhere: Elsewhere,
    aside: Aside,
    found: Found,
) -> None:
    """Put the next problem that is aside on a desk, with x where its next attempt begins."""
    k = board[TAKEN, 0]
    if k == board[KNOWN, 0]:
        _look_elsewhere(board, given, elsewhere, aside)
    board[TAKEN, 0] += 1
    i = aside.which[k]
    open_problem(
        search, desks.geometries[place], desks.targets[place], given.frozen, given.angles,
        given.targets, given.starts, given.near, given.seeds, i,
    )  # fmt: skip
    counters, x, steps = search.counters, search.vectors[X], found.codes[i, 1]
    board[PROBLEM, place] = i
    copy_to(found.points[i], x)
    counters[ITERATIONS] = counters[EVALUATIONS] = counters[ATTEMPT_ITERATIONS] = steps
    if found.codes[i, 0] == REACHED:
        board[BEGUN, place] = 0  # to be made again, from where it ended: one more evaluation
        return
    board[BEGUN, place] = 1
    counters[EVALUATIONS] += 1
    search.values[COST] = found.costs[i]
    next_attempt(search, STALLED)
    if elsewhere.plan.shape[0] > 0 and are_apart(aside.starts[k], aside.points[k]):
        copy_to(aside.points[k], x)


@inlined
def _look_elsewhere(board: IntArray, given: Given, elsewhere: Elsewhere, aside: Aside) -> None:
    """Find where the first restarts of the problems begin that came aside since the last time."""
    which, plan = aside.which, elsewhere.plan
    known, put = board[KNOWN, 0], board[PUT, 0]
    board[KNOWN, 0] = put
    if plan.shape[0] == 0:
        return
    for k in range(known, put):
        copy_to(given.targets[which[k], 0], aside.targets[k])
        copy_to(given.starts[which[k]], aside.starts[k])
    choose_beginning(
        plan, elsewhere.numbers, aside.targets, aside.starts, known, put, elsewhere.room,
        aside.points,
    )  # fmt: skip


@inlined
def _place(board: IntArray, lane: int, counters: IntArray, more: bool, restarts: int) -> int:
    """The desk whose next attempt a free lane makes; -1: none.

    One that has no lane, else a free one where there are more problems, else that with the fewest
    attempts so far. The lane's last one is as good as any, and looked at first.
    """
    before = max(board[DESK, lane], 0)
    if board[PROBLEM, before] < 0:
        if more:
            return before
    elif board[BEGUN, before] == counters[before, ATTEMPT]:
        return before
    found, fewest = -1, restarts + 1
    for place in range(counters.shape[0]):
        begun = board[BEGUN, place]
        if board[PROBLEM, place] < 0:
            if more and fewest > 0:
                found, fewest = place, 0
        elif begun == counters[place, ATTEMPT]:
            return place
        elif begun < fewest:
            found, fewest = place, begun
    return found


@inlined
def _begin_at_random(search: SearchArrays, number: int) -> None:
    """x = where a restart begins."""
    seed, bounds = int(search.options[SEED]), search.bounds
    random_configuration(seed, number, bounds[2], bounds[3], search.vectors[X])


@inlined
def _send(
    crew: Crew, board: IntArray, lane: int, place: int, search: SearchArrays, frozen: IntArray
) -> None:
    """Have a lane begin the next attempt of a desk's problem, at x."""
    number = board[BEGUN, place]
    board[BEGUN, place] += 1
    copy_to_lane(crew, lane, search, frozen)
    begin_in_lane(crew, board, lane, place, number)


@inlined
def copy_to_lane(crew: Crew, lane: int, search: SearchArrays, frozen: IntArray) -> None:
    """Have the problem of a search, and its x, in a lane; with the bodies that stand still."""
    geometry, targets = numbers_of(crew.p.geometry), numbers_of(crew.p.targets)
    vectors = numbers_of(crew.vectors)
    for k in range(frozen.shape[0]):
        geometry[frozen[k], OFFSET, lane] = search.p.geometry[frozen[k], OFFSET]
    for g in range(targets.shape[0]):
        for c in range(12):
            targets[g, c, lane] = search.p.targets[g, c]
    for j in range(vectors.shape[1]):
        vectors[own.X, j, lane] = search.vectors[X, j]


# --- Attempts that are over ----------------------------------------------------------------------


@inlined
def _turns_round(crew: Crew, lane: int, search: SearchArrays) -> bool:
    """Whether a joint of an attempt is turned round, so that it goes on; the search is scratch."""
    vectors, values = numbers_of(crew.vectors), numbers_of(crew.values)
    _bring_slopes(crew, lane, search)
    if not turned_round(search):
        return False
    for j in range(vectors.shape[1]):
        vectors[own.X, j, lane] = search.vectors[X, j]
    values[own.NU, lane], values[own.GROWTH, lane] = search.values[NU], 2.0
    values[own.STAGNANT, lane] = 0.0
    return True


@inlined
def _see_to(
    crew: Crew,
    board: IntArray,
    lane: int,
    reached: bool,
    search: SearchArrays,
    found: Found,
) -> None:
    """Handle a finished attempt of a problem that has a desk, and the problem if it is solved."""
    place = board[DESK, lane]
    _stop(crew, board, lane, reached)
    if _settle(crew, board, lane, place, search) == REACHED:
        conclude_search(search)
        _leave_desk(board, place, search, found)


@inlined
def _leave_desk(board: IntArray, place: int, search: SearchArrays, found: Found) -> None:
    """Write the result of a concluded search, and free its desk."""
    hand_in(search, board[PROBLEM, place], found.points, found.costs, found.errors, found.codes)
    board[PROBLEM, place] = -1


@inlined
def _follow(
    board: IntArray, desks: Desks, rows: int, elsewhere: Elsewhere, found: Found, steps: int
) -> int:
    """Finish the searches of which no attempt reached the goals, in at most so many iterations;
    return how many of these are left."""
    for place in range(desks.counters.shape[0]):
        counters = desks.counters[place]
        attempts_left = counters[FOLLOWING] == 0 and counters[STATUS] == RUNNING
        if board[PROBLEM, place] < 0 or attempts_left:
            continue
        before = counters[ITERATIONS]
        status = run_search(
            desks.tree, desks.geometries[place], desks.table, desks.tools, desks.targets[place],
            desks.bounds, counters, desks.memories[place], elsewhere.plan,
            elsewhere.numbers, elsewhere.room, steps, FOREVER,
        )  # fmt: skip
        steps -= counters[ITERATIONS] - before
        if status == RUNNING:
            return 0
        _leave_desk(board, place, _search_at(desks, rows, place), found)
    return steps


@inlined
def _stop(crew: Crew, board: IntArray, lane: int, reached: bool) -> None:
    """Note how an attempt ended; it waits for earlier ones, and later ones are not needed."""
    values = numbers_of(crew.values)
    if reached:
        _call_off(board, lane)
    board[STATE, lane] = THERE if reached else OVER
    values[own.RUNS, lane] = 0.0


@inlined
def _call_off(board: IntArray, lane: int) -> None:
    """End, and begin no more of, the attempts that are later than one that reached the goals."""
    place, number = board[DESK, lane], board[NUMBER, lane]
    if board[BEGUN, place] > number + 1:
        for other in range(board.shape[1]):
            if board[DESK, other] == place and board[NUMBER, other] > number:
                board[STATE, other] = IDLE
    board[BEGUN, place] = FOREVER


@inlined
def _bring(crew: Crew, lane: int, search: SearchArrays) -> None:
    """Copy to a desk where an attempt of its problem stands."""
    vectors, values = numbers_of(crew.vectors), numbers_of(crew.values)
    for j in range(vectors.shape[1]):
        search.vectors[X, j] = vectors[own.X, j, lane]
    search.values[COST] = values[own.COST, lane]
    search.counters[ATTEMPT_ITERATIONS] = int(values[own.STEPS, lane])


@inlined
def _bring_slopes(crew: Crew, lane: int, search: SearchArrays) -> None:
    """The same, with what tells whether a joint is held."""
    _bring(crew, lane, search)
    vectors = numbers_of(crew.vectors)
    for j in range(vectors.shape[1]):
        search.vectors[GRADIENT, j] = vectors[own.GRADIENT, j, lane]
        search.vectors[SQUARES, j] = vectors[own.SQUARES, j, lane]


@inlined
def _settle(crew: Crew, board: IntArray, lane: int, place: int, search: SearchArrays) -> int:
    """See to the attempts that are over, in their order, as far as there are no gaps, once that
    of a lane is.

    REACHED, with the search as it was there; STALLED where no attempt is left; else RUNNING.
    """
    counters = search.counters
    if board[NUMBER, lane] != counters[ATTEMPT]:
        return RUNNING
    while lane >= 0:
        _bring(crew, lane, search)
        counters[ITERATIONS] += counters[ATTEMPT_ITERATIONS]
        counters[EVALUATIONS] += counters[ATTEMPT_ITERATIONS] + 1
        there = board[STATE, lane] == THERE
        board[STATE, lane] = IDLE
        if there:  # the later ones were called off
            errors = numbers_of(crew.p.errors)
            for g in range(errors.shape[0]):
                search.p.errors[g, 0] = errors[g, 0, lane]
                search.p.errors[g, 1] = errors[g, 1, lane]
            counters[STATUS] = REACHED
            return REACHED
        next_attempt(search, STALLED)
        if counters[FOLLOWING] > 0 or counters[STATUS] != RUNNING:
            return STALLED
        lane = _waiting(board, place, counters[ATTEMPT])
    return RUNNING


@inlined
def _waiting(board: IntArray, place: int, number: int) -> int:
    """The lane with an attempt that is over; -1: that attempt is not."""
    for lane in range(board.shape[1]):
        mine = board[DESK, lane] == place and board[NUMBER, lane] == number
        if mine and board[STATE, lane] >= OVER:
            return lane
    return -1
