# SPDX-License-Identifier: Apache-2.0
"""coal's distances between the same convex pieces, at its finest tolerance, to check ours.

At its default tolerance coal's distances are up to 1e-6 m too large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ik_core.collision import (
    Box,
    Capsule,
    Collisions,
    Convex,
    Cylinder,
    Obstacle,
    Piece,
    Plane,
    Sphere,
)
from ik_core.collision.piece import piece_of
from ik_core.collision.shapes import Shape
from ik_core.maths.rotations import Array

# coal returns the least float if its search for a depth fails, even for separated pieces.
NO_ANSWER = -1e300
TOLERANCE, EPA_TOLERANCE, MOST_ITERATIONS = 1e-12, 1e-9, 1000


class CoalJudge:
    """The pieces of a robot's links and the obstacles of its world, as objects of coal.

    earlier : a judge of the same robot in another world, whose hulls are taken

    Raises ImportError without coal.
    """

    def __init__(self, collisions: Collisions, earlier: CoalJudge | None = None) -> None:
        import coal  # type: ignore[import-untyped,import-not-found,unused-ignore]

        self._coal, self.collisions = coal, collisions
        self._hulls: dict[int, Any] = {} if earlier is None else earlier._hulls
        robot = collisions.robot
        things = [(piece.link, *self._of_piece(piece)) for piece in collisions.pieces]
        self._solids: list[tuple[str, str, str, Array, float]] = [
            (piece.link, piece.link, piece.kind, piece.corners, piece.radius)
            for piece in collisions.pieces
        ]
        for each in collisions.world:
            self._solids.append(self._solid_of(each))
            shape, place = self._of_shape(each.shape)
            things.append((each.link or robot.base_link, shape, each.pose @ place))
        # in the order of `collisions.model`: first what moves
        self._things = sorted(things, key=lambda thing: robot.placement(thing[0]).body < 0)
        self._solids.sort(key=lambda solid: robot.placement(solid[1]).body < 0)
        self._pairs = collisions.model['pairs'][:, :2].copy()
        self._spheres = np.array([_sphere_around(*solid[3:]) for solid in self._solids])
        names = collisions.piece_names
        self._names = [(names[i], names[j]) for i, j in self._pairs]
        self._request = coal.DistanceRequest()
        self._request.gjk_tolerance = TOLERANCE
        self._request.epa_tolerance = EPA_TOLERANCE
        self._request.gjk_max_iterations = MOST_ITERATIONS
        self._result = coal.DistanceResult()

    def distances(
        self, q: Array, piece_distances: Array | None = None
    ) -> dict[tuple[str, str], float]:
        """Return the signed distance [m] of each checked pair of names, at q (n,).

        piece_distances : those of the method of this name, if they are known already

        Pairs for which coal has no answer are left out.
        """
        between = self.piece_distances(q) if piece_distances is None else piece_distances
        found: dict[tuple[str, str], float] = {}
        for names, distance in zip(self._names, between.tolist(), strict=True):
            found[names] = min(found.get(names, np.inf), distance)
        return {names: distance for names, distance in found.items() if distance > NO_ANSWER}

    def piece_distances(self, q: Array, pairs: Array | None = None) -> Array:
        """Return the signed distances (P,) [m] of pairs of pieces, at q (n,).

        pairs : (P, 2) indices in `collisions.model`; by default all checked pairs

        The order within a pair can change a wrong answer of coal.
        """
        robot = self.collisions.robot
        frames = {link: robot.forward_kinematics(q, link) for link, *_ in self._things}
        placed = [
            (shape, self._transform(frames[link] @ place)) for link, shape, place in self._things
        ]
        found = []
        for i, j in (self._pairs if pairs is None else pairs).tolist():
            found.append(self._distance(placed[i], placed[j]))
        return np.array(found)

    def distances_within(self, configurations: Array, within: float) -> Array:
        """Return the signed distances (N, P) [m] of all checked pairs at configurations (N, n).

        They are inf if spheres around both pieces are farther apart than `within` [m], and where
        coal has no answer. Distances below the margin are the larger of those in both orders.
        """
        robot, margins = self.collisions.robot, self.collisions.model['margin']
        poses = {
            link: robot.forward_kinematics(configurations, link)
            for link in {link for link, *_ in self._things}
        }
        centres, radii = self._spheres[:, :3], self._spheres[:, 3]
        places = np.array(
            [
                poses[link][:, :3, :3] @ centre + poses[link][:, :3, 3]
                for (link, *_), centre in zip(self._things, centres, strict=True)
            ]
        )
        first, second = self._pairs.T
        apart = np.linalg.norm(places[first] - places[second], axis=2)
        is_near = apart - (radii[first] + radii[second])[:, np.newaxis] < within
        found = np.full(is_near.T.shape, np.inf)
        placed: dict[tuple[int, int], Any] = {}
        for pair, k in np.argwhere(is_near).tolist():
            both = []
            for i in self._pairs[pair].tolist():
                if (i, k) not in placed:
                    link, shape, place = self._things[i]
                    placed[i, k] = shape, self._transform(poses[link][k] @ place)
                both.append(placed[i, k])
            distance = self._distance(*both)
            if distance < margins[pair]:  # coal may be wrong in one of both orders
                distance = max(distance, self._distance(*both[::-1]))
            if distance > NO_ANSWER:
                found[k, pair] = distance
        return found

    def _distance(self, first: Any, second: Any) -> float:
        self._result.clear()
        return float(self._coal.distance(*first, *second, self._request, self._result))

    def solids_at(self, q: Array, name: str) -> list[tuple[str, Array, float]]:
        """Return kind, corners (m, 3) and radius [m] of the pieces of a link or obstacle, at q."""
        return [self.solid_at(q, i) for i, solid in enumerate(self._solids) if solid[0] == name]

    def solid_at(self, q: Array, i: int) -> tuple[str, Array, float]:
        """Return kind, corners (m, 3) and radius [m] of piece i of `collisions.model`, at q."""
        _, link, kind, corners, radius = self._solids[i]
        frame = self.collisions.robot.forward_kinematics(q, link)
        return kind, corners @ frame[:3, :3].T + frame[:3, 3], radius

    def gap(self, q: Array, pair: tuple[str, str], normal: Array, distance: float) -> float:
        """Return the gap [m] along a unit normal between the two pieces at about `distance`.

        It is computed in long doubles, and is a lower bound of their distance for any normal.
        """
        robot, n = self.collisions.robot, normal.astype(np.longdouble)
        n /= np.sqrt(n @ n)
        spans: dict[str, list[tuple[Any, Any]]] = {pair[0]: [], pair[1]: []}
        for thing in self._solids:
            name, link, kind, corners, radius = thing
            if name in spans:
                frame = robot.forward_kinematics(q, link).astype(np.longdouble)
                at = corners.astype(np.longdouble) @ frame[:3, :3].T + frame[:3, 3]
                solid = kind, at, np.longdouble(radius)
                spans[name].append((-height(solid, -n), height(solid, n)))
        first, second = spans[pair[0]], spans[pair[1]]
        return min(
            (float(b[0] - a[1]) for a in first for b in second),
            key=lambda gap: abs(gap - distance),
        )

    def _of_piece(self, piece: Piece) -> tuple[Any, Array]:
        match piece.kind:
            case 'sphere':
                return self._coal.Sphere(piece.radius), _shifted(piece.corners[0])
            case 'capsule':
                return self._coal.Capsule(piece.radius, _length(piece)), _along(piece)
            case 'cylinder':
                return self._coal.Cylinder(piece.radius, _length(piece)), _along(piece)
        if id(piece) not in self._hulls:
            self._hulls[id(piece)] = self._hull(piece.corners)
        return self._hulls[id(piece)], np.eye(4)

    def _of_shape(self, shape: Shape) -> tuple[Any, Array]:
        coal = self._coal
        match shape:
            case Box(size):
                return coal.Box(*size), np.eye(4)
            case Sphere(radius):
                return coal.Sphere(radius), np.eye(4)
            case Cylinder(radius, length):
                return coal.Cylinder(radius, length), np.eye(4)
            case Capsule(radius, length):
                return coal.Capsule(radius, length), np.eye(4)
            case Convex(points):
                return self._hull(points), np.eye(4)
            case Plane():
                return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), np.eye(4)

    def _solid_of(self, each: Obstacle) -> tuple[str, str, str, Array, float]:
        """Return an obstacle's corners in the frame of its carrier; a plane has none."""
        link = each.link or self.collisions.robot.base_link
        if isinstance(each.shape, Plane):
            return each.name, link, 'plane', np.empty((0, 3)), 0.0
        if isinstance(each.shape, Convex):
            corners = each.shape.points @ each.pose[:3, :3].T + each.pose[:3, 3]
            return each.name, link, 'hull', corners, 0.0
        piece = piece_of(each.shape, link, each.pose)
        return each.name, link, piece.kind, piece.corners, piece.radius

    def _hull(self, corners: Array) -> Any:
        points = self._coal.StdVec_Vec3s()
        for corner in corners:
            points.append(corner)
        return self._coal.ConvexBase.convexHull(points, False, None)

    def _transform(self, pose: Array) -> Any:
        return self._coal.Transform3s(pose[:3, :3].copy(), pose[:3, 3].copy())


