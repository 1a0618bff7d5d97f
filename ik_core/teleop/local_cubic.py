# SPDX-License-Identifier: Apache-2.0
"""A cubic fitted to the frames of a hand around a time, weighted by how near they are to it."""

from __future__ import annotations

import numpy as np

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, Array2
from ..maths.linalg import cholesky_solve
from ..maths.rotations import Array
from ..tracking.goals.cartesian import carry, way_between

RIDGES = (0.0, 1e-6, 1e-4, 1e-3)  # of the coefficients: with one, two or three samples some are 0


class LocalCubic:
    """The fit at one time: a frame, its velocity and its acceleration.

    frame (12,) : a rotation matrix row by row, and a position [m]
    twist, slope (6,) : its twist, and the derivative of this
    """

    def __init__(self, stamps: Array, frames: Array, time: float, width: float) -> None:
        """Fit frames (k, 12) with stamps (k,) [s], one of which is within `width` of `time`."""
        self.frame, coefficients = np.empty(12), np.zeros((3, 6))
        fit_cubic(stamps, frames, time, width, self.frame, coefficients, np.empty((8, 7)))
        self.twist, self.slope = coefficients[1], coefficients[2]


@kernel(entry='ik_hand_fit_cubic')
def fit_cubic(
    stamps: Array1,
    frames: Array2,
    time: float,
    width: float,
    frame: Array1,
    coefficients: Array2,
    scratch: Array2,
) -> None:
    """Write the frame (12,) of the fit at a time, and its derivatives.

    Weights are (1 - u^2)^3 with u = (stamp - time) / width, 0 beyond the width.

    coefficients (3, 6) : zeros, which become way from the nearest sample, twist and slope
    scratch (8, 7) : 4 x 4 normal matrix, right-hand side, moments, a way
    """
    right, moments, way = scratch[4], scratch[5], scratch[6]
    nearest = 0
    for k in range(7):
        moments[k] = 0.0
    for i in range(stamps.shape[0]):
        if abs(stamps[i] - time) < abs(stamps[nearest] - time):
            nearest = i
        u = (stamps[i] - time) / width
        part = max(1.0 - u * u, 0.0) ** 3
        for k in range(7):
            moments[k] += part
            part *= u
    scale = 1.0
    for row in range(3):
        for i in range(4):
            right[i] = 1.0 if i == row else 0.0
            for k in range(4):
                scratch[i, k] = moments[i + k]
            scratch[i, i] += RIDGES[i] * moments[0]
        cholesky_solve(scratch, right, 4)
        for i in range(stamps.shape[0]):
            u = (stamps[i] - time) / width
            part = max(1.0 - u * u, 0.0) ** 3
            part *= right[0] + u * (right[1] + u * (right[2] + u * right[3]))
            way_between(frames[nearest], frames[i], way)
            for c in range(6):
                coefficients[row, c] += scale * part * way[c]
        scale *= (row + 1.0) / width
    for c in range(12):
        frame[c] = frames[nearest, c]
    carry(frame, coefficients[0], 1.0)
