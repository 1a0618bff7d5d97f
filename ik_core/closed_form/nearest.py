# SPDX-License-Identifier: Apache-2.0
"""The closed-form solution nearest to a start, for eight problems at once: a kernel.

If a solution violates a limit by a hair, so that a joint would go round, the pose is left to other
searches. The redundant joint of seven keeps its start value or, if that has no solution inside the
limits, gets the next value outwards that has one. In longer chains the joints before and behind
those that are solved for, the *others*, keep their start values.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.jit import kernel
from ..kernels.signatures import Array2, IntArray1
from ..maths.lanes import bits, floor, in_lanes, most, select
from ..maths.rotations import Array, Frame, IntArray, compose, frame_at, in_axes
from ..maths.vectors import minus, times
from ..robot.limits import FULL_TURN
from . import records as rec
from .formulas import rotated
from .kernel import (
    BRANCHES,
    EXACT,
    HALF,
    POSES,
    error_at_start,
    passes_of,
    set_free,
    set_signs,
    solve_lanes,
)
from .records import axis_at, point_at, result_at

# Values over the range of the redundancy parameter, or over a turn if that is less: one in each
# lane. If none of them has a solution, those in between are tried.
LANE_VALUES = 8
# Rows of the workspace: the problem of a lane (-1: none), and the number of values tried for it.
PROBLEM, TRIED = rec.ROWS, rec.ROWS + 1
SCRATCH_ROWS = rec.ROWS + 2

_in_lanes = in_lanes[rec.WIDTH]


@kernel(entry='ik_nearest_solutions')
def nearest_solutions(
    plan: IntArray1,
    numbers: Array2,
    targets: Array2,
    starts: Array2,
    first: int,
    last: int,
    memory: Array2,
    points: Array2,
) -> None:
    """Fill points (N, variables) for problems first..last-1 of N with the solution nearest to the
    start; without one, with the start, inside the limits.

    targets (N, 12), starts (N, variables). memory (SCRATCH_ROWS, WIDTH). plan, numbers: those of
    `records`, with the variables as columns. Starts that miss the target by at most STAYS [m, rad]
    are kept; if STAYS is negative, those that miss it by more than -STAYS. The answers do not
    depend on the other problems.
    """
    one, following = last - first == 1, first
    spread = BRANCHES if one else POSES
    _mark(plan, numbers, targets, starts, first, last, memory, points)
    set_signs(plan, memory, spread)
    set_free(plan, numbers, memory, math.nan)
    while True:
        if one:
            busy = _begin_one(plan, numbers, memory, spread, points, first)
        else:
            busy = 0
            for lane in range(rec.WIDTH):
                if memory[PROBLEM, lane] < 0.0:
                    while following < last and not math.isnan(points[following, plan[rec.COLUMN]]):
                        following += 1
                    if following == last:
                        continue
                    _load(plan, numbers, targets, starts, following, lane, memory)
                    memory[PROBLEM, lane], memory[TRIED, lane] = following, 0.0
                    following += 1
                busy += 1
        if busy == 0:
            return
        doubt = _solve(plan, numbers, memory, spread)
        if not one:
            _end_many(plan, numbers, memory, doubt, points)
        elif _has_ended(plan, memory, doubt, spread, busy, points, first):
            return
        elif spread == BRANCHES:
            spread = POSES
            set_signs(plan, memory, spread)


@kernel
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
    """Set points to the starts, with a NaN if a solution is wanted; free all lanes."""
    for begin in range(first, last, rec.WIDTH):
        for lane in range(rec.WIDTH):
            _load(plan, numbers, targets, starts, min(begin + lane, last - 1), lane, memory)
        far = _are_far(plan, numbers, _in_lanes(memory))
        for lane in range(min(rec.WIDTH, last - begin)):
            _keep_start(plan, memory, lane, points, begin + lane)
            _keep_others(plan, numbers, starts, points, begin + lane)
            if (far >> lane) & 1:
                points[begin + lane, plan[rec.COLUMN]] = np.nan
    for lane in range(rec.WIDTH):
        memory[PROBLEM, lane], memory[TRIED, lane] = -1.0, 0.0


@kernel
def _begin_one(
    plan: IntArray, numbers: Array, memory: Array, spread: int, points: Array, i: int
) -> int:
    """Load the next values to try into the lanes, for a single problem; return their number."""
    if spread == BRANCHES:
        return 1 if math.isnan(points[i, plan[rec.COLUMN]]) else 0
    count, value = 0, int(memory[TRIED, rec.WIDTH - 1])
    while count < rec.WIDTH and _try_next(plan, numbers, memory, count, value):
        value = int(memory[TRIED, count])
        count += 1
    memory[TRIED, rec.WIDTH - 1] = value
    if count == 0:
        _keep_start(plan, memory, 0, points, i)
    return count


@kernel
def _has_ended(
    plan: IntArray, memory: Array, doubt: int, spread: int, busy: int, points: Array, i: int
) -> bool:
    """Write the solution of a single problem; return whether there is one."""
    if spread == BRANCHES:
        best, there = 0, -1
        for lane in range(rec.WIDTH):
            if _is_nearer(memory, result_at(0), lane, there, best):
                best, there = lane, result_at(0)
        if doubt != 0 or there < 0:
            return False
        _take(plan, memory, 0, best, points, i)
        return True
    for lane in range(busy):
        slot = _nearest_slot(plan, memory, lane, doubt)
        if slot >= 0:
            _take(plan, memory, slot, lane, points, i)
            return True
    return False


@kernel
def _end_many(plan: IntArray, numbers: Array, memory: Array, doubt: int, points: Array) -> None:
    """Write the solutions found; load the next value to try for the other problems, if any."""
    for lane in range(rec.WIDTH):
        i = int(memory[PROBLEM, lane])
        if i < 0:
            continue
        slot = _nearest_slot(plan, memory, lane, doubt)
        if slot >= 0:
            _take(plan, memory, slot, lane, points, i)
        elif _try_next(plan, numbers, memory, lane, int(memory[TRIED, lane])):
            continue
        else:
            _keep_start(plan, memory, lane, points, i)
        memory[PROBLEM, lane] = -1.0


@kernel
def _load(
    plan: IntArray,
    numbers: Array,
    targets: Array,
    starts: Array,
    i: int,
    lane: int,
    memory: Array,
) -> None:
    """Load GOAL, START and VALUE of problem i into a lane."""
    target = frame_at(targets, i)
    if plan[rec.BEFORE] + plan[rec.BEHIND] > 0:
        target = _without_others(plan, numbers, starts, i, target)
    for c in range(12):
        memory[rec.GOAL + c, lane] = target[c]
    for j in range(plan[rec.JOINTS]):
        x = starts[i, plan[rec.COLUMN + j]]
        x = min(max(x, numbers[j + 1, rec.LOWER]), numbers[j + 1, rec.UPPER])
        memory[rec.START + j, lane] = x
        if j == plan[rec.REDUNDANT_JOINT]:
            memory[rec.VALUE, lane] = x


@kernel
def _without_others(plan: IntArray, numbers: Array, starts: Array, i: int, target: Frame) -> Frame:
    """Return the goal's frame with the motions of the other joints taken off."""
    before = plan[rec.BEFORE]
    for k in range(before):
        target = compose(_inverse(_motion_of_other(plan, numbers, starts, i, k)), target)
    for k in range(before + plan[rec.BEHIND] - 1, before - 1, -1):
        target = compose(target, _inverse(_motion_of_other(plan, numbers, starts, i, k)))
    return target


