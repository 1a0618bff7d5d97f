# SPDX-License-Identifier: Apache-2.0
"""mink: weighted tasks over MuJoCo, one quadratic program for each step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mink
import mujoco
import numpy as np

from .base import Array, Chain, Stepper

COMPILER = '<mujoco><compiler fusestatic="false" strippath="true"/></mujoco></robot>'


class Peer(Stepper):
    """Steps of a second with full gain: each goes as far as the linear model and limits allow."""

    def __init__(self, chain: Chain, restarts: int) -> None:
        super().__init__(chain, restarts)
        self.settings += ', daqp, gain 1, lm_damping 1e-3'
        urdf = Path(chain.path).read_text(encoding='utf-8').replace('</robot>', COMPILER)
        model = mujoco.MjModel.from_xml_string(urdf)
        self._task = mink.FrameTask(
            chain.tip, 'body', position_cost=1.0, orientation_cost=1.0, gain=1.0, lm_damping=1e-3
        )
        self._limits = [mink.ConfigurationLimit(model, gain=1.0)]
        self._configuration = mink.Configuration(model)

    def prepare(self, goal: Array, q0: Array) -> Any:
        self._task.set_target(mink.SE3.from_matrix(goal))
        return q0

    def reset(self, q: Array) -> None:
        self._configuration.update(q)

    def step(self) -> tuple[float, Array]:
        twist = self._task.compute_error(self._configuration)
        error = max(np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:]))
        if error > self.tolerance:
            velocity = mink.solve_ik(
                self._configuration, [self._task], 1.0, 'daqp', limits=self._limits
            )
            self._configuration.integrate_inplace(velocity, 1.0)
        return float(error), self._configuration.q.copy()
