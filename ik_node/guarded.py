# SPDX-License-Identifier: Apache-2.0
"""A lifecycle node that survives exceptions in callbacks of services and subscriptions.

rclpy raises such an exception in the executor, which ends the process: an invalid lifecycle
transition or a negative time on /clock is enough.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleNode


class GuardedNode(LifecycleNode, ABC):
    """A lifecycle node that passes exceptions of callbacks to `callback_failed`.

    The service then returns its response as it is. Callbacks of timers are
    not guarded: they are the node's own.
    """

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        for service in self.services:  # rclpy makes the lifecycle services without create_service
            service.callback = self._guarded(service.srv_name, service.callback)

    @abstractmethod
    def callback_failed(self, where: str, error: Exception) -> None:
        """Handle an exception in a callback of the service or topic `where`."""

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[..., Any], **options: Any
    ) -> Any:
        """Make a service with a guarded callback; arguments as in rclpy."""
        guarded = self._guarded(srv_name, callback)
        return super().create_service(srv_type, srv_name, guarded, **options)

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        """Make a subscription with a guarded callback; arguments as in rclpy."""
        guarded = self._guarded(topic, callback)
        return super().create_subscription(msg_type, topic, guarded, *args, **options)

    def _guarded(self, where: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(callback)
        def guarded(*arguments: Any) -> Any:
            try:
                return callback(*arguments)
            except Exception as error:
                self.callback_failed(where, error)
            return arguments[-1]  # a service's response; for a subscription nothing reads it

        return guarded
