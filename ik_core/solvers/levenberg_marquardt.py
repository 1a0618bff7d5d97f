"""Levenberg-Marquardt inside the joint limits, with restarts: one resumable compiled loop.

Each iteration minimises the damped linear model |r + J dx|^2 + mu |dx|^2 inside the box of the
limits. The damping mu = nu |r|^2 falls with the squared error, so convergence is quadratic
where a goal can be reached ([YamashitaFukushima2001], [Sugihara2011]), and nu follows the
ratio of actual to predicted decrease [Nielsen1999], so the cost never rises and the loop
ends at a stationary point where a goal can't be reached.

The limits are part of the step: joints that would leave their range are put on the limit, their
columns are dropped, the residual is corrected by what they did move, and the remaining joints are
solved for again (`linalg.bounded_step`). Of the two equivalent systems ([Buss2009] Eq. 10 and 11)
the smaller is factored: (J J' + mu I) with as many rows as the goals, or (J'J + mu I) over the
free joints.

An attempt that stops improving is left for a random configuration. When none reaches the
goals, the best of them are followed to their stationary points, with the exact Hessian in the
place of J'J: Gauss-Newton converges slowly where the residual stays large.

Tasks about the joints themselves (`JointTask`) are in the model as they are; being a compromise,
a problem with such tasks is solved to its stationary point from the start alone. With other
tasks weighed against the goals the same method runs uncompiled, in the shared loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .._jit import COMPILED
from ..maths.linalg import bounded_step
from ..maths.rotations import Array
from ..optim.search import Budget, Clock, Search, SearchOptions, State
from ..options import option
from ..problem import Evaluation, IkProblem
from ..result import IkResult, IkStatus
from ..tasks import JointTask
from .base import IterativeSolver
from .damped_search import memory
from .damped_search.memory import part_ends, search_arrays
from .damped_search.model import cap_step, damping_factor, predicted_decrease
from .damped_search.search import FOREVER, conclude, run

STATUSES = {
    memory.REACHED: IkStatus.REACHED,
    memory.CLOSEST: IkStatus.CLOSEST,
    memory.STALLED: IkStatus.STALLED,
    memory.EXHAUSTED: IkStatus.ITERATION_LIMIT,
}


@dataclass(frozen=True)
class LevenbergMarquardtOptions(SearchOptions):
    """Options of `levenberg_marquardt`."""

    restarts: int = option(
        100, 'further attempts from random configurations where one fails', bounds=(0, 10**6)
    )
    patience: int = option(
        5, 'iterations without a clear drop of the cost before a restart', bounds=(1, 10**6)
    )
    max_step: float = option(
        1.0, 'largest move of a joint in an iteration', unit='rad or m', bounds=(1e-6, np.inf)
    )
    damping: float = option(
        0.1, 'initial damping, relative to the squared error', bounds=(0.0, 1e6)
    )


@dataclass(eq=False, kw_only=True)
class DampedState(State):
    """With the damping relative to the cost."""

    nu: float


class LevenbergMarquardt(IterativeSolver[DampedState]):
    """See the module. The default solver everywhere."""

    name: ClassVar[str] = 'levenberg_marquardt'
    Options: ClassVar = LevenbergMarquardtOptions

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._workspace: Workspace | None = None

    def solve(
        self, problem: IkProblem, q0: ArrayLike | None = None, budget: Budget | None = None
    ) -> IkResult:
        """As every solver's; what needs no second look at anything is one call of the kernel."""
        if budget is None and not problem.secondary and not self.options.record_history:
            workspace = self._workspace_for(problem)
            if workspace is not None:
                return workspace.solve(q0, self.clock)
        return super().solve(problem, q0, budget)

    def _search(self, problem: IkProblem, q0: ArrayLike | None) -> Search:
        workspace = self._workspace_for(problem)
        if workspace is None:
            return super()._search(problem, q0)
        return _CompiledSearch(q0, self.clock, self.options, workspace)

    def _workspace_for(self, problem: IkProblem) -> Workspace | None:
        """The buffers for a problem; None where it has tasks that the kernel does not know."""
        workspace = self._workspace
        if workspace is None or workspace.problem is not problem:
            if not all(isinstance(task, JointTask) for task in problem.other_tasks):
                return None
            workspace = self._workspace = Workspace(problem, self.options)
        return workspace

    def start(self, problem: IkProblem, at: Evaluation) -> DampedState:
        """The state of the uncompiled loop, for tasks that the kernel does not know."""
        return DampedState(at, nu=self.options.damping)

    def step(self, problem: IkProblem, state: DampedState) -> DampedState:
        """One iteration of the uncompiled loop: the damping rises until the cost falls."""
        at, nu, growth = state.at, state.nu, 2.0
        for tries in range(1, 40):
            dx, decrease = self._bounded_step(problem, at, nu * at.cost)
            trial = problem.at(problem.limits.project(at.x + dx))
            if trial.cost < at.cost:
                nu *= damping_factor(at.cost - trial.cost, decrease)
                return DampedState(trial, tries, nu=nu)
            if np.max(np.abs(trial.x - at.x)) < 1e-13:
                break
            nu, growth = max(nu, 1e-9) * growth, 2.0 * growth
        return DampedState(at, tries, nu=nu)

    def _bounded_step(self, problem: IkProblem, at: Evaluation, mu: float) -> tuple[Array, float]:
        """The capped step inside the limits, and the decrease of the cost that it promises."""
        columns = np.ascontiguousarray(at.jacobian.T)
        n, m = columns.shape
        size = max(m, n)
        hessian, normal = np.empty((n, n)), np.empty((size, size))
        gradient, dx, held, rhs = columns @ at.residual, np.empty(n), np.empty(n), np.empty(size)
        bounded_step(
            columns,
            at.residual,
            gradient,
            hessian,
            False,
            mu,
            at.x,
            problem.limits.packed,
            dx,
            held,
            normal,
            rhs,
        )
        cap_step(dx, self.options.max_step)
        return dx, predicted_decrease(columns, hessian, False, gradient, dx)


