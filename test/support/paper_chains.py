# SPDX-License-Identifier: Apache-2.0
"""Chains and trees for the tests of the papers' equations, with kinematics of their own.

Rotations are Rodrigues' formula, transforms are 4 x 4 products, Jacobians are made joint by joint
or by central differences: nothing here calls the package, except `Chain.robot`, which describes
the same chain to it.
"""

from typing import NamedTuple

import numpy as np

import ik_core as ik
from ik_core.robot import Joint, Robot


def cross_matrix(u):
    """The matrix of p -> u x p, column by column."""
    return np.column_stack([np.cross(u, e) for e in np.eye(3)])


def rotation(axis, angle):
    """Rodrigues' formula, for a unit axis (3,)."""
    u = cross_matrix(axis)
    return np.eye(3) + np.sin(angle) * u + (1 - np.cos(angle)) * u @ u


def transform(turn=None, shift=(0.0, 0.0, 0.0)):
    """The matrix (4, 4) of a rotation (3, 3) and a translation (3,)."""
    result = np.eye(4)
    result[:3, :3] = np.eye(3) if turn is None else turn
    result[:3, 3] = shift
    return result


def unit(vector):
    """The vector (3,) at length 1."""
    return np.asarray(vector, float) / np.linalg.norm(vector)


class Piece(NamedTuple):
    """A joint: its parent among the joints (-1: the base), its kind, its place, its axis."""

    parent: int
    kind: str
    origin: np.ndarray
    axis: np.ndarray


class Chain:
    """A tree of revolute and prismatic joints; tips are pairs (joint, offset (3,))."""

    def __init__(self, pieces, tips, lower=-np.inf, upper=np.inf):
        self.pieces, self.tips = pieces, tips
        self.n = len(pieces)
        self.lower = np.full(self.n, lower, float) if np.isscalar(lower) else np.array(lower)
        self.upper = np.full(self.n, upper, float) if np.isscalar(upper) else np.array(upper)
        self.tip_names = [f'tip_{k}' for k in range(len(tips))]

    def limited(self, lower, upper):
        """The same chain inside other limits."""
        return Chain(self.pieces, self.tips, lower, upper)

    def scaled(self, factor):
        """The same chain of revolute joints with all lengths times a factor."""
        pieces = [
            p._replace(origin=transform(p.origin[:3, :3], factor * p.origin[:3, 3]))
            for p in self.pieces
        ]
        tips = [(j, factor * np.asarray(offset)) for j, offset in self.tips]
        return Chain(pieces, tips, self.lower, self.upper)

    @property
    def robot(self):
        """The same chain as the package's robot."""
        links, joints = ['base'], []
        for j, piece in enumerate(self.pieces):
            parent = 'base' if piece.parent < 0 else f'link_{piece.parent}'
            links.append(f'link_{j}')
            joints.append(
                Joint(
                    f'joint_{j}',
                    piece.kind,
                    parent,
                    f'link_{j}',
                    piece.origin,
                    piece.axis,
                    self.lower[j],
                    self.upper[j],
                )
            )
        for name, (j, offset) in zip(self.tip_names, self.tips, strict=True):
            links.append(name)
            joints.append(Joint(f'to_{name}', 'fixed', f'link_{j}', name, transform(None, offset)))
        return Robot.from_joints('chain', links, joints)

    def problem(self, goals, weights=None, **more):
        """The problem of position goals (tips, 3) for the tips, with weights for each."""
        weights = [1.0] * len(goals) if weights is None else weights
        tasks = [
            ik.PositionTask(name, goal, weights=w)
            for name, goal, w in zip(self.tip_names, goals, weights, strict=True)
        ]
        return ik.IkProblem(self.robot, tasks, **more)

    def joint_frames(self, q):
        """The frames (n, 4, 4) of the joints before each one's own motion, in the base's."""
        return self._frames(q)[0]

    def link_frames(self, q):
        """The frames (n, 4, 4) of the links after the joints, in the base's."""
        return self._frames(q)[1]

    def _frames(self, q):
        before, after = [], []
        for piece, value in zip(self.pieces, q, strict=True):
            frame = piece.origin if piece.parent < 0 else after[piece.parent] @ piece.origin
            if piece.kind == 'prismatic':
                motion = transform(None, value * piece.axis)
            else:
                motion = transform(rotation(piece.axis, value))
            before.append(frame)
            after.append(frame @ motion)
        return np.array(before), np.array(after)

    def end_effectors(self, q):
        """The positions (tips, 3) of the end effectors."""
        frames = self.link_frames(q)
        return np.array([(frames[j] @ [*offset, 1.0])[:3] for j, offset in self.tips])

    def affects(self, joint, tip):
        """Return whether a joint is between the base and an end effector."""
        at = self.tips[tip][0]
        while at >= 0 and at != joint:
            at = self.pieces[at].parent
        return at == joint

    def jacobian(self, q, points=None):
        """J (3 tips, n): v x (s - p) of a revolute joint, v of a prismatic one, 0 elsewhere.

        `points` (tips, 3) take the place of the end effectors, where they are given.
        """
        frames = self.joint_frames(q)
        points = self.end_effectors(q) if points is None else np.asarray(points)
        result = np.zeros((3 * len(self.tips), self.n))
        for j, piece in enumerate(self.pieces):
            axis = frames[j][:3, :3] @ piece.axis
            for k, point in enumerate(points):
                if self.affects(j, k):
                    column = axis
                    if piece.kind != 'prismatic':
                        column = np.cross(axis, point - frames[j][:3, 3])
                    result[3 * k : 3 * k + 3, j] = column
        return result

    def differences(self, q, h=1e-6):
        """The same by central differences of the forward kinematics."""
        q = np.asarray(q, float)
        columns = [
            (self.end_effectors(q + h * e) - self.end_effectors(q - h * e)).ravel() / (2 * h)
            for e in np.eye(self.n)
        ]
        return np.array(columns).T


