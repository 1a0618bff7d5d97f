# SPDX-License-Identifier: Apache-2.0
"""The test case of [Engell2007] Fig. 5: an arm of 5 joints, and a goal out of reach.

The goal is 25 units from the end effector, and the least distance that the arm can reach is 2. The
source prints no lengths, axes or start: `arm5.urdf` has bones of 5 units (one is 0.1 m), so the
goal is 27 units from the root. It is in the plane in which the first joint turns, since only there
the arm can stretch towards it. Starts are random, within half the joints' ranges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.robot.robot_sources import load_robot
from ik_core.tasks import PositionTask

UNIT = 0.1  # [m] one unit of the source
# [units] Distance of the goal from the end effector; least distance; length of the arm.
AWAY, OPTIMUM, REACH = 25.0, 2.0, 25.0


def cases(count: int, seed: int = 0) -> Iterator[tuple[IkProblem, Array]]:
    """Yield the problem with its goal set, and a start (5,)."""
    robot, goal = load_robot('arm5'), PositionTask('tip')
    problem, rng = IkProblem(robot, [goal]), np.random.default_rng(seed)
    while count:
        q0 = rng.uniform(0.5 * robot.lower, 0.5 * robot.upper)
        at = goal_for(robot.forward_kinematics(q0, goal.link)[:3, 3], rng.choice([-1.0, 1.0]))
        if at is not None:
            goal.set_target(position=at)
            yield problem, q0
            count -= 1


def goal_for(tip: Array, side: float) -> Array | None:
    """Return a point (3,) [m], z = 0, AWAY from the tip (3,) and REACH + OPTIMUM from the root.

    There are two, on either side of the tip (1 or -1), or none.
    """
    far, away = UNIT * (REACH + OPTIMUM), UNIT * AWAY
    along = 0.5 * (far**2 + float(tip @ tip) - away**2)
    cosine = along / (far * max(math.hypot(tip[0], tip[1]), 1e-9))
    if abs(cosine) > 1.0:
        return None
    angle = math.atan2(tip[1], tip[0]) + side * math.acos(cosine)
    return far * np.array([math.cos(angle), math.sin(angle), 0.0])


def in_units(cost: float) -> float:
    """Return the distance [units] from the goal, for a cost |r|^2 [m^2]."""
    return math.sqrt(cost) / UNIT
