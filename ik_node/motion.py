"""The motion of a node: each tick takes one step of the tracker and publishes it."""

from __future__ import annotations

import gc
import threading
import time
import traceback
from typing import Any

import numpy as np
from rclpy.lifecycle import LifecycleNode

from ik_core.maths.rotations import Array

from .clocks import NodeClock
from .inputs.frames import TfFrames
from .inputs.goals import Goals
from .inputs.joint_states import StartState
from .model import Model
from .outputs.commands import OUTPUTS, Output, make_output
from .outputs.diagnostics import Diagnostics
from .outputs.rivals import rivals
from .parameters.options import NodeParameters
from .parameters.store import Parameters
from .services.recording import Recording
from .ticker import SimulatedTicker, Ticker, Worker

STOPPING_TIME = 0.5
"""Seconds that a node which stops publishing may take to bring the joints to rest."""
AT_REST = 1e-9
"""Speeds below this [rad/s or m/s] are rest."""


class Motion:
    """Moves a model, and publishes where its joints are to be.

    Open, it has a publisher; shown a model, it can start ticking, and publishes from then on. The
    holder of `lock` calls its methods. `start_state`, `goals` and `recording` are what each tick
    hears from, and tells.
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
        start_state: StartState,
        recording: Recording,
    ) -> None:
        self._node, self._lock, self._clock = node, lock, clock
        self._settings, self._health, self._frames = settings, health, frames
        self._goals, self._start_state, self._recording = goals, start_state, recording
        self._ticker: Ticker | SimulatedTicker | None = None
        self._publisher: Any = None
        self._output: Output | None = None
        self._last_tick = 0
        self.model: Model | None = None

    def open(self, parameters: NodeParameters) -> None:
        """Make the publisher of the output that the parameters ask for."""
        output = OUTPUTS[parameters.node.output]
        self._publisher = self._node.create_lifecycle_publisher(output.kind, output.topic, 10)

    def show(self, model: Model | None) -> None:
        """Move this model from the next start on; None: nothing."""
        self._output = make_output(model) if model else None
        self.model = model

    def close(self) -> None:
        """Come to rest, forget the model, and unpublish."""
        self.stop()
        if self._publisher is not None:
            self._node.destroy_lifecycle_publisher(self._publisher)
        self._publisher = self._output = self.model = None

    def start(self, worker: Worker) -> bool:
        """Let a ticker run the worker, once it is known where the robot is; whether it does."""
        model = self.model
        if model is None or self._ticker is not None or not self._start_state.begin(model):
            return self._ticker is not None
        self._last_tick = 0
        self._recording.begin(model)
        self._health.meter.restart()
        gc.collect()
        gc.freeze()  # what is there now stays: the collector need not look at it in every tick
        self._ticker = self._new_ticker(model.parameters.node.rate, worker)
        topic, rate = self._topic(), model.parameters.node.rate
        self._node.get_logger().info(f'ready: publishing {topic} at {rate:g} Hz')
        return True

    def stop(self) -> None:
        """Come to rest and end the ticks."""
        if self._ticker is None or self.model is None:
            return
        self.come_to_rest()
        deadline = time.monotonic() + STOPPING_TIME
        while not self.is_at_rest and time.monotonic() < deadline:
            self.tick()
            time.sleep(self.model.tracker.period)
        self._ticker.stop()
        self._ticker = None
        gc.unfreeze()

    @property
    def is_ticking(self) -> bool:
        """Whether there is a ticker."""
        return self._ticker is not None

    @property
    def has_thread(self) -> bool:
        """Whether the ticks have a thread of their own, which takes messages and does chores."""
        return isinstance(self._ticker, Ticker)

    @property
    def is_at_rest(self) -> bool:
        """Whether no joint is commanded to move."""
        return self.model is None or not np.any(np.abs(self.model.tracker.dq) > AT_REST)

    def come_to_rest(self) -> None:
        """Drop all goals, those that no tick has taken yet too."""
        self._goals.drop()
        if self.model is not None:
            self.model.stop()

    def tick(self) -> None:
        """One step of the tracker, published; after an error, the last position."""
        model = self.model
        if model is None:
            return
        try:
            self._step(model)
        except Exception:
            self._health.error('tick', f'holding, after an error: {traceback.format_exc()}')
            self._publish(model.hold(), np.zeros(model.robot.n))

    def look_for_rivals(self) -> None:
        """Warn of other publishers of joint_states, while this one publishes them."""
        if self._ticker is None or self._output is None or self._output.topic != 'joint_states':
            return
        others = rivals(self._node, self._output.topic)
        if others:
            text = f'{self._topic()} has other publishers too: {", ".join(others)}'
            self._health.warn('rivals', text)

    def _new_ticker(self, rate: float, worker: Worker) -> Ticker | SimulatedTicker:
        meter = self._health.meter
        if self._clock.simulated:
            return SimulatedTicker(self._node, self._node.get_clock(), rate, worker, meter)
        return Ticker(rate, worker, meter, self._lock)

    def _topic(self) -> str:
        return self._node.resolve_topic_name(self._output.topic) if self._output else ''

    def _step(self, model: Model) -> None:
        if self._settings.changed:
            model.apply(self._settings.take())
        now = self._clock.now()
        if now < self._last_tick:
            self._on_jump_back()
        self._last_tick = now
        self._goals.give(model)
        command = model.tracker.tick(1e-9 * now)
        self._publish(command.q, command.dq)
        self._health.record(command)
        self._start_state.compare(model, command, 1e-9 * now)
        self._recording.begin_due_segment(model)

    def _on_jump_back(self) -> None:
        self._health.warn('clock', 'the clock jumped back: stopping, goals are dropped')
        self.come_to_rest()
        self._frames.close()  # what it knows is of the time before

    def _publish(self, q: Array, dq: Array) -> None:
        if self._output is not None:
            self._publisher.publish(self._output.write(q, dq, self._clock.stamp()))
