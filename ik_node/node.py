"""The node `ik_node`: goal poses in, rate-limited joint states out.

This module only wires: callbacks store goals, the tick asks the tracker for one step and
publishes it, a slow timer tells the rest of the world how it is going. What is decided elsewhere:
solving and limits in `ik_core.tracking`, parameters in `parameters`, what a message means in
`conversions` and `frames`, what is reported in `diagnostics`.

The node is a lifecycle node. Configuring reads the parameters and loads the robot (or waits for
it on the topic robot_description), activating starts the joint states. With `autostart` it takes
both steps by itself. Everything runs on one thread, but for loading a robot and compiling
kernels, which run beside it (`jobs`).
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import PointStamped, PoseArray, PoseStamped
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from visualization_msgs.msg import MarkerArray

from ik_core import IkError, Robot
from ik_core.exceptions import InvalidGoal, InvalidOption
from ik_core.rotations import Array

from .conversions import (
    JointStateWriter,
    Refused,
    point_to_position,
    pose_to_transform,
    time_to_seconds,
)
from .diagnostics import Diagnostics
from .frames import Frames, TfFrames
from .jobs import Job
from .markers import goal_markers
from .model import Model, load_robot, read_description
from .parameters import NodeParameters, Parameters

HOUSEKEEPING_PERIOD = 0.1
BEATS_PER_DIAGNOSTICS = 10
STOPPING_TIME = 0.5
"""Seconds that a node which stops publishing may take to bring the joints to rest."""
AT_REST = 1e-9
"""Speeds below this [rad/s or m/s] are rest."""

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class IkNode(LifecycleNode):
    """Follows goal poses with the joints of a robot.

    `stopping` is the event that ends the process; configuring gives up when it is set. Raises
    InvalidOption when a parameter that the node was started with is refused.
    """

    def __init__(self, stopping: threading.Event | None = None, **options: Any) -> None:
        super().__init__('ik_node', **options)
        self._stopping = stopping or threading.Event()
        self._settings = Parameters(self)
        self._health = Diagnostics(self)
        self._tf = TfFrames(self)
        self._model: Model | None = None
        self._loading: Job[Robot] | None = None
        self._description = ''
        self._active = False
        self._finished = False
        self._tick_timer: Timer | None = None
        self._inputs: list[Any] = []
        self._goal_inputs: list[Any] = []
        self._beat = 0
        self._joint_states = self.create_lifecycle_publisher(JointState, 'joint_states', 10)
        self._markers = self.create_publisher(MarkerArray, '~/markers', 1)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(HOUSEKEEPING_PERIOD, self._housekeeping, clock=self._steady)

    # Lifecycle

    def autostart(self) -> bool:
        """Configure and activate if the parameter says so; false when that failed."""
        if not self._settings.take().node.autostart:
            return True
        return self.trigger_configure() == SUCCESS and self.trigger_activate() == SUCCESS

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the parameters, and the robot unless it comes by topic."""
        self._settings.locked = True
        result = self._attempt(self._configure)
        if result != SUCCESS:
            self._tear_down()
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start publishing; without a robot yet, as soon as there is one."""
        result = super().on_activate(state)
        self._active = True
        return self._attempt(self._start_ticking) if result == SUCCESS else result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the joints to rest and stop publishing."""
        result = self._attempt(self._stop_ticking)
        self._active = False
        self._note_state()
        return result if result != SUCCESS else super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the robot; all parameters can change again."""
        return self._attempt(self._tear_down)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the joints to rest and forget the robot."""
        self._finished = True
        return self._attempt(self._tear_down)

    def finish(self) -> None:
        """Shut down, unless somebody asked for that before."""
        if not self._finished:
            self.trigger_shutdown()

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Go back to the unconfigured state."""
        return self._attempt(self._tear_down)

    def _attempt(self, action: Callable[[], None]) -> TransitionCallbackReturn:
        """Do what a transition asks for; rclpy would drop the exception without a word."""
        try:
            action()
        except IkError as error:
            log = self.get_logger()
            (log.info if self._stopping.is_set() else log.error)(str(error))
            return FAILURE
        except Exception:
            self.get_logger().error(traceback.format_exc())
            return ERROR
        return SUCCESS

    def _configure(self) -> None:
        parameters = self._settings.take()
        source = read_description(parameters)
        if source is None:
            self._listen(self._inputs, String, 'robot_description', self._on_description, LATCHED)
            self.get_logger().info('waiting for a robot on the topic robot_description')
        else:
            self._install(self._load_now(source, parameters))
        for kind, topic, handler in (
            (PoseStamped, 'goal_pose', self._goal_handler(0)),
            (PoseArray, 'goal_poses', self._on_goal_poses),
            (PointStamped, 'clicked_point', self._on_clicked_point),
        ):
            self._listen(self._inputs, kind, topic, self._when_ready(handler))
        self._note_state()

    def _tear_down(self) -> None:
        self._stop_ticking()
        self._unlisten(self._inputs)
        self._unlisten(self._goal_inputs)
        self._tf.close()
        self._settings.undeclare_limits()
        self._settings.locked = False
        self._model = self._loading = None
        self._description = ''
        self._active = False
        self._note_state()

    # The robot

    def _load_now(self, source: str | Path, parameters: NodeParameters) -> Robot:
        self.get_logger().info('loading the robot and the solver (the first start ever compiles)')
        job = self._loading = Job(lambda: load_robot(source, parameters))
        while not job.wait(0.02):
            if self._stopping.is_set():
                raise IkError('stopped while loading the robot')
        self._loading = None
        return job.result()

    def _install(self, robot: Robot) -> None:
        """Make `robot` the one that is moved; the one before stays if this one can't be."""
        previous = self._model
        try:
            self._settings.declare_limits(robot)
            self._model = Model(robot, self._settings.take(), previous)
        except IkError:
            if previous is not None:
                self._settings.declare_limits(previous.robot)
            raise
        self._frames = Frames(robot, self._model.base_link, self._tf)
        self._writer = JointStateWriter(robot)
        self._health.show_robot(robot.name, self._model.tip_links)
        self._unlisten(self._goal_inputs)
        for tip, topic in enumerate(self._model.goal_topics):
            handler = self._when_ready(self._goal_handler(tip))
            self._listen(self._goal_inputs, PoseStamped, topic, handler)
        self._introduce(self._model)

    def _introduce(self, model: Model) -> None:
        """Log what is moved, and what is missing in its description."""
        for text in model.robot.warnings:
            self.get_logger().warning(text)
        for text in model.missing_limits():
            self.get_logger().warning(text)
        unread = self._settings.unread()
        if unread:
            self.get_logger().warning(f'there are no such parameters: {", ".join(unread)}')
        goals = ', '.join(self.resolve_topic_name(topic) for topic in model.goal_topics)
        self.get_logger().info(f'robot {model.robot.name}: {model.robot.n} joints; goals: {goals}')

    def _on_description(self, message: String) -> None:
        """Load a new robot beside the one that is moved; `_poll_loading` swaps them."""
        if message.data == self._description:
            return
        self._description = message.data
        self._note_state()
        parameters = self._settings.take()
        self._loading = Job(lambda: load_robot(message.data, parameters))

    def _poll_loading(self) -> None:
        """Take a robot that is loaded, once the one before is at rest."""
        if self._loading is None or not self._loading.done:
            return
        try:
            robot = self._loading.result()
            if self._model is not None and not self._is_at_rest():
                self._health.state = 'model_swap'
                self._model.stop()
                return
            self._install(robot)
            self._start_ticking()
        except IkError as error:
            kept = f'; {self._model.robot.name} is kept' if self._model else ''
            self._health.error('robot_description', f'robot_description: {error}{kept}')
        self._loading = None
        self._note_state()

    # Goals

    def _listen(
        self,
        inputs: list[Any],
        kind: Any,
        topic: str,
        handler: Callable[[Any], None],
        qos: QoSProfile | int = 1,
    ) -> None:
        """Subscribe; whatever a message does, the node goes on and says why it was refused."""

        def receive(message: Any) -> None:
            try:
                handler(message)
            except Refused as refused:
                self._health.refuse(topic, refused)
            except InvalidGoal as error:
                self._health.refuse(topic, Refused('invalid', str(error)))
            except Exception:
                self._health.error(topic, f'{topic}: {traceback.format_exc()}')

        inputs.append(self.create_subscription(kind, topic, receive, qos))

    def _unlisten(self, inputs: list[Any]) -> None:
        while inputs:
            self.destroy_subscription(inputs.pop())

    def _when_ready(self, handler: Callable[[Model, Any], None]) -> Callable[[Any], None]:
        """A handler that gets the model, and refuses messages while goals can't be followed."""

        def handle(message: Any) -> None:
            if self._model is None:
                raise Refused('no_model', 'there is no robot yet')
            if not self._active:
                raise Refused('inactive', 'the node is not active')
            if self._health.state == 'model_swap':
                raise Refused('model_swap', 'a new robot_description is being taken')
            handler(self._model, message)

        return handle

    def _goal_handler(self, tip: int) -> Callable[[Model, PoseStamped], None]:
        def on_goal(model: Model, message: PoseStamped) -> None:
            frame = self._frame_of(model, message.header)
            self._follow(model, tip, frame @ pose_to_transform(message.pose))

        return on_goal

    def _follow(self, model: Model, tip: int, goal: Array) -> None:
        model.set_goal(tip, goal, self._seconds())
        self._health.note_goal()

    def _on_goal_poses(self, model: Model, message: PoseArray) -> None:
        if len(message.poses) != len(model.tip_links):
            tips = ', '.join(model.tip_links)
            text = f'{len(message.poses)} poses; {len(model.tip_links)} are needed, for {tips}'
            raise Refused('wrong_length', text)
        frame = self._frame_of(model, message.header)
        goals = [frame @ pose_to_transform(pose) for pose in message.poses]
        for tip, goal in enumerate(goals):  # all of them are good, or none is taken
            self._follow(model, tip, goal)

    def _on_clicked_point(self, model: Model, message: PointStamped) -> None:
        """A goal without an orientation keeps that of the goal before, or of the tip."""
        frame = self._frame_of(model, message.header)
        before = model.goals[0]
        goal = (model.tip_pose(0) if before is None else before).copy()
        goal[:3, 3] = frame[:3, :3] @ point_to_position(message.point) + frame[:3, 3]
        self._follow(model, 0, goal)

    def _frame_of(self, model: Model, header: Header) -> Array:
        """The header's frame in the root's; Refused for an old stamp where goals time out."""
        timeout = model.parameters.tracker.goal_timeout
        stamp = time_to_seconds(header.stamp)
        if timeout > 0.0 and stamp > 0.0:
            age = 1e-9 * self.get_clock().now().nanoseconds - stamp
            if abs(age) > timeout:
                raise Refused(
                    'stale', f'the stamp is {age:.3f} s old; goal_timeout is {timeout} s'
                )
        return self._frames.in_root(header.frame_id, model.tracker.q)

    # The tick

    def _start_ticking(self) -> None:
        if self._model is None or not self._active or self._tick_timer is not None:
            self._note_state()
            return
        rate = self._model.parameters.node.rate
        sim_time = self.get_parameter('use_sim_time').value
        self._tick_clock = self.get_clock() if sim_time else self._steady
        self._last_tick = 0
        self._health.meter.restart()
        gc.collect()
        gc.freeze()  # what is there now stays: the collector need not look at it in every tick
        self._tick_timer = self.create_timer(1.0 / rate, self._tick, clock=self._tick_clock)
        self._note_state()
        self.get_logger().info(f'ready: publishing joint_states at {rate:g} Hz')

    def _stop_ticking(self) -> None:
        if self._tick_timer is None or self._model is None:
            return
        self._model.stop()
        deadline = time.monotonic() + STOPPING_TIME
        while not self._is_at_rest() and time.monotonic() < deadline:
            self._tick()
            time.sleep(self._model.tracker.period)
        self.destroy_timer(self._tick_timer)
        self._tick_timer = None
        gc.unfreeze()

    def _is_at_rest(self) -> bool:
        return self._model is None or not np.any(np.abs(self._model.tracker.dq) > AT_REST)

    def _tick(self) -> None:
        model, timer = self._model, self._tick_timer
        if model is None or timer is None:
            return
        try:
            self._step(model, timer)
        except Exception:
            self._health.error('tick', f'holding, after an error: {traceback.format_exc()}')
            self._publish(model.hold(), np.zeros(model.robot.n))

    def _step(self, model: Model, timer: Timer) -> None:
        if self._settings.changed:
            model.apply(self._settings.take())
        now = self._tick_clock.now().nanoseconds
        if now < self._last_tick:
            self._health.warn('clock', 'the clock jumped back: stopping, goals are dropped')
            model.stop()
        self._last_tick = now
        command = model.tracker.tick(1e-9 * now)
        self._publish(command.q, command.dq)
        self._health.record(command)
        self._health.meter.tick(now + timer.time_until_next_call(), timer.timer_period_ns)

    def _publish(self, q: Array, dq: Array) -> None:
        self._joint_states.publish(self._writer.write(q, dq, self.get_clock().now().to_msg()))

    def _seconds(self) -> float:
        return 1e-9 * self._tick_clock.now().nanoseconds

    # Everything that is not urgent

    def _housekeeping(self) -> None:
        try:
            self._poll_loading()
            self._health.publish_status()
            self._beat += 1
            if self._beat % BEATS_PER_DIAGNOSTICS == 0:
                self._health.publish_diagnostics()
                self._look_for_rivals()
                self._publish_markers()
        except Exception:
            self._health.error('housekeeping', traceback.format_exc())

    def _note_state(self) -> None:
        """What the status says where no command does."""
        if not self._settings.locked:
            self._health.state = 'unconfigured'
        elif self._model is None:
            self._health.state = 'no_model'
        else:
            self._health.state = 'active' if self._active else 'inactive'

    def _look_for_rivals(self) -> None:
        """Warn of other publishers of joint_states: a robot that listens to both would jump."""
        if self._tick_timer is None or self.count_publishers('joint_states') < 2:
            return
        topic = self.resolve_topic_name('joint_states')
        publishers = [
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for info in self.get_publishers_info_by_topic(topic)
        ]
        if self.get_fully_qualified_name() in publishers:
            publishers.remove(self.get_fully_qualified_name())  # once: another may have the name
        others = ', '.join(sorted(publishers))
        text = f'{topic} has other publishers too: {others}'
        self._health.warn('rivals', text)

    def _publish_markers(self) -> None:
        model, command = self._model, self._health.command
        if model is None or command is None or not self._markers.get_subscription_count():
            return
        stamp = self.get_clock().now().to_msg()
        root = model.robot.base_link
        self._markers.publish(goal_markers(model.goals, command.status, root, stamp))

    @property
    def busy(self) -> bool:
        """Whether work that can't be interrupted is still going on beside the node."""
        return self._loading is not None and not self._loading.done


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; 0 then, 1 if it can't start, 2 for bad parameters."""
    stopping = threading.Event()
    _stop_on_signals(stopping)
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = IkNode(stopping)
    except InvalidOption as error:
        print(f'ik_node: {error}', file=sys.stderr)
        rclpy.try_shutdown()
        return 2
    started = _run(node, stopping)
    busy = node.busy
    node.destroy_node()
    rclpy.try_shutdown()
    code = 0 if started or stopping.is_set() else 1
    if busy:  # a compiler in a thread would keep the interpreter from ending
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _stop_on_signals(stopping: threading.Event) -> None:
    """Set `stopping` at the first SIGINT or SIGTERM; a second one ends the process at once.

    rclpy's own handlers would end the context first, so that the joints could not come to rest.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.set()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)


def _run(node: IkNode, stopping: threading.Event) -> bool:
    """Spin until `stopping`; false when the node could not start. Housekeeping wakes the loop."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        if not node.autostart():
            return False
        while not stopping.is_set():
            executor.spin_once()
        node.finish()
    except ExternalShutdownException:
        pass
    finally:
        executor.shutdown()
    return True


if __name__ == '__main__':
    sys.exit(main())
