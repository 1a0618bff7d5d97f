# SPDX-License-Identifier: Apache-2.0
"""The records of a search in the shared loop, whose method is kernels or Python code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from ..display import joined
from ..kernels.records import Layout, Record
from ..maths.argument_types import VectorLike
from ..maths.dual_active_set import program_arrays
from ..maths.rotations import Array
from ..options import OptionSet
from ..problem import Evaluation, IkProblem
from ..result import IkResult, IkStatus
from ..robot.cone_kernels import INWARD
from ..robot.reach_cones import cone_record
from ..rules import FAILED, RUNNING
from ..tasks.packing import PackedGoals
from . import avoiding, constrained, loop
from .layouts import METHOD, NEW, STEP
from .loop import Kernel
from .records import SearchRecords
from .search import STATUSES, SearchOptions, Workspace, steps_at_once

NO_COST = 1e-24  # [m^2] Costs below this are 0, apart from rounding, so no other cost is lower


class MethodWorkspace(SearchRecords, Workspace):
    """The records of a method's search for one problem; `own` is the method's.

    run_loop : the method's loop, which suits this kind of search
    layout : of `own`
    prepare : fills fields of `own` that depend on the start, before each search
    remembered : fields of `own` that a search for nearly the same goals begins with
    """

    _settle: ClassVar[Kernel] = staticmethod(loop.settle)
    _conclude: ClassVar[Kernel] = staticmethod(loop.conclude)

    def __init__(
        self,
        problem: IkProblem,
        options: SearchOptions,
        run_loop: Kernel,
        layout: Layout = METHOD,
        prepare: Callable[[MethodWorkspace], None] = lambda workspace: None,
        remembered: tuple[str, ...] = (),
    ) -> None:
        self._layout, self._prepare, self._remembered = layout, prepare, remembered
        self.loop = run_loop
        super().__init__(problem, options)

    def _make_records(self, other_rows: int) -> None:
        super()._make_records(other_rows)
        search = self.search
        rows = self.rows + self.constraint_rows
        self.steps_at_once = steps_at_once(len(search['x']), rows)
        search['seed'] = self._options.random_seed
        self.own = self._layout.make(self._sizes)
        search['own'] = self.own.address
        fill_options(self.own, self._options)

    def load(self, q0: VectorLike | None) -> Array:
        q = self.problem.evaluator.load(q0)
        self.start_at(q)
        self.search['start'] = q[self.problem.columns]
        self._prepare(self)
        return q

    def run(self, iterations: int) -> IkStatus | None:
        address, done = self.search.address, self.search['iterations']
        last = done.item() + iterations
        while (status := self._settle(address)) == RUNNING:
            left = last - done.item()
            if left <= 0 and not self.between_attempts:
                return None
            self.loop(address, left)
        if status == FAILED:
            self.fail()
        return STATUSES[status]

    def conclude(self) -> None:
        self._conclude(self.search.address)
        if self.search['answer_status'] == FAILED:
            self.check()

    def result(
        self,
        q: Array,
        solve_time: float,
        limited_by: IkStatus = IkStatus.ITERATION_LIMIT,
        history: tuple[float, ...] = (),
    ) -> IkResult:
        search, cost = self.search, self.search['answer_cost'].item()
        errors = self.packed.goal_errors(search['errors']).copy()
        q[self.problem.columns] = search['answer']
        status = STATUSES.get(search['answer_status'].item(), limited_by)
        return IkResult(
            q,
            judged(self.problem, self.packed, status, errors, cost, q),
            errors[:, 0],
            errors[:, 1],
            cost,
            search['iterations'].item(),
            search['evaluations'].item(),
            search['attempt'].item(),
            solve_time,
            history,
            cone_violations=self.problem.cone_violations(q),
        )

    @property
    def iterations(self) -> int:
        return self.search['iterations'].item()

    @property
    def x(self) -> Array | None:
        return None if self.search['phase'] == NEW else self.search['x'].copy()

    @property
    def cost(self) -> float:
        return self.search['cost'].item()

    @property
    def between_attempts(self) -> bool:
        return bool(self.search['phase'] != STEP)

    def memory(self) -> Any:
        if self.between_attempts or not self._remembered:
            return None
        return {name: self.own[name].copy() for name in self._remembered}

    def resume(self, memory: Any) -> None:
        for name, values in memory.items():
            self.own[name] = values
        self.search['resumed'] = 1


class ConstrainedWorkspace(MethodWorkspace):
    """The records of a method's search between linear constraints, and the kernels for it."""

    keeps_constraints = True
    _settle = staticmethod(constrained.settle)
    _conclude = staticmethod(constrained.conclude)

    def load(self, q0: VectorLike | None) -> Array:
        """Restart the search, with the start moved inside the limits and constraints.

        Raises InvalidConfiguration if the constraints contradict each other.
        """
        q, problem = super().load(q0), self.problem
        rows = problem.constraints.at(q)
        if not len(rows):
            return q
        numbers = self.search['program']
        program = program_arrays(numbers, len(problem.variables), self.constraint_rows)
        program.rows[: len(rows)] = rows
        if not constrained.start_inside(self.search.address):
            raise problem.constraints.contradiction(program.sides, problem.robot)
        return q


