"""The arrays of a search in the shared loop, for a method of kernels or one written in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .._jit import Callback
from ..maths.rotations import Array, IntArray
from ..problem import Evaluation, IkProblem
from ..result import IkResult, IkStatus
from ..tasks import JointTask
from . import memory
from .loop import STARTING, Kernel, call_start, call_step, method_loop
from .memory import memory_size, search_arrays
from .search import SearchOptions, Workspace

STATUSES = {
    memory.REACHED: IkStatus.REACHED,
    memory.CLOSEST: IkStatus.CLOSEST,
    memory.STALLED: IkStatus.STALLED,
    memory.EXHAUSTED: IkStatus.ITERATION_LIMIT,
}


class MethodWorkspace(Workspace):
    """The arrays of a method's search for one problem.

    `own` : the method's options, as numbers; `prepare` fills the method's own arrays where a
    search begins; `integers` are further numbers of the method's. `arguments` are those of the
    kernels, but for the last; `vectors` and the others are parts of the memory by their names.
    """

    def __init__(
        self,
        problem: IkProblem,
        options: SearchOptions,
        name: str,
        start: Kernel,
        step: Kernel,
        own: tuple[float, ...] = (),
        prepare: Callable[[MethodWorkspace], None] = lambda workspace: None,
        integers: IntArray | None = None,
    ) -> None:
        self.problem = problem
        self._prepare = prepare
        self._method: Callback | None = None
        self._integers = np.empty(0, np.int64) if integers is None else integers.ravel()
        self._options = options
        self._own = own
        self._joint_tasks = [t for t in problem.other_tasks if isinstance(t, JointTask)]
        self._others = [t for t in problem.other_tasks if not isinstance(t, JointTask)]
        self._callback = Callback(self._evaluate_others) if self._others else None
        self.loop = method_loop(name, start, step)
        self._make_arrays(0)

    def _make_arrays(self, other_rows: int) -> None:
        """All arrays, for so many rows of tasks that no kernel knows."""
        problem, packed = self.problem, self.problem.packed
        n = len(problem.variables)
        self._sizes = (packed.rows, n if self._joint_tasks else 0, other_rows)
        self.counters = np.zeros(memory.COUNTERS + len(self._integers), np.int64)
        self._reset_counters()
        size = memory_size(len(packed.tree), len(packed.goals), sum(self._sizes), n)
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
        self._note_options()

    def _reset_counters(self) -> None:
        self.counters[: memory.COUNTERS] = 0
        self.counters[memory.COUNTERS :] = self._integers
        self.counters[memory.GOAL_ROWS : memory.OTHER_ROWS + 1] = self._sizes
        if self._callback is not None:
            self.counters[memory.TASKS] = self._callback.address

    def _note_options(self) -> None:
        options, own = self._options, self.arrays.options
        weighed = bool(self.problem.other_tasks)
        self._note_tolerances()
        # Weighed against other tasks, a goal that is not met is a compromise, not a failure.
        own[memory.RESTARTS] = 0 if weighed else options.restarts
        own[memory.SEED] = options.random_seed
        own[memory.MAX_ITERATIONS] = options.max_iterations
        own[memory.WEIGHED] = weighed
        own[memory.RELATIVE_CHANGE] = options.relative_change
        own[memory.OWN_OPTIONS : memory.OWN_OPTIONS + len(self._own)] = self._own

    def _note_tolerances(self) -> None:
        own = self.arrays.options
        own[memory.POSITION_TOLERANCE] = self.problem.position_tolerance
        own[memory.ORIENTATION_TOLERANCE] = self.problem.orientation_tolerance

    def load(self, q0: ArrayLike | None) -> Array:
        """See Workspace."""
        problem = self.problem
        q = problem.load(q0)
        if self._others:
            rows = len(problem.rows_of(self._others, q[problem.variables])[0])
            if rows != self._sizes[-1]:
                self._make_arrays(rows)
        self._reset_counters()
        self._note_tolerances()
        self.vectors[memory.START] = q[problem.columns]
        if self._joint_tasks:
            self._load_joint_tasks(q)
        self._prepare(self)
        return q

    def _load_joint_tasks(self, q: Array) -> None:
        weights, rests, constant = problem_joint_rows(self.problem, self._joint_tasks, q)
        self.vectors[memory.JOINT_SCALES] = np.sqrt(weights)
        self.vectors[memory.JOINT_RESTS] = rests
        self.values[memory.JOINT_COST] = constant

    def _evaluate_others(self) -> None:
        """What the callback does: the rows that no kernel knows, or their Jacobian."""
        residual, jacobian = self.problem.rows_of(self._others, self.vectors[memory.ASKED])
        first = self._sizes[0] + self._sizes[1]
        if self.counters[memory.WANTED] == memory.RESIDUAL_ROWS:
            self.arrays.work[first:, 0] = residual
        else:
            self.arrays.work[first:] = jacobian

    def run(self, iterations: int) -> IkStatus | None:
        """See Workspace."""
        status = self.loop.run(*self.arguments, iterations)
        if status == memory.FAILED:
            self._raise()
        return STATUSES.get(status)

    def conclude(self) -> None:
        """See Workspace."""
        self.loop.conclude(*self.arguments)
        if self.counters[memory.ANSWER_STATUS] == memory.FAILED:
            self._raise()

    def call_back_by(self, function: Callable[[], None]) -> None:
        """What the method's kernels call back: counters[METHOD]."""
        self._method = Callback(function)
        self.counters[memory.METHOD] = self._method.address

    def _raise(self) -> None:
        """Raise what a callback raised."""
        for callback in (self._method, self._callback):
            if callback is not None:
                callback.check()

    def result(
        self,
        q: Array,
        solve_time: float,
        limited_by: IkStatus = IkStatus.ITERATION_LIMIT,
        history: tuple[float, ...] = (),
    ) -> IkResult:
        """See Workspace."""
        counters, errors = self.counters.tolist(), self.arrays.p.errors.copy()
        q[self.problem.columns] = self.vectors[memory.ANSWER]
        return IkResult(
            q,
            self._status(STATUSES.get(counters[memory.ANSWER_STATUS], limited_by)),
            errors[:, 0],
            errors[:, 1],
            self.values.item(memory.ANSWER_COST),
            counters[memory.ITERATIONS],
            counters[memory.EVALUATIONS],
            counters[memory.ATTEMPT],
            solve_time,
            history,
        )

    def _status(self, status: IkStatus) -> IkStatus:
        """Without a goal to reach, the least cost is what was asked for."""
        if status is IkStatus.CLOSEST and not self.problem.goals:
            return IkStatus.LEAST
        return status

    @property
    def cost(self) -> float:
        """See Workspace."""
        return self.values.item(memory.COST)

    @property
    def between_attempts(self) -> bool:
        """See Workspace."""
        return self.counters.item(memory.PHASE) != memory.STEP

    def memory(self) -> Any:
        """See Workspace."""
        return self.arrays.goals.copy() if self.counters[memory.PHASE] == memory.STEP else None

    def resume(self, memory_: Any) -> None:
        """See Workspace."""
        self.arrays.goals[:] = memory_
        self.counters[memory.RESUMED] = 1


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


