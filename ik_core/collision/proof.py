# SPDX-License-Identifier: Apache-2.0
"""Whether two links can come near each other: kernels that search for it, and that prove it never
happens.

Between the links lies a path of joints. In the frame of the first link, joint k turns the second
one about an axis through o_k along z_k; where the first half of a path is passed from child to
parent, its joints turn it backwards. A box is a range x - h .. x + h of joint positions.

The proof. Let n be the direction in which the links are apart at the middle of a box. Cut the path
into joints that move the first link and joints that move the second one, seen from the piece in
between. A corner p that joint k alone turns by up to h_k comes nearer by at most

    sin(h_k) |n . (z_k x r)| + (1 - cos h_k) max(n . r', 0),   r = p - o_k, r' = r across z_k

Joints act in the order of their distance from that piece, the farthest first, so that all axes are
where they are at the middle; but the corner has been moved by the joints beyond, by at most e_k.
That adds |R_k' n - n| e_k, where R_k turns n by at most 2 sin(h_k / 2) |n x z_k|. If for some cut
the gap along n is larger than all this the links do not meet in the box. Otherwise it is halved.

Bounds are computed in floating point: a proof holds for a margin that is `SPARE` larger.
"""

from __future__ import annotations

import math

from ..kernels.jit import inline_kernel, kernel
from ..kernels.records import FLOAT, INT, LANE, Layout
from ..kernels.signatures import Array1, Array2
from ..maths.lanes import Number, least, most, root
from ..maths.rotations import Array, Frame, compose, frame_at, from_axes, in_axes
from ..maths.vectors import Vector, cross, dot, minus, norm
from ..robot.kinematics import KIND, MULTIPLIER, OFFSET, PRISMATIC, moved_frame
from .epa import depth_bounds
from .gjk import FAR, between, corner_of, thickness_of
from .records import (
    CYLINDER,
    WIDTH,
    Record,
    model_lanes,
    model_numbers,
    state_lanes,
    state_numbers,
)

SPARE = 1e-9
"""[m] More than the rounding of a bound, for a robot of up to 1e3 m."""
TOLERANCE = 1e-7
"""[m] How well distances are known that only lead a search."""
NEVER, NEAR, OPEN = range(3)
"""The links never come nearer than the margin; they do; that was not decided."""
BALL_STEPS = 60
"""Steps to a point that is deep in two pieces."""
MOST_STEPS = 24
"""Steps of a descent to a configuration where the links are near."""

PATH = Layout(
    'collision_path',
    ('joints', 'variables', 'first_count', 'second_count', 'stack_rows', 'stack_columns', 'cuts'),
    hull=(INT, 2),  # pieces that contain all pieces of a link; -1: there is none
    first=(INT, 'first_count'),  # pieces of the first link
    second=(INT, 'second_count'),
    body=(INT, 'joints'),  # whose joint it is
    up=(INT, 'joints'),  # 1: passed from child to parent
    variable=(INT, 'joints'),
    lower=(FLOAT, 'variables'),
    upper=(FLOAT, 'variables'),
    x=(FLOAT, 'variables'),
    trial=(FLOAT, 'variables'),
    slope=(FLOAT, 'variables'),  # of the distance, in a descent
    half=(FLOAT, 'variables'),  # half the width of a box
    frame=(FLOAT, 12),  # of the second link's body in that of the first one's
    axis=(FLOAT, 'joints', 3),
    origin=(FLOAT, 'joints', 3),
    turn=(FLOAT, 'joints'),  # half the width of a box, of a joint
    chord=(FLOAT, 'joints'),  # 2 sin(turn / 2), how far a point at distance 1 moves
    across=(FLOAT, 'joints'),  # |n x z|
    far=(FLOAT, 2, 'joints'),  # corners of both links are at most so far from an axis
    beyond=(FLOAT, 2, 'joints'),  # and were moved so far by the joints beyond
    cost=(FLOAT, 'joints'),  # of the width of a box, to its bound
    gap=(FLOAT, 2, 'cuts'),  # of both links, along n
    lanes_gap=(LANE, 2, 'cuts'),
    lanes_far=(LANE, 2, 'joints'),
    stack=(FLOAT, 'stack_rows', 'stack_columns'),
)
path_lanes, path_numbers = PATH.vector_view(WIDTH), PATH.scalar_view(WIDTH)


