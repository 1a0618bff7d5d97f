"""From a stream of goals to a stream of joint commands: continuity and rate limits.

`Tracker` is called once per period. Each tick goes on with one seeded solve without restarts, or
with one search with restarts when a new goal is far and the seeded solve can't reach it, and then
moves the commanded joints one step towards the solution. What its users can rely on:

1. Every commanded position is finite and inside the limits, and every step respects the velocity
   and acceleration limits (`motion` says which rule wins where a limit is tightened in motion).
2. While a goal is followed there are no restarts, so the arm stays on its branch. A search starts
   only for a goal that jumped, at most every `replan_period`; its branch is kept until the next.
   The way to a goal that jumped is a joint-space move in which all joints arrive together.
3. Joints that can turn more than once take the nearest turn: no clipping, no winding.
4. A goal out of reach gives the closest pose, held still.
5. Goals older than `goal_timeout`, and `stop()`, decelerate to rest; commands go on.
6. All the solving of a tick shares one time budget, a part of the period.

A tip without a goal holds the pose it had when its last goal ended (or when the first goal of
another tip came), with the same weight as a goal: where both can't be had, the closest compromise
is held, and reported as such. With no goals at all nothing is solved and the joints rest.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .driver import Budget, Clock, Search, default_clock
from .exceptions import InvalidGoal, InvalidOption
from .limits import TURN, take_nearest_turns
from .motion import MotionLimits, RateLimiter, all_finite, turn_back
from .options import OptionSet, option
from .problem import IkProblem
from .result import IkResult, IkStatus
from .rotations import Array
from .solvers import Solver, make_solver
from .tasks.packing import PackedGoals

__all__ = ['Command', 'MotionLimits', 'TrackStatus', 'Tracker', 'TrackerOptions']

SOLVING_SHARE = 0.5
"""The part of the period that solving may take."""
SEARCH_ITERATIONS = 200
"""Iterations of a search with restarts in one tick, where the time budget allows as many."""
PRECISION = 0.01
"""Solutions are this much finer than the tolerances: a slowly dragged goal then moves the arm
smoothly, not by one tolerance at a time."""
FINEST_TOLERANCE = 1e-10
"""[m, rad] Rounding keeps solutions from being finer."""
SETTLING_TIME = 2.0
"""[s] A solve that neither ends nor arrives, for a goal that stands still, is given up."""
STAGNATION = 100
"""Iterations without a clear drop of the cost after which it is given up sooner."""
CLEAR_DROP = 0.999
"""The share of the last cost to which a clear drop takes it."""
SEARCHER = 'levenberg_marquardt'
"""The solver of searches, whichever follows."""
BETTER = 0.99
"""Another branch must cost less than this much of the nearest one to be worth the move."""
NEAR = 0.1
"""[rad or m] Joints this close to a goal that moves on no longer wait for each other."""


class TrackStatus(Enum):
    """What the tracker is doing; `text` is the sentence for people."""

    IDLE = 'idle'
    TRACKING = 'tracking'
    REACHED = 'reached'
    CLOSEST = 'closest'
    SEARCHING = 'searching'
    STALE = 'stale'
    PAUSED = 'paused'

    @property
    def text(self) -> str:
        """One sentence for status messages."""
        return _STATUS_TEXT[self]


_STATUS_TEXT = {
    TrackStatus.IDLE: 'no goal: holding the joints still',
    TrackStatus.TRACKING: 'moving to the goal',
    TrackStatus.REACHED: 'the goal is reached',
    TrackStatus.CLOSEST: 'the goal is out of reach: holding the closest pose found',
    TrackStatus.SEARCHING: 'searching for a way to reach the new goal',
    TrackStatus.STALE: 'the goals stopped coming (goal_timeout): stopped',
    TrackStatus.PAUSED: 'paused: stopped, the goals are kept',
}


@dataclass(frozen=True)
class TrackerOptions(OptionSet):
    """How goals are followed."""

    updates_per_tick: int = option(
        0, 'solver iterations per tick; 0 solves to convergence in every tick', bounds=(0, 10**6)
    )
    goal_jump_position: float = option(
        0.1, 'a goal that moves farther than this in one tick is new: it may be searched for',
        unit='m', bounds=(0.0, math.inf),
    )  # fmt: skip
    goal_jump_orientation: float = option(
        0.5, 'a goal that turns farther than this in one tick is new: it may be searched for',
        unit='rad', bounds=(0.0, math.inf),
    )  # fmt: skip
    replan_period: float = option(
        0.5, 'least time between the starts of two searches', unit='s', bounds=(0.0, math.inf)
    )
    goal_timeout: float = option(
        0.0, 'a goal older than this is dropped and the arm stops; 0 keeps goals for ever',
        unit='s', bounds=(0.0, math.inf),
    )  # fmt: skip


class Command(NamedTuple):
    """What one tick commands and reports; the arrays are the caller's to keep.

    `q`, `dq` (n,): commanded positions and velocities of all joints of the robot.
    `position_errors` [m], `orientation_errors` [rad] (G,): of this q, per tip; 0 when idle.
    `solution` (n,): where the solver wants the joints, and q moves to at limited speed.
    `iterations`, `solve_time` [s]: what solving took in this tick; `restarts`: those of the
    search under way.
    """

    q: Array
    dq: Array
    status: TrackStatus
    position_errors: Array
    orientation_errors: Array
    iterations: int
    solve_time: float
    solution: Array
    restarts: int


class Tracker:
    """Follows one goal per tip of a problem, one period per tick.

    problem : its tasks are the tips, in order; the tracker works on a copy
    rate [Hz] : a step is one nominal period long, however late its tick comes
    limits : of every step; solutions stay inside them too, whatever limits the problem has
    solver, solver_options : a name from `SOLVERS` with its options, or a Solver to use as it is.
        Searches are always by `levenberg_marquardt`, with these options where it is the solver
    q0 (n,) : where the joints are; by default the middle of the robot's limits
    clock : what the time budget of solving is measured with, where the solver is given by name

    `now` [s] is only compared with other `now`s, for `goal_timeout` and `replan_period`. What is
    set between two ticks applies from the next one on. Not thread-safe: one thread, or one lock.
    Raises InvalidOption, InvalidConfiguration, UnsupportedProblem.
    """

    def __init__(
        self,
        problem: IkProblem,
        rate: float,
        *,
        limits: MotionLimits,
        solver: str | Solver = 'levenberg_marquardt',
        solver_options: Mapping[str, Any] | None = None,
        options: TrackerOptions | None = None,
        q0: ArrayLike | None = None,
        clock: Clock = default_clock,
    ) -> None:
        if not 0.0 < rate < math.inf:
            raise InvalidOption(f'rate = {rate!r} [Hz]: must be positive')
        robot, count = problem.robot, len(problem.tasks)
        self._clock = clock
        self.rate = rate
        self.period = 1.0 / rate
        """[s] The nominal time between two ticks."""
        self._tolerances = problem.position_tolerance, problem.orientation_tolerance
        self._given = [False] * count  # which tips have a goal
        self._received = [0.0] * count
        self._followed = np.zeros((count, 12))  # the targets of the last tick
        self._goals_changed = False
        self._paused = False
        self._searching = False  # the solve under way is a search
        self._solve: Search | None = None
        self._settled = False  # there is nothing more to solve
        self._patience = 0  # ticks until that is assumed
        self._cost_mark, self._stagnant_iterations = math.inf, 0
        self._use(problem, limits)
        q = robot.middle_configuration if q0 is None else robot.checked(q0, 'q0')
        self._motion = RateLimiter(limits, self.period, q)
        self.stop()
        self._hold(range(count), self._solution)
        self.set_options(options or TrackerOptions())
        self.set_solver(solver, solver_options)

    @property
    def q(self) -> Array:
        """The commanded position (n,), a copy."""
        return self._motion.q.copy()

    @property
    def dq(self) -> Array:
        """The commanded velocity (n,), a copy."""
        return self._motion.dq.copy()

    # What the tracker is told

    def set_goal(self, index: int, transform: ArrayLike | None, now: float) -> None:
        """Give tip `index` the goal `transform` (4, 4) in the root link's frame; None drops it.

        Raises InvalidGoal, and keeps the last goal, where the transform is not finite or not
        rigid, or where there is no such tip.
        """
        if not 0 <= index < len(self._given):
            raise InvalidGoal(f'there is no tip {index!r}, only 0 to {len(self._given) - 1}')
        if transform is None:
            self._drop_goal(index, TrackStatus.IDLE)
            return
        if not any(self._given):
            self._hold(range(len(self._given)), self._solution)
        self._problem.tasks[index].set_target(transform)
        self._given[index] = True
        self._received[index] = now
        self._goals_changed = True

    def set_limits(self, limits: MotionLimits) -> None:
        """Change the limits. Raises InvalidOption where they are for another robot."""
        if np.array_equal(limits.rows, self._motion.limits.rows):
            return
        self._use(self._problem, limits)
        self._motion.set_limits(limits)
        np.clip(self._solution, limits.lower, limits.upper, out=self._solution)
        if self._searching:  # inside the old limits
            self._searching, self._is_new = False, True
        self._think_again()

    def set_options(self, options: TrackerOptions) -> None:
        """Change how goals are followed."""
        seconds = SOLVING_SHARE * self.period
        self._options = options
        self._budget = Budget(seconds, options.updates_per_tick or None)
        self._search_budget = Budget(seconds, SEARCH_ITERATIONS)
        self._think_again()

    def set_solver(self, solver: str | Solver, options: Mapping[str, Any] | None = None) -> None:
        """Change the solver. Raises InvalidOption, UnsupportedProblem, and keeps the last one."""
        chosen = dict(options or {})
        follower = self._follower(solver, chosen) if isinstance(solver, str) else solver
        own = chosen if solver == SEARCHER else {}
        searcher = make_solver(SEARCHER, clock=self._clock, **own)
        follower.begin(self._problem, self._solution)  # refuses what it can't do
        self._solver, self._searcher = follower, searcher
        self._solver_choice = solver, chosen
        self._think_again()

    def pause(self, paused: bool = True) -> None:
        """Decelerate to rest and keep the goals; or, with False, go on with them."""
        if paused != self._paused:
            self._paused = paused
            self._rest()
            self._is_new = self._together = not paused  # the goal may be far from here

    def stop(self) -> None:
        """Decelerate to rest and drop all goals."""
        self._given = [False] * len(self._given)
        self._resting_status = TrackStatus.IDLE
        self._rest()

    def reset(self, q: ArrayLike | None = None, dq: ArrayLike | None = None) -> None:
        """Drop all goals and start again from q, dq (n,); by default from where it is, at rest.

        A q outside the limits is taken as it is, and brought inside at limited speed. Raises
        InvalidConfiguration where q or dq is not finite or of the wrong length.
        """
        robot = self._problem.robot
        position = self.q if q is None else robot.checked(q)
        velocity = np.zeros(robot.n) if dq is None else robot.checked(dq, 'dq')
        self._motion.q[:], self._motion.dq[:] = position, velocity
        self.stop()

    def warm(self) -> None:
        """Run once all that a tick may run, so that every kernel is compiled; changes nothing."""
        solver, solver_options = self._solver_choice
        trial = Tracker(
            self._problem,
            self.rate,
            limits=self._motion.limits,
            solver=solver,
            solver_options=solver_options,
            q0=self._solution,
            clock=self._clock,
        )
        out_of_reach = np.eye(4)
        out_of_reach[:3, 3] = 1e3
        trial.set_goal(0, out_of_reach, 0.0)
        trial.tick(0.0)
        trial._begin_search(0.0)
        trial.tick(0.0)
        self._think_again()  # a Solver that was given has begun another problem

    # The tick

    def tick(self, now: float) -> Command:
        """Advance by one nominal period and return the command."""
        self._iterations, self._restarts, self._solve_time = 0, 0, 0.0
        self._drop_stale_goals(now)
        if any(self._given) and not self._paused:
            self._note_goals()
            if self._searching:
                self._search()
            elif self._is_new or not self._settled:
                self._follow(now)
        self._move()
        return self._command()

    def _drop_stale_goals(self, now: float) -> None:
        timeout = self._options.goal_timeout
        if timeout > 0.0:
            for index, received in enumerate(self._received):
                if now - received > timeout:
                    self._drop_goal(index, TrackStatus.STALE)

    def _drop_goal(self, index: int, status: TrackStatus) -> None:
        """The tip rests: alone, or holding its pose while others have goals."""
        if not self._given[index]:
            return
        self._given[index] = False
        if any(self._given):
            self._hold([index], self._motion.stop_point())
        else:
            self._resting_status = status
            self._rest()

    def _note_goals(self) -> None:
        """Think again where a goal changed; look out for goals that jumped."""
        if not self._goals_changed:
            return
        self._goals_changed = False
        tasks = self._problem.tasks
        changes = [
            _change(old, task.target) for old, task in zip(self._followed, tasks, strict=True)
        ]
        position, orientation = map(max, zip(*changes, strict=True))
        if position == orientation == 0.0:
            return  # the same goals again: what is held stays held
        self._followed[:] = [task.target for task in tasks]
        self._dragged = True
        if (
            position > self._options.goal_jump_position
            or orientation > self._options.goal_jump_orientation
        ):
            self._is_new, self._together = True, True
            self._searching = self._dragged = False
        self._think_again()

    def _follow(self, now: float) -> None:
        """Go on with the one seeded solve; where it fails for a new goal, begin a search."""
        if not self._settled:
            self._refine()
        if self._is_new and self._settled:
            self._is_new = not self._reaches(self._latest)
            if self._is_new and now >= self._next_search:
                self._begin_search(now)
                return
        # Half-way to convergence, a solve for a new goal is no place to go to yet.
        if self._settled or not self._is_new or self._options.updates_per_tick:
            self._adopt(self._latest.q)

    def _refine(self) -> None:
        solve = self._solve or self._begin(self._solver, self._problem)
        self._latest = self._advance(solve, self._budget)
        self._settled = self._has_ended(solve, self._latest)
        if solve.done:
            self._solve = None
        if self._settled and not self._reaches(self._latest):
            self._try_other_turns()

    def _has_ended(self, solve: Search, result: IkResult) -> bool:
        """Whether the solve arrived, or will get no further."""
        if result.cost < CLEAR_DROP * self._cost_mark:
            self._cost_mark, self._stagnant_iterations = result.cost, 0
        else:
            self._stagnant_iterations += self._iterations
        self._patience -= 1
        return (
            (solve.done and result.status is not IkStatus.ITERATION_LIMIT)
            or self._stagnant_iterations >= STAGNATION
            or self._patience <= 0
        )

    def _try_other_turns(self) -> None:
        """Joints that may turn more than once and reached their limit may go on a turn back."""
        limits, start = self._motion.limits, self._latest.q.copy()
        if turn_back(start, limits.lower, limits.upper, self._turning):
            time_left = max(SOLVING_SHARE * self.period - self._solve_time, 0.0)
            result = self._solver.solve(self._problem, start, Budget(time_left))
            self._iterations += result.iterations
            self._solve_time += result.solve_time
            if self._reaches(result):
                self._latest = result

    def _begin_search(self, now: float) -> None:
        tasks = zip(self._problem.tasks, self._search_problem.tasks, strict=True)
        for task, other in tasks:
            other.set_target(task.transform)
        self._searching, self._is_new = True, False
        self._next_search = now + self._options.replan_period
        self._begin(self._searcher, self._search_problem)

    def _search(self) -> None:
        """Go on with the search; at its end take the branch that it found, if it is better."""
        solve = self._solve or self._begin(self._searcher, self._search_problem)
        found = self._advance(solve, self._search_budget)
        if solve.done:
            better = found.cost < BETTER * self._latest.cost
            self._adopt(found.q if better else self._latest.q)
            self._searching, self._together = False, True
            self._think_again()  # for the goals as they are now, from there

    def _begin(self, solver: Solver, problem: IkProblem) -> Search:
        self._solve = solve = solver.begin(problem, self._solution)
        self._counted = 0  # iterations
        return solve

    def _advance(self, solve: Search, budget: Budget) -> IkResult:
        before = solve.solve_time
        solve.advance(budget)
        result = solve.result()
        self._iterations, self._counted = result.iterations - self._counted, result.iterations
        self._restarts, self._solve_time = result.restarts, solve.solve_time - before
        return result

    def _adopt(self, q: Array) -> None:
        """Aim at the solution q, each joint by its nearest turn."""
        if all_finite(q):
            limits = self._motion.limits
            self._solution = q.copy()
            take_nearest_turns(
                self._solution, self._motion.q, limits.lower, limits.upper, self._turning
            )

    def _think_again(self) -> None:
        """Solve again, from the present solution, in the ticks to come; after a search."""
        if not self._searching:
            self._solve = None
            self._settled = False
            self._cost_mark, self._stagnant_iterations = math.inf, 0
            self._patience = math.ceil(SETTLING_TIME * self.rate)

    def _rest(self) -> None:
        """Forget what was solved and aim at where the joints can stop."""
        self._solution = self._motion.stop_point()
        self._is_new = self._searching = self._together = self._dragged = False
        self._next_search = -math.inf
        self._think_again()

    def _move(self) -> None:
        self._motion.step(self._solution, self._together)
        if self._together:
            away = np.max(np.abs(self._solution - self._motion.q))
            self._together = bool(away > (NEAR if self._dragged else 0.0))

    def _hold(self, indices: Iterable[int], q: Array) -> None:
        """Make the tips' poses at q (n,) what they are asked for, without a jump."""
        robot = self._problem.robot
        frames = robot.frames(q)
        for index in indices:
            task = self._problem.tasks[index]
            task.set_target(robot.link_transform(frames, task.link) @ task.tool)
            self._followed[index] = task.target
        self._think_again()

    def _follower(self, name: str, options: Mapping[str, Any]) -> Solver:
        """The named solver, without restarts."""
        solver = make_solver(name, clock=self._clock, **options)
        if getattr(solver.options, 'restarts', 0) == 0:
            return solver
        return make_solver(name, clock=self._clock, **{**options, 'restarts': 0})

    def _use(self, problem: IkProblem, limits: MotionLimits) -> None:
        """Make the problems to solve: like this one, with these limits and finer tolerances."""
        robot = problem.robot
        if limits.lower.shape != (robot.n,):
            raise InvalidOption(f'limits for {limits.lower.size} joints; the robot has {robot.n}')
        position, orientation = map(_finer, self._tolerances)
        self._problem = IkProblem(
            robot,
            copy.deepcopy((*problem.tasks, *problem.soft)),
            secondary=problem.secondary,
            frozen_joints=problem.frozen_joints,
            lower=limits.lower,
            upper=limits.upper,
            position_tolerance=position,
            orientation_tolerance=orientation,
            orientation_length=problem.orientation_length,
        )
        self._search_problem = self._problem.clone()
        self._commanded = PackedGoals(robot, self._problem.tasks, self._problem.variables)
        self._turning = robot.full_turns & (limits.upper - limits.lower >= TURN)

    def _reaches(self, result: IkResult) -> bool:
        """Whether it is within the tolerances of the problem, not only the finer ones."""
        return self._is_solved(result.position_errors, result.orientation_errors)

    def _is_solved(self, position_errors: Array, orientation_errors: Array) -> bool:
        position, orientation = self._tolerances
        return (
            max(position_errors.tolist()) <= position
            and max(orientation_errors.tolist()) <= orientation
        )

    def _command(self) -> Command:
        q = self._motion.q
        goals = self._commanded
        if any(self._given):
            goals.load(q)
            goals.update(q[self._problem.variables])
        else:
            goals.errors[:] = 0.0
        position, orientation = goals.errors.T.copy()
        return Command(
            q=q.copy(),
            dq=self._motion.dq.copy(),
            status=self._status(position, orientation),
            position_errors=position,
            orientation_errors=orientation,
            iterations=self._iterations,
            solve_time=self._solve_time,
            solution=self._solution.copy(),
            restarts=self._restarts,
        )

    def _status(self, position: Array, orientation: Array) -> TrackStatus:
        if self._paused:
            return TrackStatus.PAUSED
        if not any(self._given):
            return self._resting_status
        if self._searching:
            return TrackStatus.SEARCHING
        if self._is_solved(position, orientation):
            return TrackStatus.REACHED
        held = self._settled and not self._is_new and (self._motion.q == self._solution).all()
        return TrackStatus.CLOSEST if held else TrackStatus.TRACKING


def _finer(tolerance: float) -> float:
    return min(tolerance, max(PRECISION * tolerance, FINEST_TOLERANCE))


def _change(old: Array, new: Array) -> tuple[float, float]:
    """How far [m] and by what angle [rad] a target (12,) moved."""
    if (old == new).all():
        return 0.0, 0.0
    cosine = 0.5 * (float(old[:9] @ new[:9]) - 1.0)  # half of the trace of old' new, less one
    return math.dist(old[9:], new[9:]), math.acos(min(max(cosine, -1.0), 1.0))
