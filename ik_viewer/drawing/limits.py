# SPDX-License-Identifier: Apache-2.0
"""Limits in a scene: arcs for the ranges of revolute joints, and reach cones ([EngellErleben2011]
Fig. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ik_core import Robot
from ik_core.maths.rotations import Array
from ik_core.robot import ReachCone
from ik_core.robot.outline import LimitArcs

from .colours import BLUE, ORANGE, RED, SKY
from .drawn_robot import linear, wxyz_of

ARC, CONE = 0.1, 0.16  # Radii, relative to the robot's size


class Arcs:
    """Arcs for the ranges of a robot's revolute joints, with ticks at their values."""

    def __init__(self, scene: Any, name: str, robot: Robot, size: float) -> None:
        self._arcs = LimitArcs(robot, ARC * size)
        self.bodies = self._arcs.bodies
        """The bodies that the joints carry (A,)."""
        lines, ticks, colours = self._drawn(robot.middle_configuration)
        self._node = scene.add_line_segments(
            f'{name}/arcs', lines, ORANGE, thickness=2.0, thickness_units='screen'
        )
        self._ticks = scene.add_line_segments(
            f'{name}/ticks', ticks, colours, thickness=3.5, thickness_units='screen'
        )

    def show(self, q: Array) -> None:
        """Draw the arcs, and their ticks at q (n,)."""
        self._node.points, self._ticks.points, self._ticks.colors = self._drawn(q)

    def _drawn(
        self, q: Array
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint8]]:
        """Lines of arcs (S, 2, 3); ticks (A, 2, 3) and their colours (A, 2, 3)."""
        lines, ticks = self._arcs.lines(q)
        colours = np.where(self._arcs.at_limit(q)[:, None, None], RED, BLUE).repeat(2, axis=1)
        return (
            lines.reshape(-1, 2, 3).astype(np.float32),
            ticks.astype(np.float32),
            linear(colours),
        )


class Cones:
    """Reach cones at their links; vermilion if the link is outside."""

    def __init__(
        self, scene: Any, name: str, robot: Robot, cones: Sequence[ReachCone], size: float
    ) -> None:
        self._robot, self._cones = robot, tuple(cones)
        self._nodes, self._frames = [], []
        for i, cone in enumerate(cones):
            corners = (CONE * size * cone.corners).astype(np.float32)
            following, count = np.roll(np.arange(len(corners)), -1), len(corners)
            faces = np.column_stack([np.full(count, count), np.arange(count), following])
            self._frames.append(scene.add_frame(f'{name}/{i}', show_axes=False))
            self._nodes.append(
                scene.add_mesh_simple(
                    f'{name}/{i}/side',
                    np.vstack([corners, np.zeros((1, 3), np.float32)]),
                    faces.astype(np.uint32),
                    color=SKY,
                    opacity=0.3,
                    side='double',
                    cast_shadow=False,
                    receive_shadow=False,
                )
            )
            scene.add_line_segments(
                f'{name}/{i}/edge',
                np.stack([corners, corners[following]], axis=1),
                BLUE,
                thickness=2.0,
                thickness_units='screen',
            )

    def show(self, q: Array) -> None:
        """Draw the cones at their links for q (n,); recolour those that are violated."""
        frames = self._robot.frames(q)
        for cone, frame, node in zip(self._cones, self._frames, self._nodes, strict=True):
            base = self._robot.link_transform(frames, cone.relative_to)
            frame.wxyz = wxyz_of(base[:3, :3])
            frame.position = self._robot.link_transform(frames, cone.link)[:3, 3]
            colour = SKY if cone.violation(self._robot, q) == 0.0 else RED
            if tuple(node.color) != colour:
                node.color = colour


class Limits:
    """The arcs and cones of a robot; made when they are first shown."""

    def __init__(
        self, scene: Any, name: str, robot: Robot, cones: Sequence[ReachCone], size: float
    ) -> None:
        self._made: tuple[Arcs, Cones] | None = None
        self._root: Any = None
        self._make = scene, name, robot, cones, size

    def show(self, q: Array) -> None:
        """Draw the arcs and cones for q (n,)."""
        scene, name, robot, cones, size = self._make
        if self._made is None:
            self._root = scene.add_frame(name, show_axes=False)
            self._made = (
                Arcs(scene, name, robot, size),
                Cones(scene, f'{name}/cone', robot, cones, size),
            )
        for one in self._made:
            one.show(q)
        if not self._root.visible:
            self._root.visible = True

    def hide(self) -> None:
        """Hide arcs and cones."""
        if self.visible:
            self._root.visible = False

    @property
    def visible(self) -> bool:
        """True if the arcs and cones are shown."""
        return self._root is not None and bool(self._root.visible)
