# SPDX-License-Identifier: Apache-2.0
"""Limits in a scene: arcs for revolute joints, and reach cones ([EngellErleben2011] Fig. 4).

An arc is perpendicular to the axis of its joint. It shows the directions in which the moved part
may point; a tick shows the present one. A range of more than a turn is a spiral.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ik_core import Robot
from ik_core.maths.rotations import Array
from ik_core.robot import ReachCone
from ik_core.robot.kinematics import KIND, MULTIPLIER, OFFSET, PARENT, REVOLUTE, VARIABLE

from .colours import BLUE, ORANGE, RED, SKY
from .drawn_robot import Poses, linear, wxyz_of

ARC, CONE = 0.1, 0.16  # radii, relative to the robot's size
STEPS = 36  # line segments of an arc
# Factor of the radius for each further joint at the same position; decrease per turn of a spiral.
SMALLER, SPIRAL = 0.8, 0.15
NEAR = np.radians(0.5)  # [rad] a joint nearer to its limit is drawn as at the limit
SHORTEST = 1e-6  # [m] shorter parts have no direction


class Arcs:
    """Arcs of the A revolute joints with limits, including mimic joints.

    `bodies` : (A,) the bodies that the joints move
    `lower`, `upper` : (A,) [rad] the ranges
    """

    def __init__(self, scene: Any, name: str, robot: Robot, size: float) -> None:
        joint, scale = robot.tree[:, VARIABLE], robot.geometry[:, MULTIPLIER]
        ends = np.sort(scale * np.array([robot.lower, robot.upper])[:, joint], axis=0)
        ends += robot.geometry[:, OFFSET]
        turns = (robot.tree[:, KIND] == REVOLUTE) & np.isfinite(ends).all(axis=0)
        self.bodies = np.flatnonzero(turns)
        self.lower, self.upper = ends[:, self.bodies]
        self._robot = robot
        pointing = _pointing(robot)[self.bodies]
        self._zero = np.arctan2(pointing[:, 1], pointing[:, 0])
        self._radius = ARC * size * SMALLER ** _stacked(robot)[self.bodies]
        lines, ticks = self._segments(robot.middle_configuration)
        self._node = scene.add_line_segments(
            f'{name}/arcs', lines, ORANGE, thickness=2.0, thickness_units='screen'
        )
        self._ticks = scene.add_line_segments(
            f'{name}/ticks', *ticks, thickness=3.5, thickness_units='screen'
        )

    def show(self, q: Array) -> None:
        """Draw them at q (n,)."""
        lines, (ticks, colours) = self._segments(q)
        self._node.points, self._ticks.points, self._ticks.colors = lines, ticks, colours

    def values(self, q: Array) -> Array:
        """Return the joints' angles (A,) [rad] at q (n,)."""
        rows = self._robot.geometry[self.bodies]
        angles: Array = rows[:, MULTIPLIER] * q[self._robot.tree[self.bodies, VARIABLE]]
        return angles + rows[:, OFFSET]

    def _segments(
        self, q: Array
    ) -> tuple[NDArray[np.float32], tuple[NDArray[np.float32], NDArray[np.uint8]]]:
        """Return the lines of arcs (S, 2, 3); ticks (A, 2, 3) and their colours (A, 2, 3)."""
        values, poses = self.values(q), Poses.at(self._robot, q)
        angles = np.linspace(self.lower, self.upper, STEPS + 1, axis=1)
        over = np.where(self.upper - self.lower > 2.0 * np.pi, SPIRAL, 0.0)[:, None]
        radii = self._radius[:, None] * (1.0 - over * (self.upper[:, None] - angles) / (2 * np.pi))
        turned = angles - values[:, None] + self._zero[:, None]
        local = np.stack([radii * np.cos(turned), radii * np.sin(turned), 0.0 * radii], axis=2)
        rotations, origins = poses.rotations[self.bodies + 1], poses.origins[self.bodies + 1]
        arcs = local @ rotations.swapaxes(1, 2) + origins[:, None]
        sides = np.stack([np.stack([origins, arcs[:, k]], axis=1) for k in (0, -1)], axis=1)
        lines = np.concatenate([np.stack([arcs[:, :-1], arcs[:, 1:]], axis=2), sides], axis=1)
        along = np.stack([np.cos(self._zero), np.sin(self._zero), 0.0 * self._zero], axis=1)
        tips = origins + self._radius[:, None] * (rotations @ along[:, :, None])[:, :, 0]
        is_at_limit = np.minimum(values - self.lower, self.upper - values) < NEAR
        colours = np.where(is_at_limit[:, None, None], RED, BLUE).repeat(2, axis=1)
        ticks = np.stack([origins, tips], axis=1)
        lines = lines.reshape(-1, 2, 3).astype(np.float32)
        return lines, (ticks.astype(np.float32), linear(colours))


def _pointing(robot: Robot) -> Array:
    """Return directions (K, 3), perpendicular to each joint's axis z, in its body's frame.

    They point to the next joint or link; x if there is none at a distance.
    """
    ends = np.zeros((len(robot.tree), 3))
    for place in robot.places.values():
        if place.body >= 0 and np.linalg.norm(place.transform[:3, 3]) > SHORTEST:
            ends[place.body] = place.transform[:3, 3]
    for k in range(len(robot.tree) - 1, -1, -1):  # children first
        parent, shift = int(robot.tree[k, PARENT]), robot.geometry[k, 9:12]
        if parent >= 0 and np.linalg.norm(shift) > SHORTEST:
            ends[parent] = shift
        elif parent >= 0 and not ends[parent].any():
            ends[parent] = robot.geometry[k, :9].reshape(3, 3) @ ends[k]
    ends[:, 2] = 0.0
    ends[np.linalg.norm(ends, axis=1) <= SHORTEST] = (1.0, 0.0, 0.0)
    return ends


def _stacked(robot: Robot) -> NDArray[np.int64]:
    """Return for each joint the number (K,) of parents at the same origin, as in ball joints."""
    count = np.zeros(len(robot.tree), np.int64)
    for k, parent in enumerate(robot.tree[:, PARENT].tolist()):
        if parent >= 0 and np.linalg.norm(robot.geometry[k, 9:12]) <= SHORTEST:
            count[k] = count[parent] + 1
    return count


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
        """Draw them at q (n,)."""
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
        """Draw them at q (n,)."""
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
        """Whether they are shown."""
        return self._root is not None and bool(self._root.visible)
