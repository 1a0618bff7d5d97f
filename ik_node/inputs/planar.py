# SPDX-License-Identifier: Apache-2.0
"""Planar goals: RViz's 2D Goal Pose sends x, y and a heading, with z = 0 and no tilt.

The parameter `planar_goals` selects whether the tip keeps its own height and tilt (roll and pitch)
instead, in the frame of the goal.
"""

from __future__ import annotations

import math

import numpy as np

from ik_core.maths.rotations import Array

STEEP = 1e-6  # an x axis with a smaller projection on the plane is vertical: y gives the heading


def complete(goal: Array, current: Array, keep: str) -> Array:
    """Return a planar goal (4, 4), completed by parts of the pose `current` (4, 4).

    keep : the parts, one of PLANAR_GOALS (`parameters.node_options`)
    """
    completed = goal.copy()
    if keep in ('keep_z_roll_pitch', 'keep_z'):
        completed[2, 3] = current[2, 3]
    if keep in ('keep_z_roll_pitch', 'keep_roll_pitch'):
        turn = _heading(goal) - _heading(current)
        cosine, sine = math.cos(turn), math.sin(turn)
        about_z = np.array([(cosine, -sine, 0.0), (sine, cosine, 0.0), (0.0, 0.0, 1.0)])
        completed[:3, :3] = about_z @ current[:3, :3]
    return completed


def _heading(pose: Array) -> float:
    """Return the yaw [rad] of fixed-axis roll, pitch, yaw; roll is 0 for a vertical x axis."""
    if math.hypot(pose[0, 0], pose[1, 0]) > STEEP:
        return math.atan2(pose[1, 0], pose[0, 0])
    return math.atan2(-pose[0, 1], pose[1, 1])
