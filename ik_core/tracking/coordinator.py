"""The parts of a tracker together: what each instruction and each tick means to them.

In each tick the tips move on, the goal solver follows them, and the joints follow its solution.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from ..exceptions import InvalidConfiguration, InvalidGoal, InvalidOption
from ..maths.rotations import Array, finite_vector
from ..maths.transforms import checked_transform
from ..optim.search import Clock
from ..problem import IkProblem
from .goal_solver import GoalSolver, Phase
from .governor import Governor
from .instructions import (
    Brake,
    Instruction,
    MoveTo,
    NextFrame,
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
)
from .joint_motion import JointMotion
from .leading import Leading
from .monitor import GoalMonitor, packed_goals
from .rest_posture import RestPosture
from .snapshot import Snapshot, Values
from .status import Command, TrackStatus
from .tips import Allowance, Tip


class Drive(Enum):
    """Whether the joints are driven; else they brake, and rest where that ends, also outside."""

    ON = 'on'
    STOPPED = 'stopped'
    """Until there is a goal or a twist, a reset, or the end of a pause."""
    PAUSED = 'paused'
    """Until the pause ends; goals are kept for then."""


class Coordinator:
    """The parts of a tracker, for a problem whose goals are the tips, in order.

    `tips`, `motion` and `drive` are only to be read. It needs SetOptions and SetSolver before
    its first tick.
    """

    def __init__(
        self, problem: IkProblem, rate: float, governor: Governor, rest: Array, clock: Clock
    ) -> None:
        self._robot, self._rate, self._period = problem.robot, rate, 1.0 / rate
        self.drive = Drive.ON
        self._brakes = False
        self._now = 0.0  # [s] when the last tick was
        self._joint_goal: MoveTo | None = None
        self.tips = [Tip(index) for index in range(len(problem.goals))]
        self.solver = GoalSolver(problem, governor.limits, rate, clock)
        self.motion = JointMotion(governor, [self._robot.chain(*c) for c in problem.goal_chains])
        self._leading = Leading(self.tips, self.solver, self.motion, rate)
        self._rest = rest
        own = self.solver.problem
        self._monitor = GoalMonitor(own)
        self._posture = RestPosture(packed_goals(own), governor.limits, self._period, rest)
        self._drop_goals()
        self._hold(self.tips, self.solver.solution)

    @property
    def condition_number(self) -> float:
        """That of the goals' Jacobian at the commanded q."""
        return self._monitor.condition_number(self.motion.q, self._targets())

    def snapshot(self) -> Snapshot:
        """What another coordinator goes on from; a solve that is under way begins again."""
        solver, options = self.solver.choice
        arguments = {
            'limits': self.motion.limits,
            'solver': solver,
            'solver_options': options,
            'options': self._options,
            'governor': self.motion.governor.copy(),
            'rest': self._rest,
        }
        state = {
            **{name: part.snapshot() for name, part in self._parts.items()},
            'tips': [tip.snapshot() for tip in self.tips],
            'leading': self._leading.snapshot(),
            'status': self._resting_status.value,
            'drive': self.drive.value,
            'brakes': self._brakes,
            'now': self._now,
            'joint_goal': self._joint_goal,
        }
        return Snapshot(self.solver.asked, self._rate, arguments, state)

    def restore(self, state: Values) -> None:
        """Take over the state of a snapshot, made as it was."""
        for name, part in self._parts.items():
            part.restore(state[name])
        for tip, values in zip(self.tips, state['tips'], strict=True):
            tip.restore(values)
        self._leading.restore(state['leading'])
        self._resting_status = TrackStatus(state['status'])
        self.drive = Drive(state['drive'])
        self._brakes = state['brakes']
        self._now = state['now']
        goal = state.get('joint_goal')
        self._joint_goal = None if goal is None else MoveTo(*goal)

    @property
    def _parts(self) -> dict[str, Any]:
        return {'solver': self.solver, 'motion': self.motion, 'posture': self._posture}

    # Instructions

    def apply(self, instruction: Instruction) -> None:
        """Do what a value says."""
        _APPLIED_BY[type(instruction)](self, instruction)

    def _set_goal(self, instruction: SetGoal) -> None:
        index, transform, now, velocity, move = instruction
        tip = self._tip(index)
        if transform is None:
            tip.forget()
            self._drop_goal(tip, TrackStatus.IDLE)
            return
        linear = self._is_linear(move)
        twist = None if velocity is None else finite_vector(velocity, 6, 'twist')
        goal = checked_transform(transform)
        self._begin_to_follow(tip)
        if self._options.feed_forward and twist is None and not linear:
            tip.give_next_of_stream(goal, now)
        else:
            tip.give(goal, now, linear=linear, twist=twist)

    def _set_twist(self, instruction: SetTwist) -> None:
        tip = self._tip(instruction.tip)
        linear = finite_vector(instruction.linear, 3, 'linear')
        twist = np.concatenate([linear, finite_vector(instruction.angular, 3, 'angular')])
        self._begin_to_follow(tip)
        if tip.jog_twist is None and tip.state.share > 0.0:
            self._leading.end()
        tip.jog(twist, instruction.now)

    def _set_limits(self, instruction: SetLimits) -> None:
        limits = instruction.limits
        if limits.is_same(self.motion.limits):
            return
        limits.check_size(self._robot.n)
        self.motion.set_limits(limits)
        self.solver.set_limits(limits)
        self._look_at_problem()
        self._invalidate()
        self._aim_at_joint_goal()

    def _set_options(self, instruction: SetOptions) -> None:
        self._options = options = instruction.options
        self._speeds, self.motion.speed_profile = options.speeds, options.speed_profile
        self.solver.set_budget(options.updates_per_tick, options.replan_period)
        self._invalidate()

    def _set_rest(self, instruction: SetRest) -> None:
        before = self._posture.snapshot()
        self._rest = self._robot.checked(instruction.rest, 'rest')
        self._look_at_problem()
        self._posture.restore({**before, 'at_rest': False})  # on from its velocity

    def _set_solver(self, instruction: SetSolver) -> None:
        self.solver.set_solver(instruction.solver, dict(instruction.options or {}))
        self._invalidate()

    def _set_problem(self, instruction: SetProblem) -> None:
        before, problem = self.solver.problem, instruction.problem
        if problem.robot is not self._robot or problem.goal_chains != before.goal_chains:
            raise InvalidOption(
                f'a problem for {", ".join(problem.goal_links)}; '
                f'this tracker moves {", ".join(before.goal_links)} of {self._robot.name}'
            )
        goals = zip(problem.goals, before.goals, strict=True)
        same = all(type(new) is type(old) and (new.tool == old.tool).all() for new, old in goals)
        self.solver.set_problem(problem, self.motion.limits)
        self._look_at_problem()
        if same:
            self._set_targets()
            self._invalidate()
        else:
            self._give_again(self._stop if self.has_goals else self._drop_goals)

    def _next_frame(self, instruction: NextFrame) -> None:
        self.solver.next_frame(instruction, self.motion.q)
        self._invalidate()

    def _pause(self, instruction: Pause) -> None:
        drive = Drive.PAUSED if instruction.paused else Drive.ON
        if drive is self.drive:
            return
        for tip in self.tips:
            if tip.jog_twist is not None:
                self._drop_goal(tip, TrackStatus.IDLE)
        self.drive = drive
        self._come_to_rest()
        if drive is Drive.ON:
            self._go_on()

    def _go_on(self) -> None:
        """Go on with the goals, which may be far from where the joints are."""
        self._leading.end()
        self.solver.jump()
        self.motion.synchronize()
        for tip in self.tips:
            tip.resume()
        self._set_targets()
        self._aim_at_joint_goal()

    def _stop(self, instruction: Stop | None = None) -> None:
        self._drop_goals()
        self._stop_driving()

    def _drop_goals(self) -> None:
        """Go no further than to where the joints can stop, taken into the limits."""
        self._resting_status, self._joint_goal = TrackStatus.IDLE, None
        for tip in self.tips:
            tip.hold(tip.frame)
            tip.forget()
        self._come_to_rest()

    def _brake(self, instruction: Brake) -> None:
        self._brakes = True

    def _skip_tick(self, instruction: SkipTick) -> None:
        if instruction.braking or self.drive is not Drive.ON:
            self._brake_for_one_tick(as_told=instruction.braking)
        elif self._leading.closely:
            self._follow(self._now, in_time=False)
        else:
            self.motion.follow(self.solver.solution, None, {})

    def _undo_step(self, instruction: UndoStep) -> None:
        self.motion.governor.undo_step()

    def _reset(self, instruction: Reset) -> None:
        q = self._robot.checked(instruction.q)
        if not self.motion.governor.at_rest:
            raise InvalidConfiguration('the joints are moving: stop() them before a reset()')

        def restart() -> None:
            self.motion.governor.restart(q)
            self._drop_goals()
            if self.drive is Drive.STOPPED:
                self.drive = Drive.ON

        if instruction.keep_goals:
            self._give_again(restart)
        else:
            restart()

    def _move_to(self, instruction: MoveTo) -> None:
        q = self._robot.checked(instruction.q)
        self._drop_goals()
        if self.drive is Drive.STOPPED:
            self.drive = Drive.ON
        self._joint_goal = instruction._replace(q=q)
        self._aim_at_joint_goal()

    def _aim_at_joint_goal(self) -> None:
        """Move all joints to the joint goal, if there is one, as far as the limits allow."""
        if self._joint_goal is not None:
            limits = self.motion.limits
            self.solver.rest(np.clip(self._joint_goal.q, limits.lower, limits.upper))
            self.motion.synchronize()

    def _drop_joint_goal(self, status: TrackStatus) -> None:
        """Forget the joint goal, if there is one, and aim at where the joints can stop."""
        if self._joint_goal is not None:
            self._joint_goal, self._resting_status = None, status
            self._come_to_rest()

    def _give_again(self, drop: Callable[[], None]) -> None:
        """Ask for the goals that are followed again, as before, after they are dropped."""
        joint_goal = self._joint_goal
        kept = [
            (tip, tip.given, copy.deepcopy(tip.request))
            for tip in self.tips
            if tip.given is not None and tip.has_goal
        ]
        drop()
        for tip, given, request in kept:
            self._begin_to_follow(tip)
            tip.take_again(given, request)
        if joint_goal is not None:
            self._move_to(joint_goal)

    # The tick

    def tick(self, now: float) -> Command:
        """Move on by one period."""
        self.solver.begin_tick()
        if self._brakes:
            self._brake_for_one_tick()
            return self._command(self._is_following)
        self._drop_ended_goals(now)
        is_following = self._is_following
        if self.drive is not Drive.ON:
            self.motion.brake()
            return self._command(is_following)
        self._now = now
        if is_following:
            self._follow(now)
        else:
            self.motion.follow(self.solver.solution, None, {})
        return self._command(is_following)

    def _follow(self, now: float, *, in_time: bool = True) -> None:
        """Move the tips, the solution for them and the joints on by a period."""
        moving = self._advance_tips(now)
        velocity, shares = self._solve(now, moving, in_time), {}
        if self._leading.closely:
            shares = {tip.index: tip.state.share for tip in moving}
        self.motion.follow(self.solver.solution, velocity, shares)

    def _brake_for_one_tick(self, *, as_told: bool = False) -> None:
        self._brakes = False
        self.motion.brake(as_told=as_told)
        self._come_to_rest()
        if self.has_goals and self.drive is Drive.ON:
            self._go_on()

    @property
    def has_goals(self) -> bool:
        """Whether a tip has a goal, or the joints have one."""
        return self._is_following or self._joint_goal is not None

    @property
    def joint_goal(self) -> Array | None:
        """Where all joints (n,) are to go, a copy; None without a joint goal."""
        return None if self._joint_goal is None else np.array(self._joint_goal.q)

    @property
    def _is_following(self) -> bool:
        """Whether any tip has a goal."""
        return any(tip.state.has_goal for tip in self.tips)

    def _drop_ended_goals(self, now: float) -> None:
        """Those of twists that came to rest, and stale ones."""
        timeout, twist_timeout = self._options.goal_timeout, self._options.twist_timeout
        for tip in self.tips:
            if tip.has_ended(now, twist_timeout):
                self._drop_goal(tip, TrackStatus.IDLE)
            elif timeout > 0.0 and tip.is_stale(now, timeout):
                self._drop_goal(tip, TrackStatus.STALE)
        received = None if self._joint_goal is None else self._joint_goal.now
        if timeout > 0.0 and received is not None and now - received > timeout:
            self._drop_joint_goal(TrackStatus.STALE)
            self._stop_driving()

    def _drop_goal(self, tip: Tip, status: TrackStatus) -> None:
        """The tip holds its pose while others have goals; after the last goal, all joints stop."""
        if not tip.has_goal:
            return
        stands = self._leading.closely and tip.state.share == 0.0
        tip.release()
        if not self._is_following:
            self._resting_status = status
            self._come_to_rest()
            self._stop_driving()
        elif not stands:
            self._leading.end()
            self._hold([tip], self.motion.stop_point())

    def _advance_tips(self, now: float) -> list[Tip]:
        """Accept new goals, and move the tips on that move by themselves; those that still do."""
        self._accept_all()
        self._leading.keep_step()
        self._accept_all()
        moving = [tip for tip in self.tips if tip.moves]
        if not moving or self._leading.waits:
            return moving
        step = self._allowance(now)
        for tip in moving:
            tip.advance(step._replace(scale=self.motion.scale_of(tip.index)))
        self._set_targets()
        return [tip for tip in moving if tip.moves]

    def _accept_all(self) -> None:
        for tip in self.tips:
            if tip.request.waits:
                self._accept(tip)

    def _accept(self, tip: Tip) -> None:
        """Go to a new goal; look out for one that jumped."""
        if tip.jog_twist is not None:
            self._leading.end()  # what it was carried to is not where it can stop
        in_line = tip.request.linear or any(o.leads for o in self.tips if o is not tip)
        position, orientation = tip.accept(in_line)
        if in_line or position == orientation == 0.0:
            return
        options = self._options
        if position > options.goal_jump_position or orientation > options.goal_jump_orientation:
            tip.forget_stream()
            self.motion.jump()
            self.solver.jump()
        else:
            self.motion.drag()
        self._set_targets()

    def _allowance(self, now: float) -> Allowance:
        """What the tips may do in this tick."""
        timeout = self._options.twist_timeout
        return Allowance(now, self._period, self._speeds, timeout, jog_share=self._jog_share())

    def _jog_share(self) -> float:
        """The share of its speed that a jog keeps: less on the way into a singularity."""
        twists = [tip.jog_twist for tip in self.tips]
        if all(twist is None for twist in twists):
            return 1.0
        twists = [np.zeros(6) if twist is None else twist for twist in twists]
        slow = self._options.lower_singularity_threshold
        stop = self._options.hard_stop_singularity_threshold
        return self._monitor.jog_share(
            self.solver.solution, self._targets(), np.array(twists), slow, stop
        )

    def _solve(self, now: float, moving: list[Tip], in_time: bool) -> Array | None:
        """Solve for the goals as they are now; the velocity of a solution that moves by itself."""
        solver, before = self.solver, self.solver.solution
        drawn = self._draw_to_rest()
        if moving and self._leading.closely:
            self._leading.solve(moving, in_time)
        elif solver.phase is not Phase.CONVERGED and solver.follow(self.motion.q, now):
            self.motion.synchronize()
        if not (drawn or moving):
            return None
        velocity = (solver.solution - before) * self._rate
        return velocity if velocity.any() else None

    def _draw_to_rest(self) -> bool:
        """Move the solution on towards the rest posture; whether it moved."""
        solver, posture, rate = self.solver, self._posture, self._options.rest_rate
        if rate == 0.0 or self.motion.synchronized or not solver.stays_on_branch:
            posture.halt()
            return False
        if posture.at_rest and solver.is_settled:
            return False
        solution = solver.solution.copy()
        if posture.step(solution, rate):
            solver.move_solution(solution)
        return not posture.at_rest

    def _command(self, is_following: bool) -> Command:
        solver, motion = self.solver, self.motion
        if is_following:
            position, orientation = self._monitor.errors(motion.q, self._targets())
        else:
            position, orientation = self._monitor.no_errors()
        return Command(
            q=motion.q.copy(),
            dq=motion.dq.copy(),
            status=self._status(is_following, position, orientation),
            position_errors=position,
            orientation_errors=orientation,
            iterations=solver.iterations,
            solve_time=solver.solve_time,
            solution=solver.solution.copy(),
            restarts=solver.restarts,
        )

    def _status(self, is_following: bool, position: Array, orientation: Array) -> TrackStatus:
        solver = self.solver
        if self.drive is Drive.PAUSED:
            return TrackStatus.PAUSED
        if self._joint_goal is not None:
            return self._joint_goal_status(self._joint_goal)
        if not is_following:
            return self._resting_status
        if solver.phase is Phase.SEARCHING:
            return TrackStatus.SEARCHING
        if any(tip.state.blocked for tip in self.tips):
            return TrackStatus.BLOCKED
        if self._leading.closely or any(tip.request.waits for tip in self.tips):
            return TrackStatus.TRACKING
        if solver.is_solved(position, orientation):
            return TrackStatus.REACHED
        held = solver.phase is Phase.CONVERGED and (self.motion.q == solver.solution).all()
        if not held:
            return TrackStatus.TRACKING
        points = np.array([target[9:] for target in self._targets()])
        few = solver.lacks_joints(position, orientation, points)
        return TrackStatus.TOO_FEW_JOINTS if few else TrackStatus.CLOSEST

    def _joint_goal_status(self, goal: MoveTo) -> TrackStatus:
        """CLOSEST where the limits keep joints from their goal."""
        if (self.motion.q != self.solver.solution).any():
            return TrackStatus.TRACKING
        reached = (self.motion.q == goal.q).all()
        return TrackStatus.REACHED if reached else TrackStatus.CLOSEST

    # What instructions and ticks share

    def _stop_driving(self) -> None:
        """Brake from the next tick on; a pause that lasts is not ended by that."""
        if self.drive is Drive.ON:
            self.drive = Drive.STOPPED

    def _come_to_rest(self) -> None:
        """Forget what was solved and aim at where the joints can stop."""
        self._leading.end()
        self.solver.rest(self.motion.stop_point())
        self.motion.come_to_rest()

    def _invalidate(self) -> None:
        """Something else than the goals has changed."""
        for tip in self.tips:
            tip.unblock()
        self.solver.invalidate()

    def _look_at_problem(self) -> None:
        """The problem, its limits or the rest posture are others."""
        problem = self.solver.problem
        self._monitor = GoalMonitor(problem)
        self._posture.change(packed_goals(problem), self.motion.limits, self._rest)

    def _begin_to_follow(self, tip: Tip) -> None:
        """This tip is to have a goal: where none had one, all of them hold where they are."""
        if self.drive is Drive.STOPPED:
            self.drive = Drive.ON
            self._come_to_rest()  # from where it ends, by the limits of now
        self._drop_joint_goal(TrackStatus.IDLE)
        if not (tip.state.has_goal or self._is_following):
            self._hold(self.tips, self.solver.solution)

    def _hold(self, tips: list[Tip], q: Array) -> None:
        """Make the tips' poses at q (n,) what they are asked for, without a jump."""
        for tip, frame in zip(tips, self._frames_at(tips, q), strict=True):
            tip.hold(frame)
        self._set_targets()

    def _set_targets(self) -> None:
        """Let the goal solver follow the tips as they are now."""
        self._leading.set_targets()

    def _targets(self) -> list[Array]:
        """What errors are measured from: a frame (12,) for each tip."""
        return [tip.target for tip in self.tips]

    def _frames_at(self, tips: list[Tip], q: Array) -> list[Array]:
        """The frames (12,) of tips at q (n,)."""
        frames = self.solver.frames_at(q)
        return [frames[tip.index] for tip in tips]

    def _tip(self, index: int) -> Tip:
        if index not in range(len(self.tips)):
            raise InvalidGoal(f'there is no tip {index!r}, only 0 to {len(self.tips) - 1}')
        return self.tips[index]

    def _is_linear(self, move: str | None) -> bool:
        if move not in (None, 'joint', 'linear'):
            raise InvalidOption(f"move = {move!r}: one of 'joint', 'linear'")
        return (move or self._options.move) == 'linear'


_APPLIED_BY: dict[type, Callable[[Coordinator, Any], None]] = {
    SetGoal: Coordinator._set_goal,
    SetTwist: Coordinator._set_twist,
    SetLimits: Coordinator._set_limits,
    SetOptions: Coordinator._set_options,
    SetRest: Coordinator._set_rest,
    SetSolver: Coordinator._set_solver,
    SetProblem: Coordinator._set_problem,
    NextFrame: Coordinator._next_frame,
    Pause: Coordinator._pause,
    Stop: Coordinator._stop,
    Brake: Coordinator._brake,
    SkipTick: Coordinator._skip_tick,
    UndoStep: Coordinator._undo_step,
    Reset: Coordinator._reset,
    MoveTo: Coordinator._move_to,
}
