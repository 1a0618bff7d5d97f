# SPDX-License-Identifier: Apache-2.0
"""A reachability map as a cloud of points with a value each, for figures and viewers.

made = reachability_map(robot, step=0.1, manipulability=True)
cloud = reach_cloud(made)           # cloud.points (N, 3), cloud.values (N,)
cloud.half()                        # cut open
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..maths.rotations import Array
from .maps import ReachabilityMap

MANIPULABILITY = 'manipulability'
FRACTION = 'fraction of orientations'


@dataclass(frozen=True, eq=False)
class ReachCloud:
    """The reached voxels of a map: their centres `points` (N, 3) in the root link's frame [m].

    `values` (N,): the mean of sqrt(det(J J')) over the postures found in the voxel, in `unit`; or
    for a map without manipulability the fraction of orientations that is reached; `what` names
    them. `step` [m]: the edge of a voxel.
    """

    points: Array
    values: Array
    what: str
    unit: str
    step: float

    @property
    def shades(self) -> Array:
        """The values (N,) divided by the largest one, for a colour map."""
        most = float(self.values.max(initial=0.0))
        return self.values / most if most > 0.0 else np.zeros_like(self.values)

    def half(self) -> ReachCloud:
        """The half with y >= 0, which shows the inside."""
        kept = self.points[:, 1] >= -0.5 * self.step
        return replace(self, points=self.points[kept], values=self.values[kept])


def reach_cloud(made: ReachabilityMap) -> ReachCloud:
    """The cloud of the reached voxels of a map."""
    reached = made.reached > 0
    numbers = np.flatnonzero(reached)
    points = made.grid.centres(numbers)
    if made.manipulability is None:
        return ReachCloud(points, made.fraction[reached], FRACTION, '', made.grid.step)
    values = np.asarray(made.manipulability[reached], float)
    return ReachCloud(points, values, MANIPULABILITY, 'm³', made.grid.step)
