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

A goal that jumped is gone to by a move of the joints, or, where `move` is 'linear', along a
straight line of the tip with limited speed and acceleration, slower where the joints can't keep
up. Twists (`set_twist`) carry a tip on from where it is. Neither searches nor leaves its branch:
where the way is blocked, by a limit or a singularity, the arm stops there and the status is
BLOCKED, until there is another goal or direction. Both solve to convergence in every tick. With
`feed_forward`, the velocity of a stream of goals is followed too, so that the tip does not lag
(Buss 2009, section 2).

A tip without a goal holds the pose it had when its last goal ended (or when the first goal of
another tip came), with the same weight as a goal: where both can't be had, the closest compromise
is held, and reported as such. With no goals at all nothing is solved and the joints rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import InvalidGoal, InvalidOption
from ..maths.rotations import Array, checked_transform, finite_vector, frame_of
from ..optim.search import Clock, default_clock
from ..problem import IkProblem
from ..solvers import Solver
from ..tasks.packing import PackedGoals
from .goal_solver import GoalSolver
from .jerk_limiter import JerkLimiter
from .limits import MotionLimits
from .options import TrackerOptions
from .rate_limiter import RateLimiter
from .references import STREAM_GAP, Motion, Reference, SpeedScale
from .rest_posture import RestPosture
from .status import Command, TrackStatus

NEAR = 0.1
"""[rad or m] Joints this close to a goal that moves on no longer wait for each other."""
PACE = 0.9
"""The share of a joint's velocity that a line or a jog may ask for; the rest is to catch up."""
CRAWL = 0.1
"""The share of the tip's full speed below which joints get slower too."""
SEVERAL = 3
"""Ticks after which a line or a jog is under way."""
LOOK_AHEAD = 0.01
"""[rad or m] How far along a jog its condition number is compared."""


