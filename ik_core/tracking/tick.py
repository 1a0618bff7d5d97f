# SPDX-License-Identifier: Apache-2.0
"""The tick of a tracker: the tips move on, the goal solver follows them, the joints follow it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..maths.rotations import Array
from .goals.cartesian import twist_between
from .goals.joint_goals import JointGoal
from .goals.tips import Allowance, Tip
from .solution.goal_solver import Phase
from .state import Drive, TrackerState
from .status import Command, TrackStatus


def advance(state: TrackerState, now: float) -> Command:
    """Move the state by one period; return the command."""
    state.solver.begin_tick()
    state.governor.begin_tick()
    if state.brakes:
        brake_for_one_tick(state)
        return command_of(state, state.is_following)
    drop_ended_goals(state, now)
    is_following = state.is_following
    if state.drive is not Drive.ON:
        state.motion.brake()
        return command_of(state, is_following)
    state.now = now
    if is_following:
        follow(state, now)
    else:
        state.motion.follow(state.solver.solution, None, {}, state.independent)
    return command_of(state, is_following)


def brake_for_one_tick(state: TrackerState, *, announced: bool = False) -> None:
    """Brake for one period; the goals are followed again after it.

    announced : joints slow down in proportion, by the announced stop: tips that lead continue from
        there, only more slowly
    """
    state.brakes = False
    if announced and state.drive is Drive.ON and state.step_following.brake():
        return
    state.motion.brake(announced=announced)
    state.come_to_rest()
    if state.has_goals and state.drive is Drive.ON:
        state.resume()


def drop_ended_goals(state: TrackerState, now: float) -> None:
    """Drop the goals of twists that came to rest, and stale ones."""
    timeout, twist_timeout = state.options.goal_timeout, state.options.twist_timeout
    joint_goal, auxiliary_goal = state.joint_goal, state.auxiliary_goal
    if timeout > 0.0 and auxiliary_goal is not None and auxiliary_goal.is_stale(now, timeout):
        state.drop_auxiliary_goal()
    for tip in state.tips:
        if tip.has_ended(now, twist_timeout):
            state.drop_goal(tip, TrackStatus.IDLE)
        elif timeout > 0.0 and tip.is_stale(now, timeout):
            state.drop_goal(tip, TrackStatus.STALE)
    if timeout > 0.0 and joint_goal is not None and joint_goal.is_stale(now, timeout):
        state.drop_joint_goal(TrackStatus.STALE)
        state.stop_driving()
    if state.auxiliary_goal is not None and not state.is_following:
        state.end_auxiliary_goal()


def follow(state: TrackerState, now: float, *, in_time: bool = True) -> None:
    """Move the tips, the solution for them and the joints by a period.

    in_time : False for a tick whose time is over: only a short solve is made
    """
    accept_goals(state)
    state.step_following.keep_step()
    accept_goals(state)
    moving = advance_tips(state, now)
    if state.options.reconfigure and not moving and state.solver.go_elsewhere(state.motion.q):
        state.motion.jump()
    velocity, fractions = solve(state, now, moving, in_time), {}
    if state.step_following.active:
        fractions = {tip.index: tip.state.fraction for tip in moving}
    state.motion.follow(
        state.solver.solution, velocity, fractions, state.independent, state.detour
    )


def accept_goals(state: TrackerState) -> None:
    """Accept the goals that came; one that jumped may need a search."""
    for tip in state.tips:
        if not tip.request.waits:
            continue
        if tip.jog_twist is not None:
            state.step_following.end()  # the joints can't stop where the jog is by now
        others = (other.leads for other in state.tips if other is not tip)
        in_line = tip.request.linear or (len(state.tips) > 1 and any(others))
        position, orientation = tip.accept(in_line)
        if in_line or position == orientation == 0.0:
            continue
        options = state.options
        if position > options.goal_jump_position or orientation > options.goal_jump_orientation:
            tip.forget_stream()
            state.motion.jump()
            state.solver.jump()
        else:
            state.motion.drag()
        state.set_targets()


def advance_tips(state: TrackerState, now: float) -> list[Tip]:
    """Move the tips that move by themselves; return those that still do."""
    moving = [tip for tip in state.tips if tip.moves]
    if not moving or state.step_following.waits:
        return moving
    step = Allowance(
        now,
        state.period,
        state.speeds,
        state.options.twist_timeout,
        jog_fraction=jog_fraction(state),
    )
    for tip in moving:
        tip.advance(state.step_following.allowance(tip.index, step))
    state.set_targets()
    moving = [tip for tip in moving if tip.moves]
    if not moving:
        state.step_following.arrive()
    return moving


def jog_fraction(state: TrackerState) -> float:
    """Return the fraction of its speed that a jog keeps: less on the way into a singularity."""
    twists = [tip.jog_twist for tip in state.tips]
    if all(twist is None for twist in twists):
        return 1.0
    rows = np.array([np.zeros(6) if twist is None else twist for twist in twists])
    slow = state.options.lower_singularity_threshold
    stop = state.options.hard_stop_singularity_threshold
    return state.monitor.jog_fraction(state.solver.solution, state.targets(), rows, slow, stop)


def solve(state: TrackerState, now: float, moving: Sequence[Tip], in_time: bool) -> Array | None:
    """Solve for the present goals; return the velocity (n,) of a solution in motion, or None."""
    solver, before = state.solver, state.solver.solution
    drawn = move_to_rest_posture(state)
    if moving and state.step_following.active:
        state.step_following.solve(moving, in_time, state.speeds)
    elif solver.phase is not Phase.CONVERGED and solver.follow(
        state.motion.q, now, state.governor.path_is_free
    ):
        state.motion.synchronize()
    if not (drawn or moving):
        return None
    velocity = (solver.solution - before) * state.rate
    return velocity if velocity.any() else None


def move_to_rest_posture(state: TrackerState) -> bool:
    """Move the solution towards the rest posture; return whether it still moves."""
    solver, posture, rate = state.solver, state.posture, state.options.rest_rate
    if rate == 0.0 or state.motion.synchronized or not solver.stays_on_branch:
        posture.halt()
        return False
    if posture.at_rest and solver.is_settled:
        return False
    solution = solver.solution.copy()
    if posture.step(solution, rate):
        solver.move_solution(solution)
    return not posture.at_rest


def command_of(state: TrackerState, is_following: bool) -> Command:
    """Return the command: the joints as they are, errors and status."""
    solver, motion = state.solver, state.motion
    if is_following:
        position, orientation = state.monitor.errors(motion.q, state.targets())
    else:
        position, orientation = state.monitor.no_errors()
    return Command(
        q=motion.q.copy(),
        dq=motion.dq.copy(),
        status=status_of(state, is_following, position, orientation),
        position_errors=position,
        orientation_errors=orientation,
        iterations=solver.iterations,
        solve_time=solver.solve_time,
        solution=solver.solution.copy(),
        restarts=solver.restarts,
    )


def status_of(
    state: TrackerState, is_following: bool, position: Array, orientation: Array
) -> TrackStatus:
    """Return the status, for errors (G,) [m] and [rad] of the command."""
    solver = state.solver
    if state.drive is Drive.PAUSED:
        return TrackStatus.PAUSED
    if state.joint_goal is not None:
        return joint_goal_status(state, state.joint_goal)
    if not is_following:
        return state.resting_status
    if solver.is_searching:
        return TrackStatus.SEARCHING
    if state.is_stopped_by_obstacle:
        return TrackStatus.OBSTACLE
    waits = False
    for tip in state.tips:
        if tip.state.blocked:
            return blocked_status(state, tip)
        waits = waits or tip.request.waits
    if state.step_following.active or waits:
        return TrackStatus.TRACKING
    if solver.is_solved(position, orientation):
        return TrackStatus.REACHED
    rests = solver.phase is Phase.CONVERGED and (state.motion.q == solver.solution).all()
    if not rests:
        return TrackStatus.TRACKING
    if solver.other is not None and solver.other.q is not None:
        return TrackStatus.OTHER_CONFIGURATION
    if not solver.is_closest:
        return TrackStatus.STOPPED_SHORT
    points = np.array([target[9:] for target in state.targets()])
    few = solver.lacks_joints(position, orientation, points)
    return TrackStatus.TOO_FEW_JOINTS if few else TrackStatus.CLOSEST


def blocked_status(state: TrackerState, tip: Tip) -> TrackStatus:
    """Return the status of a tip whose path is blocked: TOO_FEW_JOINTS if that is why."""
    steps = state.solver.position_first.get(tip.index)
    if steps is None:
        return TrackStatus.BLOCKED
    twist = tip.jog_twist
    if twist is None:
        twist = twist_between(tip.frame, tip.request.goal)
    few = steps.lacks_joints(state.motion.q, twist)
    return TrackStatus.TOO_FEW_JOINTS if few else TrackStatus.BLOCKED


def joint_goal_status(state: TrackerState, goal: JointGoal) -> TrackStatus:
    """Return the status of a joint goal: CLOSEST if limits keep joints from it."""
    if (state.motion.q != state.solver.solution).any():
        stopped = state.is_stopped_by_obstacle
        return TrackStatus.OBSTACLE if stopped else TrackStatus.TRACKING
    reached = (state.motion.q == goal.q).all()
    return TrackStatus.REACHED if reached else TrackStatus.CLOSEST
