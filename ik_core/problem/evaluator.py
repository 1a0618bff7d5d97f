# SPDX-License-Identifier: Apache-2.0
"""The evaluator of a problem: costs, residuals and Jacobians during a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..maths.argument_types import VectorLike
from ..maths.rotations import Array, IntArray
from ..robot.robot import Robot
from ..tasks import Task
from ..tasks.jacobian_check import (
    check_finite,
    check_task,
    jacobian_of_task,
    residual_of_task,
    rows_of_task,
)
from ..tasks.packing import PackedGoals


@dataclass(eq=False)
class Evaluation:
    """A problem evaluated at one point: `x` (variables,), `residual` (m,), its exact `jacobian`
    (m, variables), `cost` = |residual|^2 and the goals' errors [m], [rad], (G,) each.
    """

    x: Array
    residual: Array
    jacobian: Array
    cost: float
    position_errors: Array
    orientation_errors: Array


class Evaluator:
    """Evaluates the goals and tasks of a problem, with the targets and frozen joints of a search.

    `load` reads these at the start of the search.

    robot, variables, goals : of the problem, the goals as they are packed
    other_tasks, secondary : tasks weighed against the goals, and secondary tasks of all levels
    rest (n,) : the start by default
    checked : tasks whose Jacobians `load` checks
    q (n,) : the last start; its variables are overwritten
    """

    def __init__(
        self,
        robot: Robot,
        variables: IntArray,
        goals: PackedGoals,
        other_tasks: Sequence[Task],
        secondary: Sequence[Task],
        rest: Array,
        checked: Sequence[Task],
        q: Array,
    ) -> None:
        self._robot, self._variables, self._goals = robot, variables, goals
        self._other_tasks, self._secondary, self._checked = other_tasks, secondary, checked
        self._rest, self.q = rest, q.copy()

    def load(self, q0: VectorLike | None = None) -> Array:
        """Read the targets and the joints that are no variables; return the start (n,).

        `q0=None` is the default configuration. Raises InvalidGoal, InvalidConfiguration.
        """
        q = self._rest.copy() if q0 is None else self._robot.checked(q0, 'q0')
        self._goals.load(q)
        for task in self._checked:
            check_task(task, self._robot, q)
        if self._other_tasks or self._secondary:  # which look at the whole robot
            self.q = q.copy()
        return q

    def load_numbers(self, q0: VectorLike | None = None) -> Array:
        """Load the start as `load` does, without a check that it is finite.

        The kernels of the default solver check that themselves.
        Only for problems with goals alone, and without frozen joints.
        """
        if q0 is None or self._checked:
            return self.load(q0)
        q = self._robot.numbers(q0, 'q0')
        self._goals.load(q)
        return q

    # --- goals and tasks -------------------------------------------------------------------------

    def at(self, x: Array) -> Evaluation:
        """Evaluate at variables x."""
        cost = self._goals.update(x)
        residual, jacobian = self._goals.residual.copy(), self._goals.jacobian()
        if self._other_tasks:
            others, other_jacobian = self.rows_of(self._other_tasks, x)
            residual = np.concatenate([residual, others])
            jacobian = np.vstack([jacobian, other_jacobian])
            cost += float(others @ others)
        return Evaluation(
            x=x,
            residual=residual,
            jacobian=jacobian,
            cost=cost,
            position_errors=self._goals.errors[:, 0].copy(),
            orientation_errors=self._goals.errors[:, 1].copy(),
        )

    def cost_at(self, x: Array) -> float:
        """The cost alone at variables x; also fills the errors of the packed goals."""
        cost = self._goals.update(x)
        if self._other_tasks:
            residual = self.residual_of(self._other_tasks, x)
            cost += float(residual @ residual)
        return cost

    def secondary_at(self, x: Array, begins: bool = False) -> tuple[Array, Array]:
        """The secondary tasks' residual (s,) and Jacobian (s, variables) at variables x.

        begins : check that all are finite, since a search starts at x
        """
        return self.rows_of(self._secondary, x, begins)

    def errors_at(self, q: VectorLike) -> tuple[Array, Array]:
        """The goals' position [m] and orientation [rad] errors at q (n,), each (G,), with the
        current targets."""
        vector = self._robot.checked(q)
        self._goals.load(vector)
        self._goals.update(vector[self._variables])
        return self._goals.errors[:, 0].copy(), self._goals.errors[:, 1].copy()

    # --- rows of tasks that are no goals ---------------------------------------------------------

    def q_at(self, x: Array) -> Array:
        """Return the configuration (n,), a view, with variables x."""
        self.q[self._variables] = x
        return self.q

    def residual_of(self, tasks: Sequence[Task], x: Array) -> Array:
        """Return the residuals (rows,) of tasks at variables x."""
        q = self.q_at(x)
        return np.concatenate([residual_of_task(task, self._robot, q) for task in tasks])

    def jacobian_of(self, tasks: Sequence[Task], x: Array) -> Array:
        """Return the Jacobians (rows, variables) of tasks at variables x."""
        q = self.q_at(x)
        rows = [jacobian_of_task(task, self._robot, q) for task in tasks]
        return np.vstack(rows)[:, self._variables]

    def rows_of(
        self, tasks: Sequence[Task], x: Array, begins: bool = False
    ) -> tuple[Array, Array]:
        """Return the residuals (rows,) and Jacobians (rows, variables) of tasks at variables x.

        begins : check that all are finite, since a search starts at x
        """
        q = self.q_at(x)
        rows = [rows_of_task(task, self._robot, q) for task in tasks]
        if begins:
            for task, own in zip(tasks, rows, strict=True):
                check_finite(task, self._robot, q, *own)
        residual = np.concatenate([residual for residual, _ in rows])
        return residual, np.vstack([jacobian for _, jacobian in rows])[:, self._variables]
