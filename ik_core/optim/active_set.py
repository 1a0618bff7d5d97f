"""The active set: the variables that a step leaves on their limits, as in Rosen [Rosen1960]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array
from ..robot.limits import JointLimits


def step_of_free(
    limits: JointLimits,
    x: Array,
    solve: Callable[[NDArray[np.bool_]], Array],
    free: NDArray[np.bool_] | None = None,
) -> Array:
    """The step (n,) by the variables that no limit holds.

    solve : the step (k,) of these k variables alone, for their mask (n,)
    free : which variables are free to begin with, by default all

    Variables at a limit that a step would have them cross are held, and it is solved again, until
    there are none.
    """
    free = np.ones(len(x), bool) if free is None else free.copy()
    while free.any():
        step = np.zeros(len(x))
        step[free] = solve(free)
        crossing = limits.active(x, step)
        if not crossing.any():
            return step
        free &= ~crossing
    return np.zeros(len(x))
