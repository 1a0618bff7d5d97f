# SPDX-License-Identifier: Apache-2.0
"""Cut meshes by planes into a few convex pieces.

A mesh is cut where that reduces the volume of the hulls most. The planes of cuts bound cells; a
part is the mesh within a cell. Its piece is the hull of the triangles, clipped by these planes,
and of the cell's corners inside the solid. It contains the solid there, up to rounding (1e-12 m):
an extreme point of the solid in the cell is on the surface, or else it is inside the solid, where
only the cell's planes bound it, so that it is a corner of the cell.

The surface is contained for any triangles; the volume that they enclose, if they are closed and
oriented the same way, inwards or outwards.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import MeshError
from ..kernels.jit import kernel
from ..kernels.signatures import Array3
from ..maths.rotations import Array

MOST_PIECES = 8
# cuts that remove a smaller fraction of the volume of all hulls are not made
LEAST_CUT_GAIN = 0.03
SLABS = 12  # planes are tried at these fractions of a part's extent, then nearer together
CUT_REFINEMENTS = 4
BALANCE = 0.01  # cost of the larger side: of cuts that remove as much, the middle one is made
MOST_TRIANGLES = 700  # in the random sample that planes are chosen with; they cut all triangles
# a part whose hull has more corners, as a fan has, is searched with a smaller sample: the time for
# a hull grows with its corners, and a search computes a thousand hulls
MANY_CORNERS, FEWER_TRIANGLES = 1000, 150
LEAST_VOLUME = 1e-9  # least volume of a hull, as a fraction of its extent's cube
LEAST_CORNER = 1e-6  # three planes whose normals span a smaller volume have no corner
OUTSIDE_WINDING = 0.25  # winding numbers of points inside the solid are larger: 1 if it is closed


class Hull(NamedTuple):
    """A convex hull, with its volume [m3] and area [m2].

    corners (n, 3) : [m]
    planes (m, 4) : unit normals, outwards, and offsets [m]; a point x (3,) is inside if
        `normal @ x <= offset` for all planes
    """

    corners: Array
    planes: Array
    volume: float
    area: float


class Part(NamedTuple):
    """The part of a mesh in a cell.

    triangles (T, 3, 3) : clipped by the planes of the cell [m]
    inner (n, 3) : the corners of the cell inside the solid [m]
    cell (k, 4) : the planes of the cell, as in `Hull`
    hull : of the triangles and the inner corners
    """

    triangles: Array
    inner: Array
    cell: Array
    hull: Hull


def hull_of(points: Array) -> Hull | None:
    """Return the convex hull of points (n, 3), None if they are flat."""
    if len(points) > MANY_CORNERS:  # triangles repeat corners: those of a fan all have its centre
        points = np.unique(points, axis=0)
    found = _convex_hull(points)
    if found is None:
        return None
    planes = np.unique(found.equations, axis=0)  # triangles of one facet have the same
    return Hull(points[found.vertices], planes * [1.0, 1.0, 1.0, -1.0], found.volume, found.area)


def hull_triangles(points: Array) -> Array:
    """Return the triangles (T, 3, 3) of the convex hull of points (n, 3), which span a volume."""
    return points[_convex_hull(points).simplices]


def _convex_hull(points: Array) -> Any:
    """Return the ConvexHull of points (n, 3), None if they are flat."""
    from scipy.spatial import ConvexHull, QhullError  # 0.4 s, and only new meshes need it

    extent = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):  # ValueError: fewer than four points
        return None
    return found if found.volume > LEAST_VOLUME * extent**3 else None


def convex_pieces(triangles: Array) -> list[Hull]:
    """Cut a mesh (T, 3, 3) [m] into at most MOST_PIECES convex pieces that contain it.

    Raises MeshError if it is flat.
    """
    hull = hull_of(triangles.reshape(-1, 3))
    if hull is None:
        raise MeshError('it is flat: give it a thickness, or use a <box>')
    parts = [Part(triangles, np.empty((0, 3)), np.empty((0, 4)), hull)]
    splits = [split(triangles, parts[0], LEAST_CUT_GAIN * hull.volume)]
    while True:
        most = MOST_PIECES - len(parts) + 1
        choices = [k for k in range(len(parts)) if 2 <= len(splits[k]) <= most]
        if not choices:
            return [part.hull for part in parts]
        k = max(choices, key=lambda k: gain(parts[k], splits[k]) / (len(splits[k]) - 1))
        parts[k : k + 1] = splits[k]
        least = LEAST_CUT_GAIN * sum(part.hull.volume for part in parts)
        splits[k : k + 1] = [split(triangles, part, least) for part in splits[k]]


def split(solid: Array, part: Part, least: float) -> tuple[Part, ...]:
    """Return the parts that replace a part if its hull's volume falls by `least` [m3], else ().

    The result is the two sides of a cut, or up to four parts: the first cut of a ring does not
    reduce its hull, but cuts of its halves do.

    solid (T, 3, 3) : the whole mesh
    """
    if concavity(part) * part.hull.area < least:
        return ()
    sides = best_cut(solid, part)
    if gain(part, sides) < least:
        cuts = [(side, best_cut(solid, side)) for side in sides]
        sides = tuple(
            one
            for side, cut in cuts
            for one in (cut if gain(side, cut) >= 0.5 * least else (side,))
        )
    return sides if gain(part, sides) >= least else ()


def gain(part: Part, sides: tuple[Part, ...]) -> float:
    """Return the volume [m3] by which a cut reduces the hulls; 0 for no cut, ()."""
    return part.hull.volume - sum(side.hull.volume for side in sides) if sides else 0.0


def concavity(part: Part) -> float:
    """Return the largest depth [m] of the surface below its hull's facets."""
    sample = _sample(part.triangles)
    points = np.concatenate([sample.reshape(-1, 3), sample.mean(1)])
    depth = np.full(len(points), np.inf)
    for plane in part.hull.planes:
        np.minimum(depth, plane[3] - points @ plane[:3], out=depth)
    return float(depth.max())


