"""Where the robot is, as joint_states say: the start of the motion, not its feedback.

Where commands go to a controller, the command integrates itself, and the measured state seeds it:
when the node is activated, on ~/reset, when ~/pause ends, and when the robot has rested without
a goal for a while and is then found elsewhere, because somebody else moved it. Small differences
are left alone: a controller that sags a little would otherwise creep away, one seed at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from ik_core import Robot
from ik_core.maths.rotations import Array
from ik_core.tracking import Command, TrackStatus

from ..conversions import read_joint_state
from ..model import Model
from ..outputs.codes import StatusCode
from ..outputs.diagnostics import Diagnostics
from .subscriptions import Inputs

LARGEST_STATE = 200_000
"""[bytes] Of a joint state: more than a thousand joints have long names."""
SETTLING = 0.5
"""Seconds of rest after which the robot is where it was sent, unless it was moved."""
RESTING = (TrackStatus.IDLE, TrackStatus.STALE)


class MeasuredState:
    """Joint positions merged from messages that may have some joints only.

    `needed` are the joints without which nothing can start; the others stay in the middle of
    their limits until they are measured. Times `now` [s] are of one clock.
    """

    def __init__(self, robot: Robot, needed: Sequence[str]) -> None:
        self._index = {name: i for i, name in enumerate(robot.joint_names)}
        self._needed = [self._index[name] for name in needed]
        self._q = robot.middle_configuration
        self._names = robot.joint_names
        self._received = np.full(robot.n, -math.inf)
        self._rests_since = math.inf

    def take(self, message: JointState, now: float) -> None:
        """Note what a message says of this robot; Refused where it can't be right."""
        for name, position in read_joint_state(message, self._index).items():
            self._q[self._index[name]] = position
            self._received[self._index[name]] = now

    @property
    def q(self) -> Array:
        """The measured positions (n,), a copy."""
        return self._q.copy()

    def age(self, now: float) -> float:
        """Seconds since the oldest of the last news of the needed joints; inf before any."""
        oldest = float(self._received[self._needed].min(initial=now))
        if oldest > now:  # the clock jumped back: what is known counts as news
            self._received, oldest = np.minimum(self._received, now), now
        return now - oldest

    def unknown(self, now: float, timeout: float) -> tuple[str, ...]:
        """The needed joints without news for that long [s]."""
        self.age(now)
        return tuple(self._names[i] for i in self._needed if now - self._received[i] > timeout)

    def distance(self, q: Array) -> float:
        """How far [rad or m] the measured joint is that is farthest from its place in q (n,)."""
        return float(np.abs(self._q - q)[self._needed].max(initial=0.0))

    def has_settled(self, rests: bool, now: float) -> bool:
        """Whether the robot has rested for a while; called in every tick with whether it rests."""
        if not rests:
            self._rests_since = math.inf
            return False
        self._rests_since = min(self._rests_since, now)  # also after a clock jumped back
        return now - self._rests_since >= SETTLING


class StartState:
    """Seeds the motion of a model from joint_states, where those are not the node's own.

    `seconds` gives the time of the clock that ticks follow. `obstacle` is why no goal can be
    followed now, None where there is no reason.
    """

    def __init__(self, node: Node, health: Diagnostics, seconds: Callable[[], float]) -> None:
        self._health = health
        self._seconds = seconds
        self._input = Inputs(node, health)
        self._measured: MeasuredState | None = None
        self.obstacle: StatusCode | None = None

    def open(self, model: Model) -> None:
        """Listen for this model, in place of the one before."""
        self.close()
        if model.parameters.node.output != 'joint_state':
            self._measured = MeasuredState(model.robot, model.needed_joints())
            self.obstacle = StatusCode.WAITING_FOR_STATE
            self._input.listen(
                JointState, 'joint_states', self._take, qos_profile_sensor_data, LARGEST_STATE
            )

    def close(self) -> None:
        """Stop listening, and forget what came."""
        self._input.close()
        self._measured = None
        self._stop_waiting()

    def poll(self) -> None:
        """Handle what came."""
        self._input.poll()

    def begin(self, model: Model) -> bool:
        """Start the model from where the robot is; false while that is not known."""
        if self._measured is None:
            return True
        if not self._is_known(self._measured, model):
            self.obstacle = StatusCode.WAITING_FOR_STATE
            self._health.waiting_for = self._measured.unknown(
                self._seconds(), model.parameters.node.state_timeout
            )
            return False
        model.tracker.reset(self._measured.q)
        self._stop_waiting()
        return True

    def take_again(self) -> None:
        """Start from where the robot is as soon as it rests."""
        if self._measured is not None and self.obstacle is None:
            self.obstacle = StatusCode.RESETTING

    def before_going_on(self, model: Model) -> None:
        """Start from where the robot is, and keep the goals, if it was moved in a pause."""
        measured, tracker = self._measured, model.tracker
        if measured is None or not tracker.paused or not tracker.at_rest:
            return
        if measured.distance(tracker.q) > model.parameters.node.state_tolerance:
            model.seed(measured.q)

    def compare(self, model: Model, command: Command, now: float) -> None:
        """After each tick: stop where joint_states stop, start from them where that is due."""
        measured = self._measured
        if measured is None:
            return
        tracker = model.tracker
        no_goal = command.status in RESTING or (tracker.paused and not tracker.has_goals)
        has_settled = measured.has_settled(no_goal and not command.dq.any(), now)
        if not self._is_known(measured, model):
            if self.obstacle is not StatusCode.STATE_LOST:
                self.obstacle = StatusCode.STATE_LOST
                self._health.warn('state_lost', 'joint_states stopped coming: stopping')
                model.stop()
            return
        was_moved = measured.distance(command.q) > model.parameters.node.state_tolerance
        if has_settled and (self.obstacle or was_moved):
            model.tracker.reset(measured.q)
            self.obstacle = None

    def _stop_waiting(self) -> None:
        self.obstacle, self._health.waiting_for = None, ()

    def _take(self, message: JointState) -> None:
        if self._measured is not None:
            self._measured.take(message, self._seconds())

    def _is_known(self, measured: MeasuredState, model: Model) -> bool:
        return measured.age(self._seconds()) <= model.parameters.node.state_timeout