# --- where the links are -------------------------------------------------------------------------


@kernel
def _place(model: Record, path: Record, x: Array) -> None:
    """Fill the axes and origins of a path's joints, and the frame of its end, as its start sees
    them."""
    frame = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0
    tree, geometry = model.tree, model.geometry
    for k in range(path.body.shape[0]):
        body = path.body[k]
        value = geometry[body, MULTIPLIER] * x[path.variable[k]] + geometry[body, OFFSET]
        first, second = value, value
        if tree[body, KIND] != PRISMATIC:
            first, second = math.cos(value), math.sin(value)
        own = frame_at(geometry, body)
        if path.up[k] == 1:
            _set_axis(path, k, frame)
            frame = compose(frame, _inverse(moved_frame(tree, body, own, first, second)))
        else:
            frame = compose(frame, own)
            _set_axis(path, k, frame)
            frame = moved_frame(tree, body, frame, first, second)
    for c in range(12):
        path.frame[c] = frame[c]


@inline_kernel
def _set_axis(path: Record, k: int, frame: Frame) -> None:
    path.axis[k, 0], path.axis[k, 1], path.axis[k, 2] = frame[2], frame[5], frame[8]
    path.origin[k, 0], path.origin[k, 1], path.origin[k, 2] = frame[9], frame[10], frame[11]


@kernel
def _inverse(frame: Frame) -> Frame:
    x, y, z = in_axes(frame, (frame[9], frame[10], frame[11]))
    return (
        frame[0], frame[3], frame[6], frame[1], frame[4], frame[7], frame[2], frame[5], frame[8],
        -x, -y, -z,
    )  # fmt: skip


@inline_kernel
def _frame_of(path: Record) -> Frame:
    f = path.frame
    return f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11]


@kernel
def _sphere_gap(model: Record, path: Record, state: Record, i: int, j: int) -> float:
    """The distance of the spheres around two pieces; `toward` is from one centre to the other."""
    sphere, frame = model.sphere, _frame_of(path)
    x, y, z = from_axes(frame, (sphere[j, 0], sphere[j, 1], sphere[j, 2]))
    gap = (
        x + frame[9] - sphere[i, 0],
        y + frame[10] - sphere[i, 1],
        z + frame[11] - sphere[i, 2],
    )
    state.toward[0], state.toward[1], state.toward[2] = gap
    return norm(gap) - sphere[i, 3] - sphere[j, 3]


# --- search --------------------------------------------------------------------------------------


@kernel(entry='ik_collision_link_distance')
def link_distance(
    model_address: int, state_address: int, path_address: int, x: Array1, slope: Array1
) -> float:
    """The distance [m] of two links at joint positions x (variables,), 0 where they touch, and its
    derivative (variables,), 0 where they touch."""
    model, corners = model_numbers(model_address), model_lanes(model_address)
    state, lanes = state_numbers(state_address), state_lanes(state_address)
    return _link_distance(model, corners, state, lanes, path_numbers(path_address), x, slope)


@kernel
def _link_distance(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    path: Record,
    x: Array,
    slope: Array,
) -> float:
    _place(model, path, x)
    best = FAR
    for v in range(slope.shape[0]):
        slope[v] = 0.0
    for i in path.first:
        for j in path.second:
            if _sphere_gap(model, path, state, i, j) >= best:
                continue
            lower, upper = between(
                model, corners, state, lanes, i, j, _frame_of(path), best, 0.0, TOLERANCE
            )
            if lower >= best or upper >= best:
                continue
            best = upper
            if best <= 0.0:
                return 0.0
            _set_slope(model, path, state, slope)
    return best


@kernel
def _set_slope(model: Record, path: Record, state: Record, slope: Array) -> None:
    """slope = the derivative of the distance in `state`: of n . (z_k x (p - o_k))."""
    x, y, z = state.toward[0], state.toward[1], state.toward[2]
    length = norm((x, y, z))
    n = x / length, y / length, z / length
    p = state.witness[0], state.witness[1], state.witness[2]
    for v in range(slope.shape[0]):
        slope[v] = 0.0
    for k in range(path.body.shape[0]):
        body, axis = path.body[k], _vector(path.axis, k)
        moved = axis
        if model.tree[body, KIND] != PRISMATIC:
            moved = cross(axis, minus(p, _vector(path.origin, k)))
        rate = model.geometry[body, MULTIPLIER] * dot(n, moved)
        slope[path.variable[k]] += -rate if path.up[k] == 1 else rate


