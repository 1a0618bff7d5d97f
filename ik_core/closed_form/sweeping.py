"""The joint that is held, swept over its values by eight at a time: kernels of `redundancy`."""

from __future__ import annotations

import numpy as np

from .._jit import inner, njit
from ..maths.lanes import in_lanes
from ..maths.rotations import Array, IntArray
from .regular import load_start, set_branches, solve_lanes
from .slots import (
    LOSS,
    NEAREST,
    NONE,
    POSES,
    TARGET,
    WIDTH,
)

EVERY, END = 0, 1
"""Tasks of a sweep."""
ROUNDS = 14
"""Eight values between two shrink the range to a ninth; so often at most."""
FINEST = 1e-13
"""Steps [rad] that are not divided."""

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
    END: there are solutions at values[0], and none at values[1], which may be the lower one: the
    last value before they end.

    target (1, 12), start (1, n). trial (2 or more, WIDTH), memory (ROWS, WIDTH): room.
    """
    set_branches(memory, POSES)
    for c in range(12):
        for lane in range(WIDTH):
            memory[TARGET + c, lane] = target[0, c]
    if task == END:
        return _end(plan, numbers, start, values, trial, memory)
    for first in range(0, values.shape[0], WIDTH):
        for lane in range(WIDTH):
            trial[0, lane] = values[min(first + lane, values.shape[0] - 1)]
        _nearest(plan, numbers, start, trial, memory)
        for i in range(first, min(first + WIDTH, values.shape[0])):
            costs[i] = trial[1, i - first]
    return 0.0