class AvoidingWorkspace(ConstrainedWorkspace):
    """The records of a method's search among obstacles, and the kernels for it."""

    _model: Record | None = None
    _state: Record | None = None
    _version = -1
    _is_outside = False
    _settle = staticmethod(avoiding.settle)
    _conclude = staticmethod(avoiding.conclude)

    def _make_records(self, other_rows: int) -> None:
        self._load_world(self._is_outside)
        cones = self.problem.moved_cones
        self._cones = cone_record(self.problem.robot, cones) if cones else None
        super()._make_records(other_rows)

    def _load_world(self, is_outside: bool) -> bool:
        """Read the obstacles if they changed; return whether the number of constraint rows did."""
        avoid, rows = self.problem.avoid, self.constraint_rows
        known = self._version, self._is_outside
        if avoid is None or known == (avoid.world.version, is_outside):
            return False
        self._version, self._is_outside = avoid.world.version, is_outside
        self._model = avoid.moved_model(self.problem.avoidance.groups, is_outside)
        self._state = avoid.workspace_of(self._model)
        return self.constraint_rows != rows

    @property
    def constraint_rows(self) -> int:
        """Number of rows beside the limits; those of cones, then of pairs of links, come last."""
        pairs = 1 if self._state is None else len(self._state['result_index'])
        cones = INWARD * len(self.problem.moved_cones)
        return super().constraint_rows + cones + min(pairs, avoiding.MAX_PAIR_ROWS)

    def load(self, q0: VectorLike | None) -> Array:
        problem = self.problem
        q0 = None if q0 is None else problem.robot.checked(q0, 'q0')
        if self._load_world(q0 is not None and problem.avoidance.start_at(q0)[0]):
            self._make_records(len(self.constants['found']))
        return super().load(q0)

    def start_at(self, q: Array) -> None:
        super().start_at(q)
        problem = self.problem
        sizes = {'joints': len(problem.variables), 'robot_joints': problem.robot.n}
        self._avoided = own = avoiding.AVOIDED.make(sizes)
        if self._model is not None and self._state is not None:
            own['model'], own['state'] = self._model.address, self._state.address
            own['reach'] = self._model['margin'].max(initial=0.0)
        own['cones'] = 0 if self._cones is None else self._cones.address
        own['first'], self.constants['row'] = len(problem.constraints), q
        self.constants['failed'] = 0
        self.search['avoidance'] = own.address

    def result(
        self,
        q: Array,
        solve_time: float,
        limited_by: IkStatus = IkStatus.ITERATION_LIMIT,
        history: tuple[float, ...] = (),
    ) -> IkResult:
        result = super().result(q, solve_time, limited_by, history)
        start = self.problem.avoidance.start_at(result.q)[1]
        result.note = joined(self._note(result), start)
        return result

    def _note(self, result: IkResult) -> str:
        """Return a note on the limits or obstacles that stop a search."""
        problem, count = self.problem, self._avoided['collided'].item()
        if result.success:
            return ''
        if result.status is not IkStatus.COLLISION:
            return problem.avoidance.active_obstacles(result.q)
        q = result.q.copy()
        if count == 0:
            return f'nothing free was found from the start: {problem.avoidance.why_not_free(q)}'
        q[problem.columns] = self._avoided['colliding']
        return problem.avoidance.why_no_solution(q[np.newaxis], count)


