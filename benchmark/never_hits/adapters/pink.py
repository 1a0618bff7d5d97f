# SPDX-License-Identifier: Apache-2.0
"""pink, as its example of two arms that avoid each other sets it up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pink
import pinocchio
from pink.barriers import SelfCollisionBarrier
from pink.tasks import FrameTask, PostureTask
from pink.utils import process_collision_pairs


class Peer:
    """Its costs, gains and rate, with a barrier over all pairs."""

    rate = 50.0  # [Hz]
    settings = 'barrier gain 20, costs 50 and 10, daqp'

    def __init__(self, scene: dict[str, Any]) -> None:
        model = pinocchio.buildModelFromUrdf(scene['urdf'])
        geometry = pinocchio.buildGeomFromUrdf(model, scene['urdf'], pinocchio.COLLISION)
        data = process_collision_pairs(model, geometry, scene['srdf'])
        self._configuration = pink.Configuration(
            model,
            model.createData(),
            np.array(scene['q0']),
            collision_model=geometry,
            collision_data=data,
        )
        self._goals = [
            FrameTask(tip, position_cost=50.0, orientation_cost=10.0) for tip in scene['tips']
        ]
        posture = PostureTask(cost=1e-3)
        posture.set_target_from_configuration(self._configuration)
        self._tasks = [*self._goals, posture]
        self._barrier = SelfCollisionBarrier(
            len(geometry.collisionPairs),
            gain=20.0,
            safe_displacement_gain=1.0,
            d_min=scene['margin'],
        )

    def set_goals(self, goals: Any) -> None:
        """Send the tips to poses (T, 4, 4)."""
        for task, goal in zip(self._goals, goals, strict=True):
            task.set_target(pinocchio.SE3(goal))

    def step(self) -> Any:
        """Return the joint positions (n,) of the next tick."""
        velocity = pink.solve_ik(
            self._configuration,
            self._tasks,
            1.0 / self.rate,
            solver='daqp',
            barriers=[self._barrier],
            safety_break=False,
        )
        self._configuration.integrate_inplace(velocity, 1.0 / self.rate)
        return self._configuration.q.copy()