class Workspace:
    """The arrays of the compiled search for one problem.

    `arguments` are those of `damped_search`, but for the last. `start` (variables,) is where a
    search begins once the counters are 0; afterwards there are `answer` (variables,) and `errors`
    (G, 2).
    """

    def __init__(self, problem: IkProblem, options: LevenbergMarquardtOptions) -> None:
        self.problem = problem
        packed, n = problem.packed, len(problem.variables)
        ends = part_ends(len(packed.tree), len(packed.goals), packed.rows, n)
        self.counters = np.zeros(memory.COUNTERS, np.int64)
        self.arguments = (
            packed.tree,
            packed.geometry,
            packed.table,
            packed.tools,
            packed.targets,
            problem.limits.packed,
            self.counters,
            np.zeros(ends[-1]),
        )
        arrays = search_arrays(*self.arguments)
        self.options, self.values, self.vectors = arrays.options, arrays.values, arrays.vectors
        self.errors = arrays.p.errors
        self.start, self.answer = self.vectors[memory.START], self.vectors[memory.ANSWER]
        self._note_options(options)

    def _note_options(self, options: LevenbergMarquardtOptions) -> None:
        weighed = bool(self.problem.other_tasks)
        own = self.options
        self._note_tolerances()
        own[memory.RESTARTS] = 0 if weighed else options.restarts
        own[memory.SEED] = options.random_seed
        own[memory.MAX_ITERATIONS] = options.max_iterations
        own[memory.PATIENCE] = options.patience
        own[memory.MAX_STEP] = options.max_step
        own[memory.DAMPING] = options.damping
        own[memory.WEIGHED] = weighed

    def _note_tolerances(self) -> None:
        self.options[memory.POSITION_TOLERANCE] = self.problem.position_tolerance
        self.options[memory.ORIENTATION_TOLERANCE] = self.problem.orientation_tolerance

    def load(self, q0: ArrayLike | None) -> Array:
        """Read the targets and the start; return the whole start (n,)."""
        problem = self.problem
        q = problem.load(q0)
        self.start[:] = q[problem.columns]
        self.counters.fill(0)
        self._note_tolerances()
        if problem.other_tasks:
            self._load_joint_tasks(q)
        return q

    def solve(self, q0: ArrayLike | None, clock: Clock) -> IkResult:
        """A whole solve, without a budget."""
        started = clock()
        q = self.load(q0)
        run(*self.arguments, FOREVER)
        return self.result(q, clock() - started)

    def result(
        self,
        q: Array,
        solve_time: float,
        limited_by: IkStatus = IkStatus.ITERATION_LIMIT,
        history: tuple[float, ...] = (),
    ) -> IkResult:
        """What was concluded, with the answer written into the start q (n,)."""
        counters, errors = self.counters.tolist(), self.errors.copy()
        q[self.problem.columns] = self.answer
        return IkResult(
            q,
            STATUSES.get(counters[memory.ANSWER_STATUS], limited_by),
            errors[:, 0],
            errors[:, 1],
            self.values.item(memory.ANSWER_COST),
            counters[memory.ITERATIONS],
            counters[memory.EVALUATIONS],
            counters[memory.ATTEMPT],
            solve_time,
            history,
        )

    def _load_joint_tasks(self, q: Array) -> None:
        """One row for each joint: sum s^2 (x - c)^2 = W (x - C)^2 + a constant."""
        problem = self.problem
        tasks = [task for task in problem.other_tasks if isinstance(task, JointTask)]
        rows = [row for task in tasks for row in task.joint_rows(problem.robot)]
        squares = np.array([scale * scale for scale, _ in rows])
        centres = np.array([rest for _, rest in rows])
        weights = squares.sum(axis=0)
        rest = (squares * centres).sum(axis=0) / np.where(weights > 0.0, weights, 1.0)
        self.vectors[memory.WEIGHTS] = weights[problem.variables]
        self.vectors[memory.REST] = rest[problem.variables]
        away = q - rest
        away[problem.variables] = 0.0  # what the others cost does not change
        constant = (squares * (centres - rest) ** 2).sum() + weights @ (away * away)
        self.values[memory.JOINT_COST] = constant


