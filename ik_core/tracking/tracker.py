# SPDX-License-Identifier: Apache-2.0
"""A tracker: a stream of goals in, a stream of joint commands out, continuous and within limits.

`Tracker.tick` is called once per period. Each tick continues one seeded solve without restarts, or
one search with restarts if a new goal is far and the seeded solve can't reach it, and then moves
the commanded joints one step towards the solution. Guarantees:

1. Every commanded position is finite and inside the limits, and every step respects the limits of
   velocity, acceleration and jerk (`governor` says which rule wins where one is tightened in
   motion).
2. While a goal is followed there are no restarts, so the arm stays on its branch. A search starts
   only for a goal that jumped, at most every `replan_period`; its branch is kept until the next.
   The path to a goal that jumped is a joint-space move in which all joints arrive together.
3. Joints that can turn more than once take the nearest turn: no clipping, no winding.
4. A goal that is not reached gives the closest pose on the arm's branch, held still. Once for each
   such goal, 1 s after the joints came to rest, a background search tries to find another
   configuration; the joints go there with the option `reconfigure`, else the status is
   OTHER_CONFIGURATION.
5. Where the last goal ends (`stop()`, `goal_timeout`, the end of a twist), and in a pause, the
   joints come to rest as fast as the limits of acceleration and jerk allow, and stay where that
   ends, also outside the position limits. They return when motion is resumed, by a goal, a twist,
   `pause(False)` or `reset()`. Commands continue. Auxiliary joints that are moving to their joint
   goal when the last goal of a tip ends arrive there first.
6. All the solving of a tick shares one time budget, half of the period.

A joint goal (`move_to`) is a configuration in place of the goals of all tips: nothing is solved,
all joints arrive together. It is kept, replaced and dropped as the goals of tips are. Auxiliary
joints, which move no tip (a gripper), move to theirs while tips are followed, and no other joint
waits for them.

A goal that jumped is reached by a move of the joints, or, where `move` is 'linear', along a
straight line of the tip with limited speed and acceleration, slower where the joints can't keep
up. Twists (`set_twist`) move a tip on from where it is. Neither searches nor leaves its branch:
where the path is blocked, by a limit or a singularity, the arm stops and the status is BLOCKED,
until there is another goal or direction. Both solve to convergence in every tick. Meanwhile the
other tips move to their goals in straight lines too, and none waits for one that is blocked. With
`feed_forward`, the velocity of a stream of goals is followed too, so that the tip does not lag
([Buss2009] section 2).

A tip without a goal holds the pose it had when its last goal ended (or when the first goal of
another tip came), with the same weight as a goal: if both can't be reached, the closest compromise
is held, and reported as such. Without any goal nothing is solved and the joints rest.

The parts, from the top downwards; each alone changes its own state:

    TrackerState   paused or not, why it rests, options, the joint goals       `state`
    Tip            the target of a tip: Hold, Drag, Stream, Line or Jog        `goals.tips`
    StepFollowing  whether a tip leads, so that the joints follow step by      `solution`
                   step
    GoalSolver     the solution for the joints, and its phase                  `solution`
    RestPosture    the motion of the solution in the null space of the goals   `solution`
    JointMotion    whether joints wait for each other; how fast tips may       `governor`
                   move for the joints' sake
    Governor       the last command, and what can follow it                    `governor`

An instruction is a value that changes this state (`instructions`); each has a method here. `tick`
applies those that it is given and advances by a period (`tick`). An exception in the middle of
either leaves the state as it was before; a running solve begins again.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..collision.collisions import Collisions
from ..collision.world import World
from ..display import listed, numbers
from ..exceptions import IkError, InvalidOption
from ..jobs import Job
from ..maths.argument_types import TransformLike, VectorLike
from ..maths.rotations import Array
from ..optim.search import Clock
from ..options import exact_number
from ..problem import IkProblem, checked_problem
from ..robot.robot import Robot
from ..solvers import Solver, SolverName
from .governor.clearance import Clearance
from .governor.governor import Governor
from .governor.motion_limits import MotionLimits, checked_limits
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
    SetWorld,
    SkipTick,
    Stop,
    UndoTick,
    check_time,
)
from .observer import ObservedClock, Observer
from .solution.other_configuration import ConfigurationSearch, Run
from .state import Drive, Saved, Snapshot, TrackerState
from .status import Command
from .tick import advance
from .tracker_options import Move, TrackerOptions


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
    avoid : the motion keeps clear of these collisions, in their world as it is now (`set_world`
        changes it); by default those of the problem, else those of the governor
    clock : clock of the solver's time budget, for a solver given by name
    background : begins a call in the background, by default in a thread, for the search for
        another configuration; None: without that search

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
        avoid: Collisions | None = None,
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
        if avoid is not None or problem.avoid is not None:
            avoided = _collisions_of(problem, avoid)
            problem = problem.without_collisions()
            governor.clearance = Clearance(avoided.with_world(avoided.world))
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
        """Return a tracker that continues from the snapshot of another one in the same way."""
        arguments = {**snapshot.arguments, 'governor': snapshot.arguments['governor'].copy()}
        tracker = cls(
            snapshot.problem, snapshot.rate, clock=clock, background=background, **arguments
        )
        tracker._state.restore(snapshot.state)
        return tracker

    def snapshot(self) -> Snapshot:
        """Return the complete state; a running solve starts again."""
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
        return self._state.governor

    @property
    def at_rest(self) -> bool:
        """True if no joint is commanded to move."""
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
        """True if any tip, or the joints, have a goal."""
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
        """Names of the joints that move no tip: they have joint goals while tips are followed."""
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
        """True if the tracker is paused."""
        return self._state.drive is Drive.PAUSED

    @property
    def stopped(self) -> bool:
        """True if the joints brake, or rest after braking, until motion is resumed."""
        return self._state.drive is not Drive.ON

    @property
    def stopping_time(self) -> float:
        """Longest time [s] until the joints rest if they brake from the next tick on."""
        return self.governor.stopping_time

    def condition_number(self) -> float:
        """Return the condition number of the commanded q: 1 at best, inf at a singularity.

        The ratio of the largest singular value of the goals' Jacobian to the smallest, over all
        rows that the goals use: positions in m, rotations in rad times `orientation_length`. The
        orientation of a goal that puts the position first (`PoseTask.for_joints`) does not count.
        """
        state = self._state
        return state.monitor.condition_number(state.motion.q, state.targets())

    # Instructions

    def set_goal(
        self,
        tip: int | str,
        transform: TransformLike | None,
        now: float,
        *,
        twist: VectorLike | None = None,
        move: Move | None = None,
        frame: str = '',
    ) -> None:
        """Set the goal `transform` (4, 4) of a tip, given by its index or by its link's name.

        None drops the goal.

        The transform is in the root link's frame, or in that of the link that the problem's goal
        is relative to. `ik_core.transform` lists the other types that are accepted, such as a ROS
        PoseStamped.

        now [s] : when the goal came, for `goal_timeout`
        twist (6,) : velocity of a moving goal in the root link's frame [m/s, rad/s]; by default
            `feed_forward` estimates it from earlier goals
        move : 'joint' or 'linear', in place of the option
        frame : of the transform; by default that of the message, if it is one, and else any

        Raises InvalidGoal, and keeps the last goal, if the transform is not finite or not rigid,
        or if there is no such tip.
        """
        self.apply(SetGoal(tip, transform, now, twist=twist, move=move, frame=frame))

    def set_twist(
        self, tip: int | str, linear: VectorLike, angular: VectorLike, now: float
    ) -> None:
        """Move a tip by a twist in the root link's frame, until `twist_timeout`.

        tip : its index, or the name of its link
        linear (3,) [m/s] : velocity of the tip's origin
        angular (3,) [rad/s] : angular velocity
        now [s] : when the twist came

        A twist that is too fast is slowed down without changing its direction. The tip's goal is
        dropped. Raises InvalidGoal if the numbers are not finite, or if there is no such tip.
        """
        self.apply(SetTwist(tip, linear, angular, now))

    def move_to(
        self,
        q: VectorLike | Mapping[str, float],
        now: float | None = None,
        *,
        nearest: bool = True,
    ) -> None:
        """Move all joints to q (n,), so that they arrive together: a joint goal.

        q : or positions of some joints by name; the others keep their joint goal, or stay

        It replaces the goals of the tips, as their next goal or twist replaces it, and is kept in
        a pause. Joints that move no tip keep it meanwhile, and a goal that names only such joints
        leaves the goals of the tips as they are. Continuous joints take the nearest turn. Joints
        that the limits keep from q stop at the limit, and the status is CLOSEST.

        now [s] : when the goal came, for `goal_timeout`; by default it holds until it is replaced
        nearest : with False, continuous joints go to exactly this q, not by their nearest turn

        Raises InvalidConfiguration if q is not finite or has the wrong length, FrameNotFound for
        names that are not in `robot.joint_names`.
        """
        self.apply(MoveTo(q, now, nearest=nearest))

    def set_limits(self, limits: MotionLimits) -> None:
        """Change the limits. Raises InvalidOption if they are for another robot."""
        self.apply(SetLimits(limits))

    def set_options(self, options: TrackerOptions) -> None:
        """Change the options. Raises InvalidOption for anything but TrackerOptions."""
        self.apply(SetOptions(options))

    def set_rest(self, rest: VectorLike) -> None:
        """Change the rest posture (n,). Raises InvalidConfiguration."""
        self.apply(SetRest(rest))

    def set_solver(
        self, solver: SolverName | Solver, options: Mapping[str, Any] | None = None
    ) -> None:
        """Change the solver. Raises InvalidOption, UnsupportedProblem, and keeps the last one.

        solver, options : a name from `SOLVERS` with its options, or a Solver
        """
        self.apply(SetSolver(solver, options))

    def set_problem(self, problem: IkProblem) -> None:
        """Change tolerances, tools, weights or the goals' types; the motion continues.

        The goals must be for the same links of the same robot. If tools or types changed, the
        current goals are set again, for the new ones, and twists end. Raises InvalidOption,
        UnsupportedProblem, and keeps the last problem.
        """
        self.apply(SetProblem(problem))

    def next_frame(self, examples: Sequence[VectorLike] = (), *, restart: bool = False) -> None:
        """Advance the tasks that depend on earlier frames: example motions and smoothness.

        examples : for each example motion of the problem, first weighed ones, then secondary ones,
            its value in this frame; see `ReferenceMotionTask.next_frame`. The problem given to the
            constructor already has the first frame
        restart : forget the earlier frames, since the example starts again

        The last frame ends at the commanded q; a `SmoothnessTask` stays near that. Raises
        InvalidGoal, and keeps the last frame, if the examples do not match.
        """
        self.apply(NextFrame(examples, restart=restart))

    def offer_configuration(self, q: VectorLike | None, note: str) -> None:
        """Set the result of a search for another configuration, for the present goals.

        The tracker applies this instruction itself, for its recordings. q (n,) reaches the goals
        or comes closer; None if nothing does. `note` is a sentence about it. With the option
        `reconfigure` the joints go there. Raises InvalidConfiguration if q does not fit the robot.
        """
        self.apply(OfferConfiguration(q, note))

    def pause(self, paused: bool = True) -> None:
        """Decelerate to rest and keep the goals; with False, move on to them.

        Twists end. Nothing moves until the pause ends, whatever goals, limits and resets arrive;
        False also ends a `stop()`.
        """
        self.apply(Pause(paused))

    def stop(self) -> None:
        """Decelerate to rest and drop all goals.

        The joints come to rest as fast as the limits of acceleration and jerk allow, and stay
        there, also outside the position limits, until there is a goal, a twist, `pause(False)` or
        `reset()`.
        """
        self.apply(Stop())

    def brake(self) -> None:
        """Brake in the next tick, whatever the goals; later ticks follow them again.

        For callers that failed to find out where to go.
        """
        self.apply(Brake())

    def skip_tick(self, *, braking: bool) -> None:
        """Advance by one period without reading the goals, for a tick that did not happen.

        braking : whether the robot meanwhile braked, or continued along the last command
        """
        self.apply(SkipTick(braking=braking))

    @property
    def world(self) -> World | None:
        """A copy of the obstacles that the motion avoids; None for a tracker without `avoid`."""
        clearance = self.governor.clearance
        return None if clearance is None else clearance.collisions.world.copy()

    def set_world(self, world: World) -> None:
        """Avoid a copy of these obstacles from the next tick on.

        A pair that is nearer than its margin, on the way of the stop that the joints may be on
        too, can only move apart from there. Raises UnsupportedProblem for a tracker without
        `avoid`, InvalidOption and FrameNotFound for names that do not fit the robot.
        """
        self.apply(SetWorld(world))

    @property
    def obstacle(self) -> tuple[str, str] | None:
        """The pair of links, or a link and an obstacle, that keeps the joints from going on."""
        return self.governor.obstacle

    @property
    def obstacle_distance(self) -> float | None:
        """The distance [m] between the two of `obstacle`; minus the depth where they overlap."""
        return self.governor.obstacle_distance

    def undo_tick(self) -> None:
        """Undo the steps of the joints since the last tick began, if they were not published.

        These are the step of that tick and those of `skip_tick` after it. The goals stay as they
        are.
        """
        self.apply(UndoTick())

    def reset(self, q: VectorLike, *, keep_goals: bool = False) -> None:
        """Drop all goals and restart from a measured q (n,), at rest.

        A q outside the limits is accepted and moved inside at limited speed; during a pause, once
        that ends. With `keep_goals` the current goals are set again. Raises InvalidConfiguration
        if q is not finite or has the wrong length, or while the joints are commanded to move.
        """
        self.apply(Reset(q, keep_goals=keep_goals))

    def apply(self, instruction: Instruction) -> None:
        """Apply an instruction; an error leaves the tracker as it was.

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
        """Restore a state, and apply the instructions that were applied since."""
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
        """Return the observer, after it got a snapshot if it needs one."""
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


def _collisions_of(problem: IkProblem, avoid: Collisions | None) -> Collisions:
    """Return the collisions that a tracker avoids. Raises InvalidOption."""
    if avoid is None:
        assert problem.avoid is not None
        return problem.avoid
    if problem.avoid is not None:
        raise InvalidOption(
            'avoid= of the problem and of the Tracker: give it once, to the problem say'
        )
    if not isinstance(avoid, Collisions) or avoid.robot is not problem.robot:
        raise InvalidOption(
            f'avoid = {avoid!r}: ik.Collisions of this robot, {problem.robot.name!r}, are needed'
        )
    return avoid


def _limits_of(robot: Robot) -> MotionLimits:
    """Return the robot's limits; warn of joints without a limit of acceleration."""
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
