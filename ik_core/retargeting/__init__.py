"""Motions made on one robot, or captured from a person, for another of other proportions.

`example` says what of a motion is imitated, `retarget` finds the other robot's joints; `guide`
finds postures for single goals in the style of a motion. `library` keeps motions in a folder and
finds the one whose path is nearest to some goals. `sources` reads files of any kind.
"""

from .guide import Demonstration, ExampleGuide
from .library import LibraryMotion, MotionLibrary, NearestMotion
from .retarget import RetargetResult, retarget

__all__ = [
    'Demonstration',
    'ExampleGuide',
    'LibraryMotion',
    'MotionLibrary',
    'NearestMotion',
    'RetargetResult',
    'retarget',
]
