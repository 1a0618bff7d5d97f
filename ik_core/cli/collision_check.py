# SPDX-License-Identifier: Apache-2.0
"""Check of collision shapes: how much convex pieces, spheres and capsules add to the meshes.

Part of `ik check`, for robots with <collision> elements. It also says what `avoid` of a tracker or
of the node means for the robot: how long it takes to load, how many poses it blocks, and how much
nearer to an obstacle the robot comes than its commands, if it lags.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..collision import Collisions, Piece, pieces_of
from ..collision.covers import excess_of
from ..collision.cutting import hull_of
from ..collision.piece import naming
from ..exceptions import IkError
from ..maths.rotations import Array
from ..meshes import MeshFolders, package_of, read_mesh
from ..meshes.mesh_folders import read_bytes
from ..robot.robot import Robot
from ..robot.urdf_shapes import MeshName, read_shapes

RANDOM_POSES = 2000  # random poses for the fraction that collides
MARGIN = 0.01  # [m] default of `Collisions` and of the node's avoid_margin
FOLLOWING_ERROR = 0.1  # [rad] the node's default: joints that deviate by more stop the robot
LAG_POSES = 100  # random poses for what such a deviation means
CLOSED = 1e-6  # a mesh is closed if its area vectors sum to less, relative to its area
NO_SHAPES = (
    'no <collision> elements, so it collides with nothing; '
    "Collisions(robot, geometry='visual') takes its <visual> elements"
)


@dataclass(frozen=True)
class LinkPieces:
    """The pieces of a link.

    meshes : number of mesh files
    kinds : kinds of its pieces
    volume : sum of the hulls' volumes over that of the meshes; NaN without closed meshes
    excess : [m] the largest that a capsule adds to a hull; NaN without meshes
    """

    link: str
    pieces: int
    meshes: int
    kinds: tuple[str, ...]
    volume: float
    excess: float


@dataclass(frozen=True)
class CollisionReport:
    """Results of `ik check` about collision shapes.

    colliding : fraction of random poses in which pieces collide, without a margin
    added : fraction in which pieces collide and meshes do not; NaN without meshes or coal
    blocked : fraction of random poses that `avoid` blocks, with MARGIN between the links
    load_time : [s] to get ready for `avoid`
    off_path : [m] how far a point of the robot is from where it is commanded, at most, if each
        turning joint is off by FOLLOWING_ERROR; found at random poses
    why : reason for a missing report or fraction, '' if there is none
    fingers : pairs of links that may touch, as fingers of one gripper
    """

    links: tuple[LinkPieces, ...] = ()
    poses: int = 0
    colliding: float = math.nan
    added: float = math.nan
    blocked: float = math.nan
    load_time: float = math.nan
    off_path: float = math.nan
    why: str = ''
    fingers: tuple[tuple[str, str], ...] = ()


def check_collisions(
    robot: Robot, folders: Sequence[Path] = (), poses: int = RANDOM_POSES
) -> CollisionReport:
    """Report on a robot's <collision> elements; errors in them are part of the report."""
    try:
        shapes, _ = read_shapes(robot.urdf, robot.places, 'collision')
        if not shapes:
            return CollisionReport(why=NO_SHAPES)
        meshes = _meshes_of(robot, folders)
        pieces = pieces_of(robot, folders=folders)
        links = tuple(_link_pieces(link, pieces, meshes) for link in _links(pieces))
        collisions = Collisions(robot, margin=0, pieces=pieces)
        rows = _random_poses(robot, poses)
        free = collisions.free(rows)
        added, why = math.nan, ''
        if meshes:
            added, why = _added_fraction(collisions, pieces, meshes, rows, free)
        fingers = tuple((p.first, p.second) for p in collisions.pairs if p.verdict == 'fingers')
        began = time.perf_counter()
        avoided = Collisions(robot, margin=MARGIN, pieces=pieces)
        avoided.prepare_motion()
        load_time = time.perf_counter() - began
        return CollisionReport(
            links,
            poses,
            float(1.0 - free.mean()),
            added,
            float(1.0 - avoided.free(rows).mean()),
            load_time,
            _off_path(robot, pieces, rows[:LAG_POSES]),
            why,
            fingers,
        )
    except IkError as error:
        return CollisionReport(why=str(error))


def _links(pieces: Sequence[Piece]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(piece.link for piece in pieces))


def _random_poses(robot: Robot, count: int) -> Array:
    """Configurations (count, n) inside the limits, or in one turn; always the same ones."""
    lower = np.where(np.isfinite(robot.lower), robot.lower, -math.pi)
    upper = np.where(np.isfinite(robot.upper), robot.upper, math.pi)
    return np.random.default_rng(0).uniform(lower, upper, (count, robot.n))


