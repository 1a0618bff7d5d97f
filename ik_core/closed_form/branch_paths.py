"""The branches of a chain of seven joints as paths, which the held joint's value leads along: a
kernel's view of them.

Of a branch at a value there is more to say than whether it is a solution: how far its joints are
from the start, and how far it is from its end, at the reach's edge or a joint's limit. So what
lies between two values can be estimated (`between`).
"""

from __future__ import annotations

from .._jit import inner
from ..maths.lanes import bits, in_lanes, least, select, wave
from ..maths.rotations import Array, IntArray
from .regular import find_branches
from .slots import (
    BRANCH,
    COLUMN,
    DISTANCE,
    GAP,
    HELD,
    HELD_TURN,
    HELD_VALUE,
    JOINTS,
    LEVELS,
    MOST_JOINTS,
    NONE,
    OFFSET,
    REACH,
    SIGN,
    SLOTS,
    START,
    SURE,
    TARGET,
    WIDTH,
    X,
)
from .standing import margin_of, put_joints
from .turns import LOST

UNKNOWN_MARGIN = -1.0
"""Of a branch whose joints do not matter: one of many solutions, if it is any, is none."""
COST, MARGIN, GAPS = 0, 1, 2
POINT = GAPS + LEVELS
NUMBERS = POINT + MOST_JOINTS
"""What is kept of a branch at a value: the square of its distance to the start, how far from its
end it is (below 0: beyond), how far from that of each level, and where its joints stand."""

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
def hold_one(plan: IntArray, numbers: Array, value: float, trial: Array, memory: Array) -> None:
    """Hold the joint of all lanes at a value. trial (1 or more, 8): room."""
    for lane in range(WIDTH):
        trial[0, lane] = value
    hold(plan, numbers, trial[0], memory)


@inner
def choose(slot: int, lane: int, memory: Array) -> None:
    """Give a lane the branch that has this slot among all."""
    for level in range(LEVELS):
        second = (slot >> (LEVELS - 1 - level)) & 1
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
        if bits(lanes[REACH + LEVELS * slot] > -NONE) == 0:
            lanes[DISTANCE + slot], lanes[GAP + slot] = NONE, -NONE
            continue
        put_joints(plan, numbers, lanes, slot)
        is_lost, margin = lanes[SURE + slot] == LOST, margin_of(lanes, slot)
        lanes[GAP + slot] = select(is_lost, least(margin, UNKNOWN_MARGIN), margin)
        lost |= bits(is_lost)
    return lost != 0


@inner
def keep(memory: Array, slot: int, lane: int, rows: Array, column: int) -> None:
    """A column of rows (NUMBERS, 8) = the branch in a slot and lane."""
    rows[COST, column] = memory[DISTANCE + slot, lane]
    rows[MARGIN, column] = memory[GAP + slot, lane]
    if rows[COST, column] < NONE:
        for k in range(LEVELS):
            rows[GAPS + k, column] = memory[REACH + LEVELS * slot + k, lane]
        for j in range(MOST_JOINTS):
            rows[POINT + j, column] = memory[X + MOST_JOINTS * slot + j, lane]


@inner
def keep_all(memory: Array, lane: int, rows: Array) -> None:
    """rows (NUMBERS, SLOTS) = the branches in a lane."""
    for slot in range(SLOTS):
        keep(memory, slot, lane, rows, slot)
