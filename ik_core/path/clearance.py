# SPDX-License-Identifier: Apache-2.0
"""Whether a motion of the joints is free of collisions everywhere, shown by distances.

While joint j moves by up to d_j, no pair of pieces comes nearer by more than the sum of d_j l_j,
where l_j is the largest reach of a pair (`collision.reaches`). So an interval is free if all
distances in its middle are above their margins by that; else it is halved.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PPoly

from ..collision.collisions import Collisions
from ..maths.rotations import Array
from ..problem import IkProblem

SMALLEST = 1e-5  # [m] a motion by less is not halved: it counts as a hit


def first_hit(problem: IkProblem, spline: PPoly, start: Array) -> float | None:
    """The first place found where a cubic spline of the variables is not free; None if it is free
    everywhere.

    start (n,) : values of the joints that do not move

    The problem's `valid` and reach cones are checked in the middles of the intervals only.
    """
    avoidance, collisions = problem.avoidance, problem.avoid
    levers, reach = np.zeros(len(problem.variables)), 0.0
    if collisions is not None:
        levers, reach = _levers(problem, collisions, start), collisions.reach
    first = spline.derivative(1)
    low, high = spline.x[:-1], spline.x[1:]
    while len(low):
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        # the derivative is a parabola on each interval: its values and its bend bound it
        ends = np.array([first(low), first(middle), first(np.nextafter(high, low))])
        bend = np.abs(ends[0] - 2.0 * ends[1] + ends[2])
        moved = half * ((np.abs(ends).max(axis=0) + 0.25 * bend) @ levers)
        q = np.tile(start, (len(middle), 1))
        q[:, problem.variables] = spline(middle)
        free = avoidance.which_may_answer(q)
        if not free.all():
            return float(middle[int(np.argmin(free))])
        if collisions is None:
            return None
        halved = np.zeros(len(middle), bool)
        for i, row in enumerate(q):
            near = collisions.distances(row, reach + float(moved[i]), avoidance.groups)
            halved[i] = any(pair.distance - pair.margin <= moved[i] for pair in near)
        small = halved & (moved < SMALLEST)
        if small.any():
            return float(middle[int(np.argmax(small))])
        low, middle, high = low[halved], middle[halved], high[halved]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return None


def _levers(problem: IkProblem, collisions: Collisions, start: Array) -> Array:
    """Return how much nearer each variable (v,) can bring any pair per motion [m/rad, m/m]."""
    is_outside = problem.avoidance.is_outside(start[np.newaxis])
    reach = collisions.approaches(is_outside)[1].reach
    levers: Array = reach.max(axis=0, initial=0.0)[problem.variables]
    return levers
