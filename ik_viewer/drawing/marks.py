# SPDX-License-Identifier: Apache-2.0
"""Marks of a tip: its trace, its goal, and its manipulability ellipsoid."""

from __future__ import annotations

from typing import Any

import numpy as np

from ik_core import Robot
from ik_core.maths.rotations import Array

from .colours import SKY, colour_of
from .drawn_robot import wxyz_of
from .shapes import Colour

TRACE_POINTS = 400  # The oldest points of a trace are forgotten
JUMP = 100  # [steps] A tip that is farther away than this has not moved there
TRACE_COLOUR: Colour = (0, 114, 178)
# [s] The ellipsoid shows the motion of the tip in this time at unit joint velocities.
ELLIPSOID_TIME = 0.25


class Trace:
    """The recent path of a tip: a line of at most TRACE_POINTS points, `step` [m] apart."""

    def __init__(self, scene: Any, name: str, step: float, colour: Colour = TRACE_COLOUR) -> None:
        self._scene, self._name, self._step, self._colour = scene, name, step, colour
        self._points: list[Array] = []
        self._node: Any = None
        self._visible = True
        self._grown = False

    def add(self, point: Array) -> None:
        """Add a point (3,); after a jump the trace begins again."""
        moved = np.linalg.norm(point - self._points[-1]) if self._points else np.inf
        if moved < self._step:
            return
        if moved > JUMP * self._step:
            self.clear()
        self._points = [*self._points[1 - TRACE_POINTS :], point.copy()]
        self._grown = True

    @property
    def points(self) -> Array:
        """The points (N, 3) [m], the oldest first."""
        return np.array(self._points).reshape(-1, 3)

    def draw(self) -> None:
        """Draw the trace, if it has new points."""
        if not self._grown or len(self._points) < 2:
            return
        self._grown = False
        points = self.points
        segments = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
        if self._node is not None:
            self._node.points = segments
            return
        self._node = self._scene.add_line_segments(
            self._name,
            segments,
            self._colour,
            thickness=2.5,
            thickness_units='screen',
            visible=self._visible,
        )

    def clear(self) -> None:
        """Remove all points."""
        self._points = []
        if self._node is not None:
            self._node.remove()
            self._node = None

    @property
    def visible(self) -> bool:
        """True if it is shown."""
        return self._visible

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._visible = visible
        if self._node is not None:
            self._node.visible = visible


class GoalMark:
    """A ball at a goal in the colour of its state, with the state's code beside it."""

    def __init__(self, scene: Any, name: str, radius: float) -> None:
        self._ball = scene.add_icosphere(
            name, radius=radius, visible=False, cast_shadow=False, receive_shadow=False
        )
        self._label = scene.add_label(
            f'{name}/code', '', position=(0.0, 0.0, 0.0), anchor='bottom-left', visible=False
        )
        self._code = ''

    def show(self, position: Array | None, code: str) -> None:
        """Show the mark at a position (3,) [m]; hide it for None."""
        if (position is not None) != self._ball.visible:
            self._ball.visible = self._label.visible = position is not None
        if position is None:
            return
        self._ball.position = position
        if code != self._code:
            self._code = self._label.text = code
            self._ball.color = colour_of(code)


class Ellipsoid:
    """The manipulability ellipsoid of a tip: its velocities at unit joint velocities.

    Its half axes are the singular vectors of the tip's translational Jacobian, as long as their
    singular values [m/s] times ELLIPSOID_TIME.
    """

    def __init__(self, scene: Any, name: str) -> None:
        self._node = scene.add_icosphere(
            name,
            radius=1.0,
            color=SKY,
            opacity=0.35,
            visible=False,
            cast_shadow=False,
            receive_shadow=False,
        )

    def show(self, robot: Robot, q: Array, link: str, pose: Array) -> None:
        """Draw the ellipsoid of a tip whose tool centre point is at `pose` (4, 4)."""
        half_axes, turn = ellipsoid_axes(tip_jacobian(robot, q, link, pose))
        self._node.scale = tuple(np.maximum(ELLIPSOID_TIME * half_axes, 1e-4).tolist())
        self._node.wxyz, self._node.position = wxyz_of(turn), pose[:3, 3]

    @property
    def visible(self) -> bool:
        """True if it is shown."""
        return bool(self._node.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._node.visible = visible


def tip_jacobian(robot: Robot, q: Array, link: str, pose: Array) -> Array:
    """Return the translational Jacobian (3, n) of a point fixed to a link, at `pose` (4, 4)."""
    jacobian = robot.jacobian(q, link)
    arm = pose[:3, 3] - robot.forward_kinematics(q, link)[:3, 3]
    return jacobian[:3] + np.cross(jacobian[3:].T, arm).T


def ellipsoid_axes(jacobian: Array) -> tuple[Array, Array]:
    """Return the singular values (3,) of a Jacobian (3, n), and their directions (3, 3)."""
    turn, values, _ = np.linalg.svd(jacobian)
    half_axes = np.zeros(3)
    half_axes[: values.size] = values
    if np.linalg.det(turn) < 0.0:
        turn[:, 2] = -turn[:, 2]
    return half_axes, turn