# --- methods written in Python -----------------------------------------------------------------


@dataclass(eq=False)
class State:
    """Where a method written in Python stands; `evaluations` counts those of the last step."""

    at: Evaluation
    evaluations: int = 1

    def resume(self, last: Any) -> None:
        """At a start: take over what the method remembers of `last`, a state of its kind."""


StateT = TypeVar('StateT', bound=State)


class Method(Protocol[StateT]):
    """A method written in Python is its start and its step."""

    options: Any

    def start(self, problem: IkProblem, at: Evaluation) -> StateT:
        """The state at the start of an attempt."""

    def step(self, problem: IkProblem, state: StateT) -> StateT:
        """One iteration: a new state, evaluated, with its variables inside the limits."""


class PythonWorkspace(MethodWorkspace, Generic[StateT]):
    """The arrays of a search whose method is written in Python; the loop calls it back."""

    def __init__(self, problem: IkProblem, method: Method[StateT]) -> None:
        self.method = method
        self.state: StateT | None = None
        self._last: StateT | None = None
        super().__init__(
            problem, method.options, 'python', call_start, call_step, prepare=self._begin
        )

    def _begin(self, workspace: MethodWorkspace) -> None:
        self.call_back_by(self._go_on)
        self.state = self._last = None

    def _go_on(self) -> None:
        """What the callback does: the method's start, or its step."""
        if self.counters[memory.METHOD_WANTED] == STARTING or self.state is None:
            at = self.problem.at(self.vectors[memory.X].copy())
            self.state = self.method.start(self.problem, at)
            if self._last is not None:
                self.state.resume(self._last)
            self._last = None
        else:
            self.state = self.method.step(self.problem, self.state)
            self.counters[memory.EVALUATIONS] += self.state.evaluations - 1
            self.vectors[memory.X] = self.state.at.x

    def memory(self) -> StateT | None:
        """See Workspace."""
        return self.state

    def resume(self, memory_: StateT) -> None:
        """See Workspace."""
        self._last = memory_
