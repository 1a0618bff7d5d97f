"""From what a layout proposes to solutions: inside the limits, each once, judged.

It is judged by the forward kinematics of the problem itself, not by the layout, so a layout may
be lenient: near double solutions, and for chains whose axes nearly meet.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, njit
from ..maths.rotations import Array, IntArray, compose, frame_at, put_frame, relative_log
from ..maths.vectors import minus, norm
from ..robot.kinematics import body_frames
from ..robot.limits import TURN
from .cores import COMPLETED, HELD, KIND, ORDER, POINT, six_joints

EXACT = 1e-9
"""Errors [m, rad] of a solution."""
UNMOVED = 0.1
"""Largest values of virtual joints [rad] of what may be followed to a solution."""
SAME = 1e-4
"""Solutions no further apart in any joint are the same [rad or m]."""
SNAP = 1e-9
"""A joint this far beyond a limit is on it; EXACT allows for it."""
BEYOND = 1e-4
"""An exact solution this far beyond a limit may have one inside, to the tolerances, beside it."""
MOST_FOUND = 16
"""Rows for what is found."""
HALF = 0.5 - 1e-9
"""Half a turn more, as where a wrist flips, and half a turn less are equally near: the former is
taken, also where rounding is for the other."""
SOLUTION, NEAR = 1, 2
UNDETERMINED = -1
# rows of `poses`
CHAIN, HOME, TARGET, TOOL = 0, 1, 2, 3
# rows of `links`, of `scales`, of `limits`
VARIABLE, SLIDES = 0, 1
SIGN, OFFSET = 0, 1
LOWER, UPPER, TURNS = 0, 1, 4


@njit
def propose(
    layout: IntArray,
    rows: Array,
    links: IntArray,
    scales: Array,
    held: float,
    guess: float,
    margin: float,
    tree: IntArray,
    geometry: Array,
    frames: Array,
    poses: Array,
    limits: Array,
    start: Array,
    x: Array,
    chain: Array,
    six: IntArray,
    stands: Array,
    free: Array,
    angles: Array,
    places: Array,
    found: Array,
    q: Array,
    kinds: IntArray,
) -> int:
    """Fill q (MOST_FOUND, variables) and kinds with what is found, the nearest to the start first;
    return how many. UNDETERMINED where a singularity of the completed chain leaves it open.

    links (2, joints): each joint's variable (-1: virtual) and whether it is prismatic
    scales (2, joints): its multiplier, 1 or -1, and offset
    held: the value [rad, m] of the joint that is held
    guess: the value of joints that do not matter to the completed chain, if it has virtual ones;
        NaN where that shall be found out
    margin: errors [m, rad] from which a solution may be followed
    poses (4, 12): room for the chain's target, the inverse of the goal's frame with all joints at
        0, the target, the goal's frame in the last body's
    limits (5, variables): as `JointLimits.packed`; start (variables,)
    kinds: SOLUTION, or NEAR for what has to be followed to one

    The other arrays are memory: frames (bodies, 12), x (variables,), chain (6, 6), six (6,),
    stands (joints,), free (6,), angles (8,), places (8, 3), found (8, 6).
    """
    target = frame_at(poses, TARGET)
    if layout[KIND] != POINT:
        target = compose(target, frame_at(poses, HOME))
    put_frame(poses, CHAIN, target)
    for i in range(stands.shape[0]):
        variable = links[VARIABLE, i]
        stands[i] = 0.0
        if layout[COMPLETED]:
            stands[i] = guess
        elif variable >= 0:
            stands[i] = scales[SIGN, i] * start[variable] + scales[OFFSET, i]
    proposed = six_joints(
        layout, rows, links, held, poses, stands, chain, six, free, angles, places, found
    )
    return settle(
        layout, links, scales, held, margin, tree, geometry, frames, poses, limits, start, x,
        found, proposed, q, kinds,
    )  # fmt: skip


@njit
def settle(
    layout: IntArray,
    links: IntArray,
    scales: Array,
    held: float,
    margin: float,
    tree: IntArray,
    geometry: Array,
    frames: Array,
    poses: Array,
    limits: Array,
    start: Array,
    x: Array,
    found: Array,
    proposed: int,
    q: Array,
    kinds: IntArray,
) -> int:
    """As `propose`, for values found[:proposed] (6,) of the six joints."""
    count, point = 0, layout[KIND] == POINT
    for k in range(proposed):
        for i in range(6):
            if np.isnan(found[k, i]):
                return UNDETERMINED
        if count < MOST_FOUND and _variables(
            layout, links, scales, held, found, k, margin, q, count
        ):
            _nearest_turns(links, limits, start, q, count)
            kinds[count] = _judge(
                tree, geometry, frames, poses, limits, x, q, count, margin, point
            )
            if kinds[count] and not _known(limits, q, kinds, count):
                count += 1
    _sort(q, kinds, count, start)
    return count


@inner
def _variables(
    layout: IntArray,
    links: IntArray,
    scales: Array,
    held: float,
    found: Array,
    k: int,
    margin: float,
    q: Array,
    row: int,
) -> bool:
    """Put what was found into a row of q; False where a virtual joint would have to move."""
    for i in range(6):
        joint = layout[ORDER + i]
        variable = links[VARIABLE, joint]
        if variable >= 0:
            q[row, variable] = scales[SIGN, joint] * (found[k, i] - scales[OFFSET, joint])
        elif abs(_nearest_zero(found[k, i])) > max(margin, UNMOVED):
            return False
    joint = layout[HELD]
    if joint >= 0:
        q[row, links[VARIABLE, joint]] = scales[SIGN, joint] * (held - scales[OFFSET, joint])
    return True


@inner
def _nearest_turns(links: IntArray, limits: Array, start: Array, q: Array, row: int) -> None:
    """Turn revolute joints next to the start, inside the limits or as near to these as can be."""
    for i in range(links.shape[1]):
        j = links[VARIABLE, i]
        if j < 0 or links[SLIDES, i]:
            continue
        turns = np.floor((start[j] - q[row, j]) / TURN + HALF)
        turns = min(turns, np.floor((limits[UPPER, j] + SNAP - q[row, j]) / TURN))
        turns = max(turns, np.ceil((limits[LOWER, j] - SNAP - q[row, j]) / TURN))
        q[row, j] += TURN * turns
        above, below = q[row, j] - limits[UPPER, j], limits[LOWER, j] - q[row, j] + TURN
        if above > SNAP and below < above:
            q[row, j] -= TURN


@inner
def _nearest_zero(angle: float) -> float:
    """The angle without whole turns."""
    return angle - TURN * np.floor(angle / TURN + 0.5)


@inner
def _judge(
    tree: IntArray,
    geometry: Array,
    frames: Array,
    poses: Array,
    limits: Array,
    x: Array,
    q: Array,
    row: int,
    margin: float,
    position_only: bool,
) -> int:
    """SOLUTION, NEAR or 0; a joint on a limit but for rounding is put onto it."""
    beyond = 0.0
    for j in range(q.shape[1]):
        x[j] = q[row, j]
        beyond = max(beyond, limits[LOWER, j] - q[row, j], q[row, j] - limits[UPPER, j])
    if beyond > margin:
        return 0
    body_frames(tree, geometry, x, frames)
    tip = compose(frame_at(frames, frames.shape[0] - 1), frame_at(poses, TOOL))
    target = frame_at(poses, TARGET)
    error = norm(minus((tip[9], tip[10], tip[11]), (target[9], target[10], target[11])))
    if not position_only:
        error = max(error, norm(relative_log(target, tip)))
    if error > EXACT:
        return NEAR if error <= margin else 0
    if beyond > SNAP:
        return NEAR if beyond <= BEYOND else 0
    for j in range(q.shape[1]):
        q[row, j] = min(max(q[row, j], limits[LOWER, j]), limits[UPPER, j])
    return SOLUTION


@inner
def _known(limits: Array, q: Array, kinds: IntArray, row: int) -> bool:
    """Whether a row is the same solution as one before it."""
    for i in range(row):
        gap = 0.0
        for j in range(q.shape[1]):
            apart = q[i, j] - q[row, j]
            if limits[TURNS, j]:
                apart = _nearest_zero(apart)
            gap = max(gap, abs(apart))
        if gap <= SAME and kinds[i] == kinds[row]:
            return True
    return False


@inner
def _sort(q: Array, kinds: IntArray, count: int, start: Array) -> None:
    """By the distance to the start."""
    for last in range(count - 1, 0, -1):
        for row in range(last):
            if _distance(q, row, start) > _distance(q, row + 1, start):
                kinds[row], kinds[row + 1] = kinds[row + 1], kinds[row]
                for j in range(q.shape[1]):
                    q[row, j], q[row + 1, j] = q[row + 1, j], q[row, j]


@inner
def _distance(q: Array, row: int, start: Array) -> float:
    square = 0.0
    for j in range(q.shape[1]):
        square += (q[row, j] - start[j]) ** 2
    return square
