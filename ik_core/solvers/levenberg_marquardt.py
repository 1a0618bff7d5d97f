"""Levenberg-Marquardt inside the joint limits, with restarts: one resumable compiled loop.

Each iteration minimises the damped linear model |r + J dx|^2 + mu |dx|^2 inside the box of the
limits. The damping mu = nu |r|^2 falls with the squared error, so convergence is quadratic
where a goal can be reached (Yamashita & Fukushima 2001; Sugihara 2011), and nu follows the
ratio of actual to predicted decrease (Nielsen 1999), so the cost never rises and the loop
ends at a stationary point where a goal can't be reached.

The limits are part of the step: joints that would leave their range are put on the limit,
their columns are dropped, the residual is corrected by what they did move, and the remaining
joints are solved for again (`linalg.bounded_step`). Of the two equivalent systems (Buss Eq. 10
and 11) the smaller is factored: (J J' + mu I) with as many rows as the goals, or (J'J + mu I)
over the free joints.

An attempt that stops improving is left for a random configuration. When none reaches the
goals, the best of them are followed to their stationary points, with the exact Hessian in the
place of J'J: Gauss-Newton converges slowly where the residual stays large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .._jit import COMPILED, njit
from ..driver import Clock, DriverOptions, IterativeSearch, Search
from ..kinematics import body_frames
from ..limits import TURN, random_configuration
from ..linalg import (
    STATIONARY,
    bounded_step,
    gauss_newton_hessian,
    is_blocked,
    negative_curvature,
)
from ..options import option
from ..problem import Evaluation, IkProblem
from ..result import IkResult, IkStatus
from ..rotations import Array, IntArray
from ..tasks.kernels import add_curvature, goal_jacobian, goal_residuals
from .base import Solver, State

# counters (9,) int
(
    PHASE,
    STATUS,
    ATTEMPT,
    ITERATIONS,
    EVALUATIONS,
    STAGNANT,
    ATTEMPT_ITERATIONS,
    FINISHING,
    LEAVING,
) = range(9)
# phases: an attempt is to begin at x, or is under way
BEGIN, STEP = 0, 1
# statuses that the kernel tells apart
RUNNING, REACHED, CLOSEST, STALLED, EXHAUSTED = range(5)
# values (6,) float: the cost at x, at the best point, at the last clear drop; nu, its growth
COST, BEST_COST, MARK, NU, GROWTH, BEST_STATUS = range(6)
# vectors (8 + POOL, variables) float
X, TRIAL, BEST, DX, HELD, GRADIENT, DESCENT, POOLED = range(8)
# options (8,) float
(POSITION_TOLERANCE, ORIENTATION_TOLERANCE, RESTARTS, SEED, MAX_ITERATIONS, PATIENCE, MAX_STEP,
 DAMPING) = range(8)  # fmt: skip

POOL = 8
"""How many of the best attempts are followed to their end where none reaches the goals."""

ROUNDING = 1e-13
"""Changes of the cost below this share of it are noise."""

SADDLE_STEP = 0.3
"""First step off a saddle [rad or m]."""
SADDLE_TRIALS = 16

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
        5, 'iterations without a clear drop of the cost before a restart', bounds=(1, 10**6)
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
        if problem.soft:  # residuals that the kernel does not know
            return IterativeSearch(self, problem, q0, self.clock)
        if self._workspace is None or self._workspace.problem is not problem:
            self._workspace = _Workspace(problem, self.options)
        return _CompiledSearch(problem, q0, self.clock, self.options, self._workspace)

    def start(self, problem: IkProblem, at: Evaluation) -> State:
        """The state of the uncompiled loop, for tasks that the kernel does not know."""
        return _DampedState(at, nu=self.options.damping)

    def step(self, problem: IkProblem, state: State) -> State:
        """One iteration of the uncompiled loop: the damping rises until the cost falls."""
        assert isinstance(state, _DampedState)
        at, nu, growth = state.at, state.nu, 2.0
        for tries in range(1, 40):
            dx, decrease = self._bounded_step(problem, at, nu * at.cost)
            trial = problem.at(problem.limits.project(at.x + dx))
            if trial.cost < at.cost:
                nu *= _damping_factor(at.cost - trial.cost, decrease)
                return _DampedState(trial, tries, nu)
            if np.max(np.abs(trial.x - at.x)) < 1e-13:
                break
            nu, growth = max(nu, 1e-9) * growth, 2.0 * growth
        return _DampedState(at, tries, nu)

    def _bounded_step(self, problem: IkProblem, at: Evaluation, mu: float) -> tuple[Array, float]:
        """The capped step inside the limits, and the decrease of the cost that it promises."""
        columns = np.ascontiguousarray(at.jacobian.T)
        n, m = columns.shape
        size = max(m, n)
        hessian, normal = np.empty((n, n)), np.empty((size, size))
        gradient, dx, held, rhs = np.empty(n), np.empty(n), np.empty(n), np.empty(size)
        bounded_step(
            columns, at.residual, hessian, False, mu, at.x, problem.limits.packed,
            gradient, dx, held, normal, rhs,
        )  # fmt: skip
        _cap(dx, self.options.max_step)
        return dx, _predicted_decrease(columns, hessian, False, gradient, dx)


@dataclass(eq=False)
class _DampedState(State):
    nu: float = 0.0


class _Workspace:
    """The buffers of the kernel for one problem."""

    def __init__(self, problem: IkProblem, options: LevenbergMarquardtOptions) -> None:
        self.problem = problem
        goals = problem.goals
        n, m = len(problem.variables), goals.rows
        self.counters = np.zeros(9, np.int64)
        self.values = np.zeros(6)
        self.vectors = np.zeros((POOLED + POOL, n))
        self.pool_costs = np.zeros(POOL)
        size = max(m, n)
        work = 12 * len(goals.tree) + 23 * len(goals.tasks) + 2 * m + size + n * m + n * n
        self.options = np.array(
            [problem.position_tolerance, problem.orientation_tolerance, options.restarts,
             options.random_seed, options.max_iterations, options.patience, options.max_step,
             options.damping]
        )  # fmt: skip
        self.arguments = (
            goals.tree, goals.geometry, goals.goals, goals.tools, goals.targets,
            problem.limits.packed, self.options, self.counters, self.values, self.vectors,
            self.pool_costs, np.zeros(work + size * size + 18),
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
        workspace.options[POSITION_TOLERANCE] = problem.position_tolerance
        workspace.options[ORIENTATION_TOLERANCE] = problem.orientation_tolerance
        workspace.counters[FINISHING] = options.restarts == 0
        workspace.values[BEST_COST] = np.inf
        workspace.values[BEST_STATUS] = STALLED
        workspace.vectors[BEST] = self.x0
        workspace.pool_costs[:] = np.inf
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
            if self.options.record_history and counters[ITERATIONS] > len(self.history):
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
    pool_costs: Array,
    work: Array,
    iterations: int,
) -> int:
    """Run at most so many iterations of the solve that lives in the arrays; return its status.

    The answer is in vectors[X] when the status is not RUNNING.
    """
    frames, tips, raw, errors, residual, trial_residual, rhs, columns, hessian, normal, rates = (
        _carve(work, tree.shape[0], goals.shape[0], _rows(goals), vectors.shape[1])
    )
    x, trial, dx = vectors[X], vectors[TRIAL], vectors[DX]
    while counters[STATUS] == RUNNING:
        if counters[PHASE] == BEGIN:
            body_frames(tree, geometry, x, frames)
            values[COST] = goal_residuals(
                frames, goals, tools, targets, tips, raw, errors, residual
            )
            _begin_attempt(options, counters, values)
            if _is_solved(errors, options):
                counters[STATUS] = REACHED
                break
            goal_jacobian(
                tree, geometry, frames, goals, tools, targets, tips, raw, 1, rates, columns
            )
        if iterations <= 0:
            break
        iterations -= 1
        counters[ITERATIONS] += 1
        counters[ATTEMPT_ITERATIONS] += 1

        # A residual that stays large makes Gauss-Newton slow; then the exact Hessian is worth it.
        leaving = counters[LEAVING] > 0
        exact = counters[FINISHING] > 0 and counters[STAGNANT] >= 2
        if exact and not leaving:
            _exact_hessian(
                tree, geometry, x, frames, goals, tools, targets, tips, raw, errors, residual,
                columns, hessian,
            )  # fmt: skip
        if leaving:
            _leave_saddle(counters, vectors)
        else:
            bounded_step(
                columns, residual, hessian, exact, values[NU] * values[COST], x, bounds,
                vectors[GRADIENT], dx, vectors[HELD], normal, rhs,
            )  # fmt: skip
            _cap(dx, options[MAX_STEP])
        decrease = _predicted_decrease(columns, hessian, exact, vectors[GRADIENT], dx)
        largest = _move(x, dx, bounds, trial)

        body_frames(tree, geometry, trial, frames)
        cost = goal_residuals(frames, goals, tools, targets, tips, raw, errors, trial_residual)
        counters[EVALUATIONS] += 1
        ended = RUNNING
        if cost < values[COST]:
            _accept(cost, decrease, values)
            _copy(trial, x)
            _copy(trial_residual, residual)
            if _is_solved(errors, options):
                counters[STATUS] = REACHED
                break
            goal_jacobian(
                tree, geometry, frames, goals, tools, targets, tips, raw, 1, rates, columns
            )
            counters[LEAVING] = 0
            if _is_stationary(columns, residual, values[COST], bounds, x):
                ended = CLOSEST
        elif leaving:
            counters[LEAVING] += 1
            ended = RUNNING if counters[LEAVING] <= SADDLE_TRIALS else CLOSEST
        elif abs(decrease) < ROUNDING * values[COST]:
            ended = CLOSEST  # what is left to gain is below the rounding of the cost
        elif largest > 1e-13:
            values[NU] = max(values[NU], 1e-9) * values[GROWTH]
            values[GROWTH] *= 2.0
        else:
            ended = STALLED
            if _is_stationary(columns, residual, values[COST], bounds, x):
                ended = CLOSEST
        if ended == CLOSEST and counters[FINISHING] > 0 and not leaving:
            _exact_hessian(
                tree, geometry, x, frames, goals, tools, targets, tips, raw, errors, residual,
                columns, hessian,
            )  # fmt: skip
            if _find_descent(hessian, bounds, vectors, normal, rhs):
                counters[LEAVING] = 1
                ended = RUNNING
        if _is_over(ended, options, counters, values) and not _turned(
            columns, residual, bounds, options, counters, values, x
        ):
            _next_attempt(ended, bounds, options, counters, values, vectors, pool_costs)
    return counters[STATUS]


@njit
def _rows(goals: IntArray) -> int:
    rows = 0
    for i in range(goals.shape[0]):
        for c in range(3, 12):
            rows = max(rows, goals[i, c] + 1)
    return rows


@njit
def _carve(work: Array, bodies: int, goals: int, m: int, n: int) -> tuple[Array, ...]:
    """The kernel's scratch arrays, cut from one: few arguments make a call cheap."""
    size = max(m, n)
    a = 12 * bodies
    b = a + 12 * goals
    c = b + 9 * goals
    d = c + 2 * goals
    e = d + 2 * m + size
    f = e + n * m
    g = f + n * n
    h = g + size * size
    return (
        work[:a].reshape(bodies, 12),
        work[a:b].reshape(goals, 12),
        work[b:c].reshape(goals, 9),
        work[c:d].reshape(goals, 2),
        work[d : d + m],
        work[d + m : d + 2 * m],
        work[d + 2 * m : e],
        work[e:f].reshape(n, m),
        work[f:g].reshape(n, n),
        work[g:h].reshape(size, size),
        work[h : h + 18].reshape(6, 3),
    )


