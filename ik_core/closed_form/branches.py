# SPDX-License-Identifier: Apache-2.0
"""The branches of a chain of seven joints as paths along the redundancy parameter.

For a branch at a value of the parameter the kernel returns its joints, their distance from the
start, and the distance to the branch's end: a joint's limit or the edge of the reach, where a
subproblem loses its solutions. From this the branch between two values is estimated: the joints
move in a tube around the straight line from one value to the other, whose radius is a fraction of
its length, and the gaps of subproblems change about evenly. So it is known which part of the line
is inside the limits and the reach, and how near to the start it comes.
"""

from __future__ import annotations

from ..kernels.jit import kernel
from ..maths.lanes import Number, bits, floor, in_lanes, least, most, root, select
from ..maths.rotations import Array, IntArray
from ..robot.limits import FULL_TURN
from . import records as rec
from .kernel import LIMIT_SNAP, MEASURED, load_goal, load_start, passes_of, prepare, solve_branches
from .records import result_at

# Columns of a branch at a value: its squared distance to the start, its distance from its end
# (negative beyond the end), and its distances from the ends of each subproblem.
COST, END, EDGES = 0, 1, 2
STAND = EDGES + rec.SIGNS  # First column of a branch's joint values
NUMBERS = STAND + rec.MOST_JOINTS
# The radius of the tube, as a fraction of the path. One of a hundred paths of the Panda leaves it.
TUBE_RADIUS = 0.2
# The radius if a value lies beyond the reach: the path turns back before it
FOLDED_TUBE_RADIUS = 0.5
# Gaps deviate from an even change by at most this fraction of the path and of their own change.
GAP_DEVIATION = 0.25
# A joint that turns further than this [rad] near a singularity may do so in either direction.
WILD = 2.0
HALF_TURN = 0.5 * FULL_TURN
ENDLESS = 1e9
TINY = 1e-12

Clip = tuple[Number, Number]  # An interval of fractions of the path

_in_lanes = in_lanes[rec.WIDTH]


# --- branches at a value -------------------------------------------------------------------------


@kernel
def load(plan: IntArray, targets: Array, starts: Array, memory: Array) -> None:
    """Load the target (1, 12) and the start (1, n) into all lanes, without a bound."""
    for lane in range(rec.WIDTH):
        load_goal(targets, 0, lane, memory)
        load_start(plan, starts, starts[0], 0, lane, memory)
        memory[rec.BOUND, lane] = rec.NONE


@kernel
def set_values(values: Array, memory: Array) -> None:
    """Set the redundancy parameter of each lane to values (8,)."""
    for lane in range(rec.WIDTH):
        memory[rec.VALUE, lane] = values[lane]


@kernel
def choose(plan: IntArray, slot: int, lane: int, memory: Array) -> None:
    """Set the branch signs of a lane to those of branch number `slot`."""
    for sign in range(plan[rec.USED_SIGNS]):
        second = (slot >> (plan[rec.USED_SIGNS] - 1 - sign)) & 1
        memory[rec.SIGN_OF + sign, lane] = -1.0 if second else 1.0


@kernel
def measure(plan: IntArray, numbers: Array, memory: Array, spread: int) -> bool:
    """Fill the results with the joints of all branches, also of those outside the limits and the
    reach.

    FREE is NaN. Returns whether joints are undetermined somewhere: then a branch is more than a
    path.
    """
    prepare(plan, numbers, memory)
    solve_branches(plan, numbers, memory, spread, MEASURED)
    return bits(_in_lanes(memory)[rec.UNDETERMINED] > 0.0) != 0


@kernel
def keep(plan: IntArray, memory: Array, slot: int, lane: int, rows: Array, column: int) -> None:
    """Copy the branch of a slot and lane to a column of rows (NUMBERS, 8)."""
    at = result_at(slot)
    rows[COST, column], rows[END, column] = (
        memory[at + rec.DISTANCE, lane],
        memory[at + rec.LIMIT_MARGIN, lane],
    )
    if rows[COST, column] < rec.NONE:
        for k in range(rec.SIGNS):
            used = k < plan[rec.USED_SIGNS]
            rows[EDGES + k, column] = memory[at + rec.GAPS + k, lane] if used else 1.0
        for j in range(rec.MOST_JOINTS):
            rows[STAND + j, column] = memory[at + j, lane]


