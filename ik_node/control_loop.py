# SPDX-License-Identifier: Apache-2.0
"""The control loop of a node: each tick takes one step of the tracker and publishes it when due.

Only the state of the tracker's governor is published. If anything fails in a tick, the governor
still takes a step: it brakes within the limits, and the next tick follows the goals again. Before
the node stops publishing, the joints brake to rest, and the next motion begins where they rest.
"""

from __future__ import annotations

import gc
import threading
import time
import traceback
from typing import Any

from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode

from ik_core.tracking import Command
from ik_core.tracking.instructions import Brake, SetGoal, SetTwist

from .clocks import NodeClock
from .committed_steps import CommittedSteps
from .conversions import Refused
from .inputs.configuration_history import ConfigurationHistory
from .inputs.examples import Examples
from .inputs.goal_topics import Goals
from .inputs.joint_states import FeedbackMonitor
from .inputs.tf_frames import TfFrames
from .outputs.commands import OUTPUTS, make_output
from .outputs.diagnostics import Diagnostics
from .outputs.output import Output
from .parameters.node_options import NodeParameters
from .parameters.store import Parameters
from .robot_model import Model
from .services.recording import RecordService
from .texts import EVERY_MESSAGE
from .ticker import SimulatedTicker, Ticker, Worker

LONG_STOP = 1.0  # [s] a stop that takes longer is announced
# [s] Goals are refused if a robot moved externally has not come to rest after this time.
PATIENCE = 2.0
# A message that was delayed while it was written is written anew, at most this often in a tick.
ATTEMPTS = 5
HELD_UP = 2_000_000  # [ns] a return message that took longer to write is not sent in this tick
MOVED_EXTERNALLY = Refused(
    'moved_externally',
    f'others move the robot, and it did not rest within {PATIENCE:g} s',
)
# Longest wait until the last message of a publisher has been received, before it is destroyed.
DELIVERY = Duration(seconds=1.0)


