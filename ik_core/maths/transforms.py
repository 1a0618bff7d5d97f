# SPDX-License-Identifier: Apache-2.0
"""Conversion of transforms from all supported types; no other module does that.

An array (4, 4); an object with `homogeneous` (pinocchio's SE3), `A` (spatialmath's SE3) or
`as_matrix()` (scipy's RigidTransform); a ROS Pose, PoseStamped, Transform or TransformStamped.
Types are recognised by their attributes, so that none of these packages is imported.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from ..exceptions import InvalidGoal, InvalidOption
from .argument_types import PointLike, RotationLike, TransformLike, TransformsLike, VectorLike
from .rotations import (
    LARGEST,
    ORTHOGONALITY_TOLERANCE,
    Array,
    finite_vector,
    first_not_rigid,
    is_rigid,
    matrix_from_quaternion,
    matrix_from_rpy,
)

LARGEST_MEND = 0.1  # `normalise` refuses matrices that change a length by more: not just rounding

PLAIN = (np.ndarray, list, tuple)


def transform(
    value: TransformLike | None = None,
    *,
    position: PointLike | None = None,
    quaternion: VectorLike | None = None,
    rpy: VectorLike | None = None,
    rotation: RotationLike | None = None,
    normalise: bool = False,
    frame: str = '',
) -> Array:
    """A rigid transform (4, 4) [m] from a position and an orientation, or from another library's
    pose.

    value : an array (4, 4), an SE3 of pinocchio or spatialmath, a RigidTransform of scipy, a ROS
        Pose, PoseStamped, Transform or TransformStamped; by default the identity
    position : (3,) [m], or a ROS Point or Vector3; replaces the value's quaternion (x, y, z, w),
    rpy : one of them replaces the value's orientation; `rpy` are roll,
        pitch and yaw [rad] about fixed axes, as in URDF
    rotation : the orientation as a matrix (3, 3), a Rotation of scipy, an SO3 or a ROS Quaternion
    normalise : replace a matrix with rounding errors by the nearest rotation
    frame : required frame of a stamped message; '' for any

    Raises InvalidGoal if numbers are not finite or the transform is not rigid, with the error;
    InvalidOption if two orientations are given.
    """
    result = np.eye(4) if value is None else checked_transform(value, normalise=normalise)
    check_frame(frame_id(value), frame)
    turn = rotation_matrix(quaternion, rpy, rotation, normalise=normalise)
    if turn is not None:
        result[:3, :3] = turn
    if position is not None:
        result[:3, 3] = point(position, frame=frame)
    return result


def checked_transform(value: Any, name: str = 'transform', *, normalise: bool = False) -> Array:
    """Return `value` as a new array (4, 4) of floats; raises InvalidGoal if it is not rigid."""
    t = _numbers(plain_transform(value), name)
    if t.shape != (4, 4):
        part = {(3, 3): 'rotation', (3,): 'position'}.get(t.shape)
        hint = f', or give it as {part}=' if part else ''
        raise InvalidGoal(f'{name} has shape {t.shape}; (4, 4) is needed{hint}')
    if normalise:
        t[:3, :3] = nearest_rotation(t[:3, :3], name)
    if not is_rigid(t, LARGEST, ORTHOGONALITY_TOLERANCE):
        refuse_transform(t, name)
    return t


def checked_transforms(
    targets: TransformsLike, root: str, goals: int | None = None, name: str = 'targets'
) -> Array:
    """Return targets as (N, goals, 4, 4), or without `goals` as (N, 4, 4), copied only if needed.

    targets : an array; a list of transforms of any type, or of a list of them for each target; or
        a ROS PoseArray
    root : required frame of stamped messages
    name : the argument's name in errors

    Raises InvalidGoal, which names the first transform that is not rigid.
    """
    try:
        array = for_kernels(_plain_transforms(targets, root))
    except (TypeError, ValueError) as error:
        raise InvalidGoal(f'{name} are not one array of numbers: {error}') from error
    if array.ndim == 3 and goals == 1:
        array = array[:, np.newaxis]
    each = (4, 4) if goals is None else (goals, 4, 4)
    if array.shape == (0,):  # of an empty list numpy can't know what would be in it
        array = np.empty((0, *each))
    if array.ndim != 1 + len(each) or array.shape[1:] != each:
        needed = f'(N, {", ".join(map(str, each))})' + (' or (N, 4, 4)' if goals == 1 else '')
        raise InvalidGoal(f'{name} have shape {array.shape}; {needed} is needed')
    transforms = array.reshape(-1, 4, 4)
    wrong = first_not_rigid(transforms, LARGEST, ORTHOGONALITY_TOLERANCE)
    if wrong < len(transforms):
        at = [int(i) for i in np.unravel_index(wrong, array.shape[:-2])]
        refuse_transform(transforms[wrong], f'{name}{at}')
    return array


def for_kernels(array: Any) -> Array:
    """Return the array writable and in C order, copied only if needed: kernels are compiled once
    for each kind of array.
    """
    return np.require(array, float, ['C', 'A', 'W', 'E'])


def _plain_transforms(targets: TransformsLike, root: str, depth: int = 2) -> Any:
    """Convert targets to numbers, without checks."""
    check_frame(frame_id(targets), root)
    targets = getattr(targets, 'poses', targets)
    if depth > 0 and isinstance(targets, (list, tuple)):
        return [_plain_transforms(target, root, depth - 1) for target in targets]
    return plain_transform(targets)


def rotation_matrix(
    quaternion: VectorLike | None,
    rpy: VectorLike | None,
    rotation: RotationLike | None,
    *,
    normalise: bool = False,
) -> Array | None:
    """Return the matrix (3, 3) of the orientation, given in any form; None without one."""
    if quaternion is None and rpy is None and rotation is None:
        return None
    given = {'quaternion': quaternion, 'rpy': rpy, 'rotation': rotation}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise InvalidOption(f'an orientation is given twice, as {" and as ".join(names)}')
    if quaternion is not None:
        if hasattr(quaternion, 'as_matrix'):
            raise InvalidGoal('a quaternion is (x, y, z, w); give a Rotation as rotation=')
        return matrix_from_quaternion(quaternion)
    if rpy is not None:
        return matrix_from_rpy(finite_vector(rpy, 3, 'rpy (roll, pitch, yaw)', LARGEST).tolist())
    return _checked_rotation(rotation, normalise)


def point(value: Any, name: str = 'position', *, frame: str = '') -> Array:
    """A position (3,) [m], from numbers or a ROS Point, Vector3 or PointStamped."""
    check_frame(frame_id(value), frame)
    return finite_vector(plain_vector(value, name), 3, name, LARGEST)


def plain_vector(value: Any, name: str) -> Any:
    """Unwrap supported vector types to three unchecked numbers; return others unchanged."""
    if isinstance(value, PLAIN):
        if np.shape(value) == (4, 4):
            raise InvalidGoal(f'{name} has shape (4, 4); (3,) is needed: give it as transform=')
        return value
    for part in ('point', 'vector'):
        value = getattr(value, part, value)
    if hasattr(value, 'x') and hasattr(value, 'y') and hasattr(value, 'z'):
        return value.x, value.y, value.z
    if plain_transform(value) is not value:
        raise InvalidGoal(f'{name} is a whole transform: give it as transform=')
    return value


def plain_transform(value: Any) -> Any:
    """Convert supported types to unchecked numbers (4, 4); return others unchanged."""
    if isinstance(value, PLAIN):
        return value
    for name in ('homogeneous', 'A'):
        if hasattr(value, name):
            return getattr(value, name)
    if hasattr(value, 'as_matrix'):
        return value.as_matrix()
    message = _without_stamp(value)
    parts = [('position', 'orientation'), ('translation', 'rotation')]
    for position, orientation in parts:
        if hasattr(message, position) and hasattr(message, orientation):
            matrix = np.eye(4)
            matrix[:3, :3] = matrix_from_quaternion(_quaternion(getattr(message, orientation)))
            matrix[:3, 3] = point(getattr(message, position))
            return matrix
    return value


def frame_id(value: Any) -> str:
    """The frame of a stamped message, without TF 1's leading slash; '' for anything else."""
    if value is None or isinstance(value, PLAIN):
        return ''
    return str(getattr(getattr(value, 'header', None), 'frame_id', '')).lstrip('/')


