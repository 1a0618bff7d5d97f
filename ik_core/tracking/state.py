# SPDX-License-Identifier: Apache-2.0
"""The state of a tracker: its parts, and what instructions and ticks change in several of them.

No array of the state is written to, it is replaced: a shallow copy of the parts' attributes is a
copy of the state (`save`). The governor alone keeps its table, of which a copy is saved.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InvalidGoal, InvalidOption
from ..maths.rotations import Array
from ..optim.search import Clock
from ..problem import IkProblem
from ..robot.limits import TURN
from .goal_solver import GoalSolver
from .governor import Governor
from .joint_motion import JointMotion
from .leading import Leading
from .monitor import GoalMonitor, packed_goals
from .motion_limits import MotionLimits
from .rest_posture import RestPosture
from .snapshot import Snapshot, Values
from .status import TrackStatus
from .tips import Tip
from .tracker_options import TrackerOptions


class Drive(Enum):
    """Whether the joints are driven; else they brake, and rest where that ends, also outside."""

    ON = 'on'
    STOPPED = 'stopped'
    """Until there is a goal or a twist, a reset, or the end of a pause."""
    PAUSED = 'paused'
    """Until the pause ends; goals are kept for then."""


class JointGoal(NamedTuple):
    """A goal of joints, q (n,), and the time `received` [s], None if it never gets stale."""

    q: Array
    received: float | None


Saved = tuple[Any, list[tuple[Any, dict[str, Any]]]]
"""A copy of the governor's state, and the other parts with copies of their attributes."""


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
        self.drive = Drive.ON
        self.brakes = False
        self.now = 0.0  # [s] when the last tick was
        self.joint_goal: JointGoal | None = None  # of all joints, in place of the tips' goals
        self.auxiliary_goal: JointGoal | None = None  # beside them, of the auxiliary joints alone
        self.resting_status = TrackStatus.IDLE
        self.links = tuple(problem.goal_links)
        self.tips = [Tip(index) for index in range(len(self.links))]
        self.solver = GoalSolver(problem, governor.limits, rate, clock)
        chains = [self.robot.chain(*c) for c in problem.goal_chains]
        self.motion = JointMotion(governor, chains)
        self.auxiliary = self._auxiliary_joints(problem)
        """Mask (n,) of the joints that move no tip."""
        self.leading = Leading(self.tips, self.solver, self.motion, rate)
        self.rest = rest
        own = self.solver.problem
        self.monitor = GoalMonitor(own)
        self.posture = RestPosture(packed_goals(own), governor.limits, self.period, rest)
        self.drop_goals()
        self.hold(self.tips, self.solver.solution)

    # Copies

    def save(self) -> Saved:
        """A copy of the state, for `load`; the solve under way is not part of it."""
        motion = self.motion
        parts: list[Any]
        parts = [self, self.leading, self.solver, self.solver.progress, motion, self.posture]
        if motion.approach is not None:
            parts.append(motion.approach)
        for tip in self.tips:
            parts += tip, tip.state, tip.request
        return motion.governor.save(), [(part, part.__dict__.copy()) for part in parts]

    def load(self, saved: Saved) -> None:
        """Take back all changes since `save`; a solve that was under way begins again."""
        governor, parts = saved
        self.motion.governor.load(governor)
        for part, attributes in parts:
            part.__dict__.update(attributes)
        self.solver.begin_again()

    def snapshot(self) -> Snapshot:
        """The state as plain values; a solve that is under way begins again."""
        solver, options = self.solver.choice
        arguments = {
            'limits': self.motion.limits,
            'solver': solver,
            'solver_options': options,
            'options': self.options,
            'governor': self.motion.governor.copy(),
            'rest': self.rest,
        }
        self.solver.begin_again()
        state = {
            name: {attribute: getattr(part, attribute) for attribute in part.OWN}
            for name, part in self._parts().items()
        }
        return Snapshot(self.solver.asked, self.rate, arguments, copy.deepcopy(state))

    def restore(self, state: Values) -> None:
        """Take over the state of a snapshot, made as it was."""
        for name, part in self._parts().items():
            for attribute, value in copy.deepcopy(state[name]).items():
                setattr(part, attribute, value)
        self.solver.begin_again()

    def _parts(self) -> dict[str, Any]:
        return {
            'tracker': self,
            'solver': self.solver,
            'motion': self.motion,
            'posture': self.posture,
            'leading': self.leading,
            **{f'tip {tip.index}': tip for tip in self.tips},
        }

    # The goals

    @property
    def is_following(self) -> bool:
        """Whether any tip has a goal."""
        for tip in self.tips:  # noqa: SIM110 (in every tick: a generator takes five times as long)
            if tip.state.has_goal:
                return True
        return False

    @property
    def has_goals(self) -> bool:
        """Whether a tip has a goal, or the joints have one."""
        return self.is_following or self.joint_goal is not None

    def tip(self, tip: int | str) -> Tip:
        """The tip of this index, or for this link. Raises InvalidGoal, InvalidOption."""
        if isinstance(tip, str):
            if self.links.count(tip) != 1:
                why = 'has several goals: give an index' if tip in self.links else 'is no tip'
                raise InvalidOption(f'{tip!r} {why}; tips: {", ".join(self.links)}')
            return self.tips[self.links.index(tip)]
        if tip not in range(len(self.tips)):
            raise InvalidGoal(f'there is no tip {tip!r}, only 0 to {len(self.tips) - 1}')
        return self.tips[tip]

    def begin_to_follow(self, tip: Tip) -> None:
        """Prepare a goal of this tip; if no tip had one, the others hold where they are."""
        if self.drive is Drive.STOPPED:
            self.drive = Drive.ON
            self.come_to_rest()  # from where it ends, by the limits of now
        if self.joint_goal is not None:
            goal = self.joint_goal if self.auxiliary.any() else None
            self.drop_joint_goal(TrackStatus.IDLE)
            self.auxiliary_goal = goal
            self.aim_at_auxiliary_goal()
        if not (tip.state.has_goal or self.is_following):
            self.hold(self.tips, self.solver.solution)

    def drop_goal(self, tip: Tip, status: TrackStatus) -> None:
        """The tip holds its pose while others have goals; after the last goal, all joints stop."""
        if not tip.has_goal:
            return
        stands = self.leading.closely and tip.state.share == 0.0
        tip.release()
        if not self.is_following:
            self.resting_status = status
            self.come_to_rest()
            self.end_auxiliary_goal()
        elif not stands:
            self.leading.end()
            self.hold([tip], self.motion.stop_point())

    def drop_goals(self) -> None:
        """Go no further than to where the joints can stop, taken into the limits."""
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
        """Ask for the goals that are followed again, as before, after they are dropped."""
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
        """Make the tips' poses at q (n,) what they are asked for, without a jump."""
        frames = self.solver.frames_at(q)
        for tip in tips:
            tip.hold(frames[tip.index])
        self.set_targets()

    def set_targets(self) -> None:
        """Let the goal solver follow the tips as they are now."""
        self.solver.set_targets([tip.frame for tip in self.tips])

    def targets(self) -> list[Array]:
        """The frames (12,) that errors are measured from, one for each tip."""
        return [tip.target for tip in self.tips]

    # The joint goal

    def move_to(self, q: Array, received: float | None) -> None:
        """Make q (n,) the goal of all joints, in place of the goals of the tips."""
        self.drop_goals()
        self.end_stop()
        self.joint_goal = JointGoal(q, received)
        self.aim_at_joint_goal()

    def completed(self, positions: Mapping[str, float]) -> Array:
        """Positions of some joints by name, and the goals or resting points of the others (n,)."""
        limits = self.motion.limits
        if self.joint_goal is not None:
            q = self.joint_goal.q.copy()
        else:
            q = np.clip(self.motion.stop_point(), limits.lower, limits.upper)
            if self.auxiliary_goal is not None:
                q[self.auxiliary] = self.auxiliary_goal.q[self.auxiliary]
        for joint, position in positions.items():
            q[self.robot.joint_index(joint)] = position
        return q

    def nearest_turns(self, q: Array) -> Array:
        """q (n,), continuous joints by the turn that is nearest to where they can stop."""
        turns = np.round((self.motion.stop_point() - q) / TURN)
        return np.where(self.robot.continuous & self.robot.full_turns, q + TURN * turns, q)

    def aim_at_joint_goal(self) -> None:
        """Move all joints to the joint goal, if there is one, as far as the limits allow."""
        if self.joint_goal is not None:
            limits = self.motion.limits
            self.solver.rest(np.clip(self.joint_goal.q, limits.lower, limits.upper))
            self.motion.synchronize()

    def drop_joint_goal(self, status: TrackStatus) -> None:
        """Forget the joint goal and aim at where the joints can stop."""
        self.joint_goal, self.resting_status = None, status
        self.come_to_rest()

    # The goal of the auxiliary joints, beside those of the tips

    def _auxiliary_joints(self, problem: IkProblem) -> NDArray[np.bool_]:
        auxiliary = np.ones(self.robot.n, bool)
        for chain in problem.goal_chains:
            auxiliary[self.robot.chain(*chain)] = False
        auxiliary[problem.variables] = False
        return auxiliary

    def are_auxiliary(self, joints: Iterable[str]) -> bool:
        """Whether these joints, by name, move no tip. Raises FrameNotFound."""
        return all(self.auxiliary[self.robot.joint_index(joint)] for joint in joints)

    def move_auxiliary_joints(self, q: Array, received: float | None) -> None:
        """Make q (n,) the goal of the auxiliary joints; the goals of the tips stay."""
        self.auxiliary_goal = JointGoal(q, received)
        self.aim_at_auxiliary_goal()

    def aim_at_auxiliary_goal(self) -> None:
        """Move the auxiliary joints to their goal, if there is one, as far as the limits allow."""
        if self.auxiliary_goal is not None:
            limits = self.motion.limits
            self.solver.aim_others(self._with_auxiliary(self.solver.solution, limits))

    def drop_auxiliary_goal(self) -> None:
        """The auxiliary joints come to rest; the goals of the tips stay."""
        self.auxiliary_goal = None
        self.solver.aim_others(self.motion.stop_point())
        if not self.is_following:
            self.stop_driving()

    def end_auxiliary_goal(self) -> None:
        """No tip has a goal any more: brake, as soon as no auxiliary joint is on its way."""
        if self.auxiliary_goal is not None:
            if (self.solver.solution != self.motion.q)[self.auxiliary].any():
                return
            self.auxiliary_goal = None
        self.stop_driving()

    def _with_auxiliary(self, q: Array, limits: MotionLimits) -> Array:
        """q (n,) with the auxiliary joints at their goal, if they have one, inside the limits."""
        if self.auxiliary_goal is None:
            return q
        return np.where(
            self.auxiliary, np.clip(self.auxiliary_goal.q, limits.lower, limits.upper), q
        )

    # The joints

    @property
    def apart(self) -> NDArray[np.bool_] | None:
        """Mask (n,) of the joints that no other one waits for: auxiliary ones with a goal."""
        return None if self.auxiliary_goal is None else self.auxiliary

    def stop_driving(self) -> None:
        """Brake from the next tick on; a pause that lasts is not ended by that."""
        if self.drive is Drive.ON:
            self.drive = Drive.STOPPED

    def end_stop(self) -> None:
        """Drive the joints, unless in a pause."""
        if self.drive is Drive.STOPPED:
            self.drive = Drive.ON

    def come_to_rest(self) -> None:
        """Forget what was solved and aim at where the joints can stop."""
        self.leading.end()
        self.solver.rest(self._with_auxiliary(self.motion.stop_point(), self.motion.limits))
        self.motion.come_to_rest()

    def resume(self) -> None:
        """Go on with the goals, which may be far from where the joints are."""
        self.leading.end()
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

    def read_problem(self) -> None:
        """Judge and draw to the rest posture by the problem, limits and posture of now."""
        problem = self.solver.problem
        self.auxiliary = self._auxiliary_joints(problem)
        self.monitor = GoalMonitor(problem)
        self.posture.change(packed_goals(problem), self.motion.limits, self.rest)