@kernel
def _motion_of_other(plan: IntArray, numbers: Array, starts: Array, i: int, k: int) -> Frame:
    row = rec.OTHER + k
    value = numbers[row, rec.MULTIPLIER] * _start_of_other(plan, numbers, starts, i, k)
    value += numbers[row, rec.OFFSET]
    axis, point = axis_at(numbers, row), point_at(numbers, row)
    if numbers[row, rec.SLIDES] > 0.0:
        x, y, z = times(value, axis)
        return 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, x, y, z
    c, s = math.cos(value), math.sin(value)
    a = rotated(axis, c, s, (1.0, 0.0, 0.0))
    b = rotated(axis, c, s, (0.0, 1.0, 0.0))
    d = rotated(axis, c, s, (0.0, 0.0, 1.0))
    x, y, z = minus(point, rotated(axis, c, s, point))
    return a[0], b[0], d[0], a[1], b[1], d[1], a[2], b[2], d[2], x, y, z


@kernel
def _inverse(frame: Frame) -> Frame:
    a, b, c, d, e, f, g, h, i, _, _, _ = frame
    x, y, z = times(-1.0, in_axes(frame, (frame[9], frame[10], frame[11])))
    return a, d, g, b, e, h, c, f, i, x, y, z


@kernel
def _start_of_other(plan: IntArray, numbers: Array, starts: Array, i: int, k: int) -> float:
    x, row = starts[i, plan[rec.OTHERS + k]], rec.OTHER + k
    return min(max(x, numbers[row, rec.LOWER]), numbers[row, rec.UPPER])


@kernel
def _are_far(plan: IntArray, numbers: Array, lanes: Array) -> int:
    """Return a mask of the lanes whose start is not kept, and whose target is in reach."""
    error, near = error_at_start(plan, numbers, lanes), numbers[rec.SETTINGS, rec.STAYS]
    far = bits(error > near) if near >= 0.0 else bits(error <= -near)
    if plan[rec.BEFORE] + plan[rec.BEHIND] == 0:
        return far
    away = 0.0 * lanes[rec.GOAL]
    for k in range(3):
        gap = lanes[rec.GOAL + 9 + k] - numbers[rec.JUDGED, 9 + k]
        away = away + gap * gap
    return far & bits(away <= numbers[rec.SETTINGS, rec.REACH] * numbers[rec.SETTINGS, rec.REACH])


