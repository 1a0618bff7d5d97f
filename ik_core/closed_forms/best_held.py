"""The value of the held joint that has the solution nearest to a start: a kernel.

First values from end to end of the range are looked at, eight at a time, outwards from the
start's, as far as the held joint alone is nearer than the best. Then the parts of branches between
two of them that may come nearer are divided, the most promising first: to a third, and to smaller
ones where a branch ends or is fast. Around the best the path is followed to where it is nearest: a
parabola's vertex, or the end of the branch.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import inner, njit
from ..maths.lanes import in_lanes
from ..maths.rotations import Array, IntArray
from .branch_paths import (
    COST,
    MARGIN,
    NUMBERS,
    POINT,
    choose,
    hold,
    keep,
    load,
    measure,
    nearest_between,
    way_between,
)
from .judging import SNAP
from .regular import set_bound, set_branches, solve_lanes
from .slots import (
    BRANCHES,
    COLUMN,
    DISTANCE,
    GAP,
    HELD,
    JOINTS,
    MOST_JOINTS,
    NONE,
    POSES,
    SLOTS,
    WIDTH,
    X,
)

WIDER = 0.5
"""Branches that are further beyond limits, or further than the best, at a value [rad] are taken
to be so also next to it."""
PARTS = 3
"""What may have something better is divided into so many,"""
SMOOTH, ENDED = 0.3, 0.1
"""to no less than this share of the distance of two values; or this one, where a branch ends."""
FAST = 1.0
"""So far [rad] a branch leads in a part that is divided as if it ended there."""
ROUNDS = 12
NARROWED, END = 1e-6, 1e-10
"""The best is found as exactly [rad], and where its branch ends."""
NEARER, SHRINKING = 0.1, 0.3
"""Of eight values about a guess each pair is nearer to it by the first; where they shrink the
range less than by the second, the next ones are spread evenly."""
COSTS, MARGINS, PICKED, BRACKET = 1, 2, 3, 4
"""Rows of a trial, behind its values: what was found; which values or parts it is about; from the
last one on the bracket:"""
LOW, HERE, HIGH = 0, 1, 2
"""its rows, three values of which the middle one is the best;"""
AT, SLOT = 2, 3
"""and its columns, behind COST and MARGIN: the value, and of the best the slot."""
TRIAL = BRACKET + 3
PROMISE, VALUE, SIZE, WHICH, ENDS, PART = 0, 1, 2, 3, 4, 4 + 2 * NUMBERS
"""Of a part: how near it may come, where it begins, how much further it ends, its slot, and what
is known of its ends."""
HALF_TURN = 3.1415
UNKNOWN = math.inf

_in_lanes = in_lanes[WIDTH]


@njit
def best_held(
    plan: IntArray,
    numbers: Array,
    wide: Array,
    target: Array,
    start: Array,
    values: Array,
    trial: Array,
    paths: Array,
    parts: Array,
    memory: Array,
    q: Array,
) -> float:
    """Fill q (n,), which is the start, with the nearest solution; return the value it holds.

    NaN where there is none; UNKNOWN where joints do not matter at a value, so that each has to be
    solved by itself. q[0] is NaN where the solution at the value has to be solved with care.

    wide: as `numbers`, with WIDER as its MARGIN. target (1, 12), start (1, n), rising values (N,).
    Room: trial (TRIAL, WIDTH), paths (N + 1, SLOTS, NUMBERS), parts (PART, ..), memory (ROWS,
    WIDTH).
    """
    best = trial[BRACKET:]
    best[HERE, COST], best[HERE, AT] = NONE, np.nan
    load(plan, target, start, memory)
    set_branches(memory, POSES)
    middle = start[0, plan[COLUMN + plan[HELD]]]
    first, last = _look_outwards(plan, wide, middle, values, trial, paths, memory)
    if last < first:
        return UNKNOWN
    set_branches(memory, BRANCHES)
    step = values[1] - values[0]
    count = _list_parts(paths, values, parts, first, last, trial)
    _divide(plan, wide, trial, parts, count, memory, step, paths[values.shape[0]])
    if best[HERE, COST] >= NONE:
        return np.nan
    width = step / PARTS
    low, high = values[0], values[values.shape[0] - 1]
    best[LOW, AT] = max(best[HERE, AT] - width, low)
    best[HIGH, AT] = min(best[HERE, AT] + width, high)
    _follow(plan, wide, trial, memory)
    _take_all(plan, numbers, best[HERE, AT], trial, memory, q)
    return best[HERE, AT]


@inner
def _look_outwards(
    plan: IntArray,
    wide: Array,
    middle: float,
    values: Array,
    trial: Array,
    paths: Array,
    memory: Array,
) -> tuple[int, int]:
    """Look at values, `middle` is the start's, and keep the best; return the first and the last.

    The last is below the first where joints do not matter at one.
    """
    count, step, right = values.shape[0], values[1] - values[0], 0
    while right < count and values[right] < middle:
        right += 1
    left, is_left = right - 1, False
    while True:
        picked, least = 0, trial[BRACKET + HERE, COST]
        while picked < WIDTH:
            below = middle - values[left] - step if left >= 0 else NONE
            above = values[right] - middle - step if right < count else NONE
            if not _may_cost(min(below, above), least):
                break
            if picked == 0 or least >= NONE or not _may_cost(below if is_left else above, least):
                is_left = below < above  # else it stays on a side: neighbours are alike
            if is_left:
                trial[PICKED, picked], left = left, left - 1
            else:
                trial[PICKED, picked], right = right, right + 1
            picked += 1
        if picked == 0:
            return left + 1, right - 1
        if not _look(plan, wide, values, picked, trial, paths, memory):
            return 0, -1
        least = trial[BRACKET + HERE, COST]
        if least < NONE:
            set_bound(memory, (math.sqrt(least) + WIDER) ** 2)


@inner
def _may_cost(gap: float, least: float) -> bool:
    """Whether a value so far from the start's may have a solution nearer than the best."""
    return gap < NONE and (gap > HALF_TURN or gap <= 0.0 or gap * gap < least)