def _off_path(robot: Robot, pieces: Sequence[Piece], rows: Array) -> float:
    """The largest displacement [m] of a piece's corner at rows (N, n), of first order.

    Each turning joint is off by FOLLOWING_ERROR to one of both sides: the signs that move a corner
    farthest are found by going in turns from signs to the direction that they move it to.
    """
    turning, farthest = np.array([unit == 'rad' for unit in robot.joint_units], bool), 0.0
    if not turning.any():
        return farthest
    for link in _links(pieces):
        own = [piece for piece in pieces if piece.link == link]
        corners = np.concatenate([piece.corners for piece in own])
        rims = [0.0 if piece.round else piece.radius for piece in own]  # of cylinders
        rim = np.repeat(rims, [len(piece.corners) for piece in own])
        for q in rows:
            jacobian = robot.jacobian(q, link)[:, turning]
            rotation = robot.forward_kinematics(q, link)[:3, :3]
            turns = jacobian[3:].T[:, np.newaxis]
            moved = jacobian[:3].T[:, np.newaxis] + np.cross(turns, corners @ rotation.T)
            turn = np.linalg.norm(jacobian[3:], axis=0).sum()
            first = np.linalg.norm(moved, axis=2).argmax(axis=0)
            direction = moved[first, range(len(corners))]
            for _ in range(4):
                signs = np.sign(np.einsum('jpx,px->jp', moved, direction))
                direction = np.einsum('jpx,jp->px', moved, signs)
            ways = np.linalg.norm(direction, axis=1) + rim * turn
            farthest = max(farthest, float(ways.max(initial=0.0)))
    return FOLLOWING_ERROR * farthest


def _meshes_of(robot: Robot, folders: Sequence[Path]) -> dict[str, list[Array]]:
    """Return the triangles (T, 3, 3) [m] of each link's meshes, in the frame of the link."""
    beside = None if robot.file is None else robot.file.parent
    where = MeshFolders(beside, (*folders, *package_of(robot.file)))
    found: dict[str, list[Array]] = {}
    for shape in read_shapes(robot.urdf, robot.places, 'collision')[0]:
        if isinstance(shape.solid, MeshName):
            with naming(shape.link, shape.solid):
                path = where.find(shape.solid.filename)
                meshes = read_mesh(read_bytes(path), path.suffix)
            triangles = np.concatenate([mesh.vertices[mesh.faces] for mesh in meshes])
            triangles = triangles * shape.solid.scale
            moved = triangles @ shape.origin[:3, :3].T + shape.origin[:3, 3]
            found.setdefault(shape.link, []).append(moved)
    return found


def _link_pieces(link: str, pieces: Sequence[Piece], meshes: dict[str, list[Array]]) -> LinkPieces:
    own = [piece for piece in pieces if piece.link == link]
    hulls = [(piece, hull_of(piece.corners)) for piece in own if piece.kind == 'hull']
    volumes = [_volume(mesh) for mesh in meshes.get(link, [])]
    return LinkPieces(
        link,
        len(own),
        len(volumes),
        tuple(dict.fromkeys(piece.kind for piece in own)),
        sum(hull.volume for _, hull in hulls if hull) / sum(volumes) if volumes else math.nan,
        max(
            (excess_of(piece.capsule, hull.corners, hull.planes) for piece, hull in hulls if hull),
            default=math.nan,
        ),
    )


def _volume(triangles: Array) -> float:
    """Return the volume [m3] that triangles (T, 3, 3) enclose, NaN if they are not closed."""
    a, b, c = triangles.transpose(1, 0, 2)
    areas = 0.5 * np.cross(b - a, c - a)
    if np.linalg.norm(areas.sum(0)) > CLOSED * np.linalg.norm(areas, axis=1).sum():
        return math.nan
    return abs(float((a * np.cross(b, c)).sum())) / 6.0 or math.nan


def _added_fraction(
    collisions: Collisions,
    pieces: Sequence[Piece],
    meshes: dict[str, list[Array]],
    rows: Array,
    free: Array,
) -> tuple[float, str]:
    """The fraction of poses in which pieces collide and meshes do not, or NaN with a reason.

    Links with other shapes than meshes are checked by their pieces.
    """
    try:
        import coal
    except ImportError:
        return math.nan, 'pip install coal to compare with the meshes themselves'
    others = {piece.link for piece in pieces if piece.kind != 'hull'}
    bodies = {
        link: _bvh(coal, np.concatenate(parts))
        for link, parts in meshes.items()
        if link not in others
    }
    robot, added = collisions.robot, 0
    for q in rows[np.logical_not(free)]:
        near = [(pair.first, pair.second) for pair in collisions.distances(q, 0.0)]
        added += not any(
            not set(names) <= bodies.keys() or _collide(coal, robot, bodies, q, *names)
            for names in near
        )
    return added / len(rows), ''


def _bvh(coal: Any, triangles: Array) -> Any:
    """Make coal's bounding volume hierarchy of triangles (T, 3, 3)."""
    body = coal.BVHModelOBBRSS()
    faces = (getattr(coal, 'StdVec_Triangle', None) or coal.StdVec_Triangle32)()
    points = coal.StdVec_Vec3s()
    triangle = getattr(coal, 'Triangle', None) or coal.Triangle32
    for k, corner in enumerate(triangles.reshape(-1, 3)):
        points.append(corner)
        if k % 3 == 2:
            faces.append(triangle(k - 2, k - 1, k))
    body.beginModel(len(triangles), 3 * len(triangles))
    body.addSubModel(points, faces)
    body.endModel()
    return body


def _collide(
    coal: Any, robot: Robot, bodies: dict[str, Any], q: Array, first: str, second: str
) -> bool:
    """Return whether the meshes of two links meet."""
    arguments: list[Any] = []
    for link in (first, second):
        pose = robot.forward_kinematics(q, link)
        transform = coal.Transform3s(pose[:3, :3].copy(), pose[:3, 3].copy())
        arguments += [bodies[link], transform]
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    return bool(coal.collide(*arguments, request, result) > 0)
