# SPDX-License-Identifier: Apache-2.0
"""Kernels that search for configurations with two links near, or prove that there are none.

Between the links lies a path of joints. In the frame of the first link, joint k turns the second
one about an axis through o_k along z_k; joints of the first part of a path, which leads from child
to parent, turn backwards. A box is a range x - h .. x + h of joint positions.

The proof. Let n be the direction along which the links are separated in the middle of a box. Cut
the path in two: joints before the cut move the first link, those after it the second link,
relative to the piece between them. A corner p that joint k alone turns by up to h_k comes nearer
by at most

    sin(h_k) |n . (z_k x r)| + (1 - cos h_k) max(n . r', 0),   r = p - o_k, r' = r across z_k

Joints are applied in the order of their distance from the cut, the farthest first, so that all
axes are those of the middle; but the joints beyond joint k have already moved the corner, by at
most e_k. That adds |R_k' n - n| e_k, where R_k turns n by at most 2 sin(h_k / 2) |n x z_k|. If for
some cut the gap along n exceeds the sum of all this, the links do not meet in the box. Otherwise
the box is halved.

Bounds are computed in floating point; therefore a proof uses a margin that is larger by `GUARD`.
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
from .bounds import GUARD
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

GUIDING_TOLERANCE = 1e-7  # [m] of distances that only guide a search
# verdicts: the links never come nearer than the margin; they do; not decided
NEVER, NEAR, OPEN = range(3)
BALL_STEPS = 60  # to a point that is deep in two pieces
DESCENT_STEPS = 24  # of a descent to a configuration in which the links are near

PATH = Layout(
    'collision_path',
    ('joints', 'variables', 'first_count', 'second_count', 'stack_rows', 'stack_columns', 'cuts'),
    hull=(INT, 2),  # pieces that contain all pieces of a link; -1: there is none
    first=(INT, 'first_count'),  # pieces of the first link
    second=(INT, 'second_count'),
    body=(INT, 'joints'),  # the body that the joint moves
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
    far=(FLOAT, 2, 'joints'),  # largest distance of both links' corners from an axis
    beyond=(FLOAT, 2, 'joints'),  # how far the joints beyond it have moved them
    cost=(FLOAT, 'joints'),  # how much the width of the box lowers its bound
    gap=(FLOAT, 2, 'cuts'),  # of both links, along n
    lanes_gap=(LANE, 2, 'cuts'),
    lanes_far=(LANE, 2, 'joints'),
    stack=(FLOAT, 'stack_rows', 'stack_columns'),
)
path_lanes, path_numbers = PATH.vector_view(WIDTH), PATH.scalar_view(WIDTH)


# --- frames --------------------------------------------------------------------------------------


@kernel
def _place(model: Record, path: Record, x: Array) -> None:
    """Write a path's axes, origins and second link's frame, all in the first link's frame.

    Not by `place_bodies`: the first part of a path leads from child to parent, and only the joints
    between the links are placed.
    """
    frame = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0
    tree, geometry = model.tree, model.geometry
    for k in range(path.body.shape[0]):
        body = path.body[k]
        angle = geometry[body, MULTIPLIER] * x[path.variable[k]] + geometry[body, OFFSET]
        cosine, sine = math.cos(angle), math.sin(angle)
        own = frame_at(geometry, body)
        if path.up[k] == 1:
            _set_axis(path, k, frame)
            frame = compose(frame, _inverse(moved_frame(tree, body, own, angle, cosine, sine)))
        else:
            frame = compose(frame, own)
            _set_axis(path, k, frame)
            frame = moved_frame(tree, body, frame, angle, cosine, sine)
    for c in range(12):
        path.frame[c] = frame[c]


@inline_kernel
def _set_axis(path: Record, k: int, frame: Frame) -> None:
    """Write the axis and the origin of joint k from its frame."""
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
    """The distance [m] of two pieces' spheres; `toward` becomes the vector between the centres."""
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
    """The distance [m] of two links at joint positions x (variables,), 0 if they touch.

    Its derivative goes to slope (variables,); zeros if they touch.
    """
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
                model, corners, state, lanes, i, j, _frame_of(path), best, 0.0, GUIDING_TOLERANCE
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
    """Write the derivative of the distance in `state`, from n . (z_k x (p - o_k)), to slope."""
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
    """Search for joint positions with the least distance of two links; return that distance [m].

    starts (N, variables) : positions to try; descents begin at the nearest of them
    found (N,) : distances at `starts` [m]

    Writes the positions to `path.x`. A descent ends below the margin, or at a minimum inside the
    limits.
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
        row = -1  # the next start in the order of their distances
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
    """Descend by Newton steps, inside the limits, until the distance is below the margin; writes
    the positions to `trial`, returns the distance [m]."""
    trial, slope, before = path.trial, path.slope, path.half
    for v in range(trial.shape[0]):
        trial[v] = start[v]
    best = _link_distance(model, corners, state, lanes, path, trial, slope)
    scale = 1.0
    for _ in range(DESCENT_STEPS):
        square = 0.0
        for v in range(trial.shape[0]):
            is_clamped = (slope[v] > 0.0 and trial[v] <= path.lower[v]) or (
                slope[v] < 0.0 and trial[v] >= path.upper[v]
            )
            before[v] = trial[v]
            square += 0.0 if is_clamped else slope[v] * slope[v]
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
    """Decide whether two links come nearer than a margin [m] within the limits of the path.

    Returns NEVER, NEAR or OPEN, and the number of boxes. If NEAR, `path.x` has the positions.
    """
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
        verdict = _check_box(model, corners, state, lanes, path, wide, margin)
        if verdict == NEAR:
            return NEAR, boxes
        if verdict == OPEN:
            size = _halve(path, size)
    return NEVER, boxes


@inline_kernel
def _put_whole_box(path: Record) -> int:
    """Make the box of the limits the only one of the stack; return the stack's size."""
    for v in range(path.x.shape[0]):
        path.stack[0, v], path.stack[0, path.x.shape[0] + v] = path.lower[v], path.upper[v]
    return 1


