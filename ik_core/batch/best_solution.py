# SPDX-License-Identifier: Apache-2.0
"""Choice among solutions: the nearest, the farthest from the limits, the most manipulable.

These are the solve types of TRAC-IK [BeesonAmes2015]: many searches from scattered starts, limited
by a budget; the best solution by a criterion is returned. A redundant arm has a continuum of
solutions, of which searches find random ones: its best solution is then improved in the null space
of the goals, with the criterion as the secondary task (`optim.null_space`). This reduces distances
by some per cent; manipulability would gain less than one per cent for ten times the time, so it is
not improved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from ..exceptions import InvalidOption, UnsupportedProblem
from ..maths.argument_types import VectorLike, WeightsLike
from ..maths.rotations import Array, IntArray
from ..optim.search import Budget
from ..options import measured, whole_number
from ..problem import IkProblem, checked_problem
from ..result import IkResult
from ..solvers import DEFAULT_SOLVER, Solver, make_solver
from ..solvers.names import BatchOptions, SolverName
from ..tasks import ManipulabilityTask, PostureTask, Task
from ..tasks.weights import checked_weights
from .many_targets import BatchResult, ManySolves, scattered_starts

if TYPE_CHECKING:
    from typing_extensions import Unpack

Criterion = Literal['first', 'nearest', 'limits', 'manipulable']
CHOICES: tuple[Criterion, ...] = get_args(Criterion)
BATCH_ATTEMPTS = 64
PROBLEMS_TOGETHER = 64  # compiled searches between two checks of the clock
COUNTS = 'iterations', 'evaluations', 'restarts', 'abandoned_evaluations'

Choice = Criterion | Callable[[Array], float]


def solve_best(
    problem: IkProblem,
    q0: VectorLike | None = None,
    choose: Choice = 'nearest',
    *,
    weights: WeightsLike = 1.0,
    attempts: int | None = None,
    budget: Budget | None = None,
    random_seed: int = 0,
    solver: SolverName = DEFAULT_SOLVER,
    threads: int | None = None,
    **options: Unpack[BatchOptions],
) -> IkResult:
    """Solve many times and return the best solution by a criterion, see the module.

    choose : 'first': the first solution found, as in `solve`. 'nearest': least sum of weights (q -
        q0)^2 (TRAC-IK's Distance). 'limits': farthest from the limits, least sum of weights ((q -
        middle) / (half the range))^2. 'manipulable': largest product of the singular values of the
        Jacobians of the goals' links (Manip1). Or a function of q (n,) to minimise
    weights : one number, or one per joint (n,)
    attempts : number of searches, each with the solver's restarts; by default 64, or as many as
        fit into the budget's seconds if it has them
    budget : seconds for all searches, checked between them; iterations limit the first search only

    Deterministic unless seconds are given. If the first search does not reach the goals, its
    result is returned. Counts and times are totals of all searches.
    """
    method = make_solver(solver, random_seed=random_seed, **options)
    started = method.clock()
    first = method.solve(checked_problem(problem), q0, budget)
    start = problem.start(q0)[0]
    criterion = _criterion(problem, start, choose, weights)
    if criterion is None or not first.success:
        return first
    seconds = None if budget is None else budget.seconds
    deadline = np.inf if seconds is None else started + seconds
    limit = _checked_attempts(attempts, unlimited=seconds is not None)
    found = _Found(first, criterion)
    many = ManySolves(problem, method, threads)
    size = PROBLEMS_TOGETHER if many.compiled else 1
    for done in range(1, limit, size):
        if method.clock() >= deadline:
            break
        starts, seeds = scattered_starts(
            problem, start, done, min(size, limit - done), random_seed
        )
        found.add(many.run(None, starts, near=criterion.near, seeds=seeds))
    leaves_alone = not (problem.levels or problem.is_constrained)
    if criterion.task and leaves_alone and problem.packed.rows < len(problem.variables):
        found.improve(problem, criterion.task, method, deadline)
    return found.result(method.clock() - started)


@dataclass(frozen=True)
class _Criterion:
    """A criterion, to be minimised: `costs` (N,) of configurations (N, n)."""

    costs: Callable[[Array], Array]
    near: Array  # the configuration next to which full turns are chosen
    task: Task | None = None  # the criterion as a secondary task, if it is worth the time


def _criterion(
    problem: IkProblem, q0: Array, choose: Choice, weights: WeightsLike
) -> _Criterion | None:
    """The criterion of a name or a function; None for 'first'. Raises InvalidOption."""
    if callable(choose):
        measure = measured(choose, 'choose')
        return _Criterion(lambda q: np.array([measure(one) for one in q]), q0)
    if choose not in CHOICES:
        raise InvalidOption(
            f'choose = {choose!r}: a function of q, or one of {", ".join(CHOICES)}'
        )
    if choose == 'nearest':
        return _posture(q0, np.broadcast_to(_checked_weights(problem, weights), q0.shape))
    if choose == 'limits':
        middle, scale = _middle(problem, q0)
        return _posture(middle, _checked_weights(problem, weights) * scale)
    return _manipulability(problem, q0) if choose == 'manipulable' else None


def _posture(rest: Array, weights: Array) -> _Criterion:
    """The weighted squared distance from a posture (n,)."""
    return _Criterion(
        lambda q: (q - rest) ** 2 @ weights, rest, PostureTask(rest, weights=weights)
    )


def _middle(problem: IkProblem, q0: Array) -> tuple[Array, Array]:
    """The middle (n,) and 1 / (half the range)^2 of the limits; q0 and 0 for joints without."""
    lower, upper = problem.limits.lower, problem.limits.upper
    half = 0.5 * (upper - lower)
    ranged = np.isfinite(half) & (half > 0.0)
    middle, scale = q0.copy(), np.zeros(len(q0))
    moving = problem.variables[ranged]
    middle[moving] = lower[ranged] + half[ranged]
    scale[moving] = half[ranged] ** -2
    return middle, scale


def _manipulability(problem: IkProblem, q0: Array) -> _Criterion:
    """The sum of the measures of a ManipulabilityTask for each goal's link."""
    robot, tasks = problem.robot, []
    if any(base is not None for _, base in problem.goal_chains):
        raise UnsupportedProblem('manipulability is that of goals relative to the root alone')
    for link in dict.fromkeys(task.link for task in problem.goals):
        own = [task for task in problem.goals if task.link == link]
        asks = [
            any(task.position_weights.any() for task in own),
            any(task.rotation_weights.any() for task in own),
        ]
        rows = 'pose' if all(asks) else 'position' if asks[0] else 'orientation'
        tasks.append(ManipulabilityTask(link, rows=rows))

    def costs(q: Array) -> Array:
        residuals = [[task.residual(robot, one)[0] for task in tasks] for one in q]
        return np.square(residuals).sum(1)

    return _Criterion(costs, q0)


