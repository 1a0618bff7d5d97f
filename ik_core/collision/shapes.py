# SPDX-License-Identifier: Apache-2.0
"""Shapes around a robot, or carried by it: those of a URDF, planes and convex hulls.

Lengths are in metres. Each shape is given in a frame of its own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import InvalidOption
from ..maths.rotations import Array, frame_of
from ..options import exact_number
from ..robot.urdf_shapes import Box, Capsule, Cylinder, Sphere
from .packing import NO_BOX, BodyPiece
from .piece import piece_of
from .records import BOX, CAPSULES, CYLINDER, HALF_SPACE, PLANE, POINTS

LARGEST_SHAPE = 1e3  # [m] with larger shapes the bounds of distances would not hold to 1e-9 m
MOST_POINTS = 10_000


class Plane(NamedTuple):
    """The half space below the xy-plane of its frame, such as a floor: z points out of it."""


class Convex(NamedTuple):
    """The convex hull of points (n, 3) [m], such as the vertices of a convex mesh."""

    points: Array

    def __repr__(self) -> str:
        return f'Convex({len(self.points)} points)'


Shape = Box | Cylinder | Capsule | Sphere | Plane | Convex


def checked_shape(shape: Any, name: str) -> Shape:
    """Return the shape of an obstacle with its sizes as floats. Raises InvalidOption."""
    if isinstance(shape, Box):
        size = tuple(np.ravel(shape.size).tolist())
        if len(size) != 3:
            raise InvalidOption(f'{name!r}: Box of size {shape.size!r}: three lengths are needed')
        x, y, z = (_length(length, f'{name!r}: Box: size') for length in size)
        return Box((x, y, z))
    if isinstance(shape, (Cylinder, Capsule, Sphere)):
        kind = type(shape).__name__
        return type(shape)(
            **{
                field: _length(value, f'{name!r}: {kind}: {field}')
                for field, value in shape._asdict().items()
            }
        )
    if isinstance(shape, Convex):
        return Convex(_points(shape.points, f'{name!r}: Convex'))
    if isinstance(shape, Plane):
        return shape
    raise InvalidOption(
        f'{name!r}: {shape!r} is no shape; it is a Box, Sphere, Cylinder, Capsule, Plane or '
        'Convex of ik.collision'
    )


def _length(value: Any, name: str) -> float:
    number = exact_number(value, float)
    if number is None or not 0.0 < number <= LARGEST_SHAPE:
        raise InvalidOption(f'{name} = {value!r}: a length above 0 and up to {LARGEST_SHAPE:g} m')
    return float(number)


def _points(value: Any, name: str) -> Array:
    try:
        points = np.array(value, float, order='C')
    except (TypeError, ValueError) as error:
        raise InvalidOption(f'{name}: points are not an array of numbers: {error}') from None
    if points.ndim != 2 or points.shape[1] != 3 or not 1 <= len(points) <= MOST_POINTS:
        raise InvalidOption(
            f'{name}: points have shape {points.shape}; (n, 3) is needed, n from 1 to '
            f'{MOST_POINTS:,}'
        )
    wrong = ~(abs(points) <= LARGEST_SHAPE).all(axis=1)
    if wrong.any():
        first = int(wrong.argmax())
        raise InvalidOption(
            f'{name}: points[{first}] = {points[first].tolist()}; coordinates have to be finite '
            f'and at most {LARGEST_SHAPE:g} m'
        )
    points.flags.writeable = False
    return points


def bound_of(shape: Shape) -> int:
    """The kind of lower bound for distances to a shape that never moves, as in `records`."""
    if isinstance(shape, Plane):
        return HALF_SPACE
    return BOX if isinstance(shape, (Box, Convex)) else CAPSULES


def piece_of_shape(shape: Shape) -> BodyPiece:
    """A shape as a piece in its own frame."""
    if isinstance(shape, Plane):  # no sphere and no capsule contains it
        sphere, capsule = np.zeros(4), np.zeros(7)
        sphere[3] = capsule[6] = math.inf
        return BodyPiece(-1, PLANE, np.zeros((1, 3)), 0.0, sphere, capsule, _box(np.zeros(3)))
    if isinstance(shape, Convex):
        return hull_piece(shape.points)
    piece = piece_of(shape, '', np.eye(4))
    kind = CYLINDER if isinstance(shape, Cylinder) else POINTS
    box = _box(0.5 * np.array(shape.size)) if isinstance(shape, Box) else NO_BOX
    return BodyPiece(-1, kind, piece.corners, piece.radius, piece.sphere, piece.capsule, box)


def _box(half: Array, centre: Array | None = None) -> Array:
    """A box (15,) of half sizes (3,) [m] along the axes: its frame (12,), then the half sizes."""
    frame = np.eye(4)
    if centre is not None:
        frame[:3, 3] = centre
    return np.append(frame_of(frame), half)


def hull_piece(points: Array, radius: float = 0.0) -> BodyPiece:
    """The hull of points (n, 3) [m], thickened by `radius`, with a sphere, a box and a capsule
    around it; the capsule's axis is the longest side of the box."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    off = points - middle
    axis = int(half.argmax())
    across = np.linalg.norm(np.delete(off, axis, axis=1), axis=1).max()
    reach = max(half[axis] - across, 0.0)
    off_axis = off.copy()
    off_axis[:, axis] -= np.clip(off[:, axis], -reach, reach)
    ends = np.array([middle, middle])
    ends[:, axis] += reach * np.array([-1.0, 1.0])
    return BodyPiece(
        -1,
        POINTS,
        points,
        radius,
        np.append(middle, _farthest(off) + radius),
        np.append(ends.ravel(), _farthest(off_axis) + radius),
        _box(half + radius, middle),
    )


def _farthest(points: Array) -> float:
    """The largest norm of points (n, 3) [m], rounded up so that it is a bound."""
    return float(np.linalg.norm(points, axis=1).max()) * (1.0 + 1e-12) + 1e-15
