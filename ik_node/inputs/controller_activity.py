# SPDX-License-Identifier: Apache-2.0
"""The activity of the controller that gets our commands, as its controller manager reports it.

Needs controller_manager_msgs. Without it, only the robot's states show that it does not follow.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from ..outputs.diagnostics import Diagnostics
from .subscriptions import Inputs

TOPIC = 'controller_manager/activity'
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Largest message [bytes] with the states of all controllers and hardware.
LARGEST_ACTIVITY = 200_000


class ControllerActivity:
    """Reads the reports of a controller manager.

    `is_off` : whether the controller is known not to be active
    `active_since` [s] : when the controller was reported active again
    """

    def __init__(self, node: Node, health: Diagnostics, seconds: Callable[[], float]) -> None:
        self._node, self._seconds = node, seconds
        self._input = Inputs(node, health)
        self._controller = ''
        self.is_off = False
        self.active_since = -math.inf

    def open(self, topic: str) -> None:
        """Subscribe for the controller of this command topic, in place of the previous one."""
        self.close()
        namespace = self._node.resolve_topic_name(topic).rpartition('/')[0]
        self._controller = namespace.rpartition('/')[2]
        try:
            messages = importlib.import_module('controller_manager_msgs.msg')
        except ImportError:
            return
        kind = getattr(messages, 'ControllerManagerActivity', None)  # missing in Humble
        if kind is not None:
            self._input.listen(kind, TOPIC, self._take, LATCHED, LARGEST_ACTIVITY)

    def poll(self) -> None:
        """Handle the received messages."""
        self._input.poll()

    def close(self) -> None:
        """Unsubscribe, and reset the state."""
        self._input.close()
        self.is_off, self.active_since = False, -math.inf

    def _take(self, message: Any) -> None:
        labels = {each.name: each.state.label for each in message.controllers}
        was_off, self.is_off = self.is_off, labels.get(self._controller, 'active') != 'active'
        if was_off and not self.is_off:
            self.active_since = self._seconds()
