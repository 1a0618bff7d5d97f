"""What `schedule` writes its decisions to, and what it hands on by the names of their parts."""

from __future__ import annotations

from typing import NamedTuple

from ..._jit import inlined, matrix_in
from ...maths.lanes import numbers_of
from ...maths.rotations import Array, IntArray
from . import crew as own
from .crew import Crew

# The board, a column for each lane or desk: at which desk a lane works (NOWHERE: a first attempt
# needs none), at which attempt (there: at which problem's), and how it goes; which problem is on a
# desk (-1: none), and how many attempts of it were begun. In the first column: how many problems
# were put aside, how many of these it is known of where their first restart begins, how many have
# got a desk.
DESK, NUMBER, STATE, PROBLEM, BEGUN, PUT, KNOWN, TAKEN = range(8)
BOARD = 8
NOWHERE = -1
# states of a lane; those that are over wait for earlier attempts
IDLE, AT_WORK, OVER, THERE = range(4)


class Desks(NamedTuple):
    """The arrays of D searches; geometries, targets, counters, memories are each one's own."""

    tree: IntArray
    geometries: Array
    table: IntArray
    tools: Array
    targets: Array
    bounds: Array
    counters: IntArray
    memories: Array


class Given(NamedTuple):
    """What differs from problem to problem, see `search.solve_each`."""

    frozen: IntArray
    angles: Array
    targets: Array
    starts: Array
    near: Array
    seeds: IntArray


class Found(NamedTuple):
    """What is filled, see `search.solve_each`."""

    points: Array
    costs: Array
    errors: Array
    codes: IntArray


class Elsewhere(NamedTuple):
    """What it takes to begin restarts elsewhere than at random, see `begins_elsewhere`."""

    plan: IntArray
    numbers: Array
    room: Array


class Aside(NamedTuple):
    """Problems whose first attempts are over: `which` (C,); and for as many, in the same order,
    `targets` (C, 12), `starts` and, where first restarts begin, `points` (C, variables)."""

    which: IntArray
    targets: Array
    starts: Array
    points: Array


def aside_size(count: int, variables: int) -> int:
    """How many numbers it takes for so many problems, beside `which`."""
    return count * (12 + 2 * variables)


@inlined
def aside_in(which: IntArray, notes: Array, n: int) -> Aside:
    """What is aside, of C problems with n variables, in a memory (aside_size,)."""
    count = which.shape[0]
    return Aside(
        which,
        matrix_in(notes, 0, count, 12),
        matrix_in(notes, 12 * count, count, n),
        matrix_in(notes, (12 + n) * count, count, n),
    )


@inlined
def clear(board: IntArray) -> None:
    """Leave nothing on the board."""
    board[PUT, 0] = board[KNOWN, 0] = board[TAKEN, 0] = 0
    for lane in range(board.shape[1]):
        board[STATE, lane], board[PROBLEM, lane] = IDLE, -1


@inlined
def begin_in_lane(crew: Crew, board: IntArray, lane: int, place: int, number: int) -> None:
    """Have a lane begin an attempt at its x."""
    values = numbers_of(crew.values)
    board[DESK, lane], board[NUMBER, lane], board[STATE, lane] = place, number, AT_WORK
    values[own.RUNS, lane] = values[own.FRESH, lane] = 1.0
    values[own.COST, lane] = values[own.NU, lane] = values[own.GROWTH, lane] = 1.0


@inlined
def free(crew: Crew, board: IntArray, lane: int) -> None:
    """A lane has nothing to do."""
    values = numbers_of(crew.values)
    board[STATE, lane], values[own.RUNS, lane] = IDLE, 0.0
