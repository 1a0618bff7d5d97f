# SPDX-License-Identifier: Apache-2.0
"""Kernels that Python calls: collision checks for rows of configurations, distances, gradients."""

from __future__ import annotations

from ..kernels.jit import inline_kernel, kernel
from ..kernels.signatures import Array1, Array2, BoolArray1
from ..maths.rotations import Array, Frame, from_axes, in_axes
from ..maths.vectors import Vector, cross, dot, minus, norm, times
from ..robot.kinematics import KIND, MULTIPLIER, PARENT, PRISMATIC, VARIABLE
from .bounds import bound_pairs, place_pieces
from .epa import depth_of
from .gjk import FAR, between, support, thickness_of
from .normals import sharpen
from .records import (
    CYLINDER,
    FIRST,
    GROUP,
    PLANE,
    SECOND,
    WIDTH,
    Record,
    model_lanes,
    model_numbers,
    state_lanes,
    state_numbers,
)

# [m] the largest gap between the bounds of a distance: on a surface of radius r it leaves an error
# of sqrt(GAP_TOLERANCE / r) in the normal
GAP_TOLERANCE = 1e-16


@kernel(entry='ik_collision_free_rows')
def free_rows(model_address: int, state_address: int, rows: Array2, free: BoolArray1) -> None:
    """Check rows (N, n): free (N,) is True if all pairs are farther apart than their margins."""
    state = state_numbers(state_address)
    for row in range(0, rows.shape[0], WIDTH):
        used = min(WIDTH, rows.shape[0] - row)
        for lane in range(WIDTH):
            for j in range(rows.shape[1]):
                state.q[j, lane] = rows[row + min(lane, used - 1), j]
        found = _free_lanes(model_address, state_address, used)
        for lane in range(used):
            free[row + lane] = found >> lane & 1 == 1


@kernel(entry='ik_collision_is_any_outside')
def is_any_outside(rows: Array2, lower: Array1, upper: Array1) -> bool:
    """Return whether a joint is outside its limits (n,) in any of the rows (N, n)."""
    for row in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if rows[row, j] < lower[j] or rows[row, j] > upper[j]:
                return True
    return False


@kernel
def fill_lanes(state: Record, q: Array) -> None:
    """Write q (n,) to all lanes."""
    for j in range(q.shape[0]):
        for lane in range(WIDTH):
            state.q[j, lane] = q[j]


@kernel
def is_collision_free(model_address: int, state_address: int, q: Array) -> bool:
    """Return whether all pairs are farther apart than their margins at q (n,)."""
    state = state_numbers(state_address)
    fill_lanes(state, q)
    return _free_lanes(model_address, state_address, 1) == 1


@kernel
def _free_lanes(model_address: int, state_address: int, used: int) -> int:
    """Return the free lanes of `state.q`, among the first `used` ones, as bits."""
    model, corners = model_numbers(model_address), model_lanes(model_address)
    state, lanes = state_numbers(state_address), state_lanes(state_address)
    place_pieces(model, lanes)
    count = bound_pairs(model, lanes, -FAR)
    free = (1 << used) - 1
    for c in range(count):
        k = state.near[c]
        margin = model.margin[k]
        for lane in range(used):
            if (state.lanes[c] & free) >> lane & 1 == 1:
                lower, _ = _apart(model, corners, state, lanes, k, lane, margin)
                if lower <= margin:
                    free &= ~(1 << lane)
    return free


@kernel
def _apart(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    k: int,
    lane: int,
    margin: float,
) -> tuple[float, float]:
    """Bounds of the distance of pair k that suffice to compare it with a margin [m]."""
    i, j = model.pairs[k, FIRST], model.pairs[k, SECOND]
    if model.kind[j] == PLANE:
        height = set_over_plane(model, corners, state, lanes, i, j, lane)
        return height, height
    frame = relative_frame(state.frames, model.body[i], model.body[j], lane)
    set_direction(model, state, i, j, frame)
    return between(model, corners, state, lanes, i, j, frame, margin, margin, GAP_TOLERANCE)


@inline_kernel
def frame_of_lane(frames: Array, body: int, lane: int) -> Frame:
    return (
        frames[body, 0, lane], frames[body, 1, lane], frames[body, 2, lane],
        frames[body, 3, lane], frames[body, 4, lane], frames[body, 5, lane],
        frames[body, 6, lane], frames[body, 7, lane], frames[body, 8, lane],
        frames[body, 9, lane], frames[body, 10, lane], frames[body, 11, lane],
    )  # fmt: skip


