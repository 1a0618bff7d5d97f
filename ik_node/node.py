# SPDX-License-Identifier: Apache-2.0
"""The node `ik_node`: goals in, rate-limited joint commands out.

This module only connects the parts of the node: `ik_core.tracking` solves and keeps the limits,
`parameters` reads and checks the parameters, `inputs` has the robot description, the goals and
the measured states, `robot_swap` changes the robot, `control_loop` runs the ticks, `outputs` has
the messages and reports, and `run` the process.

The node is a lifecycle node. Configuring reads the parameters and loads the robot (or waits for
it on the topic robot_description), activating starts the commands. With `autostart` the node takes
both steps by itself. Ticks have a thread of their own, which also reads messages and does
housekeeping; callbacks never run at the same time (`ticker`). Without ticks, a timer reads
messages and does housekeeping. Background jobs load robots and import a solver's libraries
(`ik_core.jobs`).
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
from .inputs.scene_topics import SceneTopics
from .inputs.tf_frames import TfFrames
from .known_collisions import KnownCollisions
from .outputs.codes import StatusCode
from .outputs.collision_markers import PERIOD as COLLISIONS_PERIOD
from .outputs.collision_markers import CollisionMarkers
from .outputs.diagnostics import Diagnostics
from .outputs.goal_log import GoalLog, JogLog
from .outputs.goals_and_solution import SOLUTION_PERIOD, GoalsInForce, Solution
from .outputs.graph_watch import GRAPH_PERIOD, ClockLog, GraphWatch
from .outputs.markers import SAMPLING_PERIOD, Markers
from .outputs.obstacles import Obstacles
from .parameters.store import Parameters
from .robot_model import Model
from .robot_swap import RobotSwap
from .scene_reader import SceneReader
from .services.compute_ik import ComputeIk
from .services.controls import ANSWER_PERIOD, Controls
from .services.recording import RecordService
from .services.world import WorldServices
from .texts import MIDDLEWARE_ERRORS, explanation, sentence
from .ticker import Gate, Housekeeping

# [s] Period of the timer that reads messages and does housekeeping while there are no ticks.
HOUSEKEEPING_PERIOD = 0.05
HOUSEKEEPING_FRACTION = 0.3  # of a tick's period; no action begins later, as ticks come first
STATUS_PERIOD = 0.1
DIAGNOSTICS_PERIOD = 1.0
GARBAGE_PERIODS = (0.1, 1.0, 60.0)  # GC period [s] for generations 0, 1 and 2

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR


class IkNode(GuardedNode):
    """Follows goal poses with the joints of a robot.

    stopping : ends the process; when it is set, configuring fails

    Raises InvalidOption if the node is started with an invalid parameter.
    """

    def __init__(self, stopping: threading.Event | None = None, **options: Any) -> None:
        self._gate = Gate()  # first: rclpy's constructor reads default_callback_group
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
        self._collisions = KnownCollisions()
        self._description = Description(
            self,
            self._health,
            self._settings,
            self._stopping,
            self._keep_house,
            self._collisions,
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
        self.step, self.publish = self._motion.step, self._motion.publish  # a ticker.Worker

    def _make_services(self) -> None:
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
        self._robot_swap = RobotSwap(
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
        self._scene_topics = SceneTopics(self, self._moved, self._tf, self._scenes)
        self._world_services = WorldServices(self, self._moved, self._scenes)
        self._health.why_unknown = self._why_unknown

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
            (STATUS_PERIOD, self._goals.report_hands),
            (STATUS_PERIOD, self._health.publish_status),
            (STATUS_PERIOD, GoalsInForce(self, self._shown).publish),
            (STATUS_PERIOD, GoalLog(self, self._health, self._shown).follow),
            (STATUS_PERIOD, JogLog(self, self._health, self._shown).follow),
            (STATUS_PERIOD, ClockLog(self, self._clock_source).follow),
            (STATUS_PERIOD, self._interactive.follow),
            (STATUS_PERIOD, Obstacles(self, self._shown).follow),
            (COLLISIONS_PERIOD, self._collision_markers.follow),
            (DIAGNOSTICS_PERIOD, self._health.publish_diagnostics),
            (GRAPH_PERIOD, self._graph.follow),
            *((period, partial(gc.collect, i)) for i, period in enumerate(GARBAGE_PERIODS)),
        )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(HOUSEKEEPING_PERIOD, self._housekeeping, clock=steady)

    @property
    def default_callback_group(self) -> Gate:
        """The group of all callbacks, including those of parameters and of the lifecycle."""
        return self._gate

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """Set parameters all or none, as in rclpy; refuse unknown ones, with the closest names."""
        why = self._settings.why_unknown(parameter.name for parameter in parameter_list)
        if why:
            return SetParametersResult(successful=False, reason=why)
        return super().set_parameters_atomically(parameter_list)

    # Lifecycle

    def autostart(self) -> bool:
        """Configure and activate if `autostart` is true; return False if that failed."""
        if not self._settings.take().node.autostart:
            return True
        return self.trigger_configure() == SUCCESS and self.trigger_activate() == SUCCESS

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the parameters, and load the robot unless a topic has its description."""
        self._settings.locked = True
        self._clock_source.follow(self.get_parameter('use_sim_time').value)
        result = self._attempt(self._configure)
        if result != SUCCESS:
            self._tear_down()
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start publishing, as soon as there is a robot."""
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
        """Remove the robot; all parameters can change again."""
        return self._attempt(self._tear_down)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the joints to rest and remove the robot."""
        self._finished = True
        return self._attempt(self._tear_down)

    def finish(self) -> None:
        """Shut down, unless a transition did that before."""
        if not self._finished:
            self.trigger_shutdown()

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Go back to the unconfigured state."""
        return self._attempt(self._tear_down)

    def _attempt(self, action: Callable[[], None]) -> TransitionCallbackReturn:
        """Run the action of a transition, and log its exception, which rclpy would drop."""
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
        """Come to rest, and remove all markers."""
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
        loaded = self._description.open(parameters)
        if loaded is not None:
            self._robot_swap.install(loaded)
            self._description.taken(accepted=True)
        self._goals.open()
        self._examples.open()
        self._controls.open()
        self._compute_ik.open(parameters.node.compute_ik)
        self._scene_topics.open(parameters.node)
        self._world_services.open()
        self._recording.open()

    def _tear_down(self) -> None:
        """Close all parts; an error of one part is raised after all are closed."""
        with ExitStack() as last_to_first:
            last_to_first.callback(self._unlock)
            last_to_first.callback(self._robot_swap.forget)
            for part in (
                self._tf,
                self._compute_ik,
                self._scene_topics,
                self._world_services,
                self._controls,
                self._goals,
                self._examples,
                self._description,
                self._motion,
                self._recording,  # closed before the motion drops the model with the record
            ):
                last_to_first.callback(part.close)
            last_to_first.callback(self._leave)

    def _unlock(self) -> None:
        self._settings.locked = self._swapping = False

    # The robot

    def _moved(self) -> Model | None:
        """Return the robot model that is moved; None without a robot."""
        return self._motion.model

    def _shown(self) -> tuple[Model | None, Command | None]:
        """Return the robot model while it ticks, else None, and its last command."""
        return (self._moved() if self._motion.is_ticking else None), self._health.command

    def _ready(self) -> Model:
        """Return the robot model that goals are for; Refused while goals can't be followed."""
        model, state = self._motion.model, self._state()
        if state is StatusCode.WAITING_FOR_CLOCK and self._clock_source.has_begun:
            # Goals wait until the clock advances.
            state = self._feedback.obstacle or StatusCode.ACTIVE
        if model is None or state is not StatusCode.ACTIVE:
            raise Refused(state.key, state.text)
        unknown = self._why_unknown()
        if unknown:
            raise Refused('world_unknown', f'avoid: world: {unknown}')
        self._motion.take_parameters()  # parameters set before a goal apply to it
        return model

    def _why_unknown(self) -> str:
        """Return why the world that the motion avoids is not known; '' if it is."""
        model = self._motion.model
        return '' if model is None else self._scene_topics.why_unknown(model)

    def _take_loaded_robot(self) -> None:
        """Change to a robot that came by topic and is loaded, once the present one is at rest."""
        accepted = True
        try:
            loaded = self._description.loaded()
            if loaded is None:
                return
            self._robot_swap.check_topics(loaded.robot)
            if not self._motion.is_at_rest:
                self._swapping = True
                self._motion.come_to_rest()
                return
            self._stop()
            self._recording.finish()
            self._robot_swap.install(loaded)
        except Exception as error:  # on any error, the previous robot continues
            accepted = False
            model = self._motion.model
            kept = f'; {model.robot.name} is kept' if model else ''
            self._health.error(DESCRIPTION, f'{DESCRIPTION}: {explanation(error)}{kept}')
        self._description.taken(accepted)
        self._swapping = False
        self._start()

    # The ticks (a `ticker.Worker`), and housekeeping

    def _start(self) -> None:
        """Start to tick, if the node is active and the robot's position is known."""
        if self._active:
            self._motion.start(self)

    def _stop(self) -> None:
        if self._motion.is_ticking:
            self._motion.stop()
            self._keep_house()

    def prepare(self) -> None:
        """Handle the received messages."""
        self._description.poll()
        self._feedback.poll()
        self._examples.poll()
        self._scene_topics.apply_world()
        self._goals.poll()

    def rest(self) -> None:
        """Do housekeeping, in the time before the next tick."""
        model = self._motion.model
        if model is not None:
            self._housekeeping_actions.run(HOUSEKEEPING_FRACTION * model.tracker.period)

    def callback_failed(self, where: str, error: Exception) -> None:
        """Count an exception of a callback; a ValueError is taken for invalid input."""
        if isinstance(error, (ValueError, *MIDDLEWARE_ERRORS)):
            self._health.refuse(where, Refused('invalid', sentence(error)))
        else:
            self._health.error(where, f'{where}: {explanation(error)}')

    def failed(self, text: str) -> None:
        """Count an exception in a tick or in its preparation or housekeeping."""
        self._health.error('thread', text)

    def _housekeeping(self) -> None:
        """Read messages and do housekeeping while there are no ticks; take a loaded robot."""
        try:
            self._take_loaded_robot()
            self._start()  # it may have had to wait
            if self._motion.has_thread:
                if not self._description.is_loading:
                    self._timer.cancel()
                return
            self.prepare()
            self._housekeeping_actions.run(HOUSEKEEPING_PERIOD)
        except Exception:
            self._health.error('housekeeping', traceback.format_exc())

    def _keep_house(self) -> None:
        """Start the housekeeping timer; it cancels itself once ticks do its work."""
        self._timer.reset()
        if self.executor is not None:
            self.executor.wake()

    def _state(self) -> StatusCode:
        """Return the state of the node; if ACTIVE, the tracker's status has the details."""
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
