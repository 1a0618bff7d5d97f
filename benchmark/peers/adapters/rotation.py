# SPDX-License-Identifier: Apache-2.0
"""Rotations for peers that want quaternions."""

from __future__ import annotations

import numpy as np

from .base import Array


def quaternion(rotation: Array) -> Array:
    """The unit quaternion xyzw of a rotation matrix."""
    x, y, z = rotation
    symmetric = np.array(
        [
            [x[0] - y[1] - z[2], x[1] + y[0], x[2] + z[0], z[1] - y[2]],
            [x[1] + y[0], y[1] - x[0] - z[2], y[2] + z[1], x[2] - z[0]],
            [x[2] + z[0], y[2] + z[1], z[2] - x[0] - y[1], y[0] - x[1]],
            [z[1] - y[2], x[2] - z[0], y[0] - x[1], x[0] + y[1] + z[2]],
        ]
    )
    q: Array = np.linalg.eigh(symmetric)[1][:, 3]
    return q
