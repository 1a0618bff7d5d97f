"""One search, in one call or step by step: `run`.

What is around a call takes as long as many a solve, so a whole one is one call: the first attempt
alone, and what follows side by side in lanes. A step that is made alone takes less time than one
of all lanes, and most first attempts need few. One that needs more goes on in a lane, beside the
restarts that may have to follow it; which attempt gives the answer, and which answer, is the same
as if they were made one after the other.
"""

from __future__ import annotations

from ..._addresses import integers_at, numbers_at
from ..._jit import inlined, njit, with_kernels
from ...maths.lanes import LANES, in_lanes, numbers_of
from ...maths.rotations import Array, IntArray
from ...optim.memory import FOREVER
from . import crew as of_lanes
from .board import AT_WORK, BEGUN, DESK, NUMBER, PROBLEM, STATE, clear
from .crew import crew_of
from .memory import (
    ANSWER,
    ANSWER_COST,
    ANSWER_STATUS,
    ATTEMPT,
    ATTEMPT_ITERATIONS,
    COST,
    EVALUATIONS,
    FIRST,
    GRADIENT,
    GROWTH,
    ITERATIONS,
    MARK,
    NEW,
    NU,
    PHASE,
    RESTARTS,
    RUNNING,
    SQUARES,
    STAGNANT,
    START,
    STEP,
    SearchArrays,
    carve,
)
from .schedule import copy_to_lane, solve_many
from .search import choose_first, run_search

ALONE = 8
"""Iterations that are made alone."""
FEW = min(LANES, 4)
"""Lanes of a single solve. One of the first restarts reaches a goal as a rule, and eight lanes
take twice as long on processors whose registers are halved."""

lanes_of = in_lanes[FEW]
_source = getattr(solve_many, 'py_func', solve_many)
solve_few = with_kernels(_source, 'solve_few', lanes_of=lanes_of)


# what stands at which place of the table that `run` is given
TREE, GEOMETRY, TABLE, TOOLS, TARGETS, BOUNDS, COUNTERS, MEMORY = 0, 1, 2, 3, 4, 5, 6, 7
PLAN, NUMBERS, EVERYWHERE, ROOM, COLUMNS, FROZEN, CREW, BOARD = 8, 9, 10, 11, 12, 13, 14, 15

Outcome = tuple[int, float, int, int, int]
"""Status, cost, iterations, evaluations and restarts: what `IkResult` tells of a search."""


@njit
def run(arrays: IntArray, iterations: int, q: Array) -> Outcome:
    """Begin a search, or continue it, for at most so many iterations, those of all lanes at once
    counting as one.

    When the status is not RUNNING, the answer is concluded.

    arrays (16, 3) : a table of `Addresses`:
        the eight of every search, see `memory.search_arrays`
        PLAN, NUMBERS, ROOM: see `nearest_solutions`, which chooses where the first attempt begins;
        NUMBERS is of length 0 to begin at the start
        EVERYWHERE: the numbers for the first restart, see `begins_elsewhere`; PLAN is of length 0
        where that is a random one
        COLUMNS (variables,): which joints of the whole robot move
        FROZEN, CREW, BOARD: see `schedule.solve_many`, for one desk and FEW lanes; of no lanes
        where attempts are made one after the other
    q (n,) : begin anew at these joints of the whole robot, and fill COLUMNS of them with the
        answer, if it is found in this call; of length 0 for the search in the arrays, as it is
    """
    tree, geometry = integers_at(arrays, TREE), numbers_at(arrays, GEOMETRY)
    table, tools = integers_at(arrays, TABLE), numbers_at(arrays, TOOLS)
    targets, bounds = numbers_at(arrays, TARGETS), numbers_at(arrays, BOUNDS)
    counters, memory = integers_at(arrays, COUNTERS)[0], numbers_at(arrays, MEMORY)[0]
    plan, numbers = integers_at(arrays, PLAN)[0], numbers_at(arrays, NUMBERS)
    everywhere, room = numbers_at(arrays, EVERYWHERE), numbers_at(arrays, ROOM)
    columns = integers_at(arrays, COLUMNS)[0]
    search = carve(tree, geometry, table, tools, targets, bounds, counters, memory)
    vectors, board = search.vectors, integers_at(arrays, BOARD)
    beside = board.shape[1] > 0 and search.options[RESTARTS] > 0.0
    if q.shape[0] > 0:
        for k in range(counters.shape[0]):
            counters[k] = 0
        for j in range(columns.shape[0]):
            vectors[START, j] = vectors[FIRST, j] = q[columns[j]]
        if beside:
            clear(board)  # a search may have been interrupted
    if numbers.shape[0] > 0 and counters[PHASE] == NEW:
        choose_first(search, plan, numbers, room)
    status, shared = RUNNING, beside and board[PROBLEM, 0] >= 0
    if not shared:
        status = run_search(
            tree,
            geometry,
            table,
            tools,
            targets,
            bounds,
            counters,
            memory,
            plan,
            everywhere,
            room,
            ALONE if beside else iterations,
            1 if beside else FOREVER,
        )
        if beside and status == RUNNING:
            _share(search, integers_at(arrays, FROZEN)[0], numbers_at(arrays, CREW), board)
    if beside and status == RUNNING:
        status = _go_on_in_lanes(arrays, search, iterations)
    if status != RUNNING:
        for j in range(min(q.shape[0], columns.shape[0])):
            q[columns[j]] = vectors[ANSWER, j]
    # numbers of Python's where this is Python, too
    cost, iterations = float(search.values[ANSWER_COST]), int(counters[ITERATIONS])
    return int(status), cost, iterations, int(counters[EVALUATIONS]), int(counters[ATTEMPT])


