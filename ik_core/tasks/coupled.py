# SPDX-License-Identifier: Apache-2.0
"""Several tasks with one matrix of weights: the full W of [EngellErleben2011] Eq. 17."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..exceptions import InvalidOption, UnsupportedProblem
from ..maths.argument_types import WeightsLike
from ..maths.rotations import Array
from ..robot.robot import Robot
from .base import Task
from .weights import principal_axes


class CoupledTask(Task):
    """Weight the residuals of several tasks by one matrix: r'W r, including cross terms.

    tasks : r (rows,) is their residuals, one after the other; two PositionTasks give
        (x, y, z, x, y, z) [m]
    weights (rows, rows) : W, symmetric and positive semidefinite

    An entry between two end effectors is a weight of the product of their errors; so W can, for
    example, weight the difference of two hands' errors far more than their sum. If W has blocks on
    its diagonal only, this is the sum of the tasks, each with its block as `weights`.

    It has no tolerances: a problem without other goals ends as LEAST. Raises InvalidOption.
    """

    def __init__(self, tasks: Sequence[Task], weights: WeightsLike) -> None:
        self.tasks = tuple(tasks)
        if not self.tasks or not all(isinstance(task, Task) for task in self.tasks):
            raise InvalidOption(f'tasks = {tasks!r}: a list of tasks is needed')
        if np.ndim(weights) != 2:
            raise InvalidOption('weights: a matrix (rows, rows) of all residuals is needed')
        self.weights = np.array(weights, float)
        values, axes = principal_axes(self.weights, 'weights')
        if not values.any():
            raise InvalidOption('weights: not all may be 0')
        kept = values > 0.0
        # A (k, rows) with A'A = W
        self.factor: Array = np.sqrt(values[kept])[:, np.newaxis] * axes[:, kept].T

    def _shown(self) -> list[str]:
        return [repr(task) for task in self.tasks]

    @property
    def chains(self) -> tuple[tuple[str, str | None], ...]:
        """Pairs (link, base link) of all tasks."""
        return tuple(chain for task in self.tasks for chain in task.chains)

    @property
    def moves_all_joints(self) -> bool:
        """True if one of the tasks moves all joints, or depends on no link."""
        return any(task.moves_all_joints or not task.chains for task in self.tasks)

    def residual(self, robot: Robot, q: Array) -> Array:
        """The weighted residual A r (k,) at q (n,), where A'A = W."""
        residual = np.concatenate([task.residual(robot, q) for task in self.tasks])
        if len(residual) != self.factor.shape[1]:
            raise UnsupportedProblem(
                f'weights are for {self.factor.shape[1]} residuals; the tasks have {len(residual)}'
            )
        product: Array = self.factor @ residual
        return product

    def jacobian(self, robot: Robot, q: Array) -> Array:
        """The derivative (k, n) of `residual`."""
        product: Array = self.factor @ np.vstack([task.jacobian(robot, q) for task in self.tasks])
        return product
