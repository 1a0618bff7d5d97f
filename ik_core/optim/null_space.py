# SPDX-License-Identifier: Apache-2.0
"""Strict priority between levels of tasks, by null-space projection.

Once the goals are reached (or as near as they can be), secondary tasks are improved only by motion
that does not move the goals: with the goals' Jacobian J, and the secondary tasks' residual s and
Jacobian Js,

    dq = N z,  N = I - J+ J,  z = argmin |s + Js N z|^2 + mu |z|^2

([Liegeois1977]; [Buss2009] Eq. 7 with the Gauss-Newton step in place of a gradient). Gauss-Newton
steps on the goals correct the error that the curvature of the goals' manifold adds. A step counts
only if the goals stay within their tolerances and the secondary cost falls; otherwise it is
halved. Joints at a limit that the motion would cross are clamped.

With several levels of secondary tasks ([BaerlocherBoulic1998]) each has a descent of its own. The
residuals of the levels before it, less their values at the ends of their descents, are further
rows of the goals, so J stacks all that must not move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..maths.rotations import Array
from ..problem import IkProblem
from ..result import IkResult, IkStatus
from ..robot.robot import Robot
from ..tasks import Task
from ..tasks.jacobian_check import jacobian_of_task, residual_of_task
from .descent import DESCENT, begin_descent, descend
from .records import SearchRecords, problem_joint_rows, rows_of, sorted_tasks
from .search import Search, SearchOptions

MAX_DESCENT_ITERATIONS = 100
OPTIONS = SearchOptions()
HELD_COST = 1e-16  # Largest cost of reached goals and held tasks together that counts as 0


class Descent(Protocol):
    """Descent of the secondary tasks' cost from a point where the goals are met."""

    iterations: int
    done: bool

    @property
    def evaluations(self) -> int:
        """Number of evaluations of the goals."""

    @property
    def x(self) -> Array:
        """The current variables."""

    def iterate(self) -> None:
        """Move once, or be done."""


class NullSpaceDescent:
    """Descent of a problem's secondary tasks from variables x that solve its goals.

    The kernel evaluates tasks about joints itself, and all others by a callback.
    """

    def __init__(self, problem: IkProblem, x: Array, must_reach: bool) -> None:
        self.problem = problem
        self.iterations = 0
        self.done = False
        joint_tasks, patterns, others = sorted_tasks(problem.secondary)
        self._others = [*patterns, *others]
        self._records = records = SearchRecords(problem, OPTIONS)
        q = problem.evaluator.q_at(x).copy()
        records.start_at(q)
        rows = joint_rows = len(x) if joint_tasks else 0
        if self._others:
            rows += len(problem.evaluator.rows_of(self._others, x, begins=True)[0])
            records.call_back_by(self._evaluate_others)
        sizes = {'rows': records.rows, 'joints': len(x)}
        own = DESCENT.make({**sizes, 'task_rows': rows, 'joint_rows': joint_rows})
        self._own, records.search['own'] = own, own.address
        if joint_tasks:
            weights, own['rests'], _ = problem_joint_rows(problem, joint_tasks, q)
            own['scales'] = np.sqrt(weights)
        judges = records.packed is problem.packed  # else patterns are among the kernel's goals
        own['must_reach'] = must_reach and judges
        begin_descent(records.search.address)
        records.check()
        if must_reach and problem.other_tasks:
            weighed = problem.evaluator.residual_of(problem.other_tasks, x)
            own['allowed'] = weighed @ weighed * (1.0 + 1e-9) + HELD_COST

    @property
    def x(self) -> Array:
        """The current variables."""
        return self._records.search['x'].copy()

    @property
    def evaluations(self) -> int:
        return self._records.search['evaluations'].item()

    def iterate(self) -> None:
        """Do one iteration; set `done` if it lowers no cost, or was the last one allowed."""
        self.iterations += 1
        ended = descend(self._records.search.address)
        self._records.check()
        self.done = ended or self.iterations >= MAX_DESCENT_ITERATIONS

    def _evaluate_others(self) -> None:
        asked, first = self._records.constants['asked'], self._own['joint_rows'].item()
        residual, jacobian = self._own['residual'][first:], self._own['jacobian'][first:]
        count = len(residual)
        residual[:] = rows_of(self.problem, self._others, asked, count, wants_jacobian=False)
        jacobian[:] = rows_of(self.problem, self._others, asked, count, wants_jacobian=True)


