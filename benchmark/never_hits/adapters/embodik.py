# SPDX-License-Identifier: Apache-2.0
"""EmbodiK, as its example of a collision-aware arm sets it up."""

from __future__ import annotations

from typing import Any

import embodik
import numpy as np
from embodik.utils import compute_pose_error, limit_task_velocity

GAIN, MAX_STEP = 100.0, 2.0


class Peer:
    """Its gains, damping and rate."""

    rate = 100.0  # [Hz]
    settings = 'gains 100, damping 0.1'

    def __init__(self, scene: dict[str, Any]) -> None:
        self._robot = embodik.RobotModel(scene['urdf'], floating_base=False)
        wanted = {frozenset(pair) for pair in scene['pairs']}
        pairs = self._robot.get_collision_pair_names()
        others = [pair for pair in pairs if frozenset(map(_link_of, pair)) not in wanted]
        self._robot.apply_collision_exclusions(others)
        self._solver = embodik.KinematicsSolver(self._robot)
        self._solver.dt = 1.0 / self.rate
        self._solver.set_damping(0.1)
        self._solver.set_tolerance(0.1)
        self._solver.configure_collision_constraint(
            min_distance=scene['margin'], include_pairs=[], exclude_pairs=others
        )
        self._lower, self._upper = self._robot.get_joint_limits()
        self._q = np.array(scene['q0'])
        self._robot.update_configuration(self._q)
        self._tips, self._tasks = scene['tips'], []
        for k, tip in enumerate(self._tips):
            task = self._solver.add_frame_task(f'tip {k}', tip)
            task.priority, task.weight = 0, 1.0
            self._tasks.append(task)

    def set_goals(self, goals: Any) -> None:
        """Send the tips to poses (T, 4, 4)."""
        pose = type(self._robot.get_frame_pose(self._tips[0]))
        self._targets = [pose(goal[:3, :3], goal[:3, 3]) for goal in goals]

    def step(self) -> Any:
        """Return the joint positions (n,) of the next tick; None if the solver finds none."""
        for tip, task, target in zip(self._tips, self._tasks, self._targets, strict=True):
            error = compute_pose_error(self._robot.get_frame_pose(tip), target)
            task.set_target_velocity(limit_task_velocity(GAIN * error, MAX_STEP, MAX_STEP))
        found = self._solver.solve_velocity(self._q, apply_limits=True)
        if found.status != embodik.SolverStatus.SUCCESS:
            return None
        step = np.array(found.joint_velocities) * self._solver.dt
        self._q = np.clip(self._q + step, self._lower, self._upper)
        self._robot.update_configuration(self._q)
        return self._q.copy()


def _link_of(geometry: str) -> str:
    """Return the link of a geometry, which is named after it and a number."""
    return geometry.rsplit('_', 1)[0]
