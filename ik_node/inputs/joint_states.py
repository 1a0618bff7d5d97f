"""Where the robot is, as joint_states say: the start of the motion, and whether it is followed.

Where commands go to a controller, the command integrates itself, and the measured state seeds it:
when the node is activated, on ~/reset, when ~/pause ends, and when somebody else has moved the
robot. Small differences are left alone: a controller that sags a little would otherwise creep
away, one seed at a time.

While the command moves, or holds a goal, the robot has to follow it (`following_error`). Where it
does not, the command stops, and comes back to where the robot rests:

- Commands that are published move there within all limits. They never step.
- Trajectories end at rest: none is published until the robot rests. Then one message sends the
  controller to where the robot is, in so much time that it would get there within all limits from
  wherever the last message has led it; the controller itself begins where it measures the robot.
  So nothing jumps, whether the robot stood or only its states did.

A robot that is switched off in motion, and soon on again, is led by nobody meanwhile: as soon as
its states show that it stands, no more trajectories are published. Once it rests it is led on to
its goals from there; where it stands again, it does not follow.

Where trajectories are published, holding is the controller's job: when the last one has ended,
none is published before the joints move again. Meanwhile others may move the robot. The command
then goes with it, and goals wait until it rests.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from ik_core.maths.rotations import Array
from ik_core.tracking import Command, TrackStatus
from ik_core.tracking.governor import Governor
from ik_core.tracking.instructions import Brake, Instruction, MoveTo, Reset, Stop

from ..conversions import Refused, read_joint_state, stamp_of
from ..joint_limits import limits_with_mimics
from ..outputs.codes import StatusCode
from ..outputs.diagnostics import Diagnostics
from ..outputs.joint_trajectories import JointTrajectoryWriter
from ..robot_model import Begin, Model
from .configuration_history import ConfigurationHistory
from .controller_activity import ControllerActivity
from .following_error import LEFT, Following
from .measured_state import LEAST_TOLERANCE, Joints, MeasuredState
from .state_clock import StateClock
from .subscriptions import Inputs

LARGEST_STATE = 200_000
"""Largest joint state [bytes]: more than a thousand joints have long names."""
SETTLING = 0.5
"""[s] After this time at rest the robot is where it was sent, unless it was moved."""
LEAST_RETURN = 0.1
"""[s] The shortest time of a message that sends a controller to where the robot is."""
KEPT = 3.0
"""[s] How long the goals of a robot that stands are kept for when it follows again."""
Due = Instruction | Begin
RESTING = (TrackStatus.IDLE, TrackStatus.STALE)


class Return(NamedTuple):
    """A message to a controller: be at rest at q (n + m,), see `Model.with_mimics`, in so long."""

    q: Array
    seconds: float


class StartState:
    """Says where the motion of a model starts by joint_states, where those are not the node's own.

    It moves nothing: what is due it answers as instructions for the tracker.
    `seconds` gives the time of the clock that ticks follow. `obstacle` is why no goal can be
    followed now, None where there is no reason. `led_by_others`: somebody else moves the robot,
    so goals have to wait.
    """

    def __init__(
        self,
        node: Node,
        health: Diagnostics,
        seconds: Callable[[], float],
        history: ConfigurationHistory,
    ) -> None:
        self._health = health
        self._history = history
        self._seconds = seconds
        self._input = Inputs(node, health)
        self._clock = StateClock(lambda: 1e-9 * node.get_clock().now().nanoseconds)
        self._controller = ControllerActivity(node, health)
        self._model: Model | None = None
        self._measured: MeasuredState | None = None
        self._forget()

    def _forget(self) -> None:
        self.obstacle: StatusCode | None = None
        self.led_by_others = False
        self._has_published = False
        self._is_apart = False  # the robot is elsewhere than commanded, or nobody knows where
        self._keeps_goals, self._kept_until = False, math.inf  # [s] while it is
        self._returns_until = -math.inf  # [s] as long the command takes to where the robot rests
        self.due_return: Return | None = None
        self._led_to: Array | None = None  # the end of the last trajectory or Return (n + m,)
        self._has_led = False  # to where the robot rests
        self._resumed_at: Array | None = None  # after a standstill: where the robot has to leave
        self._resting_since = self._idle_since = math.inf  # [s] the command, and without a goal
        self._anchor: Array | None = None  # where the robot rested when nothing was published
        self._is_led = False
        self._last_command = -math.inf  # [s]

    def open(self, model: Model) -> None:
        """Listen for this model, in place of the one before."""
        self.close()
        node = model.parameters.node
        if node.output != 'joint_state':
            self._model = model
            robot = model.robot
            mimics = [name for name in model.command_joints if name in robot.mimic_joints]
            measured = MeasuredState(robot, model.needed_joints(), model.last_positions, mimics)
            commanded = [*model.commanded_joints(), *measured.mimic_indices]
            self._measured = measured
            self._following = Following(measured.continuous, commanded, model.tracker.period)
            self._sends_trajectories = node.output == 'joint_trajectory'
            self._ending = node.trajectory_delay + 4.0 * model.tracker.period
            self.obstacle = StatusCode.WAITING_FOR_STATE
            self._input.listen(
                JointState, 'joint_states', self._take, qos_profile_sensor_data, LARGEST_STATE
            )
            if self._sends_trajectories:
                self._controller.open(JointTrajectoryWriter.topic)

    def close(self) -> None:
        """Stop listening, and forget what came."""
        self._input.close()
        self._controller.close()
        self._model = self._measured = None
        self._forget()
        self._clear_obstacle()

    def poll(self) -> None:
        """Handle what came."""
        self._controller.poll()
        self._input.poll()

    def begin(self, model: Model) -> tuple[bool, tuple[Due, ...]]:
        """Whether the model can start, and from where; not while that is not known."""
        if self._measured is None:
            return True, ()
        now, node = self._seconds(), model.parameters.node
        unknown = self._measured.unknown(now, node.state_timeout, node.state_tolerance)
        if unknown:
            self.obstacle, self._health.concerns = StatusCode.WAITING_FOR_STATE, unknown
            return False, ()
        self._forget()
        self._clear_obstacle()
        return True, (self._begin(model),)

    def take_again(self) -> None:
        """Start from where the robot is as soon as it rests."""
        if self._measured is not None and self.obstacle in (None, StatusCode.NOT_FOLLOWING):
            self._keeps_goals = False
            self._stop_for(StatusCode.RESETTING)

    def before_going_on(self, model: Model) -> tuple[Due, ...]:
        """Start from where the robot is, and keep the goals, if it was moved in a pause."""
        measured, tracker = self._measured, model.tracker
        if measured is None or not tracker.paused or not model.at_rest or self.obstacle:
            return ()
        node = model.parameters.node
        is_known = measured.age(self._seconds()) <= node.state_timeout
        is_known = is_known and measured.rests(_tolerance(model))
        if is_known and measured.distance(model.q) > _tolerance(model):
            return (self._begin(model, keep_goals=True),)
        return ()

    def may_publish(self, model: Model, rested: bool) -> bool:
        """Whether what was commanded in this tick is published; `rested`: before it.

        The first command is only published where the robot still is.
        """
        measured = self._measured
        if measured is None:
            return True
        begins = not self._has_published and self.obstacle is None
        if begins and measured.distance(model.q) > _tolerance(model):
            self._stop_for(StatusCode.RESETTING)
            self._is_apart = True
        if self._sends_trajectories:
            has_ended = self._has_ended and model.at_rest
            may = not (self._is_apart or has_ended or self._controller.is_off)
        else:
            may = not (self._is_apart and rested and model.at_rest)
        self._has_published |= may
        return may

    def note_return_sent(self) -> None:
        """Forget `due_return`, the message that sends the controller to where the robot is."""
        self.due_return = None

    @property
    def _has_ended(self) -> bool:
        """Whether the last trajectory has ended."""
        return self._last_command - self._resting_since >= self._ending

    def compare(self, model: Model, command: Command, due: float, now: float) -> tuple[Due, ...]:
        """Compare commands with joint_states after each tick: stop where they stop, start from
        them where that is due.

        due, now [s]: when the tick was due, from when on its command holds, and what time it is.
        """
        measured = self._measured
        if measured is None:
            return ()
        self._following.command(model.all_positions, due)
        self._last_command = due
        self._note_rest(model, command, due)
        timeout, tolerance = model.parameters.node.state_timeout, _tolerance(model)
        self._note_arrival(measured, model, command)
        if measured.age(now) > timeout:
            return self._lose_state(measured.unknown(now, timeout, tolerance))
        if self.obstacle is not None:
            return self._come_back(measured, model, now)
        if self._following.behind:
            return self._stop_alone(model)
        if self._sends_trajectories:
            if self._has_ended:
                return self._go_with_others(measured, model)
            if self._following.stands or self._controller.is_off:
                return self._wait_for_rest(model, now)
        elif self._was_moved(measured, model, now):
            self._stop_for(StatusCode.RESETTING)
        return ()

    def _take(self, message: JointState) -> None:
        """Note what a message says; Refused where it can't be right."""
        measured, model, now = self._measured, self._model, self._seconds()
        if measured is None or model is None:
            return
        positions = read_joint_state(message, measured.joints)
        lateness = self._clock.lateness(message.header.stamp)
        if self._sends_trajectories:
            self._compare_clocks(message)
        time = now - (lateness or 0.0)
        joints, doubts = measured.take(positions, now, _tolerance(model), time)
        self._history.add_measured(stamp_of(message), measured.all_positions, joints)
        self._watch(measured, model, joints, time, is_stamped=lateness is not None)
        if doubts:
            raise Refused('implausible_state', '; '.join(doubts))

    def _compare_clocks(self, message: JointState) -> None:
        """Warn where the controller would play trajectories at other times than they say."""
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
        """Compare what was measured with what was commanded, while the robot has to follow."""
        self._following.watch(joints)
        if not self._is_led or self.obstacle is not None:
            self._following.forget()
            self._following.note_late_start(measured.all_positions, time)
            return
        governor, seconds = model.governor, time - self._last_command
        if self._sends_trajectories and seconds > 1.5 * governor.period:
            # Ticks did not come: the robot goes into the stop of the last trajectory.
            q = model.with_mimics(position_in_stop(governor, seconds))
            self._following.command(q, time)
        # By receipt, a bunch of states that came late would look like a standstill.
        standstill = is_stamped and self._sends_trajectories
        self._following.measure(
            measured.all_positions, joints, model.following_errors, time, standstill=standstill
        )
        if self._resumed_at is not None and measured.distance(self._resumed_at) > LEFT:
            self._resumed_at = None

    def _note_rest(self, model: Model, command: Command, now: float) -> None:
        """Note since when the command rests, and whether the robot has to follow it."""
        tracker = model.tracker
        no_goal = command.status in RESTING or (tracker.paused and not tracker.has_goals)
        at_rest = model.at_rest
        self._resting_since = min(self._resting_since, now) if at_rest else math.inf
        self._idle_since = min(self._idle_since, now) if at_rest and no_goal else math.inf
        if self._sends_trajectories:
            self._is_led = not self._has_ended
        else:
            self._is_led = not (at_rest and (no_goal or tracker.paused))
        if not (at_rest and self._has_ended):
            self._anchor, self.led_by_others = None, False

    def _was_moved(self, measured: MeasuredState, model: Model, now: float) -> bool:
        """Whether the robot rests elsewhere than a command without a goal, after a while."""
        tolerance = _tolerance(model)
        has_settled = now - self._idle_since >= SETTLING
        was_moved = has_settled and measured.distance(model.q) > tolerance
        return was_moved and measured.rests(tolerance)

    def _go_with_others(self, measured: MeasuredState, model: Model) -> tuple[Due, ...]:
        """Follow the robot while others move it and nothing is published."""
        tolerance, now = _tolerance(model), self._last_command
        if self._anchor is None:
            if now - self._resting_since > SETTLING or measured.rests(tolerance):
                self._anchor = measured.q
            return ()
        self.led_by_others |= measured.distance(self._anchor) > tolerance
        if self.led_by_others:
            if measured.rests(tolerance):
                self.led_by_others, self._anchor = False, measured.q
            if model.tracker.paused:
                return (self._begin(model, keep_goals=True),)
            return (self._begin(model), Stop())
        if self._was_moved(measured, model, now):
            return (self._begin(model), Stop())
        return ()

    # A robot that is elsewhere than it was commanded to be

    def _lose_state(self, joints: tuple[str, ...]) -> tuple[Due, ...]:
        if self.obstacle is StatusCode.STATE_LOST:
            return ()
        self._health.warn('state_lost', 'joint_states stopped coming: stopping')
        return self._part(StatusCode.STATE_LOST, *joints)

    def _stop_alone(self, model: Model) -> tuple[Due, ...]:
        """The robot does not follow: stop, and forget where it was to go."""
        assert self._measured is not None
        names, units = self._measured.names, self._measured.units
        errors, allowed = self._following.errors, model.following_errors
        texts = [
            f'{names[i]} is {errors[i]:.3g} {units[i]} behind, {allowed[i]:.3g} is allowed'
            for i in self._following.behind
        ] or ['it stopped again where it had stopped before']
        self._health.warn('not_following', f'the robot does not follow: {"; ".join(texts)}')
        return self._part(StatusCode.NOT_FOLLOWING, *texts)

    def _wait_for_rest(self, model: Model, now: float) -> tuple[Due, ...]:
        """The robot stands: stop, and go on from where it rests; where it stood before: stop."""
        is_off = self._controller.is_off
        if self._resumed_at is not None and not is_off:
            return self._stop_alone(model)
        what = 'its controller is not active' if is_off else 'it does not move'
        text = f'the robot does not follow, {what}: goals are kept for {KEPT:g} s'
        self._health.warn('standstill', text)
        self._part(StatusCode.NOT_FOLLOWING, f'{what}; its goals are kept for {KEPT:g} s')
        self._keeps_goals, self._kept_until = True, now + KEPT
        return self._hold()

    def _part(self, obstacle: StatusCode, *concerns: str) -> tuple[Due, ...]:
        """Stop, and publish no more of it than has to be."""
        self._keeps_goals = False
        self._resumed_at = None
        self._stop_for(obstacle, *concerns)
        self._is_apart = True
        if self._measured is not None:
            self._measured.forget_rest()  # it may move late
        return (Stop(),)

    def _hold(self) -> tuple[Due, ...]:
        """Keep the command where it is in the next tick, too, until the controller is there.

        Neither goals that are kept nor limits that the robot is outside of move it meanwhile.
        """
        return (Brake(),) if self._sends_trajectories else ()

    def _come_back(self, measured: MeasuredState, model: Model, now: float) -> tuple[Due, ...]:
        """Move the command to where the robot rests, and continue from there."""
        tracker, tolerance = model.tracker, _tolerance(model)
        if self._keeps_goals and now > self._kept_until:
            return self._part(StatusCode.NOT_FOLLOWING, 'it rested too long to keep its goals')
        if self._controller.is_off or not measured.rests(tolerance):
            return self._hold()
        if not model.at_rest or now < self._returns_until:
            return self._hold()
        if self._sends_trajectories and not self._has_ended:  # the controller is not there yet
            return self._hold()
        if self._returns and measured.distance(model.q) <= tolerance:
            if self._led_to is not None and not self._is_led_to(model):
                self._lead(measured, model, now, self._led_to)
                return self._hold()
            self._resumed_at = model.all_positions if self._keeps_goals else None
            self._clear_obstacle()
            if self._sends_trajectories or tracker.joint_goal is None:
                return ()
            return (Reset(tracker.q),)  # the way back has ended: it was nobody's goal
        if self._waits_for_reset(model):
            return ()
        self._returns_until = now
        if not self._has_published:
            return (self._begin(model), *self._hold())
        if not self._sends_trajectories:  # in a pause nothing moves
            return () if tracker.paused else (MoveTo(measured.q, nearest=False),)
        if self._is_apart and self._led_to is None:
            self._led_to = model.all_positions
        return (self._begin(model, keep_goals=self._keeps_goals), *self._hold())

    def _is_led_to(self, model: Model) -> bool:
        """Whether a Return led the controller to where the command is now.

        Where an error comes between, it moves once more before it is held there.
        """
        return self._has_led and bool((model.all_positions == self._led_to).all())

    def _lead(self, measured: MeasuredState, model: Model, now: float, last: Array) -> None:
        """Send the controller to where the command is, from where it was sent last or stands."""
        q = model.all_positions
        way = np.maximum(np.abs(q - last), np.abs(measured.away_from(q)))
        self.due_return = Return(q, return_time(way, model))
        self._returns_until = now + self.due_return.seconds + self._ending
        self._led_to, self._has_led = q, True

    def _begin(self, model: Model, *, keep_goals: bool = False) -> Begin:
        """Begin where the robot is measured now."""
        assert self._measured is not None
        timeout = model.parameters.node.state_timeout
        mimics = self._measured.mimics(self._seconds(), timeout)
        return Begin(self._measured.q, mimics, keep_goals)

    @property
    def _returns(self) -> bool:
        """Whether the command was sent to where the robot rests."""
        return self._returns_until > -math.inf

    def _waits_for_reset(self, model: Model) -> bool:
        """Whether the parameters let a robot that does not follow stay where it is."""
        waits = model.parameters.node.after_not_following == 'wait'
        return waits and self.obstacle is StatusCode.NOT_FOLLOWING and not self._keeps_goals

    def _note_arrival(self, measured: MeasuredState, model: Model, command: Command) -> None:
        """A goal is reached when the robot is there, not only the command."""
        self._health.on_the_way = command.status is TrackStatus.REACHED and not (
            self._following.is_at(
                model.with_mimics(command.q), measured.all_positions, model.following_errors
            )
        )

    def _stop_for(self, obstacle: StatusCode, *concerns: str) -> None:
        """Follow no goal until the next start; for `concerns` see Diagnostics."""
        self.obstacle, self._health.concerns = obstacle, concerns
        self._returns_until = -math.inf
        self.due_return, self._led_to, self._has_led = None, None, False
        self._following.forget()

    def _clear_obstacle(self) -> None:
        """Let goals be followed again."""
        self.obstacle, self._is_apart, self._keeps_goals = None, False, False
        self._returns_until = -math.inf
        self._health.concerns, self._health.on_the_way = (), False


def _tolerance(model: Model) -> float:
    """How much [rad or m] the states of a robot at rest may differ."""
    return max(model.parameters.node.state_tolerance, LEAST_TOLERANCE)


def return_time(way: Array, model: Model) -> float:
    """How long [s] a controller may take for a cubic from rest to rest within all limits.

    way (n + m,) : see `Model.with_mimics`; its sign does not count. Some time more, as long as a
        message may be on its way.
    """
    rows = limits_with_mimics(model.robot, model.parameters, model.limits)
    _, _, velocity, acceleration, jerk = rows
    way = np.abs(way)
    seconds = (
        1.5 * way / velocity,
        np.sqrt(6.0 * way / acceleration),
        np.cbrt(12.0 * way / jerk),
    )
    return float(np.max(seconds)) + LEAST_RETURN


def position_in_stop(governor: Governor, seconds: float) -> Array:
    """Where the joints (n,) are so long [s] after the last step, if they brake from then on."""
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
