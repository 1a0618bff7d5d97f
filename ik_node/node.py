# SPDX-License-Identifier: Apache-2.0
"""The node `ik_node`: goals in, rate-limited joint commands out.

This module only wires. What is decided elsewhere: solving and limits in `ik_core.tracking`,
parameters in `parameters`, where the robot comes from and which goals are taken in `inputs`, what
another robot changes in `installation`, the ticks in `control_loop`, what is published and
reported in `outputs`, the process in `run`.

The node is a lifecycle node. Configuring reads the parameters and loads the robot (or waits for
it on the topic robot_description), activating starts the joint states. With `autostart` it takes
both steps by itself. Ticks, and messages and chores between them, have a thread of their own, and
never run while a callback does; while there are no ticks, a timer does the rest (`ticker`).
Loading a robot and importing a solver's libraries run beside both (`ik_core.jobs`).
"""

from __future__ import annotations

import gc
import threading
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter

from ik_core import IkError
from ik_core.kernels import library
from ik_core.tracking import Command

from .clocks import NodeClock
from .control_loop import ControlLoop
from .conversions import Refused
from .guarded import GuardedNode
from .inputs.configuration_history import ConfigurationHistory
from .inputs.examples import Examples
from .inputs.goal_topics import Goals
from .inputs.interactive_goals import InteractiveGoals
from .inputs.joint_states import FeedbackMonitor
from .inputs.robot_description import TOPIC as DESCRIPTION
from .inputs.robot_description import Description
from .inputs.tf_frames import TfFrames
from .installation import Installation
from .known_collisions import KnownCollisions
from .outputs.codes import StatusCode
from .outputs.collision_markers import PERIOD as COLLISIONS_PERIOD
from .outputs.collision_markers import CollisionMarkers
from .outputs.diagnostics import Diagnostics
from .outputs.goal_log import GoalLog, JogLog
from .outputs.goals_and_solution import SOLUTION_PERIOD, GoalsInForce, Solution
from .outputs.graph_watch import GRAPH_PERIOD, ClockLog, GraphWatch
from .outputs.markers import SAMPLING_PERIOD, Markers
from .parameters.store import Parameters
from .robot_model import Model
from .scene_reader import SceneReader
from .services.compute_ik import ComputeIk
from .services.controls import ANSWER_PERIOD, Controls
from .services.recording import RecordService
from .texts import MIDDLEWARE_ERRORS, explanation, sentence
from .ticker import Gate, Housekeeping

# [s] Period of the timer that takes messages and does housekeeping while there are no ticks.
HOUSEKEEPING_PERIOD = 0.05
HOUSEKEEPING_SHARE = 0.3  # share of a tick's period after which no housekeeping begins
STATUS_PERIOD = 0.1
DIAGNOSTICS_PERIOD = 1.0
GARBAGE_PERIODS = (0.1, 1.0, 60.0)  # GC period [s] for generations 0, 1 and 2

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR


