# SPDX-License-Identifier: Apache-2.0
"""A robot in a scene, drawn with few messages per frame.

Boxes, cylinders and spheres are instances of three solids; one array has the poses of all
instances of a solid. Meshes are children of one node per body. Poses that have not changed are
not sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ik_core import Robot
from ik_core.maths.rotations import Array
from ik_core.robot.outline import body_poses

from .shapes import Box, Colour, Cylinder, Mesh, Shape, Solid, Sphere

UNSEEN = 1e-6  # [rad or m] A robot whose joints moved less stands where it is drawn
STILL = 1e-7  # [m, and in a rotation matrix] A body that moves less stays as it was drawn
# Scales of shapes of which those of another robot at the same place hide all, and nothing: two
# surfaces at one place would flicker
INSIDE, OUTSIDE = 0.985, 1.015
SHARP = np.radians(35.0)


class Poses(NamedTuple):
    """The poses of a robot's root and K bodies: rotations (K + 1, 3, 3), origins (K + 1, 3) [m].

    The root is first, so body k has the index k + 1.
    """

    rotations: Array
    origins: Array

    @classmethod
    def at(cls, robot: Robot, q: Array) -> Poses:
        """The transforms of a robot at q (n,), in its root link's frame."""
        return cls(*body_poses(robot, q))


class DrawnRobot:
    """A robot drawn at a configuration.

    name : of its node in the scene
    colour, opacity : instead of the shapes' own
    scale : of each shape about its middle
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
        scale: float = 1.0,
    ) -> None:
        self._scene, self._name, self._robot = scene, name, robot
        self._drawn: Array = np.full(robot.n, np.inf)
        self._poses = Poses.at(robot, robot.middle_configuration)
        self._root = scene.add_frame(name, show_axes=False)
        self._axes: Any = None
        painted = [s if colour is None else s._replace(colour=colour) for s in shapes]
        painted = [s._replace(solid=scaled(s.solid, scale)) for s in painted]
        self._batches = [
            Batch(scene, f'{name}/{kind.__name__.lower()}', kind, own, self._poses, opacity)
            for kind in (Box, Cylinder, Sphere)
            if (own := [shape for shape in painted if isinstance(shape.solid, kind)])
        ]
        meshes = [shape for shape in painted if isinstance(shape.solid, Mesh)]
        self._bodies = {
            body: scene.add_frame(f'{name}/body_{body}', show_axes=False)
            for body in sorted({shape.body for shape in meshes})
        }
        for i, shape in enumerate(meshes):
            add_mesh(scene, f'{self._bodies[shape.body].name}/{i}', shape, opacity)
        self.show(robot.middle_configuration)

    def show(self, q: Array) -> None:
        """Draw the robot at q (n,)."""
        if np.max(np.abs(q - self._drawn), initial=0.0) <= UNSEEN:
            return
        before, self._poses = self._poses, Poses.at(self._robot, q)
        first, self._drawn = bool(np.isinf(self._drawn).any()), np.array(q)
        for batch in self._batches:
            batch.show(self._poses)
        if self._axes is not None:
            self._place_axes(self._axes)
        for body, node in self._bodies.items():
            if first or self._has_moved(body + 1, before):
                rotation = self._poses.rotations[body + 1]
                node.wxyz, node.position = wxyz_of(rotation), self._poses.origins[body + 1]

    def show_axes(self, shown: bool, length: float) -> None:
        """Show or hide the frames of the bodies; z is the axis of the joint."""
        if self._axes is None and shown:
            count = len(self._poses.origins)
            self._axes = self._scene.add_batched_axes(
                f'{self._name}/axes',
                np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
                np.zeros((count, 3)),
                axes_length=length,
                axes_radius=0.04 * length,
            )
            self._place_axes(self._axes)
        if self._axes is not None:
            self._axes.visible = shown

    @property
    def visible(self) -> bool:
        """True if the robot is shown."""
        return bool(self._root.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._root.visible = visible

    def remove(self) -> None:
        """Remove the robot from the scene."""
        self._root.remove()

    def _has_moved(self, i: int, before: Poses) -> bool:
        turned = np.abs(self._poses.rotations[i] - before.rotations[i]).max()
        shifted = np.abs(self._poses.origins[i] - before.origins[i]).max()
        return bool(max(turned, shifted) > STILL)

    def _place_axes(self, axes: Any) -> None:
        axes.batched_wxyzs = wxyz_of(self._poses.rotations)
        axes.batched_positions = self._poses.origins.astype(np.float32)


class Batch:
    """All solids of a kind, sent as instances with one array of poses."""

    def __init__(
        self,
        scene: Any,
        name: str,
        kind: type[Solid],
        shapes: Sequence[Shape],
        poses: Poses,
        opacity: float | None,
    ) -> None:
        self._bodies = np.array([shape.body + 1 for shape in shapes])
        self._rotations = np.array([shape.transform[:3, :3] for shape in shapes])
        self._shifts = np.array([shape.transform[:3, 3] for shape in shapes])
        wxyzs, positions = self._places(poses)
        self._node = scene.add_batched_meshes_simple(
            name,
            *unit_solid(kind),
            wxyzs,
            positions,
            batched_scales=np.array([size_of(shape.solid) for shape in shapes], np.float32),
            batched_colors=linear(np.array([shape.colour for shape in shapes])),
            opacity=opacity,
            lod='off',
            cast_shadow=opacity is None,
            receive_shadow=opacity is None,
        )

    def show(self, poses: Poses) -> None:
        """Draw the shapes on their bodies."""
        self._node.batched_wxyzs, self._node.batched_positions = self._places(poses)

    def _places(self, poses: Poses) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        rotations = poses.rotations[self._bodies]
        shifts = (rotations @ self._shifts[:, :, None])[:, :, 0]
        positions = poses.origins[self._bodies] + shifts
        wxyzs = wxyz_of(rotations @ self._rotations)
        return wxyzs.astype(np.float32), positions.astype(np.float32)


def linear(colours: NDArray[Any]) -> NDArray[np.uint8]:
    """Convert colours (..., 3) from sRGB to linear, 0 to 255.

    The browser converts the colour of a node, but not those of instances.
    """
    srgb = colours / 255.0
    light = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return np.round(255.0 * light).astype(np.uint8)


def unit_solid(kind: type[Solid]) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Return vertices and faces of a box of size 1, or of a cylinder or sphere of radius 1."""
    import trimesh

    solids = {
        Box: lambda: trimesh.creation.box((1.0, 1.0, 1.0)),
        Cylinder: lambda: trimesh.creation.cylinder(1.0, 1.0, sections=40),
        Sphere: lambda: trimesh.creation.icosphere(subdivisions=3),
    }
    solid = trimesh.graph.smooth_shade(solids[kind](), angle=SHARP)
    return np.asarray(solid.vertices, np.float32), np.asarray(solid.faces, np.uint32)


