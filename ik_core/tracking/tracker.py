# SPDX-License-Identifier: Apache-2.0
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
4. A goal that is not reached gives the closest pose on the arm's branch, held still. Once for each
   such goal, 1 s after the joints came to rest, a search beside the ticks looks for another
   configuration; the joints go there with the option `reconfigure`, else the status is
   OTHER_CONFIGURATION.
5. Where the last goal ends (`stop()`, `goal_timeout`, the end of a twist), and in a pause, the
   joints come to rest as fast as the limits of acceleration and jerk allow, and stay where that
   ends, also outside the position limits. The way back waits until motion is resumed, by a goal, a
   twist, `pause(False)` or `reset()`. Commands go on. Where auxiliary joints are on their way to
   their joint goal when the last goal of a tip ends, they arrive there first.
6. All the solving of a tick shares one time budget, a part of the period.

A joint goal (`move_to`) is a configuration in place of the goals of all tips: nothing is solved,
all joints arrive together. It is kept, replaced and dropped as the goals of tips are. Auxiliary
joints, which move no tip (a gripper), go on to theirs while tips are followed, and no other joint
waits for them.

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

    TrackerState  whether it is paused, why it rests, options, the joint goal   `state`
    Tip           where one tip should be: Hold, Drag, Stream, Line or Jog      `tips`
    Leading       whether a tip leads, so that all go on from step to step      `leading`
    GoalSolver    where the joints should be: its phase, the solution          `goal_solver`
    RestPosture   how that moves on in the null space of the goals             `rest_posture`
    JointMotion   whether joints wait for each other; how fast tips may go     `joint_motion`
                  for the joints' sake
    Governor      what was commanded last, and what can follow it              `governor`

The tracker itself has the search for another configuration, beside the ticks
(`other_configuration`), whose end is an instruction.

