# SPDX-License-Identifier: Apache-2.0
"""roboplan's OInK, as its example sets it up, with a barrier of its 16 nearest pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from roboplan.core import CartesianConfiguration, Scene, loadUrdfSceneDescriptionFromXml
from roboplan.filters import SE3LowPassFilter
from roboplan.optimal_ik import (
    ConfigurationTask,
    ConfigurationTaskOptions,
    FrameTask,
    FrameTaskOptions,
    Oink,
    PositionLimit,
    SelfCollisionBarrier,
    SelfCollisionBarrierOptions,
    VelocityLimit,
)

PAIRS = 16
FILTER = 0.1  # [s]


class Peer:
    """Its costs, gains and rate, and its filter of goals."""

    rate = 100.0  # [Hz]
    settings = f'barrier of {PAIRS} pairs, gain 1, goals filtered over 0.1 s'

    def __init__(self, scene: dict[str, Any]) -> None:
        urdf = Path(scene['urdf']).read_text(encoding='utf-8')
        self._scene = Scene(scene['name'], loadUrdfSceneDescriptionFromXml(urdf, []))
        self._scene.importSrdf(Path(scene['srdf']).read_text(encoding='utf-8'))
        self._q = np.array(scene['q0'])
        self._scene.setJointPositions(self._q)
        self._oink = Oink(self._scene, 'arms')
        dt, count = 1.0 / self.rate, len(self._oink.v_indices)
        self._limits = [
            PositionLimit(self._oink, gain=1.0),
            VelocityLimit(self._oink, dt, np.array(scene['speeds'])),
        ]
        self._barriers = [
            SelfCollisionBarrier(
                self._oink,
                self._scene,
                dt=dt,
                options=SelfCollisionBarrierOptions(
                    n_collision_pairs=PAIRS,
                    gain=1.0,
                    safe_displacement_gain=0.01,
                    d_min=scene['margin'],
                    d_max=0.25,
                ),
            )
        ]
        options = FrameTaskOptions(
            position_cost=1.0, orientation_cost=0.1, task_gain=1.0, lm_damping=0.01
        )
        self._goals, self._filters = [], []
        for tip in scene['tips']:
            goal = CartesianConfiguration()
            goal.base_frame, goal.tip_frame = 'root', tip
            self._goals.append(FrameTask(self._oink, self._scene, goal, options))
            self._filters.append(SE3LowPassFilter(tau=FILTER))
            self._filters[-1].reset(self._scene.forwardKinematics(self._q, tip))
        posture = ConfigurationTask(
            self._oink,
            self._q[self._oink.q_indices],
            np.full(count, 0.05),
            ConfigurationTaskOptions(task_gain=1.0, lm_damping=0.0, priority=2),
        )
        self._tasks = [*self._goals, posture]
        self._step = np.zeros(count)

    def set_goals(self, goals: Any) -> None:
        """Send the tips to poses (T, 4, 4)."""
        self._targets = [np.asfortranarray(goal) for goal in goals]

    def step(self) -> Any:
        """Return the joint positions (n,) of the next tick."""
        for task, one, target in zip(self._goals, self._filters, self._targets, strict=True):
            task.setTargetFrameTransform(one.update(target, 1.0 / self.rate))
        self._oink.solveIk(self._q, self._tasks, self._limits, self._barriers, self._step, 1e-3)
        full = np.zeros(self._q.size)
        full[self._oink.v_indices] = self._step
        self._q = self._scene.integrate(self._q, full)
        self._scene.setJointPositions(self._q)
        return np.array(self._q)
