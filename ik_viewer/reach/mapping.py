# SPDX-License-Identifier: Apache-2.0
"""A reachability map that is made while one looks at something else, and its points in colours."""

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
CHUNK = 1024  # points between two looks at whether the map is still wanted
NICE = 10  # priority of the threads, where a system has one for each
# Colours from the least to the most; the colour-blind can tell them apart, and see which is more.
VIRIDIS = np.array([
    (68, 1, 84), (71, 44, 122), (59, 81, 139), (44, 113, 142), (33, 144, 141),
    (39, 173, 129), (92, 200, 99), (170, 220, 50), (253, 231, 37),
])  # fmt: skip


class GivenUp(Exception):
    """Raised when the map is not needed any more."""


class Reach(NamedTuple):
    """Points (P, 3) [m] that are reached, `step` [m] apart, and how freely (P,)."""

    points: Array
    manipulability: Array
    step: float


class Mapper:
    """Makes a map in a thread of its own.

    problem : whose goals' positions are asked for, of one link
    q0 : (n,) where every solve begins
    voxels : how many are between the middle and the end of what may be in reach

    `fraction` is what is done of it, from 0 to 1; then `reach` is there, or `error` says why not.
    """

    def __init__(self, problem: IkProblem, q0: Array, voxels: int) -> None:
        self.fraction = 0.0
        self.reach: Reach | None = None
        self.error = ''
        self._problem, self._q0, self._voxels = problem, q0, voxels
        self._given_up = False
        self._thread = threading.Thread(target=self._run, name='reach', daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it is over."""
        return not self._thread.is_alive()

    def give_up(self) -> None:
        """End it, after the points that are under way."""
        self._given_up = True

    def _run(self) -> None:
        make_way()
        try:
            self.reach = reach_of(self._map())
        except GivenUp:
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
        if self._given_up:
            raise GivenUp
        self.fraction = progress.done / progress.voxels


def make_way() -> None:
    """Lower the priority of this thread, and of those that it starts."""
    if hasattr(os, 'setpriority'):
        with contextlib.suppress(OSError):  # it may be lower already
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


def reach_of(made: ReachabilityMap) -> Reach:
    """The points of a map that are reached."""
    reached = made.reached > 0
    indices = np.argwhere(reached)
    points = made.grid.step * (indices + np.array(made.grid.first))
    assert made.manipulability is not None
    return Reach(points, made.manipulability[reached].astype(float), made.grid.step)


def colours_of(manipulability: Array) -> NDArray[np.uint8]:
    """A colour (P, 3) for each point, by its share of the greatest."""
    most = manipulability.max(initial=0.0)
    shares = manipulability / most if most > 0.0 else np.zeros(len(manipulability))
    at = shares * (len(VIRIDIS) - 1)
    steps = np.arange(len(VIRIDIS))
    return np.stack([np.interp(at, steps, c) for c in VIRIDIS.T], axis=1).round().astype(np.uint8)
