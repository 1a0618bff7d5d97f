# SPDX-License-Identifier: Apache-2.0
"""Kernels for forward kinematics and Jacobians over plain arrays.

A robot, or the part of it that a problem needs, is a list of K *bodies*, parents first. A body is
everything that moves rigidly with one moving joint; fixed joints are folded away.

`tree` (K, 3) int: parent body (-1: the root link), kind (REVOLUTE, PRISMATIC), variable.
`geometry` (K, 14) float: the joint's frame in the parent body's frame, with the joint's axis
along z, then multiplier and offset. The joint's position is multiplier * x[variable] + offset.
Mimic joints share a variable; frozen joints have a multiplier of 0.

With all axes along z, a revolute joint mixes two columns of the frame and a prismatic joint shifts
along the third: about half the arithmetic of a matrix product.
"""

from __future__ import annotations

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, Array2, Array3, IntArray2
from ..maths.lanes import cos_sin
from ..maths.rotations import Array, Frame, IntArray, compose, frame_at, put_frame
from ..maths.vectors import Vector, cross, minus

REVOLUTE, PRISMATIC = 0, 1
# columns of `tree`, and those of `geometry` after the frame
PARENT, KIND, VARIABLE = 0, 1, 2
MULTIPLIER, OFFSET = 12, 13


@kernel(entry='ik_body_frames')
def body_frames(tree: IntArray2, geometry: Array2, x: Array1, frames: Array2) -> None:
    """Write the frame of every body, at x, into frames (K, 12), in the root link's frame."""
    if tree.shape[0] == 0:
        return
    for k in range(tree.shape[0]):  # sines first, for all bodies: they do not wait for each other
        frames[k, 0], frames[k, 1] = _movement(tree, geometry, x, k)
    frame = frame_at(geometry, 0)
    for k in range(tree.shape[0]):
        parent, own = tree[k, PARENT], frame_at(geometry, k)
        first, second = frames[k, 0], frames[k, 1]
        if parent != k - 1 and parent >= 0:  # else `frame` is the parent's already
            frame = frame_at(frames, parent)
        frame = moved_frame(tree, k, compose(frame, own) if parent >= 0 else own, first, second)
        put_frame(frames, k, frame)


@kernel(entry='ik_body_frames_of_rows')
def body_frames_of_rows(tree: IntArray2, geometry: Array2, rows: Array2, frames: Array3) -> None:
    """Write the bodies' frames for each row of variables (N, variables) into frames (N, K, 12)."""
    for i in range(rows.shape[0]):
        body_frames(tree, geometry, rows[i], frames[i])


@kernel
def place_body(tree: IntArray, geometry: Array, x: Array, k: int, frames: Array) -> None:
    """Write the frame of body k into frames (K, 12), from the frame of its parent."""
    frame = frame_at(geometry, k)
    if tree[k, PARENT] >= 0:
        frame = compose(frame_at(frames, tree[k, PARENT]), frame)
    put_frame(frames, k, moved_frame(tree, k, frame, *_movement(tree, geometry, x, k)))


@kernel
def _movement(tree: IntArray, geometry: Array, x: Array, k: int) -> tuple[float, float]:
    """Cosine and sine of the position of joint k; for a prismatic joint its position, twice."""
    value = geometry[k, MULTIPLIER] * x[tree[k, VARIABLE]] + geometry[k, OFFSET]
    if tree[k, KIND] == PRISMATIC:
        return value, value
    return cos_sin(value)


@kernel
def moved_frame(tree: IntArray, k: int, frame: Frame, first: float, second: float) -> Frame:
    """The frame of body k; `frame` is its frame at position 0, the rest comes from `_movement`."""
    if tree[k, KIND] == PRISMATIC:
        return _shifted(frame, first)
    return _turned(frame, first, second)


@kernel
def _turned(frame: Frame, c: float, s: float) -> Frame:
    """Rotate a frame about its z axis by the angle with cosine c and sine s."""
    a0, a1, a2, a3, a4, a5, a6, a7, a8, x, y, z = frame
    return (
        c * a0 + s * a1, c * a1 - s * a0, a2,
        c * a3 + s * a4, c * a4 - s * a3, a5,
        c * a6 + s * a7, c * a7 - s * a6, a8, x, y, z,
    )  # fmt: skip


@kernel
def _shifted(frame: Frame, d: float) -> Frame:
    """Shift a frame along its z axis by d [m]."""
    a0, a1, a2, a3, a4, a5, a6, a7, a8, x, y, z = frame
    return a0, a1, a2, a3, a4, a5, a6, a7, a8, x + d * a2, y + d * a5, z + d * a8


@kernel
def joint_axis(geometry: Array, frames: Array, k: int) -> Vector:
    """The axis of body k's joint in the root link's frame, times its multiplier."""
    scale = geometry[k, MULTIPLIER]
    return scale * frames[k, 2], scale * frames[k, 5], scale * frames[k, 8]


@kernel
def joint_origin(frames: Array, k: int) -> Vector:
    """The origin of body k in the root link's frame."""
    return frames[k, 9], frames[k, 10], frames[k, 11]


@kernel(entry='ik_point_jacobian')
def point_jacobian(
    tree: IntArray2, geometry: Array2, frames: Array2, body: int, point: Vector, columns: Array2
) -> None:
    """Write the Jacobian of a point into columns (variables, 6): linear, then angular parts.

    The point is given in the root link's frame and moves with `body`; velocities are in the
    root link's frame ([Buss2009] section 2). Variables that do not move the body get zeros.
    """
    for j in range(columns.shape[0]):
        for c in range(6):
            columns[j, c] = 0.0
    k = body
    while k >= 0:
        j = tree[k, VARIABLE]
        axis = joint_axis(geometry, frames, k)
        if tree[k, KIND] == PRISMATIC:
            velocity, spin = axis, (0.0, 0.0, 0.0)
        else:
            velocity, spin = cross(axis, minus(point, joint_origin(frames, k))), axis
        for c in range(3):
            columns[j, c] += velocity[c]
            columns[j, 3 + c] += spin[c]
        k = tree[k, PARENT]


@kernel(entry='ik_point_jacobian_of_rows')
def point_jacobian_of_rows(
    tree: IntArray2, geometry: Array2, frames: Array3, body: int, points: Array2, columns: Array3
) -> None:
    """Write Jacobians into columns (N, variables, 6) for frames (N, K, 12) and points (N, 3)."""
    for i in range(points.shape[0]):
        point = points[i, 0], points[i, 1], points[i, 2]
        point_jacobian(tree, geometry, frames[i], body, point, columns[i])
