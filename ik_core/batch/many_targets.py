# SPDX-License-Identifier: Apache-2.0
"""Many problems at once: one robot and its goals, N targets, N starts, all cores.

The problems are distributed to threads in chunks. Each thread has a workspace of its own and runs
a compiled kernel without holding a lock, so the threads do not wait for each other. Every problem
is solved independently: neither the number of threads nor the order of the chunks changes a
result.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..chunks import Progress, Work, check_progress, checked_threads, parallel_for
from ..display import angle, counted, html_table, joined, length
from ..display import time as time_text
from ..exceptions import InvalidOption
from ..kernels.jit import COMPILED
from ..kernels.records import Record
from ..maths.argument_types import TransformsLike, VectorLike
from ..maths.lanes import LANES
from ..maths.rotations import (
    Array,
    IntArray,
    frames_of,
    transform_of,
)
from ..maths.transforms import checked_transforms, for_kernels
from ..optim.position_first import alike_of, begins_with_restarts
from ..optim.search import STATUSES
from ..problem import IkProblem, checked_problem
from ..result import IkResult, IkStatus
from ..robot.limits import FULL_TURN, random_configuration
from ..solvers import DEFAULT_SOLVER, Solver, make_solver
from ..solvers.damped_search.run import solve_batch as solve_searches
from ..solvers.damped_search.workspace import DampedWorkspace
from ..solvers.levenberg_marquardt import LevenbergMarquardt
from ..solvers.names import BatchOptions, SolverName
from .rows import Answers, put_answers, take_problems

if TYPE_CHECKING:
    from typing_extensions import Unpack

NOTED = 8  # missed goals whose notes become part of the batch's note
# problems per call of a kernel, which Ctrl-C can't interrupt (`chunk_ends`); the first is also the
# least number per thread: for fewer another thread is no help
LEAST, MOST = (256, 2048) if COMPILED else (1, 1)
# the least number per thread for searches with seeds of their own, which take longer: they begin
# at random, in batches of 64 or 128
LEAST_SEARCHES = 16 if COMPILED else 1


@dataclass(frozen=True, eq=False)
class BatchResult:
    """Results of N problems as arrays; `batch[i]` is the i-th as an IkResult.

    `q` (N, n); `success` (N,) bool; `status` (N,) of IkStatus; `position_errors` and
    `orientation_errors` (N, goals) [m, rad]; `cost` [m^2], `iterations`, `evaluations`, `restarts`
    and `abandoned_evaluations` (N,), all as in IkResult. `solve_time` [s]: time of the whole
    batch; `batch[i]` has the mean time of a problem. `note`: pairs of links that collide in the
    starts and that no joint of the problem moves apart; and, for goals that are missed for lack of
    joints, advice as in `batch[i].note`. If goals are missed, `problem` and the positions of the
    targets, `points` (N or 1, goals, 3) [m], are kept for the notes.
    """

    q: Array
    success: NDArray[np.bool_]
    status: NDArray[np.object_]
    position_errors: Array
    orientation_errors: Array
    cost: Array
    iterations: IntArray
    evaluations: IntArray
    restarts: IntArray
    abandoned_evaluations: IntArray
    solve_time: float = 0.0
    note: str = ''
    problem: IkProblem | None = None
    points: Array | None = None

    @property
    def total_evaluations(self) -> IntArray:
        """All evaluations (N,), including abandoned ones."""
        return self.evaluations + self.abandoned_evaluations

    def __repr__(self) -> str:
        head = f'<BatchResult of {counted(len(self), "problem")} in {time_text(self.solve_time)}'
        rows = [f'{row[0]}: {row[1]:,} ({_worst_of(row)})' for row in self._rows()]
        return '\n  '.join(filter(None, [head, *rows, self.note])) + '>'

    def _repr_html_(self) -> str:
        """A table of the statuses of the problems."""
        caption = f'{counted(len(self), "problem")} in {time_text(self.solve_time)}'
        head = ('status', 'problems', 'position error', 'orientation error', 'iterations')
        return html_table(caption, head, self._rows())

    def _rows(self) -> list[tuple[str, int, str, str, str]]:
        """Rows of a table: for each status the number of problems, the largest errors and the
        median iterations.
        """
        rows = []
        for status in (status for status in IkStatus if (self.status == status).any()):
            these = self.status == status
            worst = (errors[these].max(initial=0.0) for errors in self._errors())
            position, orientation = worst
            iterations = f'{np.median(self.iterations[these]):.0f} (median)'
            shown = (length(position), angle(orientation))
            rows.append((status.name, int(these.sum()), *shown, iterations))
        return rows

    def _errors(self) -> tuple[Array, Array]:
        return self.position_errors, self.orientation_errors

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, i: int) -> IkResult:
        result = IkResult(
            self.q[i],
            self.status[i],
            self.position_errors[i],
            self.orientation_errors[i],
            float(self.cost[i]),
            int(self.iterations[i]),
            int(self.evaluations[i]),
            int(self.restarts[i]),
            self.solve_time / len(self),
            abandoned_evaluations=int(self.abandoned_evaluations[i]),
        )
        if self.problem is None or self.points is None:
            return result
        return self.problem.explain(result, points=self._points_of(i))

    def _points_of(self, i: int) -> Array:
        """Positions (G, 3) [m] of the targets of problem i."""
        assert self.points is not None
        return self.points[i if len(self.points) > 1 else 0]

    def explained(self, problem: IkProblem, transforms: Array) -> BatchResult:
        """Return the result with notes on missed goals, for targets (N, G, 4, 4)."""
        missed = np.flatnonzero(~self.success)
        if not missed.size or not problem.goals:
            return self
        known = replace(self, problem=problem, points=transforms[..., :3, 3].copy())
        notes = []
        for i in missed[:NOTED].tolist():
            errors = self.position_errors[i], self.orientation_errors[i]
            if self.status[i].misses_goals:
                notes.append(
                    problem.missed.advice(
                        self.q[i], *errors, problem.tolerances, known._points_of(i)
                    )
                )
        return replace(known, note=joined(self.note, *dict.fromkeys(notes)))


def _worst_of(row: tuple[str, int, str, str, str]) -> str:
    return f'errors up to {row[2]} and {row[3]}, iterations {row[4]}'


def solve_batch(
    problem: IkProblem,
    targets: TransformsLike,
    q0: VectorLike | None = None,
    random_seed: int = 0,
    *,
    solver: SolverName = DEFAULT_SOLVER,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[BatchOptions],
) -> BatchResult:
    """Solve the problem for N sets of targets on all cores; the results equal N single solves.

    targets : (N, goals, 4, 4), or (N, 4, 4) for one goal, in the order of `problem.goals`; or a
        list of types that `ik_core.transform` accepts, or a ROS PoseArray. The problem is not
        changed
    q0 : start, (n,) for all, (N, n) one for each, or None as in `solve`; joints that the problem
        does not move keep their value
    threads : by default the number of cores that this process may use
    progress : called now and then with (solved, N), in the calling thread
    options : options of the solver, as in `make_solver`

    The buffers are kept with the problem for the next batch with the same solver, seed and number
    of threads, unless options are given.

    All input is checked before any solve: InvalidGoal and InvalidConfiguration name the first bad
    index. Only `levenberg_marquardt`, for problems with goals only, has a compiled loop over
    problems. Other solvers, and problems with other tasks, solve one after the other on one
    thread; but `closed_form` first computes all solutions at once.
    """
    asked = solver, random_seed, checked_threads(threads)
    is_known = not options and type(random_seed) is int
    kept = checked_problem(problem).kept_solvers if is_known else {}
    # removed from the cache during the run, since `progress` may call this function
    known, many = kept.pop('batch', (None, None))
    if known != asked:
        many = ManySolves(
            problem, make_solver(solver, random_seed=random_seed, **options), threads
        )
    check_progress(progress)
    root, goals = problem.robot.base_link, len(problem.goals)
    transforms = checked_transforms(targets, root, goals)
    starts = checked_starts(problem, q0, len(transforms))
    result = many.run(transforms, starts, progress=progress).explained(problem, transforms)
    if many.compiled:
        kept['batch'] = asked, many
    return result


class ManySolves:
    """A solver for many targets and starts, with a workspace per thread."""

    def __init__(self, problem: IkProblem, solver: Solver, threads: int | None = None) -> None:
        self.problem = checked_problem(problem)
        self.solver = solver
        self.threads = checked_threads(threads)
        self._workspaces: dict[int, tuple[Record, Record]] = {}
        if getattr(solver.options, 'record_history', False):
            raise InvalidOption('record_history: a batch keeps no histories')
        if self.compiled:
            own = [transform_of(task.target) for task in problem.goals]
            self._own = np.reshape(own, (1, -1, 4, 4))
            self._search = DampedWorkspace(problem, solver.options)
        else:
            self.problem = problem.clone()
        self._equally_weighted: ManySolves | None = None
        if self._tries_equal_weights:
            self._equally_weighted = ManySolves(alike_of(self.problem), solver, threads)

    @property
    def takes_blocks(self) -> bool:
        """True if many problems at once take less time than one after the other."""
        return self.compiled or self._equally_weighted is not None

    @property
    def _tries_equal_weights(self) -> bool:
        """True if a single solve tries equal weights first, and a kernel can do so for all."""
        problem, solver = self.problem, self.solver
        known = problem.equally_weighted is not None and isinstance(solver, LevenbergMarquardt)
        known = known and not (problem.levels or problem.is_constrained or problem.avoids)
        return known and begins_with_restarts(problem, solver.options.restarts > 0)

    @property
    def compiled(self) -> bool:
        """True if there is a kernel for this solver and all of the problem's tasks."""
        problem = self.problem
        known = not (problem.other_tasks or problem.levels or problem.is_constrained)
        known = known and problem.equally_weighted is None and problem.valid is None
        return known and isinstance(self.solver, LevenbergMarquardt)

    def run(
        self,
        transforms: Array | None,
        starts: Array,
        *,
        near: Array | None = None,
        seeds: VectorLike | None = None,
        progress: Progress | None = None,
    ) -> BatchResult:
        """Solve for checked transforms (N, goals, 4, 4) and starts (N, n), or (1, n) for all.

        transforms : None for the problem's own targets, as of when this object was made
        near (n,) : configuration next to which full turns are chosen, by default the start
        seeds (N,) : random seeds, by default the one in the solver's options
        """
        started, note = time.perf_counter(), self.problem.avoidance.note_on_start(starts)
        count = len(starts if transforms is None else transforms)
        if self.compiled:
            result = self._run_kernel(count, transforms, starts, near, seeds, progress)
        else:
            starts = np.broadcast_to(starts, (count, starts.shape[1]))
            result = self._run_one_by_one(transforms, starts, near, progress)
        return replace(result, solve_time=time.perf_counter() - started, note=note)

    def _run_kernel(
        self,
        count: int,
        transforms: Array | None,
        starts: Array,
        near: Array | None,
        seeds: VectorLike | None,
        progress: Progress | None,
    ) -> BatchResult:
        least = LEAST if seeds is None else LEAST_SEARCHES
        self._search.note_tolerances()
        self._search.note_starts(starts)
        inputs = _Inputs(
            self._own if transforms is None else transforms,
            starts,
            self.problem.packed.frozen_values(np.broadcast_to(starts, (count, starts.shape[1]))),
            None if near is None else near[self.problem.variables],
            None if seeds is None else np.ascontiguousarray(seeds, np.int64),
        )
        answers = Answers.of(count, len(self.problem.goals), starts.shape[1])

        def worker(k: int) -> Work:
            searches, lanes = self._records(k, min(count, MOST))
            return lambda first, last: self._solve(searches, lanes, inputs, first, last, answers)

        parallel_for(count, MOST, self.threads, worker, progress, least=least)
        if progress is not None:
            progress(count, count)
        result = _result_of(answers)
        self._explain(result, inputs.transforms)
        return result

    def _explain(self, result: BatchResult, transforms: Array) -> None:
        """Change the status CLOSEST to TOO_FEW_JOINTS where the problem lacks joints."""
        if result.success.all() or not self.problem.missed.short_goals.any():
            return
        few = self.problem.missed.are_joints_missing(
            *result._errors(), transforms[..., :3, 3], self.problem.tolerances
        )
        result.status[few & (result.status == IkStatus.CLOSEST)] = IkStatus.TOO_FEW_JOINTS

    def _solve(
        self,
        searches: Record,
        lanes: Record,
        inputs: _Inputs,
        first: int,
        last: int,
        answers: Answers,
    ) -> Iterator[None]:
        """Solve problems first..last-1 of N in a thread; yields after every few steps."""
        packed, count = self.problem.packed, last - first
        searches['count'] = count
        if self.problem.avoid is not None:
            rows = inputs.starts if len(inputs.starts) == 1 else inputs.starts[first:last]
            searches['rows'][:count] = rows
            self._search.note_world(lanes)
        bounds, moving = self.problem.limits.packed, packed.variables
        starts, frames = searches['starts'][:count], searches['targets'][:count]
        if not packed.is_plain:
            frames = np.empty((count, len(self.problem.goals), 12))
        take_problems(inputs.transforms, inputs.starts, moving, bounds, first, frames, starts)
        if not packed.is_plain:
            searches['targets'][:count] = packed.part_targets(frames)
        guess = self._search.initial_guess
        if guess is None:
            searches['guesses'][:count] = starts
        else:
            targets, points = searches['targets'][:count], searches['guesses'][:count]
            guess.fill(targets, starts, 0, count, points)
        self._search.judge_guesses(searches, lanes, count)
        searches['references'][:count] = starts if inputs.near is None else inputs.near
        if len(packed.frozen):
            searches['angles'][:count] = inputs.angles[first:last]
        seed = self.solver.options.random_seed
        searches['seeds'][:count] = seed if inputs.seeds is None else inputs.seeds[first:last]
        begins, steps = True, self._search.steps_at_once
        while solve_searches(searches.address, lanes.address, begins, steps):
            begins = False
            yield
        yield
        q, position, orientation, costs, statuses, counts = answers
        costs[first:last] = searches['costs'][:count]
        counts[3, first:last] = searches['abandoned'][:count]
        errors = packed.goal_errors(searches['errors'][:count])
        found, codes = searches['points'][:count], searches['codes'][:count]
        filled = q, position, orientation, statuses, counts
        put_answers(found, errors, codes, inputs.starts, moving, first, *filled)

    def _records(self, k: int, count: int) -> tuple[Record, Record]:
        """The records of thread k, for at least `count` searches."""
        known = self._workspaces.get(k)
        if known is None or len(known[0]['starts']) < count:
            lanes = self._search.make_lanes(LANES) if known is None else known[1]
            self._workspaces[k] = self._search.make_searches(count, LANES), lanes
        return self._workspaces[k]

    def _run_one_by_one(
        self,
        transforms: Array | None,
        starts: Array,
        near: Array | None,
        progress: Progress | None,
    ) -> BatchResult:
        results = []
        regular: Iterable[IkResult | None] = (None for _ in starts)
        if self._equally_weighted is not None and near is None and self._tries_equal_weights:
            regular = self._solve_with_equal_weights(self._equally_weighted, transforms, starts)
        elif transforms is not None and near is None and len(self.problem.goals) == 1:
            given = self.problem, transforms[:, 0], starts, self.threads
            regular = self.solver.solve_regular(*given)
        for i, (start, known) in enumerate(zip(starts, regular, strict=True)):
            if transforms is not None and known is None:
                for task, transform in zip(self.problem.goals, transforms[i], strict=True):
                    task.set_target(transform)
            results.append(self._solve_near(start, near) if known is None else known)
            if progress is not None:
                progress(len(results), len(starts))
        return _stacked(results, starts.shape[1], len(self.problem.goals))

    def _solve_with_equal_weights(
        self, equal: ManySolves, transforms: Array | None, starts: Array
    ) -> Iterator[IkResult | None]:
        """Yield the results with equal weights, the first stage of a solve; None if it fails."""
        problem = self.problem
        if transforms is None:
            own = np.array([transform_of(task.target) for task in problem.goals])
            transforms = np.tile(own, (len(starts), 1, 1, 1))
        alike_of(problem)  # updates the tolerances
        batch = equal.run(transforms, np.ascontiguousarray(starts))
        for i, target in enumerate(transforms):
            if not batch.success[i]:
                yield None
                continue
            result = batch[i]
            problem.packed.load_frozen(result.q)
            problem.packed.set_targets(list(frames_of(target)))
            result.cost = problem.evaluator.cost_at(result.q[problem.variables])
            yield result

    def _solve_near(self, start: Array, near: Array | None) -> IkResult:
        """Solve from a start, and shift the answer by full turns next to `near`."""
        result = self.solver.solve(self.problem, start)
        if near is not None:
            q, moving = result.q.copy(), self.problem.variables
            q[moving] = self.problem.limits.nearest_turn(q[moving], near[moving])
            if (q != result.q).any():  # solve again, so that all fields belong to this q
                result = self.solver.solve(self.problem, q)
        return result