@inner
def _look(
    plan: IntArray,
    wide: Array,
    values: Array,
    picked: int,
    trial: Array,
    paths: Array,
    memory: Array,
) -> bool:
    """Keep what the branches are at the values picked; False where joints do not matter."""
    for lane in range(WIDTH):
        trial[0, lane] = values[int(trial[PICKED, min(lane, picked - 1)])]
    hold(plan, wide, trial[0], memory)
    if measure(plan, wide, memory, POSES):
        return False
    for lane in range(picked):
        row = paths[int(trial[PICKED, lane])]
        keep(memory, lane, row)
        for slot in range(SLOTS):
            _take(row[slot, COST], row[slot, MARGIN], trial[0, lane], slot, trial)
    return True


@inner
def _take(cost: float, margin: float, value: float, slot: int, trial: Array) -> None:
    """Take over what is a solution and better than the best."""
    if margin >= -SNAP and cost < trial[BRACKET + HERE, COST]:
        here = trial[BRACKET + HERE]
        here[COST], here[MARGIN], here[AT], here[SLOT] = cost, margin, value, slot


@inner
def _list_parts(
    paths: Array, values: Array, parts: Array, first: int, last: int, trial: Array
) -> int:
    """Parts of branches between two values that may come nearer than the best; how many."""
    count, width = 0, values[1] - values[0]
    for k in range(first, last):
        for slot in range(SLOTS):
            ends = paths[k, slot], paths[k + 1, slot]
            way = way_between(ends[0], ends[1])
            count = _list_part(values[k], width, slot, ends, way, parts, count, trial)
    return count


@inner
def _list_part(
    value: float,
    width: float,
    slot: int,
    ends: tuple[Array, Array],
    way: float,
    parts: Array,
    count: int,
    trial: Array,
) -> int:
    """Append the part of a branch after a value, where it may come nearer than the best.

    Where there is no more room it is left out; there is for twice the parts of all branches.
    """
    near = nearest_between(ends[0], ends[1], way)
    if count == parts.shape[1] or not near * near < trial[BRACKET + HERE, COST]:
        return count
    parts[PROMISE, count], parts[WHICH, count] = near, slot
    parts[VALUE, count], parts[SIZE, count] = value, width
    for i in range(NUMBERS):
        parts[ENDS + i, count], parts[ENDS + NUMBERS + i, count] = ends[0][i], ends[1][i]
    return count + 1


