# SPDX-License-Identifier: Apache-2.0
"""The state of a tracker: its parts, and changes that concern several of them.

Arrays of the state are replaced, never written to, so shallow copies of the parts' attributes are
a copy of the state (`save`). The governor is the exception: it writes to its table of joints, so
`save` copies the table.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..collision.collisions import Collisions
from ..exceptions import InvalidGoal, InvalidOption
from ..maths.rotations import Array
from ..optim.search import Clock
from ..problem import IkProblem
from .goals.joint_goals import JointGoal, auxiliary_joints
from .goals.monitor import GoalMonitor, packed_goals
from .goals.tips import Tip
from .governor.clearance import Clearance
from .governor.governor import Detour, Governor
from .governor.joint_motion import JointMotion
from .governor.motion_limits import MotionLimits
from .solution.goal_solver import GoalSolver
from .solution.rest_posture import RestPosture
from .solution.step_following import StepFollowing
from .status import TrackStatus
from .tracker_options import TrackerOptions


class Drive(Enum):
    """The drive of the joints: if not ON they brake, and rest where that ends, also outside."""

    ON = 'on'
    STOPPED = 'stopped'  # until there is a goal or a twist, a reset, or the end of a pause
    PAUSED = 'paused'  # until the pause ends; goals are kept for then


# A copy of the governor's state, and the other parts with copies of their attributes.
Saved = tuple[Any, list[tuple[Any, dict[str, Any]]]]
# Attributes by name: numbers, strings, arrays, None, enums and records of these.
Values = dict[str, Any]


class Snapshot(NamedTuple):
    """The complete state of a tracker as plain values: the beginning of a recording.

    `problem`, `rate` and `arguments` make the tracker, `state` has the attributes of its parts.
    The tasks of the problem are still the tracker's: their history continues with it.

    A running solve, and what a method remembers of the last, are left out: they are arrays of its
    own. The solve begins again when a snapshot is taken, in the tracker as in the one that resumes
    it: a seeded solve takes part of a tick, so only a search with restarts loses the ticks that it
    has used.
    """

    problem: IkProblem
    rate: float
    arguments: Values
    state: Values


class TrackerState:
    """The state of a tracker for a problem whose goals are the tips, in order.

    Instructions (`instructions`) and ticks (`tick`) change it. It needs SetOptions and SetSolver
    before its first tick.
    """

    OWN: ClassVar = ('drive', 'brakes', 'now', 'joint_goal', 'auxiliary_goal', 'resting_status')

    options: TrackerOptions
    speeds: Array

    def __init__(
        self, problem: IkProblem, rate: float, governor: Governor, rest: Array, clock: Clock
    ) -> None:
        self.robot, self.rate, self.period = problem.robot, rate, 1.0 / rate
        self.frames = [base or self.robot.base_link for _, base in problem.goal_chains]
        self.governor = governor
        self.drive = Drive.ON
        self.brakes = False  # in the next tick, whatever the goals
        self.now = 0.0  # [s] of the last tick
        self.joint_goal: JointGoal | None = None  # of all joints, in place of the tips' goals
        self.auxiliary_goal: JointGoal | None = (
            None  # of joints that move no tip, at the same time
        )
        self.resting_status = TrackStatus.IDLE
        self.links = tuple(problem.goal_links)
        self.tips = [Tip(index) for index in range(len(self.links))]
        self.solver = GoalSolver(problem, governor.limits, rate, clock)
        chains = [self.robot.chain(*c) for c in problem.goal_chains]
        self.motion = JointMotion(governor, chains)
        self.auxiliary = auxiliary_joints(problem)  # mask (n,) of joints that move no tip
        self.step_following = StepFollowing(self.tips, self.solver, self.motion, rate)
        self.rest = rest
        own = self.solver.problem
        self.monitor = GoalMonitor(own)
        self.posture = RestPosture(packed_goals(own), governor.limits, self.period, rest)
        self.drop_goals()
        self.hold(self.tips, self.solver.solution)

    # Copies

    def save(self) -> Saved:
        """Copy the state, without a running solve, for `load`."""
        motion = self.motion
        parts: list[Any]
        parts = [
            self,
            self.step_following,
            self.solver,
            self.solver.progress,
            motion,
            self.posture,
        ]
        if motion.slow_in_out is not None:
            parts.append(motion.slow_in_out)
        for tip in self.tips:
            parts += tip, tip.state, tip.request
        return self.governor.save(), [(part, part.__dict__.copy()) for part in parts]

    def load(self, saved: Saved) -> None:
        """Undo all changes since `save`; a running solve begins again."""
        governor, parts = saved
        self.governor.load(governor)
        for part, attributes in parts:
            part.__dict__.update(attributes)
        self.solver.begin_again()

    def snapshot(self) -> Snapshot:
        """Return the state as plain values; a running solve begins again."""
        solver, options = self.solver.choice
        if self.governor.clearance is not None:
            self.governor.clearance.forget()
        arguments = {
            'limits': self.limits,
            'solver': solver,
            'solver_options': options,
            'options': self.options,
            'governor': self.governor.copy(),
            'rest': self.rest,
        }
        self.solver.begin_again()
        state = {
            name: {own: getattr(part, own) for own in part.OWN}
            for name, part in self._parts().items()
        }
        return Snapshot(self.solver.asked, self.rate, arguments, copy.deepcopy(state))

    def restore(self, state: Values) -> None:
        """Copy the state of a snapshot into a tracker that was made from this snapshot."""
        for name, part in self._parts().items():
            values = copy.deepcopy(state[name])
            for own in part.OWN:
                setattr(part, own, values[own])
        self.solver.begin_again()

    def _parts(self) -> dict[str, Any]:
        """Return the parts that have a state, by their names in a snapshot."""
        return {
            'tracker': self,
            'solver': self.solver,
            'motion': self.motion,
            'posture': self.posture,
            'step_following': self.step_following,
            **{f'tip {tip.index}': tip for tip in self.tips},
        }

    # The goals

    @property
    def is_following(self) -> bool:
        """True if any tip has a goal."""
        for tip in self.tips:  # noqa: SIM110 (in every tick: a generator takes five times as long)
            if tip.state.has_goal:
                return True
        return False

    @property
    def has_goals(self) -> bool:
        """True if a tip has a goal, or the joints have one."""
        return self.is_following or self.joint_goal is not None

    def tip(self, tip: int | str) -> Tip:
        """Return the tip of this index, or for this link. Raises InvalidGoal, InvalidOption."""
        if isinstance(tip, str):
            if self.links.count(tip) != 1:
                why = 'has several goals: give an index' if tip in self.links else 'is no tip'
                raise InvalidOption(f'{tip!r} {why}; tips: {", ".join(self.links)}')
            return self.tips[self.links.index(tip)]
        if tip not in range(len(self.tips)):
            raise InvalidGoal(f'there is no tip {tip!r}, only 0 to {len(self.tips) - 1}')
        return self.tips[tip]

    def begin_to_follow(self, tip: Tip) -> None:
        """Prepare for a goal of this tip; if no tip had one, the others hold where they are."""
        if self.drive is Drive.STOPPED:
            self.drive = Drive.ON
            self.come_to_rest()  # from where the stop ends, by the present limits
        if self.joint_goal is not None:
            goal = self.joint_goal if self.auxiliary.any() else None
            self.drop_joint_goal(TrackStatus.IDLE)
            self.auxiliary_goal = goal
            self.aim_at_auxiliary_goal()
        if not (tip.state.has_goal or self.is_following):
            self.hold(self.tips, self.solver.solution)

    def drop_goal(self, tip: Tip, status: TrackStatus) -> None:
        """Drop a tip's goal: it holds its pose while others have goals; else the joints stop."""
        if not tip.has_goal:
            return
        stands = self.step_following.active and tip.state.fraction == 0.0
        tip.release()
        if not self.is_following:
            self.resting_status = status
            self.come_to_rest()
            self.end_auxiliary_goal()
        elif not stands:
            self.step_following.end()
            self.hold([tip], self.governor.stop_point())

    def drop_goals(self) -> None:
        """Drop all goals, and aim at where the joints can stop, inside the limits."""
        self.resting_status, self.joint_goal, self.auxiliary_goal = TrackStatus.IDLE, None, None
        for tip in self.tips:
            tip.hold(tip.frame)
            tip.forget()
        self.come_to_rest()

    def stop(self) -> None:
        """Drop the goals and brake."""
        self.drop_goals()
        self.stop_driving()

    def restore_goals(self, drop: Callable[[], None]) -> None:
        """Call `drop`, which drops the goals, and set those that were followed again."""
        joint_goal, auxiliary_goal = self.joint_goal, self.auxiliary_goal
        kept = [
            (tip, tip.given, copy.copy(tip.request))
            for tip in self.tips
            if tip.given is not None and tip.has_goal
        ]
        drop()
        for tip, given, request in kept:
            self.begin_to_follow(tip)
            tip.restore_goal(given, request)
        if joint_goal is not None:
            self.move_to(*joint_goal)
        if auxiliary_goal is not None and self.is_following:
            self.move_auxiliary_joints(*auxiliary_goal)

    def hold(self, tips: Iterable[Tip], q: Array) -> None:
        """Hold the tips at their poses for q (n,)."""
        frames = self.solver.frames_at(q)
        for tip in tips:
            tip.hold(frames[tip.index])
        self.set_targets()

    def set_targets(self) -> None:
        """Set the present frames of the tips as the targets of the goal solver."""
        self.solver.set_targets([tip.frame for tip in self.tips])

    def targets(self) -> list[Array]:
        """Return the frames (12,) that errors are measured from, one for each tip."""
        return [tip.target for tip in self.tips]

    # The joint goal

    def move_to(self, q: Array, received: float | None) -> None:
        """Make q (n,) the goal of all joints, in place of the goals of the tips."""
        self.drop_goals()
        self.end_stop()
        self.joint_goal = JointGoal(q, received)
        self.aim_at_joint_goal()

    def completed(self, positions: Mapping[str, float]) -> Array:
        """Return positions of some joints by name, with the goals or stops of the others (n,)."""
        if self.joint_goal is not None:
            q = self.joint_goal.q.copy()
        else:
            q = np.clip(self.governor.stop_point(), self.limits.lower, self.limits.upper)
            if self.auxiliary_goal is not None:
                q[self.auxiliary] = self.auxiliary_goal.q[self.auxiliary]
        for joint, position in positions.items():
            q[self.robot.joint_index(joint)] = position
        return q

    def aim_at_joint_goal(self) -> None:
        """Move all joints to the joint goal, if there is one, as far as the limits allow."""
        if self.joint_goal is not None:
            self.solver.rest(self.joint_goal.inside(self.limits))
            self.motion.synchronize()

    def drop_joint_goal(self, status: TrackStatus) -> None:
        """Drop the joint goal and aim at where the joints can stop."""
        self.joint_goal, self.resting_status = None, status
        self.come_to_rest()

    # The goal of the auxiliary joints, at the same time as those of the tips

    def move_auxiliary_joints(self, q: Array, received: float | None) -> None:
        """Make q (n,) the goal of the auxiliary joints; the goals of the tips stay."""
        self.auxiliary_goal = JointGoal(q, received)
        self.aim_at_auxiliary_goal()

    def aim_at_auxiliary_goal(self) -> None:
        """Move the auxiliary joints to their goal, if there is one, as far as the limits allow."""
        if self.auxiliary_goal is not None:
            self.solver.aim_others(self._with_auxiliary(self.solver.solution))

    def drop_auxiliary_goal(self) -> None:
        """Drop the goal of the auxiliary joints, which come to rest; the tips keep their goals."""
        self.auxiliary_goal = None
        self.solver.aim_others(self.governor.stop_point())
        if not self.is_following:
            self.stop_driving()

    def end_auxiliary_goal(self) -> None:
        """Brake once the auxiliary joints are at their goal: no tip has a goal any more."""
        if self.auxiliary_goal is not None:
            if (self.solver.solution != self.motion.q)[self.auxiliary].any():
                return
            self.auxiliary_goal = None
        self.stop_driving()

    def _with_auxiliary(self, q: Array) -> Array:
        """Return q (n,) with the auxiliary joints at their goal, if they have one."""
        if self.auxiliary_goal is None:
            return q
        return np.where(self.auxiliary, self.auxiliary_goal.inside(self.limits), q)

    # The joints

    @property
    def limits(self) -> MotionLimits:
        """The requested limits of the motion."""
        return self.governor.limits

    @property
    def detour(self) -> Detour | None:
        """Steps along obstacles, for tips that neither move on a line nor jog; else None."""
        return None if self.step_following.active or not self.is_following else self._detour

    def _detour(self, q: Array, target: Array) -> tuple[Array, Array]:
        return self.monitor.detour(q, self.targets(), target)

    @property
    def is_stopped_by_obstacle(self) -> bool:
        """True if the joints rest because links or obstacles are in their way."""
        return self.governor.obstacle is not None and self.governor.at_rest

    @property
    def independent(self) -> NDArray[np.bool_] | None:
        """Mask (n,) of the joints that no other one waits for: auxiliary ones with a goal."""
        return None if self.auxiliary_goal is None else self.auxiliary

    def stop_driving(self) -> None:
        """Brake from the next tick on; a pause remains a pause."""
        if self.drive is Drive.ON:
            self.drive = Drive.STOPPED

    def end_stop(self) -> None:
        """Drive the joints, unless in a pause."""
        if self.drive is Drive.STOPPED:
            self.drive = Drive.ON

    def come_to_rest(self) -> None:
        """Forget the solution and aim at where the joints can stop."""
        self.step_following.end()
        self.solver.rest(self._with_auxiliary(self.governor.stop_point()))
        self.motion.come_to_rest()

    def resume(self) -> None:
        """Follow the goals again, which may be far from the joints."""
        self.step_following.end()
        self.solver.jump()
        self.motion.synchronize()
        for tip in self.tips:
            tip.resume()
        self.set_targets()
        self.aim_at_joint_goal()

    def invalidate(self) -> None:
        """Solve again, since something else than the goals has changed."""
        for tip in self.tips:
            tip.unblock()
        self.solver.invalidate()

    def avoid(self, collisions: Collisions) -> None:
        """Keep the motion clear of these from now on."""
        self.governor.clearance = Clearance(collisions)

    def read_problem(self) -> None:
        """Adapt monitor and rest posture to the present problem, limits and posture."""
        problem = self.solver.problem
        self.auxiliary = auxiliary_joints(problem)
        self.monitor = GoalMonitor(problem)
        self.posture.change(packed_goals(problem), self.limits, self.rest)
