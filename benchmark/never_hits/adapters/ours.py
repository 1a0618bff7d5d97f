# SPDX-License-Identifier: Apache-2.0
"""This package: a tracker that avoids collisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ik_core as ik
from ik_core.collision import Collisions
from ik_core.tracking import MotionLimits, Tracker


class Peer:
    """All that a user writes: a problem, limits and what to avoid."""

    rate = 250.0  # [Hz]
    settings = '10 rad/s^2'

    def __init__(self, scene: dict[str, Any]) -> None:
        robot = ik.load_urdf(Path(scene['urdf']))
        goals = [ik.PoseTask(tip) for tip in scene['tips']]
        self._tracker = Tracker(
            ik.IkProblem(robot, goals),
            self.rate,
            limits=MotionLimits.of(robot, acceleration=10.0),
            q0=scene['q0'],
            avoid=Collisions(robot, margin=scene['margin'], srdf=scene['srdf']),
        )
        self._now = 0.0

    def set_goals(self, goals: Any) -> None:
        """Send the tips to poses (T, 4, 4)."""
        for tip, goal in enumerate(goals):
            self._tracker.set_goal(tip, goal, self._now)

    def step(self) -> Any:
        """Return the joint positions (n,) of the next tick."""
        self._now += 1.0 / self.rate
        self._tracker.tick(self._now)
        return self._tracker.q
