"""From a URDF or motion capture to a `Robot`: joints, limits, kinematics; and motions.

These modules know nothing of goals; they may import `maths`, `options` and what is below.
"""

from .joints import Joint, Mimic
from .linear_constraints import LinearConstraint
from .linkage import linkage
from .robot import Robot
from .urdf import load_urdf

__all__ = ['Joint', 'LinearConstraint', 'Mimic', 'Robot', 'linkage', 'load_urdf']
