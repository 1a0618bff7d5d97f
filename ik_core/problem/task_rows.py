# SPDX-License-Identifier: Apache-2.0
"""The rows of tasks that are no goals: residuals and Jacobians over a problem's variables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..maths.rotations import Array, IntArray
from ..robot.robot import Robot
from ..tasks import Task
from ..tasks.jacobian_check import check_finite, jacobian_of_task, residual_of_task, rows_of_task


class TaskRows:
    """Evaluates tasks in Python, with the joints that are no variables as in the last start.

    robot, variables : of the problem
    q (n,) : the last start; its variables are overwritten
    """

    def __init__(self, robot: Robot, variables: IntArray, q: Array) -> None:
        self.robot, self.variables, self.q = robot, variables, q.copy()

    def at(self, x: Array) -> Array:
        """Return the configuration (n,), a view, with variables x."""
        self.q[self.variables] = x
        return self.q

    def residual(self, tasks: Sequence[Task], x: Array) -> Array:
        """Return the residuals (rows,) of tasks at variables x."""
        q = self.at(x)
        return np.concatenate([residual_of_task(task, self.robot, q) for task in tasks])

    def jacobian(self, tasks: Sequence[Task], x: Array) -> Array:
        """Return the Jacobians (rows, variables) of tasks at variables x."""
        q = self.at(x)
        rows = [jacobian_of_task(task, self.robot, q) for task in tasks]
        return np.vstack(rows)[:, self.variables]

    def both(self, tasks: Sequence[Task], x: Array, begins: bool = False) -> tuple[Array, Array]:
        """Return the residuals (rows,) and Jacobians (rows, variables) of tasks at variables x.

        begins : check that all are finite, since a search starts at x
        """
        q = self.at(x)
        rows = [rows_of_task(task, self.robot, q) for task in tasks]
        if begins:
            for task, own in zip(tasks, rows, strict=True):
                check_finite(task, self.robot, q, *own)
        residual = np.concatenate([residual for residual, _ in rows])
        return residual, np.vstack([jacobian for _, jacobian in rows])[:, self.variables]