class _Inputs(NamedTuple):
    """The inputs of N problems.

    transforms (N, goals, 4, 4), starts (N, n) : or (1, ...) for all problems
    angles (N, frozen) : positions of the frozen joints
    near (variables,) : configuration next to which turns are chosen; None: the start
    seeds (N,) : random seeds; None: the solver's
    """

    transforms: Array
    starts: Array
    angles: Array
    near: Array | None
    seeds: IntArray | None


STATUS_OF = np.array([STATUSES.get(code) for code in range(max(STATUSES) + 1)], object)
REACHED_CODE = next(code for code, status in STATUSES.items() if status is IkStatus.REACHED)


def _result_of(answers: Answers) -> BatchResult:
    """Convert the answers of the kernels."""
    q, position, orientation, cost, codes, counts = answers
    success = codes == REACHED_CODE
    status = np.full(len(codes), STATUS_OF[REACHED_CODE])  # usually all: faster than an index
    status[~success] = STATUS_OF[codes[~success]]
    return BatchResult(q, success, status, position, orientation, cost, *counts)


def _stacked(results: Sequence[IkResult], joints: int, goals: int) -> BatchResult:
    """Stack results into one batch, which may be empty."""

    def column(name: str, kind: type, *more: int) -> NDArray[Any]:
        values: NDArray[Any] = np.empty((len(results), *more), kind)
        for i, result in enumerate(results):
            values[i] = getattr(result, name)
        return values

    return BatchResult(
        column('q', float, joints),
        column('success', bool),
        column('status', object),
        column('position_errors', float, goals),
        column('orientation_errors', float, goals),
        column('cost', float),
        column('iterations', int),
        column('evaluations', int),
        column('restarts', int),
        column('abandoned_evaluations', int),
    )


