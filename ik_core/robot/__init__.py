# SPDX-License-Identifier: Apache-2.0
"""Robots from a URDF or motion capture: joints, limits, kinematics; and motions.

These modules do not depend on goals; they may import `maths`, `options` and what is below.
"""

from .human_model import human, human_cones
from .joints import Joint, Mimic
from .linear_constraints import LinearConstraint
from .linkages import linkage, spring_weights
from .reach_cones import ReachCone
from .robot import Robot
from .urdf import load_urdf

__all__ = [
    'Joint',
    'LinearConstraint',
    'Mimic',
    'ReachCone',
    'Robot',
    'human',
    'human_cones',
    'linkage',
    'load_urdf',
    'spring_weights',
]