class ControlLoop:
    """Moves a robot model and publishes the commands of its joints.

    `open` makes the publisher, `set_model` chooses the robot model, `start` begins to tick and to
    publish. Callers hold `lock`. Each tick takes new instructions from `goals`, and compares the
    published command with the robot's states in `feedback`.
    """

    def __init__(
        self,
        node: LifecycleNode,
        lock: threading.RLock,
        clock: NodeClock,
        settings: Parameters,
        health: Diagnostics,
        frames: TfFrames,
        goals: Goals,
        examples: Examples,
        feedback: FeedbackMonitor,
        recording: RecordService,
        history: ConfigurationHistory,
    ) -> None:
        self._node, self._lock, self._clock = node, lock, clock
        self._settings, self._health, self._frames = settings, health, frames
        self._goals, self._feedback, self._recording = goals, feedback, recording
        self._examples, self._history = examples, history
        self._ticker: Ticker | SimulatedTicker | None = None
        self._publisher: Any = None
        self._output: Output | None = None
        self._last_tick = self._last_due = 0
        self._rested = False  # whether the joints were at rest before the step of this tick
        self._command: Command | None = None  # the step that is to be published
        self._positions: dict[str, float] = {}  # last commands of the joints of previous models
        self.model: Model | None = None

    def open(self, parameters: NodeParameters) -> None:
        """Make the publisher of the output that the parameters ask for."""
        output = OUTPUTS[parameters.node.output]
        self._publisher = self._node.create_lifecycle_publisher(output.kind, output.topic, 10)

    def set_model(self, model: Model | None) -> None:
        """Set the robot model that the next start moves; None for no robot."""
        self._positions = self.positions
        self.model = model

    @property
    def positions(self) -> dict[str, float]:
        """Last commanded positions of all joints moved in this process, by name."""
        model = self.model
        if model is None or not model.was_started:
            return self._positions
        return self._positions | model.positions

    def close(self) -> None:
        """Come to rest, keep the positions, drop the model, and destroy the publisher."""
        try:
            self.stop()
        finally:
            self._positions = self.positions
            publisher, self._publisher = self._publisher, None
            self._output = self.model = None
            if publisher is not None:
                publisher.wait_for_all_acked(DELIVERY)  # the last command: the joints rest
                self._node.destroy_lifecycle_publisher(publisher)

    def start(self, worker: Worker) -> bool:
        """Start to call the worker, if the robot's position is known; return whether it ticks."""
        model = self.model
        if model is None or self._ticker is not None:
            return self._ticker is not None
        is_known, due = self._feedback.begin(model)
        if not is_known:
            return False
        model.apply(*due)
        model.was_started, model.activated_at, self._last_tick = True, model.q, 0
        self._output = make_output(model)
        self._recording.begin(model)
        self._health.publish_diagnostics()  # a process's first one takes as long as many ticks
        self._health.meter.restart()
        gc.collect()
        self._ticker = self._new_ticker(model.parameters.node.rate, worker)
        gc.freeze()  # the collector skips the objects of now, which stay
        gc.disable()  # housekeeping collects, so that it does not happen in a tick
        topic, rate = self._node.resolve_topic_name(self._output.topic), model.parameters.node.rate
        log, output = self._node.get_logger(), model.parameters.node.output
        if output != 'joint_trajectory':
            log.info(f'output: {output}: {EVERY_MESSAGE}')
        when = '' if self._clock.has_begun else ', as soon as /clock runs (use_sim_time is true)'
        log.info(f'ready: publishing {topic} at {rate:g} Hz{when}')
        return True

    def stop(self) -> None:
        """Come to rest and end the ticks."""
        if self._ticker is None or self.model is None:
            return
        try:
            self.come_to_rest()
            self._tick_until_rest(self.model)
        finally:
            ticker, self._ticker = self._ticker, None
            ticker.stop()
            gc.enable()
            gc.unfreeze()

    @property
    def is_ticking(self) -> bool:
        """True if ticks run."""
        return self._ticker is not None

    @property
    def has_thread(self) -> bool:
        """True if ticks have their own thread, which also reads messages and does housekeeping."""
        return isinstance(self._ticker, Ticker)

    @property
    def is_at_rest(self) -> bool:
        """True if no joint is commanded to move."""
        return self.model is None or self.model.at_rest

    def come_to_rest(self) -> None:
        """Stop the motion, and drop all goals, including those that no tick has taken yet."""
        self._goals.drop()
        if self.model is not None:
            self.model.tracker.stop()

    def step(self) -> None:
        """Take one step of the tracker; after an error, brake for one step."""
        model, self._command = self.model, None
        if model is None:
            return
        self._end_alignment(model)
        self._rested = model.at_rest
        try:
            self._command = self._advance(model)
        except Exception:
            self._failed(f'braking, after an error: {traceback.format_exc()}')
            self._command = self._brake(model)

    def publish(self, due: int) -> int:
        """Publish the command of the last step, for the deadline `due` [ns].

        Returns the deadline that was served: a later one if that has passed meanwhile.
        """
        model, command = self.model, self._command
        if model is None:
            return due
        try:
            self._send(model, due)
            if command is not None:
                self._report(model, command)
                served, now = 1e-9 * self._last_due, self._clock.seconds()
                model.apply(*self._feedback.compare(model, command, served, now))
        except Exception:  # the command of this deadline was published or not; neither changes
            self._failed(traceback.format_exc())
        return self._last_due

    def take_parameters(self) -> None:
        """Apply changed parameters to the model; log an error in them, and move on without."""
        if self.model is None or not self._settings.changed:
            return
        try:
            self.model.set_parameters(self._settings.take())
        except Exception:
            self._health.error('parameters', f'parameters: {traceback.format_exc()}')

    def published(self) -> tuple[str, tuple[str, ...]]:
        """Return the topic of the commands and their joints; '' and () while there are none."""
        model = self.model
        if self._ticker is None or self._output is None or model is None:
            return '', ()
        every = (*model.robot.joint_names, *model.robot.mimic_joints)
        return self._output.topic, tuple(model.command_joints) or every

    def _new_ticker(self, rate: float, worker: Worker) -> Ticker | SimulatedTicker:
        meter = self._health.meter
        if self._clock.simulated:
            return SimulatedTicker(self._node, self._node.get_clock(), rate, worker, meter)
        return Ticker(rate, worker, meter, self._lock)

    def _advance(self, model: Model) -> Command:
        self.take_parameters()
        now = self._clock.now()
        if now < self._last_tick:
            self._on_jump_back()
        self._last_tick = now
        self._change_solver(model)
        model.set_speed_factor(self._feedback.speed_factor)
        self._examples.pass_to(model)
        if self._feedback.moved_externally:
            self._goals.lose_hands()
            self._goals.refuse_older_than(PATIENCE, MOVED_EXTERNALLY)
            return model.tick(1e-9 * now, [Brake()])
        if self._feedback.must_brake:
            self._goals.lose_hands()
            return model.tick(1e-9 * now, [*self._goals.take(1e-9 * now), Brake()])
        command = model.tick(1e-9 * now, self._goals.take(1e-9 * now))
        self._goals.follow_up(command)
        return command

    def _report(self, model: Model, command: Command) -> None:
        """Keep the command for status messages, and report the goals that the tracker refused."""
        self._health.record(command)
        for goal, error in command.refused:
            of_tip = isinstance(goal, SetGoal | SetTwist)
            where = model.tip_links[int(goal.tip)] if of_tip else 'goals'
            self._health.refuse(where, Refused('invalid', str(error)))

    def _end_alignment(self, model: Model) -> None:
        """Give the joints to the tracker once they are in line; an error is retried later."""
        try:
            model.end_alignment()
        except Exception:
            self._failed(traceback.format_exc())

    def _change_solver(self, model: Model) -> None:
        """Switch to the requested solver once it is loaded."""
        try:
            if model.change_solver():
                text = f'solver {model.parameters.node.solver} is used now'
                texts = filter(None, (text, model.tracker.solver_note))
                self._node.get_logger().info('; '.join(texts))
        except Exception:
            self._health.error('parameters', f'solver: {traceback.format_exc()}')

    def _now(self, due: int) -> int:
        """Return the present time [ns]; simulated time stands still at `due` during a tick."""
        return due if self._clock.simulated else self._clock.now()

    def _failed(self, text: str) -> None:
        self._health.error('tick', text)

    def _brake(self, model: Model) -> Command | None:
        """Brake for one period, whatever the state of the tracker; return its command, if any."""
        try:
            return model.tick(self._clock.seconds(), [Brake()])
        except Exception:
            model.governor.begin_tick()
            model.governor.give_up()
        return None

    def _tick_until_rest(self, model: Model) -> None:
        """Tick on this thread, without a ticker, until the joints rest."""
        wake, period = time.monotonic(), model.tracker.period
        seconds = model.mover.stopping_time
        if seconds > LONG_STOP:
            self._node.get_logger().info(f'coming to rest takes up to {seconds:.1f} s')
        while not self.is_at_rest:
            wake += period
            time.sleep(max(wake - time.monotonic(), 0.0))
            try:
                self.step()
                self.publish(self._last_due + round(1e9 * period))
            except Exception:  # the step itself was taken
                self._health.error('thread', traceback.format_exc())

    def _on_jump_back(self) -> None:
        self._health.warn('clock', 'the clock jumped back: stopping, goals are dropped')
        self.come_to_rest()
        self._frames.renew()  # its transforms have stamps of the future now

    def _send(self, model: Model, due: int) -> None:
        """Publish the command for the deadline `due` [ns], or for a later one that has passed.

        A message that was delayed on its way to the middleware is dropped and written again. After
        an exception nothing is published, and the joints keep to the last message.
        """
        self._last_due, output = due, self._output
        if output is None:
            return
        steps = CommittedSteps(model.mover, self._failed)
        has_stepped, finished = True, 0
        try:
            for _ in range(ATTEMPTS):
                due = output.simulate_missed(steps, due, self._now(due), has_stepped=has_stepped)
                self._last_due, moment = due, self._clock.moment(due)
                message = output.write(model.governor, moment)
                if not self._feedback.may_publish(model, self._rested):
                    break
                # Nothing may stand between this check and publish: a stall there goes undetected.
                if self._now(due) < output.latest:
                    self._publisher.publish(message)
                    finished = self._now(due)
                    break
                output.drop(steps)
                has_stepped = False
            else:
                return  # the controller executes the stop of its last trajectory
        except Exception:
            output.drop(steps)
            raise
        output.sent()
        self._history.add_command(moment.stamp, model.q)
        if finished >= output.latest:
            self._note_held_up()
        lead = self._feedback.due_return(model)
        if lead is not None:
            now = self._now(due)
            message = output.write_return(lead.q, lead.seconds, self._clock.moment(now))
            if self._now(due) - now < HELD_UP:  # else the next tick sends it: its end is absolute
                self._publisher.publish(message)
                self._feedback.note_return_sent()

    def _note_held_up(self) -> None:
        """Count a message that may have been published too late: it can't be taken back."""
        self._health.held_up += 1
        self._health.warn(
            'held_up',
            'this process stood still while a message was published: if it came too late, joints '
            'moved faster than their limits for one update',
        )
