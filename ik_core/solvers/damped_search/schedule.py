"""Which lane makes which attempt of which problem: `solve_many`, all problems of a batch.

Every problem that is under way has a *desk*: the memory of a search of its own, as `search` knows
it, which pools attempts, draws restarts and concludes. A lane that is free takes the first
attempt of the next problem; where there is none left, the next restart of a problem that is
under way. So a single problem has its restarts side by side.

The answer is that of attempts made one after the other: those that are over wait in their lanes
until all earlier ones are, and of those that reach the goals the earliest counts. Neither the
number of lanes nor that of threads changes a result. Problems that no attempt solves go on at
their desk alone (`search.run_search`).
"""

from __future__ import annotations

from ..._jit import inlined, njit
from ...maths.lanes import LANES, in_lanes, numbers_of
from ...maths.rotations import Array, IntArray
from ...optim.memory import FOREVER
from ...robot.kinematics import OFFSET
from ...robot.limits import random_configuration
from . import crew as own
from .attempts import next_attempt, turned_round
from .beginnings import begins_elsewhere
from .crew import Crew, crew_of, step
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
from .search import conclude_search, hand_in, open_problem, run_search

# The board, a column for each lane or desk: where a lane works, at which attempt, and how it goes;
# which problem is on a desk (-1: none), and how many attempts of it were begun.
DESK, NUMBER, STATE, PROBLEM, BEGUN = range(5)
BOARD = 5
# states of a lane; those that are over wait for earlier attempts
IDLE, AT_WORK, OVER, THERE = range(4)

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
) -> None:
    """Solve the problems first..last-1 of N, each as a single solve does.

    For L lanes, and D desks, at most as many: geometries (D, K, 14), targets (D, G, 12), counters
    (D, COUNTERS), memories (D, size) as of `search`; crew_memory (crew_size, L), with the geometry
    in it; board (BOARD, L). The rest is as in `search.solve_each`. What is on the board already is
    gone on with: a search whose first attempts were made elsewhere. Afterwards it is empty.
    """
    rows, options = row_count(table), memories[0, :OPTIONS]
    crew = crew_of(tree, table, tools, bounds, options, rows, lanes_of(crew_memory))
    while True:
        at_work = 0
        for lane in range(board.shape[1]):
            if board[STATE, lane] == IDLE:
                place = _place(board, lane, counters, first < last, int(options[RESTARTS]))
                if place < 0:
                    values = numbers_of(crew.values)
                    values[own.RUNS, lane] = 0.0
                    continue
                search = carve_rows(
                    tree, geometries[place], table, tools, targets[place], bounds,
                    counters[place], memories[place], rows,
                )  # fmt: skip
                if board[PROBLEM, place] < 0:
                    open_problem(
                        search, geometries[place], targets[place], frozen, angles, own_targets,
                        starts, near, seeds, first,
                    )  # fmt: skip
                    board[PROBLEM, place], board[BEGUN, place] = first, 0
                    first += 1
                number = board[BEGUN, place]
                if number > 1 or (
                    number == 1 and not begins_elsewhere(search, plan, everywhere, room)
                ):
                    _begin_at_random(search, number)
                _send(crew, board, lane, place, search, frozen)
            at_work += 1 if board[STATE, lane] == AT_WORK else 0
        if at_work == 0:
            return
        there = over = 0
        while there | over == 0:
            there, over = step(crew)
        for lane in range(board.shape[1]):
            if (there | over) >> lane & 1 == 0 or board[STATE, lane] != AT_WORK:
                continue
            place = board[DESK, lane]
            search = carve_rows(
                tree, geometries[place], table, tools, targets[place], bounds, counters[place],
                memories[place], rows,
            )  # fmt: skip
            if not _stops(crew, board, lane, search, (there >> lane) & 1):
                continue
            ended = _settle(crew, board, lane, place, search)
            if ended == RUNNING:
                continue
            if ended == STALLED:  # no attempt reached the goals
                run_search(
                    tree, geometries[place], table, tools, targets[place], bounds,
                    counters[place], memories[place], plan, everywhere, room, FOREVER, FOREVER,
                )  # fmt: skip
            else:
                conclude_search(search)
            hand_in(search, board[PROBLEM, place], answers, costs, errors, codes)
            board[PROBLEM, place] = -1


@inlined
def _place(board: IntArray, lane: int, counters: IntArray, more: bool, restarts: int) -> int:
    """The desk whose next attempt a free lane makes; -1: none.

    One that has no lane, else a free one where there are more problems, else that with the fewest
    attempts so far. The lane's last one is as good as any, and looked at first.
    """
    before = board[DESK, lane]
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
    number, x = board[BEGUN, place], search.vectors[X]
    board[BEGUN, place] += 1
    board[DESK, lane], board[NUMBER, lane], board[STATE, lane] = place, number, AT_WORK
    geometry, targets = numbers_of(crew.p.geometry), numbers_of(crew.p.targets)
    vectors, values = numbers_of(crew.vectors), numbers_of(crew.values)
    for k in range(frozen.shape[0]):
        geometry[frozen[k], OFFSET, lane] = search.p.geometry[frozen[k], OFFSET]
    for g in range(targets.shape[0]):
        for i in range(12):
            targets[g, i, lane] = search.p.targets[g, i]
    for j in range(x.shape[0]):
        vectors[own.X, j, lane] = x[j]
    values[own.RUNS, lane] = values[own.FRESH, lane] = 1.0
    values[own.COST, lane] = values[own.NU, lane] = values[own.GROWTH, lane] = 1.0


@inlined
def _stops(crew: Crew, board: IntArray, lane: int, search: SearchArrays, there: int) -> bool:
    """Note how an attempt ended; False where a joint was turned round, and it goes on."""
    vectors, values = numbers_of(crew.vectors), numbers_of(crew.values)
    if there == 0:
        _bring_slopes(crew, lane, search)
        if turned_round(search):
            for j in range(vectors.shape[1]):
                vectors[own.X, j, lane] = search.vectors[X, j]
            values[own.NU, lane], values[own.GROWTH, lane] = search.values[NU], 2.0
            values[own.STAGNANT, lane] = 0.0
            return False
    else:
        _call_off(board, lane)
    board[STATE, lane] = THERE if there != 0 else OVER
    values[own.RUNS, lane] = 0.0
    return True


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
