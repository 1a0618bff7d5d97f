# SPDX-License-Identifier: Apache-2.0
"""The appearance of a robot: its visuals if they can be read, else a skeleton."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ik_core import Robot
from ik_core.exceptions import MeshError, UrdfError
from ik_core.meshes import MeshFolders, TriangleMesh, read_mesh
from ik_core.meshes.mesh_folders import read_bytes
from ik_core.robot.urdf_shapes import Capsule, LinkShape, MeshName, read_shapes

from ..arm import Description
from .shapes import Colour, Cylinder, Mesh, Shape, Sphere, shifted
from .skeleton import skeleton

PLAIN: Colour = (214, 218, 224)  # colour of a shape without one
MAX_TRIANGLES = 3_000_000  # most triangles of a robot; further meshes are left out
SHARP = np.radians(35.0)  # [rad] edges with a larger angle are drawn sharp, others smooth
MOST_TO_SMOOTH = 60_000  # meshes with more triangles are not smoothed, which takes long


def shapes_of(description: Description) -> tuple[list[Shape], list[str]]:
    """Return the shapes of a robot, and notices about missing ones.

    A body without any visual that can be drawn has the shapes of the skeleton; so has a robot
    without visuals.
    """
    robot = description.robot
    if not description.urdf:
        return skeleton(robot), []
    try:
        visuals, invalid = read_shapes(description.urdf, robot.places, 'visual')
    except UrdfError as error:
        return skeleton(robot), [f'the shapes of the robot are not drawn: {error}']
    meshes = Meshes(MeshFolders(description.folder, description.mesh_folders))
    shapes = [shape for visual in visuals for shape in _shapes(robot, visual, meshes)]
    drawn = {shape.body for shape in shapes}
    lacking = {robot.places[visual.link].body for visual in visuals} - drawn
    if lacking or not drawn:
        shapes += [s for s in skeleton(robot) if not drawn or s.body in lacking]
    notices = [_notice(links, reason) for reason, links in invalid.items()]
    return shapes, [*notices, *meshes.notices()]


def _notice(links: list[str], reason: str) -> str:
    if len(links) == 1:
        return f'link {links[0]!r}: a visual is left out: {reason}'
    return f'{len(links)} visuals are left out (link {links[0]!r}, ...): {reason}'


def _shapes(robot: Robot, visual: LinkShape, meshes: Meshes) -> Iterator[Shape]:
    place = robot.places[visual.link]
    transform = place.transform @ visual.origin
    match visual.solid:
        case MeshName():
            for mesh, colour in meshes.get(visual.solid):
                yield Shape(place.body, transform, mesh, visual.colour or colour or PLAIN)
        case Capsule(radius, length):
            colour = visual.colour or PLAIN
            yield Shape(place.body, transform, Cylinder(radius, length), colour)
            for z in (-0.5 * length, 0.5 * length):
                end = transform @ shifted(np.array([0.0, 0.0, z]))
                yield Shape(place.body, end, Sphere(radius), colour)
        case solid:
            yield Shape(place.body, transform, solid, visual.colour or PLAIN)


class Meshes:
    """A cache of the meshes of a robot, including the errors of unreadable files."""

    def __init__(self, folders: MeshFolders) -> None:
        self._folders = folders
        self._known: dict[MeshName, list[tuple[Mesh, Colour | None]]] = {}
        self._missing: dict[str, str] = {}
        self._triangles = 0

    def get(self, name: MeshName) -> Iterable[tuple[Mesh, Colour | None]]:
        """Return the meshes of a file, with their colours; none if it can't be read."""
        if name not in self._known:
            try:
                self._known[name] = self._load(name)
            except MeshError as error:
                self._known[name] = []
                self._missing[name.filename] = str(error)
        return self._known[name]

    def notices(self) -> list[str]:
        """Return a sentence for each reason for which meshes are missing."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self._missing.items():
            reasons.setdefault(reason, []).append(name)
        return [
            f'{len(names)} mesh{"es" if len(names) > 1 else ""} not drawn '
            f'({names[0]}{", ..." if len(names) > 1 else ""}): {reason}'
            for reason, names in reasons.items()
        ]

    def _load(self, name: MeshName) -> list[tuple[Mesh, Colour | None]]:
        pieces = load_meshes(self._folders.find(name.filename), name.scale)
        self._triangles += sum(len(mesh.faces) for mesh, _ in pieces)
        if self._triangles > MAX_TRIANGLES:
            raise MeshError(f'the robot has more than {MAX_TRIANGLES} triangles')
        return pieces


def load_meshes(path: Path, scale: Sequence[float]) -> list[tuple[Mesh, Colour | None]]:
    """Load the meshes of a file, prepared for drawing, with their colours. Raises MeshError.

    scale : (3,) factors along x, y and z
    """
    meshes = read_mesh(read_bytes(path), path.suffix)
    return [(_drawn(mesh, scale), mesh.colour) for mesh in meshes]


def _drawn(mesh: TriangleMesh, scale: Sequence[float]) -> Mesh:
    """Return a scaled mesh; vertices are shared except at sharp edges."""
    import trimesh

    merged = trimesh.Trimesh(mesh.vertices, mesh.faces)
    if len(mesh.faces) <= MOST_TO_SMOOTH:
        merged = trimesh.graph.smooth_shade(merged, angle=SHARP)
    vertices = np.asarray(merged.vertices, float) * np.asarray(scale, float)
    faces = np.asarray(merged.faces, np.uint32)
    if np.prod(scale) < 0.0:
        faces = faces[:, ::-1]
    return Mesh(vertices.astype(np.float32), np.ascontiguousarray(faces))
