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
5. Where the last goal ends (`stop()`, `goal_timeout`, the end of a twist), and in a pause, the
   joints come to rest as fast as the limits of acceleration and jerk allow, and stay where that
   ends, also outside the position limits. The way back waits until motion is resumed, by a goal, a
   twist, `pause(False)` or `reset()`. Commands go on.
6. All the solving of a tick shares one time budget, a part of the period.

A goal that jumped is reached by a move of the joints, or, where `move` is 'linear', along a
straight line of the tip with limited speed and acceleration, slower where the joints can't keep
up. Twists (`set_twist`) carry a tip on from where it is. Neither searches nor leaves its branch:
where the way is blocked, by a limit or a singularity, the arm stops there and the status is
BLOCKED, until there is another goal or direction. Both solve to convergence in every tick. While
one tip is led so, the others go to their goals in straight lines too, and none waits for a way
that is blocked. With
`feed_forward`, the velocity of a stream of goals is followed too, so that the tip does not lag
([Buss2009] section 2).

A tip without a goal holds the pose it had when its last goal ended (or when the first goal of
another tip came), with the same weight as a goal: where both can't be had, the closest compromise
is held, and reported as such. With no goals at all nothing is solved and the joints rest.

Who owns what, and alone changes it:

    Coordinator   whether it is paused, why it rests, the options              `coordinator`
    Tip           where one tip should be: Hold, Drag, Stream, Line or Jog      `tips`
    Leading       whether a tip leads, so that all go on from step to step      `leading`
    GoalSolver    where the joints should be: its phase, the solution          `goal_solver`
    RestPosture   how that moves on in the null space of the goals             `rest_posture`
    JointMotion   whether joints wait for each other; how fast tips may go     `joint_motion`
                  for the joints' sake
    Governor      what was commanded last, and what can follow it              `governor`

