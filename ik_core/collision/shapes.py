"""Shapes of things around a robot, or carried by it: box, sphere, cylinder, capsule, plane, hull.

Lengths are in metres. Each shape stands in a frame of its own, and a pose says where that is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InvalidOption
from ..maths.rotations import Array, frame_of
from ..options import exact_number
from .packing import BodyPiece
from .records import BOX, CAPSULES, CYLINDER, HALF_SPACE, PLANE, POINTS

LARGEST = 1e3
"""[m] Sizes of shapes: beyond it the bounds of distances would not hold to 1e-9 m."""
MOST_POINTS = 10_000
UNIT_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


class Shape:
    """Base of all shapes. `bound`: by what its distance is bounded; `parts`: for `BodyPiece`."""

    bound = CAPSULES

    def piece(self) -> BodyPiece:
        """The shape as a piece in its own frame."""
        raise NotImplementedError


@dataclass(frozen=True)
class Box(Shape):
    """A box of a size (3,) [m], around the origin of its frame."""

    size: tuple[float, float, float]
    bound = BOX

    def __post_init__(self) -> None:
        try:
            size = tuple(self.size)
        except TypeError:
            size = ()
        if len(size) != 3:
            raise InvalidOption(f'Box: size = {self.size!r}; three lengths [m] are needed')
        object.__setattr__(self, 'size', tuple(_length(x, 'Box: size') for x in size))

    def piece(self) -> BodyPiece:
        """The box as a piece."""
        return hull_piece(0.5 * np.array(self.size) * UNIT_CORNERS)


@dataclass(frozen=True)
class Sphere(Shape):
    """A sphere of a radius [m] around the origin of its frame."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, 'radius', _length(self.radius, 'Sphere: radius'))

    def piece(self) -> BodyPiece:
        """The sphere as a piece."""
        return _round_piece(POINTS, np.zeros((1, 3)), self.radius)


@dataclass(frozen=True)
class Cylinder(Shape):
    """A cylinder of a radius and a length [m] along z, around the origin of its frame."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, 'radius', _length(self.radius, 'Cylinder: radius'))
        object.__setattr__(self, 'length', _length(self.length, 'Cylinder: length'))

    def piece(self) -> BodyPiece:
        """The cylinder as a piece."""
        return _round_piece(CYLINDER, _ends(self.length), self.radius)


@dataclass(frozen=True)
class Capsule(Shape):
    """A cylinder of a radius and a length [m] along z with half spheres on its ends, around the
    origin of its frame; `length` is that of the cylinder alone."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, 'radius', _length(self.radius, 'Capsule: radius'))
        object.__setattr__(self, 'length', _length(self.length, 'Capsule: length'))

    def piece(self) -> BodyPiece:
        """The capsule as a piece."""
        return _round_piece(POINTS, _ends(self.length), self.radius)


@dataclass(frozen=True)
class Plane(Shape):
    """The half space below the xy-plane of its frame, such as a floor: z points out of it."""

    bound = HALF_SPACE

    def piece(self) -> BodyPiece:
        """The half space as a piece: its sphere and its capsule are all there is."""
        everywhere = np.array([0.0, 0.0, 0.0, math.inf])
        capsule = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, math.inf])
        box = np.append(frame_of(np.eye(4)), [math.inf] * 3)
        return BodyPiece(-1, PLANE, np.zeros((1, 3)), 0.0, everywhere, capsule, box)


@dataclass(frozen=True, eq=False)
class Convex(Shape):
    """The convex hull of points (n, 3) [m], such as the vertices of a convex mesh."""

    points: Array
    bound = BOX

    def __post_init__(self) -> None:
        try:
            points = np.array(self.points, float)
        except (TypeError, ValueError) as error:
            raise InvalidOption(f'Convex: points are not an array of numbers: {error}') from None
        if points.ndim != 2 or points.shape[1] != 3 or not 1 <= len(points) <= MOST_POINTS:
            raise InvalidOption(
                f'Convex: points have shape {points.shape}; (n, 3) is needed, for n from 1 to '
                f'{MOST_POINTS:,}'
            )
        far = ~(abs(points) <= LARGEST).all(axis=1)
        if far.any():
            first = int(far.argmax())
            raise InvalidOption(
                f'Convex: points[{first}] = {points[first].tolist()}; finite coordinates of at '
                f'most {LARGEST:g} m are needed'
            )
        object.__setattr__(self, 'points', points)

    def __repr__(self) -> str:
        return f'Convex({len(self.points)} points)'

    def piece(self) -> BodyPiece:
        """The hull as a piece."""
        return hull_piece(self.points)


def _length(value: Any, name: str) -> float:
    number = exact_number(value, float)
    if number is None or not 0.0 < number <= LARGEST:
        raise InvalidOption(f'{name} = {value!r}: a length above 0 and up to {LARGEST:g} m')
    return float(number)


def _ends(length: float) -> Array:
    return np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])


def _round_piece(kind: int, core: Array, radius: float) -> BodyPiece:
    """A piece around the z axis: a sphere, a capsule or a cylinder."""
    half = core[-1, 2]
    reach = math.hypot(half, radius) if kind == CYLINDER else half + radius
    sphere = np.array([0.0, 0.0, 0.0, _more(reach)])
    capsule = np.array([*core[0], *core[-1], radius])
    if kind == CYLINDER:  # a short capsule whose ends bulge as little as they have to
        inner = max(half - radius, 0.0)
        capsule = np.array([0.0, 0.0, -inner, 0.0, 0.0, inner, math.hypot(half - inner, radius)])
    capsule[6] = _more(capsule[6])
    up = half + (0.0 if kind == CYLINDER else radius)
    box = np.append(frame_of(np.eye(4)), [radius, radius, up])
    return BodyPiece(-1, kind, core, radius, sphere, capsule, box)


def hull_piece(points: Array) -> BodyPiece:
    """The hull of points (n, 3), with a sphere and a capsule along the longest side of its box."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    off = points - middle
    sphere = np.append(middle, _more(np.linalg.norm(off, axis=1).max()))
    axis = int(half.argmax())
    across = np.linalg.norm(np.delete(off, axis, axis=1), axis=1).max()
    ends = np.array([middle, middle])
    ends[:, axis] += max(half[axis] - across, 0.0) * np.array([-1.0, 1.0])
    along = np.clip(points[:, axis], ends[0, axis], ends[1, axis])
    nearest = np.repeat(middle[np.newaxis], len(points), axis=0)
    nearest[:, axis] = along
    radius = _more(np.linalg.norm(points - nearest, axis=1).max())
    box = np.eye(4)
    box[:3, 3] = middle
    return BodyPiece(
        -1,
        POINTS,
        points,
        0.0,
        sphere,
        np.append(ends.ravel(), radius),
        np.append(frame_of(box), half),
    )


def _more(length: float) -> float:
    """A length, and what rounding may have taken from it."""
    return float(length) * (1.0 + 1e-12) + 1e-15
