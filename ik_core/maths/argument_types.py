# SPDX-License-Identifier: Apache-2.0
"""Types of arguments: numbers from which numpy makes arrays, and other libraries' transforms.

Numpy's own `ArrayLike` includes text, and says nothing of dimensions: type checkers would accept
`quaternion='1 0 0 0'`. Classes of other libraries are described by the attributes that
`transforms` reads, so that none of these libraries is imported.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

Real: TypeAlias = np.floating[Any] | np.integer[Any] | np.bool_


class SupportsArray(Protocol):
    """An array of numpy, pandas, torch, ...; its dimensions are checked when it is used."""

    def __array__(self) -> np.ndarray[Any, np.dtype[Real]]: ...


# Real numbers (n,)
VectorLike: TypeAlias = SupportsArray | Sequence[float] | Sequence[SupportsArray]
# Real numbers (m, n)
MatrixLike: TypeAlias = (
    SupportsArray
    | Sequence[SupportsArray]
    | Sequence[Sequence[float]]
    | Sequence[Sequence[SupportsArray]]
)
# One number, one for each component, or a matrix
WeightsLike: TypeAlias = float | VectorLike | MatrixLike


class Names(Protocol):
    """Names in a list, a tuple, a set, ...; not a text, whose letters would be the names."""

    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...


class PointMessage(Protocol):
    """A ROS Point or Vector3."""

    @property
    def x(self) -> Any: ...
    @property
    def y(self) -> Any: ...
    @property
    def z(self) -> Any: ...


class PointStampedMessage(Protocol):
    """A ROS PointStamped."""

    @property
    def point(self) -> PointMessage: ...


class VectorStampedMessage(Protocol):
    """A ROS Vector3Stamped."""

    @property
    def vector(self) -> PointMessage: ...


# A position (3,) [m], or a ROS message of one
PointLike: TypeAlias = VectorLike | PointMessage | PointStampedMessage | VectorStampedMessage


class QuaternionMessage(PointMessage, Protocol):
    """A ROS Quaternion."""

    @property
    def w(self) -> Any: ...


class ScipyRotation(Protocol):
    """A Rotation or RigidTransform of scipy."""

    def as_matrix(self) -> Any: ...


class SpatialmathPose(Protocol):
    """An SO3 or SE3 of spatialmath."""

    @property
    def A(self) -> Any: ...  # noqa: N802


# A rotation matrix (3, 3), or another library's rotation
RotationLike: TypeAlias = MatrixLike | ScipyRotation | SpatialmathPose | QuaternionMessage


class PinocchioPose(Protocol):
    """An SE3 of pinocchio."""

    @property
    def homogeneous(self) -> Any: ...


class PoseMessage(Protocol):
    """A ROS Pose."""

    @property
    def position(self) -> Any: ...
    @property
    def orientation(self) -> Any: ...


class TransformMessage(Protocol):
    """A ROS Transform."""

    @property
    def translation(self) -> Any: ...
    @property
    def rotation(self) -> Any: ...


class PoseStampedMessage(Protocol):
    """A ROS PoseStamped, PoseWithCovariance or PoseWithCovarianceStamped."""

    @property
    def pose(self) -> 'PoseMessage | PoseStampedMessage': ...


class TransformStampedMessage(Protocol):
    """A ROS TransformStamped."""

    @property
    def transform(self) -> TransformMessage: ...


# A rigid transform (4, 4) [m], or another library's
TransformLike: TypeAlias = (
    MatrixLike
    | PinocchioPose
    | SpatialmathPose
    | ScipyRotation
    | PoseMessage
    | PoseStampedMessage
    | TransformMessage
    | TransformStampedMessage
)


class PoseArrayMessage(Protocol):
    """A ROS PoseArray."""

    @property
    def poses(self) -> Any: ...


# Rigid transforms (N, 4, 4) or (N, goals, 4, 4) [m], or other libraries'
TransformsLike: TypeAlias = (
    SupportsArray | Sequence[TransformLike] | Sequence[Sequence[TransformLike]] | PoseArrayMessage
)


class JointStateMessage(Protocol):
    """A ROS JointState."""

    @property
    def name(self) -> Any: ...
    @property
    def position(self) -> Any: ...
