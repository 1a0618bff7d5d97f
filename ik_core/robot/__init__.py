"""Robots from a URDF or motion capture: joints, limits, kinematics; and motions.

These modules do not depend on goals; they may import `maths`, `options` and what is below.
"""

from .human import human
from .joints import Joint, Mimic
from .linear_constraints import LinearConstraint
from .linkage import linkage
from .robot import Robot
from .urdf import load_urdf

__all__ = ['Joint', 'LinearConstraint', 'Mimic', 'Robot', 'human', 'linkage', 'load_urdf']
