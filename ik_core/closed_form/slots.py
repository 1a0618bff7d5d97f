"""Where everything is in the two arrays that `regular` reads, and in its memory."""

from __future__ import annotations

from .._jit import inner
from ..maths.lanes import Number
from ..maths.rotations import Array, Frame, from_axes
from ..maths.vectors import Vector
from .cores import apply

SLOTS = 8
WIDTH = 8
"""Lanes."""
POSES, BRANCHES = 2, 1
"""What the lanes are: each another pose, for which eight slots are filled, two branches thrice; or
each another branch of one pose, in one slot."""
# the whole numbers of a plan; of each joint of the chain: the one it is in the layout's order (-1:
# held), and its place in q
KIND, HELD, REVERSED, CUT, JOINTS, ORDER, PLACE, COLUMN, WHOLES = 0, 1, 2, 3, 4, 5, 11, 18, 25
# rows of a plan's numbers, with the joints' first: axis, point, SIGN, ...
SIGN, OFFSET, LOWER, UPPER, MARGIN, NEAR = 6, 7, 8, 9, 10, 11
MOST_JOINTS = 7
FIXED, TOOL, HOME, NUMBERS = MOST_JOINTS, 2 * MOST_JOINTS, 2 * MOST_JOINTS + 1, 2 * MOST_JOINTS + 2
"""Rows: the joints, the fixed frame before each, the goal's frame in the last body's, the inverse
of where that is when all joints stand at 0."""
# rows of the memory
TARGET, START, HELD_TURN, HELD_VALUE, CHAIN, BODY, FOUND = 0, 12, 19, 21, 22, 58, 70
SURE = FOUND + 12 * SLOTS
BRANCH = SURE + SLOTS
X = BRANCH + 6
DISTANCE = X + MOST_JOINTS * SLOTS
RANK = DISTANCE + SLOTS
DOUBT = RANK + SLOTS
MISS = DOUBT + 1
NEAREST = MISS + 1
LOSS = NEAREST + 1
BOUND = LOSS + 1
GAP = BOUND + 1
BEYOND = GAP + SLOTS
REACH = BEYOND + SLOTS
LEVELS = 3
"""Equations with two answers each, one after the other."""
ROWS = REACH + LEVELS * SLOTS
NONE = 1e300
"""The distance of what is no solution."""


@inner
def frame_in(lanes: Array, row: int) -> Frame:
    """The frame in twelve rows."""
    return (
        lanes[row], lanes[row + 1], lanes[row + 2], lanes[row + 3], lanes[row + 4], lanes[row + 5],
        lanes[row + 6], lanes[row + 7], lanes[row + 8], lanes[row + 9], lanes[row + 10],
        lanes[row + 11],
    )  # fmt: skip


@inner
def axis_in(lanes: Array, k: int) -> Vector:
    """The axis of row k of the chain."""
    row = CHAIN + 6 * k
    return lanes[row], lanes[row + 1], lanes[row + 2]


@inner
def point_in(lanes: Array, k: int) -> Vector:
    """The point of row k of the chain."""
    row = CHAIN + 6 * k + 3
    return lanes[row], lanes[row + 1], lanes[row + 2]


@inner
def put(lanes: Array, row: int, v: Vector) -> None:
    """Three rows = v."""
    lanes[row], lanes[row + 1], lanes[row + 2] = v


@inner
def carry(lanes: Array, k: int, frame: Frame) -> None:
    """Row k of the chain moved along with a frame."""
    axis, point = from_axes(frame, axis_in(lanes, k)), apply(frame, point_in(lanes, k))
    put(lanes, CHAIN + 6 * k, axis)
    put(lanes, CHAIN + 6 * k + 3, point)


@inner
def note(lanes: Array, slot: int, k: int, c: Number, s: Number) -> None:
    """Joint k of a slot has this cosine and sine."""
    row = FOUND + 12 * slot + 2 * k
    lanes[row], lanes[row + 1] = c, s


@inner
def copy_joints(lanes: Array, slot: int, to: int, k: int) -> None:
    """Three joints, from k on, of a slot also for another one."""
    for i in range(2 * k, 2 * k + 6):
        lanes[FOUND + 12 * to + i] = lanes[FOUND + 12 * slot + i]
