# SPDX-License-Identifier: Apache-2.0
"""The fraction of its speed at which a controller runs trajectories, as it reports.

A JointTrajectoryController with speed scaling reads the fraction from its hardware, for example
from the slider of a teach pendant, and publishes it in `controller_state`. For where control_msgs
is installed; that of Humble does not have the fraction.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from ..outputs.diagnostics import Diagnostics
from .subscriptions import Inputs

LATEST = QoSProfile(depth=1)
LARGEST_STATE = 200_000  # largest message [bytes]: six points for more than a thousand joints
LEAST = 0.01  # smaller fractions count as this one: a robot that stands does not follow
INTERVAL = 0.05  # [s] the state is read so often: a controller publishes it in each of its cycles
STEP = 0.02  # a fraction counts as the next lower multiple of this: measured ones are never steady
FASTER = 2.5 * STEP  # the fraction in force rises by more than this, or to 1; it falls by any step


class SpeedScaling:
    """Listens to a controller's state while open. `factor`: the fraction in force."""

    def __init__(self, node: Node, health: Diagnostics, seconds: Callable[[], float]) -> None:
        self._node, self._input, self._seconds = node, Inputs(node, health), seconds
        self.factor, self._polled = 1.0, -math.inf

    def open(self, topic: str) -> None:
        """Listen to the controller whose topic this is, in place of the one before."""
        self.close()
        controller = self._node.resolve_topic_name(topic).rpartition('/')[0]
        try:
            messages = importlib.import_module('control_msgs.msg')
        except ImportError:
            return
        kind = getattr(messages, 'JointTrajectoryControllerState', None)
        if kind is not None:
            name = f'{controller}/controller_state'
            self._input.listen(kind, name, self._take, LATEST, LARGEST_STATE)

    def poll(self) -> None:
        """Handle what came, once in an interval."""
        now = self._seconds()
        if not self._polled <= now < self._polled + INTERVAL:
            self._polled = now
            self._input.poll()

    def close(self) -> None:
        """Stop listening, and forget what came."""
        self._input.close()
        self.factor, self._polled = 1.0, -math.inf

    def _take(self, message: Any) -> None:
        factor = getattr(message, 'speed_scaling_factor', 1.0)
        if not math.isfinite(factor):
            return
        factor = min(max(STEP * math.floor(factor / STEP + 1e-6), LEAST), 1.0)
        if factor < self.factor or factor > self.factor + FASTER or factor == 1.0:
            self.factor = factor
