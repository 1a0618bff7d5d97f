"""Meshes cut by planes into a few convex pieces.

A mesh is cut where that takes most volume away from the hulls of its parts. A plane clips each
triangle, and the part of the mesh on either side is inside the hull of that side's clipped
triangles, up to rounding (1e-12 m): the hull contains the surface there, so the rim of the cross
section, so the cross section, so the solid that these enclose. That holds for whatever triangles,
closed or not and whichever way they face; of an open mesh only the surface is contained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..exceptions import MeshError
from ..maths.rotations import Array

MOST_PIECES = 8
LEAST_GAIN = 0.03
"""A cut that takes away a smaller fraction of the volume of all hulls is not made."""
SLABS = 12
"""Planes are tried at these fractions of a part's extent, then nearer together."""
REFINEMENTS = 4
MOST_TRIANGLES = 4000
"""Planes are searched with a sample of so many triangles; they cut all of them."""
FLAT = 1e-9
"""Least volume of a hull, as a fraction of its extent's cube."""


class Hull(NamedTuple):
    """The convex hull of points: `planes` (m, 4) are unit normals, outwards, and offsets.

    A point x (3,) is inside if `normal @ x <= offset` for all planes.
    """

    corners: Array
    planes: Array
    volume: float


class Part(NamedTuple):
    """A part of a mesh, as triangles (T, 3, 3), and its hull."""

    triangles: Array
    hull: Hull


def hull_of(points: Array) -> Hull | None:
    """Return the convex hull of points (n, 3), None if they are flat."""
    from scipy.spatial import ConvexHull, QhullError  # 0.4 s, and only new meshes need it

    extent = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):  # ValueError: fewer than four points
        return None
    if found.volume <= FLAT * extent**3:
        return None
    planes = np.unique(found.equations, axis=0)  # the same for triangles of one facet
    return Hull(points[found.vertices], planes * [1.0, 1.0, 1.0, -1.0], float(found.volume))


def convex_pieces(triangles: Array, step: Callable[[], None] = lambda: None) -> list[Hull]:
    """Cut a mesh (T, 3, 3) [m] into at most MOST_PIECES convex pieces that contain it.

    step : called after each search for a plane
    Raises MeshError if it is flat.
    """
    hull = hull_of(triangles.reshape(-1, 3))
    if hull is None:
        raise MeshError('it is flat: give it a thickness, or use a <box>')
    parts = [Part(triangles, hull)]
    cuts = [best_cut(parts[0])]
    while len(parts) < MOST_PIECES:
        step()
        gains = [cut_gain(part, cut) for part, cut in zip(parts, cuts, strict=True)]
        k = int(np.argmax(gains))
        if gains[k] < LEAST_GAIN * sum(part.hull.volume for part in parts):
            break
        parts[k : k + 1] = cuts[k]
        cuts[k : k + 1] = [best_cut(part) for part in cuts[k]]
    return [part.hull for part in parts]


def cut_gain(part: Part, sides: tuple[Part, ...]) -> float:
    """Return the volume [m3] that a cut takes away; 0 for no cut, ()."""
    return part.hull.volume - sum(side.hull.volume for side in sides) if sides else 0.0


def best_cut(part: Part) -> tuple[Part, ...]:
    """Return the two sides of the plane that takes most volume away, () if there is none.

    Planes are normal to the coordinate axes or to the part's principal axes.
    """
    sample = part.triangles[:: -(-len(part.triangles) // MOST_TRIANGLES)]
    points = sample.reshape(-1, 3)
    principal = np.linalg.svd(points - points.mean(0), full_matrices=False)[2]
    best = (np.inf, points[0], 0.0)
    for axis in (*np.eye(3), *principal):
        along = points @ axis
        planes = np.linspace(along.min(), along.max(), SLABS + 1)[1:-1]
        volumes = _volumes_at(sample, axis, planes)
        k = int(np.argmin(volumes))
        best = min(best, (float(volumes[k]), axis, float(planes[k])), key=lambda cut: cut[0])
    volume, axis, at = best
    width = float(np.ptp(points @ axis)) / SLABS
    for _ in range(REFINEMENTS):
        width *= 0.5
        for near in (at - width, at + width):
            volume, at = min((volume, at), (_volume_at(sample, axis, near), near))
    sides = [Part(side, hull) for side in clip(part.triangles, axis, at) if (hull := _hull(side))]
    return tuple(sides) if len(sides) == 2 else ()


def clip(triangles: Array, axis: Array, at: float) -> tuple[Array, Array]:
    """Return the parts of triangles (T, 3, 3) where `axis @ x <= at`, and where it is not less."""
    side = triangles @ axis - at
    is_below = side <= 0.0
    count = is_below.sum(1)
    below, above = [triangles[count == 3]], [triangles[count == 0]]
    for lone_is_below, tips, trunks in ((True, below, above), (False, above, below)):
        crossing = count == (1 if lone_is_below else 2)
        lone = np.argmax(is_below[crossing] == lone_is_below, axis=1)
        order = (lone[:, None] + np.arange(3)) % 3
        corners = np.take_along_axis(triangles[crossing], order[:, :, None], 1)
        at_corner, *at_others = np.take_along_axis(side[crossing], order, 1).T
        corner, *others = corners.transpose(1, 0, 2)
        ends = [
            corner + (at_corner / (at_corner - at_other))[:, None] * (other - corner)
            for at_other, other in zip(at_others, others, strict=True)
        ]
        tips.append(np.stack([corner, *ends], 1))
        trunks.append(np.stack([ends[0], *others], 1))
        trunks.append(np.stack([ends[0], others[1], ends[1]], 1))
    return np.concatenate(below), np.concatenate(above)


def _hull(triangles: Array) -> Hull | None:
    return hull_of(triangles.reshape(-1, 3))


def _volume_at(triangles: Array, axis: Array, at: float) -> float:
    """Return the volume of the hulls of a plane's two sides; infinite if one is flat."""
    hulls = [_hull(side) for side in clip(triangles, axis, at)]
    return sum(np.inf if hull is None else hull.volume for hull in hulls)


def _volumes_at(triangles: Array, axis: Array, planes: Array) -> Array:
    """Return `_volume_at` for parallel planes, the lowest first.

    The hull of a side is that of the slabs between its planes, one more slab at a time.
    """
    slabs, rest = [], triangles
    for at in planes:
        slab, rest = clip(rest, axis, at)
        slabs.append(slab.reshape(-1, 3))
    slabs.append(rest.reshape(-1, 3))
    below, above = _growing(slabs[:-1]), _growing(slabs[:0:-1])
    total: Array = np.add(below, above[::-1])
    return total


def _growing(slabs: list[Array]) -> list[float]:
    """Return the volumes of the hulls of the first slab, the first two, and so on."""
    volumes, points = [], np.empty((0, 3))
    for slab in slabs:
        points = np.concatenate([points, slab])
        hull = hull_of(points)
        volumes.append(np.inf if hull is None else hull.volume)
        points = points if hull is None else hull.corners
    return volumes