@inline_kernel
def _vector(rows: Array, k: int) -> Vector:
    return rows[k, 0], rows[k, 1], rows[k, 2]


@kernel(entry='ik_collision_search')
def search(
    model_address: int,
    state_address: int,
    path_address: int,
    starts: Array2,
    descents: int,
    margin: float,
    found: Array1,
) -> float:
    """Search for joint positions where two links are nearest; return that distance [m].

    starts (N, variables) : positions that are tried; descents begin at the nearest of them
    found (N,) : distances there

    `path.x` has the positions. A descent ends below the margin, or at a minimum inside the limits.
    """
    model, corners = model_numbers(model_address), model_lanes(model_address)
    state, lanes = state_numbers(state_address), state_lanes(state_address)
    path = path_numbers(path_address)
    x, trial, slope = path.x, path.trial, path.slope
    nearest = 0
    for row in range(starts.shape[0]):
        found[row] = _link_distance(model, corners, state, lanes, path, starts[row], slope)
        if found[row] < found[nearest]:
            nearest = row
    best = found[nearest]
    for v in range(x.shape[0]):
        x[v] = starts[nearest, v]
    below = -1.0
    for _ in range(descents):
        if best <= margin:
            break
        row = -1  # the next one in the order of their distances
        for other in range(starts.shape[0]):
            if found[other] > below and (row < 0 or found[other] < found[row]):
                row = other
        if row < 0:
            break
        below = found[row]
        distance = _descend(model, corners, state, lanes, path, starts[row], margin)
        if distance < best:
            best = distance
            for v in range(x.shape[0]):
                x[v] = trial[v]
    return best


@kernel
def _descend(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    path: Record,
    start: Array,
    margin: float,
) -> float:
    """Newton steps to a distance below the margin, as far as limits allow; fills `trial`."""
    trial, slope, before = path.trial, path.slope, path.half
    for v in range(trial.shape[0]):
        trial[v] = start[v]
    best = _link_distance(model, corners, state, lanes, path, trial, slope)
    scale = 1.0
    for _ in range(MOST_STEPS):
        square = 0.0
        for v in range(trial.shape[0]):
            is_held = (slope[v] > 0.0 and trial[v] <= path.lower[v]) or (
                slope[v] < 0.0 and trial[v] >= path.upper[v]
            )
            before[v] = trial[v]
            square += 0.0 if is_held else slope[v] * slope[v]
        if best <= margin or square < 1e-12 or scale < 1e-2:
            break
        step = scale * (best - 0.5 * margin) / square
        for v in range(trial.shape[0]):
            move = min(max(-step * slope[v], -0.5), 0.5)
            trial[v] = min(max(trial[v] + move, path.lower[v]), path.upper[v])
        distance = _link_distance(model, corners, state, lanes, path, trial, slope)
        if distance < best:
            best = distance
            scale = min(1.0, 2.0 * scale)
        else:
            scale *= 0.25
            for v in range(trial.shape[0]):
                trial[v] = before[v]
            _link_distance(model, corners, state, lanes, path, trial, slope)
    return best


# --- proof ---------------------------------------------------------------------------------------


@kernel(entry='ik_collision_prove')
def prove(
    model_address: int,
    state_address: int,
    path_address: int,
    margin: float,
    most_boxes: int,
) -> tuple[int, int]:
    """(NEVER, NEAR or OPEN, number of boxes): whether two links come nearer than a margin [m]
    within the limits of the path; where they do `path.x` has the positions."""
    model, corners = model_numbers(model_address), model_lanes(model_address)
    state, lanes = state_numbers(state_address), state_lanes(state_address)
    path, wide = path_numbers(path_address), path_lanes(path_address)
    size, boxes = _put_whole_box(path), 0
    while size > 0:
        if boxes == most_boxes or size + 1 >= path.stack.shape[0]:
            return OPEN, boxes
        boxes += 1
        size -= 1
        _load_box(model, path, size)
        verdict = _judge(model, corners, state, lanes, path, wide, margin)
        if verdict == NEAR:
            return NEAR, boxes
        if verdict == OPEN:
            size = _halve(path, size)
    return NEVER, boxes


