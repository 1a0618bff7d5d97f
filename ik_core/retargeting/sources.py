"""Motions from files of any kind that is known."""

from __future__ import annotations

from pathlib import Path

from ..exceptions import InvalidOption
from ..robot.load import load_robot
from ..robot.mocap.load import load_mocap
from ..robot.motion import Motion
from ..robot.motion_files import SUFFIXES, load_motion
from ..robot.robot import Robot

CAPTURED = ('.amc', '.bvh')


def load_clip(
    path: Path,
    *,
    skeleton: Path | None = None,
    rate: float | None = None,
    robot: str | None = None,
) -> tuple[Robot, Motion]:
    """A motion and the robot that it was made on.

    skeleton, rate : of a captured one, see `load_mocap`; robot : of a .csv or .npz, whose joints
    it names, see `load_robot`. Raises MocapError, InvalidMotion, InvalidOption, UrdfError.
    """
    if path.suffix.lower() in CAPTURED:
        return load_mocap(path, skeleton, rate=rate)
    if path.suffix not in SUFFIXES:
        known = ', '.join((*CAPTURED, *SUFFIXES))
        raise InvalidOption(f'{path}: the suffix of a motion is one of {known}')
    if robot is None:
        raise InvalidOption(f'{path}: name the robot that it was made on')
    motion = load_motion(path)
    source = load_robot(robot)
    if not set(source.joint_names) <= set(motion.joint_names):
        source = load_robot(robot, floating_base=True)
    return source, motion
