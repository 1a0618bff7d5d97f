# SPDX-License-Identifier: Apache-2.0
"""The distance between two paths, regardless of their speeds and numbers of points."""

from __future__ import annotations

import numpy as np

from ..exceptions import InvalidMotion
from ..maths.argument_types import MatrixLike
from ..maths.rotations import Array

PATH_POINTS = 100  # to which paths are resampled
FARTHEST_POINT = 1e9  # [m] points farther out are mistakes
NO_SHAPE = 1e-9  # [m] shorter paths have no shape


def path_distance(path: MatrixLike, other: MatrixLike, *, by_shape: bool = False) -> float:
    """The root mean square distance [m] of two paths (k, 3) and (m, 3) [m] of one or more points.

    Both are resampled to the same number of points by arc length, evenly from start to end: speeds
    do not count, directions do.

    by_shape : True first scales the other path to the length of `path` and moves it to its start,
        so that position and size do not count; a path without length is only moved
    """
    points, others = _resampled(np.asarray(path, float)), _resampled(np.asarray(other, float))
    if by_shape:
        length, own = _along(points)[-1], _along(others)[-1]
        factor = length / own if own > NO_SHAPE else 1.0
        others = points[0] + factor * (others - others[0])
    return float(np.sqrt(np.mean(np.sum((points - others) ** 2, axis=1))))


def checked_path(path: MatrixLike, least: int = 2) -> Array:
    """A path (k, 3) [m] of at least `least` points, as floats. Raises InvalidMotion."""
    try:
        points = np.array(path, float)
    except (TypeError, ValueError) as error:
        raise InvalidMotion(f'the path is not an array of numbers: {error}') from None
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < least:
        raise InvalidMotion(
            f'the path has shape {points.shape}; (k, 3) is needed, with k at least {least}'
        )
    wrong = ~(np.abs(points) <= FARTHEST_POINT).all(axis=1)
    if wrong.any():
        point = int(np.argmax(wrong))
        raise InvalidMotion(
            f'point {point} of the path, {points[point].tolist()}, is not finite or is farther '
            f'out than {FARTHEST_POINT:g} m'
        )
    return points


def has_shape(path: Array) -> bool:
    """Return whether a path (k, 3) [m] has a length."""
    return bool(_along(path)[-1] > NO_SHAPE)


def _along(path: Array) -> Array:
    """The arc length [m] from the start to each point (k,)."""
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])


def _resampled(path: Array) -> Array:
    """PATH_POINTS points (PATH_POINTS, 3), evenly spaced along a path (k, 3)."""
    along = _along(path)
    at = np.linspace(0.0, along[-1], PATH_POINTS)
    return np.stack([np.interp(at, along, column) for column in path.T], axis=1)