@inline_kernel
def _put_whole_box(path: Record) -> int:
    """Make the limits the only box of the stack; return its size."""
    for v in range(path.x.shape[0]):
        path.stack[0, v], path.stack[0, path.x.shape[0] + v] = path.lower[v], path.upper[v]
    return 1


@kernel
def _load_box(model: Record, path: Record, row: int) -> None:
    """Place the links at the middle of a box of the stack, and fill how far its joints turn."""
    x, half, stack, count = path.x, path.half, path.stack, path.x.shape[0]
    for v in range(count):
        x[v] = 0.5 * (stack[row, v] + stack[row, count + v])
        half[v] = 0.5 * (stack[row, count + v] - stack[row, v])
    _place(model, path, x)
    for k in range(path.body.shape[0]):
        body = path.body[k]
        turn = abs(model.geometry[body, MULTIPLIER]) * half[path.variable[k]]
        slides = model.tree[body, KIND] == PRISMATIC
        path.turn[k] = turn
        path.chord[k] = turn if slides else 2.0 * math.sin(0.5 * min(turn, math.pi))


@kernel
def _halve(path: Record, row: int) -> int:
    """Put the halves of the box that was taken on the stack from a row on, cut across the variable
    whose width costs most; return the stack's size."""
    x, half, stack, count = path.x, path.half, path.stack, path.x.shape[0]
    for v in range(count):
        path.slope[v] = 0.0
    for k in range(path.body.shape[0]):
        path.slope[path.variable[k]] += path.cost[k]
    worst = 0
    for v in range(count):
        if path.slope[v] > path.slope[worst]:
            worst = v
    for part in range(2):
        for v in range(count):
            stack[row, v], stack[row, count + v] = x[v] - half[v], x[v] + half[v]
        stack[row, worst + count * (1 - part)] = x[worst]
        row += 1
    return row


@kernel
def _judge(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    path: Record,
    wide: Record,
    margin: float,
) -> int:
    """NEVER: the links don't come nearer than a margin in a box; NEAR: at its middle they do."""
    if path.hull[0] >= 0:
        verdict = _judge_pair(
            model, corners, state, lanes, path, wide, path.hull[0], path.hull[1], margin
        )
        if verdict == NEVER:
            return NEVER
    for i in path.first:
        for j in path.second:
            verdict = _judge_pair(model, corners, state, lanes, path, wide, i, j, margin)
            if verdict != NEVER:
                return verdict
    return NEVER


@kernel
def _judge_pair(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    path: Record,
    wide: Record,
    i: int,
    j: int,
    margin: float,
) -> int:
    """Judge a pair of pieces, likewise."""
    _set_reach(model, corners, path, wide, i, j)
    total = 0.0
    for k in range(path.body.shape[0]):
        slides = model.tree[path.body[k], KIND] == PRISMATIC
        path.cost[k] = path.chord[k] * (1.0 if slides else min(path.far[0, k], path.far[1, k]))
        total += path.cost[k]
    if _sphere_gap(model, path, state, i, j) > total + margin + SPARE:
        return NEVER
    lower, upper = between(
        model, corners, state, lanes, i, j, _frame_of(path), FAR, margin, TOLERANCE
    )
    if upper <= margin:
        return NEAR
    if lower > total + margin + SPARE:
        return NEVER
    x, y, z = state.toward[0], state.toward[1], state.toward[2]
    length = norm((x, y, z))
    n = x / length, y / length, z / length
    bound, cut = _bound_along(model, corners, path, wide, i, j, n)
    if bound > margin + SPARE:
        return NEVER
    _set_costs(model, path, cut)
    return OPEN


