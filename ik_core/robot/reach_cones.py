# SPDX-License-Identifier: Apache-2.0
"""Reach cones: limits on where a joint may point a link, for ball joints.

A box of three angles is no good limit of a shoulder: how far the arm can be lifted depends on the
direction in which it is lifted. Two limits of a direction are in use ([EngellErleben2011] section
2.1, Fig. 4):

    reach cone  a polygon on the sphere [WilhelmsVanGelder2001]
    sinus cone  a smooth curve round a central direction [MaurelThalmann2000]

Here a sinus cone is a polygon of many corners. The rotation of the link about its direction, the
twist, is limited by the limits of the joint's last angle only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..exceptions import InvalidOption, UnsupportedProblem
from ..kernels.records import Record
from ..maths.argument_types import MatrixLike, VectorLike
from ..maths.rotations import Array, IntArray
from .cone_kernels import CONES, CONVEX, NORMAL, SIDE, outside
from .kinematics import PARENT
from .relative import relative_chain
from .robot import Robot

LEAST = 1e-6  # shorter vectors have no direction
UNIT = 1e-15  # a length that differs less from 1 is 1
SEEN = 1e-12  # the least product v . b_i x b_i+1 of an edge that is visible from inside
NARROW = 1e-3  # [rad] least elevation of a sinus cone, and least distance of one from pi
SMOOTH = 72  # least number of corners of a sinus cone: one every 5 degrees


class ReachCone:
    """A cone in which a direction of a link stays, as seen from another link.

    link, relative_to : the link, and the link that the cone is fixed to, usually its parent
    axis (3,) : the direction, fixed in `link`: that of the bone
    corners (k, 3) : corners of the cone, directions in the frame of `relative_to`, in order; the
        boundary joins neighbours by the shortest arc; at least three
    inner (3,) : a direction inside from which all of the boundary is visible, by default the mean
        of the corners. The cone may be wider than a hemisphere, and need not be convex

    Vectors have any length but zero. Raises InvalidOption.
    """

    def __init__(
        self,
        link: str,
        relative_to: str,
        axis: VectorLike,
        corners: MatrixLike,
        *,
        inner: MatrixLike | None = None,
    ) -> None:
        self.link, self.relative_to = link, relative_to
        self.axis = _directions(axis, 'axis')
        unit = _directions(corners, 'corners')
        if unit.ndim != 2 or len(unit) < 3:
            raise InvalidOption(f'corners has shape {unit.shape}; (k, 3), k >= 3, is needed')
        self.inner = _directions(unit.mean(axis=0) if inner is None else inner, 'inner')
        if self.axis.ndim != 1 or self.inner.ndim != 1:
            raise InvalidOption('axis and inner of a reach cone are one direction (3,) each')
        self.corners = self._checked_order(unit)
        self.edges = self._make_edges()

    @classmethod
    def sinus(
        cls,
        link: str,
        relative_to: str,
        axis: VectorLike,
        centre: VectorLike,
        toward: VectorLike,
        elevations: VectorLike,
    ) -> ReachCone:
        """A cone whose boundary is `elevations` (k,) [rad] away from the direction `centre`.

        The elevations are at equal azimuths round `centre`, counterclockwise, the first in the
        direction of `toward`; both directions are in the frame of `relative_to`. One elevation
        makes a round cone, four at right angles make four quarters of ellipses. Between two
        azimuths 1 / elevation^2 is interpolated with weights cos^2 and sin^2.
        """
        try:
            angles = np.atleast_1d(np.array(elevations, float, order='C'))
        except (TypeError, ValueError):
            angles = np.empty(0)
        fits = (angles >= NARROW) & (angles <= np.pi - NARROW)
        if angles.ndim != 1 or not len(angles) or not fits.all():
            raise InvalidOption(
                f'elevations {elevations!r} [rad]: numbers above 0 and below pi are needed'
            )
        z = _directions(centre, 'centre')
        x = _directions(toward, 'toward')
        if z.ndim != 1 or x.ndim != 1:
            raise InvalidOption('centre and toward of a sinus cone are one direction (3,) each')
        x = _directions(x - (x @ z) * z, 'the part of `toward` across `centre`')
        each = -(-SMOOTH // len(angles))  # corners from one elevation to the next
        count = each * len(angles)
        gap, corner = np.divmod(np.arange(count), each)
        weight = np.sin(corner / each * np.pi / 2) ** 2
        squares = angles**-2
        t = ((1.0 - weight) * squares[gap] + weight * np.roll(squares, -1)[gap]) ** -0.5
        azimuths = 2.0 * np.pi * np.arange(count) / count
        across = np.outer(np.cos(azimuths), x) + np.outer(np.sin(azimuths), np.cross(z, x))
        corners = np.cos(t)[:, np.newaxis] * z + np.sin(t)[:, np.newaxis] * across
        return cls(link, relative_to, axis, corners, inner=z)

    def __repr__(self) -> str:
        return f'ReachCone({self.link!r}, {self.relative_to!r}, {len(self.corners)} corners)'

    def direction(self, robot: Robot, q: VectorLike) -> Array:
        """The link's direction (3,) at q (n,) in the frame of `relative_to`."""
        turned: Array = (
            robot.forward_kinematics(q, self.link, self.relative_to)[:3, :3] @ self.axis
        )
        return turned

    def violation(self, robot: Robot, q: VectorLike) -> float:
        """The angle [rad] from the direction at q (n,) to the nearest one inside; 0 inside."""
        return float(outside(self.edges, *self.direction(robot, q))[0])

    def gradient(self, robot: Robot, q: VectorLike) -> Array:
        """The derivative (n,) of `violation`; 0 inside."""
        direction = self.direction(robot, q)
        slope = outside(self.edges, *direction)[1:]
        turns = robot.jacobian(q, self.link, self.relative_to)[3:]
        product: Array = np.cross(direction, slope) @ turns
        return product

    def depth(self, robot: Robot, q: VectorLike) -> float:
        """The angle [rad] of the direction at q (n,) above the boundary edge that it faces;
        negative outside."""
        direction, edges = self.direction(robot, q), self.edges
        is_left = edges[:, SIDE:NORMAL] @ direction >= 0.0
        own = np.flatnonzero(is_left & ~np.roll(is_left, -1))
        sine = edges[own[0] if len(own) else 0, NORMAL:CONVEX] @ direction
        return float(np.arcsin(np.clip(sine, -1.0, 1.0)))

    def _checked_order(self, corners: Array) -> Array:
        """Order the corners counterclockwise as seen from `inner`. Raises InvalidOption."""
        v, following = self.inner, np.roll(corners, -1, axis=0)
        heights = corners @ v
        sines = np.cross(corners, following) @ v
        gaps = np.arctan2(sines, np.sum(corners * following, 1) - heights * (following @ v))
        if gaps.sum() < 0.0:
            return self._checked_order(corners[::-1])
        for i in np.flatnonzero(sines <= SEEN):
            raise InvalidOption(
                f'corners: the edge from {corners[i].round(3)} to {following[i].round(3)} is not '
                f'seen from the inner direction {v.round(3)}, which they have to go round once'
            )
        if not abs(gaps.sum() - 2.0 * np.pi) < 1.0:
            raise InvalidOption(f'corners: they go round the inner direction {v.round(3)} twice')
        return np.ascontiguousarray(corners)

    def _make_edges(self) -> Array:
        """The rows (k, 10) of `cone_kernels`."""
        b, following = self.corners, np.roll(self.corners, -1, axis=0)
        normals = np.cross(b, following)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        convex = np.sum(np.roll(normals, 1, axis=0) * following, axis=1) >= 0.0
        return np.column_stack([b, np.cross(self.inner, b), normals, convex])