@inner
def _divide(
    plan: IntArray,
    wide: Array,
    trial: Array,
    parts: Array,
    count: int,
    memory: Array,
    step: float,
    room: Array,
) -> None:
    """Divide parts, the most promising first, as far as they may have something better.

    step: the distance of two values, of which the first parts are. room (PARTS + 1, NUMBERS).
    """
    set_bound(memory, NONE)
    while True:
        picked = _pick_parts(trial, parts, count, memory)
        if picked == 0:
            return
        _look_at_one_each(plan, wide, trial, memory)
        for lane in range(picked):
            slot = int(parts[WHICH, int(trial[PICKED, lane])])
            _take(trial[COSTS, lane], trial[MARGINS, lane], trial[0, lane], slot, trial)
        for lane in range(0, picked, PARTS - 1):
            _note_ends(parts, lane, trial, memory, room)
            count = _list_again(int(trial[PICKED, lane]), parts, count, trial, step, room)


@inner
def _pick_parts(trial: Array, parts: Array, count: int, memory: Array) -> int:
    """Fill lanes with the values that divide the most promising parts; return how many."""
    picked = 0
    while picked + PARTS - 1 <= WIDTH:
        i = _most_promising(parts, count, trial[BRACKET + HERE, COST])
        if i < 0:
            break
        for k in range(1, PARTS):
            trial[0, picked] = parts[VALUE, i] + parts[SIZE, i] * k / PARTS
            trial[PICKED, picked] = i
            choose(int(parts[WHICH, i]), picked, memory)
            picked += 1
        parts[PROMISE, i] = NONE
    return picked


@inner
def _note_ends(parts: Array, lane: int, trial: Array, memory: Array, room: Array) -> None:
    """room = what is known of the branch at the ends of the part in a lane, and in between."""
    part = int(trial[PICKED, lane])
    for i in range(NUMBERS):
        room[0, i], room[PARTS, i] = parts[ENDS + i, part], parts[ENDS + NUMBERS + i, part]
    for k in range(1, PARTS):
        at = lane + k - 1
        room[k, COST], room[k, MARGIN] = trial[COSTS, at], trial[MARGINS, at]
        for j in range(MOST_JOINTS):
            room[k, POINT + j] = memory[X + j, at]


@inner
def _list_again(
    part: int, parts: Array, count: int, trial: Array, step: float, room: Array
) -> int:
    """Append the parts of a part that are to be divided; return how many there are."""
    width, slot = parts[SIZE, part] / PARTS, int(parts[WHICH, part])
    for k in range(PARTS):
        ends = room[k], room[k + 1]
        way = way_between(room[k], room[k + 1])
        is_smooth = min(room[k, MARGIN], room[k + 1, MARGIN]) >= -SNAP and way <= FAST
        if width > (SMOOTH if is_smooth else ENDED) * step:
            value = parts[VALUE, part] + k * width
            count = _list_part(value, width, slot, ends, way, parts, count, trial)
    return count


@inner
def _most_promising(parts: Array, count: int, least: float) -> int:
    """The part that may come nearest, -1 where none is nearer than the best."""
    best, near = -1, math.sqrt(least)
    for i in range(count):
        if parts[PROMISE, i] < near:
            best, near = i, parts[PROMISE, i]
    return best


@inner
def _look_at_one_each(plan: IntArray, wide: Array, trial: Array, memory: Array) -> None:
    """The costs and margins of the branch of each lane, at eight values trial[0]."""
    hold(plan, wide, trial[0], memory)
    measure(plan, wide, memory, BRANCHES)
    for lane in range(WIDTH):
        trial[COSTS, lane], trial[MARGINS, lane] = memory[DISTANCE, lane], memory[GAP, lane]


# --- along one branch ---------------------------------------------------------------------------


@inner
def _follow(plan: IntArray, wide: Array, trial: Array, memory: Array) -> None:
    """Narrow the bracket, whose ends' values are given, about the least cost in a branch."""
    bracket = trial[BRACKET:]
    for lane in range(WIDTH):
        choose(int(bracket[HERE, SLOT]), lane, memory)
    _spread(bracket[LOW, AT], bracket[HIGH, AT], 0, trial)
    for k in range(ROUNDS):
        before = bracket[HIGH, AT] - bracket[LOW, AT]
        _look_at_one_each(plan, wide, trial, memory)
        if k == 0:
            _copy(0, trial, LOW)
            _copy(WIDTH - 1, trial, HIGH)
        _narrow(trial)
        if _is_narrow(bracket):
            return
        _choose_values(before, trial)


@inner
def _spread(low: float, high: float, aside: int, trial: Array) -> None:
    """Eight values from low to high, so many steps inside of these."""
    step = (high - low) / (WIDTH - 1 + 2 * aside)
    for lane in range(WIDTH):
        trial[0, lane] = low + step * (lane + aside)


