# SPDX-License-Identifier: Apache-2.0
"""A figure of a motion along a path: joints, their speeds, and the speed of the tip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..figures import BLUE, COLOURS, GREY, draw_file, new_figure
from ..robot.robot import Robot
from ..tracking import MotionLimits
from .result import PathResult


def draw_path(
    result: PathResult, robot: Robot, tip: str, limits: MotionLimits, path: str | Path
) -> None:
    """Draw a motion into a file. Raises InvalidOption, as `figures.draw_file`; OSError."""
    draw_file(path, path_figure, result, robot, tip, limits)


def path_figure(result: PathResult, robot: Robot, tip: str, limits: MotionLimits) -> Any:
    """Return the figure of a motion: joints, velocities over their limits, speed of the tip."""
    motion = result.motion
    assert motion is not None
    times = motion.period * np.arange(len(motion))
    moved = np.ptp(motion.positions, axis=0) > 0.0
    figure = new_figure(7.0, 6.0)
    joints, speeds, tips = figure.subplots(3, 1, sharex=True)
    velocity = np.gradient(motion.positions, motion.period, axis=0)
    for k, i in enumerate(np.flatnonzero(moved)):
        look = {'color': COLOURS[k % len(COLOURS)], 'label': robot.joint_names[i]}
        joints.plot(times, motion.positions[:, i], **look)
        speeds.plot(times, velocity[:, i] / limits.velocity[i], **look)
    places = np.asarray(robot.forward_kinematics(motion.positions, tip))[:, :3, 3]
    tips.plot(
        times, np.linalg.norm(np.gradient(places, motion.period, axis=0), axis=1), color=BLUE
    )
    for time in result.pose_times if len(result.pose_times) <= 30 else ():
        tips.axvline(time, color=GREY, linewidth=0.5)
    units = {robot.joint_units[i] for i in np.flatnonzero(moved)}
    joints.set_ylabel(f'position [{" or ".join(sorted(units))}]')
    speeds.set_ylabel('velocity over its limit')
    tips.set(xlabel='time [s]', ylabel='speed of the tip [m/s]')
    figure.legend(*joints.get_legend_handles_labels(), loc='outside right upper')
    return figure
