"""Where joints stand for what was found: next to the start, inside the limits; in lanes."""

from __future__ import annotations

from .._jit import inner
from ..maths.lanes import Number, angle_of, bits, floor, least, most, select
from ..maths.rotations import Array, IntArray
from ..robot.limits import TURN
from .judging import HALF, SNAP
from .slots import (
    BOUND,
    FOUND,
    HELD_TURN,
    HELD_VALUE,
    JOINTS,
    LOWER,
    MARGIN,
    OFFSET,
    PLACE,
    SIGN,
    START,
    SURE,
    UPPER,
)
from .turns import LOST, NO

FIRST = 3
"""Joints of a layout that several slots have in common."""


@inner
def stand(
    plan: IntArray, numbers: Array, lanes: Array, slot: int, i: int
) -> tuple[Number, Number, Number]:
    """Joint i of the chain in a slot: its variable next to the start, inside the limits; how far
    it is beyond these; how far from the start [rad]."""
    place = plan[PLACE + i]
    lower, upper = numbers[i, LOWER], numbers[i, UPPER]
    at = HELD_TURN if place < 0 else FOUND + 12 * slot + 2 * place
    value, start = angle_of(lanes[at], lanes[at + 1]), lanes[START + i]
    if place < 0:
        value = lanes[HELD_VALUE]
    x = numbers[i, SIGN] * (value - numbers[i, OFFSET])
    turns = floor((start - x) * (1.0 / TURN) + HALF)
    turns = least(turns, floor((upper + SNAP - x) * (1.0 / TURN)))
    turns = most(turns, -floor((x + SNAP - lower) * (1.0 / TURN)))
    x = x + TURN * turns
    beyond = most(lower - x, x - upper)
    x = most(least(x, upper), lower)
    return x, beyond, x - start


@inner
def is_useless(plan: IntArray, numbers: Array, lanes: Array, slot: int) -> bool:
    """Whether the held joint and the layout's first three are beyond limits in every lane, or
    together as far from the start as BOUND allows: then so are all slots that have these.

    SURE of the slot becomes NO in lanes where it is so: what comes of a lane may not depend on
    its neighbours.
    """
    beyond = distance = 0.0 * lanes[BOUND]
    for i in range(plan[JOINTS]):
        if plan[PLACE + i] < FIRST:
            _, over, gap = stand(plan, numbers, lanes, slot, i)
            beyond, distance = most(beyond, over), distance + gap * gap
    useful = (beyond <= numbers[0, MARGIN]) & (distance < lanes[BOUND])
    useful = useful | (lanes[SURE + slot] == LOST)
    lanes[SURE + slot] = select(useful, lanes[SURE + slot], NO)
    return bits(useful) == 0
