"""The joint that is held, swept over its values by eight at a time: kernels of `redundancy`."""

from __future__ import annotations

import numpy as np

from .._jit import inner, njit
from ..maths.lanes import in_lanes
from ..maths.rotations import Array, IntArray
from .regular import load_start, set_bound, set_branches, solve_lanes
from .slots import (
    COLUMN,
    HELD,
    LOSS,
    NEAREST,
    NONE,
    POSES,
    TARGET,
    WIDTH,
)

EVERY, BEST, END = 0, 1, 2
"""Tasks of a sweep."""
ROUNDS = 14
"""Eight values between two shrink the range to a ninth; so often at most."""
NARROWED = 1e-6
"""The best is found to this share of the distance of the values."""
NEAR_BY, SHRINKING = 0.25, 0.3
"""Of eight values about a guess each pair is nearer to it by the first; where they shrink the
range less than by the second, the next ones are spread evenly."""
FINEST = 1e-13
"""Steps [rad] that are not divided."""
HALF_TURN = 3.1415

_in_lanes = in_lanes[WIDTH]


@inner
def _nearest(plan: IntArray, numbers: Array, start: Array, trial: Array, memory: Array) -> None:
    """trial[1] = the costs of eight values trial[0], see `sweep`."""
    for lane in range(WIDTH):
        load_start(plan, numbers, start, trial[0], lane, lane, memory)
    solve_lanes(plan, numbers, _in_lanes(memory), POSES)
    for lane in range(WIDTH):
        trial[1, lane] = memory[NEAREST, lane] if memory[LOSS, lane] == 0.0 else np.nan


@inner
def _best(
    plan: IntArray,
    numbers: Array,
    start: Array,
    values: Array,
    trial: Array,
    memory: Array,
    costs: Array,
) -> float:
    """See `sweep`: outwards from the start's value, as far as the held joint alone costs less."""
    count, middle, best = values.shape[0], start[0, plan[COLUMN + plan[HELD]]], -1
    right = 0
    while right < count and values[right] < middle:
        right += 1
    left, is_left = right - 1, False
    for i in range(count):
        costs[i] = NONE
    least = NONE
    while True:
        picked = 0
        while picked < WIDTH:
            below = middle - values[left] if left >= 0 else NONE
            above = values[right] - middle if right < count else NONE
            if not _may_cost(min(below, above), least):
                break
            if picked == 0 or least >= NONE or not _may_cost(below if is_left else above, least):
                is_left = below < above  # else it stays on a side: neighbours are alike
            if is_left:
                trial[2, picked], left = left, left - 1
            else:
                trial[2, picked], right = right, right + 1
            picked += 1
        if picked == 0:
            break
        for lane in range(WIDTH):
            trial[0, lane] = values[int(trial[2, min(lane, picked - 1)])]
        _nearest(plan, numbers, start, trial, memory)
        for lane in range(picked):
            i = int(trial[2, lane])
            costs[i] = trial[1, lane]
            if costs[i] < least:
                least, best = costs[i], i
        set_bound(memory, least)
    if best < 0:
        return np.nan
    return _refined(plan, numbers, start, values, best, trial, memory, least)


@inner
def _may_cost(gap: float, least: float) -> bool:
    """Whether a value so far from the start's may have a solution nearer than the best."""
    return gap < NONE and (gap > HALF_TURN or gap * gap < least)


@inner
def _refined(
    plan: IntArray,
    numbers: Array,
    start: Array,
    values: Array,
    best: int,
    trial: Array,
    memory: Array,
    g: float,
) -> float:
    """The value of least cost between the neighbours of the best one, whose cost is g."""
    low, here = values[max(best - 1, 0)], values[best]
    high = values[min(best + 1, values.shape[0] - 1)]
    for lane in range(WIDTH):
        trial[0, lane] = low + (high - low) * lane / (WIDTH - 1)
    set_bound(memory, NONE)
    _nearest(plan, numbers, start, trial, memory)
    f, h = trial[1, 0], trial[1, WIDTH - 1]
    low, here, high, f, g, h = _narrowed(low, here, high, f, g, h, trial)
    enough, slow = NARROWED * (high - low), False
    for _ in range(ROUNDS):
        before, is_inside = high - low, max(f, h) < NONE
        if before <= FINEST or (before <= enough and is_inside):
            break
        if slow or not is_inside or low == here or here == high:
            for lane in range(WIDTH):
                trial[0, lane] = low + (high - low) * (lane + 1) / (WIDTH + 1)
        else:
            _put_about(_vertex(low, here, high, f, g, h), low, high, trial)
        _nearest(plan, numbers, start, trial, memory)
        low, here, high, f, g, h = _narrowed(low, here, high, f, g, h, trial)
        slow = high - low > SHRINKING * before
    return here


