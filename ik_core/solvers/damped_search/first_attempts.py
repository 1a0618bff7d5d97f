"""First attempts, in lanes alone: from the arrays of a batch into a lane, and back into those.

As a rule that is all there is to a problem. One whose first attempt leads nowhere is put aside,
with where it ended in the place of its answer.
"""

from __future__ import annotations

from ..._jit import inlined
from ...maths.lanes import numbers_of
from ...maths.rotations import IntArray
from ...robot.kinematics import OFFSET
from ...robot.limits import take_nearest_turns
from . import crew as own
from .board import NOWHERE, NUMBER, PUT, Aside, Found, Given, begin_in_lane, free
from .crew import Crew
from .memory import REACHED


@inlined
def begin_first(crew: Crew, board: IntArray, lane: int, given: Given, i: int) -> None:
    """Have a lane begin the first attempt of problem i, at its start."""
    geometry, targets = numbers_of(crew.p.geometry), numbers_of(crew.p.targets)
    vectors, bounds = numbers_of(crew.vectors), crew.bounds
    for k in range(given.frozen.shape[0]):
        geometry[given.frozen[k], OFFSET, lane] = given.angles[i, k]
    for g in range(targets.shape[0]):
        for c in range(12):
            targets[g, c, lane] = given.targets[i, g, c]
    for j in range(vectors.shape[1]):
        x = min(max(given.starts[i, j], bounds[0, j]), bounds[1, j])
        vectors[own.X, j, lane] = x
    begin_in_lane(crew, board, lane, NOWHERE, i)


@inlined
def end_first(
    crew: Crew, board: IntArray, lane: int, given: Given, aside: Aside, found: Found
) -> None:
    """Hand in the answer of a first attempt that reached the goals.

    Where a joint of it is nearer by a whole turn, that is left to a desk: it is judged again.
    """
    vectors, values = numbers_of(crew.vectors), numbers_of(crew.values)
    errors, bounds, i = numbers_of(crew.p.errors), crew.bounds, board[NUMBER, lane]
    point, turned = found.points[i], False
    for j in range(point.shape[0]):
        point[j] = vectors[own.X, j, lane]
    take_nearest_turns(point, given.near[i], bounds[0], bounds[1], bounds[4])
    for j in range(point.shape[0]):
        turned = turned or point[j] != vectors[own.X, j, lane]
    if turned:
        put_aside(crew, board, lane, REACHED, aside, found)
        return
    steps = int(values[own.STEPS, lane])
    found.costs[i] = values[own.COST, lane]
    for g in range(errors.shape[0]):
        found.errors[i, g, 0], found.errors[i, g, 1] = errors[g, 0, lane], errors[g, 1, lane]
    found.codes[i, 0], found.codes[i, 1] = REACHED, steps
    found.codes[i, 2], found.codes[i, 3] = steps + 1, 0
    free(crew, board, lane)


@inlined
def put_aside(
    crew: Crew, board: IntArray, lane: int, status: int, aside: Aside, found: Found
) -> None:
    """Note, in the place of its answer, how and where the first attempt of a problem ended."""
    vectors, values = numbers_of(crew.vectors), numbers_of(crew.values)
    i = board[NUMBER, lane]
    for j in range(vectors.shape[1]):
        found.points[i, j] = vectors[own.X, j, lane]
    found.costs[i] = values[own.COST, lane]
    found.codes[i, 0], found.codes[i, 1] = status, int(values[own.STEPS, lane])
    aside.which[board[PUT, 0]] = i
    board[PUT, 0] += 1
    free(crew, board, lane)
