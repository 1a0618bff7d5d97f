# SPDX-License-Identifier: Apache-2.0
"""The tab of goals that move on circles, for tips to follow."""

from __future__ import annotations

import math
import time

import numpy as np

from ik_core.maths.rotations import Array

from ..arm import Moment, TipState
from ..page.stage import Stage

RADIUS = 0.2  # initial radius, as a fraction of the distance of the first tip from the root
SECONDS, SLOWEST = 6.0, 30.0  # [s] of a turn: initially, and at most


class CirclingGoals:
    """A `Part`: goals that move on upright circles, to the left and down, from where they were."""

    def __init__(self, stage: Stage, moment: Moment) -> None:
        self._stage, self._angle, self._last = stage, 0.0, time.monotonic()
        self._tops: list[Array] | None = None  # goals (4, 4) at the tops of the circles
        away = [np.linalg.norm(_at(stage, moment, tip)[:3, 3]) for tip in moment.tips]
        radius = RADIUS * float(away[0])
        gui = stage.server.gui
        with stage.add_tab('Moving goals') as self._tab:
            self._moves = gui.add_checkbox('Move the goals', True)
            self._radius = gui.add_slider('Radius [m]', 0.0, 3 * radius, radius / 50, radius)
            self._seconds = gui.add_slider('Seconds for a turn', 1.0, SLOWEST, 0.5, SECONDS)

    def show(self, moment: Moment) -> None:
        """Move the goals on."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        if not self._moves.value:
            self._tops = None
            return
        if self._tops is None:
            self._tops, self._angle = [_at(self._stage, moment, t) for t in moment.tips], 0.0
        self._angle += math.tau * passed / self._seconds.value
        shift = np.array([0.0, math.sin(self._angle), math.cos(self._angle) - 1.0])
        shift *= self._radius.value
        for tip, (top, state) in enumerate(zip(self._tops, moment.tips, strict=True)):
            goal = top.copy()
            goal[:3, 3] += shift
            self._stage.arm.set_goal(tip, goal, state.kind)

    def remove(self) -> None:
        """Take it off the page."""
        self._tab.remove()


def _at(stage: Stage, moment: Moment, tip: TipState) -> Array:
    """Return the goal (4, 4) of a tip, or its pose if it has none."""
    if tip.goal is not None:
        return tip.goal
    return np.asarray(stage.robot.forward_kinematics(moment.q, tip.link) @ tip.tool)
