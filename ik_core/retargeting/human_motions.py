# SPDX-License-Identifier: Apache-2.0
"""Short motions of a human skeleton, made by inverse kinematics from key positions of some links.

The keys are files in `motions/`, for a stature of 1.75 m: positions of the pelvis, the fingertips,
the heels and the balls or tips of the feet. Between them the skeleton stays near a relaxed
posture.
"""

from __future__ import annotations

import numpy as np

from ..exceptions import InvalidOption
from ..robot.human_model import human
from ..robot.robot import Robot
from ..shared_files import shared_file
from .key_frames import KeyFrames, load_goals

STATURE = 1.75  # [m] of the files in `motions/`
# the motions, and whether they are cycles, which stay in place as on a treadmill
MOTIONS = {'reach': False, 'wave': False, 'throw': False, 'walk': True, 'run': True, 'jump': False}
# [deg] angles of both sides that are not 0 in the relaxed posture: straight limbs are singular
RELAXED = {'elbow': -25.0, 'hip/y': -8.0, 'knee': 15.0, 'ankle/y': -7.0, 'toe_joint': -12.0}
FINGERS = 15.0  # [deg] flexion of the fingers


def human_motion(name: str, stature: float = STATURE) -> KeyFrames:
    """Make the key frames of one of `MOTIONS`, for a floating skeleton of a stature [m].

    Positions are relative to the floor below the first pose. Times are those of the file, or
    longer where a joint would exceed its limit of velocity. Raises InvalidOption.
    """
    if name not in MOTIONS:
        raise InvalidOption(f'motion = {name!r}: one of {", ".join(MOTIONS)}')
    robot = human(stature, floating_base=True)
    goals = {
        link: (times, stature / STATURE * positions)
        for link, (times, positions) in load_goals(shared_file(f'motions/{name}.csv')).items()
    }
    frames = KeyFrames.from_goals(robot, goals, rest=relaxed(robot), closed=MOTIONS[name])
    return frames.within()


def relaxed(robot: Robot) -> np.ndarray:
    """Return the relaxed posture (n,) of a human skeleton."""
    angles = {f'{side}_{joint}': a for side in ('left', 'right') for joint, a in RELAXED.items()}
    angles |= {'left_knuckles/x': -FINGERS, 'right_knuckles/x': FINGERS}
    return robot.q({joint: np.radians(a) for joint, a in angles.items()}, np.zeros(robot.n))
