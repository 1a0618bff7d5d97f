"""A problem's arrays for the kernels of a search, and what Python evaluates for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from .._jit import Callback
from ..exceptions import UnsupportedProblem
from ..maths.rotations import Array, IntArray
from ..problem import IkProblem
from ..tasks import EndEffectorPatternTask, OrientationPatternTask, Task
from ..tasks.base import JointTask
from ..tasks.packing import PackedGoals
from . import memory
from .memory import memory_size, search_arrays


class ProblemArrays:
    """The arrays that a search for one problem lives in.

    `arguments` are those of the kernels; `arrays` are the parts of the memory by their names,
    `vectors` and the others the most used of them. `integers` (k,) are the method's own.
    """

    keeps_constraints: ClassVar[bool] = False
    """Whether the search keeps linear constraints."""

    def __init__(self, problem: IkProblem, integers: IntArray | None = None) -> None:
        if not self.keeps_constraints:
            problem.check_without_constraints()
        self.problem = problem
        self._integers = np.empty(0, np.int64) if integers is None else integers.ravel()
        self._joint_tasks, patterns, self._others = sorted_tasks(problem.other_tasks)
        self.packed = packed_with(problem, patterns)
        self._tasks = Callback(self._evaluate_others) if self._others else None
        self._method: Callback | None = None
        self._valid: Callback | None = None
        self._begins = False
        self._make_arrays(0)

    def _make_arrays(self, other_rows: int) -> None:
        """All arrays, for so many rows of tasks that no kernel knows."""
        problem, packed = self.problem, self.packed
        n = len(problem.variables)
        self._sizes = (packed.rows, n if self._joint_tasks else 0, other_rows)
        self.counters = np.zeros(memory.COUNTERS + len(self._integers), np.int64)
        self._reset_counters()
        size = memory_size(
            len(packed.tree), len(packed.parts), sum(self._sizes), n, self.constraint_rows
        )
        self.arguments = (
            packed.tree,
            packed.geometry,
            packed.table,
            packed.tools,
            packed.targets,
            problem.limits.packed,
            self.counters,
            np.zeros(size),
        )
        self.arrays = arrays = search_arrays(*self.arguments)
        self.values, self.vectors, self.rows = arrays.values, arrays.vectors, arrays.rows

    @property
    def constraint_rows(self) -> int:
        """Rows of constraints beside the limits."""
        return len(self.problem.constraints)

    def _reset_counters(self) -> None:
        self.counters[: memory.COUNTERS] = 0
        self.counters[memory.COUNTERS :] = self._integers
        self.counters[memory.GOAL_ROWS : memory.OTHER_ROWS + 1] = self._sizes
        self.counters[memory.CONSTRAINTS] = self.constraint_rows
        if self._tasks is not None:
            self.counters[memory.TASKS] = self._tasks.address

    def stand_at(self, q: Array) -> None:
        """Begin anew at q (n,), for targets that the problem has loaded."""
        problem, self._begins = self.problem, True
        if self._others:
            rows = len(problem.rows_of(self._others, q[problem.columns])[0])
            if rows != self._sizes[-1]:
                self._make_arrays(rows)
        self._reset_counters()
        self.vectors[memory.X] = q[problem.columns]
        own = self.arrays.options
        own[memory.POSITION_TOLERANCE] = position_tolerance(problem, self.packed)
        own[memory.ORIENTATION_TOLERANCE] = problem.orientation_tolerance
        load_patterns(problem, self.packed, q)
        self.values[memory.JOINT_COST] = self.packed.constant
        if self._joint_tasks:
            weights, rests, constant = problem_joint_rows(problem, self._joint_tasks, q)
            self.vectors[memory.JOINT_SCALES] = np.sqrt(weights)
            self.vectors[memory.JOINT_RESTS] = rests
            self.values[memory.JOINT_COST] += constant

    def _evaluate_others(self) -> None:
        """Callback of the kernel: compute rows of tasks without a kernel, or their Jacobian."""
        asked, rows = self.vectors[memory.ASKED], self._sizes[-1]
        wants_jacobian = bool(self.counters[memory.WANTED] == memory.JACOBIAN_ROWS)
        found = rows_of(self.problem, self._others, asked, rows, wants_jacobian, self._begins)
        self._begins = False
        first = self._sizes[0] + self._sizes[1]
        if wants_jacobian:
            self.arrays.work[first:] = found
        else:
            self.arrays.work[first:, 0] = found

    def call_back_by(self, function: Callable[[], None]) -> None:
        """What the method's own kernels call back: counters[METHOD]."""
        self._method = Callback(function)
        self.counters[memory.METHOD] = self._method.address

    def check(self) -> None:
        """Raise what a callback raised."""
        for callback in (self._method, self._tasks, self._valid):
            if callback is not None:
                callback.check()


