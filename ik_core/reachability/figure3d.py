# SPDX-License-Identifier: Apache-2.0
"""A picture of a reachability map in three dimensions: cut open, coloured, with the robot."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..figures import BLACK, equal_axes, new_figure
from ..maths.rotations import Array
from ..robot.robot import Robot
from .cloud import MANIPULABILITY, reach_cloud
from .maps import ReachabilityMap

WIDTH = 300.0  # [points] of all voxels side by side
VIEW = {'elev': 22.0, 'azim': -62.0}  # [deg] the cut faces the viewer


def draw_workspace(robot: Robot, made: ReachabilityMap) -> Any:
    """Draw the half of the map with y >= 0, and the robot in the middle of its limits."""
    cloud = reach_cloud(made).half()
    figure = new_figure(9.0, 7.0)
    axes = figure.add_subplot(projection='3d')
    image = axes.scatter(
        *cloud.points.T,
        c=cloud.values,
        cmap='viridis',
        vmin=0.0,
        marker='s',
        s=(WIDTH * made.grid.step / np.ptp(cloud.points, axis=0).max(initial=made.grid.step)) ** 2,
        lw=0,
        depthshade=False,
    )
    for ends in _bones(robot, made.settings['link']):
        axes.plot(*ends.T, color=BLACK, linewidth=3.0, marker='o', markersize=4.0, zorder=10)
    equal_axes(axes)
    axes.view_init(**VIEW)
    label = cloud.what
    if cloud.what == MANIPULABILITY:
        label = r'manipulability $\sqrt{\det JJ^T}$' + f' [{cloud.unit}]'
    if cloud.what == MANIPULABILITY or made.orientations > 1:  # else all has one colour
        figure.colorbar(image, ax=axes, label=label, shrink=0.7, pad=0.14)
    figure.suptitle(
        f'{made.settings["link"]} of {robot.name}: {made.volume:.3g} m³ in reach, '
        f'cut open at y = 0 (voxels of {made.grid.step:g} m)'
    )
    return figure


def _bones(robot: Robot, link: str) -> list[Array]:
    """The chain to a link as line segments (2, 3) [m] between the frames of its bodies."""
    q = robot.middle_configuration
    frames = robot.frames(q)
    points = [np.zeros(3), *(frames[body][9:] for body in robot.body_path(link))]
    points.append(robot.forward_kinematics(q, link)[:3, 3])
    return [np.array(pair) for pair in itertools.pairwise(points)]
