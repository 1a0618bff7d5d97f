# SPDX-License-Identifier: Apache-2.0
"""Robots of convex pieces of all kinds, and distances found without the library."""

import numpy as np
from scipy.optimize import linprog, minimize

from ik_core.collision.piece import Piece, moved, piece_of
from ik_core.collision.shapes import hull_piece
from ik_core.robot.urdf_shapes import Box, Capsule, Cylinder, Sphere


def hull(link, corners):
    """A hull as a piece of a link."""
    made = hull_piece(np.asarray(corners, float))
    return Piece(link, 'hull', made.corners, 0.0, made.sphere, made.capsule)


def random_piece(rng, link, size=0.15):
    """A piece of a random kind, size and pose."""
    kind = rng.integers(5)
    a, b, c = rng.uniform(0.2, 1.0, 3) * size
    if kind == 4:
        return hull(link, rng.normal(size=(rng.integers(4, 30), 3)) * size * 0.5)
    solid = [Box((a, b, c)), Sphere(a), Cylinder(a, b), Capsule(a, b)][kind]
    return moved(piece_of(solid, link, np.eye(4)), random_pose(rng, size))


def random_pose(rng, size):
    """A random transform (4, 4)."""
    pose = np.eye(4)
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    if np.linalg.det(q) < 0.0:
        q[:, 0] *= -1.0
    pose[:3, :3], pose[:3, 3] = q, rng.uniform(-size, size, 3)
    return pose


def support(piece, direction):
    """The largest component of a piece's points along a direction."""
    along = piece.corners @ direction
    if piece.kind == 'cylinder':
        axis = piece.corners[1] - piece.corners[0]
        axis = axis / np.linalg.norm(axis)
        across = np.linalg.norm(direction - (direction @ axis) * axis)
        return along.max() + piece.radius * across
    return along.max() + piece.radius * np.linalg.norm(direction)


def contains(piece, point, tolerance):
    """Return whether a point is in a piece, up to a tolerance [m]."""
    if piece.kind == 'cylinder':
        start, end = piece.corners
        length = np.linalg.norm(end - start)
        axis = (end - start) / length
        along = (point - start) @ axis
        off = np.linalg.norm(point - start - along * axis)
        return -tolerance <= along <= length + tolerance and off <= piece.radius + tolerance
    if piece.kind == 'sphere':
        return np.linalg.norm(point - piece.corners[0]) <= piece.radius + tolerance
    if piece.kind == 'capsule':
        start, end = piece.corners
        way = end - start
        share = np.clip((point - start) @ way / (way @ way), 0.0, 1.0)
        return np.linalg.norm(point - start - share * way) <= piece.radius + tolerance
    count = len(piece.corners)
    # the least sum of |sum of shares * corner - point|
    cost = np.concatenate([np.zeros(count), np.ones(6)])
    matrix = np.vstack(
        [
            np.hstack([piece.corners.T, np.eye(3), -np.eye(3)]),
            np.concatenate([np.ones(count), np.zeros(6)]),
        ]
    )
    found = linprog(cost, A_eq=matrix, b_eq=[*point, 1.0])
    return found.fun <= 2.0 * tolerance


def separation(first, second, normal):
    """By how much two pieces are apart along a unit vector: never more than their distance."""
    return -support(second, -normal) - support(first, normal)


def least_depth(first, second, rng, tries=400):
    """The depth to which two pieces penetrate each other, by search over directions."""

    def depth(direction):
        return -separation(first, second, direction / np.linalg.norm(direction))

    starts = rng.normal(size=(tries, 3))
    best = sorted(starts, key=depth)[:8]
    return min(
        minimize(depth, start, method='Nelder-Mead', options={'xatol': 1e-10, 'fatol': 1e-12}).fun
        for start in best
    )


def joint(name, parent, child, xyz, axis, kind='revolute', limits=(-2.5, 2.5), mimic=''):
    """A joint of a URDF."""
    x, y, z = xyz
    a, b, c = axis
    follows = f'<mimic joint="{mimic}" multiplier="-0.5" offset="0.1"/>' if mimic else ''
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} {y} {z}" rpy="0.3 -0.2 0.1"/><axis xyz="{a} {b} {c}"/>'
        f'<limit lower="{limits[0]}" upper="{limits[1]}" velocity="1" effort="1"/>{follows}'
        '</joint>'
    )


def tree():
    """The URDF of a tree: an arm of three joints with a tool behind a fixed joint; and a second
    arm, of a slide and a joint that follows the first one's second joint."""
    links = ''.join(f'<link name="{name}"/>' for name in LINKS)
    joints = [
        joint('j1', 'base', 'a', (0, 0, 0.2), (0, 0, 1), 'continuous'),
        joint('j2', 'a', 'b', (0, 0.05, 0.3), (0, 1, 0)),
        joint('j3', 'b', 'c', (0, 0, 0.3), (1, 1, 0)),
        joint('end', 'c', 'tool', (0, 0.1, 0.2), (1, 0, 0), 'fixed'),
        joint('j4', 'base', 'd', (0.4, 0, 0.1), (0, 0.6, 0.8), 'prismatic', (-0.3, 0.3)),
        joint('j5', 'd', 'e', (0, 0, 0.3), (0, 1, 0), mimic='j2'),
    ]
    return f'<robot name="tree">{links}{"".join(joints)}</robot>'


LINKS = ('base', 'a', 'b', 'c', 'tool', 'd', 'e')
