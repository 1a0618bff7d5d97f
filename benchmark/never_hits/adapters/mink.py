# SPDX-License-Identifier: Apache-2.0
"""mink, as its example of two arms sets it up, with its velocity limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mink
import mujoco
import numpy as np

COMPILER = (
    '<mujoco><compiler fusestatic="false" discardvisual="true" boundmass="0.1" '
    'boundinertia="0.001"/></mujoco></robot>'
)


class Peer:
    """Its costs, damping and rate, with a limit over all pairs."""

    rate = 60.0  # [Hz]
    settings = 'limit gain 0.85, from twice the margin on, costs 2 and 1, daqp'

    def __init__(self, scene: dict[str, Any]) -> None:
        urdf = Path(scene['urdf']).read_text(encoding='utf-8').replace('</robot>', COMPILER)
        model = mujoco.MjModel.from_xml_string(urdf)
        self._configuration = mink.Configuration(model, np.array(scene['q0']))
        self._goals = [
            mink.FrameTask(tip, 'body', position_cost=2.0, orientation_cost=1.0)
            for tip in scene['tips']
        ]
        sides = [sorted({pair[side] for pair in scene['pairs']}) for side in (0, 1)]
        geoms = [
            [geom for link in links for geom in mink.get_body_geom_ids(model, model.body(link).id)]
            for links in sides
        ]
        self._limits = [
            mink.ConfigurationLimit(model),
            mink.VelocityLimit(model, dict(zip(scene['joints'], scene['speeds'], strict=True))),
            mink.CollisionAvoidanceLimit(
                model,
                geom_pairs=[tuple(geoms)],
                minimum_distance_from_collisions=scene['margin'],
                collision_detection_distance=2.0 * scene['margin'],
            ),
        ]

    def set_goals(self, goals: Any) -> None:
        """Send the tips to poses (T, 4, 4)."""
        for task, goal in zip(self._goals, goals, strict=True):
            task.set_target(mink.SE3.from_matrix(goal))

    def step(self) -> Any:
        """Return the joint positions (n,) of the next tick."""
        velocity = mink.solve_ik(
            self._configuration, self._goals, 1.0 / self.rate, 'daqp', 1e-2, limits=self._limits
        )
        self._configuration.integrate_inplace(velocity, 1.0 / self.rate)
        return self._configuration.q.copy()
