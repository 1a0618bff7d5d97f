# SPDX-License-Identifier: Apache-2.0
"""Whether the controller that gets our commands is active, as the controller manager reports.

For where controller_manager_msgs is installed; elsewhere the states of the robot have to show it.
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
    """Listens to a controller manager while open."""

    def __init__(self, node: Node, health: Diagnostics, seconds: Callable[[], float]) -> None:
        self._node, self._seconds = node, seconds
        self._input = Inputs(node, health)
        self._controller = ''
        self.is_off = False
        """Whether the controller is known, and not active."""
        self.active_since = -math.inf
        """[s] When the controller was found active again."""

    def open(self, topic: str) -> None:
        """Listen for the controller whose topic this is, in place of the one before."""
        self.close()
        namespace = self._node.resolve_topic_name(topic).rpartition('/')[0]
        self._controller = namespace.rpartition('/')[2]
        try:
            messages = importlib.import_module('controller_manager_msgs.msg')
        except ImportError:
            return
        kind = getattr(messages, 'ControllerManagerActivity', None)  # Humble's has none
        if kind is not None:
            self._input.listen(kind, TOPIC, self._take, LATCHED, LARGEST_ACTIVITY)

    def poll(self) -> None:
        """Handle what came."""
        self._input.poll()

    def close(self) -> None:
        """Stop listening, and forget what came."""
        self._input.close()
        self.is_off, self.active_since = False, -math.inf

    def _take(self, message: Any) -> None:
        labels = {each.name: each.state.label for each in message.controllers}
        was_off, self.is_off = self.is_off, labels.get(self._controller, 'active') != 'active'
        if was_off and not self.is_off:
            self.active_since = self._seconds()
