# SPDX-License-Identifier: Apache-2.0
"""Pictures of a robot from Python: `show` in the browser, `plot` by matplotlib.

The packages that draw are optional, and imported where one draws: viser (extra `viewer`) for
`show`, matplotlib (extra `figures`) for `plot`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence, Sized
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from .collision import World
from .exceptions import InvalidConfiguration
from .figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    RED,
    equal_axes,
    require_matplotlib,
    styled,
)
from .maths.argument_types import MatrixLike, Names, VectorLike
from .maths.rotations import Array
from .robot.motion import Motion
from .robot.outline import LimitArcs, bone_lines
from .robot.robot import Robot, check_robot

# Length of a frame's axes and radius of arcs, as fractions of the robot's size
AXES, ARCS = 0.12, 0.1
PALEST = 0.2  # Opacity of the first of several arms
# Size of a new figure [inch], and where it is seen from [deg]
SIZE, VIEW = (6.4, 5.6), {'elev': 22.0, 'azim': -62.0}
COLOURS_OF_AXES = RED, GREEN, BLUE


class RobotPage(Protocol):
    """A page of `show`. As the last value of a notebook's cell it is shown inline."""

    @property
    def url(self) -> str:
        """The address to open in a browser on this machine."""

    def wait(self) -> None:
        """Serve the page until Ctrl-C, then close it."""

    def close(self) -> None:
        """Close the page, and end its threads."""


def show(
    robot: Robot,
    q: VectorLike | MatrixLike | Motion | None = None,
    *,
    ghosts: MatrixLike = (),
    world: World | None = None,
    period: float = 0.04,
    tips: Names = (),
    mesh_folders: Sequence[str | os.PathLike[str]] = (),
    host: str = '127.0.0.1',
    port: int | None = None,
) -> RobotPage:
    """Show a robot in the browser, at a configuration or moving along a path; returns at once.

    The page is that of `ik view`: drag the tips, and the arm follows from where it is. In a
    notebook the result is displayed inline; in a script end with `.wait()`, since the page closes
    with the program. A second call shows its robot on the same page, unless `port` differs.

    q : joint values (n,), a path (frames, n), or a Motion; by default the middle of the limits
    ghosts (k, n) : more configurations, drawn transparent, such as the result of `solve_all`
    world : obstacles to draw and to check; the page has a copy, so dragging one does not move
        yours
    period [s] : time from frame to frame of a path that is an array
    tips : links with a gizmo to drag; by default all ends of the robot's chains
    mesh_folders : folders with meshes besides that of the URDF: packages, or folders of packages
    host, port : address of the page; by default the first free port from 8080, for this machine

    Raises InvalidConfiguration for joint values of a wrong shape, and InvalidOption for another
    wrong argument, if viser is not installed, with the command that installs it, or if the port is
    taken.
    """
    check_robot(robot)
    page: RobotPage = import_module('ik_viewer.result').show(
        robot,
        q,
        ghosts=ghosts,
        world=world,
        period=period,
        tips=tips,
        mesh_folders=mesh_folders,
        host=host,
        port=port,
    )
    return page


def plot(
    robot: Robot,
    q: VectorLike | MatrixLike | None = None,
    *,
    axes: Any = None,
    frames: Names | None = None,
    limits: bool = True,
) -> Any:
    """Draw a robot with matplotlib; return the axes, which have equal scales.

        ik.plot(robot, result.q).figure.savefig('arm.png')

    Lines go from joint to joint. x, y and z of a frame are red, green and blue. An orange arc is
    the range of a revolute joint, with a tick where the joint is, red at a limit.

    q : joint values (n,), or several arms (k, n), of which the first is the palest; by default the
        middle of the limits
    axes : 3D axes to draw into; by default those of a new figure of pyplot
    frames : links whose frames are drawn; by default the root and all ends of chains
    limits : draw the arcs, for the last arm

    Raises InvalidConfiguration for joint values of a wrong shape, FrameNotFound for an unknown
    link, InvalidOption without matplotlib.
    """
    require_matplotlib()
    check_robot(robot)
    arms = configurations(robot, q, 'q')
    if not len(arms):
        raise InvalidConfiguration('q is a list without arms; at least one is needed')
    links = (robot.base_link, *robot.tips()) if frames is None else tuple(frames)
    lines = [bone_lines(robot, arm) for arm in arms]
    points = np.vstack([np.zeros(3), lines[-1].reshape(-1, 3)])  # the root alone if no bones
    size = max(float(np.linalg.norm(np.ptp(points, axis=0))), 1e-3)
    opacities = np.linspace(1.0, PALEST, len(arms))[::-1]
    with styled():
        if axes is None:
            pyplot = import_module('matplotlib.pyplot')
            axes = pyplot.figure(figsize=SIZE, layout='constrained').add_subplot(projection='3d')
            axes.view_init(**VIEW)
            axes.set_title(robot.name)
        for arm, bones, opacity in zip(arms, lines, opacities, strict=True):
            _add_lines(axes, bones, BLACK, 3.0, opacity)
            joints = bones[:, 0].T
            axes.scatter(*joints, color=BLACK, s=22.0, alpha=opacity, depthshade=False)
            for link in links:
                _add_frame(axes, robot.forward_kinematics(arm, link), AXES * size, opacity)
        if limits:
            arcs = LimitArcs(robot, ARCS * size)
            ranges, ticks = arcs.lines(arms[-1])
            _add_lines(axes, ranges.reshape(-1, 2, 3), ORANGE, 1.0, 0.8)
            at_limit = arcs.at_limit(arms[-1])
            _add_lines(axes, ticks[~at_limit], BLUE, 1.8, 1.0)
            _add_lines(axes, ticks[at_limit], RED, 1.8, 1.0)
        equal_axes(axes)
    return axes


def configurations(robot: Robot, q: VectorLike | MatrixLike | None, name: str) -> Array:
    """Joint values (k, n) of one configuration (n,), several (k, n), or None: the middle.

    Raises InvalidConfiguration, which calls them `name`.
    """
    if q is None:
        return robot.middle_configuration[None]
    return robot.checked_rows(q, len(q) if isinstance(q, Sized) else 1, name)


def _add_frame(axes: Any, pose: Array, length: float, opacity: float) -> None:
    for i, colour in enumerate(COLOURS_OF_AXES):
        ends = pose[:3, 3] + np.outer((0.0, length), pose[:3, i])
        _add_lines(axes, ends[None], colour, 1.6, opacity)


def _add_lines(axes: Any, lines: Array, colour: str, width: float, opacity: float) -> None:
    """Add lines (k, 2, 3) [m]; the axes grow to show them."""
    if not len(lines):  # matplotlib refuses a collection of none
        return
    art3d, had_data = import_module('mpl_toolkits.mplot3d.art3d'), axes.has_data()
    looks = {'colors': colour, 'linewidths': width, 'alpha': opacity, 'capstyle': 'round'}
    axes.add_collection3d(art3d.Line3DCollection(lines, **looks))
    axes.auto_scale_xyz(*lines.reshape(-1, 3).T, had_data)
