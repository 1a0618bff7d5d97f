# SPDX-License-Identifier: Apache-2.0
"""Monitoring of joint_states: the start of the motion, and whether the robot follows it.

The command begins at the measured state. From then on it integrates itself, and each tick compares
it with the measured state. The result is one state (`feedback`), which determines whether goals
are followed, whether commands are published, and when the command restarts at measured positions.

If the robot does not follow, the command stops, and goes to where the robot rests:

- Published positions move there within all limits, without a step.
- Trajectories end at rest, and no other is published until the robot rests. Then one message sends
  the controller to the measured positions. It allows enough time to get there within all limits
  from wherever the last message has led the robot; the controller begins where it measures the
  robot. So nothing jumps, whether the robot stood still or only its states did. With `avoid` that
  message is not sent, since nothing shows that its way is free.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from ik_core.display import listed
from ik_core.exceptions import InvalidOption
from ik_core.maths.rotations import Array
from ik_core.tracking import Command, TrackStatus
from ik_core.tracking.governor import Governor
from ik_core.tracking.instructions import Instruction, MoveTo, Reset, Stop

from ..conversions import Refused, read_joint_state, stamp_of
from ..joint_limits import limits_with_mimics
from ..outputs.codes import StatusCode
from ..outputs.commands import OUTPUTS
from ..outputs.diagnostics import Diagnostics
from ..robot_model import Model, Restart
from ..texts import cut
from .configuration_history import ConfigurationHistory
from .controller_activity import ControllerActivity
from .feedback import (
    KEPT,
    Agreeing,
    Cause,
    Diverged,
    MovedExternally,
    Observation,
    Reaction,
    Returning,
    Rules,
    Sagging,
    State,
    Waiting,
    after_reset,
    before_first_command,
    may_publish,
    must_brake,
    next_state,
    reactions,
    status_of,
)
from .following_error import FollowingErrorMonitor
from .measured_state import Joints, MeasuredState
from .speed_scaling import SpeedScaling
from .state_clock import StateClock
from .subscriptions import Inputs

LARGEST_STATE = 200_000  # largest joint state [bytes]: more than a thousand joints have long names
# [s] The shortest time of a message that sends a controller to where the robot is.
LEAST_RETURN = 0.1
UNDISTURBED = 1e-3  # [s] readings of two clocks farther apart in time are repeated,
ATTEMPTS = 5  # at most this often
UNHEARD = 2.0  # [s] period of log messages that name joints without states
WAY_BACK = (
    'the way back to it is not checked for collisions (avoid), so nothing is sent; move it to '
    'within its following error of the command, or deactivate and activate the node'
)
Due = Instruction | Restart
RESTING = (TrackStatus.IDLE, TrackStatus.STALE)


class Return(NamedTuple):
    """A message that sends a controller to rest at q (n + m,) within `seconds`."""

    q: Array
    seconds: float


class FeedbackMonitor:
    """Compares a model's commands with joint_states, unless the node publishes those itself.

    It moves nothing, but returns instructions for the tracker. `seconds` returns the time [s] of
    the ticks' clock.
    """

    def __init__(
        self,
        node: Node,
        health: Diagnostics,
        seconds: Callable[[], float],
        history: ConfigurationHistory,
    ) -> None:
        self._node, self._health, self._seconds = node, health, seconds
        self._history = history
        self._input = Inputs(node, health)
        self._clock = StateClock(lambda: 1e-9 * node.get_clock().now().nanoseconds)
        self._controller = ControllerActivity(node, health, seconds)
        self._speed_scaling = SpeedScaling(node, health, seconds)
        self._model: Model | None = None
        self._measured: MeasuredState | None = None
        self._forget()

    def _forget(self) -> None:
        self._state: State = Waiting(Cause.FIRST_STATES)
        self._return_seconds: float | None = None  # duration of a Return that has to be sent
        self._named_sag: frozenset[str] = frozenset()
        self._must_follow = False
        # [s] Since when the command rests, and since when the last trajectory has ended, too.
        self._resting_since = self._rests_from = math.inf
        self._last_command = -math.inf  # [s]
        self._samples = 0

    def open(self, model: Model) -> None:
        """Subscribe for this model, in place of the previous one. Raises InvalidOption."""
        self.close()
        node, robot = model.parameters.node, model.robot
        topic, self._compares = 'joint_states', node.output != 'joint_state'
        if not self._compares:
            topic = node.start_state_topic
            if not topic:
                return
            self._check_topic(topic)
        self._model = model
        mimics = [name for name in model.command_joints if name in robot.mimic_joints]
        measured = MeasuredState(robot, model.needed_joints(), model.last_positions, mimics)
        commanded = [*model.commanded_joints(), *measured.mimic_indices]
        self._measured = measured
        self._sends_trajectories = node.output == 'joint_trajectory'
        period = model.tracker.period
        delay = node.trajectory_delay + 1.5 * period if self._sends_trajectories else 0.0
        self._following_error = FollowingErrorMonitor(
            measured.continuous, commanded, period, delay
        )
        self._ending = node.trajectory_delay + 4.0 * period
        self._waits_since = self._seconds()
        self._input.listen(JointState, topic, self._take, qos_profile_sensor_data, LARGEST_STATE)
        if self._compares:
            self._controller.open(OUTPUTS[node.output].topic)
        if self._sends_trajectories:
            self._speed_scaling.open(OUTPUTS[node.output].topic)

    def _check_topic(self, topic: str) -> None:
        own, other = (self._node.resolve_topic_name(name) for name in ('joint_states', topic))
        if own == other:
            raise InvalidOption(
                f'start_state_topic is {topic}: the node publishes its commands there; a topic '
                'with the measured states is needed, or a remapping of joint_states'
            )

    def close(self) -> None:
        """Unsubscribe, and reset the state."""
        self._input.close()
        self._controller.close()
        self._speed_scaling.close()
        self._model = self._measured = None
        self._forget()
        self._health.concerns, self._health.on_the_way = (), False
        self._health.moved_externally = False

    def poll(self) -> None:
        """Handle the received messages."""
        self._controller.poll()
        self._speed_scaling.poll()
        self._input.poll()

    # Queries of the node

    @property
    def obstacle(self) -> StatusCode | None:
        """The status for which goals are refused; None if they are accepted."""
        return None if self._measured is None else status_of(self._state)

    @property
    def moved_externally(self) -> bool:
        """True if something else moves the robot, so that goals wait."""
        return isinstance(self._state, MovedExternally)

    @property
    def speed_factor(self) -> float:
        """The fraction of its speed at which the controller runs trajectories."""
        return self._speed_scaling.factor

    @property
    def must_brake(self) -> bool:
        """True if the command brakes in the next tick, regardless of its goals."""
        model = self._model
        if model is None or not self._compares or not model.was_started:
            return False
        return must_brake(self._state, self._rules(model))

    def begin(self, model: Model) -> tuple[bool, tuple[Due, ...]]:
        """Return whether the model can start, and the instructions that set its start."""
        measured = self._measured
        if measured is None:
            return True, ()
        now, node = self._seconds(), model.parameters.node
        unknown = measured.unknown(now, node.state_timeout, model.state_tolerances)
        if unknown:
            self._state, self._health.concerns = Waiting(Cause.FIRST_STATES), unknown
            self._log_what_is_missing(measured, model, unknown, now)
            return False, ()
        samples = self._samples
        self._forget()
        self._samples, self._waits_since, self._health.concerns = samples, now, ()
        self._health.moved_externally = False
        self._state = Agreeing(np.zeros(len(measured.names)), is_new=True)
        return True, (self._restart(model),)

    def reset(self) -> None:
        """Restart at the measured positions as soon as the robot rests."""
        if self._measured is not None and self._compares:
            after = after_reset(self._state)
            if after is not self._state:
                self._change(after)

    def may_publish(self, model: Model, rested: bool) -> bool:
        """Return whether the command of this tick is published.

        rested : whether the command was at rest before the tick
        """
        measured = self._measured
        if measured is None or not self._compares:
            return True
        rules, now = self._rules(model), self._seconds()
        state, at_rest = self._state, rested and model.at_rest
        may = may_publish(
            state,
            rules,
            at_rest=at_rest,
            has_ended=self._has_ended and model.at_rest,
            is_off=self._controller.is_off,
            may_be_off=measured.age(now) >= now - self._controller.active_since,
        )
        if may and isinstance(state, Agreeing) and state.is_new:
            difference = measured.away_from(model.all_positions)
            self._change(before_first_command(state, difference, rules, now))
            return isinstance(self._state, Agreeing)
        return may

    def due_return(self, model: Model) -> Return | None:
        """Return the message that sends the controller to the restarted command, if one is due."""
        seconds = self._return_seconds
        return None if seconds is None else Return(model.all_positions, seconds)

    def note_return_sent(self) -> None:
        """Record that the message of `due_return` was sent, and when its motion ends."""
        seconds, self._return_seconds = self._return_seconds, None
        if isinstance(self._state, Returning) and seconds is not None:
            until = self._last_command + seconds + self._ending
            self._state = replace(self._state, until=until)

    def compare(self, model: Model, command: Command, due: float, now: float) -> tuple[Due, ...]:
        """Compare the command with joint_states after a tick; return instructions for the tracker.

        due : [s] the deadline of the tick, from which on its command holds
        now : [s] the present time
        """
        measured = self._measured
        if measured is None or not self._compares:
            return ()
        self._following_error.command(model.all_positions, due)
        period, self._last_command = max(due - self._last_command, 0.0), due
        self._note_rest(model, command, due)
        self._note_arrival(measured, model, command)
        if measured.age(now) > model.parameters.node.state_timeout:
            self.poll()  # after a stall of this process, states wait in the queue
            now = self._seconds()
        rules, seen = self._rules(model), self._observe(measured, model, period, due, now)
        before = self._state
        after = next_state(before, seen, rules)
        if seen.command_rests and isinstance(after, Agreeing):
            self._following_error.sag = after.offset
        if after is before:
            return ()
        self._change(after, measured, model, now)
        return self._react(before, rules, measured, model)

    # Observations

    @property
    def _has_ended(self) -> bool:
        """True if the last trajectory has ended."""
        return self._last_command - self._resting_since >= self._ending

    def _rules(self, model: Model) -> Rules:
        return Rules(
            model.state_tolerances,
            model.following_errors,
            self._sends_trajectories,
            model.parameters.node.after_not_following == 'wait',
            model.avoided is not None,
        )

    def _observe(
        self, measured: MeasuredState, model: Model, period: float, due: float, now: float
    ) -> Observation:
        """Return the observation of this tick; `robot_rests` is computed only if it matters."""
        state, command = self._state, model.all_positions
        difference = measured.away_from(command)
        rests = self._rests_from < math.inf
        asks = rests and not (isinstance(state, Agreeing) and state.suspicion is None)
        robot_rests = asks and measured.rests(model.state_tolerances)
        is_outside, seconds = False, 0.0
        if robot_rests and not isinstance(state, Agreeing):
            q, limits = measured.q, model.limits
            is_outside = bool(((q < limits.lower) | (q > limits.upper)).any())
            if self._sends_trajectories:
                seconds = return_time(difference, model) + self._ending
        return Observation(
            now=due,
            period=min(period, 1.0),
            difference=difference,
            measured=command + difference,
            samples=self._samples,
            command_rests=rests,
            resting_for=due - self._rests_from,
            must_follow=self._must_follow,
            is_lost=measured.age(now) > model.parameters.node.state_timeout,
            robot_rests=robot_rests,
            is_behind=bool(self._following_error.behind),
            stands=self._following_error.stands,
            is_off=self._controller.is_off,
            paused=model.tracker.paused,
            is_outside=is_outside,
            return_time=seconds,
        )

    def _note_rest(self, model: Model, command: Command, now: float) -> None:
        """Update the times at rest, and whether the robot has to follow the command."""
        tracker, at_rest = model.tracker, model.at_rest
        no_goal = command.status in RESTING or (tracker.paused and not tracker.has_goals)
        self._resting_since = min(self._resting_since, now) if at_rest else math.inf
        has_ended = self._has_ended if self._sends_trajectories else at_rest
        self._rests_from = min(self._rests_from, now) if at_rest and has_ended else math.inf
        # A controller that becomes active takes over the load, so the robot may sag anew.
        self._rests_from = max(self._rests_from, self._controller.active_since)
        if self._sends_trajectories:
            self._must_follow = not has_ended
        else:
            self._must_follow = not (at_rest and (no_goal or tracker.paused))

    def _note_arrival(self, measured: MeasuredState, model: Model, command: Command) -> None:
        """Set `on_the_way` if the command has reached its goal, and the robot has not."""
        self._health.on_the_way = command.status is TrackStatus.REACHED and not (
            self._following_error.is_at(
                model.with_mimics(command.q), measured.all_positions, model.following_errors
            )
        )

    def _take(self, message: JointState) -> None:
        """Take the positions of a message; Refused if they are implausible."""
        measured, model = self._measured, self._model
        if measured is None or model is None:
            return
        positions = read_joint_state(message, measured.joints)
        if not positions:
            measured.others.update(message.name)
        now, lateness = self._read_clocks(message)
        if self._sends_trajectories:
            self._compare_clocks(message)
        time = now - (lateness or 0.0)
        joints, doubts = measured.take(positions, now, model.state_tolerances, time)
        self._samples += bool(joints.size)
        self._history.add_measured(stamp_of(message), measured.all_positions, joints)
        if self._compares:
            self._watch(measured, model, joints, time, is_stamped=lateness is not None)
        if doubts:
            raise Refused('implausible_state', '; '.join(doubts))

    def _read_clocks(self, message: JointState) -> tuple[float, float | None]:
        """Return the time [s] and the lateness [s] of a message, read without a stall between."""
        before = self._seconds()
        for _ in range(ATTEMPTS):
            lateness = self._clock.lateness(message.header.stamp)
            now = self._seconds()
            if now - before <= UNDISTURBED:
                break
            before = now
        return now, lateness

    def _compare_clocks(self, message: JointState) -> None:
        """Warn if the clock of the controller differs, so that it plays trajectories shifted."""
        difference = self._clock.difference(message.header.stamp)
        if difference is not None:
            side = 'behind' if difference > 0.0 else 'ahead of'
            self._health.warn(
                'clocks',
                f'the stamps of joint_states are {abs(difference):.3g} s {side} this clock: '
                'joints will not move smoothly; synchronise the clocks, for example with chrony',
            )

    def _watch(
        self,
        measured: MeasuredState,
        model: Model,
        joints: Joints,
        time: float,
        *,
        is_stamped: bool,
    ) -> None:
        """Compare measured positions with commands, while the robot has to follow."""
        self._following_error.watch(joints)
        if not self._must_follow or not isinstance(self._state, Agreeing):
            self._following_error.forget()
            self._following_error.note_late_start(measured.all_positions, time)
            return
        governor, seconds = model.governor, time - self._last_command
        if self._sends_trajectories and seconds > 1.5 * governor.period:
            # Ticks are overdue, so the robot executes the stop of the last trajectory.
            q = model.with_mimics(position_in_stop(governor, seconds))
            self._following_error.command(q, time)
        # Without stamps, a burst of late states would look like a standstill.
        standstill = is_stamped and self._sends_trajectories
        self._following_error.measure(
            measured.all_positions, joints, model.following_errors, time, standstill=standstill
        )

    # Changes of the state

    def _change(
        self,
        after: State,
        measured: MeasuredState | None = None,
        model: Model | None = None,
        now: float = 0.0,
    ) -> None:
        """Enter a state, and report it."""
        before, self._state = self._state, after
        self._health.moved_externally = self.moved_externally
        if isinstance(after, Agreeing):
            self._health.concerns = ()
            if isinstance(after, Sagging) and measured is not None and model is not None:
                self._log_sag(after, measured, model)
        elif type(after) is not type(before) or isinstance(after, Waiting):
            if not isinstance(after, Returning):
                self._return_seconds, self._health.concerns = None, ()
            self._following_error.forget()
            if measured is not None:
                self._report(before, after, measured, model, now)

    def _report(
        self,
        before: State,
        after: State,
        measured: MeasuredState,
        model: Model | None,
        now: float,
    ) -> None:
        """Log why goals are not followed, and set the reasons of the status."""
        health, cause = self._health, after.cause if isinstance(after, Waiting) else None
        if cause is Cause.LOST_STATES:
            assert model is not None
            timeout, tolerance = model.parameters.node.state_timeout, model.state_tolerances
            health.concerns = measured.unknown(now, timeout, tolerance)
            health.warn('state_lost', 'joint_states stopped coming: stopping')
        elif cause is Cause.CONTROLLER:
            off = self._controller.is_off
            what = 'its controller is not active' if off else 'it does not move'
            health.concerns = (f'{what}; its goals are kept for {KEPT:g} s',)
            text = f'the robot does not follow, {what}: goals are kept for {KEPT:g} s'
            health.warn('standstill', text)
        elif cause is Cause.RESET:
            health.concerns = ('waiting for ~/reset',)
            health.warn('waits_for_reset', 'the robot does not follow: waiting for ~/reset')
        elif cause is Cause.WAY_BACK:
            health.concerns = (WAY_BACK,)
            health.warn('way_back', f'the robot does not follow: {WAY_BACK}')
        elif isinstance(after, Diverged):
            assert model is not None
            health.concerns = texts = self._differences_text(before, measured, model)
            health.not_following += 1
            health.warn('not_following', f'the robot does not follow: {"; ".join(texts)}')
        elif isinstance(after, MovedExternally):
            self._log('others move the robot: the command waits until it rests')
        if cause in (Cause.LOST_STATES, Cause.CONTROLLER) or isinstance(after, Diverged):
            measured.forget_rest()  # the robot may still move, late

    def _differences_text(
        self, before: State, measured: MeasuredState, model: Model
    ) -> tuple[str, ...]:
        """Return why the robot does not follow: joints with their following errors."""
        if isinstance(before, Waiting):
            off = self._controller.is_off
            what = 'its controller was not active' if off else 'it did not rest'
            return (f'{what} within {KEPT:g} s: its goals are dropped',)
        names, units, allowed = measured.names, measured.units, model.following_errors
        errors, behind = self._following_error.errors, self._following_error.behind
        if not behind:
            errors = np.abs(measured.away_from(model.all_positions))
            behind = np.flatnonzero(errors > allowed).tolist()
        texts = [
            f'{names[i]} is {errors[i]:.3g} {units[i]} behind, {allowed[i]:.3g} is allowed'
            for i in behind
        ]
        return tuple(texts) or ('it stopped again where it had stopped before',)

    def _log_sag(self, state: Sagging, measured: MeasuredState, model: Model) -> None:
        """Log the joints that sag, each once."""
        tolerances = model.state_tolerances
        joints = [
            i
            for i in np.flatnonzero(np.abs(state.offset) > tolerances).tolist()
            if measured.names[i] not in self._named_sag
        ]
        if not joints:
            return
        self._named_sag |= {measured.names[i] for i in joints}
        texts = [
            f'{measured.names[i]} by {abs(state.offset[i]):.3g} {measured.units[i]} '
            f'(state_tolerance.{measured.names[i]} is {tolerances[i]:.3g})'
            for i in joints
        ]
        self._log(
            f'the robot rests beside its command, which stays: {listed(texts)}; a larger '
            'state_tolerance accepts that'
        )

    def _log(self, text: str) -> None:
        self._node.get_logger().info(cut(text))

    def _log_what_is_missing(
        self, measured: MeasuredState, model: Model, unknown: tuple[str, ...], now: float
    ) -> None:
        """Log every UNHEARD seconds which joints are missing, and which others came."""
        if now - self._waits_since < UNHEARD:
            return
        self._waits_since = now
        missing = measured.never_heard(unknown)
        if not missing:
            self._log(f'waiting for joints to rest: {listed(list(unknown))}')
            return
        others = sorted(measured.others)
        came = f'; joint_states name {listed(others)}, which this robot has not' if others else ''
        self._health.warn('missing_states', f'waiting for joint_states of {listed(missing)}{came}')

    def _react(
        self, before: State, rules: Rules, measured: MeasuredState, model: Model
    ) -> tuple[Due, ...]:
        """Return the instructions of the reactions to a change of the state."""
        due: list[Due] = []
        for reaction in reactions(before, self._state, rules):
            if reaction is Reaction.STOP:
                due.append(Stop())
            elif reaction is Reaction.MOVE:
                due.append(MoveTo(measured.q, nearest=False))
            elif reaction is Reaction.SEND_RETURN:
                difference = measured.away_from(model.all_positions)
                self._return_seconds = return_time(difference, model)
            elif reaction is not Reaction.END_MOVE:
                due.append(
                    self._restart(model, keep_goals=reaction is Reaction.RESTART_WITH_GOALS)
                )
            elif model.tracker.joint_goal is not None:
                due.append(Reset(model.tracker.q))
        if isinstance(self._state, Agreeing) and not isinstance(before, Agreeing):
            self._rests_from = self._last_command  # the robot may sag from here on
        return tuple(due)

    def _restart(self, model: Model, *, keep_goals: bool = False) -> Restart:
        """Return the instruction to restart at the measured positions."""
        assert self._measured is not None
        timeout = model.parameters.node.state_timeout
        mimics = self._measured.mimics(self._seconds(), timeout)
        return Restart(self._measured.q, mimics, keep_goals)


def return_time(displacement: Array, model: Model) -> float:
    """Return the time [s] of a cubic from rest to rest within all limits, and LEAST_RETURN.

    displacement : (n + m,) [rad or m], mimic joints last; its sign does not count

    LEAST_RETURN is added for the time that the message takes.
    """
    rows = limits_with_mimics(model.robot, model.parameters, model.limits)
    _, _, velocity, acceleration, jerk = rows
    distance = np.abs(displacement)
    seconds = (
        1.5 * distance / velocity,
        np.sqrt(6.0 * distance / acceleration),
        np.cbrt(12.0 * distance / jerk),
    )
    return float(np.max(seconds)) + LEAST_RETURN


def position_in_stop(governor: Governor, seconds: float) -> Array:
    """Return the positions (n,) `seconds` after the last step, if the joints brake from it on."""
    ticks, q, dq = governor.stop_knots()
    tick = seconds / governor.period + 0.5  # the first knot lies half a period before that step
    k = int(np.searchsorted(ticks, tick, side='right')) - 1
    if k + 1 == ticks.size:
        return q[-1].copy()
    length = float(ticks[k + 1] - ticks[k])
    u, slope = (tick - ticks[k]) / length, length * governor.period
    rest: Array = (
        (1.0 + 2.0 * u) * (1.0 - u) ** 2 * q[k]
        + u * (1.0 - u) ** 2 * slope * dq[k]
        + u * u * (3.0 - 2.0 * u) * q[k + 1]
        + u * u * (u - 1.0) * slope * dq[k + 1]
    )
    return rest
