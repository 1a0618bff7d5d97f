# SPDX-License-Identifier: Apache-2.0
"""Short motions of the human figure, made by inverse kinematics from keys of some links.

The keys are files in `motions/`, for a stature of 1.75 m, of the pelvis, the fingertips, the heels
and the balls or tips of the feet. In between, the figure keeps near to a relaxed posture.
"""

from __future__ import annotations

import numpy as np

from ..exceptions import InvalidOption
from ..robot.human_model import human
from ..robot.robot import Robot
from ..robot.shipped import shared_file
from .key_frames import KeyFrames, load_goals

STATURE = 1.75
"""Stature [m] for which the files of keys are written."""
MOTIONS = {'reach': False, 'wave': False, 'throw': False, 'walk': True, 'run': True, 'jump': False}
"""The motions, and whether they are cycles, which stay on the spot as on a treadmill."""
RELAXED = {'elbow': -25.0, 'hip/y': -8.0, 'knee': 15.0, 'ankle/y': -7.0, 'toe_joint': -12.0}
"""[deg] Angles of both sides that are not 0 in the relaxed posture, away from straight limbs."""
FINGERS = 15.0
"""[deg] How far the fingers are bent."""


def human_motion(name: str, stature: float = STATURE) -> KeyFrames:
    """Return the key frames of one of `MOTIONS`, for a figure of so many metres that floats.

    Positions are relative to the floor under the first pose. Raises InvalidOption.
    """
    if name not in MOTIONS:
        raise InvalidOption(f'motion = {name!r}: one of {", ".join(MOTIONS)}')
    robot = human(stature, floating_base=True)
    goals = {
        link: (times, stature / STATURE * places)
        for link, (times, places) in load_goals(shared_file(f'motions/{name}.csv')).items()
    }
    return KeyFrames.from_goals(robot, goals, rest=relaxed(robot), closed=MOTIONS[name])


def relaxed(robot: Robot) -> np.ndarray:
    """Return the relaxed posture (n,) of a human figure."""
    angles = {f'{side}_{joint}': a for side in ('left', 'right') for joint, a in RELAXED.items()}
    angles |= {'left_knuckles/x': -FINGERS, 'right_knuckles/x': FINGERS}
    return robot.q({joint: np.radians(a) for joint, a in angles.items()}, np.zeros(robot.n))
