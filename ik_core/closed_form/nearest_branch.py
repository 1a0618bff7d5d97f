# SPDX-License-Identifier: Apache-2.0
"""The redundancy parameter with the solution nearest to a start: a kernel.

The start's own value is evaluated first, then values over the whole range, eight at a time,
outwards from there, until the redundant joint alone is further away than the best solution. The
branch of the best is followed to its nearest point (`branch_search`). Then parts of branches
between two values that may come nearer still are divided, the most promising first: into thirds,
and into smaller parts where a branch ends or changes fast. If a better solution turns up, its
branch is followed, too.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, Array2, Array3, IntArray1
from ..maths.lanes import bits, in_lanes
from ..maths.rotations import Array, IntArray
from . import records as rec
from .branch_search import (
    AT,
    BRACKET,
    COSTS,
    HERE,
    MARGINS,
    PICKED,
    evaluate_one_each,
    follow,
    take,
)
from .branches import (
    COST,
    END,
    NUMBERS,
    choose,
    keep,
    keep_all,
    load,
    measure,
    nearest_between,
    set_values,
)
from .kernel import (
    BRANCHES,
    EXACT,
    LIMIT_SNAP,
    POSES,
    error_at_start,
    passes_of,
    set_free,
    set_signs,
    solve_lanes,
)
from .records import result_at

# [rad] A branch that violates limits by more than this at a value, or is further from the start
# than the best by more, is assumed to be so next to it, too.
ASSUMED_BEYOND = 0.5
INTERVAL_PARTS = 3  # Number of parts into which a promising interval is divided
# Least size of such a part, as a fraction of the distance of two values; the second is for parts
# in which a branch ends.
SMOOTH, ENDED = 0.3, 0.03
# A branch is followed at most this far [rad] into a part that is divided as if the branch ended
# there.
LONGEST_FOLLOWED = 1.0
# Columns of an interval: distance bound, start, length, branch number, and data of its ends.
PROMISE, VALUE, SIZE, WHICH, ENDS, PART = 0, 1, 2, 3, 4, 4 + 2 * NUMBERS
# Values further than this [rad] from that of the start may be nearer by a turn
ALMOST_HALF_TURN = 3.1415
# A start that misses the target by less than CLOSE [m, rad] probably has a solution nearby. The
# search has missed it if the best solution is FURTHER times as far away.
CLOSE, FURTHER = 0.1, 10.0
UNKNOWN = math.inf

_in_lanes = in_lanes[rec.WIDTH]


@kernel(entry='ik_nearest_branch')
def nearest_branch(
    plan: IntArray1,
    numbers: Array2,
    wide: Array2,
    target: Array2,
    start: Array2,
    values: Array1,
    trial: Array2,
    paths: Array3,
    parts: Array2,
    ends: Array3,
    memory: Array2,
    q: Array1,
) -> tuple[float, bool]:
    """Fill q (n,), the start, with the nearest solution; return its redundancy parameter, and
    whether values near the start, or its own value, must be checked with care.

    The value is NaN without a solution, and UNKNOWN if joints are undetermined at a value, so that
    each value has to be solved by itself. q[0] is NaN if the value has to be solved with care.

    wide: as `numbers`, with ASSUMED_BEYOND as its MARGIN. target (1, 12), start (1, n), rising
    values (N,). Workspace: trial (TRIAL, WIDTH), paths (N, NUMBERS, SLOTS), parts (.., PART), ends
    (INTERVAL_PARTS + 1, NUMBERS, WIDTH), memory (ROWS, WIDTH).
    """
    best = trial[BRACKET:]
    best[HERE, COST], best[HERE, AT] = rec.NONE, np.nan
    load(plan, target, start, memory)
    set_free(plan, numbers, memory, math.nan)
    middle, step = start[0, plan[rec.COLUMN + plan[rec.REDUNDANT_JOINT]]], values[1] - values[0]
    low, high = values[0], values[values.shape[0] - 1]
    error = _error_at_start(plan, numbers, memory)
    in_doubt = _evaluate_start(plan, numbers, middle, trial, memory)
    first, last = _scan_outwards(plan, wide, middle, values, trial, paths, memory)
    if last < first:
        return UNKNOWN, in_doubt
    set_signs(plan, memory, BRANCHES)
    followed = best[HERE, COST]
    if followed < rec.NONE:
        follow(plan, wide, step, low, high, trial, memory)
        followed = best[HERE, COST]
    count = _list_parts(plan, wide, paths, values, parts, first, last, trial, memory)
    _divide(plan, wide, trial, parts, count, memory, step, ends)
    if best[HERE, COST] >= rec.NONE:
        return np.nan, in_doubt or error <= CLOSE
    if best[HERE, COST] < followed:
        follow(plan, wide, step / INTERVAL_PARTS, low, high, trial, memory)
    _write_nearest(plan, numbers, best[HERE, AT], trial, memory, q)
    in_doubt |= error <= CLOSE and best[HERE, COST] > (FURTHER * error) ** 2
    return best[HERE, AT], in_doubt


@kernel
def _error_at_start(plan: IntArray, numbers: Array, memory: Array) -> float:
    lanes = _in_lanes(memory)
    lanes[rec.SPARE] = error_at_start(plan, numbers, lanes)
    return memory[rec.SPARE, 0]


@kernel
def _evaluate_start(
    plan: IntArray, numbers: Array, middle: float, trial: Array, memory: Array
) -> bool:
    """Keep the nearest solution at the start's own value; return whether there are only
    near-solutions."""
    _solve_all(plan, numbers, middle, trial, memory)
    nothing, near, at = True, False, result_at(0)
    for lane in range(rec.WIDTH):
        cost = memory[at + rec.DISTANCE, lane]
        if cost < rec.NONE and memory[at + rec.ERROR, lane] <= EXACT:
            value, nothing = memory[at + plan[rec.REDUNDANT_JOINT], lane], False
            take(cost, max(memory[at + rec.LIMIT_MARGIN, lane], -LIMIT_SNAP), value, lane, trial)
        near |= cost < rec.NONE
    return nothing and near


@kernel
def _solve_all(plan: IntArray, numbers: Array, value: float, trial: Array, memory: Array) -> None:
    """Solve all branches at a value of the redundancy parameter, one in each lane."""
    for lane in range(rec.WIDTH):
        trial[0, lane] = value
    set_signs(plan, memory, BRANCHES)
    set_values(trial[0], memory)
    solve_lanes(plan, numbers, memory, BRANCHES)


@kernel
def _scan_outwards(
    plan: IntArray,
    wide: Array,
    middle: float,
    values: Array,
    trial: Array,
    paths: Array,
    memory: Array,
) -> tuple[int, int]:
    """Evaluate values outwards from `middle`, that of the start, and keep the best; return the
    first and the last.

    The last is below the first where joints do not matter at one.
    """
    set_signs(plan, memory, POSES)
    count, step, right = values.shape[0], values[1] - values[0], 0
    while right < count and values[right] < middle:
        right += 1
    left, is_left = right - 1, False
    while True:
        picked, least = 0, trial[BRACKET + HERE, COST]
        if least < rec.NONE:
            _set_bound(memory, (math.sqrt(least) + ASSUMED_BEYOND) ** 2)
        while picked < rec.WIDTH:
            below = middle - values[left] - step if left >= 0 else rec.NONE
            above = values[right] - middle - step if right < count else rec.NONE
            if not _may_cost(min(below, above), least):
                break
            same_side = below if is_left else above
            if picked == 0 or least >= rec.NONE or not _may_cost(same_side, least):
                is_left = below < above  # else it stays on a side: neighbours are alike
            if is_left:
                trial[PICKED, picked], left = left, left - 1
            else:
                trial[PICKED, picked], right = right, right + 1
            picked += 1
        if picked == 0:
            return left + 1, right - 1
        if not _evaluate_branches(plan, wide, values, picked, trial, paths, memory):
            return 0, -1


@kernel
def _may_cost(gap: float, least: float) -> bool:
    """Return whether a value this far from the start's may have a nearer solution."""
    return gap < rec.NONE and (gap > ALMOST_HALF_TURN or gap <= 0.0 or gap * gap < least)


