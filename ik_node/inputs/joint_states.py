"""Where the robot is, as joint_states say: the start of the motion, and whether it is followed.

Where commands go to a controller, the command integrates itself, and the measured state seeds it:
when the node is activated, on ~/reset, when ~/pause ends, and when the robot has rested without
a goal for a while and is then found elsewhere, because somebody else moved it. Small differences
are left alone: a controller that sags a little would otherwise creep away, one seed at a time.

While the command moves, or holds a goal, the robot has to follow it (`following`). Where it does
not, the command stops, and begins again from where the robot rests.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from ik_core.tracking import Command, TrackStatus
from ik_core.tracking.instructions import Reset, Stop

from ..conversions import Refused, read_joint_state
from ..model import Model
from ..outputs.codes import StatusCode
from ..outputs.diagnostics import Diagnostics
from .following import Following
from .measured_state import Joints, MeasuredState
from .state_clock import StateClock
from .subscriptions import Inputs

LARGEST_STATE = 200_000
"""[bytes] Of a joint state: more than a thousand joints have long names."""
SETTLING = 0.5
"""Seconds of rest after which the robot is where it was sent, unless it was moved."""
Due = Reset | Stop | None
RESTING = (TrackStatus.IDLE, TrackStatus.STALE)


class StartState:
    """Says where the motion of a model starts by joint_states, where those are not the node's own.

    It moves nothing: what is due it answers as an instruction for the tracker.
    `seconds` gives the time of the clock that ticks follow. `obstacle` is why no goal can be
    followed now, None where there is no reason. `is_apart`: the robot is elsewhere than it was
    commanded to be, or nobody knows where.
    """

    def __init__(self, node: Node, health: Diagnostics, seconds: Callable[[], float]) -> None:
        self._health = health
        self._seconds = seconds
        self._input = Inputs(node, health)
        self._clock = StateClock(lambda: 1e-9 * node.get_clock().now().nanoseconds)
        self._model: Model | None = None
        self._measured: MeasuredState | None = None
        self._rests_since = math.inf
        self._is_led = self.is_apart = False
        self.obstacle: StatusCode | None = None

    def open(self, model: Model) -> None:
        """Listen for this model, in place of the one before."""
        self.close()
        if model.parameters.node.output != 'joint_state':
            self._model = model
            self._measured = MeasuredState(model.robot, model.needed_joints())
            self._following = Following(
                model.robot, model.commanded_joints(), model.tracker.period
            )
            self.obstacle = StatusCode.WAITING_FOR_STATE
            self._input.listen(
                JointState, 'joint_states', self._take, qos_profile_sensor_data, LARGEST_STATE
            )

    def close(self) -> None:
        """Stop listening, and forget what came."""
        self._input.close()
        self._model = self._measured = None
        self._rests_since, self._is_led = math.inf, False
        self._go_on()

    def poll(self) -> None:
        """Handle what came."""
        self._input.poll()

    def begin(self, model: Model) -> tuple[bool, Due]:
        """Whether the model can start, and from where; not while that is not known."""
        if self._measured is None:
            return True, None
        now, timeout = self._seconds(), model.parameters.node.state_timeout
        unknown = self._measured.unknown(now, timeout)
        if unknown:
            self.obstacle, self._health.concerns = StatusCode.WAITING_FOR_STATE, unknown
            return False, None
        self._go_on()
        return True, Reset(self._measured.q.copy())

    def take_again(self) -> None:
        """Start from where the robot is as soon as it rests."""
        if self._measured is not None and self.obstacle in (None, StatusCode.NOT_FOLLOWING):
            self._stop_for(StatusCode.RESETTING)

    def before_going_on(self, model: Model) -> Due:
        """Start from where the robot is, and keep the goals, if it was moved in a pause."""
        measured, tracker = self._measured, model.tracker
        if measured is None or not tracker.paused or not tracker.at_rest:
            return None
        node = model.parameters.node
        is_known = measured.age(self._seconds()) <= node.state_timeout and measured.rests()
        if is_known and measured.distance(tracker.q) > node.state_tolerance:
            return Reset(measured.q.copy(), keep_goals=True)
        return None

    def compare(self, model: Model, command: Command, now: float) -> Due:
        """After each tick: stop where joint_states stop, start from them where that is due."""
        measured, due = self._measured, None
        if measured is None:
            return None
        self._following.command(command.q, now)
        has_settled = self._has_settled(model, command, now)
        timeout = model.parameters.node.state_timeout
        if measured.age(now) > timeout:
            due = self._lose_state(measured.unknown(now, timeout))
        elif self.obstacle is None and self._following.behind:
            due = self._stop_alone(model)
        elif has_settled and self._is_due(measured, model, command):
            due = Reset(measured.q.copy())
            self._go_on()
        self._look_for_arrival(measured, model, command)
        return due

    def _take(self, message: JointState) -> None:
        """Note what a message says; Refused where it can't be right."""
        measured, model, now = self._measured, self._model, self._seconds()
        if measured is None or model is None:
            return
        positions = read_joint_state(message, measured.joints)
        if model.parameters.node.output == 'joint_trajectory':
            self._compare_clocks(message)
        tolerance = model.parameters.node.state_tolerance
        joints, doubts = measured.take(positions, now, tolerance)
        self._watch(measured, model, joints, now)
        if doubts:
            raise Refused('implausible_state', '; '.join(doubts))

    def _compare_clocks(self, message: JointState) -> None:
        """Warn where the controller would play trajectories at other times than they say."""
        difference = self._clock.difference(message.header.stamp)
        if difference is not None:
            side = 'behind' if difference > 0.0 else 'ahead of'
            self._health.warn(
                'clocks',
                f'joint_states are stamped by a clock {abs(difference):.3g} s {side} this one: '
                'joints will not move smoothly; let chrony or the like keep the clocks together',
            )

    def _watch(self, measured: MeasuredState, model: Model, joints: Joints, now: float) -> None:
        """Compare what was measured with what was commanded, while the robot has to follow."""
        if self._is_led and self.obstacle is None:
            self._following.measure(measured.q, joints, model.following_errors, now)
        else:
            self._following.forget()

    def _has_settled(self, model: Model, command: Command, now: float) -> bool:
        """Whether the command has rested for a while, without a goal."""
        tracker = model.tracker
        no_goal = command.status in RESTING or (tracker.paused and not tracker.has_goals)
        self._is_led = not (tracker.at_rest and (no_goal or tracker.paused))
        if not (no_goal and tracker.at_rest):
            self._rests_since = math.inf
            return False
        self._rests_since = min(self._rests_since, now)  # also after a clock jumped back
        return now - self._rests_since >= SETTLING

    def _is_due(self, measured: MeasuredState, model: Model, command: Command) -> bool:
        """Whether a command that rests is to begin again from where the robot rests."""
        if self.obstacle is StatusCode.RESETTING:
            return measured.rests()
        was_moved = measured.distance(command.q) > model.parameters.node.state_tolerance
        return (self.obstacle is not None or was_moved) and measured.rests(SETTLING)

    def _lose_state(self, joints: tuple[str, ...]) -> Due:
        if self.obstacle is StatusCode.STATE_LOST:
            return None
        self._health.warn('state_lost', 'joint_states stopped coming: stopping')
        self._stop_for(StatusCode.STATE_LOST, *joints)
        self.is_apart = True
        return Stop()

    def _stop_alone(self, model: Model) -> Due:
        """The robot does not follow: stop, and forget where it was to go."""
        names, units = model.robot.joint_names, model.robot.joint_units
        errors, allowed = self._following.errors, model.following_errors
        texts = [
            f'{names[i]} is {errors[i]:.3g} {units[i]} behind, {allowed[i]:.3g} is allowed'
            for i in self._following.behind
        ]
        self._health.warn('not_following', f'the robot does not follow: {"; ".join(texts)}')
        self._stop_for(StatusCode.NOT_FOLLOWING, *texts)
        self.is_apart = True
        return Stop()

    def _look_for_arrival(self, measured: MeasuredState, model: Model, command: Command) -> None:
        """A goal is reached when the robot is there, not only the command."""
        self._health.on_the_way = command.status is TrackStatus.REACHED and not (
            self._following.is_at(command.q, measured.q, model.following_errors)
        )

    def _stop_for(self, obstacle: StatusCode, *concerns: str) -> None:
        """Follow no goal until the next start; for `concerns` see Diagnostics."""
        self.obstacle, self._health.concerns = obstacle, concerns
        self._following.forget()

    def _go_on(self) -> None:
        """Nothing keeps goals from being followed."""
        self.obstacle, self.is_apart = None, False
        self._health.concerns, self._health.on_the_way = (), False
