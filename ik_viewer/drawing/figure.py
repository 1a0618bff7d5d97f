"""A robot in a scene: a node for each body, within that of its parent, with its shapes.

So all that a browser has to be told of a configuration is how each joint stands: it multiplies
the transforms itself. A joint that did not move is not sent again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ik_core import Robot
from ik_core.maths.rotations import Array, quaternion_from_matrix, transform_of
from ik_core.robot.kinematics import KIND, PARENT, PRISMATIC, VARIABLE

from .shapes import Box, Colour, Cylinder, Mesh, Shape, Sphere

UNSEEN = 1e-6
"""[rad or m] A joint that moved less stands where it is drawn."""


class Figure:
    """A robot at a configuration.

    name : of its node in the scene
    colour, opacity : instead of the shapes' own
    """

    def __init__(
        self,
        scene: Any,
        name: str,
        robot: Robot,
        shapes: Iterable[Shape],
        *,
        colour: Colour | None = None,
        opacity: float | None = None,
    ) -> None:
        self._root = scene.add_frame(name, show_axes=False)
        self._poses = JointPoses(robot)
        self._bodies: list[Any] = []
        self._drawn = np.full(len(robot.tree), np.nan)
        for k, parent in enumerate(robot.tree[:, PARENT].tolist()):
            path = (self._root if parent < 0 else self._bodies[parent]).name
            self._bodies.append(scene.add_frame(f'{path}/{k}', show_axes=False))
        for i, shape in enumerate(shapes):
            node = self._root if shape.body < 0 else self._bodies[shape.body]
            tint = shape.colour if colour is None else colour
            add_shape(scene, f'{node.name}/shape_{i}', shape, tint, opacity)

    def show(self, q: Array) -> None:
        """Draw it at q (n,)."""
        values = self._poses.values(q)
        moved = np.flatnonzero(~(np.abs(values - self._drawn) <= UNSEEN))
        if not moved.size:
            return
        self._drawn[moved] = values[moved]
        for k in moved.tolist():
            self._poses.place(self._bodies[k], k, values[k])

    def show_axes(self, shown: bool, length: float) -> None:
        """Show the frames of the bodies, whose z is the axis of the joint, or hide them."""
        for node in (self._root, *self._bodies):
            node.axes_length, node.axes_radius = length, 0.04 * length
            node.origin_radius = 0.06 * length
            node.show_axes = shown

    @property
    def visible(self) -> bool:
        """Whether it is shown."""
        return bool(self._root.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._root.visible = visible

    def remove(self) -> None:
        """Take it out of the scene."""
        self._root.remove()


class JointPoses:
    """The pose of every body of a robot in the frame of its parent, from how its joint stands."""

    def __init__(self, robot: Robot) -> None:
        self._variable = robot.tree[:, VARIABLE]
        self._slides = (robot.tree[:, KIND] == PRISMATIC).tolist()
        self._multiplier, self._offset = robot.geometry[:, 12], robot.geometry[:, 13]
        self._frames = [transform_of(row) for row in robot.geometry[:, :12]]
        self._turns = [wxyz_of(frame) for frame in self._frames]

    def values(self, q: Array) -> Array:
        """How the joint of every body (K,) stands [rad or m]."""
        return self._multiplier * q[self._variable] + self._offset

    def pose(self, k: int, value: float) -> tuple[Array, Array]:
        """The unit quaternion w, x, y, z and the position (3,) of a body in its parent's frame."""
        frame, turn = self._frames[k], self._turns[k]
        if self._slides[k]:
            return turn, frame[:3, 3] + value * frame[:3, 2]
        w, x, y, z = turn
        c, s = np.cos(0.5 * value), np.sin(0.5 * value)
        turned = np.array([c * w - s * z, c * x + s * y, c * y - s * x, c * z + s * w])
        return turned, frame[:3, 3]

    def place(self, node: Any, k: int, value: float) -> None:
        """Move the node of a body."""
        node.wxyz, node.position = self.pose(k, value)


def wxyz_of(transform: Array) -> Array:
    """The unit quaternion w, x, y, z of a transform (4, 4)."""
    return np.roll(quaternion_from_matrix(transform[:3, :3]), 1)


def add_shape(
    scene: Any, name: str, shape: Shape, colour: Colour, opacity: float | None = None
) -> Any:
    """Add the node of a shape to a scene."""
    place = {'wxyz': wxyz_of(shape.transform), 'position': shape.transform[:3, 3]}
    look = {'color': colour, 'opacity': opacity, **place}
    if opacity is not None:
        look |= {'cast_shadow': False, 'receive_shadow': False}
    match shape.solid:
        case Box(size):
            return scene.add_box(name, dimensions=size, **look)
        case Cylinder(radius, length):
            return scene.add_cylinder(name, radius=radius, height=length, **look)
        case Sphere(radius):
            return scene.add_icosphere(name, radius=radius, **look)
        case Mesh(vertices, faces):
            return scene.add_mesh_simple(name, vertices, faces, side='double', **look)
