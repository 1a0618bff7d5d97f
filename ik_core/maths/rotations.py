# SPDX-License-Identifier: Apache-2.0
"""Rotations: quaternions (x, y, z, w), rotation vectors and matrices.

A *frame* is twelve numbers: the rotation matrix row by row, then the position. Kernels compute
with frames as tuples; arrays have one per row. The public interface uses (4, 4) transforms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InvalidGoal
from ..kernels.jit import kernel
from ..kernels.signatures import Array2, Array3
from .lanes import angle_of, cos_sin, most, root, select
from .vectors import Vector

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
Frame = tuple[float, float, float, float, float, float, float, float, float, float, float, float]

SHORTEST = 1e-150  # a quaternion with a shorter vector part is the identity
SMALL_SQUARE = 1e-4  # below it `log_curvature` is a series, whose next term is below 1e-13
LARGEST = 1e9  # [m] in targets: a double resolves no micrometre beyond
ORTHOGONALITY_TOLERANCE = 1e-6  # of R'R from the identity, for matrices given by users


@kernel
def frame_at(frames: Array, k: int) -> Frame:
    """Row k of frames (K, 12 or more) as a tuple: slices of arrays would be slow."""
    return (
        frames[k, 0], frames[k, 1], frames[k, 2], frames[k, 3], frames[k, 4], frames[k, 5],
        frames[k, 6], frames[k, 7], frames[k, 8], frames[k, 9], frames[k, 10], frames[k, 11],
    )  # fmt: skip


@kernel
def put_frame(frames: Array, k: int, frame: Frame) -> None:
    """Write a frame into row k of frames (K, 12)."""
    frames[k, 0], frames[k, 1], frames[k, 2] = frame[0], frame[1], frame[2]
    frames[k, 3], frames[k, 4], frames[k, 5] = frame[3], frame[4], frame[5]
    frames[k, 6], frames[k, 7], frames[k, 8] = frame[6], frame[7], frame[8]
    frames[k, 9], frames[k, 10], frames[k, 11] = frame[9], frame[10], frame[11]


@kernel
def compose(a: Frame, b: Frame) -> Frame:
    """Return the frame of b in the parent of a, for a's frame in its parent and b's frame in a."""
    a0, a1, a2, a3, a4, a5, a6, a7, a8, ax, ay, az = a
    b0, b1, b2, b3, b4, b5, b6, b7, b8, bx, by, bz = b
    return (
        a0 * b0 + a1 * b3 + a2 * b6, a0 * b1 + a1 * b4 + a2 * b7, a0 * b2 + a1 * b5 + a2 * b8,
        a3 * b0 + a4 * b3 + a5 * b6, a3 * b1 + a4 * b4 + a5 * b7, a3 * b2 + a4 * b5 + a5 * b8,
        a6 * b0 + a7 * b3 + a8 * b6, a6 * b1 + a7 * b4 + a8 * b7, a6 * b2 + a7 * b5 + a8 * b8,
        a0 * bx + a1 * by + a2 * bz + ax,
        a3 * bx + a4 * by + a5 * bz + ay,
        a6 * bx + a7 * by + a8 * bz + az,
    )  # fmt: skip


@kernel
def from_axes(frame: Frame | Array, v: Vector) -> Vector:
    """The vector whose components in the axes of a frame are v: R v."""
    x, y, z = v
    return (
        frame[0] * x + frame[1] * y + frame[2] * z,
        frame[3] * x + frame[4] * y + frame[5] * z,
        frame[6] * x + frame[7] * y + frame[8] * z,
    )


@kernel
def in_axes(frame: Frame | Array, v: Vector) -> Vector:
    """The components of a vector in the axes of a frame: R'v."""
    x, y, z = v
    return (
        frame[0] * x + frame[3] * y + frame[6] * z,
        frame[1] * x + frame[4] * y + frame[7] * z,
        frame[2] * x + frame[5] * y + frame[8] * z,
    )


@kernel
def relative_log(a: Frame | Array, b: Frame | Array) -> Vector:
    """The rotation vector of A'B [rad], which turns A into B, in A's axes; of two frames.

    It is computed from the quaternion with the largest component as divisor, so it is accurate for
    small angles, and finite and not zero at 180 degrees. Its norm is in [0, pi].
    """
    m00, m10, m20 = in_axes(a, (b[0], b[3], b[6]))
    m01, m11, m21 = in_axes(a, (b[1], b[4], b[7]))
    m02, m12, m22 = in_axes(a, (b[2], b[5], b[8]))
    x, y, z, w = unscaled_quaternion(m00, m01, m02, m10, m11, m12, m20, m21, m22)
    length = root(x * x + y * y + z * z)
    along = most(length, SHORTEST)
    scale = select(length > SHORTEST, 2.0 * angle_of(abs(w), length) / along, 0.5)
    scale = select(w < 0.0, -scale, scale)
    return scale * x, scale * y, scale * z