@inlined
def _go_on_in_lanes(arrays: IntArray, search: SearchArrays, steps: int) -> int:
    """Continue a search for so many steps of all lanes; return its status."""
    p, counters, vectors = search.p, search.counters, search.vectors
    bodies, goals = p.tree.shape[0], p.table.shape[0]
    plan, frozen = integers_at(arrays, PLAN)[0], integers_at(arrays, FROZEN)[0]
    crew_memory, board = numbers_at(arrays, CREW), integers_at(arrays, BOARD)
    known = plan[: plan.shape[0] if counters[ATTEMPT] == 0 else 0]
    targets, nothing = p.targets.reshape(1, goals, 12), vectors[:0]
    solve_few(
        p.tree,
        p.geometry.reshape(1, bodies, 14),
        p.table,
        p.tools,
        targets,
        search.bounds,
        integers_at(arrays, COUNTERS),
        numbers_at(arrays, MEMORY),
        crew_memory,
        board,
        known,
        numbers_at(arrays, EVERYWHERE),
        numbers_at(arrays, ROOM),
        counters[:0],
        search.values[:0],
        frozen,
        nothing,
        targets[:0],
        nothing,
        nothing,
        counters[:0],
        0,
        0,
        # what is handed in is at its place already, but for the counts
        vectors[ANSWER : ANSWER + 1],
        search.values[ANSWER_COST : ANSWER_COST + 1],
        p.errors.reshape(1, goals, 2),
        board[BEGUN : BEGUN + 1],
        False,
        steps,
    )
    return int(counters[ANSWER_STATUS]) if board[PROBLEM, 0] < 0 else RUNNING


@inlined
def _share(search: SearchArrays, frozen: IntArray, crew_memory: Array, board: IntArray) -> None:
    """Put a search on the first desk; the attempt that is under way, if any, into lane 0."""
    counters = search.counters
    board[PROBLEM, 0], board[BEGUN, 0] = 0, counters[ATTEMPT]
    if counters[PHASE] != STEP:
        return
    board[BEGUN, 0] += 1
    board[DESK, 0], board[NUMBER, 0], board[STATE, 0] = 0, counters[ATTEMPT], AT_WORK
    rows = search.residual.shape[0]
    crew = crew_of(
        search.p.tree,
        search.p.table,
        search.p.tools,
        search.bounds,
        search.options,
        rows,
        lanes_of(crew_memory),
    )
    copy_to_lane(crew, 0, search, frozen)
    vectors, residual = numbers_of(crew.vectors), numbers_of(crew.residual)
    columns = numbers_of(crew.columns)
    for i in range(rows):
        residual[i, 0] = search.residual[i]
    for j in range(vectors.shape[1]):
        vectors[of_lanes.GRADIENT, j, 0] = search.vectors[GRADIENT, j]
        vectors[of_lanes.SQUARES, j, 0] = search.vectors[SQUARES, j]
        for i in range(rows):
            columns[j, i, 0] = search.columns[j, i]
    values = numbers_of(crew.values)
    values[of_lanes.COST, 0], values[of_lanes.MARK, 0] = search.values[COST], search.values[MARK]
    values[of_lanes.NU, 0], values[of_lanes.GROWTH, 0] = search.values[NU], search.values[GROWTH]
    values[of_lanes.STAGNANT, 0] = counters[STAGNANT]
    values[of_lanes.STEPS, 0] = counters[ATTEMPT_ITERATIONS]
    values[of_lanes.RUNS, 0], values[of_lanes.FRESH, 0] = 1.0, 0.0
    # they count where the attempt ends
    counters[ITERATIONS] -= counters[ATTEMPT_ITERATIONS]
    counters[EVALUATIONS] -= counters[ATTEMPT_ITERATIONS] + 1