def size_of(solid: Solid) -> tuple[float, float, float]:
    """Return the scale of a solid along x, y and z, relative to `unit_solid`."""
    match solid:
        case Box(size):
            return size
        case Cylinder(radius, length):
            return radius, radius, length
        case Sphere(radius):
            return radius, radius, radius
    return 1.0, 1.0, 1.0


def scaled(solid: Solid, scale: float) -> Solid:
    """The solid, larger by this factor about its middle."""
    match solid:
        case Box((x, y, z)):
            return Box((scale * x, scale * y, scale * z))
        case Cylinder(radius, length):
            return Cylinder(scale * radius, scale * length)
        case Sphere(radius):
            return Sphere(scale * radius)
        case Mesh(vertices, faces):
            middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
            return Mesh((middle + scale * (vertices - middle)).astype(np.float32), faces)


def add_mesh(scene: Any, name: str, shape: Shape, opacity: float | None) -> None:
    """Add the node of a mesh."""
    assert isinstance(shape.solid, Mesh)
    scene.add_mesh_simple(
        name,
        *shape.solid,
        color=shape.colour,
        opacity=opacity,
        side='double',
        cast_shadow=opacity is None,
        receive_shadow=opacity is None,
        wxyz=wxyz_of(shape.transform[:3, :3]),
        position=shape.transform[:3, 3],
    )


def wxyz_of(rotations: Array) -> Array:
    """Return the unit quaternions (..., 4) w, x, y, z of rotation matrices (..., 3, 3)."""
    quaternions: Array = Rotation.from_matrix(rotations).as_quat()
    return np.roll(quaternions, 1, axis=-1)
