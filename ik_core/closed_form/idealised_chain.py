# SPDX-License-Identifier: Apache-2.0
"""Idealised chains: a given chain with axes moved so that they exactly meet or are parallel.

Measured arms, and arms whose wrists have small offsets, are nearly such chains. Formulas find all
solutions of the idealised chain. Each is close to a solution of the given chain, which a few
Newton steps find.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..maths.rotations import Array
from .chain import Chain
from .families import meeting_point

# Largest correction of an axis: this fraction of the chain's extent, and this angle [rad]. With it
# solves from random starts take less time in the mean and at worst; with twice as much, only in
# the mean.
LARGEST_CORRECTION = 0.03


def idealised_chains(chain: Chain) -> Iterator[Chain]:
    """Yield idealised chains of a chain of revolute joints, those nearest to it first."""
    if chain.slides.any():
        return
    extent = np.linalg.norm(chain.rows[:, 3:] - (chain.last @ chain.tool)[:3, 3], axis=1).max()
    for moved, rows in sorted(_ideals(chain.rows, extent), key=lambda one: one[0]):
        if moved <= LARGEST_CORRECTION:
            yield replace(chain, rows=rows)


def _ideals(rows: Array, extent: float) -> Iterator[tuple[float, Array]]:
    """Yield idealised chains, and the correction of their axes as a fraction of `extent`, or an
    angle [rad].

    Three axes meet and two meet or are parallel, or three are parallel and two meet.
    """
    n = len(rows)
    for first in range(n - 2):
        three = [first, first + 1, first + 2]
        for two in ([i, i + 1] for i in range(n - 1) if not {i, i + 1} & {*three}):
            pair = _met(rows, two, extent), _parallel(rows, two)
            wrist, parallel = _met(rows, three, extent), _parallel(rows, three)
            snapped = (wrist, pair[0]), (wrist, pair[1]), (parallel, pair[0])
            for (moved, these), (also, others) in snapped:
                ideal = rows.copy()
                ideal[three], ideal[two] = these, others
                yield round(max(moved, also), 9), ideal


def _met(rows: Array, of: list[int], extent: float) -> tuple[float, Array]:
    """Return axes moved to the point at which they nearly meet (k, 6), and how far; inf without
    such a point."""
    point, moved = meeting_point(rows[of])
    return moved / extent, np.hstack([rows[of, :3], np.tile(point, (len(of), 1))])


def _parallel(rows: Array, of: list[int]) -> tuple[float, Array]:
    """Return axes turned to their common direction (k, 6), and how far."""
    axes = rows[of, :3]
    signs = np.where(axes @ axes[1] < 0.0, -1.0, 1.0)[:, None]
    mean = (signs * axes).sum(0)
    mean /= np.linalg.norm(mean)
    lean = float(np.linalg.norm(np.cross(axes, mean), axis=1).max())
    return lean, np.hstack([signs * mean, rows[of, 3:]])