@njit
def _begin_attempt(options: Array, counters: IntArray, values: Array) -> None:
    counters[PHASE] = STEP
    counters[EVALUATIONS] += 1
    counters[STAGNANT] = 0
    counters[ATTEMPT_ITERATIONS] = 0
    counters[LEAVING] = 0
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
def _cap(dx: Array, max_step: float) -> None:
    """ClampMaxAbs: scale the step so that no joint moves by more than max_step."""
    largest = 0.0
    for j in range(dx.shape[0]):
        largest = max(largest, abs(dx[j]))
    if largest > max_step:
        for j in range(dx.shape[0]):
            dx[j] *= max_step / largest


@njit
def _predicted_decrease(
    columns: Array, hessian: Array, exact: bool, gradient: Array, dx: Array
) -> float:
    """How much the model's cost falls over dx: -(2 g'dx + dx'H dx)."""
    n, m = columns.shape
    linear, quadratic = 0.0, 0.0
    for j in range(n):
        linear += gradient[j] * dx[j]
    if exact:
        for j in range(n):
            quadratic += hessian[j, j] * dx[j] * dx[j]
            for k in range(j):
                quadratic += 2.0 * hessian[j, k] * dx[j] * dx[k]
    else:
        for i in range(m):
            s = 0.0
            for j in range(n):
                s += columns[j, i] * dx[j]
            quadratic += s * s
    return -(2.0 * linear + quadratic)


