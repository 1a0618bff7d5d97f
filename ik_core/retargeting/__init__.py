"""Motions made on one robot, or captured from a person, for another of other proportions.

`example` says what of a motion is imitated, `retarget` finds the other robot's joints, `library`
keeps motions and finds the one nearest to a path of goals.
"""

from .retarget import Retargeted, retarget

__all__ = ['Retargeted', 'retarget']
