# SPDX-License-Identifier: Apache-2.0
"""roboplan: `SimpleIk`, damped least squares with restarts in C++ over pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
from roboplan.core import (
    CartesianConfiguration,
    JointConfiguration,
    Scene,
    loadUrdfSceneDescription,
)
from roboplan.simple_ik import SimpleIk, SimpleIkOptions

from .base import Adapter, Array, Chain

TOLERANCE = 1e-6
SECONDS = 0.05


class Peer(Adapter):
    """Full and hardly damped steps: its own defaults take long to a tight tolerance."""

    settings = (
        'SimpleIk, step 1, damping 1e-6, 20 iterations, 200 restarts, '
        f'{1e3 * SECONDS:g} ms, {TOLERANCE:g}'
    )

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        self._scene = Scene(chain.name, loadUrdfSceneDescription(chain.path))
        self._scene.addGroupFromChain('arm', chain.base, chain.tip)
        options = SimpleIkOptions(
            group_name='arm',
            max_iters=20,
            max_time=SECONDS,
            max_restarts=200,
            step_size=1.0,
            damping=1e-6,
            max_linear_error_norm=TOLERANCE,
            max_angular_error_norm=TOLERANCE,
            check_collisions=False,
        )
        self._solver = SimpleIk(self._scene, options)

    def prepare(self, goal: Array, q0: Array) -> Any:
        pose = CartesianConfiguration(self.chain.base, self.chain.tip, np.asfortranarray(goal))
        return pose, JointConfiguration(self.chain.joints, q0), JointConfiguration()

    def solve(self, prepared: Any) -> Any:
        goal, start, found = prepared
        return found.positions if self._solver.solveIk(goal, start, found) else None