@kernel
def _solve(plan: IntArray, numbers: Array, memory: Array, spread: int) -> int:
    """Solve all lanes; return a mask of those whose result is in doubt, since joints go round."""
    solve_lanes(plan, numbers, memory, spread)
    return _turned_round(plan, numbers, _in_lanes(memory), passes_of(plan, spread))


@kernel
def _turned_round(plan: IntArray, numbers: Array, lanes: Array, slots: int) -> int:
    """Return a mask of the lanes in which a joint goes round by a whole turn because of a tiny
    limit violation.

    Without that turn it violates a limit by at most the margin: at the limit itself the goal may
    be reached within its tolerance.
    """
    around = 0.0 * lanes[rec.GOAL]
    for slot in range(slots):
        apart, at = 0.0 * around, result_at(slot)
        for j in range(plan[rec.JOINTS]):
            apart = most(apart, abs(lanes[at + j] - lanes[rec.START + j]))
        far = (lanes[at + rec.DISTANCE] < rec.NONE) & (apart > 0.5 * FULL_TURN)
        if bits(far) == 0:
            continue
        for j in range(plan[rec.JOINTS]):
            x = lanes[at + j]
            turns = floor((lanes[rec.START + j] - x) * (1.0 / FULL_TURN) + HALF)
            x = x + FULL_TURN * turns
            beyond = most(numbers[j + 1, rec.LOWER] - x, x - numbers[j + 1, rec.UPPER])
            near = far & (abs(turns) > 0.5) & (beyond <= numbers[rec.SETTINGS, rec.MARGIN])
            around = select(near, 1.0, around)
    return bits(around > 0.5)


@kernel
def _try_next(plan: IntArray, numbers: Array, memory: Array, lane: int, value: int) -> bool:
    """Set the redundancy parameter of a lane to the next value to try; return False after the
    last.

    Values alternate below and above that of the start, each pair a step further; then half a step
    nearer, unless there are joints that are not solved for: with these, solutions are rarer.
    """
    joint = plan[rec.REDUNDANT_JOINT]
    if joint < 0:
        return False
    here = memory[rec.START + joint, lane]
    lower, upper = numbers[joint + 1, rec.LOWER], numbers[joint + 1, rec.UPPER]
    step, turns = min(upper - lower, FULL_TURN) / LANE_VALUES, upper - lower >= FULL_TURN
    last = 2 * LANE_VALUES if plan[rec.BEFORE] + plan[rec.BEHIND] > 0 else 4 * LANE_VALUES
    while value < last:
        value += 1
        gap = step * ((value + 1) // 2)
        if value > 2 * LANE_VALUES:
            gap = step * ((value + 1) // 2 - LANE_VALUES - 0.5)
        x = here - gap if value % 2 == 1 else here + gap
        if gap <= 0.5 * FULL_TURN if turns else lower <= x <= upper:  # further on they come again
            memory[rec.VALUE, lane], memory[TRIED, lane] = x, value
            return True
    return False


@kernel
def _is_nearer(memory: Array, at: int, lane: int, there: int, beside: int) -> bool:
    """Return whether a result is a solution, and nearer than another result."""
    if not (memory[at + rec.DISTANCE, lane] < rec.NONE and memory[at + rec.ERROR, lane] <= EXACT):
        return False
    return there < 0 or memory[at + rec.DISTANCE, lane] < memory[there + rec.DISTANCE, beside]


@kernel
def _nearest_slot(plan: IntArray, memory: Array, lane: int, doubt: int) -> int:
    """Return the slot of a lane's nearest solution; -1 without one, or in doubt."""
    best, there = -1, -1
    if (doubt >> lane) & 1:
        return best
    for slot in range(passes_of(plan, POSES)):
        if _is_nearer(memory, result_at(slot), lane, there, lane):
            best, there = slot, result_at(slot)
    return best


@kernel
def _take(plan: IntArray, memory: Array, slot: int, lane: int, points: Array, i: int) -> None:
    for j in range(plan[rec.JOINTS]):
        points[i, plan[rec.COLUMN + j]] = memory[result_at(slot) + j, lane]


@kernel
def _keep_start(plan: IntArray, memory: Array, lane: int, points: Array, i: int) -> None:
    for j in range(plan[rec.JOINTS]):
        points[i, plan[rec.COLUMN + j]] = memory[rec.START + j, lane]


@kernel
def _keep_others(plan: IntArray, numbers: Array, starts: Array, points: Array, i: int) -> None:
    for k in range(plan[rec.BEFORE] + plan[rec.BEHIND]):
        points[i, plan[rec.OTHERS + k]] = _start_of_other(plan, numbers, starts, i, k)
