# SPDX-License-Identifier: Apache-2.0
"""The records of a problem for the kernels of a search, and the callbacks of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..exceptions import UnsupportedProblem
from ..kernels.jit import Callback
from ..maths.dual_active_set import program_size
from ..maths.rotations import Array
from ..problem import IkProblem
from ..tasks import EndEffectorPatternTask, OrientationPatternTask, Task
from ..tasks.base import JointTask
from ..tasks.packing import PackedGoals
from .layouts import JACOBIAN, PROBLEM, SEARCH

# The fields of PROBLEM about closed forms, for problems without one.
NO_PLAN: dict[str, NDArray[Any]] = {
    'plan': np.empty(0, np.int64),
    'guess_numbers': np.empty((0, 12)),
    'restart_numbers': np.empty((0, 12)),
}


class ProblemRecords:
    """A problem as kernels see it: `constants`, the record PROBLEM."""

    keeps_constraints: ClassVar[bool] = False
    """Whether the search keeps linear constraints."""

    def __init__(self, problem: IkProblem, options: Any) -> None:
        if not self.keeps_constraints:
            problem.check_without_constraints()
        self.problem, self._options = problem, options
        self._joint_tasks, patterns, self._others = sorted_tasks(problem.other_tasks)
        self._tasks = Callback(self._evaluate_others) if self._others else None
        self._valid = Callback(self._ask_user) if problem.valid is not None else None
        self._is_first = False  # whether the other tasks' rows are the first of a search
        self.packed = packed_with(problem, patterns)
        self._make_records(0)

    def _make_records(self, other_rows: int) -> None:
        """Make all records, for this number of rows of tasks without a kernel."""
        packed, problem, options = self.packed, self.problem, self._options
        plan = self._plan
        arrays = {
            'tree': packed.tree,
            'geometry': packed.geometry,
            'table': packed.table,
            'tools': packed.tools,
            'columns': np.array(problem.variables, np.int64),
            'bounds': problem.limits.packed,
            'frozen': np.array(packed.frozen, np.int64),
            **plan,
        }
        self._sizes = {
            'joints': len(problem.variables),
            'goal_rows': packed.rows,
            'other_rows': other_rows,
            'bodies': len(packed.tree),
            'goals': len(packed.parts),
            'frozen_count': len(packed.frozen),
            'plan_size': len(plan['plan']),
            'plan_rows': len(plan['guess_numbers']),
            'robot_joints': problem.robot.n if problem.avoids else 0,
        }
        self.constants = record = PROBLEM.make(self._sizes, arrays=arrays)
        record['weighed'] = bool(problem.other_tasks)
        record['restarts'] = allowed_restarts(problem, options.restarts)
        record['max_iterations'] = options.max_iterations
        record['relative_change'] = options.relative_change
        record['tasks'] = 0 if self._tasks is None else self._tasks.address
        record['valid'] = 0 if self._valid is None else self._valid.address
        self._tolerances: tuple[float, float] | None = None
        self.note_tolerances()

    @property
    def _plan(self) -> dict[str, NDArray[Any]]:
        """Fields of PROBLEM about the closed form that attempts may begin at."""
        return NO_PLAN

    def note_tolerances(self) -> None:
        """Pack the problem's tolerances again if they have changed."""
        if self._tolerances is not self.problem.tolerances:
            self._tolerances = self.problem.tolerances
            self._pack_tolerances()

    def _pack_tolerances(self) -> None:
        problem = self.problem
        # none where kernels would take patterns for goals; see `judged`
        position = problem.position_tolerance if self.packed is problem.packed else -1.0
        self.constants['tolerance'] = position, problem.orientation_tolerance

    def load_tasks(self, q: Array) -> None:
        """Read the tasks beside the goals again, for a search from q (n,)."""
        problem, packed = self.problem, self.packed
        if not problem.other_tasks:
            return
        if packed is not problem.packed:
            packed.load(q)
        if self._others:
            rows = len(problem.evaluator.rows_of(self._others, q[problem.columns])[0])
            if rows != self.constants['other_rows']:
                self._make_records(rows)
            self._is_first = True
        constant, own = packed.constant, self.constants
        if self._joint_tasks:
            own['weights'], own['rests'], more = problem_joint_rows(problem, self._joint_tasks, q)
            constant += more
        own['joint_cost'], own['failed'] = constant, 0

    def _evaluate_others(self) -> None:
        """Evaluate tasks without a kernel, or their Jacobian; the kernels call this back."""
        own = self.constants
        wants_jacobian = bool(own['wanted'] == JACOBIAN)
        found = rows_of(
            self.problem, self._others, own['asked'], len(own['found']), wants_jacobian,
            self._is_first,
        )  # fmt: skip
        self._is_first = False
        if wants_jacobian:
            own['found'] = found
        else:
            own['found'][:, 0] = found

    def _ask_user(self) -> None:
        """Ask the user's own check about a configuration; the kernels call this back."""
        valid, own = self.problem.valid, self.constants
        assert valid is not None
        own['is_valid'] = bool(valid(own['row'].copy()))

    def check(self) -> None:
        """Raise the error that a callback raised, if any."""
        for callback in (self._tasks, self._valid):
            if callback is not None:
                callback.check()

    def fail(self) -> NoReturn:
        """Raise the error of a callback in this search; another one if it was raised before."""
        self.check()
        raise RuntimeError('a task, or `valid`, raised an error in this search; begin another')


