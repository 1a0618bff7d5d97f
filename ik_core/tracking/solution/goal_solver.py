# SPDX-License-Identifier: Apache-2.0
"""The solution for the goals: one seeded solve that continues over ticks, or a search.

A `GoalSolver` holds the problem whose targets are followed, the solver, and `solution`, where the
joints should be. Solving is spread over as many ticks as it needs: each tick has one budget. It is
always in one phase:

    FOLLOWING   a seeded solve is running          -> CONVERGED, when it ends
    CONVERGED   nothing more is to be solved       -> FOLLOWING, when a target moves
    JUMPED      as FOLLOWING, for goals that are   -> CONVERGED, if they are reached
                new and far                        -> SEARCHING, or WAITING before, if not
    WAITING     as CONVERGED, not reached, and the -> SEARCHING, once `replan_period` is over
                last search was just now           -> JUMPED, when a target moves
    SEARCHING   a search with restarts is running, -> FOLLOWING, from the branch that it chose
                for the goals at its start         -> CHOOSING, if its path is not free
    CHOOSING    the straight path of the joints is -> FOLLOWING, from the branch that it chose
                not free: other branches are tried

A solution that was found in JUMPED leads to CHOOSING, too, if its path is not free.

`jump` leads from any phase to JUMPED, `stay_on_branch` and `rest` to FOLLOWING.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from ...display import joined
from ...kernels.jit import COMPILED, kernel
from ...kernels.signatures import Array1, BoolArray1
from ...maths.argument_types import VectorLike
from ...maths.rotations import Array
from ...optim.search import Budget, Clock, Search, SearchOptions
from ...problem import IkProblem
from ...result import IkResult, IkStatus
from ...robot.limits import FULL_TURN, shift_to_nearest_turns
from ...rules import is_within
from ...solvers import Solver, SolverName, make_solver
from ..governor.motion_limits import MotionLimits
from .branch_search import BranchSearch
from .example_frames import advance_frame, take_over
from .other_configuration import BETTER, OtherConfiguration, Unreached
from .position_first import PositionFirst
from .tight_tolerances import with_tight_tolerances

# The fraction of a tick's period that solving may take.
SOLVING_FRACTION = 0.5
# The solver of searches, whichever follows.
SEARCHER: SolverName = 'levenberg_marquardt'


@kernel(entry='ik_turn_back')
def turn_back(q: Array1, lower: Array1, upper: Array1, turning: BoolArray1) -> bool:
    """Move turning joints of q (n,) that are at a limit one turn back, in place.

    turning (n,) : joints that can turn more than once

    Returns whether the other limit allows that for any of them.
    """
    turned = False
    for i in range(q.size):
        if turning[i] and q[i] >= upper[i] and q[i] - FULL_TURN >= lower[i]:
            q[i] -= FULL_TURN
            turned = True
        elif turning[i] and q[i] <= lower[i] and q[i] + FULL_TURN <= upper[i]:
            q[i] += FULL_TURN
            turned = True
    return turned


@kernel(entry='ik_all_finite')
def all_finite(values: Array1) -> bool:
    """Return whether no value of the (n,) array is NaN or infinite."""
    for value in values:  # noqa: SIM110 (numba compiles no generator expression)
        if not math.isfinite(value):
            return False
    return True


def _are_same(
    frames: Sequence[Array], others: Sequence[Array], tolerances: tuple[float, float]
) -> bool:
    """Return whether frames (12,) are equal, up to noise of a tenth of the tolerances [m, rad]."""
    if len(frames) != len(others):
        return False
    metres, radians = (0.1 * tolerance for tolerance in tolerances)
    for one, other in zip(frames, others, strict=True):
        if one is other:
            continue
        gaps = np.abs(one - other)
        if not ((gaps[:9] <= radians).all() and (gaps[9:] <= metres).all()):
            return False
    return True


class Phase(Enum):
    """The phases of a `GoalSolver`."""

    FOLLOWING = 'following'
    CONVERGED = 'converged'
    JUMPED = 'jumped'
    WAITING = 'waiting'
    SEARCHING = 'searching'
    CHOOSING = 'choosing'


FOLLOWING, CONVERGED, JUMPED, WAITING, SEARCHING, CHOOSING = Phase

# Returns whether no link meets an obstacle on the straight path of the joints (n,), (n,).
PathIsFree = Callable[[Array, Array], bool]


@dataclass(eq=False)
class Progress:
    """Progress of a seeded solve that continues over ticks, at most `ticks` of them."""

    ticks: int
    ticks_left: int = 0
    lowest_cost: float = math.inf
    stagnant_iterations: int = 0

    def has_ended(self, solve: Search, result: IkResult, iterations: int) -> bool:
        """Return whether the solve has converged, or is given up.

        iterations : of this tick

        It is given up after 100 iterations in which the cost did not fall by a thousandth.
        """
        if result.cost < 0.999 * self.lowest_cost:
            self.lowest_cost, self.stagnant_iterations = result.cost, 0
        else:
            self.stagnant_iterations += iterations
        self.ticks_left -= 1
        return (
            (solve.done and result.status is not IkStatus.ITERATION_LIMIT)
            or self.stagnant_iterations >= 100
            or self.ticks_left <= 0
        )


class GoalSolver:
    """The solution for the goals of a problem, followed from tick to tick.

    `problem` is a copy of the given one, with the limits and tight tolerances. `choice` is the
    requested solver, and its options. Callers only read these attributes.
    """

    # Attributes that are its state, apart from a solve that is running.
    OWN: ClassVar = (
        'phase', 'solution', 'progress', 'other', '_latest', '_next_search', '_targets',
        '_searched_for', '_sought',
    )  # fmt: skip

    def __init__(
        self, problem: IkProblem, limits: MotionLimits, rate: float, clock: Clock
    ) -> None:
        self._clock = clock
        self._rate = rate
        self.phase = FOLLOWING
        # (n,) Where the joints should be; replaced by another array, never written to.
        self.solution = np.zeros(problem.robot.n)
        # Replaced when goals, limits or the problem change.
        self.goal_id: object = object()
        # The result of a search for another configuration for this goal; None before it has ended.
        self.other: OtherConfiguration | None = None
        self.note = ''  # the solver's last note on how it finds solutions
        self._guess: Array | None = None  # (n,) start of the next seeded solve
        self._solve: Search | None = None
        self._branches: BranchSearch | None = None
        self._memory: Any = None  # of the last seeded solve, while goals do not jump
        # A solve that neither ends nor arrives, for a goal that does not move, is given up
        # after 2 s.
        self.progress = Progress(math.ceil(2.0 * rate))
        self._targets: Sequence[Array] = ()  # frames (12,) of the goals that are followed
        self._searched_for: Sequence[Array] = ()  # those that `other` is for, up to noise
        self._sought: Sequence[Array] = ()  # those of the last search
        self._next_search = -math.inf
        missed = np.full(len(problem.goals), math.inf)
        self._latest = IkResult(
            self.solution, IkStatus.ITERATION_LIMIT, missed, missed, math.inf, 0, 0, 0, 0.0
        )
        self.set_budget(0, 0.0)
        self._use(problem, limits, (problem.position_tolerance, problem.orientation_tolerance))
        self.begin_tick()

    # Instructions

    def set_problem(self, problem: IkProblem, limits: MotionLimits) -> None:
        """Solve another problem, inside these limits.

        Raises InvalidOption, UnsupportedProblem, and keeps the last.
        """
        tolerances = problem.position_tolerance, problem.orientation_tolerance
        tight = with_tight_tolerances(problem, limits, tolerances)
        take_over(tight, self.problem, unless_begun=True)
        begun = self._solver.begin(tight, self.solution)  # refuses what it can't do
        self.note = begun.result().note
        self._use(tight, limits, tolerances)

    def set_targets(self, frames: Sequence[Array], guess: Array | None = None) -> None:
        """Follow these frames (12,), one for each goal; they are kept, so never write to them.

        guess (n,) : start of the next seeded solve; by default the solution
        """
        if not _are_same(frames, self._searched_for, self._tolerances):
            self._forget_other()
            self._searched_for = frames
        self._targets = frames
        for goal, frame in zip(self.problem.goals, frames, strict=True):
            goal.target[:] = frame
        self.invalidate()
        self._guess = guess

    def frames_at(self, q: Array) -> list[Array]:
        """Return the frames (12,) of the goals' links at q (n,), tools included."""
        robot, frames = self.problem.robot, self.problem.robot.frames(q)
        return [goal.frame_at(robot, frames) for goal in self.problem.goals]

    def next_frame(self, examples: Sequence[VectorLike], q: Array, *, restart: bool) -> None:
        """Advance the examples by a frame, from q (n,). Raises InvalidGoal, and keeps the last."""
        advance_frame(self.problem, examples, q, restart=restart)
        self._forget_other()
        self.invalidate()

    def set_limits(self, limits: MotionLimits) -> None:
        """Solve inside these limits. Raises InvalidOption, and keeps the last."""
        self._use(self.problem, limits, self._tolerances)

    def _use(
        self, problem: IkProblem, limits: MotionLimits, tolerances: tuple[float, float]
    ) -> None:
        self.problem = with_tight_tolerances(problem, limits, tolerances)
        self.limits, self._tolerances = limits, tolerances
        self._search_problem = self.problem.clone()
        self._other_problem: IkProblem | None = None
        self._forget_other()
        self._others = np.setdiff1d(np.arange(problem.robot.n), self.problem.variables)
        # The steps of the goals that put the position first, by their indices.
        self.position_first = {
            i: PositionFirst(problem.robot, goal, self.problem.variables, 1.0 / self._rate)
            for i, goal in enumerate(self.problem.goals)
            if goal.puts_position_first
        }
        self._turning = problem.robot.full_turns & (limits.upper - limits.lower >= FULL_TURN)
        # A solution continues from the last one if no joint is further away than it moves in two
        # ticks, nor than 0.2 rad or m.
        self._nearby = np.minimum(0.2, 1e-3 + 2.0 * limits.velocity / self._rate)
        self.solution = np.clip(self.solution, limits.lower, limits.upper)
        self._memory = None
        if self.is_searching:  # inside the old limits
            self.phase = JUMPED
        self.invalidate()

    def set_budget(self, updates_per_tick: int, replan_period: float) -> None:
        """Set iterations per tick, 0 for no limit, and the least time [s] between searches."""
        seconds = SOLVING_FRACTION / self._rate
        self._budget = Budget(seconds, updates_per_tick or None)
        self._whole_budget = Budget(seconds)
        self._search_budget = Budget(seconds, 200)  # iterations, if there is time for them
        self._replan_period = replan_period
        self._goes_half_way = updates_per_tick > 0

    def set_solver(self, solver: SolverName | Solver, options: Mapping[str, Any]) -> None:
        """Change the solver. Raises InvalidOption, UnsupportedProblem, and keeps the last."""
        if isinstance(solver, str):
            follower = make_solver(solver, clock=self._clock, **options)
            if getattr(follower.options, 'restarts', 0) != 0:
                follower = make_solver(solver, clock=self._clock, **{**options, 'restarts': 0})
        else:
            follower = solver
        own = dict(options) if solver == SEARCHER else {}
        if not COMPILED:  # one closed form would take longer than a tick
            own['closed_form'] = False
        searcher = make_solver(SEARCHER, clock=self._clock, **own)
        chooser = make_solver(SEARCHER, clock=self._clock, **{**own, 'restarts': 0})
        # closed_form can prove that there is no other configuration.
        names = {entry.name for entry in fields(SearchOptions)}  # options that all searches have
        shared = {name: value for name, value in own.items() if name in names}
        elsewhere = make_solver('closed_form' if COMPILED else SEARCHER, **shared)
        begun = follower.begin(self.problem, self.solution)  # refuses what it can't do
        searcher.begin(self._search_problem, self.solution)  # finds closed forms, which takes long
        self._solver, self._searcher, self._memory = follower, searcher, None
        self._elsewhere, self._chooser = elsewhere, chooser
        self._forget_other()
        self.note = begun.result().note
        self.choice = solver, options

    # From phase to phase

    @property
    def is_settled(self) -> bool:
        """True if the seeded solve has ended."""
        return self.phase is not FOLLOWING and self.phase is not JUMPED

    @property
    def is_searching(self) -> bool:
        """True if a search for a branch is running, for the goals at its start."""
        return self.phase is SEARCHING or self.phase is CHOOSING

    @property
    def stays_on_branch(self) -> bool:
        """True if no search is running, nor to come."""
        return self.phase is FOLLOWING or self.phase is CONVERGED

    def rest(self, q: Array) -> None:
        """Forget the solution and aim at q (n,)."""
        self._next_search = -math.inf
        self._forget_other()
        self.solution = q
        self.follow_from(q)

    def jump(self) -> None:
        """Solve for goals that are new and far: search if the seeded solve does not reach them."""
        self.phase = JUMPED
        self._memory = None
        self._solve_anew()

    def stay_on_branch(self) -> None:
        """Follow the goals from here, and end any search."""
        self.phase = FOLLOWING
        self._solve_anew()

    def follow_from(self, q: Array) -> None:
        """Follow the goals from q (n,), without a search.

        Joints that the goals do not move stay where the solution has them.
        """
        self.solution = self._with_others(q)
        self._memory = None
        self.stay_on_branch()

    def unreached(self) -> Unreached:
        """Describe the goals as they are now, for a search for another configuration."""
        problem = self._other_problem = self._other_problem or self.problem.clone()
        for goal, frame in zip(problem.goals, self._targets, strict=True):
            goal.target[:] = frame
        take_over(problem, self.problem)
        where, cost = self.solution.copy(), self._latest.cost
        return Unreached(self._elsewhere, problem, where, cost, self.is_solved)

    def go_elsewhere(self, near: Array) -> bool:
        """Aim at the other configuration that was found; return whether there is one.

        near (n,) : where the joints are
        """
        other = self.other
        if other is None or other.q is None:
            return False
        self._adopt(other.q, near)
        self.other = OtherConfiguration(None, '')
        self._memory = None
        self.stay_on_branch()
        return True

    def _forget_other(self) -> None:
        """Forget the other configuration, which was found for goals before these."""
        self.goal_id, self.other = object(), None

    def invalidate(self) -> None:
        """Solve again in the next ticks, from the present solution; a search continues."""
        if self.is_searching:
            return
        if self.phase is CONVERGED:
            self.phase = FOLLOWING
        elif self.phase is WAITING:
            self.phase = JUMPED
        self._solve_anew()

    def aim_others(self, q: Array) -> None:
        """Aim at q (n,) with the joints that the goals do not move."""
        solution = self.solution.copy()
        solution[self._others] = q[self._others]
        self.move_solution(solution)

    def _with_others(self, q: Array) -> Array:
        """Return q (n,) with the values of the solution for joints that the goals do not move."""
        if self._others.size:
            q = q.copy()
            q[self._others] = self.solution[self._others]
        return q

    def move_solution(self, q: Array) -> None:
        """Replace the solution by q (n,), and solve from there."""
        self.solution = q
        self.invalidate()

    def settle(self) -> None:
        """End the seeded solve: the solution serves for the targets as they are."""
        if self.phase is FOLLOWING:
            self.phase = CONVERGED
        elif self.phase is JUMPED:
            self.phase = WAITING

    def _solve_anew(self) -> None:
        """Drop the running solve and its progress: the next tick begins a new one."""
        self._solve, progress = None, self.progress
        progress.ticks_left = progress.ticks
        progress.lowest_cost, progress.stagnant_iterations = math.inf, 0

    # What ticks call

    def begin_tick(self) -> None:
        """Reset the effort of a tick: iterations, restarts, seconds."""
        self.iterations, self.restarts, self.solve_time = 0, 0, 0.0

    def follow(self, q: Array, now: float, path_is_free: PathIsFree | None = None) -> bool:
        """Solve for one tick, with the joints at q (n,); return whether a search has ended.

        path_is_free : goals that jumped lead to a branch with a free path, if one is found
        """
        if self.phase is SEARCHING:
            return self._search(q, path_is_free)
        if self.phase is CHOOSING:
            return self._choose(q, path_is_free)
        if not self.is_settled and self._refine(self._budget) and not self.reaches:
            self._try_other_turns()
        if self.phase is WAITING:
            if self.reaches and now >= self._next_search and self._is_blocked(q, path_is_free):
                self._next_search = now + self._replan_period
                self._keep_goals()
                self.phase, self._branches = CHOOSING, None
                return False
            if self.reaches:
                self.phase = CONVERGED
            elif now >= self._next_search:
                self._begin_search(now)
                return False
        # Half-way to convergence, the result for a new goal is nothing to aim at yet.
        if self.phase is not JUMPED or self._goes_half_way:
            self._adopt(self._latest.q, q)
        return False

    def follow_step(self, q: Array, in_time: bool) -> bool:
        """Solve to convergence for targets close to the last; return False if that fails.

        q (n,) : positions of the joints; the solution takes the full turns nearest to them
        in_time : False if the time of the tick is over: only three iterations are made

        The solution changes only if the solve ends at the targets, near the previous solution. If
        the solve has not ended, returns True: `take_unfinished` can adopt its best point. Begins
        no search with restarts.
        """
        self.phase = FOLLOWING
        ended = in_time and self._refine(self._whole_budget)
        # A busy processor is no reason to leave a line: three iterations are made in any case.
        if not (ended or self._refine(Budget(iterations=3))):
            return True
        if self._reaches_step and self._is_nearby:
            self._adopt(self._latest.q, q)
            return True
        return False

    def take_unfinished(self, q: Array) -> bool:
        """Adopt the best so far of a solve that has not ended, if it is good enough.

        Returns whether it misses the goals by at most twice the tolerances: they are in motion.
        """
        goals = range(len(self.problem.goals))
        if max(map(self.miss, goals)) > 2.0 or not self._is_nearby:
            return False
        self._adopt(self._latest.q, q)
        return True

    @property
    def _is_nearby(self) -> bool:
        """True if the last result continues from the solution."""
        return bool((np.abs(self._latest.q - self.solution) <= self._nearby).all())

    @property
    def reaches(self) -> bool:
        """True if the last result is within the requested tolerances."""
        return self.is_solved(self._latest.position_errors, self._latest.orientation_errors)

    def is_solved(self, position_errors: Array, orientation_errors: Array) -> bool:
        """Return whether errors, (G,) each, are within the requested tolerances."""
        return is_within(
            max(position_errors.tolist()), max(orientation_errors.tolist()), *self._tolerances
        )

    @property
    def is_closest(self) -> bool:
        """True if the last solve ended at a minimum of the cost."""
        return self._latest.status.is_closest

    @property
    def remark(self) -> str:
        """The solver's note, why it stopped short, and the note on another configuration."""
        short = ''
        if self.is_settled and not (self.reaches or self.is_closest):
            stalled = self._latest.status is IkStatus.STALLED
            why = 'this is no closest point' if stalled else 'given up'
            short = f'{self._solver.name} makes no more progress: {why}'
        return joined(self.note, short, self.other.note if self.other is not None else '')

    def lacks_joints(self, position: Array, orientation: Array, points: Array) -> bool:
        """Return whether goals at points (G, 3) have these errors (G,) for lack of joints."""
        problem, tolerances = self.problem, self._tolerances
        few = problem.missed.short_goals.any()
        return bool(
            few and problem.missed.are_joints_missing(position, orientation, points, tolerances)
        )

    @property
    def _reaches_step(self) -> bool:
        """True if the last result reaches the goals, or their positions if those come first."""
        if not self.position_first:
            return self.reaches
        return all(self.miss(goal) <= 1.0 for goal in range(len(self.problem.goals)))

    @property
    def begins(self) -> bool:
        """True if the seeded solve for the targets has yet to begin."""
        return self._solve is None and not self.is_settled

    def miss(self, goal: int) -> float:
        """Return by how many tolerances the last result misses a goal (its index)."""
        position, orientation = self._tolerances
        errors = self._latest.position_errors[goal], self._latest.orientation_errors[goal]
        if goal in self.position_first:
            return float(errors[0] / position)
        return float(max(errors[0] / position, errors[1] / orientation))

    def _refine(self, budget: Budget) -> bool:
        """Continue the seeded solve; return whether it has ended."""
        start = self.solution if self._guess is None else self._guess
        solve = self._solve or self._begin(self._seeded(start), self._memory)
        self._guess = None
        self._latest = self._run(solve, budget)
        self.note = self._latest.note or self.note
        self._memory = solve.memory()
        has_ended = self.progress.has_ended(solve, self._latest, self.iterations)
        if has_ended:
            self.settle()
        if solve.done:
            self._solve = None
        return has_ended

    def _seeded(self, start: Array) -> Search:
        solve = self._solver.begin(self.problem, start)
        if self.stays_on_branch:
            solve.stay_on_branch()
        return solve

    def _try_other_turns(self) -> None:
        """Solve again with joints at their limit a turn back, if they can turn so far."""
        start = self._latest.q.copy()
        if turn_back(start, self.limits.lower, self.limits.upper, self._turning):
            time_left = max(SOLVING_FRACTION / self._rate - self.solve_time, 0.0)
            before = self._latest
            turned = self._seeded(start)
            turned.run(Budget(time_left))
            self._latest = turned.result()
            self.iterations += self._latest.iterations
            self.solve_time += self._latest.solve_time
            if not self.reaches:
                self._latest = before

    def _begin_search(self, now: float) -> None:
        self._keep_goals()
        self.phase = SEARCHING
        self._next_search = now + self._replan_period
        self._begin(self._searcher.begin(self._search_problem, self.solution))

    def _keep_goals(self) -> None:
        """Let searches search for the goals as they are now."""
        goals = zip(self.problem.goals, self._search_problem.goals, strict=True)
        for goal, other in goals:
            other.set_target(goal.transform)
        self._sought = [goal.target.copy() for goal in self._search_problem.goals]
        take_over(self._search_problem, self.problem)

    def _search(self, q: Array, path_is_free: PathIsFree | None) -> bool:
        """Continue the search; return whether it has ended, and then adopt a better solution."""
        solve = self._solve
        if solve is None:
            solve = self._begin(self._searcher.begin(self._search_problem, self.solution))
        found = self._run(solve, self._search_budget)
        if not solve.done:
            return False
        if found.cost < BETTER * self._latest.cost:
            self._latest = found
        if self.reaches and self._is_blocked(q, path_is_free):
            self.phase, self._branches = CHOOSING, None
            return False
        self._end_search(self._latest.q, q)
        return True

    def _is_blocked(self, q: Array, path_is_free: PathIsFree | None) -> bool:
        """Return whether the last result is not to be reached on a straight path from q (n,)."""
        return path_is_free is not None and not path_is_free(q, self._turned(self._latest.q, q))

    def _choose(self, q: Array, path_is_free: PathIsFree | None) -> bool:
        """Try other branches; at the end adopt the nearest one with a free path."""
        if path_is_free is None:  # since then nothing is avoided
            self._end_search(self._latest.q, q)
            return True
        near, branches = q.copy(), self._branches
        if branches is None:
            branches = self._branches = BranchSearch(
                self._chooser,
                self._search_problem,
                near,
                self._latest.q,
                lambda found: self._turned(found, near),
                self.is_solved,
                lambda found: path_is_free(near, found),
            )
        begun = self._clock()
        branches.run(SOLVING_FRACTION / self._rate, self._clock)
        self.iterations, self.restarts = branches.iterations, branches.restarts
        self.solve_time = self._clock() - begun
        if branches.done:
            self._end_search(branches.best, q)
        return branches.done

    def _end_search(self, chosen: Array, q: Array) -> None:
        """Adopt the branch that was chosen, and follow the goals as they are now from there."""
        self._adopt(chosen, q)
        self._memory = self._branches = None
        self.stay_on_branch()

    def _begin(self, solve: Search, memory: Any = None) -> Search:
        self._solve = solve
        if memory is not None:
            solve.resume(memory)
        self._counted = 0  # iterations
        return solve

    def _run(self, solve: Search, budget: Budget) -> IkResult:
        before = solve.solve_time
        solve.run(budget)
        result = solve.result()
        self.iterations, self._counted = result.iterations - self._counted, result.iterations
        self.restarts, self.solve_time = result.restarts, solve.solve_time - before
        return result

    def _adopt(self, q: Array, near: Array) -> None:
        """Aim at q (n,), each joint by its turn nearest to `near` (n,)."""
        if all_finite(q):
            self.solution = self._turned(q, near)

    def _turned(self, q: Array, near: Array) -> Array:
        """Return q (n,) by the turns nearest to `near` (n,), other joints as in the solution."""
        solution = q.copy()
        near = near.copy()  # it may be read-only, for which the kernel would be compiled again
        shift_to_nearest_turns(solution, near, self.limits.lower, self.limits.upper, self._turning)
        return self._with_others(solution)

    def begin_again(self) -> None:
        """Forget the running solve, and the memory of the last one."""
        self._solve = self._memory = self._branches = None
        for problem, frames in (
            (self.problem, self._targets),
            (self._search_problem, self._sought),
        ):
            for goal, frame in zip(problem.goals, frames, strict=False):
                goal.target[:] = frame

    @property
    def asked(self) -> IkProblem:
        """A shallow copy of the problem with the requested tolerances."""
        problem = copy.copy(self.problem)
        problem.position_tolerance, problem.orientation_tolerance = self._tolerances
        return problem
