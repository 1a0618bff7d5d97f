"""What every task offers."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from ..maths.rotations import Array
from ..robot.robot import Robot


class Task(ABC):
    """Something asked of the robot: a weighted residual r(q), zero where it is fulfilled.

    A weight multiplies the squared residual (the W of [EngellErleben2011] Eq. 17), so
    a row is scaled by its square root; rows with weight 0 are left out.
    """

    def __repr__(self) -> str:
        return f'{type(self).__name__}({", ".join(self._shown())})'

    def _shown(self) -> list[str]:
        """What `repr` tells of it."""
        return [repr(link) for link in self.links]

    @property
    def links(self) -> tuple[str, ...]:
        """The links that it is about: the joints that move one of them are a problem's
        variables. None where it is about the joints themselves."""
        return ()

    @property
    def chains(self) -> tuple[tuple[str, str | None], ...]:
        """(link, base link) whose way to each other it is about; None is the root."""
        return tuple((link, None) for link in self.links)

    @property
    def moves_all_joints(self) -> bool:
        """Whether all joints are a problem's variables, not only those that move its links."""
        return False

    @abstractmethod
    def residual(self, robot: Robot, q: ArrayLike) -> Array:
        """The weighted residual (rows,) at q (n,)."""

    @abstractmethod
    def jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        """The exact derivative (rows, n) of `residual` with respect to q."""


class JointTask(Task):
    """A task whose rows are linear, one joint each: scale * (q - rest).

    Solvers can take many of them as one: their sum of squares is that of n rows.
    """

    @property
    def couples_joints(self) -> bool:
        """Whether its rows are of several joints each after all, so that `joint_rows` are none."""
        return False

    @abstractmethod
    def joint_rows(self, robot: Robot) -> list[tuple[Array, Array]]:
        """(scale, rest) of every block of n rows, each (n,)."""

    def residual(self, robot: Robot, q: ArrayLike) -> Array:
        """The weighted residual (rows,) at q (n,)."""
        vector = robot.checked(q)
        return np.concatenate([scale * (vector - rest) for scale, rest in self.joint_rows(robot)])

    def jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        """The derivative (rows, n) of `residual`: constant."""
        return np.vstack([np.diag(scale) for scale, _ in self.joint_rows(robot)])
