# SPDX-License-Identifier: Apache-2.0
"""A task that keeps a link away from singularities [Yoshikawa1985]."""

from __future__ import annotations

import numpy as np

from ..display import numbers
from ..exceptions import InvalidOption
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array
from ..robot.kinematics import PRISMATIC
from ..robot.robot import Robot
from .base import Task
from .weights import checked_weights

ROWS = {'pose': slice(0, 6), 'position': slice(0, 3), 'orientation': slice(3, 6)}


class ManipulabilityTask(Task):
    """Keep the manipulability w = sqrt(det(J J')) of a link large.

    The residual is sqrt(weight) reference / (reference + w): sqrt(weight) at a singularity, half
    of it if w = `reference`, tending to 0 for larger w. `rows`: the rows of the geometric Jacobian
    in J, 'pose', 'position' or 'orientation'; `length` [m/rad] scales the orientation rows.
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

    def _shown(self) -> list[str]:
        rows = next(name for name, part in ROWS.items() if part == self.rows)
        return [repr(self.link), f'rows={rows!r}', f'weight={numbers(self.weight)}']

    @property
    def links(self) -> tuple[str, ...]:
        """The link of the task."""
        return (self.link,)

    def measure(self, robot: Robot, q: VectorLike) -> float:
        """w = sqrt(det(J J')) at q (n,), the product of the singular values; 0 if J has more rows
        than joints."""
        jacobian = self._jacobian(robot, q)
        if jacobian.shape[0] > len(robot.chain(self.link)):
            return 0.0
        return float(np.prod(np.linalg.svd(jacobian, compute_uv=False)))

    def residual(self, robot: Robot, q: VectorLike) -> Array:
        """The weighted residual (1,) at q (n,)."""
        fraction = self.reference / (self.reference + self.measure(robot, q))
        return np.array([np.sqrt(self.weight) * fraction])

    def jacobian(self, robot: Robot, q: VectorLike) -> Array:
        """The derivative (1, n) of `residual`; 0 at singularities, where w has a kink."""
        w, gradient = self.measure(robot, q), self.gradient(robot, q)
        fraction = self.reference / (self.reference + w)
        return (-np.sqrt(self.weight) * fraction / (self.reference + w) * gradient)[np.newaxis]

    def gradient(self, robot: Robot, q: VectorLike) -> Array:
        """The gradient dw/dq (n,): w trace(J+ dJ/dq_i) = w sum (J+' * dJ/dq_i)."""
        jacobian = self._jacobian(robot, q)
        w = self.measure(robot, q)
        if w < 1e-12:
            return np.zeros(robot.n)
        change = link_hessian(robot, q, self.link) * self.scale[:, np.newaxis, np.newaxis]
        inverse = np.linalg.pinv(jacobian)
        return w * np.einsum('jr,rji->i', inverse, change[self.rows])

    def _jacobian(self, robot: Robot, q: VectorLike) -> Array:
        return (self.scale[:, np.newaxis] * robot.jacobian(q, self.link))[self.rows]


def link_hessian(robot: Robot, q: VectorLike, link: str) -> Array:
    """H (6, n, n), the derivative of a link's geometric Jacobian: H[:, j, i] = d J[:, j] / d q_i.

    A column (v, w) rotates with every joint above it, and its own: (w_i x v, w_i x w); a joint
    below moves the point: (w x v_i, 0). [Hourtash2005] section 3.
    """
    frames = robot.frames(q)
    point = robot.link_transform(frames, link)[:3, 3]
    path = robot.body_path(link)
    kinds, variables = robot.tree[path, 1], robot.tree[path, 2]
    axes = robot.geometry[path, 12, np.newaxis] * frames[path][:, [2, 5, 8]]
    sliding = (kinds == PRISMATIC)[:, np.newaxis]
    v = np.where(sliding, axes, np.cross(axes, point - frames[path, 9:]))
    w = np.where(sliding, 0.0, axes)
    is_above = np.tri(len(path), dtype=bool)[..., np.newaxis]  # [below, above], itself included
    turned = np.cross(w, v[:, np.newaxis])  # [k, i]: w_i x v_k
    linear = np.where(is_above, turned, turned.swapaxes(0, 1))
    angular = np.where(is_above, np.cross(w, w[:, np.newaxis]), 0.0)
    change = np.concatenate([linear, angular], axis=2).transpose(2, 0, 1)
    own = (variables[:, np.newaxis] == np.arange(robot.n)).astype(float)  # sums mimic joints
    return np.asarray(own.T @ change @ own, float)