@kernel(entry='ik_relative_logs')
def relative_logs(before: Array2, after: Array2, vectors: Array2) -> None:
    """Write `relative_log` of each pair of rotations (N, 9) into vectors (N, 3) [rad]."""
    for i in range(before.shape[0]):
        vectors[i, 0], vectors[i, 1], vectors[i, 2] = relative_log(before[i], after[i])


@kernel(entry='ik_quaternion_of')
def quaternion_of(
    m00: float,
    m01: float,
    m02: float,
    m10: float,
    m11: float,
    m12: float,
    m20: float,
    m21: float,
    m22: float,
) -> tuple[float, float, float, float]:
    """The unit quaternion (x, y, z, w) of a rotation matrix."""
    x, y, z, w = unscaled_quaternion(m00, m01, m02, m10, m11, m12, m20, m21, m22)
    scale = 1.0 / root(x * x + y * y + z * z + w * w)
    return scale * x, scale * y, scale * z, scale * w


@kernel
def unscaled_quaternion(
    m00: float,
    m01: float,
    m02: float,
    m10: float,
    m11: float,
    m12: float,
    m20: float,
    m21: float,
    m22: float,
) -> tuple[float, float, float, float]:
    """A quaternion (x, y, z, w) of a rotation matrix.

    It is the unit quaternion times four times its largest component, so no digits are lost.
    """
    trace = m00 + m11 + m22
    by_w = (trace >= m00) & (trace >= m11) & (trace >= m22)
    by_x = (m00 >= m11) & (m00 >= m22)
    by_y = m11 >= m22
    across, up, along = m21 - m12, m02 - m20, m10 - m01
    xy, xz, yz = m01 + m10, m02 + m20, m12 + m21
    x = select(by_w, across, select(by_x, 1.0 + m00 - m11 - m22, select(by_y, xy, xz)))
    y = select(by_w, up, select(by_x, xy, select(by_y, 1.0 + m11 - m00 - m22, yz)))
    z = select(by_w, along, select(by_x, xz, select(by_y, yz, 1.0 + m22 - m00 - m11)))
    w = select(by_w, 1.0 + trace, select(by_x, across, select(by_y, up, along)))
    return x, y, z, w


@kernel
def log_curvature(square: float) -> float:
    """k = 1/t^2 - (1 + cos t) / (2 t sin t) for t^2 = `square`; finite up to and at t = pi."""
    large = most(square, SMALL_SQUARE)
    half = 0.5 * root(large)
    cosine, sine = cos_sin(half)
    series = 1.0 / 12.0 + square / 720.0 + square * square / 30240.0
    return select(square < SMALL_SQUARE, series, (1.0 - half * cosine / sine) / large)


@kernel
def inverse_left_jacobian(x: float, y: float, z: float) -> tuple[Vector, Vector, Vector]:
    """The rows of the matrix that maps an angular velocity to the rate of a rotation vector.

    d/dt log R = (I - [r]/2 + k [r]^2) w for R' = [w] R, r = log R = (x, y, z) [rad], k as in
    `log_curvature`.
    """
    k = log_curvature(x * x + y * y + z * z)
    return (
        (1.0 - k * (y * y + z * z), 0.5 * z + k * x * y, -0.5 * y + k * x * z),
        (-0.5 * z + k * x * y, 1.0 - k * (x * x + z * z), 0.5 * x + k * y * z),
        (0.5 * y + k * x * z, -0.5 * x + k * y * z, 1.0 - k * (x * x + y * y)),
    )


# indices of a frame's elements in a flat transform
_IN_FRAME = np.array([0, 1, 2, 4, 5, 6, 8, 9, 10, 3, 7, 11])


def frame_of(transform: Array) -> Array:
    """The frame (12,) of a (4, 4) transform."""
    return transform.take(_IN_FRAME)


def frames_of(transforms: Array) -> Array:
    """The frames (..., 12) of transforms (..., 4, 4)."""
    return transforms.reshape(*transforms.shape[:-2], 16).take(_IN_FRAME, axis=-1)


def transform_of(frame: Array) -> Array:
    """The transforms (..., 4, 4) of frames (..., 12)."""
    transform = np.zeros((*frame.shape[:-1], 4, 4))
    transform[..., :3, :3] = frame[..., :9].reshape(*frame.shape[:-1], 3, 3)
    transform[..., :3, 3] = frame[..., 9:]
    transform[..., 3, 3] = 1.0
    return transform


