# SPDX-License-Identifier: Apache-2.0
"""OptIK: SLSQP in Rust, restarted from random starts on all cores at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import optik

from .base import Adapter, Array, Chain
from .exponentials import axes_and_offsets

SECONDS = 0.1
TOLERANCE = 1e-13  # of the squared error


class Peer(Adapter):
    """Mode 'speed', the first solution found by any of `threads`."""

    def __init__(self, chain: Chain, threads: int) -> None:
        super().__init__(chain)
        self.settings = f'speed, {1e3 * SECONDS:g} ms, tol_f={TOLERANCE:g}, {threads} threads'
        self._robot = optik.Robot.from_urdf_file(chain.path, chain.base, chain.tip)
        self._robot.set_parallelism(threads)
        # a fixed joint at the chain's beginning is lost on it: goals are put in its own base frame
        self._moved = np.array(self._robot.fk([0.0] * len(chain.joints))) @ np.linalg.inv(
            _pose_at_zero(chain)
        )
        self._config = optik.SolverConfig('speed', max_time=SECONDS, tol_f=TOLERANCE)

    def prepare(self, goal: Array, q0: Array) -> Any:
        return (self._moved @ goal).tolist(), q0.tolist()

    def solve(self, prepared: Any) -> Any:
        found = self._robot.ik(self._config, *prepared)
        return None if found is None else found[0]


def _pose_at_zero(chain: Chain) -> Array:
    _, offsets, rotation = axes_and_offsets(chain)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, offsets.sum(axis=0)
    return pose
