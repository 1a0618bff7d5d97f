"""Solutions, and gaps between them, that lie between two values of the held joint: a kernel.

Where none of two values has a solution, a branch may still rise above its end in between; where
both have one, all branches may be beyond theirs. What is known of the branches at both values says
where that may be (`between`): there the highest point is looked for, or the lowest.
"""

from __future__ import annotations

from .._jit import inner, njit
from ..maths.lanes import bits, in_lanes
from ..maths.rotations import Array, IntArray
from .between import nearest_between, stays_between
from .branch_paths import MARGIN, hold, keep_all, load, measure
from .judging import SNAP
from .regular import set_branches
from .slots import GAP, NONE, POSES, SLOTS, WIDTH

ROUNDS = 3
"""Eight values between two shrink the range to two ninths; so often."""

_in_lanes = in_lanes[WIDTH]


@njit
def hidden_values(
    plan: IntArray,
    wide: Array,
    target: Array,
    start: Array,
    values: Array,
    trial: Array,
    paths: Array,
    memory: Array,
    found: Array,
) -> int:
    """Fill found (N,) with values between two of (N,) that have solutions where these have none,
    or none where both have some; return how many, -1 where joints do not matter at a value.

    The other arguments are those of `best_held.best_held`.
    """
    load(plan, target, start, memory)
    set_branches(memory, POSES)
    for first in range(0, values.shape[0], WIDTH):
        for lane in range(WIDTH):
            trial[0, lane] = values[min(first + lane, values.shape[0] - 1)]
        hold(plan, wide, trial[0], memory)
        if measure(plan, wide, memory, POSES):
            return -1
        for lane in range(min(WIDTH, values.shape[0] - first)):
            keep_all(memory, lane, paths[first + lane])
    count, seen = 0, _in_lanes(paths)
    for k in range(values.shape[0] - 1):
        side = _may_hide(plan, wide, _in_lanes(memory), seen[k], seen[k + 1])
        if side != 0.0 and _look_between(
            plan, wide, values[k], values[k + 1], side, trial, memory
        ):
            found[count] = trial[2, 0]
            count += 1
    return count


@inner
def _may_hide(plan: IntArray, wide: Array, lanes: Array, one: Array, two: Array) -> float:
    """1.0 where there may be a solution between two values that have none, -1.0 where there may
    be none between two that have some, else 0.0. one, two (NUMBERS,), in lanes: the branches."""
    has_one, has_two = bits(one[MARGIN] >= -SNAP) != 0, bits(two[MARGIN] >= -SNAP) != 0
    if has_one != has_two:
        return 0.0
    if has_one:
        return 0.0 if bits(stays_between(plan, one, two) > 0.0) else -1.0
    return 1.0 if bits(nearest_between(plan, wide, lanes, one, two)[0] < NONE) else 0.0


@inner
def _look_between(
    plan: IntArray,
    wide: Array,
    low: float,
    high: float,
    side: float,
    trial: Array,
    memory: Array,
) -> bool:
    """Whether the largest margin of all branches, times the side, is above 0 between two values;
    trial[2, 0] = where."""
    for _ in range(ROUNDS):
        step = (high - low) / (WIDTH + 1)
        for lane in range(WIDTH):
            trial[0, lane] = low + step * (lane + 1)
        hold(plan, wide, trial[0], memory)
        measure(plan, wide, memory, POSES)
        best = 0
        for lane in range(WIDTH):
            margin = -NONE
            for slot in range(SLOTS):
                margin = max(margin, memory[GAP + slot, lane])
            trial[1, lane] = side * (margin + SNAP)
            if trial[1, lane] > trial[1, best]:
                best = lane
        trial[2, 0] = trial[0, best]
        if trial[1, best] > 0.0:
            return True
        low, high = trial[0, best] - step, trial[0, best] + step
    return False
