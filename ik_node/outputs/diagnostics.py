# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: counters, throttled warnings, ~/status and /diagnostics.

A tick only stores its command and adds to counters. Housekeeping makes the messages: ~/status on
changes, at most ten times a second, and /diagnostics once a second.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from ik_core.display import length
from ik_core.kernels import library
from ik_core.tracking import Command, TrackStatus

from ..conversions import Refused
from ..counters import Ring, RisingTotal, Throttle, TickMeter, allowed_rate
from ..robot_model import Model
from ..texts import LONGEST_TRACEBACK, cut
from .codes import AFTER_A_SEARCH, AT_ONCE, OF_STATE, Hazard, Hazards, StatusCode, hazards

# The limits of a joint, and the suffix of their units after the joint's unit.
RATES = {'lower': '', 'upper': '', 'velocity': '/s', 'acceleration': '/s^2', 'jerk': '/s^3'}


class Diagnostics:
    """Counters of a node, and the messages that report them.

    state : returns the state of the node; ACTIVE stands for the status of the tracker

    `why_unknown` : returns why the world to avoid is not known, so that goals are refused, or ''
    `concerns` : the details of the state: missing joints, or their errors
    `on_the_way` : whether the command has reached the goal, and the robot has not
    `moved_externally` : whether others move the robot
    `not_following` : number of stops since the robot did not follow
    `held_up` : number of messages that may have been published too late
    """

    def __init__(self, node: Node, state: Callable[[], StatusCode]) -> None:
        self._node = node
        self._throttle = Throttle()
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._status_publisher = node.create_publisher(DiagnosticStatus, '~/status', latched)
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._published: tuple[object, ...] = ()
        self._ticks_reported = (0, time.monotonic())
        self.meter = TickMeter()
        self.refused: Counter[str] = Counter()
        self.errors = 0
        self._last_refused = ''
        self._goal_is_new = False
        self._goals_taken = 0
        self._iterations = 0
        self._solve_time = 0.0
        self._slowest_tick = 0.0
        self._has_warned_of_rate = False
        self._solves = Ring()
        self._state = state
        self.concerns: tuple[str, ...] = ()
        self.why_unknown: Callable[[], str] = str
        self.hands: Mapping[str, str] = {}  # the state of each tip's hand, with `input: teleop`
        self.on_the_way = self.moved_externally = False
        self.not_following = self.held_up = 0
        self.command: Command | None = None
        self._obstacle: tuple[str, str] | None = None  # the pair that stops the joints
        self._model: Model | None = None
        self._hazards = Hazards()
        self._restarts = RisingTotal()

    def set_model(self, model: Model | None) -> None:
        """Report on this model from now on."""
        self._model, self.command, self._hazards = model, None, Hazards()
        self._obstacle = None

    def note_goal(self) -> None:
        """Restart the counters of solving with the next tick, for a new goal."""
        self._goal_is_new = True

    def record(self, command: Command) -> None:
        """Keep the command of a tick, and add its iterations and solve time."""
        self.command = command
        model, stops = self._model, command.status is TrackStatus.OBSTACLE
        self._obstacle = model.tracker.obstacle if model is not None and stops else None
        if self._goal_is_new:
            self._goal_is_new, self._iterations, self._solve_time = False, 0, 0.0
            self._goals_taken += 1
        self._iterations += command.iterations
        self._solve_time += command.solve_time
        self._restarts.add(command.restarts)
        self._slowest_tick = max(self._slowest_tick, command.solve_time)
        self._solves.add(command.solve_time)

    def refuse(self, topic: str, refused: Refused) -> None:
        """Count a refused message by its reason, and log it once per WARNING_PERIOD."""
        self.refused[refused.reason] += 1
        self._last_refused = cut(f'{topic}: {refused}')
        self.warn(f'refused:{refused.reason}', f'{topic}: refused: {refused}')

    def warn(self, kind: str, text: str) -> None:
        """Log a warning, once per WARNING_PERIOD for each kind."""
        suppressed = self._throttle.admit(kind, time.monotonic())
        if suppressed is not None:
            more = f' ({suppressed} more like this)' if suppressed else ''
            self._node.get_logger().warning(cut(text) + more)

    def error(self, kind: str, text: str) -> None:
        """Count an error that should not happen, and log it once per WARNING_PERIOD."""
        self.errors += 1
        if self._throttle.admit(kind, time.monotonic()) is not None:
            self._node.get_logger().error(cut(text, LONGEST_TRACEBACK))

    def publish_status(self) -> None:
        """Publish ~/status if it has changed, other than late ticks and effort.

        On a busy machine late ticks would change it all the time; /diagnostics counts them.
        """
        self._hazards = self._find_hazards()
        shown = (self.code, self._errors(), self._shown_condition(), self._hazards.worst)
        goals = (self._goals_taken, self.goal_has_ended, self.refused.total())
        hands = tuple(self.hands.values())
        reasons = self.concerns, self.obstacle_text, self._note(), self.why_unknown()
        now = (*shown, *goals, *reasons, hands)
        if now != self._published:
            self._published = now
            self._status_publisher.publish(self._status())

    def publish_diagnostics(self) -> None:
        """Publish /diagnostics: limits, and the status with all counters."""
        status = self._status()
        status.values.extend(_key_values(self._totals()))
        message = DiagnosticArray(status=[*self._limits(), status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
        self._slowest_tick = 0.0
        self._warn_of_plain_python()

    def _warn_of_plain_python(self) -> None:
        """Log once the possible rate, if ticks are late since kernels run as plain Python."""
        if library.BACKEND != 'python' or self._has_warned_of_rate or not self.meter.late_ticks:
            return
        if self._model is None:
            return
        rate = self._model.parameters.node.rate
        (p99,) = self.meter.durations.percentiles(99)
        possible = allowed_rate(rate, 1e-9 * p99)
        if possible < rate:
            self._has_warned_of_rate = True
            self._node.get_logger().warning(
                f'ticks are late at {rate:g} Hz, since kernels run as plain Python: '
                f'they take so long that {possible:.2g} Hz are possible'
            )

    def _limits(self) -> Iterable[DiagnosticStatus]:
        """Yield the status with the limits in force: URDF, parameters, and defaults."""
        if self._model is not None:
            yield DiagnosticStatus(
                name=self._name('joint limits'),
                message='in force',
                hardware_id=self._model.robot.name,
                values=_key_values(limits_in_force(self._model)),
            )

    @property
    def obstacle_text(self) -> str:
        """The pair that stops the joints: 'panda_hand and table, 11 mm apart'; '' for none."""
        text, distance = ' and '.join(self._obstacle or ()), self._obstacle_distance
        if distance is None:
            return text
        return f'{text}, {length(abs(distance))} {"apart" if distance > 0.0 else "deep"}'

    @property
    def _obstacle_distance(self) -> float | None:
        """The distance [m] of the pair that stops the joints, minus its depth; None for none."""
        return self._model.tracker.obstacle_distance if self._model and self._obstacle else None

    @property
    def hazards(self) -> Hazards:
        """The hazards when the status was published."""
        return self._hazards

    @property
    def code(self) -> StatusCode:
        """The state of the node."""
        state = self._state()
        model = self._model
        if state is not StatusCode.ACTIVE or self.command is None:
            return state
        if self.moved_externally:
            return StatusCode.MOVED_EXTERNALLY
        if model is not None and model.is_aligning:
            return StatusCode.ALIGNING
        code = StatusCode[self.command.status.name]
        if code is StatusCode.REACHED and self.on_the_way:
            code = StatusCode.TRACKING
        moves = code in (StatusCode.TRACKING, StatusCode.REACHED)
        has_goals = model is None or model.tracker.has_goals
        return StatusCode.JOGGING if moves and not has_goals else code

    @property
    def goal_has_ended(self) -> bool:
        """True if the motion to the goal has ended: it is reached, blocked or missed.

        A goal that is missed ends with the search for another configuration.
        """
        code = self.code
        if code in AFTER_A_SEARCH and self._model is not None:
            return self._model.tracker.found_nothing_closer
        return code in AT_ONCE

    def _errors(self) -> tuple[tuple[str, str, float, float], ...]:
        """Return tip, kind of goal, position [m] and orientation [rad] error, rounded."""
        if self.command is None or self._model is None:
            return ()
        tips = zip(
            self._model.tip_links,
            map(self._model.goal_kind, self._model.tip_links),
            (round(metres, 7) for metres in self.command.position_errors.tolist()),
            (round(radians, 7) for radians in self.command.orientation_errors.tolist()),
            strict=True,
        )
        return tuple(tips)

    def _name(self, part: str) -> str:
        """Return the name of a status: 'ik_node: joint limits', without a leading slash."""
        return f'{self._node.get_fully_qualified_name().lstrip("/")}: {part}'

    def _find_hazards(self) -> Hazards:
        if self._model is None or self.command is None or self._state() is not StatusCode.ACTIVE:
            return Hazards()
        return hazards(self._model, self.command)

    def _note(self) -> str:
        """Return the solver's note on how it found its last solution."""
        return '' if self._model is None else self._model.tracker.solver_note

    def _shown_condition(self) -> str:
        return f'{self._hazards.condition_number:.3g}'

    def _status(self) -> DiagnosticStatus:
        code, hazard = self.code, self._hazards.worst
        concerns = self.concerns if code in OF_STATE else ()
        stops = self.obstacle_text if code is StatusCode.OBSTACLE else ''
        unknown = self.why_unknown()
        refuses = f'no new goals are accepted: {unknown}' if unknown else ''
        parts = (code.text, ', '.join(concerns), stops, self._hazards.text, refuses)
        is_fine = hazard is Hazard.NONE and not unknown
        return DiagnosticStatus(
            level=code.level if is_fine else max(code.level, DiagnosticStatus.WARN),
            name=self._name('inverse kinematics'),
            message=': '.join(filter(None, parts)),
            hardware_id=self._model.robot.name if self._model else '',
            values=_key_values(self._details()),
        )

    def _details(self) -> Iterable[tuple[str, object]]:
        code, hazard = self.code, self._hazards.worst
        yield 'code', code.key
        yield 'code_number', code.number
        yield 'warning', hazard.key
        yield 'warning_number', hazard.number
        if self._hazards.condition_number:
            yield 'condition_number', self._shown_condition()
        if self._hazards.joints_at_bound:
            yield 'joints_at_bound', ', '.join(self._hazards.joints_at_bound)
        if code is StatusCode.OBSTACLE and self._obstacle:
            yield 'obstacle', ', '.join(self._obstacle)
            distance = self._obstacle_distance
            if distance is not None:
                yield 'obstacle_distance [m]', f'{distance:.4f}'
        unknown = self.why_unknown()
        if unknown:
            yield 'world_unknown', unknown
        for tip, kind, metres, radians in self._errors():
            yield f'{tip}.goal_kind', kind
            yield f'{tip}.position_error [m]', f'{metres:.7g}'
            if kind != 'position':  # a position has no orientation error
                yield f'{tip}.orientation_error [rad]', f'{radians:.7g}'
        for tip, state in self.hands.items():
            yield f'{tip}.hand', state
        if self._note():
            yield 'solver_note', self._note()
        if self.command is not None:
            yield 'goals_taken', self._goals_taken
            yield 'goal_has_ended', str(self.goal_has_ended).lower()
            yield 'iterations_since_goal', self._iterations
            yield 'restarts_of_search', self.command.restarts
            yield 'solve_time_since_goal [us]', f'{1e6 * self._solve_time:.1f}'
        yield 'late_ticks', self.meter.late_ticks
        yield 'refused', self.refused.total()
        for reason, count in sorted(self.refused.items()):
            yield f'refused.{reason}', count
        if self._last_refused:
            yield 'last_refused', self._last_refused

    def _totals(self) -> Iterable[tuple[str, object]]:
        ticks, since = self._ticks_reported
        now = time.monotonic()
        yield 'rate_since_last [Hz]', f'{(self.meter.ticks - ticks) / max(now - since, 1e-9):.1f}'
        nearest = None if self._model is None else self._model.nearest_pair()
        if nearest is not None:
            yield 'nearest_pair', f'{nearest.first}, {nearest.second}'
            yield 'nearest_distance [m]', f'{nearest.distance:.4f}'
        yield 'ticks', self.meter.ticks
        yield 'errors', self.errors
        yield 'not_following_total', self.not_following
        yield 'messages_held_up', self.held_up
        yield 'restarts_total', self._restarts.total
        yield 'slowest_tick_solve_since_last [us]', f'{1e6 * self._slowest_tick:.1f}'
        yield 'percentiles_of_last [ticks]', self.meter.durations.size
        median, p99 = self.meter.durations.percentiles(50, 99)
        yield 'tick_time.p50 [us]', f'{1e-3 * median:.1f}'
        yield 'tick_time.p99 [us]', f'{1e-3 * p99:.1f}'
        median, p99 = self._solves.percentiles(50, 99)
        yield 'tick_solve_time.p50 [us]', f'{1e6 * median:.1f}'
        yield 'tick_solve_time.p99 [us]', f'{1e6 * p99:.1f}'
        self._ticks_reported = self.meter.ticks, now


def limits_in_force(model: Model) -> Iterable[tuple[str, str]]:
    """Yield the limits of every joint as texts: 'elbow.acceleration [rad/s^2]', '0.5'."""
    robot, limits = model.robot, model.limits
    for i, (joint, unit) in enumerate(zip(robot.joint_names, robot.joint_units, strict=True)):
        for limit, per in RATES.items():
            yield f'{joint}.{limit} [{unit}{per}]', f'{getattr(limits, limit)[i]:.7g}'
        if model.parameters.node.output != 'joint_state':
            yield f'{joint}.following_error [{unit}]', f'{model.following_errors[i]:.7g}'


def _key_values(pairs: Iterable[tuple[str, object]]) -> list[KeyValue]:
    return [KeyValue(key=key, value=str(value)) for key, value in pairs]