@kernel
def keep_all(plan: IntArray, memory: Array, lane: int, rows: Array) -> None:
    """Copy the branches of a lane to rows (NUMBERS, SLOTS)."""
    for slot in range(rec.SLOTS):
        if slot < passes_of(plan, 0):
            keep(plan, memory, slot, lane, rows, slot)
        else:
            rows[COST, slot], rows[END, slot] = rec.NONE, -rec.NONE


# --- and between two values ----------------------------------------------------------------------


@kernel
def way_between(plan: IntArray, one: Array, two: Array) -> Number:
    """Return the distance between branches one, two (NUMBERS,), in lanes, modulo whole turns."""
    square = 0.0 * one[COST]
    for j in range(STAND, STAND + plan[rec.JOINTS]):
        apart = _apart(one[j], two[j])
        square = square + apart * apart
    return root(square)


@kernel
def _apart(a: Number, b: Number) -> Number:
    apart = b - a
    return apart - FULL_TURN * floor(apart * (1.0 / FULL_TURN) + 0.5)


@kernel
def _clipped(clip: Clip, at: Number, rise: Number, low: Number, high: Number) -> Clip:
    """Return the interval of t on which at + rise t stays within two bounds."""
    inverse = 1.0 / select(abs(rise) > TINY, rise, TINY)
    one, two = (low - at) * inverse, (high - at) * inverse
    return most(clip[0], least(one, two)), least(clip[1], most(one, two))


@kernel
def nearest_between(
    plan: IntArray, numbers: Array, lanes: Array, one: Array, two: Array
) -> tuple[Number, Number]:
    """Estimate how near to START a branch gets between two values, and how far its joints move
    [rad].

    NONE where it can't be a solution there. one, two (NUMBERS,): the branch of each lane at the
    values.
    """
    way = way_between(plan, one, two)
    clip, folds = (0.0 * way, 0.0 * way + 1.0), 0.0 * way
    for k in range(EDGES, EDGES + rec.SIGNS):
        rise = two[k] - one[k]
        clip = _clipped(clip, one[k], rise, -GAP_DEVIATION * (way + abs(rise)), ENDLESS)
        folds = least(folds, least(one[k], two[k]))
    bend = way * select(folds < 0.0, FOLDED_TUBE_RADIUS, TUBE_RADIUS)
    beside = along = square = 0.0 * way
    for j in range(plan[rec.JOINTS]):
        a, b, start, k = one[STAND + j], two[STAND + j], lanes[rec.START + j], j + 1
        rise = b - a
        lower, upper = numbers[k, rec.LOWER] - bend, numbers[k, rec.UPPER] + bend
        inside = _clipped(clip, a, rise, lower, upper)
        # round the shorter way, through the gap between limits; or as far as either way round
        round_ = (abs(rise) > HALF_TURN) | (abs(_apart(a, b)) > WILD)
        clip = select(round_, clip[0], inside[0]), select(round_, clip[1], inside[1])
        near = most(least(abs(a - start), abs(b - start)) - abs(_apart(a, b)), 0.0)
        gap, rise = select(round_, near, a - start), select(round_, 0.0, rise)
        beside, along, square = beside + gap * gap, along - gap * rise, square + rise * rise
    at = least(most(along / most(square, TINY), clip[0]), clip[1])
    near = root(most(beside + at * (at * square - 2.0 * along), 0.0))
    near = select(clip[0] <= clip[1], most(near - bend, 0.0), rec.NONE)
    known = least(one[COST], two[COST])
    is_inside = most(one[END], two[END]) >= -LIMIT_SNAP
    else_ = select(is_inside, root(known), rec.NONE)
    return select(most(one[COST], two[COST]) < rec.NONE, near, else_), way


@kernel
def stays_between(plan: IntArray, one: Array, two: Array) -> Number:
    """Estimate a lower bound of a branch's distance to its ends between two values, or below 0."""
    way = way_between(plan, one, two)
    low = least(one[END], two[END]) - TUBE_RADIUS * way
    for j in range(STAND, STAND + plan[rec.JOINTS]):
        low = select(abs(two[j] - one[j]) > HALF_TURN, -rec.NONE, low)
    for k in range(EDGES, EDGES + rec.SIGNS):
        low = least(low, least(one[k], two[k]) - GAP_DEVIATION * (way + abs(two[k] - one[k])))
    return select(most(one[COST], two[COST]) < rec.NONE, low, -rec.NONE)
