"""What a branch may be between two values of the held joint: estimates in lanes.

Its joints go about the straight way from one value to the other, in a tube whose radius is a share
of that way; how far it is from the ends of its levels changes about evenly, too. So the part of
the way inside the limits and the reach is known, and how near to the start that comes.
"""

from __future__ import annotations

from .._jit import inner
from ..maths.lanes import Number, floor, least, most, root, select
from ..maths.rotations import Array, IntArray
from ..robot.limits import TURN
from .branch_paths import COST, GAPS, MARGIN, POINT
from .judging import SNAP
from .slots import JOINTS, LEVELS, LOWER, NONE, START, UPPER

BENT = 0.2
"""The radius of the tube, as a share of the way: of a hundred paths one leaves it (Panda);"""
FOLDED = 0.5
"""where one of the values is beyond the reach, which the path turns back before."""
HOPE = 0.25
"""A level's margin is within this share of the way, and of its own change, of an even change."""
WILD = 2.0
"""A joint that turns so far [rad] near a singularity may do so either way."""
HALF_TURN = 0.5 * TURN
FAR = 1e9
TINY = 1e-12

Clip = tuple[Number, Number]
"""Between which shares of the way."""


@inner
def way_between(plan: IntArray, one: Array, two: Array) -> Number:
    """How far joints are apart, but for whole turns. one, two (NUMBERS,): branches in lanes."""
    square = 0.0 * one[COST]
    for j in range(POINT, POINT + plan[JOINTS]):
        apart = _apart(one[j], two[j])
        square = square + apart * apart
    return root(square)


@inner
def _apart(a: Number, b: Number) -> Number:
    apart = b - a
    return apart - TURN * floor(apart * (1.0 / TURN) + 0.5)


@inner
def _clipped(clip: Clip, at: Number, rise: Number, low: Number, high: Number) -> Clip:
    """What of a way is left between two bounds of a number that is `at` first, and then rises."""
    inverse = 1.0 / select(abs(rise) > TINY, rise, TINY)
    one, two = (low - at) * inverse, (high - at) * inverse
    return most(clip[0], least(one, two)), least(clip[1], most(one, two))


@inner
def nearest_between(
    plan: IntArray, numbers: Array, lanes: Array, one: Array, two: Array
) -> tuple[Number, Number]:
    """About how near to START a branch comes as a solution between two values at least [rad], and
    how far it leads the joints [rad].

    NONE where it can't be a solution there. one, two (NUMBERS,): the branch of each lane at the
    values.
    """
    way = way_between(plan, one, two)
    clip, folds = (0.0 * way, 0.0 * way + 1.0), 0.0 * way
    for k in range(GAPS, GAPS + LEVELS):
        rise = two[k] - one[k]
        clip = _clipped(clip, one[k], rise, -HOPE * (way + abs(rise)), FAR)
        folds = least(folds, least(one[k], two[k]))
    bend = way * select(folds < 0.0, FOLDED, BENT)
    beside = along = square = 0.0 * way
    for j in range(plan[JOINTS]):
        a, b, start = one[POINT + j], two[POINT + j], lanes[START + j]
        rise = b - a
        inside = _clipped(clip, a, rise, numbers[j, LOWER] - bend, numbers[j, UPPER] + bend)
        # round the shorter way, through the gap between limits; or as far as either way round
        round_ = (abs(rise) > HALF_TURN) | (abs(_apart(a, b)) > WILD)
        clip = select(round_, clip[0], inside[0]), select(round_, clip[1], inside[1])
        near = most(least(abs(a - start), abs(b - start)) - abs(_apart(a, b)), 0.0)
        gap, rise = select(round_, near, a - start), select(round_, 0.0, rise)
        beside, along, square = beside + gap * gap, along - gap * rise, square + rise * rise
    at = least(most(along / most(square, TINY), clip[0]), clip[1])
    near = root(most(beside + at * (at * square - 2.0 * along), 0.0))
    near = select(clip[0] <= clip[1], most(near - bend, 0.0), NONE)
    known = least(one[COST], two[COST])
    is_inside = most(one[MARGIN], two[MARGIN]) >= -SNAP
    else_ = select(is_inside, root(known), NONE)
    return select(most(one[COST], two[COST]) < NONE, near, else_), way


@inner
def stays_between(plan: IntArray, one: Array, two: Array) -> Number:
    """By how much a branch surely is away from its ends all the way; below 0: it may not be."""
    way = way_between(plan, one, two)
    low = least(one[MARGIN], two[MARGIN]) - BENT * way
    for j in range(POINT, POINT + plan[JOINTS]):
        low = select(abs(two[j] - one[j]) > HALF_TURN, -NONE, low)
    for k in range(GAPS, GAPS + LEVELS):
        low = least(low, least(one[k], two[k]) - HOPE * (way + abs(two[k] - one[k])))
    return select(most(one[COST], two[COST]) < NONE, low, -NONE)