class SearchRecords(ProblemRecords):
    """Records of a search in the shared loop.

    `search`: the record SEARCH. `rows`: the number of rows of the search's residual."""

    _method: Callback | None = None

    def _make_records(self, other_rows: int) -> None:
        super()._make_records(other_rows)
        n = len(self.problem.variables)
        joint_rows = n if self._joint_tasks else 0
        self.rows = rows = self.packed.rows + joint_rows + other_rows
        self._sizes |= {
            'rows': rows,
            'joint_rows': joint_rows,
            'size': max(n, rows),
            'constraints': self.constraint_rows,
            'program_size': program_size(n, self.constraint_rows),
        }
        self.search = SEARCH.make(self._sizes, arrays={'target': self.packed.targets})
        self.search['problem'] = self.constants
        self._counters = self.search.words('phase', 'method_wanted')

    @property
    def constraint_rows(self) -> int:
        """Number of rows of constraints beside the limits."""
        return len(self.problem.constraints)

    def start_at(self, q: Array) -> None:
        """Restart the search at q (n,), for targets that the problem has loaded."""
        self.load_tasks(q)
        self.note_tolerances()
        self._counters[:] = 0
        if self._joint_tasks:
            self.search['joint_scales'] = np.sqrt(self.constants['weights'])
        self.search['x'] = q[self.problem.columns]

    def call_back_by(self, function: Callable[[], None]) -> None:
        """Set the function that kernels call back by `search.method`."""
        self._method = Callback(function)
        self.search['method'] = self._method.address

    def check(self) -> None:
        if self._method is not None:
            self._method.check()
        super().check()


def allowed_restarts(problem: IkProblem, restarts: int) -> int:
    """Return the restarts that a search makes after failed attempts: 0 with weighed tasks.

    Weighed against other tasks, a goal that is not met is a compromise, not a failure.
    """
    return 0 if problem.other_tasks else restarts


def rows_of(
    problem: IkProblem,
    tasks: Sequence[Task],
    x: Array,
    rows: int,
    wants_jacobian: bool,
    begins: bool = False,
) -> Array:
    """Return the residual (rows,) of tasks at variables x, or their Jacobian (rows, variables).

    begins : check both, as `TaskRows.both` does

    Raises UnsupportedProblem if the number of rows has changed.
    """
    if begins:
        found = problem.evaluator.rows_of(tasks, x, begins)[wants_jacobian]
    elif wants_jacobian:
        found = problem.evaluator.jacobian_of(tasks, x)
    else:
        found = problem.evaluator.residual_of(tasks, x)
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
    """Tasks about single joints and patterns of links, which have kernels; and all others."""

    joints: list[JointTask]
    patterns: list[LinkPattern]
    others: list[Task]


def sorted_tasks(tasks: Sequence[Task]) -> SortedTasks:
    """Sort tasks other than goals, keeping their order."""
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
    """Return the problem's packed goals, with these patterns after them."""
    if not patterns:
        return problem.packed
    variables, length = problem.variables, problem.orientation_length
    return PackedGoals(problem.robot, problem.goals, variables, length, patterns)


def problem_joint_rows(
    problem: IkProblem, tasks: list[JointTask], q: Array
) -> tuple[Array, Array, float]:
    """Return W (variables,), C (variables,) and a constant: W (x - C)^2 + constant is the cost.

    That is sum s^2 (x - c)^2 over the rows of all tasks. The constant includes the cost of joints
    that are no variables, at their values in q (n,).
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
