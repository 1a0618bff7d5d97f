"""The solution in closed form that is nearest to a start, eight problems at once: a kernel.

For chains that `regular` knows; a pose that is near a double solution or a singularity is left to
others, as there, and one that is a hair beyond a limit, for which a joint would go round. Of seven
joints one is held, at its start's value or, where that has no solution inside the limits, at the
next one outwards that has. Of longer chains the joints before and behind those that are solved
for, the *others*, stay at their starts.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import inner, njit
from ..maths.lanes import bits, floor, in_lanes, most, select, wave
from ..maths.rotations import Array, Frame, IntArray, compose, frame_at
from ..robot.limits import TURN
from .cores import inverse, turn_about
from .judging import HALF
from .regular import error_at_start, set_branches, solve_lanes
from .slots import (
    BRANCHES,
    COLUMN,
    DISTANCE,
    HELD,
    HELD_TURN,
    HELD_VALUE,
    JOINTS,
    LOWER,
    MARGIN,
    MOST_JOINTS,
    NEAR,
    NONE,
    NUMBERS,
    OFFSET,
    PLACE,
    POSES,
    ROWS,
    SIGN,
    SLOTS,
    START,
    TARGET,
    UPPER,
    WHOLES,
    WIDTH,
    X,
)

VALUES = 8
"""Steps from end to end of the held joint's range, or of a turn, where that is less: as many
values as there are lanes. Where none of them has a solution those in between are tried."""
OTHERS, SLIDES, REACH = NUMBERS, MARGIN, MARGIN
"""Rows of a plan's numbers behind those of `plans`: the others, those before the joints that are
solved for with axes in the root's frame, those behind them in the goal's; the column that says
which are prismatic. In the second joint's row: how far the first one's goal may be [m]."""
BEFORE, BEHIND, COLUMNS = WHOLES, WHOLES + 1, WHOLES + 2
"""Of a plan's whole numbers: how many others there are before and behind, and their variables."""
PROBLEM, VALUE = ROWS, ROWS + 1
"""Rows of the memory: the problem of a lane (-1: none), and which value of its held joint."""
ROOM = ROWS + 2

_in_lanes = in_lanes[WIDTH]


@njit
def nearest_solutions(
    plan: IntArray,
    numbers: Array,
    targets: Array,
    starts: Array,
    first: int,
    last: int,
    memory: Array,
    points: Array,
) -> None:
    """Fill points (N, variables) for the problems first..last-1 of N: the solution that is nearest
    to the start, or, without one, the start inside the limits.

    targets (N, 12), starts (N, variables). memory (ROOM, WIDTH). plan, numbers: see `plans`, with
    the variables as columns, and `beginning`; starts that miss the target by no more than its NEAR
    [m, rad] stay, or, where that is below 0, those that miss it by more. The answers do not depend
    on what else is in 0..N-1.
    """
    lanes, one, following = _in_lanes(memory), last - first == 1, first
    ways = BRANCHES if one else POSES
    _mark(plan, numbers, targets, starts, first, last, memory, points)
    set_branches(memory, ways)
    while True:
        if one:
            busy = _begin_one(plan, numbers, memory, ways, points, first)
        else:
            busy = 0
            for lane in range(WIDTH):
                if memory[PROBLEM, lane] < 0.0:
                    while following < last and not math.isnan(points[following, plan[COLUMN]]):
                        following += 1
                    if following == last:
                        continue
                    _load(plan, numbers, targets, starts, following, lane, memory)
                    memory[PROBLEM, lane], memory[VALUE, lane] = following, 0.0
                    following += 1
                busy += 1
        if busy == 0:
            return
        doubt = _solve(plan, numbers, lanes, ways)
        if not one:
            _end_many(plan, numbers, memory, doubt, points)
        elif _has_ended(plan, memory, doubt, ways, busy, points, first):
            return
        elif ways == BRANCHES:
            ways = POSES
            set_branches(memory, ways)


@inner
def _mark(
    plan: IntArray,
    numbers: Array,
    targets: Array,
    starts: Array,
    first: int,
    last: int,
    memory: Array,
    points: Array,
) -> None:
    """points = starts inside the limits, with a NaN where a solution is wanted. No lane works."""
    for begin in range(first, last, WIDTH):
        for lane in range(WIDTH):
            _load(plan, numbers, targets, starts, min(begin + lane, last - 1), lane, memory)
        far = _are_far(plan, numbers, _in_lanes(memory))
        for lane in range(min(WIDTH, last - begin)):
            _keep_start(plan, memory, lane, points, begin + lane)
            _keep_others(plan, numbers, starts, points, begin + lane)
            if (far >> lane) & 1:
                points[begin + lane, plan[COLUMN]] = np.nan
    for lane in range(WIDTH):
        memory[PROBLEM, lane], memory[VALUE, lane] = -1.0, 0.0