def _directions(given: VectorLike | MatrixLike, name: str) -> Array:
    """Normalise vectors (..., 3). Raises InvalidOption."""
    try:
        vectors = np.array(given, float, order='C')
    except (TypeError, ValueError):
        raise InvalidOption(f'{name} {given!r} of a reach cone is not made of numbers') from None
    if vectors.shape[-1:] != (3,) or not np.isfinite(vectors).all():
        raise InvalidOption(f'{name} {given!r} of a reach cone: three finite numbers are needed')
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not (lengths > LEAST).all():
        raise InvalidOption(f'{name} {given!r} of a reach cone: a direction has no length')
    lengths[np.abs(lengths - 1.0) < UNIT] = 1.0  # so that a copy has the same bits
    unit: Array = vectors / lengths
    return unit


def moved_cones(
    cones: Sequence[ReachCone], robot: Robot, variables: IntArray
) -> tuple[ReachCone, ...]:
    """The cones whose links the variables move. Raises FrameNotFound, UnsupportedProblem."""
    moved, found = set(variables.tolist()), []
    for cone in cones:
        joints = robot.chain(cone.link, cone.relative_to)
        if not joints:
            raise UnsupportedProblem(
                f'reach cone: no joint moves {cone.link!r} relative to {cone.relative_to!r}'
            )
        found += [cone] if moved.intersection(joints) else []
    return tuple(found)


def cone_record(robot: Robot, cones: Sequence[ReachCone]) -> Record:
    """The record CONES of `cone_kernels` for the cones of a robot."""
    chains = [relative_chain(robot, cone.link, cone.relative_to) for cone in cones]
    bodies = np.cumsum([len(chain.tree) for chain in chains])
    edges = np.cumsum([len(cone.edges) for cone in cones])
    for chain, end in zip(chains, bodies, strict=True):
        chain.tree[1:, PARENT] += end - len(chain.tree)
    pairs = zip(chains, cones, strict=True)
    axes = [chain.place[:3, :3] @ cone.axis for chain, cone in pairs]
    arrays = {
        'span': np.column_stack([edges - [len(cone.edges) for cone in cones], edges]),
        'body': bodies - 1,
        'axis': np.array(axes),
        'edges': np.vstack([cone.edges for cone in cones]),
        'tree': np.vstack([chain.tree for chain in chains]),
        'geometry': np.vstack([chain.geometry for chain in chains]),
    }
    sizes = {
        'cones': len(cones),
        'cone_bodies': len(arrays['tree']),
        'edge_rows': len(arrays['edges']),
        'robot_joints': robot.n,
    }
    return CONES.make(sizes, arrays=arrays)