@kernel
def _evaluate_branches(
    plan: IntArray,
    wide: Array,
    values: Array,
    picked: int,
    trial: Array,
    paths: Array,
    memory: Array,
) -> bool:
    """Keep the branches at the picked values; return False if joints are undetermined there."""
    for lane in range(rec.WIDTH):
        trial[0, lane] = values[int(trial[PICKED, min(lane, picked - 1)])]
    set_values(trial[0], memory)
    if measure(plan, wide, memory, POSES):
        return False
    for lane in range(picked):
        keep_all(plan, memory, lane, paths[int(trial[PICKED, lane])])
        for slot in range(passes_of(plan, POSES)):
            at = result_at(slot)
            cost, margin = memory[at + rec.DISTANCE, lane], memory[at + rec.LIMIT_MARGIN, lane]
            take(cost, margin, trial[0, lane], slot, trial)
    return True


@kernel
def _list_parts(
    plan: IntArray,
    wide: Array,
    paths: Array,
    values: Array,
    parts: Array,
    first: int,
    last: int,
    trial: Array,
    memory: Array,
) -> int:
    """List the parts of branches between two values that may come nearer than the best; return
    their number."""
    count, width, lanes, seen = 0, values[1] - values[0], _in_lanes(memory), _in_lanes(paths)
    for k in range(first, last):
        near, _ = nearest_between(plan, wide, lanes, seen[k], seen[k + 1])
        useful = bits(near * near < trial[BRACKET + HERE, COST])
        if useful == 0:
            continue
        lanes[rec.SPARE] = near
        for slot in range(rec.SLOTS):
            if (useful >> slot) & 1:
                ends = paths[k], paths[k + 1]
                promise = memory[rec.SPARE, slot]
                count = _list_part(promise, values[k], width, slot, ends, slot, parts, count)
    return count


@kernel
def _list_part(
    promise: float,
    value: float,
    width: float,
    slot: int,
    ends: tuple[Array, Array],
    column: int,
    parts: Array,
    count: int,
) -> int:
    """Append the part of a branch after a value. ends: its data at both ends, a column each.

    Without space left it is skipped; there is space for twice the parts of all branches.
    """
    if count == parts.shape[0]:
        return count
    part = parts[count]
    part[PROMISE], part[WHICH], part[VALUE], part[SIZE] = promise, slot, value, width
    for i in range(NUMBERS):
        part[ENDS + i], part[ENDS + NUMBERS + i] = ends[0][i, column], ends[1][i, column]
    return count + 1


@kernel
def _divide(
    plan: IntArray,
    wide: Array,
    trial: Array,
    parts: Array,
    count: int,
    memory: Array,
    step: float,
    ends: Array,
) -> None:
    """Divide parts, the most promising first, while they may contain something better.

    step: the distance of two values, of which the first parts are.
    """
    _set_bound(memory, rec.NONE)
    while True:
        picked = _pick_parts(plan, trial, parts, count, memory)
        if picked == 0:
            return
        evaluate_one_each(plan, wide, trial, memory)
        for lane in range(picked * (INTERVAL_PARTS - 1)):
            slot = int(parts[int(trial[PICKED, lane]), WHICH])
            take(trial[COSTS, lane], trial[MARGINS, lane], trial[0, lane], slot, trial)
        _note_ends(plan, parts, picked, trial, memory, ends)
        count = _list_again(plan, wide, parts, count, picked, trial, memory, step, ends)


