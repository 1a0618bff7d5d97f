# SPDX-License-Identifier: Apache-2.0
"""All solutions by geometry, and of these the nearest to the start.

If the chain to the goal has a closed form (`ik_core.closed_form`, which `ik info` names), the
answer is REACHED, with the solution of least joint distance |q - q0| to the start, each joint at
its nearest turn; there is nothing to converge. A start that reaches the goals already is kept, and
`note` says so. With seven joints one is the redundancy parameter. It keeps its start value if that
has solutions inside the limits. Otherwise REDUNDANCY_VALUES of its range are tried, outwards from
the start value, so that it moves no further than necessary, up to one of these steps.

The default solver, `levenberg_marquardt`, answers all other problems from the same start, and
`note` says so and why:
- problems without a closed form: several goals, goals with masked components, regions, tasks
  weighed against goals, chains of other families;
- poses out of reach: it finds the closest point. For up to six joints the note says that the pose
  is certainly out of reach;
- tolerances finer than the accuracy of the closed form: it starts from the solution.
Chains that nearly have a closed form are solved as if they had one, and each solution is refined.

If all solutions collide (`avoid`), the note says for up to six joints that this is certain. With
seven joints the option `prove_collisions` tries to prove it for all values of the redundancy
parameter (`closed_form.infeasibility_proof`), which may also find a free solution.

Secondary tasks use the remaining freedom, starting from the solution.

A goal that moves slowly is tracked (`Search.stay_on_branch`, as in a tracker) by the nearest
solution only if that is within NEARBY. If there is none, because the branch ends at a limit or at
the edge of the reach, the default solver answers, which stays on the branch: a tracked arm does
not flip. With seven joints the default solver tracks from the start: with one joint fixed, the
others would run into their limits where all of them together can go on. Closed forms by
eigenvalues take milliseconds: they are not used for tracking, nor with budgets shorter than
EIGENVALUE_TIME.

An iteration is the whole closed form. The first solve of a problem analyses the chain, which takes
some milliseconds; so does a solve with other values of frozen joints, with which the chain may
gain or lose its closed form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..closed_form.cached_form import CachedForm
from ..closed_form.closed_form import ClosedForm
from ..closed_form.families import Strategy
from ..closed_form.infeasibility_proof import InfeasibilityProof, can_prove
from ..display import joined
from ..exceptions import UnsupportedProblem
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array, frames_of
from ..optim.search import Budget, Search, SearchOptions
from ..options import option
from ..problem import IkProblem
from ..result import IkResult, IkStatus
from ..robot.limits import FULL_TURN
from ..rules import REACHED, RUNNING
from .base import Solver
from .names import SolverName

NEARBY = 0.1  # [rad or m] Largest move of a joint in which a branch is followed
# Values of the redundancy parameter that are tried if that of the start has no solution.
REDUNDANCY_VALUES = 60
LOOK = 30  # Candidates between two readings of the clock
NAMED = 8  # Maximum number of colliding solutions whose pairs a note names
PROBLEMS_IN_MEMORY = 4096  # Problems of a batch whose solutions are in memory at the same time
# [s] With less time than this, as in ticks, closed forms by eigenvalues are not used: they take
# milliseconds.
EIGENVALUE_TIME = 0.01
NONE_EXACTLY = 'exactly this goal is out of reach for certain, by its closed form'
# The note for such a start. While a goal is tracked, most ticks end so.
NOTHING_TO_DO = 'the start reaches the goals already'


@dataclass(frozen=True)
class ClosedFormOptions(SearchOptions):
    """Options of `closed_form`; its fallback solver uses them, too."""

    max_iterations: int = option(
        200, 'iterations per attempt of levenberg_marquardt, if it is used', bounds=(1, 10**9)
    )
    restarts: int = option(
        100, 'further attempts of levenberg_marquardt, if it is used', bounds=(0, 10**6)
    )
    prove_collisions: bool = option(
        False,
        'try to prove that no solution of an arm of seven joints is free, where none is found; '
        'that takes seconds at most',
    )


class ClosedFormSolver(Solver):
    """Solutions in closed form, with another solver for problems without one."""

    name: ClassVar[str] = 'closed_form'
    Options: ClassVar = ClosedFormOptions
    fallback: ClassVar[SolverName | None] = 'levenberg_marquardt'
    avoids: ClassVar = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._next: Solver | None = None
        self._known: _Known | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the cached form of a problem: a copy makes its own."""
        return {**vars(self), '_known': None}

    def set_fallback(self, fallback: type[Solver]) -> None:
        shared = {f.name: getattr(self.options, f.name) for f in fields(SearchOptions)}
        self._next = fallback(clock=self.clock, closed_form=False, **shared)

    def solve(
        self, problem: IkProblem, q0: VectorLike | None = None, budget: Budget | None = None
    ) -> IkResult:
        """Solve as every solver does, without a search if the first check answers."""
        result = None
        if budget is None and not problem.levels and not self.options.record_history:
            result = self._at_once(problem, q0)
        return super().solve(problem, q0, budget) if result is None else result

    def _at_once(self, problem: IkProblem, q0: VectorLike | None) -> IkResult | None:
        known = self._known_of(problem)
        form, workspace = known.form, known.workspace
        if form is None or not workspace.is_plain:
            return None
        started = self.clock()
        start, errors = problem.evaluator.load_numbers(q0), np.empty((2, 1))
        if (
            workspace.check_start(start, errors)[0] != RUNNING
        ):  # it reaches the goal, or is not finite
            return None
        choice = _Choice(problem)
        q = choice.of(form.solve_loaded(start))
        if q is None and form.redundant_joint is not None:
            values = _outwards(form, start.item(form.redundant_joint))
            q = form.solve_first(start, values, choice.of)
        return None if q is None else self._judged(known, q, errors, started)

    def _judged(self, known: _Known, q: Array, errors: Array, started: float) -> IkResult | None:
        """Return the result of a solution (n,); None if it misses the tolerances.

        errors (2, 1) : scratch
        """
        q = q.copy()
        code, cost = known.workspace.check_start(q, errors)
        if code != REACHED:
            return None
        start = known.workspace.problem.avoidance.start_at(q)[1]
        return IkResult(
            q, IkStatus.REACHED, errors[0], errors[1], cost, 1, 2, 0,
            self.clock() - started, (), joined(known.note, start),
        )  # fmt: skip

    def solve_regular(
        self, problem: IkProblem, transforms: Array, starts: Array, threads: int
    ) -> Iterator[IkResult | None]:
        """Yield results for problems with a solution at the redundant joint's start, else None."""
        known, packed = self._known_of(problem), problem.packed
        form, workspace = known.form, known.workspace
        if form is None or not workspace.is_plain or problem.levels:
            yield from super().solve_regular(problem, transforms, starts, threads)
            return
        for first in range(0, len(starts), PROBLEMS_IN_MEMORY):
            started, some = self.clock(), transforms[first : first + PROBLEMS_IN_MEMORY]
            q0, columns = starts[first : first + PROBLEMS_IN_MEMORY].copy(), problem.columns
            q0[:, columns] = problem.limits.project(q0[:, columns])
            many = list(form.solve_many(some, q0, threads=threads))
            free = _free_ones(problem, many)
            for start, target, found in zip(q0, frames_of(some), free, strict=True):
                packed.targets[0], errors = target, np.empty((2, 1))
                is_done = not len(found) or workspace.check_start(start, errors)[0] == REACHED
                yield None if is_done else self._judged(known, found[0], errors, started)

    def _search(self, problem: IkProblem, q0: VectorLike | None) -> Search:
        known = self._known_of(problem)
        assert self._next is not None
        return ClosedFormSearch(problem, known, self._next, q0, self.options)

    def _known_of(self, problem: IkProblem) -> _Known:
        if self._known is None or not self._known.is_for(problem):
            problem.check_without_constraints()
            if self._next is None:
                raise RuntimeError('make_solver makes this solver, which needs a fallback')
            self._known = _Known(problem, self._next)
        return self._known


