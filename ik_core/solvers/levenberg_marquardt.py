"""Levenberg-Marquardt inside the joint limits, with restarts: one resumable compiled loop.

Each iteration minimises the damped linear model |r + J dx|^2 + mu |dx|^2 inside the box of the
limits. The damping mu = nu |r|^2 falls with the squared error, so convergence is quadratic
where a goal can be reached (Yamashita & Fukushima 2001; Sugihara 2011), and nu follows the
ratio of actual to predicted decrease (Nielsen 1999), so the cost never rises and the loop
ends at a stationary point where a goal can't be reached.

The limits are part of the step: joints that would leave their range are put on the limit,
their columns are dropped, the residual is corrected by what they did move, and the remaining
joints are solved for again. Of the two equivalent systems (Buss Eq. 10 and 11) the smaller is
factored: (J J' + mu I) with as many rows as the goals, or (J'J + mu I) over the free joints.

An attempt that stops improving is left for a random configuration; when no attempt reaches
the goals, the best one is followed to its stationary point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .._jit import COMPILED, njit
from ..driver import STATIONARY, Clock, DriverOptions, Search
from ..kinematics import body_frames
from ..limits import random_configuration
from ..linalg import cholesky_solve
from ..options import option
from ..problem import IkProblem
from ..result import IkResult, IkStatus
from ..rotations import Array, IntArray
from ..tasks.kernels import goal_jacobian, goal_residuals
from .base import Solver

# counters (8,) int
PHASE, STATUS, ATTEMPT, ITERATIONS, EVALUATIONS, STAGNANT, ATTEMPT_ITERATIONS, LAST_ATTEMPT = (
    range(8)
)
# phases: an attempt is to begin at x, or is under way
BEGIN, STEP = 0, 1
# statuses that the kernel tells apart
RUNNING, REACHED, CLOSEST, STALLED, EXHAUSTED = range(5)
# values (6,) float: cost at x, of the best attempt, at the last clear drop; nu and its growth
COST, BEST_COST, MARK, NU, GROWTH, BEST_STATUS = range(6)
# vectors (6, variables) float
X, TRIAL, BEST, DX, HELD, GRADIENT = range(6)
# options (8,) float
(POSITION_TOLERANCE, ORIENTATION_TOLERANCE, RESTARTS, SEED, MAX_ITERATIONS, PATIENCE, MAX_STEP,
 DAMPING) = range(8)  # fmt: skip

CLEAR_DROP = 0.9
"""The cost must fall to this share within `patience` iterations, or the attempt is left."""

STATUSES = {
    REACHED: IkStatus.REACHED,
    CLOSEST: IkStatus.CLOSEST,
    STALLED: IkStatus.STALLED,
    EXHAUSTED: IkStatus.ITERATION_LIMIT,
}


@dataclass(frozen=True)
class LevenbergMarquardtOptions(DriverOptions):
    """Options of `levenberg_marquardt`."""

    restarts: int = option(
        100, 'further attempts from random configurations where one fails', bounds=(0, 10**6)
    )
    patience: int = option(
        6, 'iterations without a clear drop of the cost before a restart', bounds=(1, 10**6)
    )
    max_step: float = option(1.0, 'largest move of a joint in an iteration', unit='rad or m',
                             bounds=(1e-6, np.inf))  # fmt: skip
    damping: float = option(0.1, 'initial damping, relative to the squared error',
                            bounds=(0.0, 1e6))  # fmt: skip


class LevenbergMarquardt(Solver):
    """See the module. The default solver everywhere."""

    name: ClassVar[str] = 'levenberg_marquardt'
    Options: ClassVar = LevenbergMarquardtOptions

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._workspace: _Workspace | None = None

    def _search(self, problem: IkProblem, q0: ArrayLike | None) -> Search:
        if self._workspace is None or self._workspace.problem is not problem:
            self._workspace = _Workspace(problem, self.options)
        return _CompiledSearch(problem, q0, self.clock, self.options, self._workspace)


class _Workspace:
    """The buffers of the kernel for one problem."""

    def __init__(self, problem: IkProblem, options: LevenbergMarquardtOptions) -> None:
        self.problem = problem
        goals = problem.goals
        n, m = len(problem.variables), goals.rows
        self.counters = np.zeros(8, np.int64)
        self.values = np.zeros(6)
        self.vectors = np.zeros((6, n))
        size = 12 * len(goals.tree) + 20 * len(goals.tasks) + 3 * m + n * m + m * m + 9
        self.options = np.array(
            [problem.position_tolerance, problem.orientation_tolerance, options.restarts,
             options.random_seed, options.max_iterations, options.patience, options.max_step,
             options.damping]
        )  # fmt: skip
        self.arguments = (
            goals.tree, goals.geometry, goals.goals, goals.tools, goals.targets,
            problem.limits.packed, self.options, self.counters, self.values, self.vectors,
            np.zeros(size),
        )  # fmt: skip


class _CompiledSearch(Search):
    """A solve whose loop is the kernel, called for some iterations at a time."""

    iterations_per_clock_look = 64 if COMPILED else 4

    def __init__(
        self,
        problem: IkProblem,
        q0: ArrayLike | None,
        clock: Clock,
        options: LevenbergMarquardtOptions,
        workspace: _Workspace,
    ) -> None:
        super().__init__(problem, q0, clock)
        self.workspace = workspace
        self.options = options
        self.history: list[float] = []
        workspace.counters[:] = 0
        workspace.counters[LAST_ATTEMPT] = options.restarts == 0
        workspace.values[BEST_COST] = np.inf
        workspace.vectors[X] = self.x0

    def _run(self, deadline: float | None, iterations: int | None) -> None:
        left = 2**62 if iterations is None else iterations
        look = 2**62 if deadline is None else self.iterations_per_clock_look
        if self.options.record_history:
            look = 1
        counters = self.workspace.counters
        while not self.done:
            if deadline is not None and self.clock() >= deadline and counters[PHASE] != BEGIN:
                self._limited_by = IkStatus.TIME_LIMIT
                return
            chunk = min(left, look)
            code = advance(*self.workspace.arguments, chunk)
            left -= chunk
            self.status = STATUSES.get(code)
            if self.options.record_history:
                self.history.append(float(self.workspace.values[COST]))
            if left <= 0:
                return

    def result(self) -> IkResult:
        """The best so far."""
        counters, values = self.workspace.counters, self.workspace.values
        latest = self.done or values[COST] <= values[BEST_COST]
        x = self.workspace.vectors[X if latest else BEST]
        if counters[EVALUATIONS] == 0:
            x = self.x0
        return self.finish(
            x,
            int(counters[ITERATIONS]),
            int(counters[EVALUATIONS]),
            int(counters[ATTEMPT]),
            tuple(self.history),
        )


@njit
def advance(
    tree: IntArray,
    geometry: Array,
    goals: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    options: Array,
    counters: IntArray,
    values: Array,
    vectors: Array,
    work: Array,
    iterations: int,
) -> int:
    """Run at most so many iterations of the solve that lives in the arrays; return its status.

    The answer is in vectors[X] when the status is not RUNNING.
    """
    bodies, count, m, n = tree.shape[0], goals.shape[0], 0, vectors.shape[1]
    for i in range(count):
        for c in range(3, 9):
            m = max(m, goals[i, c] + 1)
    at = 12 * bodies
    frames = work[:at].reshape(bodies, 12)
    tips = work[at : at + 12 * count].reshape(count, 12)
    at += 12 * count
    raw = work[at : at + 6 * count].reshape(count, 6)
    at += 6 * count
    errors = work[at : at + 2 * count].reshape(count, 2)
    at += 2 * count
    residual, trial_residual, rhs = (
        work[at : at + m],
        work[at + m : at + 2 * m],
        work[at + 2 * m : at + 3 * m],
    )
    at += 3 * m
    columns = work[at : at + n * m].reshape(n, m)
    at += n * m
    normal = work[at : at + m * m].reshape(m, m)
    at += m * m
    rates = work[at : at + 9].reshape(3, 3)
    x, trial, dx = vectors[X], vectors[TRIAL], vectors[DX]

    while counters[STATUS] == RUNNING:
        if counters[PHASE] == BEGIN:
            body_frames(tree, geometry, x, frames)
            values[COST] = goal_residuals(
                frames, goals, tools, targets, tips, raw, errors, residual
            )
            goal_jacobian(
                tree, geometry, frames, goals, tools, targets, tips, raw, 1, rates, columns
            )
            _begin_attempt(options, counters, values)
            if _is_solved(errors, options):
                counters[STATUS] = REACHED
                break
        if iterations <= 0:
            return RUNNING
        iterations -= 1
        counters[ITERATIONS] += 1
        counters[ATTEMPT_ITERATIONS] += 1
        model = _bounded_step(
            columns,
            residual,
            bounds,
            options[MAX_STEP],
            values[NU] * values[COST],
            vectors,
            normal,
            rhs,
        )
        largest = 0.0
        for j in range(n):
            trial[j] = min(max(x[j] + dx[j], bounds[0, j]), bounds[1, j])
            largest = max(largest, abs(trial[j] - x[j]))
        body_frames(tree, geometry, trial, frames)
        cost = goal_residuals(frames, goals, tools, targets, tips, raw, errors, trial_residual)
        counters[EVALUATIONS] += 1
        ended = RUNNING
        if cost < values[COST]:
            _accept(cost, model, values)
            x[:] = trial
            residual[:] = trial_residual
            if _is_solved(errors, options):
                counters[STATUS] = REACHED
                break
            goal_jacobian(
                tree, geometry, frames, goals, tools, targets, tips, raw, 1, rates, columns
            )
            if _is_stationary(columns, residual, values[COST], bounds, x):
                ended = CLOSEST
        else:
            values[NU] = max(values[NU], 1e-9) * values[GROWTH]
            values[GROWTH] *= 2.0
            if largest < 1e-13:
                ended = STALLED
                if _is_stationary(columns, residual, values[COST], bounds, x):
                    ended = CLOSEST
        _end_or_restart(ended, bounds, options, counters, values, vectors)
    return counters[STATUS]


@njit
def _begin_attempt(options: Array, counters: IntArray, values: Array) -> None:
    counters[PHASE] = STEP
    counters[EVALUATIONS] += 1
    counters[STAGNANT] = 0
    counters[ATTEMPT_ITERATIONS] = 0
    values[MARK] = values[COST]
    values[NU] = options[DAMPING]
    values[GROWTH] = 2.0


@njit
def _is_solved(errors: Array, options: Array) -> bool:
    for i in range(errors.shape[0]):
        if errors[i, 0] > options[POSITION_TOLERANCE]:
            return False
        if errors[i, 1] > options[ORIENTATION_TOLERANCE]:
            return False
    return True


@njit
def _accept(cost: float, model: float, values: Array) -> None:
    """Nielsen's rule: the damping follows how well the model foretold the decrease."""
    predicted = values[COST] - model
    gain = (values[COST] - cost) / predicted if predicted > 0.0 else 0.0
    values[NU] *= max(1.0 / 3.0, 1.0 - (2.0 * min(gain, 2.0) - 1.0) ** 3)
    values[GROWTH] = 2.0
    values[COST] = cost


