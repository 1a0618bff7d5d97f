# SPDX-License-Identifier: Apache-2.0
"""The records of a problem's searches: of single solves (`DampedWorkspace`), which are kept, and
of batches."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...closed_form.initial_guess import InitialGuess, initial_guess_of
from ...closed_form.nearest import SCRATCH_ROWS
from ...collision.rows import free_rows
from ...display import joined
from ...kernels.records import Record
from ...maths.argument_types import VectorLike
from ...maths.lanes import LANES
from ...maths.rotations import Array
from ...optim.records import ProblemRecords
from ...optim.search import STATUSES, Clock, Workspace, steps_at_once
from ...optim.workspace import judged
from ...problem import IkProblem
from ...result import IkResult, IkStatus
from ...robot.kinematics import MULTIPLIER
from ...tasks.kernels import CHAIN, CONE, GEOMETRIC, SLACK
from . import layouts
from .layouts import CLOSEST, COLLIDED, NEW, RUNNING
from .run import FOUR, NOT_FINITE, Outcome, check_start, conclude, solve

# Placeholders for the arguments q and errors of `run.solve`.
TO_GO_ON, NO_ERRORS = np.empty(0), np.empty((2, 0))
NOT_BEGUN: Outcome = (RUNNING, np.nan, 0, 0, 0, 0)
# Factor for the restarts if the goals leave freedom: free solutions may be rare among infinitely
# many, and an attempt that collides takes only ten microseconds.
REDUNDANT = 4


def initial_guess_for(problem: IkProblem, options: Any) -> InitialGuess | None:
    """Return the closed-form initial guesses of a problem; None to begin at the starts.

    Without restarts searches descend from the start alone.
    """
    asked = options.closed_form and options.restarts > 0
    return initial_guess_of(problem) if asked else None


class DampedWorkspace(ProblemRecords, Workspace):
    """The records of `damped_search` for one problem."""

    def __init__(self, problem: IkProblem, options: Any) -> None:
        self._model: Record | None = None  # of what is to be avoided
        self._checks: dict[int, tuple[Record, Record, Record | None, Record]] = {}
        self.initial_guess = initial_guess_for(problem, options)
        self._uses_lanes = LANES > 1 and options.restarts > 0 and not problem.other_tasks
        self._begins = self._may_begin = self._has_checked_start = False
        self._outcome = NOT_BEGUN
        super().__init__(problem, options)
        # what a solve without tasks, of goals as they are packed, is given and reports needs no
        # second look
        self.is_plain = not problem.other_tasks and self.packed.is_plain
        self.is_plain = self.is_plain and not len(self.packed.frozen)
        self._shape = 2, len(self.packed.parts)

    def _make_records(self, other_rows: int) -> None:
        super()._make_records(other_rows)
        packed, problem, options = self.packed, self.problem, self._options
        joints, rows = len(problem.variables), packed.rows + other_rows
        self._sizes |= {'rows': rows, 'size': max(joints, rows), 'scratch_rows': SCRATCH_ROWS}
        self.steps_at_once = steps_at_once(joints, rows)
        own = self.constants
        if problem.avoids and problem.is_redundant:
            own['restarts'] *= REDUNDANT
        own['attempts_while_colliding'] = (
            options.restarts if problem.avoids and problem.other_tasks else 0
        )
        own['pose'] = self._is_pose and not self._others
        for name in ('patience', 'max_step', 'damping'):
            own[name] = getattr(options, name)
        self._version, self._is_outside = -1, False  # of the world, and of the starts, in them
        for name in ('searches', '_single', '_row'):
            vars(self).pop(name, None)
        self._four: Record | None = None
        self._address = 0  # of `searches`, once they are prepared for whole solves

    @property
    def _plan(self) -> dict[str, NDArray[Any]]:
        if self.initial_guess is None:
            return super()._plan
        plan, restart_numbers, _ = self.initial_guess.restart
        numbers = self.initial_guess.numbers
        return {'plan': plan, 'guess_numbers': numbers, 'restart_numbers': restart_numbers}

    @cached_property
    def searches(self) -> Record:
        """The record of a single search; batches have their own."""
        record = self.make_searches(1, 1, targets=self.packed.targets)
        record['single'] = self._single.address
        return record

    @cached_property
    def _row(self) -> Array:
        """The whole robot's configuration (n,) of the single search."""
        row: Array = self.searches['rows'][0]
        return row

    @cached_property
    def _single(self) -> Record:
        return self.make_lanes(1)

    @property
    def _is_pose(self) -> bool:
        """True if there is one goal: the whole pose of a chain's end, without slack."""
        packed = self.packed
        table, tools = packed.table, packed.tools
        return bool(
            len(table) == 1
            and table[0, CHAIN] > 0
            and table[0, GEOMETRIC] > 0
            and not tools[0, SLACK : CONE + 1].any()
            and (packed.geometry[:, MULTIPLIER] == 1.0).all()
        )

    def make_searches(self, count: int, pool_count: int, **given: Array) -> Record:
        """Make records for a number of searches, of which `pool_count` run at the same time."""
        sizes = {**self._sizes, 'count': count, 'pools': pool_count}
        record = layouts.SEARCHES.make(sizes, arrays=given)
        record['seeds'] = self._options.random_seed
        record['problem'] = self.constants.address
        record['guesses_restart'] = self.initial_guess is not None
        return record

    def make_lanes(self, width: int) -> Record:
        """Make records for attempts side by side."""
        record = layouts.LANES.make(self._sizes, width)
        record['point'] = layouts.POINT.make(self._sizes)
        record['fresh'] = 1.0
        return record

    def _pack_tolerances(self) -> None:
        super()._pack_tolerances()
        if self.constants['settled']:
            self.constants['slack'] = self.problem.avoidance.goal_slack(self.problem.tolerances)
        if self.initial_guess is not None:
            self.initial_guess.set_tolerances(self.problem)

    def note_starts(self, rows: Array) -> None:
        """Find the pairs of links that count for starts (N, n); call it before `note_world`."""
        self._note_start(self.problem.avoidance.is_outside(rows))

    def _note_start(self, is_outside: bool) -> None:
        if is_outside != self._is_outside:
            self._is_outside, self._version = is_outside, -1

    def note_world(self, *lanes: Record) -> None:
        """Read the obstacles again, for searches in these records."""
        avoid = self.problem.avoid
        if avoid is None:
            return
        self._version = avoid.world.version
        groups, is_outside = self.problem.avoidance.groups, self._is_outside
        self._model = model = avoid.moved_model(groups, is_outside)
        settled = None
        if not self.problem.other_tasks:
            settled = avoid.settled_model(
                groups, self.problem.avoidance.goal_fixed_bodies, is_outside
            )
        self._note_settled(settled)
        self.constants['collisions'] = model.address
        for record in lanes:
            known = self._checks.get(record.address)
            if known is None or known[0] is not model:
                models = (model, settled)
                states = [avoid.workspace_of(one) for one in models if one is not None]
                self._checks[record.address] = model, states[0], settled, states[-1]
                record['collisions'], record['settled'] = states[0].address, states[-1].address

    def _note_settled(self, settled: Record | None) -> None:
        """Read the pairs that the goals alone decide."""
        own = self.constants
        if settled is None:
            own['settled'] = 0
        elif own['settled'] != settled.address:
            own['reach'], own['slack'] = (
                settled['margin'].max(),
                self.problem.avoidance.goal_slack(self.problem.tolerances),
            )
            own['settled'] = settled.address

    def judge_guesses(self, searches: Record, lanes: Record, count: int) -> None:
        """Check the initial guesses of `count` searches for collisions, as many at the same time
        as there are lanes: with a closed form most of them are answers."""
        known = self._checks.get(lanes.address)
        if self.initial_guess is None or known is None:
            return
        rows, free = searches['rows'][:count].copy(), np.empty(count, bool)
        rows[:, self.problem.columns] = searches['guesses'][:count]
        free_rows(known[0].address, known[1].address, rows, free)
        searches['verdicts'][:count] = np.where(free, layouts.FREE, layouts.COLLIDES)

    def _read(self, q0: VectorLike | None) -> Array:
        """Load the inputs that may have changed: start, targets, tasks. Return the start (n,)."""
        q = self.problem.evaluator.load(q0)
        if len(self.packed.frozen):
            self.searches['angles'][0] = self.packed.frozen_values(q)
        self.load_tasks(q)
        return q

    def _check(self, status: int, q: VectorLike | None = None) -> None:
        """Raise the error of a task, or one about the start."""
        if status == NOT_FINITE:
            self.problem.evaluator.load(q)
        if status == layouts.FAILED:
            self.fail()

    def solve(self, q0: VectorLike | None, clock: Clock) -> IkResult:
        """Solve to the end, without a budget."""
        started, is_plain, problem = clock(), self.is_plain, self.problem
        q = problem.evaluator.load_numbers(q0) if is_plain else self._read(q0)
        address = self._address or self._prepare()  # after a read, which may make other records
        if self._tolerances is not problem.tolerances:
            self.note_tolerances()
        if problem.avoids:
            self._begin_to_avoid(q)
        errors = np.empty(self._shape)
        outcome = solve(address, self.steps_at_once, q, errors)
        while outcome[0] == RUNNING:  # Ctrl-C is heard in between
            outcome = solve(address, self.steps_at_once, TO_GO_ON, errors)
            q[problem.columns] = self.searches['points'][0]
        self._outcome = code, cost, iterations, evaluations, restarts, abandoned = outcome
        # codes are compared, since to look up a member of an Enum takes 0.1 us before Python 3.12
        status = STATUSES.get(code) if is_plain and code != COLLIDED else None
        if status is None:
            self._check(code, q)
            return self.result(q, clock() - started)
        if code == CLOSEST:
            status = problem.explained(status, errors[0], errors[1])
        return IkResult(
            q,
            status,
            errors[0],
            errors[1],
            cost,
            iterations,
            evaluations,
            restarts,
            clock() - started,
            (),
            problem.avoidance.start_at(q)[1] if problem.avoids else '',
            abandoned,
        )

    def check_start(self, q: Array, errors: Array) -> tuple[int, float]:
        """Evaluate joints q (n,) of a plain problem, as `run.check_start` does."""
        self.note_tolerances()
        if self.problem.avoids:
            self._begin_to_avoid(q)
        found: tuple[int, float] = check_start(self.searches.address, q, errors)
        if self.constants['failed']:
            self._check(layouts.FAILED)
        return found

    def _begin_to_avoid(self, q: Array) -> None:
        """Prepare the checks of a search that begins at q (n,)."""
        self._row[:] = q
        if self._valid is not None:
            self.constants['failed'] = 0
        problem, avoid = self.problem, self.problem.avoid
        if avoid is not None:
            self._note_start(problem.avoidance.start_at(q)[0])
        if avoid is not None and avoid.world.version != self._version:
            self.note_world(*(one for one in (self._single, self._four) if one is not None))

    def _prepare(self) -> int:
        """Make the lanes that only `solve` uses, if any; return the address of the searches."""
        if self._uses_lanes:
            self._four = self.make_lanes(FOUR)
            self._version = -1
            self.searches['four_lanes'] = self._four.address
        self._address = self.searches.address
        return self._address

    # --- step by step ---

    def load(self, q0: VectorLike | None) -> Array:
        q, own = self._read(q0), self.searches
        self.note_tolerances()
        own['starts'][0] = q[self.problem.columns]
        if self.problem.avoids:
            self._begin_to_avoid(q)
        own['stage'], self._outcome = NEW, NOT_BEGUN
        self._begins = self._may_begin = self.initial_guess is not None
        self._has_checked_start = False
        if self._begins:
            own['guesses_restart'] = 1
        return q

    def stay_on_branch(self) -> None:
        self._begins, self.searches['guesses_restart'] = False, 0

    def run(self, iterations: int) -> IkStatus | None:
        looks = self._begins and iterations == 0  # whether the start reaches the goals
        if self._may_begin:
            self.searches['guesses_first'] = self._begins and not looks
            if self._begins:
                self.searches['stage'] = NEW  # whatever was seen at the start
            self._begins = looks
        self._outcome = outcome = solve(self.searches.address, iterations, TO_GO_ON, NO_ERRORS)
        self._check(outcome[0])
        status = STATUSES.get(outcome[0])
        if looks and status is None:
            self.searches['stage'], self._outcome = NEW, NOT_BEGUN
        self._has_checked_start = looks
        return status

    def conclude(self) -> None:
        self._status = conclude(self.searches.address)
        if self.constants['failed']:
            self._check(layouts.FAILED)

    def result(
        self,
        q: Array,
        solve_time: float,
        limited_by: IkStatus = IkStatus.ITERATION_LIMIT,
        history: tuple[float, ...] = (),
    ) -> IkResult:
        own, point = self.searches, self._single.part('point')
        status, cost, iterations, evaluations, restarts, abandoned = self._outcome
        if status == RUNNING:
            status, x = self._status, point['answers'][0]
            errors, cost = point['errors'], point['cost'].item()
        else:
            x, errors = own['points'][0], own['errors'][0]
        errors = self.packed.goal_errors(errors).copy()
        q[self.problem.columns] = x
        ended, note = STATUSES.get(status, limited_by), ''
        if ended is IkStatus.COLLISION:
            note = self._why_not_free(q)
        return IkResult(
            q,
            judged(self.problem, self.packed, ended, errors, cost, q),
            errors[:, 0],
            errors[:, 1],
            cost,
            iterations,
            evaluations,
            restarts,
            solve_time,
            history,
            joined(note, self.problem.avoidance.start_at(q)[1]),
            abandoned_evaluations=abandoned,
        )

    def _why_not_free(self, q: Array) -> str:
        """Return text: the obstacles at the solutions of a search from q (n,)."""
        count = self.searches['collided'].item(0)
        if count == 0:
            q = q.copy()
            q[self.problem.columns] = self.searches['blocked'][0]
            return self.problem.avoidance.why_no_closest_point(q)
        colliding = np.tile(q, (min(count, layouts.REPORTED_COLLISIONS), 1))
        colliding[:, self.problem.columns] = self.searches['colliding'][0, : len(colliding)]
        why = self.problem.avoidance.goal_collision(colliding[0], self.problem.tolerances)
        return why or self.problem.avoidance.why_no_solution(colliding, count)

    @property
    def iterations(self) -> int:
        return self._outcome[2]

    @property
    def _is_new(self) -> bool:
        return bool(self.searches['stage'] == NEW)

    @property
    def x(self) -> Array | None:
        if self._is_new:
            return None
        if self._outcome[0] != RUNNING:
            return self.searches['points'][0].copy()
        return self._single['x'][1 - self._single['here'].item(), :, 0].copy()

    @property
    def cost(self) -> float:
        if self._outcome[0] != RUNNING:
            return self._outcome[1]
        return self._single['cost'].item(1 - self._single['here'].item(), 0)

    @property
    def between_attempts(self) -> bool:
        return self._is_new and not self._has_checked_start