@kernel
def relative_frame(frames: Array, a: int, b: int, lane: int) -> Frame:
    """The frame of body b in that of body a."""
    first, second = frame_of_lane(frames, a, lane), frame_of_lane(frames, b, lane)
    x0, x1, x2 = in_axes(first, (second[0], second[3], second[6]))
    y0, y1, y2 = in_axes(first, (second[1], second[4], second[7]))
    z0, z1, z2 = in_axes(first, (second[2], second[5], second[8]))
    p = in_axes(first, (second[9] - first[9], second[10] - first[10], second[11] - first[11]))
    return x0, y0, z0, x1, y1, z1, x2, y2, z2, p[0], p[1], p[2]


@inline_kernel
def set_direction(model: Record, state: Record, i: int, j: int, frame: Frame) -> None:
    """Set the first search direction: between the centres of the pieces' spheres."""
    sphere = model.sphere
    x, y, z = from_axes(frame, (sphere[j, 0], sphere[j, 1], sphere[j, 2]))
    state.toward[0] = x + frame[9] - sphere[i, 0]
    state.toward[1] = y + frame[10] - sphere[i, 1]
    state.toward[2] = z + frame[11] - sphere[i, 2]


@kernel
def set_over_plane(
    model: Record, corners: Record, state: Record, lanes: Record, i: int, j: int, lane: int
) -> float:
    """Distance [m] of piece i from plane j, negative below it; fills `witness` and `toward`."""
    box = model.box
    frame = frame_of_lane(state.frames, model.body[i], lane)
    normal = in_axes(frame, (box[j, 2], box[j, 5], box[j, 8]))
    origin = in_axes(frame, (box[j, 9] - frame[9], box[j, 10] - frame[10], box[j, 11] - frame[11]))
    lowest = support(model, corners, state, lanes, i, times(-1.0, normal))
    height = dot(normal, minus(lowest, origin))
    for c in range(3):
        state.toward[c] = -normal[c]
        state.witness[c], state.witness[3 + c] = lowest[c], lowest[c] - height * normal[c]
    return height - thickness_of(model, i)


@kernel
def deepest(model_address: int, state_address: int, q: Array, reach: float) -> float:
    """Return the largest violation of a margin at q (n,) [m]; -FAR without pairs in reach.

    reach : the largest margin [m]
    """
    model, state, worst = model_numbers(model_address), state_numbers(state_address), -FAR
    for index in range(distances_at(model_address, state_address, q, reach, False)):
        worst = max(worst, model.margin[state.found[index]] - state.distances[index, 0])
    return worst


# --- distances -----------------------------------------------------------------------------------


@kernel(entry='ik_collision_distances_at')
def distances_at(
    model_address: int, state_address: int, q: Array1, within: float, only_nearest: bool
) -> int:
    """Find the nearest pieces of all pairs of links at q (n,) that are nearer than `within` [m],
    or only those of the nearest pair of links, at any distance. Returns their number.

    Fills, a row for each: `found`, the pair of pieces; `distances`: signed distance [m], points of
    both pieces and normal from the first to the second, in the root link's frame.
    """
    model, corners = model_numbers(model_address), model_lanes(model_address)
    state, lanes = state_numbers(state_address), state_lanes(state_address)
    fill_lanes(state, q)
    place_pieces(model, lanes)
    return _nearest_pairs(model, corners, state, lanes, within, only_nearest)


@kernel(entry='ik_collision_gradients_of_rows')
def gradients_of_rows(
    model_address: int, state_address: int, rows: Array2, distances: Array1, gradients: Array2
) -> None:
    """Write the distance of the nearest pair and its gradient for each configuration.

    rows (N, n); distances (N,) [m], FAR if there is no pair; gradients (N, n) [m per rad or m]
    """
    model = model_numbers(model_address)
    state = state_numbers(state_address)
    for row in range(rows.shape[0]):
        count = distances_at(model_address, state_address, rows[row], FAR, True)
        distances[row] = state.distances[0, 0] if count > 0 else FAR
        for j in range(rows.shape[1]):
            gradients[row, j] = 0.0
        if count > 0:
            add_slopes(model, state, 0, gradients[row])


