# SPDX-License-Identifier: Apache-2.0
"""`Piece`, a convex piece of a link, and `pieces_of`, which makes all pieces of a robot."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np

from ..exceptions import InvalidOption, MeshError, UrdfError
from ..maths.rotations import Array
from ..meshes import MeshFolders, package_of, read_mesh
from ..meshes.mesh_folders import read_bytes
from ..progress import ProgressLine
from ..robot.robot import Robot
from ..robot.urdf_shapes import (
    MAX_SIZE,
    Box,
    Capsule,
    Cylinder,
    Geometry,
    LinkShape,
    MeshName,
    Sphere,
    read_shapes,
)
from . import cache
from .cache import CoveredHull
from .covers import cover_of_box, cover_of_cylinder, cover_of_hull
from .cutting import convex_pieces, hull_triangles

MAX_BYTES = 500_000_000  # of all meshes of a robot

Kind = Literal['sphere', 'capsule', 'cylinder', 'box', 'hull']


@dataclass(frozen=True, eq=False)
class Piece:
    """A convex piece of a link's collision geometry, in the frame of that link.

    link : name of the link, even if a fixed joint attaches it to another
    kind : 'sphere', 'capsule', 'cylinder', 'box' or 'hull' (of a part of a mesh)
    corners : (n, 3) [m]; the centre of a sphere (n = 1), the centres of a capsule's round ends or
        of a cylinder's flat ends (n = 2), the 8 corners of a box, the n corners of a hull
    radius : [m] of a sphere, capsule or cylinder; 0 for a box or a hull
    sphere : (4,) centre and radius [m] of a sphere that contains the piece
    capsule : (7,) two ends and radius [m] of a capsule that contains the piece
    """

    link: str
    kind: Kind
    corners: Array
    radius: float
    sphere: Array
    capsule: Array

    def triangles(self) -> Array:
        """The surface of a box or a hull as triangles (T, 3, 3) [m]."""
        return hull_triangles(self.corners)

    @property
    def round(self) -> bool:
        """True for a sphere or a capsule: the hull of the corners, thickened by `radius`."""
        return self.kind in ('sphere', 'capsule')


def pieces_of(
    robot: Robot,
    geometry: Geometry = 'collision',
    folders: Sequence[str | PathLike[str]] = (),
) -> tuple[Piece, ...]:
    """Return the convex pieces of a robot's links, in the order of its description.

    geometry : the elements of the URDF to use, 'collision' or 'visual'
    folders : where to look for meshes, besides the folder of the robot's own file, its package,
        and the packages of a sourced ROS; packages, or folders with packages in them

    A box, sphere, cylinder or capsule is one piece. A mesh is cut into at most 8 pieces
    (`cutting.convex_pieces`), which are cached on disk; cutting takes about a second per mesh.

    Raises UrdfError for an invalid element and MeshError for an unusable mesh; both name the link.
    Warns if there are no such elements, so that nothing would ever collide.
    """
    found = all_pieces(robot, geometry, folders)
    if not found:
        hint = "; geometry='visual' takes its <visual> elements" if geometry != 'visual' else ''
        text = f'robot {robot.name!r} has no <{geometry}> elements, so it collides with nothing'
        warnings.warn(text + hint, stacklevel=2)
    return found


def all_pieces(
    robot: Robot, geometry: Geometry, folders: Sequence[str | PathLike[str]]
) -> tuple[Piece, ...]:
    """Return the pieces like `pieces_of`, without its warning."""
    shapes, invalid = read_shapes(robot.urdf, robot.places, geometry) if robot.urdf else ([], {})
    for reason, links in invalid.items():
        raise UrdfError(f'link {links[0]!r}: its <{geometry}> can not be used: {reason}')
    hulls = _hulls_of(shapes, robot, folders)
    pieces: list[Piece] = []
    for link, origin, solid, _ in shapes:
        if isinstance(solid, MeshName):
            pieces += [
                moved(Piece(link, 'hull', corners, 0.0, sphere, capsule), origin)
                for corners, sphere, capsule in hulls[solid]
            ]
        else:
            pieces.append(piece_of(solid, link, origin))
    return tuple(pieces)


def piece_of(solid: Box | Sphere | Cylinder | Capsule, link: str, origin: Array) -> Piece:
    """Return a solid at `origin` (4, 4) in the frame of a link as a piece of that link."""
    match solid:
        case Box(size):
            half = 0.5 * np.array(size)
            signs = np.array(list(product((-1.0, 1.0), repeat=3)))
            piece = Piece(link, 'box', half * signs, 0.0, *cover_of_box(half))
        case Sphere(radius):
            covers = np.array([0.0, 0.0, 0.0, radius]), np.array([*[0.0] * 6, radius])
            piece = Piece(link, 'sphere', np.zeros((1, 3)), radius, *covers)
        case Cylinder(radius, length):
            covers = cover_of_cylinder(radius, length)
            piece = Piece(link, 'cylinder', _ends(length), radius, *covers)
        case Capsule(radius, length):
            ends = _ends(length)
            sphere = np.array([0.0, 0.0, 0.0, 0.5 * length + radius])
            piece = Piece(link, 'capsule', ends, radius, sphere, np.array([*ends.ravel(), radius]))
    return moved(piece, origin)


def _ends(length: float) -> Array:
    return np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])


def moved(piece: Piece, transform: Array) -> Piece:
    """Return a piece moved by a transform (4, 4)."""

    def at(points: Array) -> Array:
        return points @ transform[:3, :3].T + transform[:3, 3]

    return replace(
        piece,
        corners=at(piece.corners),
        sphere=np.array([*at(piece.sphere[:3]), piece.sphere[3]]),
        capsule=np.array([*at(piece.capsule[:6].reshape(2, 3)).ravel(), piece.capsule[6]]),
    )


def _hulls_of(
    shapes: Iterable[LinkShape], robot: Robot, folders: Sequence[str | PathLike[str]]
) -> dict[MeshName, list[CoveredHull]]:
    """Return the hulls and covers of all meshes among the shapes, from the cache or cut now."""
    for folder in folders:
        if not Path(folder).is_dir():
            raise InvalidOption(f'folders: there is no folder {str(folder)!r}')
    beside = None if robot.file is None else robot.file.parent
    where = MeshFolders(beside, (*map(Path, folders), *package_of(robot.file)))
    links = {shape.solid: shape.link for shape in shapes if isinstance(shape.solid, MeshName)}
    found: dict[MeshName, list[CoveredHull]] = {}
    new: dict[MeshName, tuple[str, bytes, str]] = {}
    size = 0
    for name, link in links.items():
        with naming(link, name):
            path = where.find(name.filename)
            data = read_bytes(path)
            size += len(data)
            if size > MAX_BYTES:
                raise MeshError(
                    f'the meshes of the robot are larger than {MAX_BYTES / 1e6:.0f} MB'
                )
        key = cache.key_of(data, path.suffix, name.scale)
        hulls = cache.load(key)
        if hulls is None:
            new[name] = (key, data, path.suffix)
        else:
            found[name] = hulls
    with ProgressLine('cutting meshes') as line:
        for done, (name, (key, data, suffix)) in enumerate(new.items()):
            line.show(done, len(new), PurePosixPath(name.filename).name)
            with naming(links[name], name):
                found[name] = covered_hulls(data, suffix, name.scale)
            cache.store(key, found[name])
    return found


@contextmanager
def naming(link: str, mesh: MeshName) -> Iterator[None]:
    """Add the link and the file to the errors of a mesh."""
    try:
        yield
    except MeshError as error:
        raise MeshError(f'link {link!r}: mesh {mesh.filename!r}: {error}') from None


def covered_hulls(data: bytes, suffix: str, scale: Sequence[float]) -> list[CoveredHull]:
    """Cut a mesh, given as the bytes of its file, into convex pieces. Raises MeshError."""
    meshes = read_mesh(data, suffix)
    triangles = np.concatenate([mesh.vertices[mesh.faces] for mesh in meshes]) * scale
    if np.abs(triangles).max() > MAX_SIZE:
        raise MeshError(f'it is larger than {MAX_SIZE:g} m')
    return [
        CoveredHull(hull.corners, *cover_of_hull(hull.corners, hull.planes))
        for hull in convex_pieces(triangles)
    ]
