# SPDX-License-Identifier: Apache-2.0
"""Several tasks with one matrix of weights: the full W of [EngellErleben2011] Eq. 17."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..exceptions import InvalidOption, UnsupportedProblem
from ..maths.argument_types import WeightsLike
from ..maths.rotations import Array
from ..options import exact_number
from ..robot.robot import Robot
from .base import Task
from .goals import PositionTask
from .weights import principal_axes

# Weights of differences, relative to the mean's, with which solves out of reach were seen to end
# at the closest point; beyond, the cost is too narrow a valley for numbers of 16 digits.
DIFFERENCE_WEIGHTS = 1e-3, 1e3


class CoupledTask(Task):
    """Weight the residuals of several tasks by one matrix: r'W r, including cross terms.

    tasks : r (rows,) is their residuals, one after the other; two PositionTasks give
        (x, y, z, x, y, z) [m]
    weights (rows, rows) : W, symmetric and positive semidefinite
    tolerance : it is reached if the part of r that W weighs is at most this long: in metres, if
        the tasks are goals for positions

    An entry between two end effectors is a weight of the product of their errors; so W can, for
    example, weight the difference of two hands' errors far more than their sum. If W has blocks on
    its diagonal only, this is the sum of the tasks, each with its block as `weights`.

    A problem without other goals ends as REACHED if all its CoupledTasks are; as CLOSEST at a
    minimum at which they are not. Beside other goals it is weighed, and does not count as missed.
    Raises InvalidOption.
    """

    def __init__(
        self, tasks: Sequence[Task], weights: WeightsLike, *, tolerance: float = 1e-5
    ) -> None:
        self.tasks: tuple[Task, ...] = _list_of(Task, tasks, 'tasks')
        self.weights = _matrix(weights)
        values, axes = principal_axes(self.weights, 'weights')
        if not values.any():
            raise InvalidOption('weights: not all may be 0')
        number = exact_number(tolerance, float)
        if number is None or not 0.0 < number < np.inf:
            raise InvalidOption(f'tolerance = {tolerance!r}: a positive number is needed')
        self.tolerance = number
        kept = values > 0.0
        self._directions: Array = axes[:, kept].T  # those that W weighs, (k, rows)
        # A (k, rows) with A'A = W
        self.factor: Array = np.sqrt(values[kept])[:, np.newaxis] * self._directions

    @classmethod
    def of_differences(
        cls, tasks: Sequence[Task], weight: float, *, tolerance: float = 1e-5
    ) -> CoupledTask:
        """Weight differences between the tasks' residuals `weight` times as much as their mean.

        The tasks are two PositionTasks or more, of all three coordinates; `weight` is from 1e-3 to
        1e3. Two hands that carry a tray out of reach keep their distance, and miss their goals
        alike. Raises InvalidOption.
        """
        goals = _list_of(PositionTask, tasks, 'PositionTasks')
        if len(goals) < 2:
            raise InvalidOption(f'tasks = {tasks!r}: differences need two goals at least')
        for goal in goals:
            if not goal.position_weights.all():
                raise InvalidOption(f'{goal!r}: none of its three weights may be 0')
        number, (least, most) = exact_number(weight, float), DIFFERENCE_WEIGHTS
        if number is None or not least <= number <= most:
            raise InvalidOption(
                f'weight = {weight!r}: a number from {least:g} to {most:g} is needed'
            )
        mean = np.full((len(goals), len(goals)), 1.0 / len(goals))
        apart = np.eye(len(goals)) - mean
        return cls(goals, np.kron(mean + number * apart, np.eye(3)), tolerance=tolerance)

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
        product: Array = self.factor @ self._unweighted(robot, q)
        return product

    def missed_by(self, robot: Robot, q: Array) -> float:
        """The length of the part of r that W weighs at q (n,): reached within `tolerance`."""
        return float(np.linalg.norm(self._directions @ self._unweighted(robot, q)))

    def _unweighted(self, robot: Robot, q: Array) -> Array:
        """The residuals r (rows,) of all tasks at q (n,)."""
        residual: Array = np.concatenate([task.residual(robot, q) for task in self.tasks])
        if len(residual) != self.factor.shape[1]:
            raise UnsupportedProblem(
                f'weights are for {self.factor.shape[1]} residuals; the tasks have {len(residual)}'
            )
        return residual

    def jacobian(self, robot: Robot, q: Array) -> Array:
        """The derivative (k, n) of `residual`."""
        product: Array = self.factor @ np.vstack([task.jacobian(robot, q) for task in self.tasks])
        return product


def _list_of(kind: Any, tasks: Sequence[Task], words: str) -> tuple[Any, ...]:
    """Return tasks of one kind as a tuple; raises InvalidOption unless they are a list of it."""
    found = tuple(tasks) if isinstance(tasks, Iterable) else ()
    if not found or not all(isinstance(task, kind) for task in found):
        raise InvalidOption(f'tasks = {tasks!r}: a list of {words} is needed')
    return found


def _matrix(weights: WeightsLike) -> Array:
    """Return weights as a matrix; raises InvalidOption."""
    try:
        matrix = np.array(weights, float)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2:
        raise InvalidOption(
            f'weights = {weights!r}: a matrix (rows, rows) of numbers is needed, for all residuals'
        )
    return matrix