def fill_options(own: Record, options: OptionSet) -> None:
    """Fill the fields with names of options: numbers, and the indices of choices."""
    for field in fields(options):
        if field.name in own.layout.fields:
            value = getattr(options, field.name)
            choices = field.metadata['choices']
            own[field.name] = choices.index(value) if choices else value


def judged(
    problem: IkProblem,
    packed: PackedGoals,
    status: IkStatus,
    errors: Array,
    cost: float,
    q: Array,
) -> IkStatus:
    """Return the status of a result at q (n,), given that of the kernels and the goals' errors
    (G, 2).

    Without a goal, coupled tasks are to be reached; without any, the least cost is the aim. With
    packed patterns, kernels do not check goals.
    """
    if status is IkStatus.COLLISION:
        return status
    if problem.coupled_alone:
        return IkStatus.REACHED if problem.missed_by(q) <= 1.0 else status
    if not problem.goals:
        return IkStatus.LEAST if status is IkStatus.CLOSEST or cost <= NO_COST else status
    if packed is not problem.packed and problem.is_solved(errors[:, 0], errors[:, 1]):
        return IkStatus.REACHED
    return problem.explained(status, errors[:, 0], errors[:, 1])


# --- methods written in Python -----------------------------------------------------------------


@dataclass(eq=False)
class State:
    """The current point of a method written in Python, and the evaluations of its last step."""

    at: Evaluation
    evaluations: int = 1

    def resume(self, last: Any) -> None:
        """Begin with the state of the method's last search; before the first step."""


StateT = TypeVar('StateT', bound=State)


class Method(Protocol[StateT]):
    """A method written in Python: its start and its step."""

    options: Any

    def start(self, problem: IkProblem, at: Evaluation) -> StateT:
        """Return the state at the start of an attempt."""

    def step(self, problem: IkProblem, state: StateT) -> StateT:
        """Do one iteration; return the new state, evaluated, its variables inside the limits."""


class PythonWorkspace(MethodWorkspace, Generic[StateT]):
    """The records of a search whose method is written in Python; the loop calls it back."""

    def __init__(self, problem: IkProblem, method: Method[StateT]) -> None:
        self.method = method
        self.state: StateT | None = None
        self._last: StateT | None = None
        super().__init__(problem, method.options, loop.run_python, prepare=self._begin)

    def _begin(self, workspace: MethodWorkspace) -> None:
        self.call_back_by(self._continue)
        self.state = self._last = None

    def _continue(self) -> None:
        """Begin the method, or take its step; the kernel calls this back."""
        search = self.search
        if search['method_wanted'] == loop.STARTING or self.state is None:
            at = self.problem.at(search['x'].copy())
            self.state = self.method.start(self.problem, at)
            if self._last is not None:
                self.state.resume(self._last)
            self._last = None
        else:
            self.state = self.method.step(self.problem, self.state)
            search['evaluations'] += self.state.evaluations - 1
            search['x'] = self.state.at.x

    def memory(self) -> StateT | None:
        return self.state

    def resume(self, memory: StateT) -> None:
        self._last = memory
