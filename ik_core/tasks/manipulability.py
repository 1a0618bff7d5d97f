"""Manipulability: stay away from singularities (Yoshikawa 1985)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import InvalidOption
from ..kinematics import PRISMATIC
from ..robot import Robot
from ..rotations import Array
from .base import Task
from .joint_tasks import checked_weights

ROWS = {'pose': slice(0, 6), 'position': slice(0, 3), 'orientation': slice(3, 6)}


class ManipulabilityTask(Task):
    """Keep w = sqrt(det(J J')) of a link large: sqrt(weight) reference / (reference + w).

    The residual falls from sqrt(weight) at a singularity towards 0, and is a half of that
    where w = `reference`. `rows`: which part of the geometric Jacobian counts, 'pose',
    'position' or 'orientation'; its rotations are scaled by `length` [m/rad].
    """

    def __init__(
        self,
        link: str,
        *,
        weight: float = 1.0,
        rows: str = 'pose',
        reference: float = 0.1,
        length: float = 1.0,
    ) -> None:
        if rows not in ROWS:
            raise InvalidOption(f'rows {rows!r}: one of {", ".join(ROWS)}')
        if not (0.0 < reference < np.inf and 0.0 < length < np.inf):
            raise InvalidOption('reference and length must be positive numbers')
        self.link = link
        self.weight = float(checked_weights(weight))
        self.rows = ROWS[rows]
        self.reference = reference
        self.scale = np.array([1.0, 1.0, 1.0, length, length, length])

    def measure(self, robot: Robot, q: ArrayLike) -> float:
        """w = sqrt(det(J J')) at q (n,), the product of the singular values; 0 if m > n."""
        jacobian = self._jacobian(robot, q)
        if jacobian.shape[0] > len(robot.chain(self.link)):
            return 0.0
        return float(np.prod(np.linalg.svd(jacobian, compute_uv=False)))

    def residual(self, robot: Robot, q: ArrayLike) -> Array:
        """The weighted residual (1,) at q (n,)."""
        share = self.reference / (self.reference + self.measure(robot, q))
        return np.array([np.sqrt(self.weight) * share])

    def jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        """The derivative (1, n) of `residual`; 0 at singularities, where w has a kink."""
        w, gradient = self.measure(robot, q), self.gradient(robot, q)
        share = self.reference / (self.reference + w)
        return (-np.sqrt(self.weight) * share / (self.reference + w) * gradient)[np.newaxis]

    def gradient(self, robot: Robot, q: ArrayLike) -> Array:
        """dw/dq (n,): w trace(J+ dJ/dq_i) = w sum (J+' * dJ/dq_i)."""
        jacobian = self._jacobian(robot, q)
        w = self.measure(robot, q)
        if w < 1e-12:
            return np.zeros(robot.n)
        change = link_hessian(robot, q, self.link) * self.scale[:, np.newaxis, np.newaxis]
        inverse = np.linalg.pinv(jacobian)
        return w * np.einsum('jr,rji->i', inverse, change[self.rows])

    def _jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        return (self.scale[:, np.newaxis] * robot.jacobian(q, self.link))[self.rows]


def link_hessian(robot: Robot, q: ArrayLike, link: str) -> Array:
    """H (6, n, n): H[:, j, i] = d J[:, j] / d q_i of the geometric Jacobian of a link.

    A column (v, w) turns with every joint above it, its own included: (w_i x v, w_i x w); a
    joint below moves the point it acts on: (w x v_i, 0). Hourtash 2005, section 3.
    """
    frames = robot.frames(q)
    point = robot.link_transform(frames, link)[:3, 3]
    columns = []
    for k in robot.body_path(link):
        axis = robot.geometry[k, 12] * frames[k, [2, 5, 8]]
        if robot.tree[k, 1] == PRISMATIC:
            columns.append((int(robot.tree[k, 2]), axis, np.zeros(3)))
        else:
            columns.append((int(robot.tree[k, 2]), np.cross(axis, point - frames[k, 9:]), axis))
    hessian = np.zeros((6, robot.n, robot.n))
    for below, (j, vj, wj) in enumerate(columns):
        for above, (i, vi, wi) in enumerate(columns):
            if above <= below:
                hessian[:3, j, i] += np.cross(wi, vj)
                hessian[3:, j, i] += np.cross(wi, wj)
            else:
                hessian[:3, j, i] += np.cross(wj, vi)
    return hessian
