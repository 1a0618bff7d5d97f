# SPDX-License-Identifier: Apache-2.0
"""Solids made of rings: lathes, shells and elbows [mm], and their OBJ files.

All are closed surfaces that may overlap: a link is drawn as several of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

Points = NDArray[np.float64]
SIDES = 20  # Corners of a ring
GAP = 2.0  # [mm] Between a link and the plane where it meets the next one
SHARP = np.cos(np.radians(38.0))  # Faces that meet at a larger angle have an edge
# Added before rounding: halves, which sines of another processor may miss, are not cut apart
ROUND_UP = 1e-3
# For each axis the order of (a, b, height) as x, y, z: a and b are the two axes after it
CYCLES = {'z': (0, 1, 2), 'x': (2, 0, 1), 'y': (1, 2, 0)}


class Solid(NamedTuple):
    """A closed surface: `vertices` (V, 3) [mm]; `faces` are planar polygons, seen from outside
    anticlockwise."""

    vertices: Points
    faces: list[tuple[int, ...]]


def loft(rings: Points) -> Solid:
    """Join rings (K, N, 3) by quadrilaterals, and close both ends."""
    count, sides = rings.shape[:2]
    index = np.arange(count * sides).reshape(count, sides)
    faces = [tuple(index[0, ::-1]), tuple(index[-1])]
    for low, high in pairwise(index):
        faces += zip(low, np.roll(low, -1), np.roll(high, -1), high, strict=True)
    return _outward(Solid(rings.reshape(-1, 3), faces))


def _outward(solid: Solid) -> Solid:
    """Return the solid with its faces seen from outside."""
    corners = [solid.vertices[list(face)] for face in solid.faces]
    volume = sum(np.dot(each.mean(axis=0), _area_vector(each)) for each in corners)
    return solid if volume > 0.0 else Solid(solid.vertices, [face[::-1] for face in solid.faces])


def _area_vector(corners: Points) -> Points:
    """Return the normal of a polygon (N, 3), as long as its area."""
    vector: Points = 0.5 * np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0)
    return vector


def shell(rows: Sequence[Sequence[float]], axis: str = 'z', steps: int = 2) -> Solid:
    """Return a smooth shell through superellipses across an axis.

    rows : (height, a0, a1, b0, b1, power), where the superellipse of this power (2: an ellipse)
        fills a0 to a1 and b0 to b1 of the two axes that follow `axis` in x, y, z
    steps : rings for each row
    """
    keys = np.array(rows, float)
    at = np.linspace(0.0, len(keys) - 1.0, steps * (len(keys) - 1) + 1)
    heights, a0, a1, b0, b1, power = PchipInterpolator(np.arange(len(keys)), keys)(at).T[..., None]
    angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
    a, b = (np.sign(c) * np.abs(c) ** (2.0 / power) for c in (np.cos(angles), np.sin(angles)))
    a, b = 0.5 * (a0 + a1 + (a1 - a0) * a), 0.5 * (b0 + b1 + (b1 - b0) * b)
    rings = np.stack([a, b, np.broadcast_to(heights, a.shape)], axis=-1)
    return loft(rings[..., CYCLES[axis]])


def lathe(
    profile: Sequence[Sequence[float]],
    axis: str = 'z',
    at: Sequence[float] = (0.0, 0.0, 0.0),
) -> Solid:
    """Return a solid of revolution round an axis through `at`.

    profile : (radius, height, rounding = 0) from one end to the other, whose radii need not be 0
    """
    points = _rounded([(r, h, *more, 0.0)[:3] for r, h, *more in profile])
    angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
    circle = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=-1)
    rings = np.array([radius * circle + [0.0, 0.0, height] for radius, height in points])
    return loft(rings[..., CYCLES[axis]] + np.asarray(at, float))


def _rounded(profile: Sequence[tuple[float, ...]]) -> list[Points]:
    """Return a polyline whose corners (x, y, rounding) are replaced by three chords of an arc."""
    points: list[Points] = []
    for i, (x, y, radius) in enumerate(profile):
        corner = np.array([x, y])
        if not radius:
            points.append(corner)
            continue
        before, after = (np.subtract(profile[j][:2], corner) for j in (i - 1, i + 1))
        before, after = before / np.linalg.norm(before), after / np.linalg.norm(after)
        half = 0.5 * np.arccos(before @ after)
        bisector = (before + after) / np.linalg.norm(before + after)
        middle = corner + bisector * radius / np.sin(half)
        first, last = (corner + radius / np.tan(half) * d - middle for d in (before, after))
        turn = np.pi - 2.0 * half
        for share in (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0):
            weights = np.sin(turn * (1.0 - share)), np.sin(turn * share)
            points.append(middle + (weights[0] * first + weights[1] * last) / np.sin(turn))
    return points


def elbow(start: float, neck: float, drum: float, depth: float, accent: float) -> list[Solid]:
    """Return one half of an elbow: a neck along z that swings aside into a drum round y.

    The drum lies at y from 0 to -depth, so that the other half, turned to the other side, has
    the room beyond the plane y = 0.

    start : height of the neck's open end, -start below the drum's axis
    neck, drum : their radii
    accent : radius of the disc on the drum's cap, which is returned last
    """
    bend = drum + min(neck, 0.6 * (start - drum))
    middle = 0.5 * (bend + drum)
    grows = depth - neck
    rows = [
        (-start, -neck, neck, -neck, neck, 2.0),
        (-bend, -neck, neck, -neck - 0.06 * grows, neck, 2.0),
        (-middle, *_across(0.5 * (neck + drum)), -neck - 0.4 * grows, 0.62 * neck, 2.1),
        (-drum, *_across(drum), -neck - 0.75 * grows, -GAP, 2.3),
        (-0.5 * drum, *_across(0.99 * drum), 1.5 - depth, -GAP, 2.6),
        (0.0, *_across(0.97 * drum), 4.0 - depth, -GAP, 2.6),
    ]
    cap = drum - accent - 3.0
    return [
        shell(rows),
        lathe([(drum, -GAP), (drum, -depth, cap), (0.0, -depth)], 'y'),
        lathe([(accent, 1.0 - depth), (accent, -1.5 - depth), (0.0, -1.5 - depth)], 'y'),
    ]


def _across(half: float) -> tuple[float, float]:
    return -half, half


def ring(
    radius: float,
    low: float,
    high: float,
    axis: str = 'z',
    at: Sequence[float] = (0.0, 0.0, 0.0),
) -> Solid:
    """Return a short cylinder, as between two links."""
    return lathe([(radius, low), (radius, high)], axis, at)


def placed(
    solids: Iterable[Solid],
    roll: float = 0.0,
    pitch: float = 0.0,
    yaw: float = 0.0,
    at: Sequence[float] = (0.0, 0.0, 0.0),
) -> list[Solid]:
    """Return the solids turned by roll, pitch and yaw [degrees] as in a URDF, then moved."""
    turn = Rotation.from_euler('xyz', [roll, pitch, yaw], degrees=True).as_matrix()
    return [Solid(s.vertices @ turn.T + np.asarray(at, float), s.faces) for s in solids]


def obj(solids: Iterable[Solid]) -> str:
    """Return an OBJ of solids with normals, which are smooth except at edges."""
    vertices: dict[str, int] = {}
    normals: dict[str, int] = {}
    faces: list[str] = []
    for solid in solids:
        faces += _faces(solid, vertices, normals)
    lines = (*(f'v {v}' for v in vertices), *(f'vn {n}' for n in normals), *faces)
    return '\n'.join(lines) + '\n'


def _faces(solid: Solid, vertices: dict[str, int], normals: dict[str, int]) -> list[str]:
    """Return the lines of a solid's faces; add its vertices and normals to the dictionaries."""
    names = [_numbers(vertex, 1) for vertex in solid.vertices]
    welded = {name: i for i, name in enumerate(names)}
    polygons = [_without_repeats([welded[names[i]] for i in face]) for face in solid.faces]
    polygons = [polygon for polygon in polygons if len(polygon) > 2]
    areas = np.array([_area_vector(solid.vertices[polygon]) for polygon in polygons])
    units = areas / np.linalg.norm(areas, axis=1, keepdims=True)
    around: dict[int, list[int]] = {}
    for i, polygon in enumerate(polygons):
        for corner in polygon:
            around.setdefault(corner, []).append(i)
    lines = []
    for i, polygon in enumerate(polygons):
        words = []
        for corner in polygon:
            near = [j for j in around[corner] if units[j] @ units[i] > SHARP]
            normal = areas[near].sum(axis=0)
            keys = names[corner], _numbers(normal / np.linalg.norm(normal), 2)
            v, n = (
                known.setdefault(key, len(known) + 1)
                for known, key in zip((vertices, normals), keys, strict=True)
            )
            words.append(f'{v}//{n}')
        lines.append(f'f {" ".join(words)}')
    return lines


def _without_repeats(polygon: list[int]) -> list[int]:
    return [corner for i, corner in enumerate(polygon) if corner != polygon[i - 1]]


def _numbers(values: Points, digits: int) -> str:
    whole = np.floor(values * 10**digits + 0.5 + ROUND_UP) / 10**digits
    return ' '.join(f'{value:.{digits}f}'.rstrip('0').rstrip('.') for value in whole)
