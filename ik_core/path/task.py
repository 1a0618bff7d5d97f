# SPDX-License-Identifier: Apache-2.0
"""The request for a path: poses, limits, configurations at both ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..maths.rotations import Array
from ..problem import IkProblem
from .waypoints import Waypoints

# speed of the tip over its largest speed, per unit of the parameter's rate, at values (M,)
TipUse = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Rates:
    """Limits of the variables: velocity, acceleration and jerk (v,); inf for none."""

    velocity: Array
    acceleration: Array
    jerk: Array


@dataclass(frozen=True, eq=False)
class Task:
    """A path with its samples (N), and what is asked for.

    start (n,) : values of the joints that do not move
    near (v,) : configuration from which the travel counts, or None
    first, last (v,) : the variables at both ends, where they are given
    lower, upper (v,) : limits of positions
    tip_speeds : largest speeds of the tip [m/s] at the poses of `path`, linear in between; None:
        any
    is_closed : whether the motion ends in the configuration in which it begins
    starts : the number of first configurations that are tried, if the problem is redundant
    rests : whether a motion at given times begins and ends at rest
    speed : rate of the parameter to begin with [1/s]; 0: at rest
    slope (v,) : derivative of the variables by the parameter at the beginning; None: any
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
    tip_speeds: Array | None = None
    is_closed: bool = False
    starts: int = 1
    rests: bool = False
    speed: float = 0.0
    slope: Array | None = None

    @property
    def tip_use(self) -> TipUse | None:
        """The use of the tip's largest speed; None without one."""
        if self.tip_speeds is None:
            return None
        path, speeds = self.path, self.tip_speeds
        return lambda u: path.rates(u)[0] / np.interp(u, path.places, speeds)

    def q(self, x: Array) -> Array:
        """Configurations (N, n) of variables (N, v)."""
        q = np.tile(self.start, (len(x), 1))
        q[:, self.problem.variables] = x
        return q
