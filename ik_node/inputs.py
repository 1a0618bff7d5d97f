"""Subscriptions that no message can bring down."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from ik_core.exceptions import InvalidGoal

from .conversions import Refused
from .diagnostics import Diagnostics


class Inputs:
    """Subscriptions of a node that come and go together.

    Whatever a message does, the node goes on: what a handler refuses is counted by reason, and
    what it should not have raised is logged.
    """

    def __init__(self, node: Node, health: Diagnostics) -> None:
        self._node = node
        self._health = health
        self._subscriptions: list[Any] = []

    def listen(
        self, kind: Any, topic: str, handler: Callable[[Any], None], qos: QoSProfile | int = 1
    ) -> None:
        """Subscribe to a topic."""

        def receive(message: Any) -> None:
            try:
                handler(message)
            except Refused as refused:
                self._health.refuse(topic, refused)
            except InvalidGoal as error:
                self._health.refuse(topic, Refused('invalid', str(error)))
            except Exception:
                self._health.error(topic, f'{topic}: {traceback.format_exc()}')

        self._subscriptions.append(self._node.create_subscription(kind, topic, receive, qos))

    def close(self) -> None:
        """Unsubscribe from all."""
        while self._subscriptions:
            self._node.destroy_subscription(self._subscriptions.pop())
