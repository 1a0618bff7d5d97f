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

A joint goal (`move_to`) is a configuration in place of the goals of all tips: nothing is solved,
all joints arrive together. It is kept, replaced and dropped as the goals of tips are.

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

    Coordinator   whether it is paused, why it rests, options, the joint goal   `coordinator`
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
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..display import listed, numbers
from ..exceptions import IkError, InvalidOption
from ..maths.rotations import Array
from ..maths.transforms import check_frame, frame_id, plain_transform
from ..optim.search import Clock
from ..options import exact_number
from ..problem import IkProblem, checked_problem
from ..robot.limits import TURN
from ..robot.robot import Robot
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
    """Follow one goal per tip of a problem, with one command per tick.

    problem : its goals are the tips, in order; the tracker works on a copy
    rate [Hz] : every step is one nominal period long, however late its tick comes
    limits : limits of every step; solutions stay inside them too, whatever limits the problem has.
        By default `MotionLimits.of(robot)`, with a warning that names the joints without a limit
        of acceleration, since descriptions have none
    solver, solver_options : a name from `SOLVERS` with its options, or a Solver to use as it is.
        Searches with restarts always use `levenberg_marquardt`, with these options if it is the
        solver
    q0 (n,) : current joint positions; by default the middle of the robot's limits
    governor : continue with this governor, from its current state, and not with a new one at q0
    rest (n,) : rest posture for `rest_rate`; by default q0
    clock : clock of the solver's time budget, for a solver given by name

    `now` [s], a finite number, is only compared with other `now`s: for the ages of goals and
    twists, and `replan_period`. Settings made between two ticks apply from the next one on. Not
    thread-safe: use one thread, or one lock. Raises InvalidOption, InvalidConfiguration,
    UnsupportedProblem.
    """

    def __init__(
        self,
        problem: IkProblem,
        rate: float,
        *,
        limits: MotionLimits | None = None,
        solver: str | Solver = 'levenberg_marquardt',
        solver_options: Mapping[str, Any] | None = None,
        options: TrackerOptions | None = None,
        q0: ArrayLike | None = None,
        governor: Governor | None = None,
        rest: ArrayLike | None = None,
        clock: Clock = time.perf_counter,
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
        if limits is None:
            limits = _limits_of(robot)
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
    def from_snapshot(cls, snapshot: Snapshot, clock: Clock = time.perf_counter) -> Tracker:
        """A tracker that continues from the snapshot of another one, and behaves the same."""
        arguments = {**snapshot.arguments, 'governor': snapshot.arguments['governor'].copy()}
        tracker = cls(snapshot.problem, snapshot.rate, clock=clock, **arguments)
        tracker._parts.restore(copy.deepcopy(snapshot.state))
        return tracker

    def snapshot(self) -> Snapshot:
        """The complete state; a solve in progress starts again (see the module `snapshot`)."""
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
        """The governor, which owns the last command; only ticks of the tracker advance it."""
        return self._parts.motion.governor

    @property
    def at_rest(self) -> bool:
        """Whether no joint is commanded to move."""
        return self.governor.at_rest

    @property
    def goals(self) -> list[Array | None]:
        """The last goal (4, 4) of each tip, including stale ones.

        None for a tip without a goal since its last twist, or since goals were dropped.
        """
        return [None if tip.given is None else tip.given.copy() for tip in self._parts.tips]

    @property
    def received(self) -> list[float]:
        """Time [s] of the last goal or twist of each tip."""
        return [tip.request.received for tip in self._parts.tips]

    @property
    def has_goals(self) -> bool:
        """Whether any tip, or the joints, have a goal."""
        return self.joint_goal is not None or any(
            tip.given is not None for tip in self._parts.tips
        )

    @property
    def joint_goal(self) -> Array | None:
        """The joint goal (n,) of `move_to`, a copy; None where the joints have none."""
        return self._parts.joint_goal

    @property
    def solver_note(self) -> str:
        """The solver's last remark on how it finds solutions; often empty."""
        return self._parts.solver.note

    @property
    def paused(self) -> bool:
        """Whether the tracker is paused."""
        return self._parts.drive is Drive.PAUSED

    @property
    def stopped(self) -> bool:
        """Whether the joints brake, or rest after braking, until motion is resumed."""
        return self._parts.drive is not Drive.ON

    @property
    def stopping_time(self) -> float:
        """Longest time [s] until the joints rest if they brake from the next tick on."""
        return self._parts.motion.stopping_time

    def condition_number(self) -> float:
        """Condition number of the commanded q: 1 at best, inf at a singularity.

        The ratio of the largest singular value of the goals' Jacobian to the smallest, over all
        rows that the goals use: positions in m, rotations in rad times `orientation_length`.
        """
        return self._parts.condition_number

    # Instructions

    def set_goal(
        self,
        index: int | str,
        transform: Any,
        now: float,
        *,
        twist: ArrayLike | None = None,
        move: str | None = None,
    ) -> None:
        """Set the goal `transform` (4, 4) of tip `index`, or of the tip with this link's name.

        None drops the goal.

        The transform is in the root link's frame, or in that of the link that the problem's goal
        is relative to. `ik_core.transform` lists the other types that are accepted, such as a ROS
        PoseStamped.

        twist (6,) : velocity of a moving goal in the root link's frame [m/s, rad/s]; by default
            `feed_forward` estimates it from earlier goals
        move : 'joint' or 'linear', in place of the option

        Raises InvalidGoal, and keeps the last goal, if the transform is not finite or not rigid,
        or if there is no such tip.
        """
        index = self._index(index)
        known = index in range(len(self._frames))
        frame = self._frames[index] if known else ''
        check_frame(frame_id(transform), frame)
        self.apply(SetGoal(index, plain_transform(transform), now, twist, move))

    def set_twist(
        self, index: int | str, linear: ArrayLike, angular: ArrayLike, now: float
    ) -> None:
        """Move a tip by a twist in the root link's frame, until `twist_timeout`.

        index : of the tip, or the name of its link

        linear (3,) [m/s] : velocity of the tip's origin
        angular (3,) [rad/s] : angular velocity

        A twist that is too fast is slowed down without changing its direction. The tip's goal is
        dropped. Raises InvalidGoal if the numbers are not finite, or if there is no such tip.
        """
        self.apply(SetTwist(self._index(index), linear, angular, now))

    def set_limits(self, limits: MotionLimits) -> None:
        """Change the limits. Raises InvalidOption if they are for another robot."""
        self.apply(SetLimits(checked_limits(limits)))

    def _index(self, tip: int | str) -> int:
        """Index of a tip given by index or by its link. Raises InvalidOption for other links."""
        if not isinstance(tip, str):
            return tip
        if self._links.count(tip) != 1:
            why = 'has several goals: give an index' if tip in self._links else 'is no tip'
            raise InvalidOption(f'{tip!r} {why}; tips: {", ".join(self._links)}')
        return self._links.index(tip)

    def set_options(self, options: TrackerOptions) -> None:
        """Change the options. Raises InvalidOption for anything but TrackerOptions."""
        self.apply(SetOptions(checked_options(options)))

    def set_rest(self, rest: ArrayLike) -> None:
        """Change the rest posture (n,). Raises InvalidConfiguration."""
        self.apply(SetRest(rest))

    def set_solver(self, solver: str | Solver, options: Mapping[str, Any] | None = None) -> None:
        """Change the solver. Raises InvalidOption, UnsupportedProblem, and keeps the last one."""
        self.apply(SetSolver(solver, options))

    def set_problem(self, problem: IkProblem) -> None:
        """Change tolerances, tools, weights or the goals' types; the motion continues.

        The goals must be for the same links of the same robot. If tools or types changed, the
        current goals are set again, for the new ones, and twists end. Raises InvalidOption,
        UnsupportedProblem, and keeps the last problem.
        """
        self.apply(SetProblem(checked_problem(problem)))

    def next_frame(self, examples: Sequence[ArrayLike] = (), *, restart: bool = False) -> None:
        """Advance the tasks that depend on earlier frames: example motions and smoothness.

        examples : for each example motion of the problem, first weighed ones, then secondary ones,
            its value in this frame; see `ReferenceMotionTask.next_frame`. The problem given to the
            constructor already has the first frame
        restart : forget the earlier frames, since the example starts again

        The last frame ends at the commanded q; a `SmoothnessTask` stays near that. Raises
        InvalidGoal, and keeps the last frame, if the examples do not match.
        """
        self.apply(NextFrame(examples, restart))

    def pause(self, paused: bool = True) -> None:
        """Decelerate to rest and keep the goals; with False, move on to them.

        Twists end. Nothing moves until the pause ends, whatever goals, limits and resets arrive;
        False also ends a `stop()`.
        """
        self.apply(Pause(paused))

    def stop(self) -> None:
        """Decelerate to rest and drop all goals; see point 5 of the module."""
        self.apply(Stop())

    def brake(self) -> None:
        """Brake in the next tick, whatever the goals; later ticks follow them again.

        For callers that failed to find out where to go.
        """
        self.apply(Brake())

    def skip_tick(self, *, braking: bool) -> None:
        """Advance by one period without reading the goals, for a tick that did not happen.

        For a robot that meanwhile continued on its own, along the last command, or braking.
        """
        self.apply(SkipTick(braking))

    def undo_step(self) -> None:
        """Undo the last step of the joints, whose command reaches the robot too late.

        The goals stay as they are.
        """
        self.apply(UndoStep())

    def reset(self, q: ArrayLike, *, keep_goals: bool = False) -> None:
        """Drop all goals and restart from a measured q (n,), at rest.

        A q outside the limits is accepted and moved inside at limited speed; during a pause, once
        that ends. With `keep_goals` the current goals are set again. Raises InvalidConfiguration
        if q is not finite or has the wrong length, or while the joints are commanded to move.
        """
        self.apply(Reset(q, keep_goals))

    def move_to(self, q: ArrayLike | Mapping[str, float], now: float | None = None) -> None:
        """Move all joints to q (n,), so that they arrive together: a joint goal.

        q : or positions of some joints by name; the others keep their joint goal, or stay

        It replaces the goals of the tips, as their next goal or twist replaces it, and is kept in
        a pause. Continuous joints take the nearest turn. Joints that the limits keep from q stop
        at the limit, and the status is CLOSEST.

        now : when the goal came, for `goal_timeout`; by default it holds until it is replaced

        Raises InvalidConfiguration if q is not finite or has the wrong length, FrameNotFound for
        names that are not in `robot.joint_names`.
        """
        q = self._robot.checked(self._completed(q) if isinstance(q, Mapping) else q)
        turns = np.round((self.governor.stop_point() - q) / TURN)
        self.apply(MoveTo(np.where(self._robot.continuous, q + TURN * turns, q), now))

    def _completed(self, positions: Mapping[str, float]) -> Array:
        """Positions of some joints, and those that the others are to have (n,)."""
        q, limits = self.joint_goal, self.governor.limits
        if q is None:
            q = np.clip(self.governor.stop_point(), limits.lower, limits.upper)
        for joint, position in positions.items():
            q[self._robot.joint_index(joint)] = position
        return q

    def apply(self, instruction: Instruction) -> None:
        """Apply an instruction; each has a method of its own, which describes it.

        Raises InvalidOption for an unknown instruction, or one whose time is not finite.
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
        """Report all inputs and outputs to an observer from now on; None ends that.

        Raises InvalidOption for an object that is no observer, and any error of `observer.begin`.
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

    def tick(self, now: float) -> Command:
        """Advance by one nominal period and return the command.

        Raises InvalidOption, and does not advance, if `now` is not finite.
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


def _limits_of(robot: Robot) -> MotionLimits:
    """The robot's limits; warns that it has none of acceleration."""
    limits = MotionLimits.of(robot)
    warnings.warn(
        f'no acceleration limit: {", ".join(robot.joint_names)}; velocities may jump: give '
        'limits=MotionLimits.of(robot, acceleration=...) [rad/s^2 or m/s^2]',
        stacklevel=3,
    )
    return limits
