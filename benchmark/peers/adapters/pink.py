# SPDX-License-Identifier: Apache-2.0
"""pink: weighted tasks over pinocchio, one quadratic program for each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pink
import pinocchio
from pink.limits import ConfigurationLimit

from .base import Array, Chain, Stepper


class Peer(Stepper):
    """Steps of a second with full gain: each goes as far as the linear model and limits allow."""

    def __init__(self, chain: Chain, restarts: int) -> None:
        super().__init__(chain, restarts)
        self.settings += ', daqp, gain 1, lm_damping 1e-3'
        self._model = pinocchio.buildModelFromUrdf(chain.path)
        self._data = self._model.createData()
        self._task = pink.FrameTask(
            chain.tip, position_cost=1.0, orientation_cost=1.0, gain=1.0, lm_damping=1e-3
        )
        self._limits = [ConfigurationLimit(self._model, config_limit_gain=1.0)]
        self._configuration: Any = None

    def prepare(self, goal: Array, q0: Array) -> Any:
        self._task.set_target(pinocchio.SE3(goal))
        return q0

    def reset(self, q: Array) -> None:
        self._configuration = pink.Configuration(self._model, self._data, q)

    def step(self) -> tuple[float, Array]:
        twist = self._task.compute_error(self._configuration)
        error = max(np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:]))
        if error > self.tolerance:
            velocity = pink.solve_ik(
                self._configuration,
                [self._task],
                1.0,
                'daqp',
                limits=self._limits,
                safety_break=False,
            )
            self._configuration.integrate_inplace(velocity, 1.0)
        return float(error), self._configuration.q
