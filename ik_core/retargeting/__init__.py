"""Motions made on one robot, or captured from a person, for another of other proportions.

`example` says what of a motion is imitated, `retarget` finds the other robot's joints; `guide`
finds postures for single goals in the style of a motion. `sources` reads files of any kind.
"""

from .guide import Demonstration, ExampleGuide
from .retarget import Retargeted, retarget

__all__ = ['Demonstration', 'ExampleGuide', 'Retargeted', 'retarget']