def checked_starts(problem: IkProblem, q0: VectorLike | None, count: int) -> Array:
    """The starts (N, n), or (1, n) for all; InvalidConfiguration names the first bad one."""
    given = problem.default_configuration if q0 is None else q0
    return for_kernels(problem.robot.checked_rows(given, count, 'q0'))


def scattered_starts(
    problem: IkProblem, q0: Array, first: int, count: int, random_seed: int
) -> tuple[Array, IntArray]:
    """Starts (count, n) and their random seeds (count,): items `first` and on of a sequence.

    The variables follow the additive recurrence with the generalised golden ratio, which fills
    their box evenly for any count [Roberts2018], shifted by the random seed. The range of
    variables for which a whole turn is the same posture is reduced to one turn.
    """
    limits, n = problem.limits, len(problem.variables)
    lower, upper = limits.sample_lower, limits.sample_upper
    spare = np.where(limits.turns, np.maximum(upper - lower - FULL_TURN, 0.0), 0.0)
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (n + 1))
    shift = np.empty(n)
    random_configuration(random_seed, 0, np.zeros(n), np.ones(n), shift)
    index = first + np.arange(count)
    part = (shift + index[:, np.newaxis] * ratio ** -np.arange(1.0, n + 1)) % 1.0
    starts = np.tile(q0, (count, 1))
    starts[:, problem.variables] = lower + 0.5 * spare + part * (upper - lower - spare)
    return starts, (random_seed + 1 + index) % 2**32
