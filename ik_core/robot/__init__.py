# SPDX-License-Identifier: Apache-2.0
"""Robots from a URDF, xacro, MJCF or motion capture: joints, limits, kinematics; and motions.

These modules do not depend on goals; they may import `maths`, `options` and what is below.
"""

from .human_model import human, human_cones
from .joints import Joint, Mimic
from .linear_constraints import LinearConstraint
from .linkages import linkage, spring_weights
from .reach_cones import ReachCone
from .robot import EndEffector, PlanningGroup, Robot
from .robot_sources import load_robot

__all__ = [
    'EndEffector',
    'Joint',
    'LinearConstraint',
    'Mimic',
    'PlanningGroup',
    'ReachCone',
    'Robot',
    'human',
    'human_cones',
    'linkage',
    'load_robot',
    'spring_weights',
]
