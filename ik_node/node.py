"""The node `ik_node`: goals in, rate-limited joint commands out.

This module only wires: the lifecycle, the tick, which asks the tracker for one step and publishes
it, and chores that tell the rest of the world how it is going. What is decided elsewhere:
solving and limits in `ik_core.tracking`, parameters in `parameters`, which goals are taken in
`goals`, what is published in `outputs`, what is reported in `diagnostics`, the process in `main`.

The node is a lifecycle node. Configuring reads the parameters and loads the robot (or waits for
it on the topic robot_description), activating starts the joint states. With `autostart` it takes
both steps by itself. Ticks, and messages and chores between them, have a thread of their own, and
never run while a callback does; while there are no ticks, a timer does the rest (`ticker`).
Loading a robot and compiling kernels run beside both (`jobs`).
"""

from __future__ import annotations

import gc
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == '__main__':  # before rclpy is needed: `main` says what to do without it
    from ik_node.main import main

    sys.exit(main())

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from ik_core import IkError, Robot
from ik_core.maths.rotations import Array

from .conversions import Refused
from .inputs.frames import TfFrames
from .inputs.goals import Goals
from .inputs.interactive_goals import InteractiveGoals
from .inputs.joint_states import StartState
from .inputs.subscriptions import Inputs
from .jobs import Job
from .model import Model, load_robot, read_description, tip_links
from .outputs.codes import Code
from .outputs.commands import OUTPUTS, make_output
from .outputs.diagnostics import Diagnostics
from .outputs.markers import SAMPLING_PERIOD, Markers
from .parameters.store import NodeParameters, Parameters
from .services.compute_ik import ComputeIk
from .services.controls import Controls
from .services.recording import Recording
from .ticker import Chores, Gate, SimulatedTicker, Ticker