@inner
def _narrowed(
    low: float, here: float, high: float, f: float, g: float, h: float, trial: Array
) -> tuple[float, float, float, float, float, float]:
    """Three values, the middle one of least cost, and their costs, after those of a trial."""
    for lane in range(WIDTH):
        x, cost = trial[0, lane], trial[1, lane]
        if cost < g and low <= x <= high:
            if x > here:
                low, f = here, g
            elif x < here:
                high, h = here, g
            here, g = x, cost
    for lane in range(WIDTH):
        x, cost = trial[0, lane], trial[1, lane]
        if low < x < here:
            low, f = x, cost
        if here < x < high:
            high, h = x, cost
    return low, here, high, f, g, h


@inner
def _vertex(low: float, here: float, high: float, f: float, g: float, h: float) -> float:
    """Where the parabola through three points has its least value, between the outer ones."""
    one, two = (g - f) / (here - low), (h - g) / (high - here)
    bend = (two - one) / (high - low)
    if not bend > 0.0:
        return here
    return min(max(0.5 * (low + here - one / bend), low), high)


@inner
def _put_about(guess: float, low: float, high: float, trial: Array) -> None:
    """Eight values in pairs about a guess, nearer and nearer to it."""
    reach = 0.5 * max(guess - low, high - guess)
    for k in range(WIDTH // 2):
        trial[0, 2 * k] = max(guess - reach, low)
        trial[0, 2 * k + 1] = min(guess + reach, high)
        reach *= NEAR_BY


@inner
def _end(
    plan: IntArray, numbers: Array, start: Array, values: Array, trial: Array, memory: Array
) -> float:
    """See `sweep`: there are solutions at the first value, and none at the second."""
    there, beyond = values[0], values[1]
    for _ in range(ROUNDS):
        step = (beyond - there) / (WIDTH + 1)
        if abs(step) <= FINEST:
            break
        for lane in range(WIDTH):
            trial[0, lane] = there + step * (lane + 1)
        _nearest(plan, numbers, start, trial, memory)
        for lane in range(WIDTH):
            if trial[1, lane] >= NONE:
                beyond = trial[0, lane]
                break
            there = trial[0, lane]
    return there


@njit
def sweep(
    plan: IntArray,
    numbers: Array,
    target: Array,
    start: Array,
    values: Array,
    task: int,
    trial: Array,
    memory: Array,
    costs: Array,
) -> float:
    """The joint that is held over rising `values` (N,): what the task says.

    EVERY: costs (N,) become the squared distance to the start of the nearest solution for each
    value, NONE without one, NaN where joints do not matter, so that nearer ones may be missed.
    BEST: the value of least cost, which is returned, NaN without any; costs of those only that
    may have it. END: there are solutions at values[0], and none at
    values[1], which may be the lower one: the last value before they end.

    target (1, 12), start (1, n). trial (3, WIDTH), memory (ROWS, WIDTH): room.
    """
    set_branches(memory, POSES)
    for c in range(12):
        for lane in range(WIDTH):
            memory[TARGET + c, lane] = target[0, c]
    if task == BEST:
        return _best(plan, numbers, start, values, trial, memory, costs)
    if task == END:
        return _end(plan, numbers, start, values, trial, memory)
    for first in range(0, values.shape[0], WIDTH):
        for lane in range(WIDTH):
            trial[0, lane] = values[min(first + lane, values.shape[0] - 1)]
        _nearest(plan, numbers, start, trial, memory)
        for i in range(first, min(first + WIDTH, values.shape[0])):
            costs[i] = trial[1, i - first]
    return 0.0