def _sample(triangles: Array, most: int = MOST_TRIANGLES) -> Array:
    """A random sample of triangles, always the same one."""
    if len(triangles) <= most:
        return triangles
    chosen = np.random.default_rng(0).choice(len(triangles), most, replace=False)
    return triangles[chosen]


def best_cut(solid: Array, part: Part) -> tuple[Part, ...]:
    """Return the two sides of the plane that reduces the hulls most; () if there is none.

    Planes are normal to the coordinate axes or to the part's principal axes.

    solid (T, 3, 3) : the whole mesh
    """
    most = FEWER_TRIANGLES if len(part.hull.corners) > MANY_CORNERS else MOST_TRIANGLES
    sample = part._replace(triangles=_sample(part.triangles, most))
    points = sample.triangles.reshape(-1, 3)
    principal = np.linalg.svd(points - points.mean(0), full_matrices=False)[2]
    best = (np.inf, points[0], 0.0)
    for axis in (*np.eye(3), *principal):
        along = points @ axis
        planes = np.linspace(along.min(), along.max(), SLABS + 1)[1:-1]
        costs = _costs_at(solid, sample, axis, planes)
        k = int(np.argmin(costs))
        best = min(best, (costs[k], axis, float(planes[k])), key=lambda cut: cut[0])
    cost, axis, at = best
    width = float(np.ptp(points @ axis)) / SLABS
    for _ in range(CUT_REFINEMENTS):
        width *= 0.5
        for near in (at - width, at + width):
            (new,) = _costs_at(solid, sample, axis, np.array([near]))
            cost, at = min((cost, at), (new, near))
    corners = corners_of_cut(solid, part, axis, at)
    inner = part.inner[part.inner @ axis <= at], part.inner[part.inner @ axis > at]
    sides = []
    for triangles, own, sign in zip(clip(part.triangles, axis, at), inner, (1, -1), strict=True):
        own = np.concatenate([own, corners])
        hull = hull_of(np.concatenate([triangles.reshape(-1, 3), own]))
        if hull is None:
            return ()
        cell = np.concatenate([part.cell, [[*(sign * axis), sign * at]]])
        sides.append(Part(triangles, own, cell, hull))
    return tuple(sides)