@njit
def _move(x: Array, dx: Array, bounds: Array, trial: Array) -> float:
    """trial = x + dx, inside the bounds to the last bit; returns the largest move."""
    largest = 0.0
    for j in range(x.shape[0]):
        trial[j] = min(max(x[j] + dx[j], bounds[0, j]), bounds[1, j])
        largest = max(largest, abs(trial[j] - x[j]))
    return largest


@njit
def _accept(cost: float, decrease: float, values: Array) -> None:
    """Take over the cost of an accepted step, and the damping that it suggests."""
    values[NU] *= _damping_factor(values[COST] - cost, decrease)
    values[GROWTH] = 2.0
    values[COST] = cost


@njit
def _damping_factor(actual: float, predicted: float) -> float:
    """Nielsen's rule: the damping follows how well the model foretold the decrease."""
    gain = actual / predicted if predicted > 0.0 else 0.0
    return max(1.0 / 3.0, 1.0 - (2.0 * min(gain, 2.0) - 1.0) ** 3)


@njit
def _exact_hessian(
    tree: IntArray,
    geometry: Array,
    x: Array,
    frames: Array,
    goals: IntArray,
    tools: Array,
    targets: Array,
    tips: Array,
    raw: Array,
    errors: Array,
    residual: Array,
    columns: Array,
    hessian: Array,
) -> None:
    """hessian = half that of the cost at x, where `columns` is the Jacobian."""
    body_frames(tree, geometry, x, frames)
    goal_residuals(frames, goals, tools, targets, tips, raw, errors, residual)
    gauss_newton_hessian(columns, hessian)
    add_curvature(tree, geometry, frames, goals, tools, targets, tips, raw, hessian)


