# SPDX-License-Identifier: Apache-2.0
"""A reachability map, made in a background thread, and its points in colours."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ik_core import IkProblem
from ik_core.exceptions import UnsupportedProblem
from ik_core.maths.rotations import Array
from ik_core.reachability.bounds import reach_bounds
from ik_core.reachability.maps import Progress, ReachabilityMap, reachability_map

from ..arm import error_text

RESTARTS = 8  # random starts after which a point counts as not reached
CHUNK = 1024  # points between two checks whether the map was cancelled
NICE = 10  # niceness of the threads, on systems with one per thread
# Colours from the lowest to the highest value, which the colour-blind can order, too.
VIRIDIS = np.array([
    (68, 1, 84), (71, 44, 122), (59, 81, 139), (44, 113, 142), (33, 144, 141),
    (39, 173, 129), (92, 200, 99), (170, 220, 50), (253, 231, 37),
])  # fmt: skip


class Cancelled(Exception):
    """Raised to end a map that is no longer needed."""


class Reach(NamedTuple):
    """Reached points (P, 3) [m] of a grid with `step` [m], and their manipulability (P,)."""

    points: Array
    manipulability: Array
    step: float


class Mapper:
    """A thread that makes a reachability map.

    problem : a problem with the position goal of one link
    q0 : (n,) start of every solve
    voxels : number of voxels between the middle and the end of the possible workspace

    `fraction` is the progress, from 0 to 1; at the end there is `reach`, or the text of `error`.
    """

    def __init__(self, problem: IkProblem, q0: Array, voxels: int) -> None:
        self.fraction = 0.0
        self.reach: Reach | None = None
        self.error = ''
        self._problem, self._q0, self._voxels = problem, q0, voxels
        self._cancelled = False
        self._thread = threading.Thread(target=self._run, name='reach', daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """True if the thread has ended."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """End the thread, after its present chunk of points."""
        self._cancelled = True

    def _run(self) -> None:
        lower_priority()
        try:
            self.reach = reach_of(self._map())
        except Cancelled:
            pass
        except Exception as error:
            self.error = error_text(error)

    def _map(self) -> ReachabilityMap:
        workspace = reach_bounds(self._problem, self._q0).workspace
        if not np.isfinite(workspace):
            raise UnsupportedProblem('a prismatic joint has no limits: the reach is infinite')
        return reachability_map(
            self._problem,
            step=workspace / self._voxels,
            q0=self._q0,
            restarts=RESTARTS,
            manipulability=True,
            chunk_cells=CHUNK,
            progress=self._note,
        )

    def _note(self, progress: Progress) -> None:
        if self._cancelled:
            raise Cancelled
        self.fraction = progress.done / progress.voxels


def lower_priority() -> None:
    """Lower the priority of this thread, and of threads that it starts."""
    if hasattr(os, 'setpriority'):
        with contextlib.suppress(OSError):  # the priority may be lower already
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


def reach_of(made: ReachabilityMap) -> Reach:
    """Return the reached points of a map."""
    reached = made.reached > 0
    indices = np.argwhere(reached)
    points = made.grid.step * (indices + np.array(made.grid.first))
    assert made.manipulability is not None
    return Reach(points, made.manipulability[reached].astype(float), made.grid.step)


def colours_of(manipulability: Array) -> NDArray[np.uint8]:
    """Return a colour (P, 3) for each point, by its fraction of the largest value."""
    most = manipulability.max(initial=0.0)
    fractions = manipulability / most if most > 0.0 else np.zeros(len(manipulability))
    at = fractions * (len(VIRIDIS) - 1)
    steps = np.arange(len(VIRIDIS))
    return np.stack([np.interp(at, steps, c) for c in VIRIDIS.T], axis=1).round().astype(np.uint8)
