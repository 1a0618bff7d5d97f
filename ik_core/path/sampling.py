# SPDX-License-Identifier: Apache-2.0
"""Poses of a path that is given as a function of its length, so dense that chords are close to it.

Intervals are halved until the pose in the middle of each is near the middle of its chord.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..exceptions import InvalidGoal, InvalidOption
from ..maths.argument_types import TransformLike
from ..maths.rotations import Array, relative_logs
from ..maths.transforms import checked_transforms
from ..options import exact_number
from .waypoints import MOST_POSES, rotations

FIRST = 64  # intervals to begin with
NARROWEST = 1e-7  # fraction of the length: poses that are apart in a shorter interval are a jump


def sampled(
    function: Callable[[float], TransformLike],
    length: float | None,
    root: str,
    allowed: tuple[float, float],
) -> tuple[Array, Array, Array]:
    """Return poses (N, 4, 4) of a function on [0, length], and their arguments (N,), rising.

    root : required frame of stamped messages
    allowed : largest distance of the function from the chords [m, rad]

    The third result (2,) has the largest distances that were found. Raises InvalidGoal,
    InvalidOption.
    """
    end = exact_number(length, float)
    if end is None or not 0.0 < end < np.inf:
        raise InvalidOption(
            f'length = {length!r}: if poses is a function, a positive number is needed, since the '
            'path goes from poses(0) to poses(length)'
        )
    places = np.linspace(0.0, end, FIRST + 1)
    poses, worst = _values(function, places, root), np.zeros(2)
    is_open = np.ones(FIRST, bool)
    while is_open.any():
        at = np.flatnonzero(is_open)
        middles = 0.5 * (places[at] + places[at + 1])
        between = _values(function, middles, root)
        gaps = _gaps(poses[at], between, poses[at + 1])
        bad = (gaps > allowed).any(axis=1)
        worst = np.maximum(worst, gaps[~bad].max(axis=0, initial=0.0))
        narrow = bad & (places[at + 1] - places[at] < NARROWEST * end)
        if narrow.any() or len(places) + bad.sum() > MOST_POSES:
            i = at[np.argmax(narrow if narrow.any() else bad)]
            raise InvalidGoal(
                f'poses({places[i]:.9g}) and poses({places[i + 1]:.9g}) are too far apart: the '
                'path has a jump there, or is too long; is its position in metres?'
            )
        is_open[at[~bad]] = False
        new = at[bad] + 1
        is_open = np.insert(is_open, new, True)
        places = np.insert(places, new, middles[bad])
        poses = np.insert(poses, new, between[bad], axis=0)
    return poses, places, worst


def _values(function: Callable[[float], TransformLike], places: Array, root: str) -> Array:
    """The function's poses (M, 4, 4) at places (M,)."""
    return checked_transforms([function(float(place)) for place in places], root, name='poses')


def _gaps(before: Array, middle: Array, after: Array) -> Array:
    """Distances (M, 2) [m, rad] of poses (M, 4, 4) from the middles between two others."""
    frames = [
        np.ascontiguousarray(poses[:, :3, :3]).reshape(-1, 9) for poses in (before, middle, after)
    ]
    turns, rest = np.empty((2, len(middle), 3))
    relative_logs(frames[0], frames[2], turns)
    half = np.ascontiguousarray(before[:, :3, :3] @ rotations(0.5 * turns)).reshape(-1, 9)
    relative_logs(half, frames[1], rest)
    shift = middle[:, :3, 3] - 0.5 * (before[:, :3, 3] + after[:, :3, 3])
    return np.column_stack([np.linalg.norm(shift, axis=1), np.linalg.norm(rest, axis=1)])
