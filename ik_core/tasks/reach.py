# SPDX-License-Identifier: Apache-2.0
"""Bounds of the distance of goals' tips from the first joint of their chains.

A revolute joint keeps the distance between the origins of its own frame and the next one, so the
sum of these distances bounds the distance of a tip from the first origin, for any limits. A
prismatic joint adds half its range, about the middle; without limits there is no bound.
"""

from __future__ import annotations

import numpy as np

from ..maths.rotations import Array
from ..robot.kinematics import KIND, MULTIPLIER, OFFSET, PARENT, PRISMATIC, VARIABLE
from .packing import PackedGoals


def reach_of_goals(packed: PackedGoals, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Centres (G, 3) and radii (G,) [m] of balls that contain all positions of the goals' tips.

    lower, upper (variables,) : limits

    Centres are in the frame of the goals' targets. The radius is inf if a prismatic joint has no
    limits, or is frozen, and for goals without a position.
    """
    centres, radii = np.zeros((len(packed.goals), 3)), np.full(len(packed.goals), np.inf)
    for part, row in enumerate(packed.table[: len(packed.owners)]):
        goal = packed.owners[part]
        if packed.parts[part].position_weights.all():
            tool, box = packed.tools[part, 9:12], packed.goals[goal].position_box
            centres[goal], length = _ball(packed, int(row[0]), tool, lower, upper)
            radii[goal] = length + np.linalg.norm(box)
    return centres, radii


def _ball(
    packed: PackedGoals, body: int, tool: Array, lower: Array, upper: Array
) -> tuple[Array, float]:
    """Centre (3,) and radius [m] of the ball of a point `tool` (3,) in the frame of a body."""
    offset, radius = tool, 0.0
    while body >= 0:
        parent, kind, variable = packed.tree[body, [PARENT, KIND, VARIABLE]]
        if kind == PRISMATIC:
            multiplier, zero = packed.geometry[body, [MULTIPLIER, OFFSET]]
            if multiplier == 0.0:  # frozen, at an unknown position
                return offset, np.inf
            ends = multiplier * np.array([lower[variable], upper[variable]]) + zero
            radius += 0.5 * abs(ends[1] - ends[0])
            if radius == np.inf:
                return offset, radius
            offset = offset + np.array([0.0, 0.0, ends.mean()])
        radius += float(np.linalg.norm(offset))
        offset, body = packed.geometry[body, 9:12], int(parent)
    return offset, float(radius)