@njit
def _is_stationary(columns: Array, residual: Array, cost: float, bounds: Array, x: Array) -> bool:
    """As driver.is_stationary: no column of a free variable leans on the residual."""
    for j in range(columns.shape[0]):
        gradient, square = 0.0, 0.0
        for i in range(columns.shape[1]):
            gradient += columns[j, i] * residual[i]
            square += columns[j, i] * columns[j, i]
        if (x[j] <= bounds[0, j] and gradient > 0.0) or (x[j] >= bounds[1, j] and gradient < 0.0):
            continue
        if gradient * gradient > STATIONARY * STATIONARY * square * cost:
            return False
    return True


@njit
def _end_or_restart(
    ended: int, bounds: Array, options: Array, counters: IntArray, values: Array, vectors: Array
) -> None:
    """End the attempt where it stands still, and then begin the next or the solve's end."""
    if values[COST] < CLEAR_DROP * values[MARK]:
        values[MARK] = values[COST]
        counters[STAGNANT] = 0
    else:
        counters[STAGNANT] += 1
    searching = counters[LAST_ATTEMPT] == 0
    if ended == RUNNING and counters[ATTEMPT_ITERATIONS] >= options[MAX_ITERATIONS]:
        ended = EXHAUSTED
    if ended == RUNNING and not (searching and counters[STAGNANT] >= options[PATIENCE]):
        return
    if values[COST] < values[BEST_COST]:
        values[BEST_COST] = values[COST]
        values[BEST_STATUS] = ended
        vectors[BEST] = vectors[X]
    if not searching:
        counters[STATUS] = ended
    elif counters[ATTEMPT] < options[RESTARTS]:
        counters[ATTEMPT] += 1
        counters[PHASE] = BEGIN
        random_configuration(
            int(options[SEED]), counters[ATTEMPT], bounds[2], bounds[3], vectors[X]
        )
    else:
        vectors[X] = vectors[BEST]
        counters[LAST_ATTEMPT] = 1
        counters[PHASE] = BEGIN
        if values[BEST_STATUS] == CLOSEST:
            counters[STATUS] = CLOSEST