@kernel
def _set_reach(model: Record, corners: Record, path: Record, wide: Record, i: int, j: int) -> None:
    """Fill `far` and `beyond`: how far corners are from each axis anywhere in the box, and how far
    the joints beyond an axis, seen from the cut, move them."""
    joints = path.body.shape[0]
    for side in range(2):
        piece = j if side == 1 else i
        for k in range(joints):
            wide.lanes_far[side, k] = 0.0 * wide.lanes_far[side, k]
        for block in range(model.span[piece, 0], model.span[piece, 1]):
            p = _corners(corners, path, block, side)
            for k in range(joints):
                r = minus(p, _vector(path.origin, k))
                along = dot(r, _vector(path.axis, k))
                wide.lanes_far[side, k] = most(wide.lanes_far[side, k], dot(r, r) - along * along)
        moved = 0.0
        for step in range(joints):  # from the link towards the other one
            k = joints - 1 - step if side == 1 else step
            square = 0.0
            for lane in range(WIDTH):
                square = max(square, path.lanes_far[side, k, lane])
            path.beyond[side, k] = moved
            path.far[side, k] = root(square) + moved
            slides = model.tree[path.body[k], KIND] == PRISMATIC
            moved += path.chord[k] * (1.0 if slides else path.far[side, k])


@inline_kernel
def _corners(
    corners: Record, path: Record, block: int, side: int
) -> tuple[Number, Number, Number]:
    """A block of corners of the first or the second link, as the first one's body sees them."""
    at = corners.corners
    x, y, z = at[block, 0], at[block, 1], at[block, 2]
    if side == 1:
        f = path.frame
        x, y, z = (
            f[0] * x + f[1] * y + f[2] * z + f[9],
            f[3] * x + f[4] * y + f[5] * z + f[10],
            f[6] * x + f[7] * y + f[8] * z + f[11],
        )
    return x, y, z


@kernel
def _bound_along(
    model: Record, corners: Record, path: Record, wide: Record, i: int, j: int, n: Vector
) -> tuple[float, int]:
    """A lower bound of the distance of two pieces in a box, from the gap along n, by the best cut:
    joints before it move the first link, the others the second one."""
    joints = path.body.shape[0]
    for k in range(joints):
        turned = cross(n, _vector(path.axis, k))
        slides = model.tree[path.body[k], KIND] == PRISMATIC
        path.across[k] = 0.0 if slides else norm(turned)
    _move_along(model, corners, path, wide, i, 0, n)
    _move_along(model, corners, path, wide, j, 1, n)
    bound, best = -FAR, 0
    for cut in range(joints + 1):
        gap = path.gap[1, cut] + path.gap[0, cut]
        for k in range(joints):
            gap -= path.chord[k] * path.across[k] * path.beyond[0 if k < cut else 1, k]
        if gap > bound:
            bound, best = gap, cut
    return bound - thickness_of(model, i) - thickness_of(model, j), best


@kernel
def _move_along(
    model: Record, corners: Record, path: Record, wide: Record, piece: int, side: int, n: Vector
) -> None:
    """gap[side, cut] = the least of n . p for the second link, of -n . p for the first one, once
    the joints on its side of the cut have moved it."""
    joints, sign = path.body.shape[0], 2.0 * side - 1.0
    for cut in range(joints + 1):
        wide.lanes_gap[side, cut] = 0.0 * wide.lanes_gap[side, cut] + FAR
    for block in range(model.span[piece, 0], model.span[piece, 1]):
        p = _corners(corners, path, block, side)
        height = sign * (n[0] * p[0] + n[1] * p[1] + n[2] * p[2])
        cut = joints if side == 1 else 0
        wide.lanes_gap[side, cut] = least(wide.lanes_gap[side, cut], height)
        for step in range(joints):
            k = joints - 1 - step if side == 1 else step
            height = height - _most_along(model, path, k, p, n, sign)
            cut = k if side == 1 else k + 1
            wide.lanes_gap[side, cut] = least(wide.lanes_gap[side, cut], height)
    for cut in range(joints + 1):
        low = FAR
        for lane in range(WIDTH):
            low = min(low, path.lanes_gap[side, cut, lane])
        path.gap[side, cut] = low


@inline_kernel
def _most_along(model: Record, path: Record, k: int, p: Vector, n: Vector, sign: float) -> Number:
    """How far joint k alone can move points p along -sign n."""
    z = _vector(path.axis, k)
    turn = path.turn[k]
    if model.tree[path.body[k], KIND] == PRISMATIC:
        return 0.0 * p[0] + turn * abs(dot(n, z))
    r = minus(p, _vector(path.origin, k))
    along = dot(r, z)
    rate = abs(dot(cross(n, z), r))
    rise = sign * (dot(n, r) - along * dot(n, z))
    sine = math.sin(turn) if turn < 0.5 * math.pi else 1.0
    return sine * rate + (1.0 - math.cos(min(turn, math.pi))) * most(rise, 0.0)


