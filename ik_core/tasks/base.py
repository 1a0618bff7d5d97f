# SPDX-License-Identifier: Apache-2.0
"""The interface of all tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ..maths.argument_types import VectorLike
from ..maths.rotations import Array
from ..robot.robot import Robot


class Task(ABC):
    """A weighted residual r(q), zero where the task is fulfilled, and its Jacobian.

    A weight multiplies a squared component of the residual (the W of [EngellErleben2011] Eq. 17),
    so a row is scaled by the weight's square root; rows with weight 0 are left out.
    """

    def __repr__(self) -> str:
        return f'{type(self).__name__}({", ".join(self._shown())})'

    def _shown(self) -> list[str]:
        """The arguments shown in a `repr`."""
        return [repr(link) for link in self.links]

    @property
    def links(self) -> tuple[str, ...]:
        """The links that the task depends on; empty for a task on joints.

        The joints that move them become the problem's variables.
        """
        return ()

    @property
    def chains(self) -> tuple[tuple[str, str | None], ...]:
        """Pairs (link, base link): the task depends on the joints between them; None: the root."""
        return tuple((link, None) for link in self.links)

    @property
    def moves_all_joints(self) -> bool:
        """True if all joints become variables, not only those that move the task's links."""
        return False

    @abstractmethod
    def residual(self, robot: Robot, q: Array) -> Array:
        """The weighted residual (rows,) at q (n,)."""

    @abstractmethod
    def jacobian(self, robot: Robot, q: Array) -> Array:
        """The exact derivative (rows, n) of `residual` with respect to q."""


class JointTask(Task):
    """A task whose rows are linear in one joint each: scale * (q - rest).

    Solvers combine the rows of all such tasks into n rows, one for each joint.
    """

    @property
    def couples_joints(self) -> bool:
        """True if rows couple several joints; `joint_rows` is then not used."""
        return False

    @abstractmethod
    def joint_rows(self, robot: Robot) -> list[tuple[Array, Array]]:
        """(scale, rest) of every block of n rows, each (n,)."""

    def residual(self, robot: Robot, q: VectorLike) -> Array:
        """The weighted residual (rows,) at q (n,)."""
        vector = robot.checked(q)
        return np.concatenate([scale * (vector - rest) for scale, rest in self.joint_rows(robot)])

    def jacobian(self, robot: Robot, q: VectorLike) -> Array:
        """The derivative (rows, n) of `residual`: constant."""
        return np.vstack([np.diag(scale) for scale, _ in self.joint_rows(robot)])