What changes a tracker is a value (`instructions`); its methods make these values and `apply` them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from ..display import listed, numbers
from ..exceptions import IkError, InvalidOption
from ..maths.rotations import Array
from ..maths.transforms import check_frame, frame_id, plain_transform
from ..optim.search import Clock, default_clock
from ..options import exact_number
from ..problem import IkProblem, checked_problem
from ..solvers import Solver
from .coordinator import Coordinator, Drive
from .governor import Governor
from .instructions import (
    Brake,
    Instruction,
    MoveTo,
    NextFrame,
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
    SkipTick,
    Stop,
    UndoStep,
    check_instruction,
    check_time,
)
from .motion_limits import MotionLimits, checked_limits
from .snapshot import Snapshot
from .status import Command
from .tracker_options import TrackerOptions, checked_options


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

    `now` [s], a finite number, is only compared with other `now`s: for the ages of goals and
    twists, and `replan_period`. What is set between two ticks applies from the next one on. For
    ticks in time, call `warm_up` before the first one. Not thread-safe: one thread, or one lock.
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
        governor: Governor | None = None,
        rest: ArrayLike | None = None,
        clock: Clock = default_clock,
    ) -> None:
        if exact_number(rate, float) is None or not 0.0 < rate < math.inf:
            raise InvalidOption(f'rate = {rate!r} [Hz]: must be a positive number')
        self.rate = rate
        robot = checked_problem(problem).robot
        self.period = 1.0 / rate
        """[s] The nominal time between two ticks."""
        self._robot, self._clock = robot, ObservedClock(clock)
        self._links = tuple(problem.goal_links)
        self._frames = [base or robot.base_link for _, base in problem.goal_chains]
        self._observer: Observer | None = None
        checked_limits(limits).check_size(robot.n)
        if not (governor is None or isinstance(governor, Governor)):
            raise InvalidOption(f'governor is {governor!r}: that of another tracker is needed')
        if governor is None:
            q = robot.middle_configuration if q0 is None else robot.checked(q0, 'q0')
            governor = Governor(limits, self.period, q)
        if not governor.limits.is_same(limits):
            governor.set_limits(limits)
        posture = governor.q.copy() if rest is None else robot.checked(rest, 'rest')
        self._parts = Coordinator(problem, rate, governor, posture, self._clock)
        self.apply(SetOptions(checked_options(options or TrackerOptions())))
        self.apply(SetSolver(solver, solver_options))

    def __repr__(self) -> str:
        tips = [
            f'{link!r} {"without a goal" if goal is None else f"to {numbers(goal[:3, 3])}"}'
            for link, goal in zip(self._links, self.goals, strict=True)
        ]
        state = 'paused' if self.paused else 'at rest' if self.at_rest else 'moving'
        return f'<Tracker of {self._robot.name!r} at {self.rate:g} Hz, {state}: {listed(tips)}>'

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, clock: Clock = default_clock) -> Tracker:
        """A tracker that goes on from a snapshot of another one, and does the same."""
        arguments = {**snapshot.arguments, 'governor': snapshot.arguments['governor'].copy()}
        tracker = cls(snapshot.problem, snapshot.rate, clock=clock, **arguments)
        tracker._parts.restore(copy.deepcopy(snapshot.state))
        return tracker

    def snapshot(self) -> Snapshot:
        """All that it goes on from. A solve that is under way begins again (see `snapshot`)."""
        return self._parts.snapshot()

    @property
    def q(self) -> Array:
        """The commanded position (n,), a copy."""
        return self._parts.motion.q.copy()

    @property
    def dq(self) -> Array:
        """The commanded velocity (n,), a copy."""
        return self._parts.motion.dq.copy()

    @property
    def governor(self) -> Governor:
        """The owner of what was last commanded; only ticks of the tracker move it on."""
        return self._parts.motion.governor

    @property
    def at_rest(self) -> bool:
        """Whether no joint is commanded to move."""
        return self.governor.at_rest

    @property
    def goals(self) -> list[Array | None]:
        """The goal (4, 4) that each tip was given last, one that is stale by now too.

        None where there was none since a twist, or since goals were dropped.
        """
        return [None if tip.given is None else tip.given.copy() for tip in self._parts.tips]

    @property
    def received(self) -> list[float]:
        """When the last goal or twist of each tip came [s]."""
        return [tip.request.received for tip in self._parts.tips]

    @property
    def has_goals(self) -> bool:
        """Whether any of `goals` is one."""
        return any(tip.given is not None for tip in self._parts.tips)

    @property
    def solver_note(self) -> str:
        """What the solver said last of how it finds solutions; empty where that goes without."""
        return self._parts.solver.note

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return self._parts.drive is Drive.PAUSED

    @property
    def stopped(self) -> bool:
        """Whether the joints brake, or rest where that ended, until motion is resumed."""
        return self._parts.drive is not Drive.ON

    @property
    def stopping_time(self) -> float:
        """[s] How long the joints take at most to rest, if they brake from the next tick on."""
        return self._parts.motion.stopping_time

    def condition_number(self) -> float:
        """How near to a singularity the commanded q is: 1 at best, inf where it is singular.

        The ratio of the largest singular value of the goals' Jacobian to the smallest, of all
        rows that the goals use: positions in m, rotations in rad times `orientation_length`.
        """
        return self._parts.condition_number

    # Instructions

    def set_goal(
        self,
        index: int,
        transform: Any,
        now: float,
        *,
        twist: ArrayLike | None = None,
        move: str | None = None,
    ) -> None:
        """Give tip `index` the goal `transform` (4, 4) in the root link's frame; None drops it.

        In the frame of the link that the problem's goal is relative to, where it is.

        `ik_core.transform` tells what else it may be, as a ROS PoseStamped.

        twist (6,) : the velocity of the goal in the root link's frame [m/s, rad/s], where it
            moves on; else `feed_forward` takes it from the goals before
        move : 'joint' or 'linear', instead of the option

        Raises InvalidGoal, and keeps the last goal, where the transform is not finite or not
        rigid, or where there is no such tip.
        """
        known = index in range(len(self._frames))
        frame = self._frames[index] if known else ''
        check_frame(frame_id(transform), frame)
        self.apply(SetGoal(index, plain_transform(transform), now, twist, move))

    def set_twist(self, index: int, linear: ArrayLike, angular: ArrayLike, now: float) -> None:
        """Carry tip `index` on by a twist, in the root link's frame, until `twist_timeout`.

        linear (3,) [m/s] of the tip's origin; angular (3,) [rad/s]. Too fast a twist is slowed
        down, keeping its direction. The tip's goal is dropped. Raises InvalidGoal where the
        numbers are not finite, or where there is no such tip.
        """
        self.apply(SetTwist(index, linear, angular, now))

    def set_limits(self, limits: MotionLimits) -> None:
        """Change the limits. Raises InvalidOption where they are for another robot."""
        self.apply(SetLimits(checked_limits(limits)))

    def set_options(self, options: TrackerOptions) -> None:
        """Change how goals are followed. Raises InvalidOption for what are no options."""
        self.apply(SetOptions(checked_options(options)))

    def set_rest(self, rest: ArrayLike) -> None:
        """Change the rest posture (n,). Raises InvalidConfiguration where it can't be one."""
        self.apply(SetRest(rest))

    def set_solver(self, solver: str | Solver, options: Mapping[str, Any] | None = None) -> None:
        """Change the solver. Raises InvalidOption, UnsupportedProblem, and keeps the last one."""
        self.apply(SetSolver(solver, options))

    def set_problem(self, problem: IkProblem) -> None:
        """Change tolerances, tools, weights or what of a pose counts (the goals' types).

        The goals are for the same links of the same robot. The motion goes on. Where tools or
        types changed, the goals are given again, to the new ones, and twists end. Raises
        InvalidOption, UnsupportedProblem, and keeps the last one.
        """
        self.apply(SetProblem(checked_problem(problem)))

    def next_frame(self, examples: Sequence[ArrayLike] = (), *, restart: bool = False) -> None:
        """Go on to the next frame, for the tasks that look back at the frames before.

        examples : of each example motion of the problem, first those that are weighed, then
            secondary ones: its value in this frame; see `ReferenceMotionTask.next_frame`. The
            problem that a tracker is made with has a first one
        restart : forget the frames before, since the example begins again

        The frame before ends where the joints are commanded to be; a `SmoothnessTask` stays near
        that. Raises InvalidGoal, and keeps the last frame, where the examples are others.
        """
        self.apply(NextFrame(examples, restart))

    def pause(self, paused: bool = True) -> None:
        """Decelerate to rest and keep the goals; or, with False, go on with them.

        Twists end. Until the pause ends nothing moves, whatever goals, limits and resets come;
        False also ends a `stop()`.
        """
        self.apply(Pause(paused))

    def stop(self) -> None:
        """Decelerate to rest and drop all goals; see 5. of the module."""
        self.apply(Stop())

    def brake(self) -> None:
        """Brake in the next tick, whatever goals there are; after it, go on with them.

        For what has nothing else to go by: something failed that says where to go.
        """
        self.apply(Brake())

    def skip_tick(self, *, braking: bool) -> None:
        """Move on by one period at once, without a look at the goals: a tick did not come.

        For a robot that goes on without it, to where the last tick sent the joints, or braking.
        """
        self.apply(SkipTick(braking))

    def undo_step(self) -> None:
        """Undo the last step of the joints: the robot does not hear of it in time.

        The goals stay as they are.
        """
        self.apply(UndoStep())

    def reset(self, q: ArrayLike, *, keep_goals: bool = False) -> None:
        """Drop all goals and begin again at a measured q (n,), at rest.

        A q outside the limits is taken as it is, and brought inside at limited speed; in a pause,
        once that ends. With `keep_goals` the goals are given again. Raises InvalidConfiguration
        where q is not finite or of the wrong length, or while the joints are commanded to move.
        """
        self.apply(Reset(q, keep_goals))

    def move_to(self, q: ArrayLike) -> None:
        """Drop all goals and move the joints to q (n,), taken into the limits, to arrive together.

        In a pause nothing moves, and what was sent is forgotten when it ends.
        Raises InvalidConfiguration where q is not finite or of the wrong length.
        """
        self.apply(MoveTo(q))

    def apply(self, instruction: Instruction) -> None:
        """Do what a value says; each has a method of its own, which says what it does.

        Raises InvalidOption for what is none, or comes at a time that is none.
        """
        observer = self._up_to_date_observer()
        try:
            check_instruction(instruction)
            self._parts.apply(instruction)
        except Exception as error:
            if observer is not None:
                observer.failed(changed=not isinstance(error, IkError))
            raise
        if observer is not None:
            observer.applied(instruction)

    def observe(self, observer: Observer | None) -> None:
        """Let an observer hear of all that happens from now on; None: nobody.

        Raises what it raises where the tracker is nothing that it can begin with; InvalidOption
        for what is no observer.
        """
        if observer is not None:
            if not callable(getattr(observer, 'begin', None)):
                raise InvalidOption(f'observer is {observer!r}: a Recorder, or None, is needed')
            observer.begin(self.snapshot())
        self._observer = self._clock.observer = observer

    def _up_to_date_observer(self) -> Observer | None:
        observer = self._observer
        if observer is not None and observer.is_due:
            observer.begin(self.snapshot())
        return observer

    def warm_up(self) -> None:
        """Run once all that a tick may run, so that every kernel is compiled; changes nothing.

        For before the first tick, and after another solver or problem: else the tick that first
        needs a kernel waits for it to be loaded, or compiled.
        """
        self._clock.observer = None  # it is not for a tick that the clock is read
        try:
            self._parts.warm_up()
        finally:
            self._clock.observer = self._observer

    def tick(self, now: float) -> Command:
        """Move on by one nominal period and return the command.

        Raises InvalidOption, and stays where it is, where `now` is not finite.
        """
        check_time(now)
        observer = self._up_to_date_observer()
        try:
            command = self._parts.tick(now)
        except Exception:
            if observer is not None:
                observer.failed(changed=True)
            raise
        if observer is not None:
            observer.ticked(now, command)
        return command
