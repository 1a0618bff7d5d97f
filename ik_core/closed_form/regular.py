"""Eight poses at once, where they are regular: what `cores` does, without branches.

For revolute chains of six, or of seven with one joint held, of which three axes meet (and of the
others two neighbours meet or are parallel, the first two as the layout takes them) or three are
parallel. All answers have a place of their own, a *slot*: eight in all. A pose that is near a
double solution or a singularity is left to `judging.propose`, which treats these with care: here
it is only noticed. What comes out is judged by the forward kinematics of the problem, as there.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import inner, njit
from ..maths.lanes import Number, bits, in_lanes, least, most, root, select, wave
from ..maths.rotations import Array, IntArray, compose, frame_at
from ..maths.vectors import dot, minus
from .branches import cut_open, parallel, wrist
from .cores import WRIST, apply, inverse
from .judging import BEYOND, EXACT, SNAP
from .slots import (
    BODY,
    BOUND,
    BRANCH,
    BRANCHES,
    COLUMN,
    DISTANCE,
    DOUBT,
    FIXED,
    FOUND,
    HELD,
    HELD_TURN,
    HELD_VALUE,
    JOINTS,
    KIND,
    LOSS,
    MARGIN,
    MISS,
    MOST_JOINTS,
    NEAREST,
    NONE,
    OFFSET,
    PLACE,
    POSES,
    RANK,
    SIGN,
    SLOTS,
    START,
    SURE,
    TARGET,
    TOOL,
    WIDTH,
    X,
    frame_in,
)
from .standing import put_joints
from .turns import LOST, MISSED, NO, UNCLEAR, spun

_in_lanes = in_lanes[WIDTH]


# --- what is a solution -------------------------------------------------------------------------


@inner
def error_of(plan: IntArray, numbers: Array, lanes: Array, slot: int) -> Number:
    """How far the goal's frame is from its target [m, rad], by the joints' cosines and sines."""
    row = FOUND + 12 * slot
    place = plan[PLACE]
    at = HELD_TURN if place < 0 else row + 2 * place
    frame = spun(frame_at(numbers, FIXED), lanes[at], lanes[at + 1])
    for i in range(1, plan[JOINTS]):
        place = plan[PLACE + i]
        at = HELD_TURN if place < 0 else row + 2 * place
        frame = spun(compose(frame, frame_at(numbers, FIXED + i)), lanes[at], lanes[at + 1])
    tool = numbers[TOOL, 9], numbers[TOOL, 10], numbers[TOOL, 11]
    there = lanes[TARGET + 9], lanes[TARGET + 10], lanes[TARGET + 11]
    gap = minus(apply(frame, tool), there)
    turn = 0.0 * gap[0]
    for i in range(9):
        apart = frame[i] - lanes[BODY + i]
        turn = turn + apart * apart
    return root(most(dot(gap, gap), 0.5 * turn))


@inner
def error_at_start(plan: IntArray, numbers: Array, lanes: Array) -> Number:
    """How far the goal's frame is from its target at START [m, rad]; spoils the first slot."""
    for i in range(plan[JOINTS]):
        place = plan[PLACE + i]
        at = HELD_TURN if place < 0 else FOUND + 2 * place
        turn = wave(numbers[i, SIGN] * lanes[START + i] + numbers[i, OFFSET])
        lanes[at], lanes[at + 1] = turn[0], turn[1]
    _put_body(numbers, lanes)
    return error_of(plan, numbers, lanes, 0)


@inner
def _put_body(numbers: Array, lanes: Array) -> None:
    """BODY: where the last body has to be for the goal's frame to be at its target."""
    body = compose(frame_in(lanes, TARGET), inverse(frame_at(numbers, TOOL)))
    for i in range(12):
        lanes[BODY + i] = body[i]


