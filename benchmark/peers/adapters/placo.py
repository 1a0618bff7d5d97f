# SPDX-License-Identifier: Apache-2.0
"""placo: quadratic programs over pinocchio's kinematics, one for each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import placo

from .base import Array, Chain, Stepper


class Peer(Stepper):
    """A soft frame task with the smallest regularization that its examples have."""

    def __init__(self, chain: Chain, restarts: int) -> None:
        super().__init__(chain, restarts)
        self._robot = placo.RobotWrapper(chain.path, placo.Flags.ignore_collisions)
        self._solver = placo.KinematicsSolver(self._robot)
        self._solver.mask_fbase(True)
        self._solver.enable_joint_limits(True)
        self._solver.enable_velocity_limits(False)
        self._task = self._solver.add_frame_task(chain.tip, np.eye(4))
        self._task.configure(chain.tip, 'soft', 1.0, 1.0)
        self._solver.add_regularization_task(1e-8)
        self._offset = self._robot.get_joint_offset(chain.joints[0])

    def prepare(self, goal: Array, q0: Array) -> Any:
        self._task.T_world_frame = goal
        return q0

    def reset(self, q: Array) -> None:
        self._robot.state.q[self._offset :] = q
        self._robot.update_kinematics()

    def step(self) -> tuple[float, Array]:
        self._solver.solve(True)
        self._robot.update_kinematics()
        # the solver has taken the errors before it stepped
        error = max(self._task.position().error_norm(), self._task.orientation().error_norm())
        return error, self._robot.state.q[self._offset :].copy()