class HeldTask(Task):
    """A task's residual less its value at q (n,): zero while the task keeps that value."""

    def __init__(self, task: Task, robot: Robot, q: Array) -> None:
        self.task = task
        self.value = residual_of_task(task, robot, q)

    @property
    def chains(self) -> tuple[tuple[str, str | None], ...]:
        """Pairs (link, base link) of the task."""
        return self.task.chains

    def residual(self, robot: Robot, q: Array) -> Array:
        """The residual (rows,) of the task, less `value`."""
        return residual_of_task(self.task, robot, q) - self.value

    def jacobian(self, robot: Robot, q: Array) -> Array:
        """The task's Jacobian (rows, n)."""
        return jacobian_of_task(self.task, robot, q)


class SecondarySearch(Search):
    """A search, and then a descent for each level of the problem's secondary tasks.

    descend : function that makes the descent of a problem with one level, from the variables where
        the goals and the levels before it ended; its last argument: whether the goals are reached
    """

    def __init__(
        self,
        primary: Search,
        descend: Callable[[IkProblem, Array, bool], Descent],
    ) -> None:
        self.primary = primary
        self.descend = descend
        self.problem, self.clock = primary.problem, primary.clock
        self.q0 = primary.q0
        self.status = None
        self.solve_time = 0.0
        self.descents: list[Descent] = []  # one for each level that has begun
        self._stopped: Array | None = None  # the last free point, if the next step would collide

    def iterate_until(self, deadline: float | None, iterations: int | None) -> None:
        started = self.primary.result().iterations
        if not self.primary.done:
            self.primary.limited_by = IkStatus.ITERATION_LIMIT
            self.primary.iterate_until(deadline, iterations)
            self.limited_by = self.primary.limited_by
        if not self.primary.done:
            return
        reached = self.primary.result()
        left = None if iterations is None else iterations - (reached.iterations - started)
        for _ in self.allowed_iterations(deadline, left):
            descent = self._ongoing(reached)
            if descent is None:
                break
            before = self.x
            descent.iterate()
            if self.problem.avoids and not self.problem.avoidance.may_answer(self.q):
                self._stopped = before
                break
        if self._stopped is not None or self._ongoing(reached) is None:
            self.status = reached.status

    def _ongoing(self, reached: IkResult) -> Descent | None:
        """Return the descent of the current level, begun if need be; None after the last level."""
        while not self.descents or self.descents[-1].done:
            if len(self.descents) == len(self.problem.levels):
                return None
            self.descents.append(self._next_descent(reached))
        return self.descents[-1]

    def _next_descent(self, reached: IkResult) -> Descent:
        """Begin the descent of the next level, which holds the levels before it."""
        problem, begun = self.problem, len(self.descents)
        x = self.descents[-1].x if begun else reached.q[problem.variables]
        q = problem.evaluator.q_at(x).copy()
        before = [task for level in problem.levels[:begun] for task in level]
        held = [HeldTask(task, problem.robot, q) for task in before]
        level = problem.holding(held, problem.levels[begun])
        return self.descend(level, x, reached.status is IkStatus.REACHED)

    @property
    def x(self) -> Array:
        if self._stopped is not None:
            return self._stopped.copy()
        return self.descents[-1].x if self.descents else self.primary.x

    def stay_on_branch(self) -> None:
        self.primary.stay_on_branch()

    def memory(self) -> Any:
        return self.primary.memory()

    def resume(self, memory: Any) -> None:
        self.primary.resume(memory)

    def result(self) -> IkResult:
        """Return the best so far; before the first descent, the result of the search alone."""
        result = self.primary.result()
        if not self.descents:
            return replace(result, solve_time=self.solve_time)
        lowered = self.finish(
            self.x,
            result.iterations + sum(descent.iterations for descent in self.descents),
            result.evaluations + sum(descent.evaluations for descent in self.descents),
            result.restarts,
            result.history,
        )
        lowered.note = result.note
        lowered.abandoned_evaluations = result.abandoned_evaluations
        return lowered