@inner
def _judge(plan: IntArray, numbers: Array, lanes: Array, slot: int) -> None:
    """Keep the distance of a solution, NONE for others.

    DOUBT where that is not clear, MISS where it is near one, LOSS where another would do as well.
    A single solution a little beyond a limit is a near one: what may be inside beside it is none
    that is exact, but in a slot of its own.
    NEAREST: the least distance of one, be it one of two that nearly coincide. Where no lane has
    one inside the limits and nearer than its BOUND, less is computed.
    """
    sure, margin = lanes[SURE + slot], numbers[0, MARGIN]
    if bits(sure > NO) == 0:
        lanes[DISTANCE + slot] = NONE
        return
    beyond = put_joints(plan, numbers, lanes, slot)
    useful = (beyond <= margin) & (lanes[DISTANCE + slot] < lanes[BOUND])
    if bits(useful | (sure == LOST)) == 0:
        lanes[DISTANCE + slot] = NONE
        return
    error = error_of(plan, numbers, lanes, slot)
    single, outside = sure > UNCLEAR, (error <= EXACT) & (beyond > SNAP)
    far = (error > margin) | (beyond > margin) | (outside & (single | (beyond > BEYOND)))
    good = single & (error <= EXACT) & (beyond <= SNAP)
    distance = lanes[DISTANCE + slot]
    lanes[DISTANCE + slot] = select(good, distance, NONE)
    clear = select(good | far, 1.0, 0.0) > 0.5
    lanes[DOUBT] = select(sure < UNCLEAR, lanes[DOUBT], select(clear, lanes[DOUBT], 1.0))
    lanes[LOSS] = select(sure == LOST, 1.0, lanes[LOSS])
    missed = (sure == MISSED) | (single & outside & (beyond <= BEYOND))
    missed = missed & (error <= margin) & (beyond <= margin)
    lanes[MISS] = select(missed, 1.0, lanes[MISS])
    reached = (sure > NO) & (error <= EXACT) & (beyond <= SNAP)
    lanes[NEAREST] = select(reached, least(distance, lanes[NEAREST]), lanes[NEAREST])


@inner
def find_branches(plan: IntArray, numbers: Array, lanes: Array, ways: int) -> None:
    """The joints' cosines and sines in all slots, how sure they are, and how far from an end."""
    lanes[DOUBT] = 0.0
    target = cut_open(plan, numbers, lanes)
    if plan[KIND] == WRIST:
        wrist(plan, numbers, lanes, target, ways)
    else:
        parallel(plan, numbers, lanes, target, ways)


@inner
def solve_lanes(plan: IntArray, numbers: Array, lanes: Array, ways: int) -> int:
    """Fill X and DISTANCE of all slots for TARGET, START and HELD_TURN; `ways`: what lanes are.

    Returns those, as bits, that have to be left to `propose`.
    """
    lanes[MISS] = lanes[LOSS] = 0.0
    lanes[NEAREST] = NONE
    find_branches(plan, numbers, lanes, ways)
    _put_body(numbers, lanes)
    for slot in range(ways * ways * ways):
        _judge(plan, numbers, lanes, slot)
    return bits((lanes[DOUBT] > 0.0) | (lanes[LOSS] > 0.0))


@inner
def set_branches(memory: Array, ways: int) -> None:
    """Say what lanes are: which sign each takes, of the two at each of three levels; no BOUND."""
    for level in range(3):
        for i in range(2):
            for lane in range(WIDTH):
                second = i if ways == POSES else (lane >> (2 - level)) & 1
                memory[BRANCH + 2 * level + i, lane] = -1.0 if second else 1.0
    set_bound(memory, NONE)


@inner
def set_bound(memory: Array, bound: float) -> None:
    """From which distance on, squared, solutions are of no use."""
    for lane in range(WIDTH):
        memory[BOUND, lane] = bound


@inner
def _rank(lanes: Array) -> None:
    """RANK of each slot by its distance, from 0 on."""
    for slot in range(SLOTS):
        lanes[RANK + slot] = 0.0
    for one in range(SLOTS):
        for two in range(one):
            nearer = select(lanes[DISTANCE + one] < lanes[DISTANCE + two], 1.0, 0.0)
            lanes[RANK + one] = lanes[RANK + one] + (1.0 - nearer)
            lanes[RANK + two] = lanes[RANK + two] + nearer