@njit
def _bounded_step(
    columns: Array,
    residual: Array,
    bounds: Array,
    max_step: float,
    mu: float,
    vectors: Array,
    normal: Array,
    rhs: Array,
) -> float:
    """vectors[DX] = the damped step inside the box; returns |r + J dx|^2.

    Joints at a limit that descent would have cross it are held from the start; joints that a
    solution puts outside are put on their limit, and the others are solved for again.
    """
    n, m = columns.shape
    x, dx, held = vectors[X], vectors[DX], vectors[HELD]
    free = n
    for j in range(n):
        gradient = 0.0
        for i in range(m):
            gradient += columns[j, i] * residual[i]
        outward = (x[j] <= bounds[0, j] and gradient > 0.0) or (
            x[j] >= bounds[1, j] and gradient < 0.0
        )
        held[j] = 1.0 if outward else 0.0
        free -= 1 if outward else 0
        dx[j] = 0.0
    while free > 0:
        if free >= m:
            _dual_step(columns, residual, mu, dx, held, normal, rhs)
        else:
            _primal_step(columns, residual, mu, dx, held, normal, rhs)
        before = free
        for j in range(n):
            if held[j] == 0.0:
                bounded = min(max(x[j] + dx[j], bounds[0, j]), bounds[1, j])
                if bounded != x[j] + dx[j]:
                    dx[j] = bounded - x[j]
                    held[j] = 1.0
                    free -= 1
        if free == before:
            break
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(dx[j]))
    scale = max_step / largest if largest > max_step else 1.0
    model = 0.0
    for i in range(m):
        rhs[i] = residual[i]
    for j in range(n):
        dx[j] *= scale
        for i in range(m):
            rhs[i] += columns[j, i] * dx[j]
    for i in range(m):
        model += rhs[i] * rhs[i]
    return model


