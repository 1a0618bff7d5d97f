# SPDX-License-Identifier: Apache-2.0
"""A ROS node with a thread of its own, which runs 60 frames a second.

Joint states come much faster than frames. So the executor does not wait for them, and frames poll
them (`Latest`): a node at 1 kHz costs the page no more than one at 60 Hz.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy

FRAME = 1.0 / 60.0
ENDING = 5.0  # [s] longest wait of `close` for the present frame


class Connection:
    """A node, and the thread that spins it and calls `frame` every FRAME seconds.

    Exceptions of callbacks and frames are passed to `failed`, and the thread goes on.
    """

    def __init__(self, context: Context | None, name: str) -> None:
        self.node = Node(
            name,
            context=context,
            start_parameter_services=False,
            # Without this service, which rclpy never finalizes.
            parameter_overrides=[Parameter('start_type_description_service', value=False)],
        )
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, frame: Callable[[], None], failed: Callable[[Exception], None]) -> None:
        """Start to spin."""
        arguments = (frame, failed)
        self._thread = threading.Thread(target=self._run, args=arguments, name='ros', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, and destroy the node."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(ENDING)
        self._executor.shutdown(timeout_sec=ENDING)
        self.node.destroy_node()

    def _run(self, frame: Callable[[], None], failed: Callable[[Exception], None]) -> None:
        due = time.monotonic()
        while not self._ended.is_set() and self.node.context.ok():
            try:
                self._executor.spin_once(timeout_sec=max(due - time.monotonic(), 0.0))
                if time.monotonic() >= due:
                    due = time.monotonic() + FRAME
                    frame()
            except Exception as error:
                if self.node.context.ok():
                    failed(error)


class Polled(CallbackGroup):
    """A group of subscriptions that no executor waits for."""

    def can_execute(self, entity: Any) -> bool:
        """Return False: no executor runs these callbacks."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Return False: no executor runs these callbacks."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Do nothing, as no execution begins."""


class Latest:
    """The newest messages of a topic, read on demand.

    Its best effort saves the publisher the acknowledgements.
    """

    def __init__(self, node: Node, kind: Any, topic: str, depth: int = 1) -> None:
        self._depth = depth
        qos = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._subscription = node.create_subscription(
            kind, topic, lambda message: None, qos, callback_group=Polled()
        )

    def take(self) -> list[Any]:
        """Return the messages since the last call, as far as the queue held them."""
        messages: list[Any] = []
        while len(messages) < self._depth:
            with self._subscription.handle:
                taken = self._subscription.handle.take_message(self._subscription.msg_type, False)
            if taken is None:
                break
            messages.append(taken[0])
        return messages
