# SPDX-License-Identifier: Apache-2.0
"""Instructions of a tracker: values, checked when they are made, that change its state.

Each instruction is written here once: its arguments, its text, and its effect (`apply`). `Tracker`
has a method for each, `tracker.pause()` for `tracker.apply(Pause())`, and a recording is a list of
them, each with its tick.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..exceptions import InvalidConfiguration, InvalidOption
from ..maths.argument_types import TransformLike, VectorLike
from ..maths.rotations import Array, finite_vector
from ..maths.transforms import check_frame, checked_transform, frame_id
from ..options import exact_number
from ..problem import IkProblem, checked_problem
from ..solvers import Solver, SolverName
from .motion_limits import MotionLimits, checked_limits
from .other_configuration import OtherConfiguration
from .state import Drive, TrackerState
from .status import TrackStatus
from .tick import brake_for_one_tick, follow
from .tracker_options import Move, TrackerOptions, checked_options


@dataclass(eq=False)  # a frozen one takes four times as long to make
class Instruction:
    """A change of a tracker's state between two ticks: a value, which is not changed itself."""

    def apply(self, state: TrackerState) -> None:
        """Change the state. Raises IkError, before any change, where the two do not fit."""
        raise NotImplementedError


@dataclass(eq=False)
class SetGoal(Instruction):
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

    tip: int | str
    transform: TransformLike | None
    now: float
    _: KW_ONLY
    twist: VectorLike | None = None
    move: Move | None = None
    frame: str = ''

    def __post_init__(self) -> None:
        check_time(self.now)
        if self.move not in (None, 'joint', 'linear'):
            raise InvalidOption(f"move = {self.move!r}: one of 'joint', 'linear'")
        if self.twist is not None:
            self.twist = finite_vector(self.twist, 6, 'twist')
        if self.transform is not None:
            self.frame = self.frame or frame_id(self.transform)
            self.transform = checked_transform(self.transform)

    @property
    def target(self) -> Array:
        """The transform of a goal that is not dropped, as an array (4, 4)."""
        return np.asarray(self.transform)

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        tip = state.tip(self.tip)
        check_frame(self.frame, state.frames[tip.index])
        if self.transform is None:
            tip.forget()
            state.drop_goal(tip, TrackStatus.IDLE)
            return
        linear = (self.move or state.options.move) == 'linear'
        state.begin_to_follow(tip)
        if state.options.feed_forward and self.twist is None and not linear:
            tip.set_stream_goal(self.target, self.now)
        else:
            twist = None if self.twist is None else np.asarray(self.twist)
            tip.set_goal(self.target, self.now, linear=linear, twist=twist)


@dataclass(eq=False)
class SetTwist(Instruction):
    """Move a tip by a twist in the root link's frame, until `twist_timeout`.

    tip : its index, or the name of its link
    linear (3,) [m/s] : velocity of the tip's origin
    angular (3,) [rad/s] : angular velocity

    A twist that is too fast is slowed down without changing its direction. The tip's goal is
    dropped. Raises InvalidGoal if the numbers are not finite, or if there is no such tip.
    """

    tip: int | str
    linear: VectorLike
    angular: VectorLike
    now: float

    def __post_init__(self) -> None:
        check_time(self.now)
        self.linear = finite_vector(self.linear, 3, 'linear')
        self.angular = finite_vector(self.angular, 3, 'angular')

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        tip = state.tip(self.tip)
        state.begin_to_follow(tip)
        if tip.jog_twist is None and tip.state.share > 0.0:
            state.leading.end()
        tip.jog(np.concatenate([self.linear, self.angular]), self.now)


