# SPDX-License-Identifier: Apache-2.0
"""Joint goals: configurations, in place of the goals of the tips or for joints that move none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...maths.rotations import Array
from ...problem import IkProblem
from ...robot.limits import FULL_TURN
from ...robot.robot import Robot
from ..governor.motion_limits import MotionLimits


class JointGoal(NamedTuple):
    """A goal q (n,), and the time `received` [s], None if it never gets stale."""

    q: Array
    received: float | None

    def is_stale(self, now: float, timeout: float) -> bool:
        """Return whether the goal is older than the timeout [s]."""
        return self.received is not None and now - self.received > timeout

    def inside(self, limits: MotionLimits) -> Array:
        """Return q (n,) clamped to the limits."""
        return np.clip(self.q, limits.lower, limits.upper)


def nearest_turns(robot: Robot, q: Array, near: Array) -> Array:
    """Return q (n,), where continuous joints have their turn nearest to `near` (n,)."""
    turns = np.round((near - q) / FULL_TURN)
    return np.where(robot.continuous & robot.full_turns, q + FULL_TURN * turns, q)


def auxiliary_joints(problem: IkProblem) -> NDArray[np.bool_]:
    """Return the mask (n,) of the joints that move no tip, such as those of a gripper."""
    auxiliary = np.ones(problem.robot.n, bool)
    for chain in problem.goal_chains:
        auxiliary[problem.robot.chain(*chain)] = False
    auxiliary[problem.variables] = False
    return auxiliary
