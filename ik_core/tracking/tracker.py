"""From a stream of goals to a stream of joint commands: continuity and rate limits.

`Tracker` is called once per period. Each tick goes on with one seeded solve without restarts, or
with one search with restarts when a new goal is far and the seeded solve can't reach it, and then
moves the commanded joints one step towards the solution. What its users can rely on:

1. Every commanded position is finite and inside the limits, and every step respects the limits of
   velocity, acceleration and jerk (`governor` says which rule wins where one is tightened in
   motion).
2. While a goal is followed there are no restarts, so the arm stays on its branch. A search starts
   only for a goal that jumped, at most every `replan_period`; its branch is kept until the next.
   The way to a goal that jumped is a joint-space move in which all joints arrive together.
3. Joints that can turn more than once take the nearest turn: no clipping, no winding.
4. A goal out of reach gives the closest pose, held still.
5. Goals older than `goal_timeout`, and `stop()`, decelerate to rest; commands go on.
6. All the solving of a tick shares one time budget, a part of the period.

A goal that jumped is reached by a move of the joints, or, where `move` is 'linear', along a
straight line of the tip with limited speed and acceleration, slower where the joints can't keep
up. Twists (`set_twist`) carry a tip on from where it is. Neither searches nor leaves its branch:
where the way is blocked, by a limit or a singularity, the arm stops there and the status is
BLOCKED, until there is another goal or direction. Both solve to convergence in every tick. With
`feed_forward`, the velocity of a stream of goals is followed too, so that the tip does not lag
([Buss2009] section 2).

A tip without a goal holds the pose it had when its last goal ended (or when the first goal of
another tip came), with the same weight as a goal: where both can't be had, the closest compromise
is held, and reported as such. With no goals at all nothing is solved and the joints rest.

Who owns what, and alone changes it:

    Tracker       whether it is paused, why it rests, its options
    Tip           where one tip should be: Hold, Drag, Stream, Line or Jog      `tips`
    GoalSolver    where the joints should be: its phase, the solution          `goal_solver`
    RestPosture   how that moves on in the null space of the goals             `rest_posture`
    JointMotion   whether joints wait for each other; how fast tips may go     `joint_motion`
                  for the joints' sake
    Governor      what was commanded last, and what can follow it              `governor`

In each tick the tips move on, the goal solver follows them, and the joints follow its solution.
What changes a tracker is a value (`instructions`); its methods make these values and `apply` them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import InvalidConfiguration, InvalidGoal, InvalidOption
from ..maths.rotations import Array, checked_transform, finite_vector, frame_of
from ..optim.search import Clock, default_clock
from ..problem import IkProblem
from ..solvers import Solver
from .goal_solver import GoalSolver, Phase
from .governor import Governor
from .instructions import (
    Brake,
    Instruction,
    ObservedClock,
    Observer,
    Pause,
    Reset,
    SetGoal,
    SetLimits,
    SetOptions,
    SetProblem,
    SetRest,
    SetSolver,
    SetTwist,
    Stop,
)
from .joint_motion import JointMotion
from .limits import MotionLimits
from .monitor import GoalMonitor, packed_goals
from .options import TrackerOptions
from .rest_posture import RestPosture
from .status import Command, TrackStatus
from .tips import Step, Tip


class Tracker:
    """Follows one goal per tip of a problem, one period per tick.

    problem : its goals are the tips, in order; the tracker works on a copy
    rate [Hz] : a step is one nominal period long, however late its tick comes
    limits : of every step; solutions stay inside them too, whatever limits the problem has
    solver, solver_options : a name from `SOLVERS` with its options, or a Solver to use as it is.
        Searches are always by `levenberg_marquardt`, with these options where it is the solver
    q0 (n,) : where the joints are; by default the middle of the robot's limits
    governor : goes on with this one, in the state that it is in, instead of one that begins at q0
    rest (n,) : the posture that joints move towards with `rest_rate`; by default q0
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
        governor: Governor | None = None,
        rest: ArrayLike | None = None,
        clock: Clock = default_clock,
    ) -> None:
        if not 0.0 < rate < math.inf:
            raise InvalidOption(f'rate = {rate!r} [Hz]: must be positive')
        robot = problem.robot
        self._robot, self._clock = robot, ObservedClock(clock)
        self._observer: Observer | None = None
        self.rate = rate
        self.period = 1.0 / rate
        """[s] The nominal time between two ticks."""
        self._paused = self._brakes = False
        self._tips = [Tip(index) for index in range(len(problem.goals))]
        self._solver = GoalSolver(problem, limits, rate, self._clock)
        if governor is None:
            q = robot.middle_configuration if q0 is None else robot.checked(q0, 'q0')
            governor = Governor(limits, self.period, q)
        governor.set_limits(limits)
        self._motion = JointMotion(governor)
        self._rest = governor.q.copy() if rest is None else robot.checked(rest, 'rest')
        self._monitor, goals = (
            GoalMonitor(self._solver.problem),
            packed_goals(self._solver.problem),
        )
        self._posture = RestPosture(goals, limits, self.period, self._rest)
        self._stop()
        self._hold(self._tips, self._solver.solution)
        self._set_options(SetOptions(options or TrackerOptions()))
        self._set_solver(SetSolver(solver, solver_options))

    @property
    def q(self) -> Array:
        """The commanded position (n,), a copy."""
        return self._motion.q.copy()

    @property
    def dq(self) -> Array:
        """The commanded velocity (n,), a copy."""
        return self._motion.dq.copy()

    @property
    def governor(self) -> Governor:
        """The owner of what was last commanded; only ticks of the tracker move it on."""
        return self._motion.governor

    @property
    def at_rest(self) -> bool:
        """Whether no joint is commanded to move."""
        return self.governor.at_rest

    @property
    def goals(self) -> list[Array | None]:
        """The goal (4, 4) that each tip was given last, one that is stale by now too.

        None where there was none since a twist, or since goals were dropped.
        """
        return [None if tip.given is None else tip.given.copy() for tip in self._tips]

    @property
    def received(self) -> list[float]:
        """When the last goal or twist of each tip came [s]."""
        return [tip.request.received for tip in self._tips]

    @property
    def has_goals(self) -> bool:
        """Whether any of `goals` is one."""
        return any(tip.given is not None for tip in self._tips)

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return self._paused

    def condition_number(self) -> float:
        """How near to a singularity the commanded q is: 1 at best, inf where it is singular.

        The ratio of the largest singular value of the goals' Jacobian to the smallest, of all
        rows that the goals use: positions in m, rotations in rad times `orientation_length`.
        """
        return self._monitor.condition_number(self._motion.q, self._targets())

    # Instructions

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
        self.apply(SetGoal(index, transform, now, twist, move))

    def set_twist(self, index: int, linear: ArrayLike, angular: ArrayLike, now: float) -> None:
        """Carry tip `index` on by a twist, in the root link's frame, until `twist_timeout`.

        linear (3,) [m/s] of the tip's origin; angular (3,) [rad/s]. Too fast a twist is slowed
        down, keeping its direction. The tip's goal is dropped. Raises InvalidGoal where the
        numbers are not finite, or where there is no such tip.
        """
        self.apply(SetTwist(index, linear, angular, now))

    def set_limits(self, limits: MotionLimits) -> None:
        """Change the limits. Raises InvalidOption where they are for another robot."""
        self.apply(SetLimits(limits))

    def set_options(self, options: TrackerOptions) -> None:
        """Change how goals are followed."""
        self.apply(SetOptions(options))

    def set_rest(self, rest: ArrayLike) -> None:
        """Change the rest posture (n,). Raises InvalidConfiguration where it can't be one."""
        self.apply(SetRest(rest))

    def set_solver(self, solver: str | Solver, options: Mapping[str, Any] | None = None) -> None:
        """Change the solver. Raises InvalidOption, UnsupportedProblem, and keeps the last one."""
        self.apply(SetSolver(solver, options))

    def set_problem(self, problem: IkProblem) -> None:
        """Change tolerances, tools or weights: goals for the same links of the same robot.

        The motion goes on. Where tools changed, the goals are given again, to the new ones, and
        twists end. Raises InvalidOption, UnsupportedProblem, and keeps the last one.
        """
        self.apply(SetProblem(problem))

    def pause(self, paused: bool = True) -> None:
        """Decelerate to rest and keep the goals; or, with False, go on with them.

        Twists end.
        """
        self.apply(Pause(paused))

    def stop(self) -> None:
        """Decelerate to rest and drop all goals."""
        self.apply(Stop())

    def brake(self) -> None:
        """Brake in the next tick, whatever goals there are; after it, go on with them.

        For what has nothing else to go by: something failed that says where to go.
        """
        self.apply(Brake())

    def reset(self, q: ArrayLike, *, keep_goals: bool = False) -> None:
        """Drop all goals and begin again at a measured q (n,), at rest.

        A q outside the limits is taken as it is, and brought inside at limited speed. With
        `keep_goals` the goals are given again. Raises InvalidConfiguration where q is not
        finite or of the wrong length, or while the joints are commanded to move.
        """
        self.apply(Reset(q, keep_goals))

    def apply(self, instruction: Instruction) -> None:
        """Do what a value says; each has a method of its own, which says what it does."""
        observer = self._observer
        try:
            _APPLIED_BY[type(instruction)](self, instruction)
        except Exception:
            if observer is not None:
                observer.failed()
            raise
        if observer is not None:
            observer.applied(instruction)

    def observe(self, observer: Observer | None) -> None:
        """Let an observer hear of all that happens from now on; None: nobody."""
        self._observer = self._clock.observer = observer

    def warm(self) -> None:
        """Run once all that a tick may run, so that every kernel is compiled; changes nothing."""
        self._solver.warm()
        self._motion.warm()
        self._posture.warm(self.q)
        self._tips[0].warm(self._step(0.0))
        twists = np.ones((len(self._tips), 6))
        self._monitor.jog_share(self.q, self._targets(), twists, 0.0, 1.0)
        self._frames_at(self._tips, self.q)
        checked_transform(np.eye(4))

    # How instructions are applied

    def _set_goal(self, told: SetGoal) -> None:
        index, transform, now, velocity, move = told
        tip = self._tip(index)
        if transform is None:
            tip.forget()
            self._drop_goal(tip, TrackStatus.IDLE)
            return
        linear = self._is_linear(move)
        twist = None if velocity is None else finite_vector(velocity, 6, 'twist')
        goal = checked_transform(transform)
        self._begin_to_follow()
        if self._options.feed_forward and twist is None and not linear:
            tip.give_next_of_stream(goal, now)
        else:
            tip.give(goal, now, linear=linear, twist=twist)

    def _set_twist(self, told: SetTwist) -> None:
        tip = self._tip(told.tip)
        linear = finite_vector(told.linear, 3, 'linear')
        twist = np.concatenate([linear, finite_vector(told.angular, 3, 'angular')])
        self._begin_to_follow()
        if tip.jog_twist is not None:
            tip.jog(twist, told.now, tip.frame)
            return
        tip.jog(twist, told.now, self._frames_at([tip], self._motion.stop_point())[0])
        self._motion.follow_closely()
        self._solver.stay_on_branch()

    def _set_limits(self, told: SetLimits) -> None:
        limits = told.limits
        if limits.is_same(self._motion.limits):
            return
        limits.check_size(self._robot.n)
        self._motion.set_limits(limits)
        self._solver.set_limits(limits)
        self._look_at_problem()
        self._invalidate()

    def _set_options(self, told: SetOptions) -> None:
        self._options = options = told.options
        self._speeds = np.array(
            [
                options.linear_velocity,
                options.angular_velocity,
                options.linear_acceleration,
                options.angular_acceleration,
            ]
        )
        self._solver.set_budget(options.updates_per_tick, options.replan_period)
        self._invalidate()

    def _set_rest(self, told: SetRest) -> None:
        self._rest = self._robot.checked(told.rest, 'rest')
        self._look_at_problem()
        self._invalidate()

    def _set_solver(self, told: SetSolver) -> None:
        self._solver.set_solver(told.solver, dict(told.options or {}))
        self._invalidate()

    def _set_problem(self, told: SetProblem) -> None:
        before, problem = self._solver.problem, told.problem
        if problem.robot is not self._robot or _links(problem) != _links(before):
            raise InvalidOption(
                f'a problem for {", ".join(_links(problem))}; '
                f'this tracker moves {", ".join(_links(before))} of {self._robot.name}'
            )
        tools = zip(problem.goals, before.goals, strict=True)
        same_tools = all(np.array_equal(new.tool, old.tool) for new, old in tools)
        self._solver.set_problem(problem, self._motion.limits)
        self._look_at_problem()
        if same_tools:
            self._set_targets()
            self._invalidate()
        else:
            self._give_again(self._stop)

    def _pause(self, told: Pause) -> None:
        if told.paused == self._paused:
            return
        for tip in self._tips:
            if tip.jog_twist is not None:
                self._drop_goal(tip, TrackStatus.IDLE)
        self._paused = told.paused
        self._come_to_rest()
        if not told.paused:
            self._go_on_from(self._motion.q)

    def _go_on_from(self, q: Array) -> None:
        """Go on with the goals, which may be far from q (n,)."""
        self._solver.jump()
        self._motion.synchronize()
        for tip, frame in zip(self._tips, self._frames_at(self._tips, q), strict=True):
            tip.resume(frame)

    def _stop(self, told: Stop | None = None) -> None:
        self._resting_status = TrackStatus.IDLE
        for tip in self._tips:
            tip.hold(tip.frame)
            tip.forget()
        self._come_to_rest()

    def _brake(self, told: Brake) -> None:
        self._brakes = True

    def _reset(self, told: Reset) -> None:
        q = self._robot.checked(told.q)
        if not self.at_rest:
            raise InvalidConfiguration('the joints are moving: stop() them before a reset()')

        def restart() -> None:
            self.governor.restart(q)
            self._stop()

        if told.keep_goals:
            self._give_again(restart)
        else:
            restart()

    def _give_again(self, drop: Callable[[], None]) -> None:
        """Give the goals again, as if they came now, after they are dropped."""
        kept = [(i, tip.given, tip.request.received) for i, tip in enumerate(self._tips)]
        drop()
        for index, given, received in kept:
            if given is not None:
                self._set_goal(SetGoal(index, given, received))

    # The tick

    def tick(self, now: float) -> Command:
        """Move on by one nominal period and return the command."""
        observer = self._observer
        try:
            command = self._tick(now)
        except Exception:
            if observer is not None:
                observer.failed()
            raise
        if observer is not None:
            observer.ticked(now, command)
        return command

    def _tick(self, now: float) -> Command:
        self._solver.begin_tick()
        if self._brakes:
            self._brake_for_one_tick()
            return self._command()
        self._drop_ended_goals(now)
        velocity, slowest = None, 1.0
        if self._is_following and not self._paused:
            self._advance_tips(now)
            velocity = self._solve(now)
        if velocity is not None:
            slowest = min((tip.state.share for tip in self._tips if tip.moves), default=1.0)
        self._motion.follow(self._solver.solution, velocity, slowest)
        return self._command()

    def _brake_for_one_tick(self) -> None:
        self._brakes = False
        self._motion.brake()
        self._come_to_rest()
        if self._is_following and not self._paused:
            self._go_on_from(self._motion.stop_point())

    @property
    def _is_following(self) -> bool:
        """Whether any tip has a goal."""
        return any(tip.has_goal for tip in self._tips)

    @property
    def _is_led_closely(self) -> bool:
        """Whether a tip is on a line or a jog, so that the joints go on from step to step."""
        return any(tip.leads_closely for tip in self._tips)

    def _drop_ended_goals(self, now: float) -> None:
        """Those of twists that came to rest, and stale ones."""
        for tip in self._tips:
            if tip.has_ended:
                self._drop_goal(tip, TrackStatus.IDLE)
            elif tip.is_stale(now, self._options.goal_timeout):
                self._drop_goal(tip, TrackStatus.STALE)

    def _drop_goal(self, tip: Tip, status: TrackStatus) -> None:
        """The tip rests: alone, or holding its pose while others have goals."""
        if not tip.has_goal:
            return
        tip.release()
        if self._is_following:
            self._hold([tip], self._motion.stop_point())
        else:
            self._resting_status = status
            self._come_to_rest()

    def _advance_tips(self, now: float) -> None:
        """Accept new goals, and move the tips on that move by themselves."""
        for tip in self._tips:
            if tip.request.waits:
                self._accept(tip)
        moving = [tip for tip in self._tips if tip.moves]
        if moving and (self._solver.is_settled or not self._is_led_closely):
            step = self._step(now)
            for tip in moving:
                tip.advance(step)
            self._set_targets()

    def _accept(self, tip: Tip) -> None:
        """Go to a new goal; look out for one that jumped."""
        linear = tip.is_linear
        start = self._frames_at([tip], self._motion.stop_point())[0] if linear else None
        position, orientation = tip.accept(start)
        if position == orientation == 0.0:
            return
        options = self._options
        if linear:
            self._motion.follow_closely()
            self._solver.stay_on_branch()
        elif position > options.goal_jump_position or orientation > options.goal_jump_orientation:
            tip.forget_stream()
            self._motion.jump()
            self._solver.jump()
        else:
            self._motion.drag()
        self._set_targets()

    def _step(self, now: float) -> Step:
        """What the tips may do in this tick."""
        options = self._options
        return Step(
            now,
            self.period,
            self._speeds,
            options.twist_timeout,
            self._motion.scale,
            self._jog_share(),
        )

    def _jog_share(self) -> float:
        """The share of its speed that a jog keeps: less on the way into a singularity."""
        twists = [tip.jog_twist for tip in self._tips]
        if all(twist is None for twist in twists):
            return 1.0
        rows = np.array([np.zeros(6) if twist is None else twist for twist in twists])
        slow, stop = self._options.singularity_slow, self._options.singularity_stop
        return self._monitor.jog_share(self._solver.solution, self._targets(), rows, slow, stop)

    def _solve(self, now: float) -> Array | None:
        """Solve for the goals as they are now; the velocity of a solution that moves by itself."""
        solver, before = self._solver, self._solver.solution
        drawn = self._draw_to_rest()
        closely = self._is_led_closely
        if closely:
            if not self._solve_closely():
                return None
        elif solver.phase is not Phase.CONVERGED and solver.follow(self._motion.q, now):
            self._motion.synchronize()
        if not (drawn or closely or any(tip.moves for tip in self._tips)):
            return None
        velocity = (solver.solution - before) * self.rate
        return velocity if velocity.any() else None

    def _solve_closely(self) -> bool:
        """Follow a line or a jog; False where its next step can't be followed."""
        solver = self._solver
        if not solver.is_settled and not solver.follow_closely(self._motion.q):
            self._retreat()
            return False
        if solver.is_settled:
            for tip in self._tips:
                tip.go_on()
        return True

    def _draw_to_rest(self) -> bool:
        """Move the solution on towards the rest posture; whether it moved."""
        solver, posture, rate = self._solver, self._posture, self._options.rest_rate
        if rate == 0.0 or self._motion.synchronized or not solver.stays_on_branch:
            posture.halt()
            return False
        if posture.at_rest and solver.is_settled:
            return False
        solution = solver.solution.copy()
        if posture.step(solution, rate):
            solver.move_solution(solution)
        return not posture.at_rest

    def _retreat(self) -> None:
        """The next step can't be followed: slow down, or stop where the way is blocked."""
        moving = [tip for tip in self._tips if tip.moves]
        too_slow = [tip.hesitate() for tip in moving]
        if not all(too_slow):
            self._set_targets()
            self._solver.settle()
            return
        stop = self._motion.stop_point()
        for tip, frame in zip(moving, self._frames_at(moving, stop), strict=True):
            tip.retreat(frame)
        self._solver.move_solution(stop)
        self._set_targets()

    def _command(self) -> Command:
        solver, motion, monitor = self._solver, self._motion, self._monitor
        following = self._is_following
        position, orientation = (
            monitor.errors(motion.q, self._targets()) if following else monitor.no_errors()
        )
        return Command(
            q=motion.q.copy(),
            dq=motion.dq.copy(),
            status=self._status(position, orientation),
            position_errors=position,
            orientation_errors=orientation,
            iterations=solver.iterations,
            solve_time=solver.solve_time,
            solution=solver.solution.copy(),
            restarts=solver.restarts,
        )

    def _status(self, position: Array, orientation: Array) -> TrackStatus:
        solver = self._solver
        if self._paused:
            return TrackStatus.PAUSED
        if not self._is_following:
            return self._resting_status
        if solver.phase is Phase.SEARCHING:
            return TrackStatus.SEARCHING
        if any(tip.state.blocked for tip in self._tips):
            return TrackStatus.BLOCKED
        if self._is_led_closely:
            return TrackStatus.TRACKING
        if solver.is_solved(position, orientation):
            return TrackStatus.REACHED
        held = solver.phase is Phase.CONVERGED and (self._motion.q == solver.solution).all()
        return TrackStatus.CLOSEST if held else TrackStatus.TRACKING

    # What instructions and ticks share

    def _come_to_rest(self) -> None:
        """Forget what was solved and aim at where the joints can stop."""
        self._solver.rest(self._motion.stop_point())
        self._motion.come_to_rest()

    def _invalidate(self) -> None:
        """Something else than the goals has changed."""
        for tip in self._tips:
            tip.unblock()
        self._solver.invalidate()

    def _look_at_problem(self) -> None:
        """The problem, its limits or the rest posture are others."""
        problem = self._solver.problem
        self._monitor = GoalMonitor(problem)
        self._posture.change(packed_goals(problem), self._motion.limits, self._rest)

    def _begin_to_follow(self) -> None:
        """Where no tip had a goal, all of them hold where they are."""
        if not self._is_following:
            self._hold(self._tips, self._solver.solution)

    def _hold(self, tips: list[Tip], q: Array) -> None:
        """Make the tips' poses at q (n,) what they are asked for, without a jump."""
        for tip, frame in zip(tips, self._frames_at(tips, q), strict=True):
            tip.hold(frame)
        self._set_targets()

    def _set_targets(self) -> None:
        """Let the goal solver follow the tips as they are now."""
        for goal, tip in zip(self._solver.problem.goals, self._tips, strict=True):
            goal.target[:] = tip.frame
        self._solver.invalidate()

    def _targets(self) -> list[Array]:
        """What errors are measured from: a frame (12,) for each tip."""
        return [tip.target for tip in self._tips]

    def _frames_at(self, tips: list[Tip], q: Array) -> list[Array]:
        """The frames (12,) of tips at q (n,)."""
        frames = self._robot.frames(q)
        goals = [self._solver.problem.goals[tip.index] for tip in tips]
        return [
            frame_of(self._robot.link_transform(frames, goal.link) @ goal.tool) for goal in goals
        ]

    def _tip(self, index: int) -> Tip:
        if not 0 <= index < len(self._tips):
            raise InvalidGoal(f'there is no tip {index!r}, only 0 to {len(self._tips) - 1}')
        return self._tips[index]

    def _is_linear(self, move: str | None) -> bool:
        if move not in (None, 'joint', 'linear'):
            raise InvalidOption(f"move = {move!r}: one of 'joint', 'linear'")
        return (move or self._options.move) == 'linear'


def _links(problem: IkProblem) -> list[str]:
    return [goal.link for goal in problem.goals]


_APPLIED_BY: dict[type, Callable[[Tracker, Any], None]] = {
    SetGoal: Tracker._set_goal,
    SetTwist: Tracker._set_twist,
    SetLimits: Tracker._set_limits,
    SetOptions: Tracker._set_options,
    SetRest: Tracker._set_rest,
    SetSolver: Tracker._set_solver,
    SetProblem: Tracker._set_problem,
    Pause: Tracker._pause,
    Stop: Tracker._stop,
    Brake: Tracker._brake,
    Reset: Tracker._reset,
}