@inner
def load_start(
    plan: IntArray, numbers: Array, starts: Array, held: Array, i: int, lane: int, memory: Array
) -> None:
    """A lane of START and HELD_TURN for pose i."""
    row, hold = min(i, starts.shape[0] - 1), plan[HELD]
    for j in range(plan[JOINTS]):
        memory[START + j, lane] = starts[row, plan[COLUMN + j]]
    if hold >= 0:
        value = numbers[hold, SIGN] * held[min(i, held.shape[0] - 1)] + numbers[hold, OFFSET]
        memory[HELD_TURN, lane], memory[HELD_TURN + 1, lane] = math.cos(value), math.sin(value)
        memory[HELD_VALUE, lane] = value


@njit
def solve_poses(
    plan: IntArray,
    numbers: Array,
    targets: Array,
    starts: Array,
    held: Array,
    first: int,
    last: int,
    memory: Array,
    q: Array,
    counts: IntArray,
) -> None:
    """Fill q (N, SLOTS, n), NaN behind the last, and counts (N,) for the poses `first` to `last`.

    targets (N, 12), starts (N, n), held (N,) [rad]; one row serves all. The nearest to the start
    is first. A count of -1 leaves a pose to `propose`. memory (ROWS, WIDTH). plan, numbers: see
    `plans`.
    """
    lanes = _in_lanes(memory)
    ways = BRANCHES if last - first == 1 else POSES
    set_branches(memory, ways)
    for begin in range(first, last, WIDTH):
        for lane in range(WIDTH):
            i = min(begin + lane, last - 1)
            for c in range(12):
                memory[TARGET + c, lane] = targets[min(i, targets.shape[0] - 1), c]
            load_start(plan, numbers, starts, held, i, lane, memory)
        doubt = solve_lanes(plan, numbers, lanes, ways)
        if ways == BRANCHES:
            missed = bits(lanes[MISS] > 0.0) > 0
            counts[first] = _unload_branches(plan, memory, starts, q, first)
            if doubt or (missed and counts[first] == 0):
                counts[first] = -1
        else:
            _rank(lanes)
            for lane in range(min(WIDTH, last - begin)):
                i = begin + lane
                counts[i] = _unload_slots(plan, memory, lane, starts, q, i)
                if (doubt >> lane) & 1 or (memory[MISS, lane] > 0.0 and counts[i] == 0):
                    counts[i] = -1


@inner
def _unload_slots(
    plan: IntArray, memory: Array, lane: int, starts: Array, q: Array, i: int
) -> int:
    """Put the solutions of one pose, which are in the slots, into q[i]; return how many."""
    count = 0
    for slot in range(SLOTS):
        if memory[DISTANCE + slot, lane] < NONE:
            _unload(plan, memory, slot, lane, starts, q, i, int(memory[RANK + slot, lane]))
            count += 1
    _clear(q, i, count)
    return count


@inner
def _unload_branches(plan: IntArray, memory: Array, starts: Array, q: Array, i: int) -> int:
    """The same where they are in the lanes of one slot."""
    count = 0
    for lane in range(WIDTH):
        distance, row = memory[DISTANCE, lane], 0
        if distance < NONE:
            for other in range(WIDTH):
                before = memory[DISTANCE, other]
                row += before < distance or (before == distance and other < lane)
            _unload(plan, memory, 0, lane, starts, q, i, row)
            count += 1
    _clear(q, i, count)
    return count


@inner
def _unload(
    plan: IntArray,
    memory: Array,
    slot: int,
    lane: int,
    starts: Array,
    q: Array,
    i: int,
    row: int,
) -> None:
    """q[i, row] = the solution in a slot and lane."""
    first = min(i, starts.shape[0] - 1)
    for j in range(q.shape[2]):
        q[i, row, j] = starts[first, j]
    for j in range(plan[JOINTS]):
        q[i, row, plan[COLUMN + j]] = memory[X + MOST_JOINTS * slot + j, lane]


@inner
def _clear(q: Array, i: int, first: int) -> None:
    """q[i, first:] = NaN."""
    for row in range(first, q.shape[1]):
        for j in range(q.shape[2]):
            q[i, row, j] = np.nan
