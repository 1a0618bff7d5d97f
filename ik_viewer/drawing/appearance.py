"""What a described robot looks like: its visuals where they can be had, else its skeleton."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ik_core import Robot
from ik_core.exceptions import UrdfError

from ..arm import Description
from .mesh_files import MeshError, MeshFolders, load_meshes
from .shapes import Colour, Mesh, Shape
from .skeleton import skeleton
from .visuals import MeshName, Visual, read_visuals

PLAIN: Colour = (214, 218, 224)
"""Of what has no colour."""
MAX_TRIANGLES = 3_000_000
"""Of a robot; the rest of its meshes is left out."""


def shapes_of(description: Description) -> tuple[list[Shape], list[str]]:
    """The shapes of a robot, and what is to be said about those that are not there.

    Bodies none of whose visuals can be drawn have the shapes of the skeleton, and so has a robot
    without visuals.
    """
    robot = description.robot
    if not description.urdf:
        return skeleton(robot), []
    try:
        visuals, notices = read_visuals(description.urdf, robot)
    except UrdfError as error:
        return skeleton(robot), [f'the shapes of the robot are not drawn: {error}']
    meshes = Meshes(MeshFolders(description.folder, description.mesh_folders))
    shapes = [shape for visual in visuals for shape in _shapes(robot, visual, meshes)]
    drawn = {shape.body for shape in shapes}
    lacking = {robot.places[visual.link].body for visual in visuals} - drawn
    if lacking or not drawn:
        shapes += [s for s in skeleton(robot) if not drawn or s.body in lacking]
    return shapes, [*notices, *meshes.notices()]


def _shapes(robot: Robot, visual: Visual, meshes: Meshes) -> Iterator[Shape]:
    place = robot.places[visual.link]
    transform = place.transform @ visual.origin
    if not isinstance(visual.solid, MeshName):
        yield Shape(place.body, transform, visual.solid, visual.colour or PLAIN)
        return
    for mesh, colour in meshes.get(visual.solid):
        yield Shape(place.body, transform, mesh, visual.colour or colour or PLAIN)


class Meshes:
    """The meshes of a robot: each file is read once, and those that can't be are remembered."""

    def __init__(self, folders: MeshFolders) -> None:
        self._folders = folders
        self._known: dict[MeshName, list[tuple[Mesh, Colour | None]]] = {}
        self._missing: dict[str, str] = {}
        self._triangles = 0

    def get(self, name: MeshName) -> Iterable[tuple[Mesh, Colour | None]]:
        """The meshes of a file; nothing where it can't be had."""
        if name not in self._known:
            try:
                self._known[name] = self._load(name)
            except MeshError as error:
                self._known[name] = []
                self._missing[name.filename] = str(error)
        return self._known[name]

    def notices(self) -> list[str]:
        """One sentence for all meshes that are missing for the same reason."""
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