def _sphere_around(corners: Array, radius: float) -> Array:
    """Return centre and radius (4,) [m] of a sphere around a solid; a plane's is infinite."""
    if not len(corners):
        return np.array([0.0, 0.0, 0.0, np.inf])
    centre = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    return np.array([*centre, np.linalg.norm(corners - centre, axis=1).max() + radius])


def height(solid: tuple[str, Any, Any], n: Any) -> Any:
    """Return how far a solid (kind, corners (m, 3), radius) extends along a unit vector n [m].

    It has the precision of its arguments.
    """
    kind, corners, radius = solid
    if kind == 'cylinder':
        axis = corners[1] - corners[0]
        across = np.cross(n, axis)  # its square from n . axis would be rounded
        radius = radius * np.sqrt((across @ across) / (axis @ axis))
    return (corners @ n).max() + radius


def _length(piece: Piece) -> float:
    return float(np.linalg.norm(piece.corners[1] - piece.corners[0]))


def _along(piece: Piece) -> Array:
    """Return the pose (4, 4) of a cylinder or capsule, whose z points from end to end."""
    z = (piece.corners[1] - piece.corners[0]) / _length(piece)
    x = np.cross(z, np.eye(3)[np.argmin(abs(z))])
    x /= np.linalg.norm(x)
    pose = _shifted(piece.corners.mean(axis=0))
    pose[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    return pose


def _shifted(point: Array) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose
