# SPDX-License-Identifier: Apache-2.0
"""A baseline that many write: scipy's bounded least squares over pinocchio's kinematics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio
from scipy.optimize import least_squares

from .base import Adapter, Array, Chain

EVALUATIONS = 50
RESTARTS = 20
TOLERANCE = 1e-12
REACHED = 1e-13  # half the squared error


class Peer(Adapter):
    """dogbox, with lsmr for redundant arms, and the exact Jacobian of the pose's logarithm."""

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        self._model = pinocchio.buildModelFromUrdf(chain.path)
        self._data = self._model.createData()
        self._tip = self._model.getFrameId(chain.tip)
        self._linear = 'lsmr' if len(chain.joints) > 6 else 'exact'
        self.settings = (
            f'dogbox, {self._linear}, exact Jacobian, {TOLERANCE:g}, '
            f'{EVALUATIONS} evaluations, {RESTARTS} restarts'
        )

    def prepare(self, goal: Array, q0: Array) -> Any:
        return pinocchio.SE3(goal).inverse(), q0

    def solve(self, prepared: Any) -> Any:
        to_goal, q0 = prepared
        margin = 1e-9 * (self.upper - self.lower)
        for start in self.starts(q0, RESTARTS):
            found = least_squares(
                self._residual,
                np.clip(start, self.lower + margin, self.upper - margin),
                self._jacobian,
                (self.lower, self.upper),
                'dogbox',
                xtol=TOLERANCE,
                ftol=TOLERANCE,
                gtol=TOLERANCE,
                tr_solver=self._linear,
                args=(to_goal,),
                max_nfev=EVALUATIONS,
            )
            if found.cost < REACHED:
                break
        return found.x

    def _residual(self, q: Array, to_goal: Any) -> Any:
        pinocchio.framesForwardKinematics(self._model, self._data, q)
        return pinocchio.log6(to_goal * self._data.oMf[self._tip]).vector

    def _jacobian(self, q: Array, to_goal: Any) -> Any:
        local = pinocchio.computeFrameJacobian(self._model, self._data, q, self._tip)
        return pinocchio.Jlog6(to_goal * self._data.oMf[self._tip]) @ local