def check_frame(given: str, needed: str) -> None:
    """Raise InvalidGoal if two frames differ; '' matches any."""
    if given and needed and given != needed:
        raise InvalidGoal(
            f'it is in the frame {given!r}; {needed!r} is needed: transform it first, as tf2 does'
        )


def nearest_rotation(matrix: Array, name: str) -> Array:
    """The rotation nearest to a matrix (3, 3), in the sense of least squares.

    Raises InvalidGoal if that is too far away, or if a reflection is nearer.
    """
    if not np.isfinite(matrix).all():
        raise InvalidGoal(f'{name} has a number that is not finite: {matrix.tolist()}')
    u, stretches, vt = np.linalg.svd(matrix)
    rotation: Array = u @ vt
    if np.abs(stretches - 1.0).max() > LARGEST_MEND or np.linalg.det(rotation) < 0.0:
        raise InvalidGoal(
            f'{name}: no rotation is near: it stretches by {stretches.min():.3g} to '
            f'{stretches.max():.3g}, with the determinant {np.linalg.det(matrix):.3g}'
        )
    return rotation


def refuse_transform(t: Array, name: str) -> NoReturn:
    """Raise InvalidGoal with the reason why t (4, 4) is not rigid."""
    finite_vector(t.ravel(), 16, name, LARGEST)
    block = f'the upper left (3, 3) block of {name}'
    if not _is_rotation(t[:3, :3]):
        _refuse_rotation(t[:3, :3], block)
    raise InvalidGoal(f'the last row of {name} is {t[3].tolist()}, not (0, 0, 0, 1)')


