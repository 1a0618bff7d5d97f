# SPDX-License-Identifier: Apache-2.0
"""The request for a path: poses, limits, configurations at both ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..maths.rotations import Array
from ..problem import IkProblem
from .waypoints import Waypoints


@dataclass(frozen=True, eq=False)
class Rates:
    """Limits of the variables: velocity, acceleration and jerk (v,); inf for none.

    tip_speed : largest speed of the tip [m/s]
    """

    velocity: Array
    acceleration: Array
    jerk: Array
    tip_speed: float = math.inf


@dataclass(frozen=True, eq=False)
class Task:
    """A path with its samples (N), and what is asked for.

    start (n,) : values of the joints that do not move
    near (v,) : configuration from which the travel counts, or None
    first, last (v,) : the variables at both ends, where they are given
    lower, upper (v,) : limits of positions
    """

    problem: IkProblem
    path: Waypoints
    rates: Rates
    places: Array
    targets: Array
    start: Array
    near: Array | None
    first: Array | None
    last: Array | None
    lower: Array
    upper: Array
    within: tuple[float, float]
    note: str

    def q(self, x: Array) -> Array:
        """Configurations (N, n) of variables (N, v)."""
        q = np.tile(self.start, (len(x), 1))
        q[:, self.problem.variables] = x
        return q
