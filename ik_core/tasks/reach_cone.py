# SPDX-License-Identifier: Apache-2.0
"""A reach cone as a task: an inequality, zero inside."""

from __future__ import annotations

import numpy as np

from ..display import numbers
from ..exceptions import InvalidOption
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array
from ..robot.reach_cones import ReachCone
from ..robot.robot import Robot
from .base import Task
from .weights import checked_weights


class ReachConeTask(Task):
    """Keep a direction of a link in a ReachCone: sqrt(weight) times the angle outside it [rad].

    Every solver and a Tracker support it; it competes with other tasks by its weight. If the cone
    is one of a problem's `constraints` instead, it is as strict as a limit, but only for `bfgs`
    and `sqp`. Raises InvalidOption.
    """

    def __init__(self, cone: ReachCone, *, weight: float = 1.0) -> None:
        if not isinstance(cone, ReachCone):
            raise InvalidOption(f'cone = {cone!r}: a ReachCone is needed')
        self.cone, self.weight = cone, float(checked_weights(weight))

    def _shown(self) -> list[str]:
        return [repr(self.cone), f'weight={numbers(self.weight)}']

    @property
    def links(self) -> tuple[str, ...]:
        """The link that the cone is for."""
        return (self.cone.link,)

    @property
    def chains(self) -> tuple[tuple[str, str | None], ...]:
        """The link, with the link that the cone is fixed to."""
        return ((self.cone.link, self.cone.relative_to),)

    def residual(self, robot: Robot, q: VectorLike) -> Array:
        """The weighted angle (1,) [rad] outside the cone at q (n,)."""
        return np.array([np.sqrt(self.weight) * self.cone.violation(robot, q)])

    def jacobian(self, robot: Robot, q: VectorLike) -> Array:
        """The derivative (1, n) of `residual`; 0 inside."""
        row: Array = np.sqrt(self.weight) * self.cone.gradient(robot, q)[np.newaxis]
        return row
