"""Where joints stand for what was found: next to the start, inside the limits; in lanes."""

from __future__ import annotations

from .._jit import inner
from ..maths.lanes import Number, angle_of, bits, floor, least, most, select
from ..maths.rotations import Array, IntArray
from ..robot.limits import TURN
from .cores import WRIST
from .judging import HALF, SNAP
from .slots import (
    BEYOND,
    BOUND,
    DISTANCE,
    FOUND,
    HELD_VALUE,
    JOINTS,
    KIND,
    LEVELS,
    LOWER,
    MARGIN,
    MOST_JOINTS,
    NONE,
    OFFSET,
    PLACE,
    REACH,
    SIGN,
    START,
    SURE,
    UPPER,
    X,
)
from .turns import LOST, NO

HALVES = 3
"""Of a layout's joints the first three or the last three are shared by several slots."""


@inner
def _stand(
    plan: IntArray, numbers: Array, lanes: Array, slot: int, i: int
) -> tuple[Number, Number]:
    """Put joint i of the chain in a slot next to the start, inside the limits, or as near to these
    as can be; return how far it is beyond them, and how far from the start [rad]."""
    place = plan[PLACE + i]
    lower, upper = numbers[i, LOWER], numbers[i, UPPER]
    start = lanes[START + i]
    if place < 0:
        value = lanes[HELD_VALUE]
    else:
        at = FOUND + 12 * slot + 2 * place
        value = angle_of(lanes[at], lanes[at + 1])
    x = numbers[i, SIGN] * (value - numbers[i, OFFSET])
    turns = floor((start - x) * (1.0 / TURN) + HALF)
    turns = least(turns, floor((upper + SNAP - x) * (1.0 / TURN)))
    turns = most(turns, -floor((x + SNAP - lower) * (1.0 / TURN)))
    x = x + TURN * turns
    above, below = x - upper, lower - x + TURN
    x = select((above > SNAP) & (below < above), x - TURN, x)
    beyond = most(lower - x, x - upper)
    x = select(beyond > SNAP, x, most(least(x, upper), lower))
    lanes[X + MOST_JOINTS * slot + i] = x
    return beyond, x - start


@inner
def _is_shared(plan: IntArray, i: int) -> bool:
    """Whether joint i of the chain stands alike in slots that follow each other."""
    place = plan[PLACE + i]
    return place < 0 or (place < HALVES) == (plan[KIND] == WRIST)


@inner
def stand_shared(plan: IntArray, numbers: Array, lanes: Array, slot: int, ways: int) -> bool:
    """Put the held joint and those that so many slots from this one on have in common; return
    whether all these slots are of no use in any lane.

    They are where those joints are beyond limits, or together as far from the start as BOUND
    allows. SURE of the slot becomes NO in lanes where it is so: what comes of a lane may not
    depend on its neighbours.
    """
    distance = 0.0 * lanes[BOUND]
    beyond = distance - NONE
    for i in range(plan[JOINTS]):
        if _is_shared(plan, i):
            over, gap = _stand(plan, numbers, lanes, slot, i)
            beyond, distance = most(beyond, over), distance + gap * gap
            for k in range(slot + 1, slot + ways):
                lanes[X + MOST_JOINTS * k + i] = lanes[X + MOST_JOINTS * slot + i]
    for k in range(slot, slot + ways):
        lanes[BEYOND + k], lanes[DISTANCE + k] = beyond, distance
    useful = (beyond <= numbers[0, MARGIN]) & (distance < lanes[BOUND])
    useful = useful | (lanes[SURE + slot] == LOST)
    lanes[SURE + slot] = select(useful, lanes[SURE + slot], NO)
    return bits(useful) == 0


@inner
def put_joints(plan: IntArray, numbers: Array, lanes: Array, slot: int) -> Number:
    """Put all variables of a slot, of which `stand_shared` has put some; return how far they are
    beyond the limits [rad], as BEYOND; DISTANCE: the slot's distance to the start, squared."""
    beyond, distance = lanes[BEYOND + slot], lanes[DISTANCE + slot]
    for i in range(plan[JOINTS]):
        if not _is_shared(plan, i):
            over, gap = _stand(plan, numbers, lanes, slot, i)
            beyond, distance = most(beyond, over), distance + gap * gap
    lanes[BEYOND + slot], lanes[DISTANCE + slot] = beyond, distance
    return beyond


@inner
def margin_of(lanes: Array, slot: int) -> Number:
    """How far a slot whose joints are put is from the end of its branch: from a joint's limit
    [rad], or the reach's edge as in `turns.Line`; below 0: beyond."""
    row = REACH + LEVELS * slot
    reach = least(least(lanes[row], lanes[row + 1]), lanes[row + 2])
    return least(reach, -lanes[BEYOND + slot])