class _CompiledSearch(Search):
    """A solve whose loop is the kernel, called for some iterations at a time."""

    iterations_per_clock_look = 64 if COMPILED else 4

    def __init__(
        self,
        q0: ArrayLike | None,
        clock: Clock,
        options: LevenbergMarquardtOptions,
        workspace: Workspace,
    ) -> None:
        self.problem = workspace.problem
        self.clock = clock
        self.q0 = workspace.load(q0)
        self.status = None
        self.solve_time = 0.0
        self.workspace = workspace
        self.options = options
        self.history: list[float] = []

    def iterate_until(self, deadline: float | None, iterations: int | None) -> None:
        left = FOREVER if iterations is None else iterations
        look = FOREVER if deadline is None else self.iterations_per_clock_look
        if self.options.record_history:
            look = 1
        counters = self.workspace.counters
        while self.status is None:
            late = deadline is not None and self.clock() >= deadline
            if late and counters[memory.PHASE] == memory.STEP:
                self.limited_by = IkStatus.TIME_LIMIT
                return
            chunk = min(left, look)
            self.status = STATUSES.get(run(*self.workspace.arguments, chunk))
            left -= chunk
            if self.options.record_history and counters[memory.ITERATIONS] > len(self.history):
                self.history.append(float(self.workspace.values[memory.COST]))
            if left <= 0:
                return

    def result(self) -> IkResult:
        """The best so far."""
        if not self.done:
            conclude(*self.workspace.arguments)
        history = tuple(self.history)
        return self.workspace.result(self.q0.copy(), self.solve_time, self.limited_by, history)