@kernel
def _set_costs(model: Record, path: Record, cut: int) -> None:
    """cost = by how much less each joint's width would raise the bound, about."""
    joints = path.body.shape[0]
    for k in range(joints):
        side = 0 if k < cut else 1
        nearer = k + 1 if side == 0 else k  # the cut that has this joint as the last one
        farther = k if side == 0 else k + 1
        alone = path.gap[side, farther] - path.gap[side, nearer]
        cost = max(alone, 0.0) + path.chord[k] * path.across[k] * path.beyond[side, k]
        slides = model.tree[path.body[k], KIND] == PRISMATIC
        moved = path.chord[k] * (1.0 if slides else path.far[side, k])
        for other in range(joints):  # those whose points this one moves
            is_nearer = k < other < cut if side == 0 else cut <= other < k
            if is_nearer:
                cost += path.chord[other] * path.across[other] * moved
        path.cost[k] = min(cost, path.cost[k]) + 0.05 * path.cost[k]


@kernel(entry='ik_collision_prove_inside')
def prove_inside(
    model_address: int,
    state_address: int,
    path_address: int,
    margin: float,
    most_boxes: int,
) -> tuple[bool, int]:
    """(whether two links are proved to be within a margin [m] everywhere, number of boxes).

    The nearest point of the second link at the middle of a box moves by at most what the joints
    move it, while that of the first one stays.
    """
    model, corners = model_numbers(model_address), model_lanes(model_address)
    state, lanes = state_numbers(state_address), state_lanes(state_address)
    path = path_numbers(path_address)
    size, boxes = _put_whole_box(path), 0
    while size > 0:
        if boxes == most_boxes or size + 1 >= path.stack.shape[0]:
            return False, boxes
        boxes += 1
        size -= 1
        _load_box(model, path, size)
        farthest = FAR
        for i in path.first:
            for j in path.second:
                _sphere_gap(model, path, state, i, j)
                frame = _frame_of(path)
                _, upper = between(
                    model, corners, state, lanes, i, j, frame, margin, -FAR, TOLERANCE
                )
                if upper > margin:
                    continue
                p = state.witness[3], state.witness[4], state.witness[5]
                moved = _moved_by_joints(model, path, p)
                if max(upper, 0.0) + moved < farthest:
                    farthest = max(upper, 0.0) + moved
                    for k in range(path.cost.shape[0]):
                        path.cost[k] = path.beyond[1, k]
        if farthest >= FAR:
            return False, boxes
        if farthest + SPARE > margin:
            size = _halve(path, size)
    return True, boxes


@kernel
def _moved_by_joints(model: Record, path: Record, p: Vector) -> float:
    """How far the joints move a point of the second link at most; fills `beyond`."""
    moved = 0.0
    for step in range(path.body.shape[0]):
        k = path.body.shape[0] - 1 - step
        slides = model.tree[path.body[k], KIND] == PRISMATIC
        away = norm(cross(minus(p, _vector(path.origin, k)), _vector(path.axis, k)))
        path.beyond[1, k] = path.chord[k] * (1.0 if slides else away + moved)
        moved += path.beyond[1, k]
    return moved


@kernel(entry='ik_collision_prove_touching')
def prove_touching(
    model_address: int, state_address: int, path_address: int, point: int, most_boxes: int
) -> tuple[bool, int]:
    """(whether two links are proved to touch everywhere, number of boxes).

    point : a piece of one corner, which is moved

    At the middle of a box a point is in both links, and a ball around it in the second one. If the
    joints move that point by less than the ball's radius, they touch in the whole box.
    """
    model, corners = model_numbers(model_address), model_lanes(model_address)
    state, lanes = state_numbers(state_address), state_lanes(state_address)
    path = path_numbers(path_address)
    size, boxes = _put_whole_box(path), 0
    while size > 0:
        if boxes == most_boxes or size + 1 >= path.stack.shape[0]:
            return False, boxes
        boxes += 1
        size -= 1
        _load_box(model, path, size)
        spare = -FAR
        for i in path.first:
            for j in path.second:
                if spare <= SPARE and _sphere_gap(model, path, state, i, j) <= 0.0:
                    spare = max(
                        spare, _common_ball(model, corners, state, lanes, path, i, j, point)
                    )
        if spare <= -FAR:
            return False, boxes
        if spare <= SPARE:
            for k in range(path.cost.shape[0]):
                path.cost[k] = path.beyond[1, k]
            size = _halve(path, size)
    return True, boxes