class Tracker:
    """Follows one goal per tip of a problem, one period per tick.

    problem : its tasks are the tips, in order; the tracker works on a copy
    rate [Hz] : a step is one nominal period long, however late its tick comes
    limits : of every step; solutions stay inside them too, whatever limits the problem has
    solver, solver_options : a name from `SOLVERS` with its options, or a Solver to use as it is.
        Searches are always by `levenberg_marquardt`, with these options where it is the solver
    q0 (n,) : where the joints are; by default the middle of the robot's limits
    rest (n,) : the posture that joints are drawn to with `rest_rate`; by default q0
    clock : what the time budget of solving is measured with, where the solver is given by name

    `now` [s] is only compared with other `now`s: for the ages of goals and twists, and
    `replan_period`. What is set between two ticks applies from the next one on. Not thread-safe:
    one thread, or one lock. Raises InvalidOption, InvalidConfiguration, UnsupportedProblem.
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
        rest: ArrayLike | None = None,
        clock: Clock = default_clock,
    ) -> None:
        if not 0.0 < rate < math.inf:
            raise InvalidOption(f'rate = {rate!r} [Hz]: must be positive')
        robot, count = problem.robot, len(problem.goals)
        self._robot, self._clock = robot, clock
        self.rate = rate
        self.period = 1.0 / rate
        """[s] The nominal time between two ticks."""
        self._given = [False] * count  # which tips have a goal
        self._references = [Reference() for _ in range(count)]
        self._dragged = self._together = self._paused = False
        self._at_rest = False  # the rest posture is reached, as far as the goals allow
        self._goal_solver = GoalSolver(problem, limits, rate, clock)
        self._commanded = self._packed()
        q = robot.middle_configuration if q0 is None else robot.checked(q0, 'q0')
        self._motion = self._limiter(limits, q)
        # The velocity of the solution, where it moves on by itself, and that of the last tick.
        self._drift, self._last_drift = np.zeros(robot.n), np.zeros(robot.n)
        self._drifts = self._drifted = False
        self._pace = SpeedScale(self.period)
        self._rest_q = q if rest is None else robot.checked(rest, 'rest')
        self._posture = self._new_posture()
        self.stop()
        self._hold(range(count), self._goal_solver.solution)
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

    def condition_number(self) -> float:
        """How near to a singularity the commanded q is: 1 at best, inf where it is singular.

        The ratio of the largest singular value of the goals' Jacobian to the smallest, of all
        rows that the goals use: positions in m, rotations in rad times `orientation_length`.
        """
        return self._condition_at(self._motion.q)

    # What the tracker is told

    def set_goal(
        self,
        index: int,
        transform: ArrayLike | None,
        now: float,
        *,
        twist: ArrayLike | None = None,
        move: str | None = None,
    ) -> None:
        """Give tip `index` the goal `transform` (4, 4) in the root link's frame; None drops it.

        twist (6,) : the velocity of the goal in the root link's frame [m/s, rad/s], where it
            moves on; else `feed_forward` takes it from the goals before
        move : 'joint' or 'linear', instead of the option

        Raises InvalidGoal, and keeps the last goal, where the transform is not finite or not
        rigid, or where there is no such tip.
        """
        self._check_index(index)
        if transform is None:
            self._drop_goal(index, TrackStatus.IDLE)
            return
        reference, linear = self._references[index], self._is_linear(move)
        velocity = None if twist is None else finite_vector(twist, 6, 'twist')
        goal = frame_of(checked_transform(transform))
        self._begin_to_follow()
        if self._options.feed_forward and velocity is None and not linear:
            reference.give_next_of_stream(goal, now)
        else:
            reference.give(goal, now, linear=linear, twist=velocity)
        self._given[index] = True

    def set_twist(self, index: int, linear: ArrayLike, angular: ArrayLike, now: float) -> None:
        """Carry tip `index` on by a twist, in the root link's frame, until `twist_timeout`.

        linear (3,) [m/s] of the tip's origin; angular (3,) [rad/s]. Too fast a twist is slowed
        down, keeping its direction. The tip's goal is dropped. Raises InvalidGoal where the
        numbers are not finite, or where there is no such tip.
        """
        self._check_index(index)
        twist = np.concatenate(
            [finite_vector(linear, 3, 'linear'), finite_vector(angular, 3, 'angular')]
        )
        self._begin_to_follow()
        reference = self._references[index]
        if reference.motion is not Motion.JOG:
            start = self._frames_at([index], self._motion.stop_point())[0]
            reference.jog(twist, now, start)
            self._dragged, self._together = True, False
            self._goal_solver.is_new = self._goal_solver.searching = False
            self._goal_solver.invalidate()
        else:
            reference.jog(twist, now, reference.frame)
        self._given[index] = True

    def set_limits(self, limits: MotionLimits) -> None:
        """Change the limits. Raises InvalidOption where they are for another robot."""
        before, motion = self._motion.limits, self._motion
        if np.array_equal(limits.rows, before.rows) and np.array_equal(limits.jerk, before.jerk):
            return
        if limits.has_jerk != before.has_jerk:
            motion = self._limiter(limits, motion.q)
            motion.reset(self._motion.q, self._motion.dq)
        self._goal_solver.use(self._goal_solver.problem, limits)
        self._motion = motion
        motion.set_limits(limits)
        self._commanded = self._packed()
        self._posture = self._new_posture()
        self._invalidate()

    def set_options(self, options: TrackerOptions) -> None:
        """Change how goals are followed."""
        self._options = options
        self._speeds = np.array(
            [options.linear_velocity, options.angular_velocity,
             options.linear_acceleration, options.angular_acceleration]
        )  # fmt: skip
        self._goal_solver.set_budget(options.updates_per_tick, options.replan_period)
        self._invalidate()

    def set_rest(self, rest: ArrayLike) -> None:
        """Change the rest posture (n,). Raises InvalidConfiguration where it can't be one."""
        self._rest_q = self._robot.checked(rest, 'rest')
        self._posture = self._new_posture()
        self._invalidate()

    def set_solver(self, solver: str | Solver, options: Mapping[str, Any] | None = None) -> None:
        """Change the solver. Raises InvalidOption, UnsupportedProblem, and keeps the last one."""
        chosen = dict(options or {})
        self._goal_solver.set_solver(solver, chosen)
        self._solver_choice = solver, chosen
        self._invalidate()

    def pause(self, paused: bool = True) -> None:
        """Decelerate to rest and keep the goals; or, with False, go on with them.

        Twists end.
        """
        if paused == self._paused:
            return
        for index, reference in enumerate(self._references):
            if reference.motion is Motion.JOG:
                self._drop_goal(index, TrackStatus.IDLE)
        self._paused = paused
        self._rest()
        if not paused:  # the goals may be far from here
            self._goal_solver.is_new = self._together = True
            for reference, frame in zip(
                self._references, self._frames_at(range(len(self._given)), self._motion.q),
                strict=True,
            ):  # fmt: skip
                reference.resume(frame)

    def stop(self) -> None:
        """Decelerate to rest and drop all goals."""
        self._given = [False] * len(self._given)
        self._resting_status = TrackStatus.IDLE
        for reference in self._references:
            reference.hold(reference.frame)
        self._rest()

    def reset(self, q: ArrayLike | None = None, dq: ArrayLike | None = None) -> None:
        """Drop all goals and start again from q, dq (n,); by default from where it is, at rest.

        A q outside the limits is taken as it is, and brought inside at limited speed. Raises
        InvalidConfiguration where q or dq is not finite or of the wrong length.
        """
        position = self.q if q is None else self._robot.checked(q)
        velocity = np.zeros(self._robot.n) if dq is None else self._robot.checked(dq, 'dq')
        self._motion.reset(position, velocity)
        self.stop()

    def warm(self) -> None:
        """Run once all that a tick may run, so that every kernel is compiled; changes nothing."""
        solver, solver_options = self._solver_choice
        trial = Tracker(
            self._goal_solver.problem,
            self.rate,
            limits=self._motion.limits,
            solver=solver,
            solver_options=solver_options,
            options=TrackerOptions(feed_forward=True),
            q0=self._goal_solver.solution,
            clock=self._clock,
        )
        out_of_reach = np.eye(4)
        out_of_reach[:3, 3] = 1e3
        trial.set_goal(0, out_of_reach, 0.0)
        trial.tick(0.0)
        trial._goal_solver._begin_search(0.0)
        trial.tick(0.0)
        trial.set_goal(0, out_of_reach, STREAM_GAP)
        trial.stop()
        trial.set_goal(0, out_of_reach, 0.0, move='linear')
        for _ in range(SEVERAL):
            trial.tick(0.0)
        trial.stop()
        trial.set_twist(0, np.ones(3), np.ones(3), 0.0)
        for _ in range(SEVERAL):
            trial.tick(0.0)
        trial.condition_number()
        trial._motion.pace(trial.q, trial.dq, trial.dq, PACE)
        trial._motion.set_limits(self._motion.limits)
        trial._motion.step(trial.q)
        trial._goal_solver._adopt(trial.q, trial.q)
        trial._goal_solver._try_other_turns()
        self._new_posture().step(self.q, 1.0)
        self._invalidate()  # a Solver that was given has begun another problem

    # The tick

    def tick(self, now: float) -> Command:
        """Advance by one nominal period and return the command."""
        self._goal_solver.begin_tick()
        self._drop_stale_goals(now)
        self._drifts = False
        if any(self._given) and not self._paused:
            self._move_goals(now)
            self._follow(now)
        self._move()
        return self._command()

    def _drop_stale_goals(self, now: float) -> None:
        timeout = self._options.goal_timeout
        for index, reference in enumerate(self._references):
            if reference.motion is Motion.JOG:
                if reference.jog_has_ended:
                    self._drop_goal(index, TrackStatus.IDLE)
            elif timeout > 0.0 and now - reference.received > timeout:
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

    def _move_goals(self, now: float) -> None:
        """Accept new goals, and move on those that move by themselves."""
        for index, reference in enumerate(self._references):
            if reference.fresh:
                self._accept(index, reference)
        moving = [reference for reference in self._references if reference.moves]
        if moving and (self._goal_solver.settled or not self._moves_closely):
            self._pace.jog = self._scale_near_singularities(moving)
            for reference in moving:
                reference.advance(now, self._speeds, self._options.twist_timeout, self._pace)
            self._set_targets()

    def _accept(self, index: int, reference: Reference) -> None:
        """Go for a new goal; look out for one that jumped."""
        linear = reference.linear
        start = self._frames_at([index], self._motion.stop_point())[0] if linear else None
        position, orientation = reference.accept(start)
        if position == orientation == 0.0:
            return
        self._dragged = True
        if reference.linear:
            self._goal_solver.is_new = self._goal_solver.searching = self._together = False
        elif (
            position > self._options.goal_jump_position
            or orientation > self._options.goal_jump_orientation
        ):
            reference.jumped()
            self._goal_solver.jump()
            self._together, self._dragged = True, False
        self._set_targets()

    def _set_targets(self) -> None:
        for task, reference in zip(self._goal_solver.problem.goals, self._references, strict=True):
            task.target[:] = reference.frame
        self._goal_solver.invalidate()

    @property
    def _moves_closely(self) -> bool:
        """Whether a tip is on a line or a jog, so that the joints go on from step to step."""
        return any(
            reference.motion in (Motion.LINE, Motion.JOG) and reference.moves
            for reference in self._references
        )

    def _follow(self, now: float) -> None:
        """Solve for the goals as they are now."""
        goal_solver, before = self._goal_solver, self._goal_solver.solution
        drawn = self._draw_to_rest()
        closely = self._moves_closely
        if closely:
            if not goal_solver.settled and not goal_solver.follow_closely(self._motion.q):
                self._retreat()
                return
            if goal_solver.settled:
                for reference in self._references:
                    reference.go_on()
        elif goal_solver.searching or goal_solver.is_new or not goal_solver.settled:
            has_found = goal_solver.follow(self._motion.q, now)
            self._together |= has_found
        if drawn or closely or any(reference.moves for reference in self._references):
            np.subtract(goal_solver.solution, before, out=self._drift)
            self._drift *= self.rate
            self._drifts = bool(self._drift.any())

    def _draw_to_rest(self) -> bool:
        """Move the solution on towards the rest posture; whether it moved."""
        goal_solver = self._goal_solver
        if (
            self._options.rest_rate == 0.0
            or self._together
            or goal_solver.searching
            or goal_solver.is_new
        ):
            self._posture.halt()
            return False
        if self._at_rest and goal_solver.settled:
            return False
        solution = goal_solver.solution.copy()
        self._at_rest = not self._posture.step(solution, self._options.rest_rate)
        if not self._at_rest:
            goal_solver.solution = solution
            goal_solver.invalidate()
        return not self._at_rest

    def _retreat(self) -> None:
        """The next step can't be followed: slow down, or stop where the way is blocked."""
        too_slow = [reference.hesitate() for reference in self._references if reference.moves]
        if not all(too_slow):
            self._set_targets()
            self._goal_solver.settled = True
            return
        stop = self._motion.stop_point()
        frames = self._frames_at(range(len(self._given)), stop)
        for reference, frame in zip(self._references, frames, strict=True):
            if reference.moves:
                reference.retreat(frame)
        self._goal_solver.solution = stop
        self._set_targets()

    def _rest(self) -> None:
        """Forget what was solved and aim at where the joints can stop."""
        self._goal_solver.rest(self._motion.stop_point())
        self._together = self._dragged = False

    def _invalidate(self) -> None:
        """Something else than the goals has changed."""
        for reference in self._references:
            reference.refused = False
        self._goal_solver.invalidate()

    def _move(self) -> None:
        motion, solution = self._motion, self._goal_solver.solution
        motion.step(solution, self._together, self._drift if self._drifts else None)
        if self._together:
            away = np.max(np.abs(solution - motion.q))
            self._together = bool(away > (NEAR if self._dragged else 0.0))
        if self._drifts:
            lag = float(np.max(np.abs(solution - motion.q)))
            self._pace.slack = max(0.0, 1.0 - lag / motion.max_lag)
            # Where the tips can but crawl, joints should not race: a singularity is near.
            slowest = min((r.share for r in self._references if r.moves), default=1.0)
            share = PACE * min(1.0, math.sqrt(slowest / CRAWL))
            self._pace.growth, least = motion.pace(solution, self._drift, self._last_drift, share)
            self._pace.least = self._pace.slack * least
            self._last_drift[:] = self._drift
        elif self._drifted:
            self._pace.slack, self._pace.growth, self._pace.least = 1.0, math.inf, 0.0
            self._last_drift[:] = 0.0
        self._drifted = self._drifts

    def _scale_near_singularities(self, moving: Iterable[Reference]) -> float:
        """The share of its speed that a jog keeps: less on the way into a singularity."""
        twist = np.zeros((len(self._references), 6))
        for index, reference in enumerate(self._references):
            if reference.motion is Motion.JOG:
                twist[index] = reference.wanted
        slow, stop = self._options.singularity_slow, self._options.singularity_stop
        if not twist.any():
            return 1.0
        here = self._condition_at(self._goal_solver.solution)
        if here <= slow:
            return 1.0
        ahead = self._condition_at(self._ahead(twist))
        if ahead <= here:
            return 1.0
        return max(0.0, (stop - here) / (stop - slow)) if stop > slow else 0.0

    def _ahead(self, twist: Array) -> Array:
        """A q (n,) a little further on from the solution, by twists (G, 6) of the tips."""
        q = self._goal_solver.solution.copy()
        goals = self._commanded
        goals.update(q[goals.variables])
        jacobian = np.vstack([self._robot.jacobian(q, task.link) for task in goals.goals])
        step = np.linalg.pinv(jacobian[:, goals.variables], 1e-3) @ twist.ravel()
        largest = np.max(np.abs(step))
        if largest > 0.0:
            q[goals.variables] += LOOK_AHEAD / largest * step
        return q

    def _condition_at(self, q: Array) -> float:
        goals = self._commanded
        self._load(q)
        goals.update(q[goals.variables])
        values = np.linalg.svd(goals.jacobian(), compute_uv=False)
        smallest = values[-1] if values.size else 0.0
        return float(values[0] / smallest) if smallest > 1e-12 * values[0] else math.inf

    def _begin_to_follow(self) -> None:
        """Where no tip had a goal, all of them hold where they are."""
        if not any(self._given):
            self._hold(range(len(self._given)), self._goal_solver.solution)

    def _hold(self, indices: Iterable[int], q: Array) -> None:
        """Make the tips' poses at q (n,) what they are asked for, without a jump."""
        indices = list(indices)
        for index, frame in zip(indices, self._frames_at(indices, q), strict=True):
            self._references[index].hold(frame)
        self._set_targets()

    def _frames_at(self, indices: Iterable[int], q: Array) -> list[Array]:
        """The frames (12,) of tips at q (n,)."""
        frames = self._robot.frames(q)
        tasks = [self._goal_solver.problem.goals[index] for index in indices]
        return [
            frame_of(self._robot.link_transform(frames, task.link) @ task.tool) for task in tasks
        ]

    def _check_index(self, index: int) -> None:
        if not 0 <= index < len(self._given):
            raise InvalidGoal(f'there is no tip {index!r}, only 0 to {len(self._given) - 1}')

    def _is_linear(self, move: str | None) -> bool:
        if move not in (None, 'joint', 'linear'):
            raise InvalidOption(f"move = {move!r}: one of 'joint', 'linear'")
        return (move or self._options.move) == 'linear'

    def _packed(self) -> PackedGoals:
        """The goals once more, to judge what is commanded."""
        problem = self._goal_solver.problem
        return PackedGoals(
            problem.robot, problem.goals, problem.variables, problem.orientation_length
        )

    def _limiter(self, limits: MotionLimits, q: Array) -> RateLimiter | JerkLimiter:
        return (JerkLimiter if limits.has_jerk else RateLimiter)(limits, self.period, q)

    def _new_posture(self) -> RestPosture:
        limits = self._motion.limits
        return RestPosture(self._packed(), limits, self.period, self._rest_q)

    def _load(self, q: Array) -> None:
        """Judge by the goals as they are asked for."""
        self._commanded.load_frozen(q)
        for target, reference in zip(self._commanded.targets, self._references, strict=True):
            target[:] = reference.target

    def _command(self) -> Command:
        q, goals, goal_solver = self._motion.q, self._commanded, self._goal_solver
        if any(self._given):
            self._load(q)
            goals.update(q[goal_solver.problem.columns])
        else:
            goals.errors.fill(0.0)
        position, orientation = goals.errors[:, 0].copy(), goals.errors[:, 1].copy()
        return Command(
            q=q.copy(),
            dq=self._motion.dq.copy(),
            status=self._status(position, orientation),
            position_errors=position,
            orientation_errors=orientation,
            iterations=goal_solver.iterations,
            solve_time=goal_solver.solve_time,
            solution=goal_solver.solution.copy(),
            restarts=goal_solver.restarts,
        )

    def _status(self, position: Array, orientation: Array) -> TrackStatus:
        goal_solver = self._goal_solver
        if self._paused:
            return TrackStatus.PAUSED
        if not any(self._given):
            return self._resting_status
        if goal_solver.searching:
            return TrackStatus.SEARCHING
        if any(reference.refused for reference in self._references):
            return TrackStatus.BLOCKED
        if self._moves_closely:
            return TrackStatus.TRACKING
        if goal_solver.is_solved(position, orientation):
            return TrackStatus.REACHED
        held = (
            goal_solver.settled
            and not goal_solver.is_new
            and (self._motion.q == goal_solver.solution).all()
        )
        return TrackStatus.CLOSEST if held else TrackStatus.TRACKING
