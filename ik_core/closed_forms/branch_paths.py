"""The branches of a chain of seven joints as paths, which the held joint's value leads along: a
kernel's view of them.

Of a branch at a value there is more to say than whether it is a solution: how far its joints are
from the start, and how far it is from its end, at the reach's edge or a joint's limit. So what
lies between two values can be estimated.
"""

from __future__ import annotations

import math

from .._jit import inner
from ..maths.lanes import bits, in_lanes, least, wave
from ..maths.rotations import Array, IntArray
from .judging import SNAP
from .regular import find_branches, put_joints
from .slots import (
    BRANCH,
    COLUMN,
    DISTANCE,
    GAP,
    HELD,
    HELD_TURN,
    HELD_VALUE,
    JOINTS,
    MOST_JOINTS,
    NONE,
    OFFSET,
    SIGN,
    SLOTS,
    START,
    SURE,
    TARGET,
    WIDTH,
    X,
)
from .turns import LOST

COST, MARGIN, POINT, NUMBERS = 0, 1, 2, 2 + MOST_JOINTS
"""What is kept of a branch at a value: the square of its distance to the start, how far from its
end it is (below 0: beyond), and where its joints stand."""
BENT = 0.2
"""A path between two values is as near to the straight way as this share of that way."""
HOPE = 0.65
"""The margin may rise by this share of the way in between, as may its own change."""

_in_lanes = in_lanes[WIDTH]


@inner
def load(plan: IntArray, target: Array, start: Array, memory: Array) -> None:
    """The target (1, 12) and the start (1, n) for all lanes."""
    for lane in range(WIDTH):
        for c in range(12):
            memory[TARGET + c, lane] = target[0, c]
        for j in range(plan[JOINTS]):
            memory[START + j, lane] = start[0, plan[COLUMN + j]]


@inner
def hold(plan: IntArray, numbers: Array, values: Array, memory: Array) -> None:
    """Hold the joint of each lane at one of eight values (8,)."""
    joint = plan[HELD]
    for lane in range(WIDTH):
        memory[HELD_VALUE, lane] = numbers[joint, SIGN] * values[lane] + numbers[joint, OFFSET]
    lanes = _in_lanes(memory)
    turn = wave(lanes[HELD_VALUE])
    lanes[HELD_TURN], lanes[HELD_TURN + 1] = turn[0], turn[1]


@inner
def choose(slot: int, lane: int, memory: Array) -> None:
    """Give a lane the branch that has this slot among all."""
    for level in range(3):
        second = (slot >> (2 - level)) & 1
        memory[BRANCH + 2 * level, lane] = -1.0 if second else 1.0


@inner
def measure(plan: IntArray, numbers: Array, memory: Array, ways: int) -> bool:
    """Fill X, DISTANCE and GAP of the slots for TARGET, START and HELD_TURN, inside the limits and
    the reach or not; NONE for what is left out.

    Returns whether joints do not matter somewhere: then a branch is more than a path.
    """
    lanes, lost = _in_lanes(memory), 0
    find_branches(plan, numbers, lanes, ways)
    for slot in range(ways * ways * ways):
        if bits(lanes[GAP + slot] > -NONE) == 0:
            lanes[DISTANCE + slot] = NONE
            continue
        beyond = put_joints(plan, numbers, lanes, slot)
        lanes[GAP + slot] = least(lanes[GAP + slot], -beyond)
        lost |= bits(lanes[SURE + slot] == LOST)
    return lost != 0


@inner
def keep(memory: Array, lane: int, row: Array) -> None:
    """row (SLOTS, NUMBERS) = the branches in a lane."""
    for slot in range(SLOTS):
        row[slot, COST] = memory[DISTANCE + slot, lane]
        row[slot, MARGIN] = memory[GAP + slot, lane]
        if row[slot, COST] < NONE:
            for j in range(MOST_JOINTS):
                row[slot, POINT + j] = memory[X + MOST_JOINTS * slot + j, lane]


@inner
def way_between(one: Array, two: Array) -> float:
    """How far a path leads the joints between two values at least [rad]. one, two (NUMBERS,)."""
    square = 0.0
    for j in range(POINT, NUMBERS):
        square += (one[j] - two[j]) ** 2
    return math.sqrt(square)


@inner
def nearest_between(one: Array, two: Array, way: float) -> float:
    """About how near to the start a path comes as a solution between two values at least [rad].

    NONE where it can't be a solution there. one, two (NUMBERS,), and the way between them.
    """
    d, e, gap = one[COST], two[COST], max(one[MARGIN], two[MARGIN])
    if d >= NONE or e >= NONE:
        return NONE if gap < -SNAP else math.sqrt(min(d, e))
    if gap < -SNAP and gap + HOPE * (way + abs(one[MARGIN] - two[MARGIN])) < 0.0:
        return NONE
    share = min(max(0.5 * (1.0 + (d - e) / (way * way)), 0.0), 1.0) if way > 0.0 else 0.0
    rest = d + share * (e - d) - share * (1.0 - share) * way * way
    return max(math.sqrt(max(rest, 0.0)) - BENT * way, 0.0)
