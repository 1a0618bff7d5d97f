# SPDX-License-Identifier: Apache-2.0
"""Search along one branch of a 7R chain for the redundancy parameter nearest to the start.

The minimum is at a parabola's vertex, or at the end of the branch. `nearest_branch` calls this.
"""

from __future__ import annotations

import math

from ..kernels.jit import kernel
from ..maths.rotations import Array, IntArray
from .branches import COST, END, choose, measure, set_values
from .kernel import BRANCHES, LIMIT_SNAP
from .records import DISTANCE, JOINTS, LIMIT_MARGIN, NONE, WIDTH, result_at

SEARCH_ROUNDS = 12
# Accuracy of the best value: NARROWED [rad], times its distance to the start if that is below one.
# Accuracy of the end of a branch: SHARP [rad].
NARROWED, SHARP = 2e-5, 1e-10
# Eight values surround a guess in pairs, each pair nearer by the factor NEARER. If they leave more
# than SHRINKING of the range, the next eight are spread evenly.
NEARER, SHRINKING = 0.1, 0.3
# Two branches whose ends are no further apart [rad] are one branch that turns back there.
TURNS_BACK = 1e-2
# Rows of a trial behind its values: costs, margins, the picked values or parts, and from BRACKET
# on the bracket.
COSTS, MARGINS, PICKED, BRACKET = 1, 2, 3, 4
LOW, HERE, HIGH = 0, 1, 2  # Rows of a bracket: three values, of which the middle one is the best
AT, SLOT = 2, 3  # Columns behind COST and END: the value, and the branch number of the best
TRIAL = BRACKET + 3


@kernel
def evaluate_one_each(plan: IntArray, wide: Array, trial: Array, memory: Array) -> None:
    """Evaluate each lane's branch at its value in trial[0]: costs and margins."""
    set_values(trial[0], memory)
    measure(plan, wide, memory, BRANCHES)
    for lane in range(WIDTH):
        trial[COSTS, lane] = memory[result_at(0) + DISTANCE, lane]
        trial[MARGINS, lane] = memory[result_at(0) + LIMIT_MARGIN, lane]


@kernel
def take(cost: float, margin: float, value: float, slot: int, trial: Array) -> None:
    """Make a value the best one if it has a solution that is nearer."""
    if margin >= -LIMIT_SNAP and cost < trial[BRACKET + HERE, COST]:
        here = trial[BRACKET + HERE]
        here[COST], here[END], here[AT], here[SLOT] = cost, margin, value, slot


@kernel
def follow(
    plan: IntArray, wide: Array, width: float, low: float, high: float, trial: Array, memory: Array
) -> None:
    """Find the least cost along the best branch, up to `width` away from it and inside the bounds.

    If the least cost is at the branch's end, the branch that continues there is searched, too.
    """
    if _follow_one(plan, wide, width, low, high, trial, memory):
        here = trial[BRACKET + HERE]
        value, slot = here[AT], int(here[SLOT])
        cost, margin = here[COST], here[END]
        if _turn_back(plan, wide, trial, memory):
            _follow_one(plan, wide, width, low, high, trial, memory)
            take(cost, margin, value, slot, trial)


@kernel
def _turn_back(plan: IntArray, wide: Array, trial: Array, memory: Array) -> bool:
    """Switch to the branch that begins where the best one ends; return False without one."""
    here, value = trial[BRACKET + HERE], trial[BRACKET + HERE, AT]
    own = int(here[SLOT])
    for lane in range(WIDTH):
        choose(plan, lane, lane, memory)
        trial[0, lane] = value
    evaluate_one_each(plan, wide, trial, memory)
    best, gap = -1, TURNS_BACK * TURNS_BACK
    for lane in range(WIDTH):
        apart = 0.0
        for j in range(plan[JOINTS]):
            apart += (memory[result_at(0) + j, lane] - memory[result_at(0) + j, own]) ** 2
        if lane != own and trial[MARGINS, lane] >= -LIMIT_SNAP and apart < gap:
            best, gap = lane, apart
    if best < 0:
        return False
    here[COST], here[END], here[SLOT] = trial[COSTS, best], trial[MARGINS, best], best
    return True


