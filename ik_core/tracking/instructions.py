# SPDX-License-Identifier: Apache-2.0
"""Instructions of a tracker: values, checked when they are made, that change its state.

Each instruction has its arguments and its effect, `apply`. `Tracker` has a method for each, which
documents the arguments: `tracker.pause()` for `tracker.apply(Pause())`. A recording is a list of
instructions, each with its tick.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..collision.world import World
from ..exceptions import InvalidConfiguration, InvalidOption, UnsupportedProblem
from ..maths.argument_types import TransformLike, VectorLike
from ..maths.rotations import Array, finite_vector
from ..maths.transforms import check_frame, checked_transform, frame_id
from ..options import exact_number
from ..problem import IkProblem, checked_problem
from ..solvers import Solver, SolverName
from .goals.joint_goals import nearest_turns
from .governor.motion_limits import MotionLimits, checked_limits
from .solution.other_configuration import OtherConfiguration
from .state import Drive, TrackerState
from .status import TrackStatus
from .tick import brake_for_one_tick, follow
from .tracker_options import Move, TrackerOptions, checked_options


@dataclass(eq=False)  # a frozen one takes four times as long to make
class Instruction:
    """A change of a tracker's state between two ticks: a value, never changed itself."""

    def apply(self, state: TrackerState) -> None:
        """Change the state. Raises IkError, before any change, if the two do not fit."""
        raise NotImplementedError


@dataclass(eq=False)
class SetGoal(Instruction):
    """Set or drop the goal of a tip."""

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
    """Move a tip by a twist."""

    tip: int | str
    linear: VectorLike
    angular: VectorLike
    now: float

    def __post_init__(self) -> None:
        check_time(self.now)
        self.linear = finite_vector(self.linear, 3, 'linear')
        self.angular = finite_vector(self.angular, 3, 'angular')

    def apply(self, state: TrackerState) -> None:
        tip = state.tip(self.tip)
        state.begin_to_follow(tip)
        if tip.jog_twist is None and tip.state.fraction > 0.0:
            state.step_following.end()
        tip.jog(np.concatenate([self.linear, self.angular]), self.now)


@dataclass(eq=False)
class MoveTo(Instruction):
    """Set a joint goal."""

    q: VectorLike | Mapping[str, float]
    now: float | None = None
    _: KW_ONLY
    nearest: bool = True

    def __post_init__(self) -> None:
        if self.now is not None:
            check_time(self.now)

    def apply(self, state: TrackerState) -> None:
        robot, moves_tips = state.robot, True
        if isinstance(self.q, Mapping):
            q = robot.checked(state.completed(self.q))
            moves_tips = not all(state.auxiliary[robot.joint_index(name)] for name in self.q)
        else:
            q = robot.checked(self.q)
        if self.nearest:
            q = nearest_turns(robot, q, state.governor.stop_point())
        if state.is_following and not moves_tips:
            state.move_auxiliary_joints(q, self.now)
        else:
            state.move_to(q, self.now)


@dataclass(eq=False)
class SetLimits(Instruction):
    """Change the limits."""

    limits: MotionLimits

    def __post_init__(self) -> None:
        checked_limits(self.limits)

    def apply(self, state: TrackerState) -> None:
        limits = self.limits
        if limits.is_same(state.limits):
            return
        limits.check_size(state.robot.n)
        state.governor.set_limits(limits)
        state.solver.set_limits(limits)
        state.read_problem()
        state.invalidate()
        state.aim_at_joint_goal()
        state.aim_at_auxiliary_goal()


@dataclass(eq=False)
class SetOptions(Instruction):
    """Change the options."""

    options: TrackerOptions

    def __post_init__(self) -> None:
        checked_options(self.options)

    def apply(self, state: TrackerState) -> None:
        state.options = options = self.options
        state.speeds, state.motion.speed_profile = options.speeds, options.speed_profile
        state.solver.set_budget(options.updates_per_tick, options.replan_period)
        state.invalidate()


@dataclass(eq=False)
class SetRest(Instruction):
    """Change the rest posture (n,)."""

    rest: VectorLike

    def apply(self, state: TrackerState) -> None:
        state.rest = state.robot.checked(self.rest, 'rest')
        velocity = state.posture.velocity
        state.read_problem()
        state.posture.velocity = velocity  # without a stop


@dataclass(eq=False)
class SetSolver(Instruction):
    """Change the solver."""

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
        state.solver.set_solver(self.solver, dict(self.options or {}))
        state.invalidate()


@dataclass(eq=False)
class OfferConfiguration(Instruction):
    """Set the result of a search for another configuration, for the present goals."""

    q: VectorLike | None
    note: str

    def apply(self, state: TrackerState) -> None:
        q = None if self.q is None else state.robot.checked(self.q)
        state.solver.other = OtherConfiguration(q, str(self.note))