An instruction is a value (`instructions`) that changes this state; a method of the tracker makes
each and applies it. `tick` applies those that it is given and moves on by a period. An exception
in the middle of either leaves the state as it was before, but for a solve that was under way,
which begins again.
"""

from __future__ import annotations

import inspect
import math
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Concatenate, ParamSpec

from ..display import listed, numbers
from ..exceptions import IkError, InvalidOption
from ..jobs import Job
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array
from ..optim.search import Clock
from ..options import exact_number
from ..problem import IkProblem, checked_problem
from ..robot.robot import Robot
from ..solvers import Solver, SolverName
from .governor import Governor
from .instructions import (
    Brake,
    Instruction,
    MoveTo,
    NextFrame,
    OfferConfiguration,
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
    UndoTick,
    check_time,
)
from .motion_limits import MotionLimits, checked_limits
from .observer import ObservedClock, Observer
from .other_configuration import ConfigurationSearch, Run
from .snapshot import Snapshot
from .state import Drive, Saved, TrackerState
from .status import Command
from .tick import advance
from .tracker_options import TrackerOptions

Arguments = ParamSpec('Arguments')


def instructed(
    kind: Callable[Arguments, Instruction],
) -> Callable[Concatenate[Tracker, Arguments], None]:
    """Return the method of a tracker that makes an instruction of this kind and applies it."""

    def method(self: Tracker, /, *given: Arguments.args, **named: Arguments.kwargs) -> None:
        self.apply(kind(*given, **named))

    of_kind = inspect.signature(kind)
    own = inspect.Parameter('self', inspect.Parameter.POSITIONAL_ONLY)
    parameters = [own, *of_kind.parameters.values()]
    method.__signature__ = of_kind.replace(parameters=parameters)  # type: ignore[attr-defined]
    method.__doc__ = kind.__doc__
    method.__name__ = re.sub(r'(?<!^)(?=[A-Z])', '_', kind.__name__).lower()
    method.__qualname__ = f'Tracker.{method.__name__}'
    return method


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
    background : begins a call beside the ticks, in a thread by default, for the search for another
        configuration; None: without that search

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
        solver: SolverName | Solver = 'levenberg_marquardt',
        solver_options: Mapping[str, Any] | None = None,
        options: TrackerOptions | None = None,
        q0: VectorLike | None = None,
        governor: Governor | None = None,
        rest: VectorLike | None = None,
        clock: Clock = time.perf_counter,
        background: Run | None = Job,
    ) -> None:
        if exact_number(rate, float) is None or not 0.0 < rate < math.inf:
            raise InvalidOption(f'rate = {rate!r} [Hz]: must be a positive number')
        self.rate = rate
        robot = checked_problem(problem).robot
        self.period = 1.0 / rate
        """[s] The nominal time between two ticks."""
        self._robot, self._clock = robot, ObservedClock(clock)
        self._observer: Observer | None = None
        self._other_search = ConfigurationSearch(background)
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
        self._state = TrackerState(problem, rate, governor, posture, self._clock)
        self.set_options(options or TrackerOptions())
        self.set_solver(solver, solver_options)

    def __repr__(self) -> str:
        tips = [
            f'{link!r} {"without a goal" if goal is None else f"to {numbers(goal[:3, 3])}"}'
            for link, goal in zip(self._state.links, self.goals, strict=True)
        ]
        state = 'paused' if self.paused else 'at rest' if self.at_rest else 'moving'
        return f'<Tracker of {self._robot.name!r} at {self.rate:g} Hz, {state}: {listed(tips)}>'

    @classmethod
    def from_snapshot(
        cls,
        snapshot: Snapshot,
        clock: Clock = time.perf_counter,
        background: Run | None = Job,
    ) -> Tracker:
        """A tracker that continues from the snapshot of another one, and behaves the same."""
        arguments = {**snapshot.arguments, 'governor': snapshot.arguments['governor'].copy()}
        tracker = cls(
            snapshot.problem, snapshot.rate, clock=clock, background=background, **arguments
        )
        tracker._state.restore(snapshot.state)
        return tracker

    def snapshot(self) -> Snapshot:
        """The complete state; a solve in progress starts again (see the module `snapshot`)."""
        return self._state.snapshot()

    @property
    def q(self) -> Array:
        """The commanded position (n,), a copy."""
        return self._state.motion.q.copy()

    @property
    def dq(self) -> Array:
        """The commanded velocity (n,), a copy."""
        return self._state.motion.dq.copy()

    @property
    def governor(self) -> Governor:
        """The governor, which owns the last command; only ticks of the tracker advance it."""
        return self._state.motion.governor

    @property
    def at_rest(self) -> bool:
        """Whether no joint is commanded to move."""
        return self.governor.at_rest

    @property
    def goals(self) -> list[Array | None]:
        """The last goal (4, 4) of each tip, including stale ones.

        None for a tip without a goal since its last twist, or since goals were dropped.
        """
        return [None if tip.given is None else tip.given.copy() for tip in self._state.tips]

    @property
    def received(self) -> list[float]:
        """Time [s] of the last goal or twist of each tip."""
        return [tip.request.received for tip in self._state.tips]

    @property
    def has_goals(self) -> bool:
        """Whether any tip, or the joints, have a goal."""
        return self._state.joint_goal is not None or any(
            tip.given is not None for tip in self._state.tips
        )

    @property
    def joint_goal(self) -> Array | None:
        """The joint goal (n,) of `move_to`, a copy; None where the joints have none."""
        goal = self._state.joint_goal
        return None if goal is None else goal.q.copy()

    @property
    def auxiliary_joints(self) -> frozenset[str]:
        """Names of the joints that move no tip: their joint goals go beside the goals of tips."""
        names = self._robot.joint_names
        return frozenset(names[i] for i in self._state.auxiliary.nonzero()[0])

    @property
    def solver_note(self) -> str:
        """Remarks on how solutions are found, why a solve stopped short, and on other starts."""
        return self._state.solver.remark

    @property
    def found_nothing_closer(self) -> bool:
        """True once the search for another configuration has ended without one.

        Also for a joint goal, for which there is no such search.
        """
        other = self._state.solver.other
        return self._state.joint_goal is not None or (other is not None and other.q is None)

    @property
    def paused(self) -> bool:
        """Whether the tracker is paused."""
        return self._state.drive is Drive.PAUSED

    @property
    def stopped(self) -> bool:
        """Whether the joints brake, or rest after braking, until motion is resumed."""
        return self._state.drive is not Drive.ON

    @property
    def stopping_time(self) -> float:
        """Longest time [s] until the joints rest if they brake from the next tick on."""
        return self._state.motion.stopping_time

    def condition_number(self) -> float:
        """Condition number of the commanded q: 1 at best, inf at a singularity.

        The ratio of the largest singular value of the goals' Jacobian to the smallest, over all
        rows that the goals use: positions in m, rotations in rad times `orientation_length`. The
        orientation of a goal that puts the position first (`PoseTask.for_joints`) does not count.
        """
        state = self._state
        return state.monitor.condition_number(state.motion.q, state.targets())

    # Instructions

    set_goal = instructed(SetGoal)
    set_twist = instructed(SetTwist)
    move_to = instructed(MoveTo)
    set_limits = instructed(SetLimits)
    set_options = instructed(SetOptions)
    set_rest = instructed(SetRest)
    set_solver = instructed(SetSolver)
    set_problem = instructed(SetProblem)
    next_frame = instructed(NextFrame)
    offer_configuration = instructed(OfferConfiguration)
    pause = instructed(Pause)
    stop = instructed(Stop)
    brake = instructed(Brake)
    skip_tick = instructed(SkipTick)
    undo_tick = instructed(UndoTick)
    reset = instructed(Reset)

    def apply(self, instruction: Instruction) -> None:
        """Apply an instruction; an error of it leaves the tracker as it was.

        Raises InvalidOption for an unknown instruction, and the IkError of an instruction that
        does not fit the tracker.
        """
        observer, before = self._up_to_date_observer(), self._state.save()
        try:
            self._apply(instruction, observer)
        except IkError:
            if observer is not None:
                observer.failed(changed=False)
            raise
        except Exception:
            self._go_back(before)
            raise

    def _apply(self, instruction: Instruction, observer: Observer | None) -> None:
        """Apply an instruction; an IkError is raised before anything changes."""
        if not isinstance(instruction, Instruction):
            raise InvalidOption(
                f'{instruction!r} is not an instruction: a SetGoal, SetTwist, Stop, ... is needed'
            )
        instruction.apply(self._state)
        if observer is not None:
            observer.applied(instruction)

    def _go_back(self, before: Saved, applied: Iterable[Instruction] = ()) -> None:
        """Go back to a state, with the instructions that were applied since."""
        self._state.load(before)
        for instruction in applied:
            instruction.apply(self._state)
        if self._observer is not None:
            self._observer.failed(changed=True)

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

    def tick(self, now: float, instructions: Iterable[Instruction] = ()) -> Command:
        """Apply instructions, advance by one nominal period, and return the command.

        `Command.refused` lists the instructions that do not fit the tracker, with their errors.
        After any other exception the instructions before it are applied, and nothing else is
        changed; those after it are not taken from an iterator.

        Raises InvalidOption, and does not advance, if `now` is not finite.
        """
        check_time(now)
        observer, before = self._up_to_date_observer(), self._state.save()
        found = self._other_search.found(self._state.solver.goal_id)
        applied: list[Instruction] = []
        refused: list[tuple[Instruction, IkError]] = []
        try:
            if found is not None:
                self._apply(OfferConfiguration(found.q, found.note), observer)
            for instruction in instructions:
                try:
                    self._apply(instruction, observer)
                    applied.append(instruction)
                except IkError as error:
                    refused.append((instruction, error))
            command = advance(self._state, now)
            if observer is not None:
                observer.ticked(now, command)
        except Exception:
            self._go_back(before, applied)
            raise
        solver = self._state.solver
        self._other_search.after_tick(command, solver.goal_id, self.period, solver.unreached)
        return command._replace(refused=tuple(refused)) if refused else command


def _limits_of(robot: Robot) -> MotionLimits:
    """The robot's limits; warns of joints without a limit of acceleration."""
    limits = MotionLimits.of(robot)
    names = zip(robot.joint_names, limits.acceleration, strict=True)
    unlimited = [name for name, acceleration in names if acceleration == math.inf]
    if unlimited:
        warnings.warn(
            f'no acceleration limit: {", ".join(unlimited)}; velocities may jump: give '
            'limits=MotionLimits.of(robot, acceleration=...) [rad/s^2 or m/s^2]',
            stacklevel=3,
        )
    return limits