@inner
def _begin_one(
    plan: IntArray, numbers: Array, memory: Array, ways: int, points: Array, i: int
) -> int:
    """Give the lanes, which have the only problem, its next values to hold; return how many."""
    if ways == BRANCHES:
        return 1 if math.isnan(points[i, plan[COLUMN]]) else 0
    count, value = 0, int(memory[VALUE, WIDTH - 1])
    while count < WIDTH and _hold_next(plan, numbers, memory, count, value):
        value = int(memory[VALUE, count])
        count += 1
    memory[VALUE, WIDTH - 1] = value
    if count == 0:
        _keep_start(plan, memory, 0, points, i)
    return count


@inner
def _has_ended(
    plan: IntArray, memory: Array, doubt: int, ways: int, busy: int, points: Array, i: int
) -> bool:
    """Whether the only problem has a solution, which is taken, among its branches or values."""
    if ways == BRANCHES:
        best = 0
        for lane in range(1, WIDTH):
            if memory[DISTANCE, lane] < memory[DISTANCE, best]:
                best = lane
        if doubt != 0 or not memory[DISTANCE, best] < NONE:
            return False
        _take(plan, memory, 0, best, points, i)
        return True
    for lane in range(busy):
        slot = _nearest_slot(memory, lane, doubt)
        if slot >= 0:
            _take(plan, memory, slot, lane, points, i)
            return True
    return False


@inner
def _end_many(plan: IntArray, numbers: Array, memory: Array, doubt: int, points: Array) -> None:
    """Take the solutions that there are; other problems get their next value to hold, if any."""
    for lane in range(WIDTH):
        i = int(memory[PROBLEM, lane])
        if i < 0:
            continue
        slot = _nearest_slot(memory, lane, doubt)
        if slot >= 0:
            _take(plan, memory, slot, lane, points, i)
        elif _hold_next(plan, numbers, memory, lane, int(memory[VALUE, lane])):
            continue
        else:
            _keep_start(plan, memory, lane, points, i)
        memory[PROBLEM, lane] = -1.0


@inner
def _load(
    plan: IntArray,
    numbers: Array,
    targets: Array,
    starts: Array,
    i: int,
    lane: int,
    memory: Array,
) -> None:
    """A lane of TARGET, START, and HELD_VALUE, for problem i."""
    target = frame_at(targets, i)
    if plan[BEFORE] + plan[BEHIND] > 0:
        target = _without_others(plan, numbers, starts, i, target)
    for c in range(12):
        memory[TARGET + c, lane] = target[c]
    for j in range(plan[JOINTS]):
        x = starts[i, plan[COLUMN + j]]
        x = min(max(x, numbers[j, LOWER]), numbers[j, UPPER])
        memory[START + j, lane] = x
        if plan[PLACE + j] < 0:
            memory[HELD_VALUE, lane] = numbers[j, SIGN] * x + numbers[j, OFFSET]


@inner
def _without_others(plan: IntArray, numbers: Array, starts: Array, i: int, target: Frame) -> Frame:
    """Where the goal's frame has to be brought if the others stood at 0, not at their starts."""
    before = plan[BEFORE]
    for k in range(before):
        target = compose(inverse(_motion_of_other(plan, numbers, starts, i, k)), target)
    for k in range(before + plan[BEHIND] - 1, before - 1, -1):
        target = compose(target, inverse(_motion_of_other(plan, numbers, starts, i, k)))
    return target


@inner
def _motion_of_other(plan: IntArray, numbers: Array, starts: Array, i: int, k: int) -> Frame:
    row = OTHERS + k
    value = numbers[row, SIGN] * _start_of_other(plan, numbers, starts, i, k)
    axis = numbers[row, 0], numbers[row, 1], numbers[row, 2]
    point = numbers[row, 3], numbers[row, 4], numbers[row, 5]
    return turn_about(axis, point, value + numbers[row, OFFSET], int(numbers[row, SLIDES]))


@inner
def _start_of_other(plan: IntArray, numbers: Array, starts: Array, i: int, k: int) -> float:
    x, row = starts[i, plan[COLUMNS + k]], OTHERS + k
    return min(max(x, numbers[row, LOWER]), numbers[row, UPPER])