@dataclass(eq=False)
class SetProblem(Instruction):
    """Change the problem; the motion continues."""

    problem: IkProblem

    def __post_init__(self) -> None:
        checked_problem(self.problem)

    def apply(self, state: TrackerState) -> None:
        before, problem, avoid = state.solver.problem, self.problem, self.problem.avoid
        if problem.robot is not state.robot or problem.goal_chains != before.goal_chains:
            raise InvalidOption(
                f'a problem for {", ".join(problem.goal_links)}; '
                f'this tracker moves {", ".join(before.goal_links)} of {state.robot.name}'
            )
        goals = zip(problem.goals, before.goals, strict=True)
        same = all(type(new) is type(old) and (new.tool == old.tool).all() for new, old in goals)
        if avoid is not None:
            problem = problem.without_collisions()
        state.solver.set_problem(problem, state.limits)
        if avoid is not None:
            state.avoid(avoid.with_world(avoid.world))
        state.read_problem()
        if same:
            state.set_targets()
            state.invalidate()
        else:
            state.restore_goals(state.stop if state.has_goals else state.drop_goals)


@dataclass(eq=False)
class SetWorld(Instruction):
    """Change the obstacles; the tracker keeps a copy."""

    world: World

    def __post_init__(self) -> None:
        if not isinstance(self.world, World):
            raise InvalidOption(f'world = {self.world!r}: an ik.World is needed')
        self.world = self.world.copy()

    def apply(self, state: TrackerState) -> None:
        clearance = state.governor.clearance
        if clearance is None:
            raise UnsupportedProblem(
                'this tracker avoids nothing: make it with avoid=ik.Collisions(robot), then it '
                'accepts a world'
            )
        state.avoid(clearance.collisions.with_world(self.world))


@dataclass(eq=False)
class NextFrame(Instruction):
    """Advance the tasks that depend on earlier frames."""

    examples: Sequence[VectorLike] = ()
    _: KW_ONLY
    restart: bool = False

    def apply(self, state: TrackerState) -> None:
        state.solver.next_frame(self.examples, state.motion.q, restart=self.restart)
        state.invalidate()


@dataclass(eq=False)
class Pause(Instruction):
    """Decelerate to rest and keep the goals; with False, move on to them."""

    paused: bool = True

    def apply(self, state: TrackerState) -> None:
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
    """Decelerate to rest and drop all goals."""

    def apply(self, state: TrackerState) -> None:
        state.stop()


@dataclass(eq=False)
class Brake(Instruction):
    """Brake in the next tick, whatever the goals."""

    def apply(self, state: TrackerState) -> None:
        state.brakes = True


@dataclass(eq=False)
class SkipTick(Instruction):
    """Advance by one period without reading the goals, for a tick that did not happen."""

    _: KW_ONLY
    braking: bool

    def apply(self, state: TrackerState) -> None:
        if self.braking or state.drive is not Drive.ON:
            brake_for_one_tick(state, announced=self.braking)
        elif state.step_following.active:
            follow(state, state.now, in_time=False)
        else:
            motion, solution = state.motion, state.solver.solution
            motion.follow(solution, None, {}, state.independent, state.detour)


@dataclass(eq=False)
class UndoTick(Instruction):
    """Undo the steps of the joints since the last tick began."""

    def apply(self, state: TrackerState) -> None:
        state.governor.undo_tick()


@dataclass(eq=False)
class Reset(Instruction):
    """Drop or set again all goals, and restart from a measured q (n,), at rest."""

    q: VectorLike
    _: KW_ONLY
    keep_goals: bool = False

    def apply(self, state: TrackerState) -> None:
        q = state.robot.checked(self.q)
        if not state.governor.at_rest:
            raise InvalidConfiguration('the joints are moving: stop() them before a reset()')

        def restart() -> None:
            state.governor.restart(q)
            state.drop_goals()
            state.end_stop()

        if self.keep_goals:
            state.restore_goals(restart)
        else:
            restart()


# All kinds of instructions, by name.
INSTRUCTIONS: dict[str, type[Instruction]] = {
    kind.__name__: kind for kind in Instruction.__subclasses__()
}


def check_time(now: float) -> None:
    """Raise InvalidOption unless `now` [s] is finite: with NaN no goal would ever be stale."""
    if type(now) is float and math.isfinite(now):  # as in every tick
        return
    if exact_number(now, float) is None or not math.isfinite(now):
        raise InvalidOption(f'now = {now!r} [s]: a finite number, as of a clock, is needed')