class _Found:
    """The best solution so far, and the total effort of all searches."""

    def __init__(self, first: IkResult, criterion: _Criterion) -> None:
        self.criterion = criterion
        self.best = first
        self.cost = float(criterion.costs(first.q[np.newaxis])[0])
        self.spent = counts_of(first)

    def add(self, batch: BatchResult) -> None:
        """Use the best solution of a batch if it is better than the best so far."""
        self.spent += counts_of(batch)
        reached = np.flatnonzero(batch.success)
        if not reached.size:
            return
        costs = self.criterion.costs(batch.q[reached])
        best = int(np.argmin(costs))
        if costs[best] < self.cost:
            self.best, self.cost = batch[int(reached[best])], float(costs[best])

    def improve(self, problem: IkProblem, task: Task, method: Solver, deadline: float) -> None:
        """Improve the best solution by motions that keep the goals."""
        left = deadline - method.clock()
        if left <= 0.0:
            return
        own = problem.clone()
        own.levels = ((task,),)
        budget = None if np.isinf(left) else Budget(seconds=left)
        improved = method.solve(own, self.best.q, budget)
        self.spent += counts_of(improved)
        if improved.success:
            self.best = improved

    def result(self, seconds: float) -> IkResult:
        """The best solution, with the counts and the time of all searches."""
        counts = dict(zip(COUNTS, self.spent.tolist(), strict=True))
        return replace(self.best, **counts, solve_time=seconds)


def counts_of(result: IkResult | BatchResult) -> IntArray:
    """The effort (4,) of a result or of a whole batch, in the order of COUNTS."""
    return np.array([np.sum(getattr(result, name)) for name in COUNTS])


def _checked_weights(problem: IkProblem, weights: WeightsLike) -> Array:
    array = checked_weights(weights)
    if array.shape not in ((), (problem.robot.n,)):
        raise InvalidOption(f'weights {weights!r}: one number or {problem.robot.n} are needed')
    return array


def _checked_attempts(attempts: int | None, unlimited: bool) -> int:
    if attempts is None:
        return 2**31 if unlimited else BATCH_ATTEMPTS
    return whole_number(attempts, 'attempts')