class _Known(CachedForm):
    """The cached form of a problem, and the notes on its solutions."""

    def __init__(self, problem: IkProblem, fallback: Solver) -> None:
        super().__init__(problem)
        self._fallback: Any = fallback
        self._note = ''
        self._strategy: Strategy | None = None
        self.find(problem.default_configuration)

    @cached_property
    def workspace(self) -> Any:
        """The fallback's records, which judge solutions."""
        return self._fallback.workspace(self._problem())

    @property
    def note(self) -> str:
        """The note on solutions in closed form."""
        assert self.form is not None
        if self._strategy is not self.form.strategy:
            self._strategy, self._note = self.form.strategy, f'closed form: {self.form.family}'
        return self._note


class ClosedFormSearch(Search):
    """Search of the closed form; if that gives no answer, the fallback's search."""

    def __init__(
        self,
        problem: IkProblem,
        known: _Known,
        fallback: Solver,
        q0: VectorLike | None,
        options: ClosedFormOptions,
    ) -> None:
        self.problem, self.clock = problem, fallback.clock
        self.status = None
        self.solve_time = 0.0
        self._known, self._fallback, self._options = known, fallback, options
        self._search = fallback.search(self.problem, q0)
        self.q0 = self._search.q0
        self._stays, self._left = False, math.inf
        self._choice = _Choice(problem)
        self._found: IkResult | None = None  # by the closed form
        known.find(self.q0)
        self._note = self._hands_over(known.why_not)
        self._looking: Iterator[None] | None = None
        if known.form is not None:
            self._looking, self._note = self._search_form(known.form), ''

    def stay_on_branch(self) -> None:
        self._stays = True

    def iterate_until(self, deadline: float | None, iterations: int | None) -> None:
        """Iterate; a solution of the closed form counts as the first iteration."""
        if self._looking is not None:
            if not self._has_answered(deadline, iterations):
                return
            if self._found is not None and iterations is not None:
                iterations -= 1
        if self.status is None:
            self._search.limited_by = IkStatus.ITERATION_LIMIT
            self._search.iterate_until(deadline, iterations)
            self.status, self.limited_by = self._search.status, self._search.limited_by

    def _has_answered(self, deadline: float | None, iterations: int | None) -> bool:
        """Return whether the closed form has been searched; False if a budget ends first."""
        self._search.iterate_until(None, 0)  # to see whether the start reaches the goals
        self.status = self._search.status
        if self.status is not None and not self._stays:
            self._note = NOTHING_TO_DO
        if self.status is None and iterations == 0:
            return False
        for _ in self._looking if self.status is None and self._looking is not None else ():
            self._left = math.inf if deadline is None else deadline - self.clock()
            if self._left <= 0.0:
                self.limited_by = IkStatus.TIME_LIMIT
                return False
        self._looking = None
        return True

    def _search_form(self, form: ClosedForm) -> Iterator[None]:
        """Search the form for a solution, pausing to read the clock."""
        yield
        start = self.q0.copy()
        start[self.problem.variables] = self.x0
        try:
            form.set_frozen_joints(start)
            slow = form.strategy.by_elimination
            if self._stays and (slow or not form.is_exact or form.redundant_joint is not None):
                why = (
                    'leaves a joint free' if form.redundant_joint is not None else 'is not as fast'
                )
                self._note = f'followed by {self._fallback.name}: the closed form {why}'
            elif self._stays:
                self._search_nearby(form, start)
            elif slow and self._left < EIGENVALUE_TIME:
                self._note = self._hands_over('no time for the closed form')
            else:
                yield from self._search_nearest(form, start)
        except UnsupportedProblem as reason:  # as its frozen joints stand in the start
            self._note = self._hands_over(str(reason))

    def _search_nearby(self, form: ClosedForm, start: Array) -> None:
        q = self._choice.of(form.solve_loaded(start))
        if q is not None and np.abs(q - start).max() <= NEARBY:
            self._take(q)
        elif q is None:
            self._note = self._out_of_reach(form)
        else:
            self._note = self._hands_over('no solution in closed form nearby')

    def _search_nearest(self, form: ClosedForm, start: Array) -> Iterator[None]:
        choice, redundant = self._choice, form.redundant_joint
        q = choice.of(form.solve_loaded(start))
        values = np.empty(0) if redundant is None else _outwards(form, float(start[redundant]))
        for first in range(0, len(values), LOOK):
            if q is not None or self._goal_collision():
                break
            yield
            q = form.solve_first(start, values[first : first + LOOK], choice.of)
        is_proved = redundant is None and form.is_certain
        if q is None and choice.colliding and not self._goal_collision() and self._may_prove(form):
            cover = InfeasibilityProof(self.problem, form, start)
            while not cover.is_over:
                yield
                cover.refine()
            q, is_proved = cover.found, cover.is_proved
        if q is not None:
            self._take(q)
        elif choice.colliding and is_proved:
            self._end_without_free(f'for certain, {choice.why_none(self.problem)}')
        elif why := self._goal_collision():
            self._end_without_free(why)
        else:
            self._note = self._out_of_reach(form)

    def _may_prove(self, form: ClosedForm) -> bool:
        return self._options.prove_collisions and can_prove(self.problem, form)

    def _goal_collision(self) -> str:
        """Name what collides for the goal alone, in a solution and so in all; '' if nothing."""
        colliding, problem = self._choice.colliding, self.problem
        if not colliding:
            return ''
        return problem.avoidance.goal_collision(colliding[0], problem.tolerances)

    def _end_without_free(self, why: str) -> None:
        """End at the start, since all solutions collide."""
        self._note = f'{self._known.note}; {why}'
        self.status = IkStatus.COLLISION
        self._found = self.finish(self.x0, 1, 2, 0)
        self._found.history = (self._found.cost,) if self._options.record_history else ()

    def _take(self, q: Array) -> None:
        """Answer with a solution q (n,), or begin there if the tolerances are finer than it is."""
        self._note = self._known.note
        found = self.finish(q[self.problem.variables], 1, 2, 0)
        if found.success:
            self.status = found.status
        elif found.cost < self._search.cost:
            self._note += f', followed by {self._fallback.name}'
            targets = self.problem.packed.targets.copy()
            self._search = self._fallback.search(self.problem, found.q)
            self.problem.packed.targets[:] = targets  # as they were when this search began
        else:
            return
        found.history = (found.cost,) if self._options.record_history else ()
        self._found = found

    def _out_of_reach(self, form: ClosedForm) -> str:
        where = ''
        if form.redundant_joint is not None:
            joint = self.problem.robot.joint_names[form.redundant_joint]
            where = f' at {REDUNDANCY_VALUES} values of {joint}'
        if self._choice.colliding:
            why = self._choice.why_none(self.problem)
            return self._hands_over(f'no free solution in closed form{where}: {why}')
        if form.redundant_joint is None and form.is_certain:
            return NONE_EXACTLY
        return self._hands_over(f'no solution in closed form{where}')

    def _hands_over(self, why: str) -> str:
        return f'{why}; solved by {self._fallback.name}'

    @property
    def _answer(self) -> IkResult | None:
        found = self._found
        is_last = found is not None and (found.success or found.status is IkStatus.COLLISION)
        return found if is_last else None

    @property
    def x(self) -> Array:
        answer = self._answer
        return self._search.x if answer is None else answer.q[self.problem.variables]

    @property
    def cost(self) -> float:
        answer = self._answer
        return self._search.cost if answer is None else answer.cost

    def memory(self) -> Any:
        return self._search.memory()

    def resume(self, memory: Any) -> None:
        self._search.resume(memory)

    def result(self) -> IkResult:
        """The best so far."""
        if self._answer is not None:
            start = self.problem.avoidance.start_at(self.q0)[1]
            self._answer.solve_time, self._answer.note = self.solve_time, joined(self._note, start)
            return self._answer
        self._search.limited_by = self.limited_by
        result = self._search.result()
        if self._found is not None:
            result.iterations += self._found.iterations
            result.evaluations += self._found.evaluations
            result.history = self._found.history + result.history
        collides = result.status is IkStatus.COLLISION
        why = result.note if collides else self.problem.avoidance.start_at(self.q0)[1]
        note = self._note
        if note == NONE_EXACTLY:  # tolerances may hold what is in reach
            what = 'within the tolerances' if result.success else 'the closest point'
            note = f'{note}; {what} by {self._fallback.name}'
        result.solve_time, result.note = self.solve_time, joined(note, why)
        return result