@njit
def _dual_step(
    columns: Array, residual: Array, mu: float, dx: Array, held: Array, normal: Array, rhs: Array
) -> None:
    """Free dx = -J' (J J' + mu I)^-1 (r + J dx of the held): m x m."""
    n, m = columns.shape
    for i in range(m):
        rhs[i] = residual[i]
        for k in range(i + 1):
            normal[i, k] = 0.0
    for j in range(n):
        c = columns[j]
        if held[j] == 0.0:
            for i in range(m):
                for k in range(i + 1):
                    normal[i, k] += c[i] * c[k]
        elif dx[j] != 0.0:
            for i in range(m):
                rhs[i] += c[i] * dx[j]
    _regularise(normal, mu, m)
    solved = cholesky_solve(normal, rhs, m)
    for j in range(n):
        if held[j] == 0.0:
            s = 0.0
            if solved:
                for i in range(m):
                    s -= columns[j, i] * rhs[i]
            dx[j] = s


@njit
def _primal_step(
    columns: Array, residual: Array, mu: float, dx: Array, held: Array, normal: Array, rhs: Array
) -> None:
    """Free dx = -(J'J + mu I)^-1 J' (r + J dx of the held): as many rows as free joints."""
    n, m = columns.shape
    free = 0
    for j in range(n):
        if held[j] != 0.0:
            continue
        a = 0
        for k in range(j + 1):
            if held[k] == 0.0:
                s = 0.0
                for i in range(m):
                    s += columns[j, i] * columns[k, i]
                normal[free, a] = s
                a += 1
        s = 0.0
        for i in range(m):
            s -= columns[j, i] * residual[i]
        for k in range(n):
            if held[k] != 0.0 and dx[k] != 0.0:
                for i in range(m):
                    s -= columns[j, i] * columns[k, i] * dx[k]
        rhs[free] = s
        free += 1
    _regularise(normal, mu, free)
    solved = cholesky_solve(normal, rhs, free)
    free = 0
    for j in range(n):
        if held[j] == 0.0:
            dx[j] = rhs[free] if solved else 0.0
            free += 1


@njit
def _regularise(normal: Array, mu: float, size: int) -> None:
    """Add the damping, and the little that keeps a singular matrix positive definite."""
    trace = 0.0
    for i in range(size):
        trace += normal[i, i]
    for i in range(size):
        normal[i, i] += mu + 1e-14 * trace
