"""The records of a search, made for a problem and kept for the next: of single solves
(`DampedWorkspace`), and of batches (`BatchRecords`)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._records import Record
from ...closed_form.beginning import Beginning, beginning_of
from ...closed_form.nearest import ROOM
from ...maths.lanes import LANES
from ...maths.rotations import Array
from ...optim.arrays import (
    load_patterns,
    packed_with,
    position_tolerance,
    problem_joint_rows,
    sorted_tasks,
)
from ...optim.search import Clock, Workspace, steps_at_once
from ...optim.workspace import STATUSES, judged
from ...problem import IkProblem
from ...result import IkResult, IkStatus
from ...robot.kinematics import MULTIPLIER
from ...tasks.kernels import CHAIN, CONE, GEOMETRIC, SLACK
from . import layouts
from .layouts import NEW, RUNNING
from .run import FEW, conclude, solve

TO_GO_ON = np.empty(0)
"""In the place of q: see `run.solve`."""
NOTHING = np.empty(0, np.int64), np.empty((0, 12))


def beginning_for(problem: IkProblem, options: Any) -> Beginning | None:
    """Where the first attempts at a problem begin, if not at the starts.

    None without restarts: descend from the start alone.
    """
    asked = options.closed_form and options.restarts > 0
    return beginning_of(problem) if asked else None


class DampedWorkspace(Workspace):
    """The records of `damped_search` for one problem."""

    def __init__(self, problem: IkProblem, options: Any) -> None:
        problem.check_without_constraints()
        self.problem = problem
        self._joint_tasks, patterns, _ = sorted_tasks(problem.other_tasks)
        self.packed = packed = packed_with(problem, patterns)
        self._sizes = {
            'joints': len(problem.variables),
            'rows': packed.rows,
            'bodies': len(packed.tree),
            'goals': len(packed.parts),
        }
        self.steps_at_once = steps_at_once(self._sizes['joints'], packed.rows)
        self.beginning = beginning_for(problem, options)
        self.constants = self._constants(options)
        self._tolerances = 0.0, 0.0
        self._note_tolerances()
        self.searches = self.make_searches(1, 1, targets=packed.targets)
        self._one = self.make_lanes(1)
        self._start, self._angles = self.searches['starts'][0], self.searches['angles'][0]
        self._errors = self.searches['errors'][0]
        self._columns = np.array(problem.variables, np.int64)
        self._addresses = tuple(
            record.address for record in (self.searches, self.constants, self._one)
        )
        # what a solve without tasks, of goals as they are packed, reports needs no second look
        self._is_plain = not problem.other_tasks and packed.is_plain
        self._looked = self._begins = False

    def _constants(self, options: Any) -> Record:
        packed, problem, beginning = self.packed, self.problem, self.beginning
        plan, everywhere = NOTHING
        near = everywhere
        if beginning is not None:
            near, (plan, everywhere, _) = beginning.numbers, beginning.restart
        arrays = {
            'tree': packed.tree,
            'geometry': packed.geometry,
            'table': packed.table,
            'tools': packed.tools,
            'bounds': problem.limits.packed,
            'frozen': np.array(packed.frozen, np.int64),
            'plan': plan,
            'near': near,
            'everywhere': everywhere,
        }
        record = layouts.PROBLEM.make(
            arrays,
            **self._sizes,
            frozen_count=len(packed.frozen),
            known=len(plan),
            chain_rows=len(near),
        )
        weighed = bool(problem.other_tasks)
        # Weighed against other tasks, a goal that is not met is a compromise, not a failure.
        record['restarts'] = 0 if weighed else options.restarts
        record['weighed'], record['pose'] = weighed, self._is_pose
        for name in ('max_iterations', 'patience', 'max_step', 'damping'):
            record[name] = getattr(options, name)
        self.random_seed = options.random_seed
        return record

    @property
    def _is_pose(self) -> bool:
        """Whether the one goal is the whole pose of a chain's end, without any slack."""
        packed = self.packed
        table, tools = packed.table, packed.tools
        return bool(
            len(table) == 1
            and table[0, CHAIN] > 0
            and table[0, GEOMETRIC] > 0
            and not tools[0, SLACK : CONE + 1].any()
            and (packed.geometry[:, MULTIPLIER] == 1.0).all()
        )

    def make_searches(self, count: int, slot_count: int, **given: Array) -> Record:
        """Records for so many searches, of which so many go on at a time."""
        record = layouts.SEARCHES.make(
            given,
            count=count,
            joints=self._sizes['joints'],
            goals=self._sizes['goals'],
            frozen_count=len(self.packed.frozen),
            slots=slot_count,
        )
        record['seeds'] = self.random_seed
        record['elsewhere'] = self.beginning is not None
        return record

    def make_lanes(self, width: int) -> Record:
        """Records for attempts side by side."""
        size = max(self._sizes['joints'], self._sizes['rows'])
        record = layouts.LANES.make(width=width, **self._sizes, size=size, room_rows=ROOM)
        record['point'] = layouts.POINT.make(**self._sizes, size=size)
        record['fresh'] = 1.0
        return record

    def _note_tolerances(self) -> None:
        problem = self.problem
        tolerances = problem.position_tolerance, problem.orientation_tolerance
        if tolerances == self._tolerances:
            return
        self._tolerances = tolerances
        own = self.constants['tolerance']
        own[:] = position_tolerance(problem, self.packed), problem.orientation_tolerance
        if self.beginning is not None:
            self.beginning.set_tolerances(problem)

    def _read(self, q0: ArrayLike | None) -> Array:
        """What may have changed since the last search: the start (n,), targets, tolerances."""
        q = self.problem.load(q0)
        self._note_tolerances()
        if len(self._angles):
            self._angles[:] = self.packed.frozen_values(q)
        if self.problem.other_tasks:
            self._load_tasks(q)
        return q

    def _load_tasks(self, q: Array) -> None:
        load_patterns(self.problem, self.packed, q)
        constant, own = self.packed.constant, self.constants
        if self._joint_tasks:
            own['weights'], own['rests'], more = problem_joint_rows(
                self.problem, self._joint_tasks, q
            )
            constant += more
        own['joint_cost'] = constant

    def solve(self, q0: ArrayLike | None, clock: Clock) -> IkResult:
        """A whole solve, without a budget."""
        started = clock()
        q, given = self._read(q0), self._whole
        outcome = solve(*given, self.steps_at_once, q, self._columns)
        if outcome[0] == RUNNING:
            while outcome[0] == RUNNING:  # Ctrl-C is heard in between
                outcome = solve(*given, self.steps_at_once, TO_GO_ON, self._columns)
            q[self.problem.columns] = self.searches['points'][0]
        if not self._is_plain:
            return self.result(q, clock() - started)
        status, cost, iterations, evaluations, restarts = outcome
        errors = self._errors.copy()
        return IkResult(
            q,
            STATUSES[status],
            errors[:, 0],
            errors[:, 1],
            cost,
            iterations,
            evaluations,
            restarts,
            clock() - started,
        )

    @cached_property
    def _whole(self) -> tuple[int, ...]:
        """What `solve` is given for a whole solve: with lanes, which take room that a search step
        by step does not need."""
        if LANES == 1:
            return *self._addresses, 0
        self._few = self.make_lanes(FEW)
        return *self._addresses, self._few.address

    # --- step by step ---

    def load(self, q0: ArrayLike | None) -> Array:
        """See Workspace."""
        q, own = self._read(q0), self.searches
        self._start[:] = q[self.problem.columns]
        own['stage'], own['status'] = NEW, RUNNING
        own['begun'] = own['iterations'] = own['evaluations'] = 0
        self._looked, self._begins = False, self.beginning is not None
        own['elsewhere'] = self._begins
        return q

    def stay_on_branch(self) -> None:
        """See Workspace."""
        self._begins, self.searches['elsewhere'] = False, 0

    def run(self, iterations: int) -> IkStatus | None:
        """See Workspace."""
        own = self.searches
        looks = self._begins and iterations == 0  # whether the start reaches the goals
        if self._looked and not looks:
            own['stage'], self._looked = NEW, False
        own['begins'] = self._begins and not looks
        if not looks:
            self._begins = False
        status = STATUSES.get(solve(*self._addresses, 0, iterations, TO_GO_ON, self._columns)[0])
        if looks and status is None:
            own['begun'] = own['evaluations'] = 0
            self._looked = True
        return status

    def conclude(self) -> None:
        """See Workspace."""
        self._status = conclude(*self._addresses)

    def result(
        self,
        q: Array,
        solve_time: float,
        limited_by: IkStatus = IkStatus.ITERATION_LIMIT,
        history: tuple[float, ...] = (),
    ) -> IkResult:
        """See Workspace."""
        own, point = self.searches, self._one.part('point')
        status = own['status'].item(0)
        if status == RUNNING:
            status, x = self._status, point['answers'][0]
            errors, cost = point['errors'], point['cost'].item()
        else:
            x, errors, cost = own['points'][0], own['errors'][0], own['costs'].item(0)
        errors = self.packed.goal_errors(errors).copy()
        q[self.problem.columns] = x
        return IkResult(
            q,
            judged(self.problem, self.packed, STATUSES.get(status, limited_by), errors, cost),
            errors[:, 0],
            errors[:, 1],
            cost,
            own['iterations'].item(0),
            own['evaluations'].item(0),
            max(own['begun'].item(0) - 1, 0),
            solve_time,
            history,
        )

    @property
    def iterations(self) -> int:
        """See Workspace."""
        return self.searches['iterations'].item(0)

    @property
    def x(self) -> Array | None:
        """See Workspace."""
        if self.searches['stage'] == NEW or self._looked:
            return None
        if self.searches['status'][0] != RUNNING:
            return self.searches['points'][0].copy()
        return self._one['x'][1 - self._one['here'].item(), :, 0].copy()

    @property
    def cost(self) -> float:
        """See Workspace."""
        if self.searches['status'][0] != RUNNING:
            return self.searches['costs'].item(0)
        return self._one['cost'].item(1 - self._one['here'].item(), 0)

    @property
    def between_attempts(self) -> bool:
        """See Workspace."""
        return not self._looked and self.searches['stage'].item() == NEW
