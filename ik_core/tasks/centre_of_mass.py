# SPDX-License-Identifier: Apache-2.0
"""A task for the robot's centre of mass: balance, or loads that stay near a point."""

from __future__ import annotations

import numpy as np

from ..display import numbers
from ..exceptions import InvalidGoal, InvalidOption
from ..maths.argument_types import PointLike, VectorLike, WeightsLike
from ..maths.rotations import Array
from ..maths.transforms import point
from ..robot.robot import Robot
from .base import Task
from .weights import checked_weights


class CentreOfMassTask(Task):
    """Bring the robot's centre of mass to a position: sqrt(weights) (c(q) - position).

    `position` (3,) [m] is in the root link's frame; with a floating base that is the world.
    `weights`: one number or (3,); 0 leaves a component free, so (1, 1, 0) leaves the height free.
    Masses are those of the description's <inertial>; a robot without any raises
    UnsupportedProblem.
    """

    def __init__(self, position: PointLike | None = None, *, weights: WeightsLike = 1.0) -> None:
        given = checked_weights(weights)
        if given.shape not in ((), (3,)) or not given.any():
            raise InvalidOption(f'weights {weights!r}: one number or three, not all 0')
        self.weights = np.broadcast_to(given, 3).copy()
        self.rows = np.flatnonzero(self.weights)
        self.position: Array | None = None
        if position is not None:
            self.set_target(position)

    def set_target(self, position: PointLike) -> None:
        """Move the target (3,) [m]. Raises InvalidGoal."""
        self.position = point(position)

    def _shown(self) -> list[str]:
        position = (
            'no position yet' if self.position is None else f'position={numbers(self.position)}'
        )
        return [position, f'weights={numbers(self.weights)}']

    @property
    def moves_all_joints(self) -> bool:
        """True: every joint moves the centre of mass."""
        return True

    def residual(self, robot: Robot, q: VectorLike) -> Array:
        """The weighted residual (rows,) [m] at q (n,)."""
        if self.position is None:
            raise InvalidGoal('the centre of mass has no position to be at; call set_target')
        away = robot.centre_of_mass(q) - self.position
        return (np.sqrt(self.weights) * away)[self.rows]

    def jacobian(self, robot: Robot, q: VectorLike) -> Array:
        """The exact derivative (rows, n) of `residual` with respect to q."""
        rates = robot.centre_of_mass_jacobian(q)
        return (np.sqrt(self.weights)[:, np.newaxis] * rates)[self.rows]