def _checked_rotation(value: Any, normalise: bool) -> Array:
    """Convert a rotation of any supported type to a matrix (3, 3). Raises InvalidGoal."""
    m = _numbers(_plain_rotation(value), 'rotation')
    if m.shape != (3, 3):
        raise InvalidGoal(f'rotation has shape {m.shape}; (3, 3) is needed')
    if normalise:
        return nearest_rotation(m, 'rotation')
    finite_vector(m.ravel(), 9, 'rotation')
    if not _is_rotation(m):
        _refuse_rotation(m, 'rotation')
    return m


def _plain_rotation(value: Any) -> Any:
    """Convert supported types to unchecked numbers (3, 3); return others unchanged."""
    if isinstance(value, PLAIN):
        return value
    if hasattr(value, 'as_matrix'):
        return value.as_matrix()
    if hasattr(value, 'w') and hasattr(value, 'x'):
        return matrix_from_quaternion(_quaternion(value))
    return getattr(value, 'A', value)


def _is_rotation(matrix: Array) -> bool:
    """Return whether a finite matrix (3, 3) is a rotation within the tolerance."""
    return _off_orthogonal(matrix) <= ORTHOGONALITY_TOLERANCE and np.linalg.det(matrix) > 0.0


def _refuse_rotation(matrix: Array, name: str) -> NoReturn:
    off, determinant = _off_orthogonal(matrix), float(np.linalg.det(matrix))
    if off <= ORTHOGONALITY_TOLERANCE:
        raise InvalidGoal(f'{name} is a reflection, with the determinant {determinant:.6g}')
    raise InvalidGoal(
        f"{name} is not a rotation matrix R: R'R is off the identity by {off:.2g}, where "
        f'{ORTHOGONALITY_TOLERANCE:g} is allowed, and the determinant is {determinant:.6g}; '
        'ik_core.transform(..., normalise=True) takes the nearest rotation'
    )


def _off_orthogonal(matrix: Array) -> float:
    """The largest element of R'R - I."""
    return float(np.abs(matrix.T @ matrix - np.eye(3)).max())


def _without_stamp(message: Any) -> Any:
    """The Pose of a PoseStamped or PoseWithCovarianceStamped, the Transform of a
    TransformStamped."""
    for name in ('pose', 'pose', 'transform'):
        if not callable(getattr(message, name, None)):
            message = getattr(message, name, message)
    return message


def _quaternion(message: Any) -> tuple[Any, ...]:
    return tuple(getattr(message, name, np.nan) for name in 'xyzw')


def _numbers(value: Any, name: str) -> Array:
    try:
        return np.array(value, float, order='C')
    except (TypeError, ValueError) as error:
        raise InvalidGoal(f'{name} is not made of numbers: {value!r}') from error


def rpy_from_matrix(rotation: Array) -> list[float]:
    """Roll, pitch and yaw [rad] of a rotation (3, 3), R = Rz Ry Rx.

    Roll is computed after yaw is removed, so it is exact even if pitch is a right angle.
    """
    (r00, r01, r02), (r10, r11, r12) = rotation[:2, :3].tolist()
    yaw = math.atan2(r10, r00)
    pitch = math.atan2(-rotation[2, 0], math.hypot(r00, r10))
    s, c = math.sin(yaw), math.cos(yaw)
    return [math.atan2(s * r02 - c * r12, c * r11 - s * r01), pitch, yaw]