@kernel
def _nearest_pairs(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    within: float,
    only_nearest: bool,
) -> int:
    """Find the distances for `distances_at`, once all pieces are placed.

    Pairs are tried in the order of their bounds, so that most are never computed.
    """
    groups = 1 if only_nearest else state.result_index.shape[0]
    for g in range(groups):
        state.result_index[g] = -1
    count, left = 0, bound_pairs(model, lanes, within)
    while left > 0:
        first = 0
        for c in range(1, left):
            if state.bound[state.near[c], 0] < state.bound[state.near[first], 0]:
                first = c
        k = state.near[first]
        left -= 1
        state.near[first] = state.near[left]
        group = 0 if only_nearest else model.pairs[k, GROUP]
        index = state.result_index[group]
        best = within if index < 0 else min(within, state.distances[index, 0])
        if state.bound[k, 0] > best:
            if only_nearest:
                break
            continue
        distance = distance_of(model, corners, state, lanes, k, 0, best)
        if distance <= best:
            if index < 0:
                index, count = count, count + 1
                state.result_index[group] = index
            state.found[index] = k
            put_distance(model, state, k, index, distance)
    return count


@kernel
def distance_of(
    model: Record, corners: Record, state: Record, lanes: Record, k: int, lane: int, best: float
) -> float:
    """The signed distance [m] of pair k in a lane if it is at most `best`; else a lower bound that
    exceeds `best`."""
    i, j = model.pairs[k, FIRST], model.pairs[k, SECOND]
    if model.kind[j] == PLANE:
        return set_over_plane(model, corners, state, lanes, i, j, lane)
    frame = relative_frame(state.frames, model.body[i], model.body[j], lane)
    set_direction(model, state, i, j, frame)
    thick = thickness_of(model, i) + thickness_of(model, j)
    lower, upper = between(model, corners, state, lanes, i, j, frame, best, -FAR, GAP_TOLERANCE)
    if upper <= -thick:  # the cores touch: `between` has no depth
        return -depth_of(model, corners, state, lanes, i, j, frame)
    if lower <= best:
        if model.kind[i] == CYLINDER or model.kind[j] == CYLINDER:
            sharpen(model, corners, state, lanes, i, j, frame)
        toward = state.toward[0], state.toward[1], state.toward[2]
        x, y, z = times(1.0 / norm(toward), toward)
        state.toward[0], state.toward[1], state.toward[2] = x, y, z
        return upper
    return lower


@kernel
def put_distance(model: Record, state: Record, k: int, index: int, distance: float) -> None:
    """Write a row of `distances` for pair k, in the root's frame: distance, points, normal.

    The points are on the surfaces; `witness` has those of the cores, which the thickness is
    around.
    """
    i, j = model.pairs[k, FIRST], model.pairs[k, SECOND]
    frame, row = frame_of_lane(state.frames, model.body[i], 0), state.distances[index]
    toward, witness = state.toward, state.witness
    normal = toward[0], toward[1], toward[2]
    first, second = thickness_of(model, i), -thickness_of(model, j)
    a = witness[0], witness[1], witness[2]
    b = witness[3], witness[4], witness[5]
    row[0] = distance
    row[1], row[2], row[3] = _placed(frame, a, first, normal)
    row[4], row[5], row[6] = _placed(frame, b, second, normal)
    row[7], row[8], row[9] = from_axes(frame, normal)


@inline_kernel
def _placed(frame: Frame, point: Vector, out: float, normal: Vector) -> Vector:
    """A point moved by `out` [m] along a normal, from the body's frame to the root's."""
    x, y, z = from_axes(
        frame,
        (
            point[0] + out * normal[0],
            point[1] + out * normal[1],
            point[2] + out * normal[2],
        ),
    )
    return x + frame[9], y + frame[10], z + frame[11]


@kernel
def add_slopes(model: Record, state: Record, index: int, gradient: Array) -> None:
    """Add the derivative of a distance to gradient (n,).

    A joint that moves the second piece adds n . (z_j x (p - o_j)); one that moves the first piece
    subtracts it. The points of both pieces are on the normal's line, so either serves as p; joints
    that move both cancel.
    """
    row, k = state.distances[index], state.found[index]
    for side in range(2):
        sign = 2.0 * side - 1.0
        body = model.body[model.pairs[k, FIRST + side]] - 1
        while body >= 0:
            slope = sign * model.geometry[body, MULTIPLIER] * _slope(model, state, row, body)
            gradient[model.tree[body, VARIABLE]] += slope
            body = model.tree[body, PARENT]


@kernel
def _slope(model: Record, state: Record, row: Array, body: int) -> float:
    """Velocity along its normal of a row's first point, if it moves with a body's joint."""
    frames = state.frames
    axis = frames[body + 1, 2, 0], frames[body + 1, 5, 0], frames[body + 1, 8, 0]
    normal = row[7], row[8], row[9]
    if model.tree[body, KIND] == PRISMATIC:
        return dot(normal, axis)
    arm = (
        row[1] - frames[body + 1, 9, 0],
        row[2] - frames[body + 1, 10, 0],
        row[3] - frames[body + 1, 11, 0],
    )
    return dot(normal, cross(axis, arm))