@dataclass(eq=False)
class MoveTo(Instruction):
    """Move all joints to q (n,), so that they arrive together: a joint goal.

    q : or positions of some joints by name; the others keep their joint goal, or stay

    It replaces the goals of the tips, as their next goal or twist replaces it, and is kept in
    a pause. Joints that move no tip keep it meanwhile, and a goal that names only such joints
    leaves the goals of the tips as they are. Continuous joints take the nearest turn. Joints that
    the limits keep from q stop at the limit, and the status is CLOSEST.

    now : when the goal came, for `goal_timeout`; by default it holds until it is replaced
    nearest : with False, continuous joints go to exactly this q, not by their nearest turn

    Raises InvalidConfiguration if q is not finite or has the wrong length, FrameNotFound for
    names that are not in `robot.joint_names`.
    """

    q: VectorLike | Mapping[str, float]
    now: float | None = None
    _: KW_ONLY
    nearest: bool = True

    def __post_init__(self) -> None:
        if self.now is not None:
            check_time(self.now)

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        q = state.robot.checked(state.completed(self.q) if isinstance(self.q, Mapping) else self.q)
        q = state.nearest_turns(q) if self.nearest else q
        if isinstance(self.q, Mapping) and state.is_following and state.are_auxiliary(self.q):
            state.move_auxiliary_joints(q, self.now)
        else:
            state.move_to(q, self.now)


@dataclass(eq=False)
class SetLimits(Instruction):
    """Change the limits. Raises InvalidOption if they are for another robot."""

    limits: MotionLimits

    def __post_init__(self) -> None:
        checked_limits(self.limits)

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        limits = self.limits
        if limits.is_same(state.motion.limits):
            return
        limits.check_size(state.robot.n)
        state.motion.set_limits(limits)
        state.solver.set_limits(limits)
        state.read_problem()
        state.invalidate()
        state.aim_at_joint_goal()
        state.aim_at_auxiliary_goal()


@dataclass(eq=False)
class SetOptions(Instruction):
    """Change the options. Raises InvalidOption for anything but TrackerOptions."""

    options: TrackerOptions

    def __post_init__(self) -> None:
        checked_options(self.options)

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        state.options = options = self.options
        state.speeds, state.motion.speed_profile = options.speeds, options.speed_profile
        state.solver.set_budget(options.updates_per_tick, options.replan_period)
        state.invalidate()


@dataclass(eq=False)
class SetRest(Instruction):
    """Change the rest posture (n,). Raises InvalidConfiguration."""

    rest: VectorLike

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        state.rest = state.robot.checked(self.rest, 'rest')
        velocity = state.posture.velocity
        state.read_problem()
        state.posture.velocity = velocity  # it goes on from there


@dataclass(eq=False)
class SetSolver(Instruction):
    """Change the solver. Raises InvalidOption, UnsupportedProblem, and keeps the last one."""

    solver: SolverName | Solver
    options: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.solver, (str, Solver)):
            raise InvalidOption(
                f'solver = {self.solver!r}: a name from SOLVERS or a Solver is needed, as of '
                'make_solver'
            )
        if not (self.options is None or isinstance(self.options, Mapping)):
            raise InvalidOption(
                f"solver options {self.options!r}: {{'max_step': 0.1}}, say, is needed"
            )

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        state.solver.set_solver(self.solver, dict(self.options or {}))
        state.invalidate()


@dataclass(eq=False)
class OfferConfiguration(Instruction):
    """Set the result of a search from other starts, for the goals as they are.

    The tracker makes this instruction itself, for its recordings. q (n,) reaches the goals or
    comes closer; None if nothing does. `note` is a sentence about it. With the option
    `reconfigure` the joints go there. Raises InvalidConfiguration if q does not fit the robot.
    """

    q: VectorLike | None
    note: str

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        q = None if self.q is None else state.robot.checked(self.q)
        state.solver.other = OtherConfiguration(q, str(self.note))


@dataclass(eq=False)
class SetProblem(Instruction):
    """Change tolerances, tools, weights or the goals' types; the motion continues.

    The goals must be for the same links of the same robot. If tools or types changed, the
    current goals are set again, for the new ones, and twists end. Raises InvalidOption,
    UnsupportedProblem, and keeps the last problem.
    """

    problem: IkProblem

    def __post_init__(self) -> None:
        checked_problem(self.problem)

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        before, problem = state.solver.problem, self.problem
        if problem.robot is not state.robot or problem.goal_chains != before.goal_chains:
            raise InvalidOption(
                f'a problem for {", ".join(problem.goal_links)}; '
                f'this tracker moves {", ".join(before.goal_links)} of {state.robot.name}'
            )
        goals = zip(problem.goals, before.goals, strict=True)
        same = all(type(new) is type(old) and (new.tool == old.tool).all() for new, old in goals)
        state.solver.set_problem(problem, state.motion.limits)
        state.read_problem()
        if same:
            state.set_targets()
            state.invalidate()
        else:
            state.restore_goals(state.stop if state.has_goals else state.drop_goals)


