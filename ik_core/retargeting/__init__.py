# SPDX-License-Identifier: Apache-2.0
"""Retargeting: motions of one robot or a person, for a robot of other proportions.

`example` prepares a motion as an example for another robot, `retarget` computes that robot's
joints, `guide` finds postures for single goals in the style of a motion. `library` reads a folder
of motions and finds the one whose path is nearest to given goals. `sources` reads files of any
kind. `key_frames` makes motions from poses at given times, `human_motions` has some of a person.
"""

from .guide import Demonstration, ExampleGuide
from .human_motions import human_motion
from .key_frames import KeyFrames, load_goals
from .library import LibraryMotion, MotionLibrary, NearestMotion
from .motion_transfer import RetargetResult, retarget

__all__ = [
    'Demonstration',
    'ExampleGuide',
    'KeyFrames',
    'LibraryMotion',
    'MotionLibrary',
    'NearestMotion',
    'RetargetResult',
    'human_motion',
    'load_goals',
    'retarget',
]
