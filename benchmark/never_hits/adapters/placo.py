# SPDX-License-Identifier: Apache-2.0
"""placo, as its example of a humanoid that avoids self-collisions sets it up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import placo


class Peer:
    """Its constraint is hard, from 20 mm beyond the margin on."""

    rate = 100.0  # [Hz]
    settings = 'hard constraint, from 20 mm beyond the margin on'

    def __init__(self, scene: dict[str, Any]) -> None:
        self._robot = placo.RobotWrapper(scene['urdf'])
        pairs = Path(scene['urdf']).with_suffix('.pairs.json')
        pairs.write_text(json.dumps(scene['pairs']), encoding='utf-8')
        self._robot.load_collision_pairs(str(pairs))
        self._solver = placo.KinematicsSolver(self._robot)
        self._solver.mask_fbase(True)
        self._solver.enable_joint_limits(True)
        self._solver.enable_velocity_limits(True)
        self._solver.dt = 1.0 / self.rate
        self._joints = scene['joints']
        for joint, position in zip(self._joints, scene['q0'], strict=True):
            self._robot.set_joint(joint, position)
        self._robot.update_kinematics()
        self._goals = []
        for tip in scene['tips']:
            task = self._solver.add_frame_task(tip, np.eye(4))
            task.configure(tip, 'soft', 1.0, 1.0)
            self._goals.append(task)
        posture = self._solver.add_joints_task()
        posture.set_joints(dict(zip(self._joints, scene['q0'], strict=True)))
        posture.configure('posture', 'soft', 1e-5)
        self._avoid = self._solver.add_avoid_self_collisions_constraint()
        self._avoid.configure('avoid_self_collisions', 'hard', 1.0)
        self._avoid.self_collisions_margin = scene['margin']
        self._avoid.self_collisions_trigger = scene['margin'] + 0.02

    def set_goals(self, goals: Any) -> None:
        """Send the tips to poses (T, 4, 4)."""
        for task, goal in zip(self._goals, goals, strict=True):
            task.T_world_frame = goal

    def step(self) -> Any:
        """Return the joint positions (n,) of the next tick."""
        self._solver.solve(True)
        self._robot.update_kinematics()
        return np.array([self._robot.get_joint(joint) for joint in self._joints])
