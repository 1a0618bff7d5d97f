# SPDX-License-Identifier: Apache-2.0
"""The cells of a reachability map: a grid of voxels, and orientations spread over SO(3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..exceptions import InvalidOption
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array, IntArray

PSI = 1.533751168755204288118041  # the root of psi^4 = psi + 4, for `orientations`

MOST_VOXELS = 2**31
VOXEL_ROUNDING = 1e-9


@dataclass(frozen=True)
class Grid:
    """Voxels whose centres are at `step` * (`first` + index), in the root link's frame [m].

    Centres are at whole multiples of the step, so maps with the same step line up. Voxels are
    numbered with the last axis fastest, as in arrays of `shape`.
    """

    step: float
    first: tuple[int, int, int]
    shape: tuple[int, int, int]

    @classmethod
    def over(cls, lower: VectorLike, upper: VectorLike, step: float) -> Grid:
        """The voxels whose centres are in a box, including its faces.

        Raises InvalidOption if there are none, or too many.
        """
        if not 0.0 < step < math.inf:
            raise InvalidOption(f'step {step!r} must be a positive number [m]')
        low, high = np.asarray(lower, float) / step, np.asarray(upper, float) / step
        if not (np.isfinite([low, high]).all() and low.shape == high.shape == (3,)):
            raise InvalidOption('box must be two corners of three finite numbers each [m]')
        first, last = np.ceil(low - VOXEL_ROUNDING), np.floor(high + VOXEL_ROUNDING)
        shape = last - first + 1.0
        if (shape < 1.0).any():
            raise InvalidOption(
                f'no voxel centre is in the box: they are at multiples of the step, {step:g} m'
            )
        if np.prod(shape) > MOST_VOXELS:
            raise InvalidOption(f'{np.prod(shape):.3g} voxels are too many: take a larger step')
        return cls(float(step), _three(first), _three(shape))

    @property
    def voxels(self) -> int:
        """The number of voxels."""
        return math.prod(self.shape)

    def centres(self, voxels: IntArray) -> Array:
        """The centres (V, 3) of voxels by number (V,) [m]."""
        index = np.column_stack(np.unravel_index(voxels, self.shape))
        return np.array(self.step * (index + self.first), float)

    def axis(self, i: int) -> Array:
        """The coordinates (shape[i],) of the centres along axis i [m]."""
        return np.array(self.step * (self.first[i] + np.arange(self.shape[i])), float)


def orientations(count: int) -> Array:
    """`count` rotation matrices (count, 3, 3), evenly spread over SO(3) and always the same.

    Super-Fibonacci spirals: [Alexa2022] algorithm 1.
    """
    s = np.arange(count) + 0.5
    t = s / count
    r, big_r = np.sqrt(t), np.sqrt(1.0 - t)
    alpha, beta = 2.0 * np.pi * s / math.sqrt(2.0), 2.0 * np.pi * s / PSI
    x, y = r * np.sin(alpha), r * np.cos(alpha)
    z, w = big_r * np.sin(beta), big_r * np.cos(beta)
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0).copy()


def _three(numbers: Array) -> tuple[int, int, int]:
    x, y, z = (int(number) for number in numbers)
    return x, y, z