class IkNode(GuardedNode):
    """Follows goal poses with the joints of a robot.

    `stopping` is the event that ends the process; configuring gives up when it is set. Raises
    InvalidOption when a parameter that the node was started with is refused.
    """

    def __init__(self, stopping: threading.Event | None = None, **options: Any) -> None:
        self._gate = Gate()  # before anything of the node can ask for it
        super().__init__('ik_node', **options)
        self._stopping = stopping or threading.Event()
        self._active = self._swapping = self._finished = False
        self._make_inputs()
        self._make_motion()
        self._make_services()
        self._make_housekeeping()

    def _make_inputs(self) -> None:
        self._clock_source = NodeClock(self)
        self._settings = Parameters(self)
        self._health = Diagnostics(self, self._state)
        self._tf = TfFrames(self)
        self._description = Description(
            self, self._health, self._settings, self._stopping, self._keep_house
        )
        seconds = self._clock_source.seconds
        self._history = ConfigurationHistory(lambda: self.get_clock().now().nanoseconds)
        self._feedback = FeedbackMonitor(self, self._health, seconds, self._history)
        self._goals = Goals(self, self._health, self._ready, seconds, self._tf, self._history)
        self._examples = Examples(self, self._health, self._ready)

    def _make_motion(self) -> None:
        self._recording = RecordService(self, self._moved)
        self._motion = ControlLoop(
            self,
            self._gate.lock,
            self._clock_source,
            self._settings,
            self._health,
            self._tf,
            self._goals,
            self._examples,
            self._feedback,
            self._recording,
            self._history,
        )
        self.step, self.publish = self._motion.step, self._motion.publish  # of a ticker.Worker

    def _make_services(self) -> None:
        self._collisions = KnownCollisions()
        self._controls = Controls(
            self,
            self._clock_source,
            self._moved,
            self._motion.come_to_rest,
            self._goals.go_home,
            self._feedback,
        )
        menu = {
            'Reset: drop the goals': self._controls.reset,
            'Pause': lambda: self._controls.pause(True),
            'Resume': lambda: self._controls.pause(False),
            'Home': self._goals.go_home,
        }
        self._interactive = InteractiveGoals(self, self._health, self._goals, menu)
        self._installation = Installation(
            self,
            self._settings,
            self._health,
            self._motion,
            self._goals,
            self._feedback,
            self._interactive,
        )
        self._scenes = SceneReader(self._collisions)
        self._compute_ik = ComputeIk(self, self._moved, self._tf, self._scenes)

    def _make_housekeeping(self) -> None:
        self._markers = Markers(self, self._shown)
        self._collision_markers = CollisionMarkers(
            self, self._health, self._shown, self._collisions
        )
        self._graph = GraphWatch(self, self._health, self._motion.published)
        self._housekeeping_actions = Housekeeping(
            (SOLUTION_PERIOD, Solution(self, self._shown).publish),
            (SAMPLING_PERIOD, self._markers.sample),
            (ANSWER_PERIOD, self._controls.answer),
            (STATUS_PERIOD, self._health.publish_status),
            (STATUS_PERIOD, GoalsInForce(self, self._shown).publish),
            (STATUS_PERIOD, GoalLog(self, self._health, self._shown).follow),
            (STATUS_PERIOD, JogLog(self, self._health, self._shown).follow),
            (STATUS_PERIOD, ClockLog(self, self._clock_source).follow),
            (STATUS_PERIOD, self._interactive.follow),
            (COLLISIONS_PERIOD, self._collision_markers.follow),
            (DIAGNOSTICS_PERIOD, self._health.publish_diagnostics),
            (GRAPH_PERIOD, self._graph.follow),
            *((period, partial(gc.collect, i)) for i, period in enumerate(GARBAGE_PERIODS)),
        )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(HOUSEKEEPING_PERIOD, self._housekeeping, clock=steady)

    @property
    def default_callback_group(self) -> Gate:
        """The group of all callbacks, those of parameters and of the lifecycle included."""
        return self._gate

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """See rclpy, whose services answer by this; what there is not is refused by its name."""
        why = self._settings.why_unknown(parameter.name for parameter in parameter_list)
        if why:
            return SetParametersResult(successful=False, reason=why)
        return super().set_parameters_atomically(parameter_list)

    # Lifecycle

    def autostart(self) -> bool:
        """Configure and activate if the parameter asks for it; false when that failed."""
        if not self._settings.take().node.autostart:
            return True
        return self.trigger_configure() == SUCCESS and self.trigger_activate() == SUCCESS

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the parameters, and the robot unless it comes by topic."""
        self._settings.locked = True
        self._clock_source.follow(self.get_parameter('use_sim_time').value)
        result = self._attempt(self._configure)
        if result != SUCCESS:
            self._tear_down()
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start publishing; without a robot yet, as soon as there is one."""
        result = super().on_activate(state)
        if result != SUCCESS:
            return result
        self._active = True
        result = self._attempt(self._start)
        if result != SUCCESS:
            self._active = False
            super().on_deactivate(state)
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the joints to rest and stop publishing."""
        result = self._attempt(self._leave)
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
        """Do what a transition asks for; rclpy would drop the exception unseen."""
        try:
            with self._gate.lock:  # a transition may come from outside the executor
                action()
        except Exception as error:
            foreseen = isinstance(error, (IkError, *MIDDLEWARE_ERRORS))
            log = self.get_logger()
            (log.info if self._stopping.is_set() else log.error)(explanation(error))
            return FAILURE if foreseen else ERROR
        return SUCCESS

    def _leave(self) -> None:
        """Come to rest, and show nothing any more."""
        try:
            self._stop()
        finally:
            self._active = False
            self._controls.answer()
            self._markers.clear()
            self._collision_markers.clear()

    def _configure(self) -> None:
        log = self.get_logger()
        (log.warning if library.IS_UNINTENDED else log.info)(library.report())
        parameters = self._settings.take()
        self._motion.open(parameters)
        self._tf.open()
        robot = self._description.open(parameters)
        if robot is not None:
            self._installation.install(robot)
            self._description.taken(accepted=True)
        self._goals.open()
        self._examples.open()
        self._controls.open()
        self._compute_ik.open(parameters.node.compute_ik)
        self._recording.open()

    def _tear_down(self) -> None:
        """Close all parts; what one of them raises keeps no other open, and is raised after."""
        with ExitStack() as last_to_first:
            last_to_first.callback(self._unlock)
            last_to_first.callback(self._installation.forget)
            for part in (
                self._tf,
                self._compute_ik,
                self._controls,
                self._goals,
                self._examples,
                self._description,
                self._motion,
                self._recording,  # before the motion forgets what was recorded
            ):
                last_to_first.callback(part.close)
            last_to_first.callback(self._leave)

    def _unlock(self) -> None:
        self._settings.locked = self._swapping = False

    # The robot

    def _moved(self) -> Model | None:
        """The model that is moved; None without a robot."""
        return self._motion.model

    def _shown(self) -> tuple[Model | None, Command | None]:
        """The model while it ticks, and its last command."""
        return (self._moved() if self._motion.is_ticking else None), self._health.command

    def _ready(self) -> Model:
        """The model that goals are for; Refused while they can't be followed."""
        model, state = self._motion.model, self._state()
        if state is StatusCode.WAITING_FOR_CLOCK and self._clock_source.has_begun:
            state = self._feedback.obstacle or StatusCode.ACTIVE  # goals wait until it goes on
        if model is None or state is not StatusCode.ACTIVE:
            raise Refused(state.key, state.text)
        self._motion.take_parameters()  # so goals count as the parameters set before them say
        return model

    def _take_loaded_robot(self) -> None:
        """Move a robot that came by topic and is loaded, once the one before is at rest."""
        accepted = True
        try:
            robot = self._description.loaded()
            if robot is None:
                return
            self._installation.check_topics(robot)
            if not self._motion.is_at_rest:
                self._swapping = True
                self._motion.come_to_rest()
                return
            self._stop()
            self._recording.finish()
            self._installation.install(robot)
        except Exception as error:  # whatever it is, the robot before goes on
            accepted = False
            model = self._motion.model
            kept = f'; {model.robot.name} is kept' if model else ''
            self._health.error(DESCRIPTION, f'{DESCRIPTION}: {explanation(error)}{kept}')
        self._description.taken(accepted)
        self._swapping = False
        self._start()

    # The ticks, see `ticker.Worker`, and everything that is not urgent

    def _start(self) -> None:
        """Tick, if the node is active and knows where the robot is; tried again until then."""
        if self._active:
            self._motion.start(self)

    def _stop(self) -> None:
        if self._motion.is_ticking:
            self._motion.stop()
            self._keep_house()

    def prepare(self) -> None:
        """Handle the messages that came."""
        self._description.poll()
        self._feedback.poll()
        self._examples.poll()
        self._goals.poll()

    def rest(self) -> None:
        """Housekeeping, as far as there is time before the next tick."""
        model = self._motion.model
        if model is not None:
            self._housekeeping_actions.run(HOUSEKEEPING_SHARE * model.tracker.period)

    def callback_failed(self, where: str, error: Exception) -> None:
        """Count what a callback should not have raised; ValueError: of what it was called with."""
        if isinstance(error, (ValueError, *MIDDLEWARE_ERRORS)):
            self._health.refuse(where, Refused('invalid', sentence(error)))
        else:
            self._health.error(where, f'{where}: {explanation(error)}')

    def failed(self, text: str) -> None:
        """Count an exception that came out of a tick or of what goes with it."""
        self._health.error('thread', text)

    def _housekeeping(self) -> None:
        """Do the work of ticks while there are none, and the work that can't be done beside the
        executor.
        """
        try:
            self._take_loaded_robot()
            self._start()  # where it had to wait
            if self._motion.has_thread:
                if not self._description.is_loading:
                    self._timer.cancel()
                return
            self.prepare()
            self._housekeeping_actions.run(HOUSEKEEPING_PERIOD)
        except Exception:
            self._health.error('housekeeping', traceback.format_exc())

    def _keep_house(self) -> None:
        """Run the timer until it is not needed any more."""
        self._timer.reset()
        if self.executor is not None:
            self.executor.wake()

    def _state(self) -> StatusCode:
        """The state of the node; ACTIVE where the tracker knows more."""
        if not self._settings.locked:
            return StatusCode.UNCONFIGURED
        if self._motion.model is None:
            return StatusCode.NO_MODEL
        if not self._active:
            return StatusCode.INACTIVE
        if self._clock_source.stands_still:
            return StatusCode.WAITING_FOR_CLOCK
        if self._swapping:
            return StatusCode.MODEL_SWAP
        return self._feedback.obstacle or StatusCode.ACTIVE
