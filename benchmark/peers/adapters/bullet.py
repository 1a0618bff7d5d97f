# SPDX-License-Identifier: Apache-2.0
"""PyBullet: `calculateInverseKinematics`, damped least squares in C++."""

from __future__ import annotations

from typing import Any

import numpy as np
import pybullet

from .base import Adapter, Array, Chain
from .rotation import quaternion

ITERATIONS = 1000
TOLERANCE = 1e-7


class Peer(Adapter):
    """One call; limits are only asked for, in the null space, and it has no restarts."""

    settings = f'damped least squares, {ITERATIONS} iterations, residual {TOLERANCE:g}'

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        pybullet.connect(pybullet.DIRECT)
        pybullet.resetSimulation()
        self._body = pybullet.loadURDF(chain.path, useFixedBase=True)
        joints = range(pybullet.getNumJoints(self._body))
        info = [pybullet.getJointInfo(self._body, joint) for joint in joints]
        self._tip = next(row[0] for row in info if row[12].decode() == chain.tip)
        self._joints = [row[0] for row in info if row[2] != pybullet.JOINT_FIXED]
        inertial = pybullet.getBasePositionAndOrientation(self._body)
        assert max(map(abs, inertial[0])) == 0.0

    def prepare(self, goal: Array, q0: Array) -> Any:
        for joint, position in zip(self._joints, q0, strict=True):
            pybullet.resetJointState(self._body, joint, position)
        return goal[:3, 3].tolist(), quaternion(goal[:3, :3]).tolist()

    def solve(self, prepared: Any) -> Any:
        return pybullet.calculateInverseKinematics(
            self._body,
            self._tip,
            *prepared,
            maxNumIterations=ITERATIONS,
            residualThreshold=TOLERANCE,
        )

    def answer(self, raw: Any) -> Any:
        return self.turned_inside(np.array(raw), 0.5 * (self.lower + self.upper))
