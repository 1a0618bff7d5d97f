# SPDX-License-Identifier: Apache-2.0
"""The speed scaling of a trajectory controller: the fraction of full speed that it reports.

A JointTrajectoryController with speed scaling reads the fraction from its hardware, for example
from the slider of a teach pendant, and publishes it in `controller_state`. Needs control_msgs;
Humble's has no such field.
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
LEAST = 0.01  # smallest fraction: at 0 the command would stop, and never start again
INTERVAL = 0.05  # [s] period of reading the state, which a controller publishes in each cycle
STEP = 0.02  # fractions are rounded down to multiples of this, since measured ones are noisy
FASTER = 2.5 * STEP  # the fraction rises only by more than this, or to 1; it falls by any step


class SpeedScaling:
    """Reads a controller's state; `factor` is the fraction in use."""

    def __init__(self, node: Node, health: Diagnostics, seconds: Callable[[], float]) -> None:
        self._node, self._input, self._seconds = node, Inputs(node, health), seconds
        self.factor, self._polled = 1.0, -math.inf

    def open(self, topic: str) -> None:
        """Subscribe for the controller of this command topic, in place of the previous one."""
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
        """Handle the received messages, once per INTERVAL."""
        now = self._seconds()
        if not self._polled <= now < self._polled + INTERVAL:
            self._polled = now
            self._input.poll()

    def close(self) -> None:
        """Unsubscribe, and reset the fraction to 1."""
        self._input.close()
        self.factor, self._polled = 1.0, -math.inf

    def _take(self, message: Any) -> None:
        factor = getattr(message, 'speed_scaling_factor', 1.0)
        if not math.isfinite(factor):
            return
        factor = min(max(STEP * math.floor(factor / STEP + 1e-6), LEAST), 1.0)
        if factor < self.factor or factor > self.factor + FASTER or factor == 1.0:
            self.factor = factor