@njit
def _find_descent(
    hessian: Array, bounds: Array, vectors: Array, normal: Array, rhs: Array
) -> bool:
    """At a stationary point: vectors[DESCENT] = a way down along negative curvature.

    False at a minimum. Saddles are where arms are stretched out towards or away from a goal.
    Joints on a limit stay there.
    """
    x, held, direction = vectors[X], vectors[HELD], vectors[DESCENT]
    size, trace = 0, 0.0
    for j in range(x.shape[0]):
        held[j] = 0.0 if bounds[0, j] < x[j] < bounds[1, j] else 1.0
        if held[j] == 0.0:
            column = 0
            for k in range(j + 1):
                if held[k] == 0.0:
                    normal[size, column] = hessian[j, k]
                    column += 1
            trace += abs(hessian[j, j])
            size += 1
    for i in range(size):
        normal[i, i] += 1e-7 * trace  # motions that change nothing have no curvature to speak of
    if not negative_curvature(normal, rhs, size):
        return False
    largest = 0.0
    for i in range(size):
        largest = max(largest, abs(rhs[i]))
    size = 0
    for j in range(x.shape[0]):
        direction[j] = 0.0
        if held[j] == 0.0:
            direction[j] = rhs[size] / largest
            size += 1
    return True


@njit
def _leave_saddle(counters: IntArray, vectors: Array) -> None:
    """vectors[DX] = a step along the way down, to one side and the other, ever shorter."""
    trial = counters[LEAVING] - 1
    length = SADDLE_STEP * 0.5 ** (trial // 2)
    if trial % 2 == 1:
        length = -length
    for j in range(vectors.shape[1]):
        vectors[DX, j] = length * vectors[DESCENT, j]


@njit
def _is_stationary(columns: Array, residual: Array, cost: float, bounds: Array, x: Array) -> bool:
    """As driver.is_stationary: no column of a free variable leans on the residual."""
    for j in range(columns.shape[0]):
        gradient, leans = _slope(columns[j], residual, cost)
        if leans and not is_blocked(x[j], bounds[0, j], bounds[1, j], gradient):
            return False
    return True


@njit
def _slope(column: Array, residual: Array, cost: float) -> tuple[float, bool]:
    """Half the cost's derivative by a variable, and whether it is more than nothing."""
    gradient, square = 0.0, 0.0
    for i in range(column.shape[0]):
        gradient += column[i] * residual[i]
        square += column[i] * column[i]
    return gradient, gradient * gradient > STATIONARY * STATIONARY * square * cost


@njit
def _is_over(ended: int, options: Array, counters: IntArray, values: Array) -> bool:
    """Whether the attempt stands still, or has had its iterations; counts stagnant ones."""
    if values[COST] < CLEAR_DROP * values[MARK]:
        values[MARK] = values[COST]
        counters[STAGNANT] = 0
    else:
        counters[STAGNANT] += 1
    if ended != RUNNING or counters[ATTEMPT_ITERATIONS] >= options[MAX_ITERATIONS]:
        return True
    return counters[FINISHING] == 0 and counters[STAGNANT] >= options[PATIENCE]


@njit
def _turned(
    columns: Array,
    residual: Array,
    bounds: Array,
    options: Array,
    counters: IntArray,
    values: Array,
    x: Array,
) -> bool:
    """Turn joints that a limit blocks by a whole turn, where there is room; the attempt goes on.

    The posture stays the same, but the joint is free to move on. Only where restarts are
    allowed: who solves from a start wants the joints near it.
    """
    if options[RESTARTS] == 0 or counters[ATTEMPT_ITERATIONS] >= options[MAX_ITERATIONS]:
        return False
    turned = False
    for j in range(x.shape[0]):
        gradient, pressing = _slope(columns[j], residual, values[COST])
        blocked = is_blocked(x[j], bounds[0, j], bounds[1, j], gradient)
        if blocked and pressing and bounds[4, j] > 0.0:
            x[j] += TURN if gradient > 0.0 else -TURN
            x[j] = min(max(x[j], bounds[0, j]), bounds[1, j])
            turned = True
    if turned:
        counters[STAGNANT] = 0
        values[NU] = options[DAMPING]
        values[GROWTH] = 2.0
    return turned


@njit
def _next_attempt(
    ended: int,
    bounds: Array,
    options: Array,
    counters: IntArray,
    values: Array,
    vectors: Array,
    pool_costs: Array,
) -> None:
    """After an attempt: search on, or finish the best attempts, or end."""
    searching = counters[FINISHING] == 0
    if ended == RUNNING:
        ended = EXHAUSTED
    if values[COST] < values[BEST_COST]:
        values[BEST_COST] = values[COST]
        values[BEST_STATUS] = ended
        _copy(vectors[X], vectors[BEST])
    counters[PHASE] = BEGIN
    if searching:
        _pool(values[COST], vectors, pool_costs)
        if counters[ATTEMPT] < options[RESTARTS]:
            counters[ATTEMPT] += 1
            random_configuration(
                int(options[SEED]), counters[ATTEMPT], bounds[2], bounds[3], vectors[X]
            )
            return
        values[BEST_COST] = np.inf
    following = counters[FINISHING]
    if following < POOL and pool_costs[following] < np.inf:
        _copy(vectors[POOLED + following], vectors[X])
        counters[FINISHING] += 1
    else:
        _copy(vectors[BEST], vectors[X])
        counters[STATUS] = int(values[BEST_STATUS])


@njit
def _pool(cost: float, vectors: Array, pool_costs: Array) -> None:
    """Keep x among the best attempts, sorted by cost."""
    place = POOL
    while place > 0 and cost < pool_costs[place - 1]:
        place -= 1
    for i in range(POOL - 1, place, -1):
        pool_costs[i] = pool_costs[i - 1]
        _copy(vectors[POOLED + i - 1], vectors[POOLED + i])
    if place < POOL:
        pool_costs[place] = cost
        _copy(vectors[X], vectors[POOLED + place])


@njit
def _copy(source: Array, target: Array) -> None:
    """target[:] = source; the loop compiles in a tenth of the time of the slice."""
    for i in range(source.shape[0]):
        target[i] = source[i]