@kernel
def _common_ball(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    path: Record,
    i: int,
    j: int,
    point: int,
) -> float:
    """The margin by which a common point is deeper in both pieces than the joints move it, the
    largest of several points; -FAR if the pieces do not touch.
    """
    frame = _frame_of(path)
    _, upper = between(model, corners, state, lanes, i, j, frame, 0.0, -FAR, TOLERANCE)
    if upper > 0.0:
        return -FAR
    x, y, z = state.witness[0], state.witness[1], state.witness[2]
    step = 0.25 * min(model.sphere[i, 3], model.sphere[j, 3])
    best = -0.5 * FAR
    for _ in range(BALL_STEPS):
        off = minus((x, y, z), (frame[9], frame[10], frame[11]))
        first = _depth(model, corners, state, lanes, point, i, (x, y, z))
        away = state.toward[0], state.toward[1], state.toward[2]
        second = _depth(model, corners, state, lanes, point, j, in_axes(frame, off))
        spare = min(first, second - _moved_by_joints(model, path, (x, y, z)))
        best = max(best, spare)
        if best > SPARE:
            break
        if spare < first:
            away = from_axes(frame, (state.toward[0], state.toward[1], state.toward[2]))
            away = _towards_axes(model, path, (x, y, z), away)
        x, y, z = x + step * away[0], y + step * away[1], z + step * away[2]
        step *= 0.8
    return best


@kernel
def _towards_axes(model: Record, path: Record, p: Vector, way: Vector) -> Vector:
    """A way from a point, and towards the axes by as much as each moves it less there."""
    x, y, z = way
    for k in range(path.body.shape[0]):
        if model.tree[path.body[k], KIND] != PRISMATIC:
            axis = _vector(path.axis, k)
            r = cross(axis, cross(axis, minus(p, _vector(path.origin, k))))
            scale = path.chord[k] / max(norm(r), TOLERANCE)
            x, y, z = x + scale * r[0], y + scale * r[1], z + scale * r[2]
    return x, y, z


@kernel
def _depth(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    point: int,
    i: int,
    p: Vector,
) -> float:
    """How deep a point is in a piece at least [m], negative outside; `toward` is a unit vector
    inwards."""
    if model.kind[i] == CYLINDER and _set_depth_in_cylinder(model, state, i, p):
        return state.share[0]
    block = model.span[point, 0]
    for lane in range(WIDTH):
        for c in range(3):
            model.corners[block, c, lane] = p[c]
    for c in range(3):
        state.toward[c] = model.sphere[i, c] - p[c]
    here = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0
    _, upper = between(model, corners, state, lanes, point, i, here, FAR, -FAR, TOLERANCE)
    if upper <= -thickness_of(model, i):
        lower, _ = depth_bounds(model, corners, state, lanes, point, i, here)
        return lower
    way = state.toward[0], state.toward[1], state.toward[2]
    length = norm(way)
    for c in range(3):
        state.toward[c] = way[c] / length
    return -upper


@kernel
def _set_depth_in_cylinder(model: Record, state: Record, i: int, p: Vector) -> bool:
    """Whether a point is in a cylinder.

    Fills `toward` with a unit vector inwards, and the first of `share` with its exact depth [m].
    """
    first = model.span[i, 0]
    start, end = corner_of(model, first, 0), corner_of(model, first, 1)
    axis = corner_of(model, first, 2)
    r = minus(p, start)
    along = dot(r, axis)
    beyond = dot(minus(end, start), axis) - along
    off = r[0] - along * axis[0], r[1] - along * axis[1], r[2] - along * axis[2]
    across = norm(off)
    depth, scale, way = along, 1.0, axis
    if beyond < depth:
        depth, scale = beyond, -1.0
    if model.radius[i] - across < depth:
        depth, scale, way = model.radius[i] - across, -1.0 / max(across, 1e-300), off
    for c in range(3):
        state.toward[c] = scale * way[c]
    state.share[0] = depth
    return depth > 0.0
