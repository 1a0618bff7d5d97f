# SPDX-License-Identifier: Apache-2.0
"""Cache of the convex pieces of meshes, by the content of the mesh files.

A file is one array of numbers: the number of pieces; the number of corners of each; and for each
piece its sphere (4), capsule (7) and corners. A damaged file is made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..maths.rotations import Array
from . import array_files, covers, cutting

FOLDER = 'pieces'


class CoveredHull(NamedTuple):
    """Corners (n, 3) of a convex piece in the mesh's frame, its sphere (4,) and capsule (7,)."""

    corners: Array
    sphere: Array
    capsule: Array


def key_of(data: bytes, suffix: str, scale: Sequence[float]) -> str:
    """The key of a mesh's pieces: a hash of the file's bytes, the scale and the code that cuts."""
    digest = hashlib.blake2b(data, digest_size=16)
    digest.update(f'{suffix.lower()} {[*map(float, scale)]} {_sources()}'.encode())
    return digest.hexdigest()


@cache
def _sources() -> str:
    """A hash of the sources that pieces depend on."""
    digest = hashlib.blake2b(digest_size=16)
    for module in (cutting, covers):
        digest.update(Path(module.__file__ or '').read_bytes())
    return digest.hexdigest()


def load(key: str) -> list[CoveredHull] | None:
    """Load the pieces stored under a key; None if there are none."""
    numbers = array_files.load(FOLDER, key)
    try:
        return None if numbers is None else _unpack(numbers)
    except (ValueError, IndexError):
        return None


def store(key: str, hulls: Sequence[CoveredHull]) -> None:
    """Store pieces; does nothing if there is no cache folder."""
    array_files.store(FOLDER, key, _pack(hulls))


def _pack(hulls: Sequence[CoveredHull]) -> Array:
    """Pieces as the array of a file, described above."""
    counts = [len(hulls), *(len(hull.corners) for hull in hulls)]
    parts = [part.ravel() for hull in hulls for part in (hull.sphere, hull.capsule, hull.corners)]
    return np.concatenate([counts, *parts])


def _unpack(numbers: Array) -> list[CoveredHull]:
    """The pieces of an array made by `_pack`. Raises ValueError for other arrays."""
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError('these are not pieces')
    count = int(numbers[0])
    corners = numbers[1 : count + 1].astype(int)
    whole = count > 0 and len(corners) == count and (corners > 3).all()
    if not whole or numbers.shape != (1 + count + (11 + 3 * corners).sum(),):
        raise ValueError('these are not pieces')
    ends = 1 + count + np.cumsum(11 + 3 * corners)
    rows = (numbers[end - 11 - 3 * n : end] for n, end in zip(corners, ends, strict=True))
    return [CoveredHull(row[11:].reshape(-1, 3), row[:4], row[4:11]) for row in rows]
