# SPDX-License-Identifier: Apache-2.0
"""Load motions from files of any supported kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..exceptions import InvalidOption
from ..robot.joint_tables import load_joint_table, read_heading
from ..robot.joints import FLOATING_BASE
from ..robot.mocap.mocap_files import load_mocap
from ..robot.motion import Motion
from ..robot.motion_files import SUFFIXES, load_motion
from ..robot.robot import Robot
from ..robot.robot_sources import load_robot

CAPTURED = ('.amc', '.bvh')
# [rad] a first frame whose joints are all within REST of zero is a rest pose; it is not part of
# the motion if a joint moves by more than JUMP to the next frame
REST, JUMP = 0.2, 0.5


def load_clip(
    path: Path,
    *,
    skeleton: Path | None = None,
    rate: float | None = None,
    robot: str | None = None,
    degrees: bool = False,
) -> tuple[Robot, Motion]:
    """Load a motion and the robot that it was made with.

    skeleton, rate : for captured motions, see `load_mocap`
    rate, degrees : for .csv, see `load_joint_table`
    robot : for .csv and .npz, the robot whose joints the file names, see `load_robot`

    A rest pose that a converter has put before a captured motion is left out. A .csv may lack
    joints of the robot. Raises MocapError, InvalidMotion, InvalidOption, UrdfError.
    """
    if path.suffix.lower() in CAPTURED:
        source, motion = load_mocap(path, skeleton, rate=rate)
        return source, motion[1:] if _starts_with_rest_pose(source, motion) else motion
    if path.suffix not in SUFFIXES:
        known = ', '.join((*CAPTURED, *SUFFIXES))
        raise InvalidOption(f'{path}: the suffix of a motion is one of {known}')
    if robot is None:
        raise InvalidOption(f'{path}: name the robot that it was made on')
    source = load_robot(robot)
    if path.suffix == '.npz':
        motion = load_motion(path)
        if not set(source.joint_names) <= set(motion.joint_names):
            source = load_robot(robot, floating_base=True)
        return source, motion
    if any(name.startswith(FLOATING_BASE) for name in read_heading(path)):
        source = load_robot(robot, floating_base=True)
    return source, load_joint_table(path, source, rate=rate, degrees=degrees)


def _starts_with_rest_pose(source: Robot, motion: Motion) -> bool:
    """Return whether the first frame is a rest pose far from the second one."""
    if len(motion) < 2:
        return False
    turns = np.array(source.joint_units) == 'rad'
    first, second = motion.positions_of(source)[:2, turns]
    at_rest = np.abs(first).max(initial=0.0) <= REST
    return bool(at_rest and np.abs(second - first).max(initial=0.0) > JUMP)