def matrix_from_quaternion(quaternion: ArrayLike) -> Array:
    """The rotation matrix (3, 3) of a quaternion (x, y, z, w) of any non-zero length.

    Raises InvalidGoal if it is zero or not finite.
    """
    q = finite_vector(quaternion, 4, 'quaternion (x, y, z, w)')
    largest = np.max(np.abs(q))
    if largest < 1e-12:
        raise InvalidGoal('quaternion (x, y, z, w) is zero; (0, 0, 0, 1) is the identity')
    q = q / largest  # squares of tiny or huge components would under- or overflow
    x, y, z, w = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_from_matrix(matrix: ArrayLike) -> Array:
    """The unit quaternion (x, y, z, w), w >= 0, of a rotation matrix (3, 3)."""
    m = np.asarray(matrix, float)
    quaternion = np.array(quaternion_of(*m[:3, :3].ravel()))
    return -quaternion if quaternion[3] < 0.0 else quaternion


def matrix_from_rpy(rpy: Sequence[float]) -> Array:
    """The rotation matrix of fixed-axis roll, pitch, yaw [rad], as in URDF: Rz(y) Ry(p) Rx(r)."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy), np.cos(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def matrix_onto_axis(axis: Array) -> Array:
    """A rotation matrix whose third column is the unit vector `axis` (3,)."""
    helper = np.zeros(3)
    helper[np.argmin(np.abs(axis))] = 1.0
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def shortest_turn_onto(axis: Array) -> Array:
    """The rotation matrix of the shortest rotation of z onto the unit vector `axis` (3,).

    For -z it is half a turn about x.
    """
    x, y, z = (float(number) for number in axis)
    square = x * x + y * y
    if square == 0.0:
        return np.diag([1.0, np.sign(z), np.sign(z)])
    k = 1.0 / (1.0 + z) if z > 0.0 else (1.0 - z) / square  # 1 + z would cancel
    return np.array(
        [
            [1.0 - k * x * x, -k * x * y, x],
            [-k * x * y, 1.0 - k * y * y, y],
            [-x, -y, z],
        ]
    )


@kernel(entry='ik_is_rigid')
def is_rigid(t: Array2, largest: float, tolerance: float) -> bool:
    """Return whether t (4, 4) is a rigid transform with positions up to `largest`.

    NaN fails, since comparisons with it are false.
    """
    for i in range(3):
        for j in range(3):
            dot = t[0, i] * t[0, j] + t[1, i] * t[1, j] + t[2, i] * t[2, j]
            if not abs(dot - (1.0 if i == j else 0.0)) <= tolerance:
                return False
        if not abs(t[i, 3]) <= largest or not abs(t[3, i]) <= tolerance:
            return False
    volume = (
        t[0, 0] * (t[1, 1] * t[2, 2] - t[1, 2] * t[2, 1])
        + t[0, 1] * (t[1, 2] * t[2, 0] - t[1, 0] * t[2, 2])
        + t[0, 2] * (t[1, 0] * t[2, 1] - t[1, 1] * t[2, 0])
    )
    return volume > 0.0 and abs(t[3, 3] - 1.0) <= tolerance


@kernel(entry='ik_first_not_rigid')
def first_not_rigid(transforms: Array3, largest: float, tolerance: float) -> int:
    """The index of the first of transforms (N, 4, 4) that is not rigid; N if all are."""
    for i in range(transforms.shape[0]):
        if not is_rigid(transforms[i], largest, tolerance):
            return i
    return transforms.shape[0]


def pose_error(pose: Array, target: Array) -> tuple[float, float]:
    """The distance [m] and the angle [rad] between two transforms (4, 4)."""
    turn = target[:3, :3].T @ pose[:3, :3]
    sine = float(np.linalg.norm(turn - turn.T)) / math.sqrt(8.0)
    angle = math.atan2(sine, 0.5 * (float(np.trace(turn)) - 1.0))
    return float(np.linalg.norm(pose[:3, 3] - target[:3, 3])), angle


def finite_vector(value: ArrayLike, length: int, name: str, largest: float = np.inf) -> Array:
    """Return `value` as finite floats (length,) up to `largest`; raises InvalidGoal."""
    try:
        vector = np.array(value, float, order='C')
    except (TypeError, ValueError) as error:
        raise InvalidGoal(f'{name} is not made of numbers: {value!r}') from error
    if vector.shape != (length,):
        raise InvalidGoal(f'{name} has shape {vector.shape}; ({length},) is needed')
    _check_numbers(vector, name, largest)
    return vector


def _check_numbers(array: Array, name: str, largest: float) -> None:
    """Raise InvalidGoal for numbers that are not finite, or of a magnitude above `largest`."""
    if not np.all(np.isfinite(array)):
        raise InvalidGoal(f'{name} has a number that is not finite: {array.tolist()}')
    if np.max(np.abs(array)) > largest:
        raise InvalidGoal(f'{name} has a number beyond {largest:g}: {array.tolist()}')
