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

from ..kernels.jit import inline_kernel, kernel
from ..kernels.records import as_vectors8
from ..kernels.signatures import Array1, Array2, Array3, IntArray2
from ..maths.lanes import Number, cos_sin
from ..maths.rotations import Array, Frame, IntArray, compose, frame_at, put_frame
from ..maths.vectors import Vector, cross, minus

REVOLUTE, PRISMATIC = 0, 1
# columns of `tree`, and those of `geometry` after the frame
PARENT, KIND, VARIABLE = 0, 1, 2
MULTIPLIER, OFFSET = 12, 13


@kernel(entry='ik_body_frames')
def body_frames(tree: IntArray2, geometry: Array2, x: Array1, frames: Array2) -> None:
    """Write the frame of every body, at x, into frames (K, 12), in the root link's frame."""
    angle, cosine, sine = frames[:, 0], frames[:, 1], frames[:, 2]  # until the frames are there
    for k in range(tree.shape[0]):  # sines first, for all bodies: they do not wait for each other
        angle[k], cosine[k], sine[k] = _movement(tree, geometry, x, k)
    place_bodies(tree, geometry, angle, cosine, sine, frames)


@inline_kernel
def place_bodies(
    tree: IntArray, geometry: Array, angle: Array, cosine: Array, sine: Array, frames: Array
) -> None:
    """Write the frames (K, 12) of all bodies, for one configuration or lanes of them.

    angle, cosine, sine (K,) : of the joints' positions. They may be columns of `frames`, since
        those of a body are read before its frame is written
    """
    if tree.shape[0] == 0:
        return
    frame = frame_at(geometry, 0)
    for k in range(tree.shape[0]):
        parent, own = tree[k, PARENT], frame_at(geometry, k)
        if parent != k - 1 and parent >= 0:  # else `frame` is the parent's already
            frame = frame_at(frames, parent)
        if parent >= 0:
            own = compose(frame, own)
        frame = moved_frame(tree, k, own, angle[k], cosine[k], sine[k])
        put_frame(frames, k, frame)


@inline_kernel
def set_angles(
    tree: IntArray, geometry: Array, offset: Array, x: Array,
    angle: Array, cosine: Array, sine: Array,
) -> None:  # fmt: skip
    """Fill the position of each body's joint at x, with its cosine and sine, for `place_bodies`.

    offset (K,) : the joints' offsets, in the place of those in `geometry`
    angle, cosine, sine (K,) : results, of records' fields of lanes
    """
    for k in range(tree.shape[0]):
        angle[k] = geometry[k, MULTIPLIER] * x[tree[k, VARIABLE]] + offset[k]
    angles, cosines, sines = as_vectors8(angle), as_vectors8(cosine), as_vectors8(sine)
    for i in range(angles.shape[0]):
        cosines[i], sines[i] = cos_sin(angles[i])


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
def _movement(tree: IntArray, geometry: Array, x: Array, k: int) -> tuple[float, float, float]:
    """Position of joint k, its cosine and its sine; these are 0 for a prismatic joint."""
    angle = geometry[k, MULTIPLIER] * x[tree[k, VARIABLE]] + geometry[k, OFFSET]
    if tree[k, KIND] == PRISMATIC:
        return angle, 0.0, 0.0
    cosine, sine = cos_sin(angle)
    return angle, cosine, sine


@kernel
def moved_frame(
    tree: IntArray, k: int, frame: Frame, angle: Number, cosine: Number, sine: Number
) -> Frame:
    """The frame of body k; `frame` is its frame at position 0, the rest comes from `_movement`.

    A prismatic joint shifts it along its z axis, others turn it about that.
    """
    a0, a1, a2, a3, a4, a5, a6, a7, a8, x, y, z = frame
    if tree[k, KIND] == PRISMATIC:
        x, y, z = x + angle * a2, y + angle * a5, z + angle * a8
        return a0, a1, a2, a3, a4, a5, a6, a7, a8, x, y, z
    c, s = cosine, sine
    return (
        c * a0 + s * a1, c * a1 - s * a0, a2,
        c * a3 + s * a4, c * a4 - s * a3, a5,
        c * a6 + s * a7, c * a7 - s * a6, a8, x, y, z,
    )  # fmt: skip


@kernel
def joint_axis(geometry: Array, frames: Array, k: int) -> Vector:
    """The axis of body k's joint in the root link's frame, times its multiplier."""
    scale = geometry[k, MULTIPLIER]
    return scale * frames[k, 2], scale * frames[k, 5], scale * frames[k, 8]


@kernel
def joint_origin(frames: Array, k: int) -> Vector:
    """The origin of body k in the root link's frame."""
    return frames[k, 9], frames[k, 10], frames[k, 11]


@inline_kernel
def joint_twist(
    tree: IntArray, geometry: Array, frames: Array, k: int, point: Vector
) -> tuple[Vector, Vector]:
    """Velocities when the variable of joint k moves at speed 1: of a point that moves with the
    joint, and angular; both in the root link's frame ([Buss2009] section 2)."""
    axis = joint_axis(geometry, frames, k)
    velocity, spin = axis, (0.0, 0.0, 0.0)
    if tree[k, KIND] != PRISMATIC:
        velocity, spin = cross(axis, minus(point, joint_origin(frames, k))), axis
    return velocity, spin


@kernel(entry='ik_point_jacobian')
def point_jacobian(
    tree: IntArray2, geometry: Array2, frames: Array2, body: int, point: Vector, columns: Array2
) -> None:
    """Write the Jacobian of a point into columns (variables, 6): linear, then angular parts.

    The point is given in the root link's frame and moves with `body`. Variables that do not move
    the body get zeros.
    """
    for j in range(columns.shape[0]):
        for c in range(6):
            columns[j, c] = 0.0
    k = body
    while k >= 0:
        j = tree[k, VARIABLE]
        velocity, spin = joint_twist(tree, geometry, frames, k, point)
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
