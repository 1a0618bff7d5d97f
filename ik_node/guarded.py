# SPDX-License-Identifier: Apache-2.0
"""A lifecycle node that goes on whatever a callback of a service or a subscription raises.

rclpy hands such an exception to whoever spins, which ends the process: an invalid lifecycle
transition or a negative time on /clock is enough.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleNode


class GuardedNode(LifecycleNode, ABC):
    """Hands what callbacks raise to `callback_failed`; a service then answers as if it had failed.

    Timers are left alone: their callbacks are the node's own.
    """

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        for service in self.services:  # those of the lifecycle are not made by create_service
            service.callback = self._guarded(service.srv_name, service.callback)

    @abstractmethod
    def callback_failed(self, where: str, error: Exception) -> None:
        """A callback of the service or topic `where` raised an exception."""

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[..., Any], **options: Any
    ) -> Any:
        """See rclpy."""
        guarded = self._guarded(srv_name, callback)
        return super().create_service(srv_type, srv_name, guarded, **options)

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        """See rclpy."""
        guarded = self._guarded(topic, callback)
        return super().create_subscription(msg_type, topic, guarded, *args, **options)

    def _guarded(self, where: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(callback)
        def guarded(*arguments: Any) -> Any:
            try:
                return callback(*arguments)
            except Exception as error:
                self.callback_failed(where, error)
            return arguments[-1]  # of a service: the response that the callback was to fill

        return guarded