@kernel
def _follow_one(
    plan: IntArray, wide: Array, width: float, low: float, high: float, trial: Array, memory: Array
) -> bool:
    """Find the least cost along one branch; return whether it is at the branch's end."""
    bracket = trial[BRACKET:]
    for lane in range(WIDTH):
        choose(plan, int(bracket[HERE, SLOT]), lane, memory)
    low = bracket[LOW, AT] = max(bracket[HERE, AT] - width, low)
    high = bracket[HIGH, AT] = min(bracket[HERE, AT] + width, high)
    _spread(low, high, 0, trial)
    for k in range(SEARCH_ROUNDS):
        before = bracket[HIGH, AT] - bracket[LOW, AT]
        evaluate_one_each(plan, wide, trial, memory)
        if k == 0:
            _copy(0, trial, LOW)
            _copy(WIDTH - 1, trial, HIGH)
        _narrow(trial)
        if _is_narrow(bracket):
            break
        _choose_values(before, trial)
    return bracket[HERE, END] <= LIMIT_SNAP


@kernel
def _spread(low: float, high: float, aside: int, trial: Array) -> None:
    """Set eight evenly spaced values from low to high, `aside` steps inside of both."""
    step = (high - low) / (WIDTH - 1 + 2 * aside)
    for lane in range(WIDTH):
        trial[0, lane] = low + step * (lane + aside)


@kernel
def _copy(lane: int, trial: Array, row: int) -> None:
    """Copy a lane's value, cost and margin to a row of the bracket."""
    to = trial[BRACKET + row]
    to[AT], to[COST], to[END] = trial[0, lane], trial[COSTS, lane], trial[MARGINS, lane]


@kernel
def _narrow(trial: Array) -> None:
    """Narrow the bracket to the best value and its neighbours on both sides."""
    bracket = trial[BRACKET:]
    best = -1
    for lane in range(WIDTH):
        is_inside = bracket[LOW, AT] <= trial[0, lane] <= bracket[HIGH, AT]
        good = trial[MARGINS, lane] >= -LIMIT_SNAP and is_inside
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


@kernel
def _is_narrow(bracket: Array) -> bool:
    """Return whether the best is known exactly, inside of a branch or at its end."""
    here, ends = bracket[HERE, AT], NONE
    if bracket[LOW, END] < -LIMIT_SNAP:
        ends = here - bracket[LOW, AT]
    if bracket[HIGH, END] < -LIMIT_SNAP:
        ends = min(ends, bracket[HIGH, AT] - here)
    width = NARROWED * min(math.sqrt(bracket[HERE, COST]), 1.0)
    return ends <= SHARP or (ends >= NONE and bracket[HIGH, AT] - bracket[LOW, AT] <= width)


@kernel
def _choose_values(before: float, trial: Array) -> None:
    """Choose the next values: around a guess, or evenly if the last guess hardly helped."""
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


@kernel
def _guess(bracket: Array) -> float:
    """Return the vertex of the parabola through three points, or the branch's end before it."""
    low, here, high = bracket[LOW, AT], bracket[HERE, AT], bracket[HIGH, AT]
    one = (bracket[HERE, COST] - bracket[LOW, COST]) / (here - low)
    two = (bracket[HIGH, COST] - bracket[HERE, COST]) / (high - here)
    bend = (two - one) / (high - low)
    if bend > 0.0:
        guess = min(max(0.5 * (low + here - one / bend), low), high)
    else:
        guess = low if bracket[LOW, COST] < bracket[HIGH, COST] else high
    side = LOW if guess < here else HIGH
    if bracket[side, END] >= -LIMIT_SNAP:
        return guess
    inside, beyond = bracket[HERE, END] + LIMIT_SNAP, bracket[side, END] + LIMIT_SNAP
    end = here + (bracket[side, AT] - here) * inside / (inside - beyond)
    return max(guess, end) if side == LOW else min(guess, end)