@inner
def _copy(lane: int, trial: Array, row: int) -> None:
    """A row of the bracket = what was found in a lane."""
    to = trial[BRACKET + row]
    to[AT], to[COST], to[MARGIN] = trial[0, lane], trial[COSTS, lane], trial[MARGINS, lane]


@inner
def _narrow(trial: Array) -> None:
    """Take over into the bracket what was found: the best, and next to it on both sides."""
    bracket = trial[BRACKET:]
    best = -1
    for lane in range(WIDTH):
        is_inside = bracket[LOW, AT] <= trial[0, lane] <= bracket[HIGH, AT]
        good = trial[MARGINS, lane] >= -SNAP and is_inside
        if good and trial[COSTS, lane] < (bracket[HERE, COST] if best < 0 else trial[COSTS, best]):
            best = lane
    if best >= 0:
        side = LOW if trial[0, best] > bracket[HERE, AT] else HIGH
        for column in range(AT + 1):
            bracket[side, column] = bracket[HERE, column]
        _copy(best, trial, HERE)
    for lane in range(WIDTH):
        if bracket[LOW, AT] < trial[0, lane] < bracket[HERE, AT]:
            _copy(lane, trial, LOW)
        if bracket[HERE, AT] < trial[0, lane] < bracket[HIGH, AT]:
            _copy(lane, trial, HIGH)


@inner
def _is_narrow(bracket: Array) -> bool:
    """Whether the best is known exactly, inside of a branch or at its end."""
    here, ends = bracket[HERE, AT], NONE
    if bracket[LOW, MARGIN] < -SNAP:
        ends = here - bracket[LOW, AT]
    if bracket[HIGH, MARGIN] < -SNAP:
        ends = min(ends, bracket[HIGH, AT] - here)
    return ends <= END or (ends >= NONE and bracket[HIGH, AT] - bracket[LOW, AT] <= NARROWED)


@inner
def _choose_values(before: float, trial: Array) -> None:
    """The next values: about a guess, or where that was of little help, evenly."""
    bracket = trial[BRACKET:]
    low, here, high = bracket[LOW, AT], bracket[HERE, AT], bracket[HIGH, AT]
    if high - low > SHRINKING * before or low == here or here == high:
        _spread(low, high, 1, trial)
        return
    guess = _guess(bracket)
    reach = 0.5 * max(guess - low, high - guess)
    for k in range(WIDTH // 2):
        trial[0, 2 * k], trial[0, 2 * k + 1] = max(guess - reach, low), min(guess + reach, high)
        reach *= NEARER


@inner
def _guess(bracket: Array) -> float:
    """Where the parabola through three points is least, or before that the branch ends."""
    low, here, high = bracket[LOW, AT], bracket[HERE, AT], bracket[HIGH, AT]
    one = (bracket[HERE, COST] - bracket[LOW, COST]) / (here - low)
    two = (bracket[HIGH, COST] - bracket[HERE, COST]) / (high - here)
    bend = (two - one) / (high - low)
    if bend > 0.0:
        guess = min(max(0.5 * (low + here - one / bend), low), high)
    else:
        guess = low if bracket[LOW, COST] < bracket[HIGH, COST] else high
    side = LOW if guess < here else HIGH
    if bracket[side, MARGIN] >= -SNAP:
        return guess
    inside, beyond = bracket[HERE, MARGIN] + SNAP, bracket[side, MARGIN] + SNAP
    end = here + (bracket[side, AT] - here) * inside / (inside - beyond)
    return max(guess, end) if side == LOW else min(guess, end)


@inner
def _take_all(
    plan: IntArray, numbers: Array, value: float, trial: Array, memory: Array, q: Array
) -> None:
    """q = the nearest solution at a value, NaN first where it is not regular."""
    set_branches(memory, BRANCHES)
    for lane in range(WIDTH):
        trial[0, lane] = value
    hold(plan, numbers, trial[0], memory)
    doubt, best = solve_lanes(plan, numbers, _in_lanes(memory), BRANCHES), 0
    for lane in range(WIDTH):
        if memory[DISTANCE, lane] < memory[DISTANCE, best]:
            best = lane
    for j in range(plan[JOINTS]):
        q[plan[COLUMN + j]] = memory[X + j, best]
    if doubt or not memory[DISTANCE, best] < NONE:
        q[0] = np.nan