def arm(rng, kinds='rrrrrr', parent=-1, first=0):
    """A chain with random places and axes: r is a revolute joint, p a prismatic one."""
    pieces = []
    for k, kind in enumerate(kinds):
        origin = transform(
            rotation(unit(rng.normal(size=3)), rng.uniform(-1, 1)), rng.uniform(-0.3, 0.3, 3)
        )
        before = parent if k == 0 else first + k - 1
        name = 'prismatic' if kind == 'p' else 'revolute'
        pieces.append(Piece(before, name, origin, unit(rng.normal(size=3))))
    return Chain(pieces, [(first + len(pieces) - 1, rng.uniform(0.1, 0.3, 3))])


def fork(rng, stem='rr', branches=('rrr', 'rpr')):
    """A tree with random places and axes: a stem, and an end effector on each of its branches."""
    whole = arm(rng, stem)
    pieces, tips = list(whole.pieces), []
    for kinds in branches:
        branch = arm(rng, kinds, parent=len(stem) - 1, first=len(pieces))
        pieces += branch.pieces
        tips += branch.tips
    return Chain(pieces, tips)


def planar(*lengths):
    """Hinges about z with rods of these lengths, along x at q = 0."""
    shifts = [0.0, *lengths[:-1]]
    pieces = [
        Piece(j - 1, 'revolute', transform(None, (shift, 0, 0)), np.array([0.0, 0.0, 1.0]))
        for j, shift in enumerate(shifts)
    ]
    return Chain(pieces, [(len(lengths) - 1, np.array([lengths[-1], 0.0, 0.0]))])


def slides(*axes):
    """Prismatic joints, one on the other: J has their axes as columns, wherever the tip is."""
    pieces = [Piece(j - 1, 'prismatic', np.eye(4), unit(axis)) for j, axis in enumerate(axes)]
    return Chain(pieces, [(len(axes) - 1, np.zeros(3))])


def points_from(solver, problem, q, steps, **options):
    """Return the method's points at the start and after each iteration: (steps + 1, n)."""
    search = ik.make_solver(solver, **options).begin(problem, q)
    points = [np.array(search.x0)]
    for _ in range(steps):
        search.run(ik.Budget(iterations=1))
        points.append(np.array(search.x))
    return np.array(points)


def step_from(solver, problem, q, **options):
    """The first step (n,) of a method from q."""
    start, end = points_from(solver, problem, q, 1, **options)
    return end - start