@dataclass(eq=False)
class NextFrame(Instruction):
    """Advance the tasks that depend on earlier frames: example motions and smoothness.

    examples : for each example motion of the problem, first weighed ones, then secondary ones,
        its value in this frame; see `ReferenceMotionTask.next_frame`. The problem given to the
        constructor already has the first frame
    restart : forget the earlier frames, since the example starts again

    The last frame ends at the commanded q; a `SmoothnessTask` stays near that. Raises
    InvalidGoal, and keeps the last frame, if the examples do not match.
    """

    examples: Sequence[VectorLike] = ()
    _: KW_ONLY
    restart: bool = False

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        state.solver.next_frame(self.examples, state.motion.q, restart=self.restart)
        state.invalidate()


@dataclass(eq=False)
class Pause(Instruction):
    """Decelerate to rest and keep the goals; with False, move on to them.

    Twists end. Nothing moves until the pause ends, whatever goals, limits and resets arrive;
    False also ends a `stop()`.
    """

    paused: bool = True

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        drive = Drive.PAUSED if self.paused else Drive.ON
        if drive is state.drive:
            return
        for tip in state.tips:
            if tip.jog_twist is not None:
                state.drop_goal(tip, TrackStatus.IDLE)
        state.drive = drive
        state.come_to_rest()
        if drive is Drive.ON:
            state.resume()


@dataclass(eq=False)
class Stop(Instruction):
    """Decelerate to rest and drop all goals; see point 5 of the module `tracker`."""

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        state.stop()


@dataclass(eq=False)
class Brake(Instruction):
    """Brake in the next tick, whatever the goals; later ticks follow them again.

    For callers that failed to find out where to go.
    """

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        state.brakes = True


@dataclass(eq=False)
class SkipTick(Instruction):
    """Advance by one period without reading the goals, for a tick that did not happen.

    For a robot that meanwhile continued on its own, along the last command, or braking.
    """

    _: KW_ONLY
    braking: bool

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        if self.braking or state.drive is not Drive.ON:
            brake_for_one_tick(state, as_told=self.braking)
        elif state.leading.closely:
            follow(state, state.now, in_time=False)
        else:
            state.motion.follow(state.solver.solution, None, {}, state.apart)


@dataclass(eq=False)
class UndoTick(Instruction):
    """Undo the steps of the joints since the last tick began, whose commands were not published.

    These are the step of that tick and those of `skip_tick` after it. The goals stay as they are.
    """

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        state.motion.governor.undo_tick()


@dataclass(eq=False)
class Reset(Instruction):
    """Drop all goals and restart from a measured q (n,), at rest.

    A q outside the limits is accepted and moved inside at limited speed; during a pause, once
    that ends. With `keep_goals` the current goals are set again. Raises InvalidConfiguration
    if q is not finite or has the wrong length, or while the joints are commanded to move.
    """

    q: VectorLike
    _: KW_ONLY
    keep_goals: bool = False

    def apply(self, state: TrackerState) -> None:
        """See Instruction."""
        q = state.robot.checked(self.q)
        if not state.motion.governor.at_rest:
            raise InvalidConfiguration('the joints are moving: stop() them before a reset()')

        def restart() -> None:
            state.motion.governor.restart(q)
            state.drop_goals()
            state.end_stop()

        if self.keep_goals:
            state.restore_goals(restart)
        else:
            restart()


INSTRUCTIONS: dict[str, type[Instruction]] = {
    kind.__name__: kind for kind in Instruction.__subclasses__()
}
"""All kinds of instructions, by name."""


def check_time(now: float) -> None:
    """Raise InvalidOption where `now` [s] is no time: by NaN no goal would ever be stale."""
    if type(now) is float and math.isfinite(now):  # as in every tick
        return
    if exact_number(now, float) is None or not math.isfinite(now):
        raise InvalidOption(f'now = {now!r} [s]: a finite number, as of a clock, is needed')