def rows_of(
    problem: IkProblem,
    tasks: Sequence[Task],
    x: Array,
    rows: int,
    wants_jacobian: bool,
    begins: bool = False,
) -> Array:
    """The residual (rows,) of tasks at variables x, or their Jacobian (rows, variables).

    begins : check both, as `problem.rows_of` does

    Raises UnsupportedProblem if the number of rows has changed.
    """
    if begins:
        found = problem.rows_of(tasks, x, begins)[wants_jacobian]
    else:
        found = (problem.jacobian_of if wants_jacobian else problem.residual_of)(tasks, x)
    if len(found) != rows:
        names = ', '.join(type(task).__name__ for task in tasks)
        what = 'rows of the Jacobian' if wants_jacobian else 'residuals'
        raise UnsupportedProblem(
            f'{names}: {len(found)} {what}, where the search began with {rows}; a search needs '
            'as many at every point'
        )
    return found


LinkPattern = EndEffectorPatternTask | OrientationPatternTask


class SortedTasks(NamedTuple):
    """Tasks by what kernels know of them: rows of single joints, an example of a link, nothing."""

    joints: list[JointTask]
    patterns: list[LinkPattern]
    others: list[Task]


def sorted_tasks(tasks: Sequence[Task]) -> SortedTasks:
    """Tasks that are no goals, in the order that they come."""
    found = SortedTasks([], [], [])
    for task in tasks:
        if isinstance(task, JointTask) and not task.couples_joints:
            found.joints.append(task)
        elif isinstance(task, EndEffectorPatternTask) or (
            isinstance(task, OrientationPatternTask) and not task.has_rates
        ):
            found.patterns.append(task)
        else:
            found.others.append(task)
    return found


def packed_with(problem: IkProblem, patterns: list[LinkPattern]) -> PackedGoals:
    """The problem's packed goals, with these patterns after them."""
    if not patterns:
        return problem.packed
    variables, length = problem.variables, problem.orientation_length
    return PackedGoals(problem.robot, problem.goals, variables, length, patterns)


def load_patterns(problem: IkProblem, packed: PackedGoals, q: Array) -> None:
    """Take over the patterns' frames, and what the problem has loaded at q (n,)."""
    if packed is not problem.packed:
        packed.load(q)


def position_tolerance(problem: IkProblem, packed: PackedGoals) -> float:
    """That of the kernels: none where they would take patterns for goals; see `judged`."""
    return problem.position_tolerance if packed is problem.packed else -1.0


def problem_joint_rows(
    problem: IkProblem, tasks: list[JointTask], q: Array
) -> tuple[Array, Array, float]:
    """One row for each variable: sum s^2 (x - c)^2 = W (x - C)^2 + a constant: W, C (variables,).

    The constant has what joints that don't move cost, which stand as in q (n,).
    """
    rows = [row for task in tasks for row in task.joint_rows(problem.robot)]
    squares = np.array([scale * scale for scale, _ in rows])
    centres = np.array([rest for _, rest in rows])
    weights = squares.sum(axis=0)
    rest = (squares * centres).sum(axis=0) / np.where(weights > 0.0, weights, 1.0)
    away = q - rest
    away[problem.variables] = 0.0
    constant = (squares * (centres - rest) ** 2).sum() + weights @ (away * away)
    return weights[problem.variables], rest[problem.variables], float(constant)
