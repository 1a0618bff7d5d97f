# SPDX-License-Identifier: Apache-2.0
"""The tab of goals that move on circles, for tips to follow."""

from __future__ import annotations

import math
import time

import numpy as np

from ik_core.maths.rotations import Array

from ..arm import Moment, TipState
from .page_context import PageContext
from .panel import Panel

RADIUS = 0.2  # initial radius, as a fraction of the distance of the first tip from the root
SECONDS, SLOWEST = 6.0, 30.0  # [s] of a turn: initially, and at most


class CirclingGoals(Panel):
    """A tab that moves the goals on vertical circles, which begin at the goals' present places."""

    title = 'Moving goals'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        self._angle, self._last = 0.0, time.monotonic()
        self._tops: list[Array] | None = None  # goals (4, 4) at the tops of the circles
        radius = RADIUS * float(np.linalg.norm(self._at(moment, moment.tips[0])[:3, 3]))
        with self._tab:
            self._moves = self._gui.add_checkbox('Move the goals', True)
            self._radius = self._gui.add_slider('Radius [m]', 0.0, 3 * radius, radius / 50, radius)
            self._seconds = self._gui.add_slider('Seconds for a turn', 1.0, SLOWEST, 0.5, SECONDS)

    def show(self, moment: Moment) -> None:
        """Move the goals along their circles."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        if not self._moves.value:
            self._tops = None
            return
        if self._tops is None:
            self._tops, self._angle = [self._at(moment, tip) for tip in moment.tips], 0.0
        self._angle += math.tau * passed / self._seconds.value
        shift = np.array([0.0, math.sin(self._angle), math.cos(self._angle) - 1.0])
        shift *= self._radius.value
        for tip, (top, state) in enumerate(zip(self._tops, moment.tips, strict=True)):
            goal = top.copy()
            goal[:3, 3] += shift
            self._context.arm.set_goal(tip, goal, state.kind)

    def _at(self, moment: Moment, tip: TipState) -> Array:
        """Return the goal (4, 4) of a tip, or its pose if it has none."""
        if tip.goal is not None:
            return tip.goal
        robot = self._context.robot
        return np.asarray(robot.forward_kinematics(moment.q, tip.link) @ tip.tool)