HOUSEKEEPING_PERIOD = 0.05
"""[s] Of the timer that takes messages and does chores while nothing ticks,"""
CHORES_SHARE = 0.3
"""and the share of a tick's period after which no chore begins in it."""
STATUS_PERIOD = 0.1
DIAGNOSTICS_PERIOD = 1.0
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
        self._gate = Gate()  # before anything of the node can ask for it
        super().__init__('ik_node', **options)
        self._source: str | Path = ''
        self._stopping = stopping or threading.Event()
        self._settings = Parameters(self)
        self._health = Diagnostics(self, self._state)
        self._tf = TfFrames(self)
        self._model: Model | None = None
        self._loading: Job[Robot] | None = None
        self._description = ''
        self._active = self._swapping = self._finished = False
        self._ticker: Ticker | SimulatedTicker | None = None
        self._publisher: Any = None
        self._description_input = Inputs(self, self._health)
        self._start_state = StartState(self, self._health, self._seconds)
        self._goals = Goals(self, self._health, self._ready, self._seconds, self._tf)
        self._controls = Controls(self, lambda: self._model, self._drop_goals, self._start_state)
        menu = {
            'Reset: drop the goals': self._controls.reset,
            'Pause': lambda: self._controls.pause(True),
            'Go on': lambda: self._controls.pause(False),
        }
        self._interactive = InteractiveGoals(self, self._health, self._goals, menu)
        self._compute_ik = ComputeIk(self, lambda: self._model, self._tf)
        self._recording = Recording(self, lambda: self._model, lambda: self._source)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._follow_clock(False)
        self._markers = Markers(self, lambda: (self._model, self._health.command))
        self._chores = Chores(
            (SAMPLING_PERIOD, self._markers.sample),
            (STATUS_PERIOD, self._health.publish_status),
            (STATUS_PERIOD, self._interactive.follow),
            (DIAGNOSTICS_PERIOD, self._health.publish_diagnostics),
            (DIAGNOSTICS_PERIOD, self._look_for_rivals),
        )
        self._timer = self.create_timer(
            HOUSEKEEPING_PERIOD, self._housekeeping, clock=self._steady
        )

    @property
    def default_callback_group(self) -> Gate:
        """The group of all callbacks, those of parameters and of the lifecycle included."""
        return self._gate

    # Lifecycle

    def autostart(self) -> bool:
        """Configure and activate if the parameter says so; false when that failed."""
        if not self._settings.take().node.autostart:
            return True
        return self.trigger_configure() == SUCCESS and self.trigger_activate() == SUCCESS

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the parameters, and the robot unless it comes by topic."""
        self._settings.locked = True
        self._follow_clock(self.get_parameter('use_sim_time').value)
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
            with self._gate.lock:  # a transition may come from outside the executor
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
        output = OUTPUTS[parameters.node.output]
        self._publisher = self.create_lifecycle_publisher(output.kind, output.topic, 10)
        source = read_description(parameters)
        if source is None:
            self._description_input.listen(
                String, 'robot_description', self._on_description, LATCHED
            )
            self.get_logger().info('waiting for a robot on the topic robot_description')
        else:
            self._install(self._load_now(source, parameters), source)
        self._goals.open()
        self._controls.open()
        self._compute_ik.open(parameters.node.compute_ik)
        self._recording.open()

    def _tear_down(self) -> None:
        self._stop_ticking()
        for part in (
            self._recording,
            self._description_input,
            self._start_state,
            self._goals,
            self._controls,
            self._interactive,
            self._compute_ik,
        ):
            part.close()
        if self._publisher is not None:
            self.destroy_lifecycle_publisher(self._publisher)
            self._publisher = None
        self._tf.close()
        self._settings.undeclare_robot()
        self._settings.locked = False
        self._model = self._loading = None
        self._health.show(None)
        self._description = ''
        self._active = self._swapping = False

    # The robot

    def _load_now(self, source: str | Path, parameters: NodeParameters) -> Robot:
        self.get_logger().info('loading the robot and the solver (the first start ever compiles)')
        job = self._loading = Job(lambda: load_robot(source, parameters))
        while not job.wait(0.02):
            if self._stopping.is_set():
                raise IkError('stopped while loading the robot')
        self._loading = None
        return job.result()

    def _install(self, robot: Robot, source: str | Path) -> None:
        """Make `robot` the one that is moved; the one before stays if this one can't be."""
        previous = self._model
        try:
            tips = tip_links(robot, self._settings.take())
            self._settings.declare_robot(robot, tips)
            self._model = Model(robot, self._settings.take(), previous)
        except IkError:
            if previous is not None:
                self._settings.declare_robot(previous.robot, previous.tip_links)
            raise
        self._source = source
        self._output = make_output(self._model)
        self._health.show(self._model)
        self._goals.open_tips(self._model)
        self._start_state.open(self._model)
        self._interactive.open(self._model)
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
        """Load a new robot beside the one that is moved; the timer swaps them."""
        if message.data == self._description:
            return
        self._description = message.data
        parameters = self._settings.take()
        self._loading = Job(lambda: load_robot(message.data, parameters))
        self._keep_house()

    def _poll_loading(self) -> None:
        """Take a robot that is loaded, once the one before is at rest."""
        if self._loading is None or not self._loading.done:
            return
        try:
            robot = self._loading.result()
            if self._model is not None and not self._is_at_rest():
                self._swapping = True
                self._model.stop()
                return
            self._stop_ticking()
            self._recording.finish()
            self._install(robot, self._description)
        except IkError as error:
            kept = f'; {self._model.robot.name} is kept' if self._model else ''
            self._health.error('robot_description', f'robot_description: {error}{kept}')
        self._loading, self._swapping = None, False
        self._start_ticking()

    # What users ask for

    def _ready(self) -> Model:
        """The model that goals are for; Refused while they can't be followed."""
        state = self._state()
        if self._model is None or state is not Code.ACTIVE:
            raise Refused(state.key, state.text)
        return self._model

    def _drop_goals(self, model: Model) -> None:
        """Come to rest."""
        self._goals.drop()
        model.stop()

    # The tick

    def _start_ticking(self) -> None:
        """Tick, if the node is active and knows where the robot is; tried again until then."""
        model = self._model
        if model is None or not self._active or self._ticker is not None:
            return
        if not self._start_state.begin(model):
            return
        self._last_tick = 0
        self._recording.begin(model)
        self._health.meter.restart()
        gc.collect()
        gc.freeze()  # what is there now stays: the collector need not look at it in every tick
        rate, meter = model.parameters.node.rate, self._health.meter
        self._ticker = (
            SimulatedTicker(self, self.get_clock(), rate, self, meter)
            if self._simulated
            else Ticker(rate, self, meter, self._gate.lock)
        )
        topic = self.resolve_topic_name(self._output.topic)
        self.get_logger().info(f'ready: publishing {topic} at {rate:g} Hz')

    def _stop_ticking(self) -> None:
        if self._ticker is None or self._model is None:
            return
        self._drop_goals(self._model)
        deadline = time.monotonic() + STOPPING_TIME
        while not self._is_at_rest() and time.monotonic() < deadline:
            self.tick()
            time.sleep(self._model.tracker.period)
        self._ticker.stop()
        self._ticker = None
        self._keep_house()
        gc.unfreeze()

    def _is_at_rest(self) -> bool:
        return self._model is None or not np.any(np.abs(self._model.tracker.dq) > AT_REST)

    def prepare(self) -> None:
        """Take the messages that came."""
        self._description_input.poll()
        self._start_state.poll()
        self._goals.poll()

    def tick(self) -> None:
        """One step of the tracker, published; after an error, the last position."""
        model = self._model
        if model is None:
            return
        try:
            self._step(model)
        except Exception:
            self._health.error('tick', f'holding, after an error: {traceback.format_exc()}')
            self._publish(model.hold(), np.zeros(model.robot.n))

    def rest(self) -> None:
        """Chores, as far as there is time before the next tick."""
        if self._model is not None:
            self._chores.run(CHORES_SHARE * self._model.tracker.period)

    def failed(self, text: str) -> None:
        """Count an exception that came out of a tick or of what goes with it."""
        self._health.error('thread', text)

    def _step(self, model: Model) -> None:
        if self._settings.changed:
            model.apply(self._settings.take())
        now = self._now()
        if now < self._last_tick:
            self._health.warn('clock', 'the clock jumped back: stopping, goals are dropped')
            self._drop_goals(model)
            self._tf.close()  # what it knows is of the time before
        self._last_tick = now
        self._goals.give(model)
        command = model.tracker.tick(1e-9 * now)
        self._publish(command.q, command.dq)
        self._health.record(command)
        self._start_state.mind(model, command, 1e-9 * now)
        self._recording.mind(model)

    def _publish(self, q: Array, dq: Array) -> None:
        self._publisher.publish(self._output.write(q, dq, self._stamp()))

    def _follow_clock(self, simulated: bool) -> None:
        """What ticks go by and messages are stamped with [ns]: Python's clocks are the cheaper."""

        def simulated_time() -> int:
            nanoseconds: int = self.get_clock().now().nanoseconds
            return nanoseconds

        self._simulated = simulated
        self._now = simulated_time if simulated else time.monotonic_ns
        self._stamp = simulated_time if simulated else time.time_ns

    def _seconds(self) -> float:
        return 1e-9 * self._now()

    # Everything that is not urgent

    def _housekeeping(self) -> None:
        """What the ticks do, where there are none, and what can't be done beside the executor."""
        try:
            self._poll_loading()
            self._start_ticking()  # where it had to wait
            if isinstance(self._ticker, Ticker):
                if self._loading is None:
                    self._timer.cancel()
                return
            self.prepare()
            self._chores.run(HOUSEKEEPING_PERIOD)
        except Exception:
            self._health.error('housekeeping', traceback.format_exc())

    def _keep_house(self) -> None:
        """Let the timer run until it is not needed any more."""
        self._timer.reset()
        if self.executor is not None:
            self.executor.wake()

    def _state(self) -> Code:
        """What the node is doing; ACTIVE where the tracker says more."""
        if not self._settings.locked:
            return Code.UNCONFIGURED
        if self._model is None:
            return Code.NO_MODEL
        if not self._active:
            return Code.INACTIVE
        if self._swapping:
            return Code.MODEL_SWAP
        return self._start_state.obstacle or Code.ACTIVE

    def _look_for_rivals(self) -> None:
        """Warn of other publishers of joint_states: a robot that listens to both would jump."""
        ours = self._ticker is not None and self._output.topic == 'joint_states'
        if not ours or self.count_publishers('joint_states') < 2:
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

    @property
    def busy(self) -> bool:
        """Whether work that can't be interrupted is still going on beside the node."""
        return self._loading is not None and not self._loading.done
