# SPDX-License-Identifier: Apache-2.0
"""Spheres and capsules of least excess around convex pieces.

The excess of a capsule that contains a convex body is the distance of its farthest point from
that body. The difference of two support functions is largest at the normal of a facet as long as
the capsule's ends are inside, so

    excess = radius - depth

for the smaller one of the two ends' depths below the facets. This is exact for all shapes here.
For a box of half sizes a >= b >= c it gives ends at a - c and the radius sqrt(b^2 + 2 c^2), for a
cylinder of half length a > r ends at a - r and the radius sqrt(2) r. For hulls it is minimised
over the ends [NelderMead1965], with [GaoHan2012]'s coefficients. A sphere is a capsule whose ends
coincide.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.jit import kernel
from ..kernels.signatures import Array2
from ..maths.rotations import Array

SAFETY = 1e-12  # added to radii, relative and in metres, so that rounding leaves no corner outside
SEARCH_EVALUATIONS = 1500  # most evaluations of a search
CONVERGED = 1e-5  # a search ends when its simplex's values differ by less, relative to the extent
# penalty for ends outside of the hull, relative to their height over its facets
OUTSIDE_PENALTY = 10.0
FIRST_STEPS = (0.2, 0.05)  # sizes of the simplices of successive searches, relative to the extent


def cover_of_box(half: Array) -> tuple[Array, Array]:
    """Return the sphere (4,) and the capsule (7,) around a box of half sizes (3,) [m]."""
    longest, least = int(np.argmax(half)), float(half.min())
    end = np.zeros(3)
    end[longest] = half[longest] - least
    across = float(half.sum()) - float(half[longest]) - least
    radius = math.hypot(across, least, least)
    return _with_radius(np.zeros(3), radius=math.hypot(*half)), _with_radius(
        -end, end, radius=radius
    )


def cover_of_cylinder(radius: float, length: float) -> tuple[Array, Array]:
    """Return the sphere (4,) and the capsule (7,) around a cylinder along z, centred at 0 [m]."""
    half = 0.5 * length
    end = np.array([0.0, 0.0, max(half - radius, 0.0)])
    around = math.hypot(half - end[2], radius)
    sphere = _with_radius(np.zeros(3), radius=math.hypot(half, radius))
    return sphere, _with_radius(-end, end, radius=around)


def cover_of_hull(corners: Array, planes: Array) -> tuple[Array, Array]:
    """Return the sphere (4,) and the capsule (7,) of least excess around a hull.

    corners : (n, 3) [m]
    planes : (m, 4), unit normals, outwards, and offsets [m], as in `cutting.Hull`
    """
    centre = corners.mean(0)
    spread = corners - centre
    extent = float(np.ptp(corners, axis=0).max())
    sphere = _least(corners, planes, centre[None], extent)
    starts = [np.stack([sphere[:3], sphere[:3]])]
    for axis in np.linalg.svd(spread, full_matrices=False)[2]:
        along = spread @ axis
        across = np.linalg.norm(spread - np.outer(along, axis), axis=1).max()
        reach = max(0.5 * float(np.ptp(along)) - across, 0.05 * extent)
        middle = centre + 0.5 * (along.min() + along.max()) * axis
        starts.append(np.stack([middle - reach * axis, middle + reach * axis]))
    capsules = [_least(corners, planes, start, extent) for start in starts]
    return sphere, min(capsules, key=lambda capsule: excess_of(capsule, corners, planes))


def excess_of(cover: Array, corners: Array, planes: Array) -> float:
    """Return the excess [m] of a sphere (4,) or capsule (7,) around a hull."""
    ends = cover[:-1].reshape(-1, 3)
    return float(cover[-1] + (ends @ planes[:, :3].T - planes[:, 3]).max())


def _least(corners: Array, planes: Array, ends: Array, extent: float) -> Array:
    """Minimise the excess of a cover from the ends (1 or 2, 3) [m] of a first one."""
    n = ends.size
    simplex, spare = np.empty((n + 1, n + 1)), np.empty((3, n + 1))
    x = ends.ravel()
    for size in FIRST_STEPS:
        simplex[:, :n] = x
        simplex[1:, :n] += size * extent * np.eye(n)
        descend(corners, planes, simplex, spare, SEARCH_EVALUATIONS, CONVERGED * extent)
        x = simplex[np.argmin(simplex[:, n]), :n].copy()
    ends = x.reshape(-1, 3)
    return _with_radius(*ends, radius=float(distances(corners, ends).max()))


def distances(points: Array, ends: Array) -> Array:
    """Return the distances (n,) [m] of points (n, 3) from a point (1, 3) or a segment (2, 3)."""
    along = ends[-1] - ends[0]
    t = np.clip((points - ends[0]) @ along / max(along @ along, 1e-300), 0.0, 1.0)
    found: Array = np.linalg.norm(points - ends[0] - np.outer(t, along), axis=1)
    return found


def _with_radius(*ends: Array, radius: float) -> Array:
    """A cover of some ends, with the radius enlarged by SAFETY."""
    return np.array([*np.concatenate(ends), radius + SAFETY * (1.0 + radius)])


@kernel
def excess_at(corners: Array, planes: Array, table: Array, row: int) -> float:
    """Return the excess [m] of the smallest cover of the corners with given ends, those in a row
    of `table`.

    It has 3 numbers for a sphere, 6 for a capsule, and a last column for the excess.
    """
    last = table.shape[1] - 4
    ax, ay, az = table[row, 0], table[row, 1], table[row, 2]
    bx, by, bz = table[row, last], table[row, last + 1], table[row, last + 2]
    dx, dy, dz = bx - ax, by - ay, bz - az
    scale = 1.0 / max(dx * dx + dy * dy + dz * dz, 1e-300)
    reach = 0.0
    for i in range(corners.shape[0]):
        px, py, pz = corners[i, 0] - ax, corners[i, 1] - ay, corners[i, 2] - az
        t = min(max((px * dx + py * dy + pz * dz) * scale, 0.0), 1.0)
        px, py, pz = px - t * dx, py - t * dy, pz - t * dz
        reach = max(reach, px * px + py * py + pz * pz)
    height = -math.inf
    for i in range(planes.shape[0]):
        nx, ny, nz = planes[i, 0], planes[i, 1], planes[i, 2]
        higher = max(nx * ax + ny * ay + nz * az, nx * bx + ny * by + nz * bz)
        height = max(height, higher - planes[i, 3])
    # Ends outside are penalised: there the facets no longer measure the excess.
    return math.sqrt(reach) + height + OUTSIDE_PENALTY * max(height, 0.0)


@kernel(entry='ik_cover_descend')
def descend(
    corners: Array2, planes: Array2, simplex: Array2, spare: Array2, steps: int, converged: float
) -> None:
    """Minimise `excess_at` from a simplex (n + 1, n + 1), whose last column gets the values [m].

    steps : most evaluations
    converged : [m] ends when the values of the simplex differ by less
    spare (3, n + 1) : scratch
    """
    n = simplex.shape[1] - 1
    for row in range(n + 1):
        simplex[row, n] = excess_at(corners, planes, simplex, row)
    step = n + 1
    while step < steps:
        best, worst, second = 0, 0, -1
        for row in range(1, n + 1):
            best = row if simplex[row, n] < simplex[best, n] else best
            worst = row if simplex[row, n] > simplex[worst, n] else worst
        for row in range(n + 1):
            if row != worst and (second < 0 or simplex[row, n] > simplex[second, n]):
                second = row
        if simplex[worst, n] - simplex[best, n] <= converged:
            return
        for k in range(n):
            spare[0, k] = 0.0
            for row in range(n + 1):
                if row != worst:
                    spare[0, k] += simplex[row, k] / n
        _move(simplex, spare, worst, 1, 1.0)
        spare[1, n] = excess_at(corners, planes, spare, 1)
        step += 1
        if spare[1, n] < simplex[best, n]:
            _move(simplex, spare, worst, 2, 1.0 + 2.0 / n)
        elif spare[1, n] >= simplex[second, n]:
            inside = -1.0 if spare[1, n] >= simplex[worst, n] else 1.0
            _move(simplex, spare, worst, 2, inside * (0.75 - 0.5 / n))
        better = 1
        if spare[1, n] < simplex[best, n] or spare[1, n] >= simplex[second, n]:
            spare[2, n] = excess_at(corners, planes, spare, 2)
            step += 1
            better = 2 if spare[2, n] < spare[1, n] else 1
        if spare[better, n] < simplex[worst, n]:
            for k in range(n + 1):
                simplex[worst, k] = spare[better, k]
            continue
        for row in range(n + 1):
            if row != best:
                for k in range(n):
                    simplex[row, k] += (simplex[best, k] - simplex[row, k]) / n
                simplex[row, n] = excess_at(corners, planes, simplex, row)
        step += n


@kernel
def _move(simplex: Array, spare: Array, worst: int, row: int, factor: float) -> None:
    """Write centroid + factor (centroid - worst point) into a row of `spare`; row 0: centroid."""
    for k in range(simplex.shape[1] - 1):
        spare[row, k] = spare[0, k] + factor * (spare[0, k] - simplex[worst, k])
