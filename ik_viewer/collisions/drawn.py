# SPDX-License-Identifier: Apache-2.0
"""Drawing of collisions: obstacles with gizmos, closest pairs as lines, links in red."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ik_core import Robot
from ik_core.collision import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    PairDistance,
    Plane,
    Sphere,
    World,
)
from ik_core.collision.shapes import Shape as Solid
from ik_core.maths.rotations import Array, matrix_from_quaternion

from ..drawing.colours import GREEN, ORANGE, PURPLE, RED
from ..drawing.drawn_robot import OUTSIDE, DrawnRobot, linear, unit_solid, wxyz_of
from ..drawing.shapes import Colour, Shape
from ..page.page_context import PageContext

NAME = '/collisions'
OPACITY = 0.55  # opacity of obstacles, and of the red over links that collide
GIZMO = 0.12  # size of gizmos, relative to the robot's size


class Obstacle:
    """A drawn obstacle: a fixed one has a gizmo to move it, an attached one follows its link."""

    def __init__(self, context: PageContext, world: World, name: str) -> None:
        self._world, self._name, self._link = world, name, world[name].link
        scene, pose, path = context.server.scene, world[name].pose, f'{NAME}/{name}'
        if self._link is None:
            self._node = scene.add_transform_controls(
                path, scale=GIZMO * context.size, depth_test=False, opacity=0.8
            )
            self._node.on_update(context.guarded(lambda _: self._move()))
        else:
            self._node = scene.add_frame(path, show_axes=False)
        self._node.position, self._node.wxyz = pose[:3, 3], wxyz_of(pose[:3, :3])
        add_solid(scene, f'{path}/solid', world[name].shape, context.size)

    def show(self, robot: Robot, q: Array) -> None:
        """Move the obstacle with its link, which is at q (n,), if it is on a link."""
        if self._link is not None:
            pose = robot.forward_kinematics(q, self._link) @ self._world[self._name].pose
            self._node.position, self._node.wxyz = pose[:3, 3], wxyz_of(pose[:3, :3])

    def remove(self) -> None:
        """Remove the obstacle from the scene."""
        self._node.remove()

    def _move(self) -> None:
        if self._name in self._world:
            pose = np.eye(4)
            pose[:3, :3] = matrix_from_quaternion(np.roll(self._node.wxyz, -1))
            pose[:3, 3] = self._node.position
            self._world.move(self._name, pose)


def add_solid(scene: Any, name: str, solid: Solid, size: float) -> None:
    """Add the node of an obstacle's shape; a plane is a square of five times the robot's size."""
    options: dict[str, Any] = {'color': PURPLE, 'opacity': OPACITY, 'cast_shadow': False}
    match solid:
        case Box(lengths):
            scene.add_box(name, dimensions=lengths, **options)
        case Sphere(radius):
            scene.add_icosphere(name, radius=radius, **options)
        case Cylinder(radius, length):
            scene.add_cylinder(name, radius=radius, height=length, **options)
        case Capsule(radius, length):
            ball = radius * unit_solid(Sphere)[0]
            ends = [ball + np.array([0.0, 0.0, z]) for z in (-0.5 * length, 0.5 * length)]
            scene.add_mesh_simple(name, *_hull(np.concatenate(ends)), **options)
        case Convex(points):
            scene.add_mesh_simple(name, *_hull(points), flat_shading=True, **options)
        case Plane():
            scene.add_box(
                name,
                dimensions=(5.0 * size, 5.0 * size, 1e-3 * size),
                position=(0.0, 0.0, -0.5e-3 * size),
                **options,
            )


def _hull(points: Array) -> tuple[Array, Array]:
    """Vertices and faces of the convex hull of points (n, 3)."""
    import trimesh

    hull = trimesh.convex.convex_hull(np.asarray(points, float))
    return np.asarray(hull.vertices, np.float32), np.asarray(hull.faces, np.uint32)


class Lines:
    """Lines between the nearest points of pairs: green when far, red inside the margin."""

    def __init__(self, scene: Any) -> None:
        self._scene = scene
        self._node: Any = None

    def show(self, pairs: Sequence[PairDistance], reach: float) -> None:
        """Draw the pairs, which are at distances up to `reach` [m]."""
        points = np.array([pair.points for pair in pairs]).reshape(-1, 2, 3).astype(np.float32)
        colours = np.array([_colour_of(pair, reach) for pair in pairs]).reshape(-1, 1, 3)
        if self._node is not None:
            self._node.remove()
            self._node = None
        if len(points):
            self._node = self._scene.add_line_segments(
                f'{NAME}/lines',
                points,
                linear(np.repeat(colours, 2, axis=1)),
                thickness=3.0,
                thickness_units='screen',
            )


def _colour_of(pair: PairDistance, reach: float) -> Colour:
    if pair.distance <= pair.margin:
        return RED
    return ORANGE if pair.distance < 0.3 * reach else GREEN


class Colliding:
    """The colliding bodies, drawn in red over the robot."""

    def __init__(self, scene: Any, robot: Robot, shapes: Sequence[Shape]) -> None:
        self._scene, self._robot, self._shapes = scene, robot, shapes
        self._drawn: dict[int, DrawnRobot] = {}

    def show(self, q: Array, links: Collection[str]) -> None:
        """Draw the bodies of colliding links at q (n,)."""
        bodies = {self._robot.places[link].body for link in links}
        for body in bodies - self._drawn.keys():
            own = [shape for shape in self._shapes if shape.body == body]
            self._drawn[body] = DrawnRobot(
                self._scene, f'{NAME}/body_{body}', self._robot, own, colour=RED, opacity=OPACITY,
                scale=OUTSIDE,
            )  # fmt: skip
        for body, drawn in self._drawn.items():
            if body in bodies:
                drawn.show(q)
            if drawn.visible != (body in bodies):
                drawn.visible = body in bodies