@kernel
def _load_box(model: Record, path: Record, row: int) -> None:
    """Place the links in the middle of a box of the stack, and write how far its joints turn."""
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
    """Push the halves of the loaded box onto the stack, from a row on; return the stack's size.

    The box is halved across the variable whose width costs most.
    """
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
def _check_box(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    path: Record,
    wide: Record,
    margin: float,
) -> int:
    """Return NEVER if the links are farther apart than a margin [m] in the whole box, NEAR if
    they are within the margin at its centre, else OPEN."""
    if path.hull[0] >= 0:
        verdict = _check_pieces(
            model, corners, state, lanes, path, wide, path.hull[0], path.hull[1], margin
        )
        if verdict == NEVER:
            return NEVER
    for i in path.first:
        for j in path.second:
            verdict = _check_pieces(model, corners, state, lanes, path, wide, i, j, margin)
            if verdict != NEVER:
                return verdict
    return NEVER


@kernel
def _check_pieces(
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
    """Return the verdict of `_check_box` for one pair of pieces."""
    _set_reach(model, corners, path, wide, i, j)
    total = 0.0
    for k in range(path.body.shape[0]):
        slides = model.tree[path.body[k], KIND] == PRISMATIC
        path.cost[k] = path.chord[k] * (1.0 if slides else min(path.far[0, k], path.far[1, k]))
        total += path.cost[k]
    if _sphere_gap(model, path, state, i, j) > total + margin + GUARD:
        return NEVER
    lower, upper = between(
        model, corners, state, lanes, i, j, _frame_of(path), FAR, margin, GUIDING_TOLERANCE
    )
    if upper <= margin:
        return NEAR
    if lower > total + margin + GUARD:
        return NEVER
    x, y, z = state.toward[0], state.toward[1], state.toward[2]
    length = norm((x, y, z))
    n = x / length, y / length, z / length
    bound, cut = _bound_along(model, corners, path, wide, i, j, n)
    if bound > margin + GUARD:
        return NEVER
    _set_costs(model, path, cut)
    return OPEN


@kernel
def _set_reach(model: Record, corners: Record, path: Record, wide: Record, i: int, j: int) -> None:
    """Bound how far the joints of a path move the corners of two pieces, anywhere in the box.

    `far` : largest distance of the corners from the axis of each joint
    `beyond` : largest motion of the corners by the joints between them and that joint
    """
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
    """A block of corners of the first (side 0) or second link, in the first link's frame."""
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
    """Return a lower bound of the distance of two pieces in a box, from the gap along n, and its
    cut.

    A cut divides the path: joints before it move the first link, the others the second link. The
    cut with the largest bound is chosen.
    """
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
    """Write gap[side, cut] [m] for each cut: the smallest height that a piece can move to.

    The height of a point p is n . p on the second link (side 1), -n . p on the first one (side 0).
    Only the joints on the link's side of the cut move the piece.
    """
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
    """The largest displacement of points p along -sign n by joint k alone [m]."""
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
    """Write `cost`: estimates of how much the width of each joint lowers the bound [m]."""
    joints = path.body.shape[0]
    for k in range(joints):
        side = 0 if k < cut else 1
        nearer = k + 1 if side == 0 else k  # the cut next to this joint, which it still crosses
        farther = k if side == 0 else k + 1
        alone = path.gap[side, farther] - path.gap[side, nearer]
        cost = max(alone, 0.0) + path.chord[k] * path.across[k] * path.beyond[side, k]
        slides = model.tree[path.body[k], KIND] == PRISMATIC
        moved = path.chord[k] * (1.0 if slides else path.far[side, k])
        for other in range(joints):  # joints whose points this one moves
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
    """Try to prove that two links are within a margin [m] at all positions of the path.

    Returns whether that is proved, and the number of boxes. In a box, the point of the second link
    nearest to the first one in the middle moves by at most what the joints move it, while the
    nearest point of the first link stays.
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
                    model, corners, state, lanes, i, j, frame, margin, -FAR, GUIDING_TOLERANCE
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
        if farthest + GUARD > margin:
            size = _halve(path, size)
    return True, boxes


@kernel
def _moved_by_joints(model: Record, path: Record, p: Vector) -> float:
    """Bound how far the joints can move a point `p` of the second link within the box [m].

    Writes the contribution of each joint to `path.beyond[1]`."""
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
    """Try to prove that two links touch at all positions of the path.

    point : a piece with one corner; kernels move it

    Returns whether that is proved, and the number of boxes. In the middle of a box a point is in
    both links, with a ball around it in the second one. If the joints move that point by less than
    the ball's radius, the links touch in the whole box.
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
                if spare <= GUARD and _sphere_gap(model, path, state, i, j) <= 0.0:
                    spare = max(
                        spare, _common_ball(model, corners, state, lanes, path, i, j, point)
                    )
        if spare <= -FAR:
            return False, boxes
        if spare <= GUARD:
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
    """The largest margin [m] by which a common point is deeper in both pieces than joints move it.

    Several points are tried. Returns -FAR if the pieces do not touch.
    """
    frame = _frame_of(path)
    _, upper = between(model, corners, state, lanes, i, j, frame, 0.0, -FAR, GUIDING_TOLERANCE)
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
        if best > GUARD:
            break
        if spare < first:
            away = from_axes(frame, (state.toward[0], state.toward[1], state.toward[2]))
            away = _towards_axes(model, path, (x, y, z), away)
        x, y, z = x + step * away[0], y + step * away[1], z + step * away[2]
        step *= 0.8
    return best


@kernel
def _towards_axes(model: Record, path: Record, p: Vector, direction: Vector) -> Vector:
    """Turn a direction from p towards each joint's axis, in proportion to the joint's rotation."""
    x, y, z = direction
    for k in range(path.body.shape[0]):
        if model.tree[path.body[k], KIND] != PRISMATIC:
            axis = _vector(path.axis, k)
            r = cross(axis, cross(axis, minus(p, _vector(path.origin, k))))
            scale = path.chord[k] / max(norm(r), GUIDING_TOLERANCE)
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
    """A lower bound of p's depth in piece i [m], negative outside; `toward` points inwards."""
    if model.kind[i] == CYLINDER and _set_depth_in_cylinder(model, state, i, p):
        return state.weights[0]
    block = model.span[point, 0]
    for lane in range(WIDTH):
        for c in range(3):
            model.corners[block, c, lane] = p[c]
    for c in range(3):
        state.toward[c] = model.sphere[i, c] - p[c]
    here = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0
    _, upper = between(model, corners, state, lanes, point, i, here, FAR, -FAR, GUIDING_TOLERANCE)
    if upper <= -thickness_of(model, i):
        lower, _ = depth_bounds(model, corners, state, lanes, point, i, here)
        return lower
    inwards = state.toward[0], state.toward[1], state.toward[2]
    length = norm(inwards)
    for c in range(3):
        state.toward[c] = inwards[c] / length
    return -upper


@kernel
def _set_depth_in_cylinder(model: Record, state: Record, i: int, p: Vector) -> bool:
    """Return whether a point is in a cylinder.

    Writes a unit vector inwards to `toward`, and the exact depth [m] to the first of `weights`.
    """
    first = model.span[i, 0]
    start, end = corner_of(model, first, 0), corner_of(model, first, 1)
    axis = corner_of(model, first, 2)
    r = minus(p, start)
    along = dot(r, axis)
    beyond = dot(minus(end, start), axis) - along
    off = r[0] - along * axis[0], r[1] - along * axis[1], r[2] - along * axis[2]
    across = norm(off)
    depth, scale, direction = along, 1.0, axis
    if beyond < depth:
        depth, scale = beyond, -1.0
    if model.radius[i] - across < depth:
        depth, scale, direction = model.radius[i] - across, -1.0 / max(across, 1e-300), off
    for c in range(3):
        state.toward[c] = scale * direction[c]
    state.weights[0] = depth
    return depth > 0.0
