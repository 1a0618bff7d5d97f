# SPDX-License-Identifier: Apache-2.0
"""Kernels of `redundancy`: values of the redundancy parameter, eight at a time.

`sweep` solves for each value. `hidden_values` searches between them: if two values have no
solution, a branch may still have one in between; if both have one, all branches may end in
between. The branches at both values show where that is possible (`branches`): there the kernel
looks for the largest margin, or the smallest.
"""

from __future__ import annotations

import math

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, Array2, Array3, IntArray1
from ..maths.lanes import bits, in_lanes
from ..maths.rotations import Array, IntArray
from .branches import END, keep_all, load, measure, nearest_between, set_values, stays_between
from .kernel import (
    EXACT,
    LIMIT_SNAP,
    POSES,
    passes_of,
    set_free,
    set_signs,
    solve_lanes,
)
from .records import DISTANCE, ERROR, LIMIT_MARGIN, NONE, WIDTH, result_at

EVERY, LAST = 0, 1  # Tasks of `sweep`
# Maximum number of rounds. Eight values between two shrink a range to a ninth; eight about a
# maximum, to two ninths.
SCAN_ROUNDS, ROUNDS_BETWEEN = 14, 3
FINEST = 1e-13  # Steps [rad] below this are not divided

_in_lanes = in_lanes[WIDTH]


@kernel(entry='ik_closed_sweep')
def sweep(
    plan: IntArray1,
    numbers: Array2,
    targets: Array2,
    starts: Array2,
    values: Array1,
    task: int,
    trial: Array2,
    memory: Array2,
    costs: Array1,
) -> float:
    """Solve for rising `values` (N,) of the redundancy parameter, as the task says.

    EVERY: costs (N,) become the squared distance to the start of the nearest solution for each
    value, NONE without one.
    LAST: there are solutions at values[0], and none at values[1], which may be the lower one: the
    last value before they end.

    targets (1, 12), starts (1, n). trial (2 or more, WIDTH), memory (ROWS, WIDTH): workspace.
    """
    load(plan, targets, starts, memory)
    set_signs(plan, memory, POSES)
    set_free(plan, numbers, memory, math.nan)
    if task == LAST:
        return _last(plan, numbers, values, trial, memory)
    for first in range(0, values.shape[0], WIDTH):
        for lane in range(WIDTH):
            trial[0, lane] = values[min(first + lane, values.shape[0] - 1)]
        _solve(plan, numbers, trial, memory)
        for i in range(first, min(first + WIDTH, values.shape[0])):
            costs[i] = trial[1, i - first]
    return 0.0


@kernel
def _solve(plan: IntArray, numbers: Array, trial: Array, memory: Array) -> None:
    """Set trial[1] to the costs of eight values trial[0], as `sweep` defines them."""
    set_values(trial[0], memory)
    solve_lanes(plan, numbers, memory, POSES)
    for lane in range(WIDTH):
        trial[1, lane] = NONE
        for slot in range(passes_of(plan, POSES)):
            at = result_at(slot)
            cost = memory[at + DISTANCE, lane]
            if cost < trial[1, lane] and memory[at + ERROR, lane] <= EXACT:
                trial[1, lane] = cost


@kernel
def _last(plan: IntArray, numbers: Array, values: Array, trial: Array, memory: Array) -> float:
    there, beyond = values[0], values[1]
    for _ in range(SCAN_ROUNDS):
        step = (beyond - there) / (WIDTH + 1)
        if abs(step) <= FINEST:
            break
        for lane in range(WIDTH):
            trial[0, lane] = there + step * (lane + 1)
        _solve(plan, numbers, trial, memory)
        for lane in range(WIDTH):
            if trial[1, lane] >= NONE:
                beyond = trial[0, lane]
                break
            there = trial[0, lane]
    return there


# --- between two values --------------------------------------------------------------------------


@kernel(entry='ik_hidden_values')
def hidden_values(
    plan: IntArray1,
    wide: Array2,
    targets: Array2,
    starts: Array2,
    values: Array1,
    trial: Array2,
    paths: Array3,
    memory: Array2,
    found: Array1,
) -> int:
    """Fill found (N,) with hidden values; return their number, -1 if joints are undetermined at a
    value.

    A hidden value is between two of `values` (N,): it has solutions and they have none, or the
    reverse. The other arguments are those of `nearest_branch`.
    """
    load(plan, targets, starts, memory)
    set_signs(plan, memory, POSES)
    set_free(plan, wide, memory, math.nan)
    for first in range(0, values.shape[0], WIDTH):
        for lane in range(WIDTH):
            trial[0, lane] = values[min(first + lane, values.shape[0] - 1)]
        set_values(trial[0], memory)
        if measure(plan, wide, memory, POSES):
            return -1
        for lane in range(min(WIDTH, values.shape[0] - first)):
            keep_all(plan, memory, lane, paths[first + lane])
    count, seen = 0, _in_lanes(paths)
    for k in range(values.shape[0] - 1):
        side = _may_hide(plan, wide, _in_lanes(memory), seen[k], seen[k + 1])
        if side != 0.0 and _scan_between(
            plan, wide, values[k], values[k + 1], side, trial, memory
        ):
            found[count] = trial[2, 0]
            count += 1
    return count


@kernel
def _may_hide(plan: IntArray, wide: Array, lanes: Array, one: Array, two: Array) -> float:
    """Return 1.0 if there may be a solution between two values without one, -1.0 if there may be
    none between two values with one, else 0.0.

    one, two (NUMBERS,), in lanes: the branches at the values
    """
    has_one, has_two = bits(one[END] >= -LIMIT_SNAP) != 0, bits(two[END] >= -LIMIT_SNAP) != 0
    if has_one != has_two:
        return 0.0
    if has_one:
        return 0.0 if bits(stays_between(plan, one, two) > 0.0) else -1.0
    return 1.0 if bits(nearest_between(plan, wide, lanes, one, two)[0] < NONE) else 0.0


@kernel
def _scan_between(
    plan: IntArray,
    wide: Array,
    low: float,
    high: float,
    side: float,
    trial: Array,
    memory: Array,
) -> bool:
    """Return whether any branch has a margin of the sign of `side` between two values; trial[2, 0]
    becomes the value."""
    for _ in range(ROUNDS_BETWEEN):
        step = (high - low) / (WIDTH + 1)
        for lane in range(WIDTH):
            trial[0, lane] = low + step * (lane + 1)
        set_values(trial[0], memory)
        measure(plan, wide, memory, POSES)
        best = 0
        for lane in range(WIDTH):
            margin = -NONE
            for slot in range(passes_of(plan, POSES)):
                margin = max(margin, memory[result_at(slot) + LIMIT_MARGIN, lane])
            trial[1, lane] = side * (margin + LIMIT_SNAP)
            if trial[1, lane] > trial[1, best]:
                best = lane
        trial[2, 0] = trial[0, best]
        if trial[1, best] > 0.0:
            return True
        low, high = trial[0, best] - step, trial[0, best] + step
    return False