@kernel
def _pick_parts(plan: IntArray, trial: Array, parts: Array, count: int, memory: Array) -> int:
    """Fill lanes with the values that divide the most promising parts; return their number."""
    picked = 0
    while (picked + 1) * (INTERVAL_PARTS - 1) <= rec.WIDTH:
        i = _most_promising(parts, count, trial[BRACKET + HERE, COST])
        if i < 0:
            break
        for k in range(1, INTERVAL_PARTS):
            lane = picked * (INTERVAL_PARTS - 1) + k - 1
            trial[0, lane] = parts[i, VALUE] + parts[i, SIZE] * k / INTERVAL_PARTS
            trial[PICKED, lane] = i
            choose(plan, int(parts[i, WHICH]), lane, memory)
        parts[i, PROMISE] = rec.NONE
        picked += 1
    return picked


@kernel
def _most_promising(parts: Array, count: int, least: float) -> int:
    """Return the part that may come nearest; -1 if none may beat the best."""
    best, near = -1, math.sqrt(least)
    for i in range(count):
        if parts[i, PROMISE] < near:
            best, near = i, parts[i, PROMISE]
    return best


@kernel
def _note_ends(
    plan: IntArray, parts: Array, picked: int, trial: Array, memory: Array, ends: Array
) -> None:
    """Fill ends with the data of the picked parts at their ends and in between, a column each."""
    for i in range(picked):
        lane = i * (INTERVAL_PARTS - 1)
        part = parts[int(trial[PICKED, lane])]
        for c in range(NUMBERS):
            ends[0, c, i], ends[INTERVAL_PARTS, c, i] = part[ENDS + c], part[ENDS + NUMBERS + c]
        for k in range(1, INTERVAL_PARTS):
            keep(plan, memory, 0, lane + k - 1, ends[k], i)


@kernel
def _list_again(
    plan: IntArray,
    wide: Array,
    parts: Array,
    count: int,
    picked: int,
    trial: Array,
    memory: Array,
    step: float,
    ends: Array,
) -> int:
    """Append the pieces of divided parts; return the number of parts."""
    lanes, seen = _in_lanes(memory), _in_lanes(ends)
    for k in range(INTERVAL_PARTS):
        near, way = nearest_between(plan, wide, lanes, seen[k], seen[k + 1])
        useful = bits(near * near < trial[BRACKET + HERE, COST])
        lanes[rec.SPARE] = near
        slow = bits(way <= LONGEST_FOLLOWED)
        for i in range(picked):
            if (useful >> i) & 1:
                part = parts[int(trial[PICKED, i * (INTERVAL_PARTS - 1)])]
                width = part[SIZE] / INTERVAL_PARTS
                inside = min(ends[k, END, i], ends[k + 1, END, i]) >= -LIMIT_SNAP
                is_smooth = inside and (slow >> i) & 1
                if width > (SMOOTH if is_smooth else ENDED) * step:
                    value, slot = part[VALUE] + k * width, int(part[WHICH])
                    sides = ends[k], ends[k + 1]
                    promise = memory[rec.SPARE, i]
                    count = _list_part(promise, value, width, slot, sides, i, parts, count)
    return count


@kernel
def _write_nearest(
    plan: IntArray, numbers: Array, value: float, trial: Array, memory: Array, q: Array
) -> None:
    """Set q to the nearest solution at a value; q[0] is NaN if there is only a near-solution."""
    _solve_all(plan, numbers, value, trial, memory)
    at, best = result_at(0), 0
    for lane in range(rec.WIDTH):
        if memory[at + rec.DISTANCE, lane] < memory[at + rec.DISTANCE, best]:
            best = lane
    for j in range(plan[rec.JOINTS]):
        q[plan[rec.COLUMN + j]] = memory[at + j, best]
    if not (memory[at + rec.DISTANCE, best] < rec.NONE and memory[at + rec.ERROR, best] <= EXACT):
        q[0] = np.nan


@kernel
def _set_bound(memory: Array, bound: float) -> None:
    """Set the squared distance beyond which solutions are of no use."""
    for lane in range(rec.WIDTH):
        memory[rec.BOUND, lane] = bound