def clip(triangles: Array, axis: Array, at: float) -> tuple[Array, Array]:
    """Return the parts of triangles (T, 3, 3) with `axis @ x <= at`, and those with >=."""
    side = triangles @ axis - at
    below = [triangles[(side <= 0.0).all(1)]]
    above = [triangles[(side >= 0.0).all(1)]]
    crosses = (side < 0.0).any(1) & (side > 0.0).any(1)
    is_below = side <= 0.0
    count = is_below.sum(1)
    for lone_is_below, tips, trunks in ((True, below, above), (False, above, below)):
        crossing = crosses & (count == (1 if lone_is_below else 2))
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


def corners_of_cut(solid: Array, part: Part, axis: Array, at: float) -> Array:
    """Return the corners (n, 3) of a plane with two of a part's cell, inside cell and solid."""
    corners = []
    for first, second in combinations(part.cell, 2):
        normals = np.stack([axis, first[:3], second[:3]])
        if abs(np.linalg.det(normals)) > LEAST_CORNER:
            corner = np.linalg.solve(normals, [at, first[3], second[3]])
            height = [
                (planes[:, :3] @ corner - planes[:, 3]).max()
                for planes in (part.cell, part.hull.planes)
            ]
            if max(height) < 1e-9 and abs(winding_number(solid, *corner)) > OUTSIDE_WINDING:
                corners.append(corner)
    return np.array(corners).reshape(-1, 3)


def _costs_at(solid: Array, part: Part, axis: Array, planes: Array) -> list[float]:
    """Return the costs of cuts at parallel planes, in ascending order: the volumes of both hulls,
    and a little of the larger one.

    The hull of a side is updated by one slab between two planes at a time.
    """
    slabs, rest = [], part.triangles
    for at in planes:
        slab, rest = clip(rest, axis, at)
        slabs.append(slab.reshape(-1, 3))
    slabs.append(rest.reshape(-1, 3))
    for corner in part.inner:
        k = int(np.searchsorted(planes, axis @ corner))
        slabs[k] = np.concatenate([slabs[k], corner[None]])
    for k, at in enumerate(planes):
        corners = corners_of_cut(solid, part, axis, at)
        slabs[k : k + 2] = [np.concatenate([slab, corners]) for slab in slabs[k : k + 2]]
    below, above = _growing(slabs[:-1]), _growing(slabs[:0:-1])
    return [
        one + other + BALANCE * max(one, other)
        for one, other in zip(below, above[::-1], strict=True)
    ]


def _growing(slabs: list[Array]) -> list[float]:
    """Return the volumes of the hulls of the first slab, the first two, and so on.

    They are infinite for flat points.
    """
    volumes, points = [], np.empty((0, 3))
    for slab in slabs:
        points = np.concatenate([points, slab])
        hull = _convex_hull(points)
        volumes.append(np.inf if hull is None else hull.volume)
        points = points if hull is None else points[hull.vertices]
    return volumes


@kernel(entry='ik_winding_number')
def winding_number(triangles: Array3, x: float, y: float, z: float) -> float:
    """Return how often triangles (T, 3, 3) enclose a point [VanOosteromStrackee1983] Eq. 8.

    The number is 1 inside a closed surface, 0 outside, and -1 inside one with inward triangles.
    """
    total = 0.0
    for i in range(triangles.shape[0]):
        ax, ay, az = triangles[i, 0, 0] - x, triangles[i, 0, 1] - y, triangles[i, 0, 2] - z
        bx, by, bz = triangles[i, 1, 0] - x, triangles[i, 1, 1] - y, triangles[i, 1, 2] - z
        cx, cy, cz = triangles[i, 2, 0] - x, triangles[i, 2, 1] - y, triangles[i, 2, 2] - z
        a = math.sqrt(ax * ax + ay * ay + az * az)
        b = math.sqrt(bx * bx + by * by + bz * bz)
        c = math.sqrt(cx * cx + cy * cy + cz * cz)
        volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
        ab = ax * bx + ay * by + az * bz
        bc = bx * cx + by * cy + bz * cz
        ca = cx * ax + cy * ay + cz * az
        total += math.atan2(volume, a * b * c + ab * c + bc * a + ca * b)
    return total / (2.0 * math.pi)