@inner
def _are_far(plan: IntArray, numbers: Array, lanes: Array) -> int:
    """The lanes, as bits, whose start does not stay, and whose target is not out of reach."""
    error, near = error_at_start(plan, numbers, lanes), numbers[0, NEAR]
    far = bits(error > near) if near >= 0.0 else bits(error <= -near)
    if plan[BEFORE] + plan[BEHIND] == 0:
        return far
    away = 0.0 * lanes[TARGET]
    for k in range(3):
        gap = lanes[TARGET + 9 + k] - numbers[0, 3 + k]
        away = away + gap * gap
    return far & bits(away <= numbers[1, REACH] * numbers[1, REACH])


@inner
def _solve(plan: IntArray, numbers: Array, lanes: Array, ways: int) -> int:
    """See `regular.solve_lanes`, for HELD_VALUE; and what is turned round is in doubt."""
    if plan[HELD] >= 0:
        turn = wave(lanes[HELD_VALUE])
        lanes[HELD_TURN], lanes[HELD_TURN + 1] = turn[0], turn[1]
    doubt = solve_lanes(plan, numbers, lanes, ways)
    return doubt | _turned_round(plan, numbers, lanes, ways)


@inner
def _turned_round(plan: IntArray, numbers: Array, lanes: Array, ways: int) -> int:
    """The lanes, as bits, where a limit has a joint go round by a whole turn for next to nothing.

    Unturned it is beyond that limit by no more than the margin: at the limit the goal may be
    reached, too, within its tolerance.
    """
    around = 0.0 * lanes[TARGET]
    for slot in range(ways * ways * ways):
        apart = 0.0 * around
        for j in range(plan[JOINTS]):
            apart = most(apart, abs(lanes[X + MOST_JOINTS * slot + j] - lanes[START + j]))
        far = (lanes[DISTANCE + slot] < NONE) & (apart > 0.5 * TURN)
        if bits(far) == 0:
            continue
        for j in range(plan[JOINTS]):
            x = lanes[X + MOST_JOINTS * slot + j]
            turns = floor((lanes[START + j] - x) * (1.0 / TURN) + HALF)
            x = x + TURN * turns
            beyond = most(numbers[j, LOWER] - x, x - numbers[j, UPPER])
            near = far & (abs(turns) > 0.5) & (beyond <= numbers[0, MARGIN])
            around = select(near, 1.0, around)
    return bits(around > 0.5)


@inner
def _hold_next(plan: IntArray, numbers: Array, memory: Array, lane: int, value: int) -> bool:
    """Hold the joint of a lane at the value after this one; False where there is none.

    In turns below and above the start's, a step further each time; then half a step nearer, but
    not where there are others: for these, solutions are less likely.
    """
    hold = plan[HELD]
    if hold < 0:
        return False
    here, lower, upper = memory[START + hold, lane], numbers[hold, LOWER], numbers[hold, UPPER]
    step, turns = min(upper - lower, TURN) / VALUES, upper - lower >= TURN
    last = 2 * VALUES if plan[BEFORE] + plan[BEHIND] > 0 else 4 * VALUES
    while value < last:
        value += 1
        gap = step * ((value + 1) // 2)
        if value > 2 * VALUES:
            gap = step * ((value + 1) // 2 - VALUES - 0.5)
        x = here - gap if value % 2 == 1 else here + gap
        if gap <= 0.5 * TURN if turns else lower <= x <= upper:  # further on they come again
            memory[HELD_VALUE, lane] = numbers[hold, SIGN] * x + numbers[hold, OFFSET]
            memory[VALUE, lane] = value
            return True
    return False


@inner
def _nearest_slot(memory: Array, lane: int, doubt: int) -> int:
    """The slot of a lane with the nearest solution; -1 without any, or in doubt."""
    if (doubt >> lane) & 1:
        return -1
    best = 0
    for slot in range(1, SLOTS):
        if memory[DISTANCE + slot, lane] < memory[DISTANCE + best, lane]:
            best = slot
    return best if memory[DISTANCE + best, lane] < NONE else -1


@inner
def _take(plan: IntArray, memory: Array, slot: int, lane: int, points: Array, i: int) -> None:
    for j in range(plan[JOINTS]):
        points[i, plan[COLUMN + j]] = memory[X + MOST_JOINTS * slot + j, lane]


@inner
def _keep_start(plan: IntArray, memory: Array, lane: int, points: Array, i: int) -> None:
    for j in range(plan[JOINTS]):
        points[i, plan[COLUMN + j]] = memory[START + j, lane]


@inner
def _keep_others(plan: IntArray, numbers: Array, starts: Array, points: Array, i: int) -> None:
    for k in range(plan[BEFORE] + plan[BEHIND]):
        points[i, plan[COLUMNS + k]] = _start_of_other(plan, numbers, starts, i, k)