def _outwards(form: ClosedForm, here: float) -> Array:
    """Return values of the redundant joint at whole steps from here, the nearest first.

    Inside the limits, or within half a turn for a continuous joint.
    """
    low, high = form.redundancy_range
    step = (high - low) / REDUNDANCY_VALUES
    if form.robot.full_turns[form.redundant_joint] and high - low >= FULL_TURN:
        low, high = here - 0.5 * FULL_TURN, here + 0.5 * FULL_TURN
    steps = step * np.arange(1, REDUNDANCY_VALUES + 1)
    values = np.stack([here - steps, here + steps], axis=1).ravel()
    return values[(low <= values) & (values <= high)]


class _Choice:
    """Selection of the first solution that may be an answer; keeps colliding ones before it."""

    def __init__(self, problem: IkProblem) -> None:
        self._problem = problem
        self.colliding: list[Array] = []

    def of(self, found: Array) -> Array | None:
        """Return the first of the solutions (k, n) that is free, or None."""
        if not self._problem.avoids or not len(found):
            return found[0] if len(found) else None
        free = self._problem.avoidance.which_may_answer(found)
        self.colliding += list(found[~free])
        return found[free][0] if free.any() else None

    def why_none(self, problem: IkProblem) -> str:
        """Return text: why none of the solutions may be used."""
        return problem.avoidance.why_no_solution(
            np.array(self.colliding[:NAMED]), len(self.colliding)
        )


def _free_ones(problem: IkProblem, many: list[Array]) -> list[Array]:
    """Return the free ones among the solutions (k, n) of each of many problems."""
    if not problem.avoids:
        return many
    ends = np.cumsum([len(found) for found in many])[:-1]
    free = np.split(problem.avoidance.which_may_answer(np.concatenate(many)), ends)
    return [found[which] for found, which in zip(many, free, strict=True)]
