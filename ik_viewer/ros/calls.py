# SPDX-License-Identifier: Apache-2.0
"""Service calls without waiting: responses are handled when they have arrived."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node

PATIENCE = 3.0  # [s] timeout of a call


@dataclass
class Call:
    """A call without a response yet."""

    client: Any
    future: Any
    patience: float
    deadline: float
    answered: Callable[[Any], None]
    failed: Callable[[str], None]


class Calls:
    """Pending service calls; all methods are for the thread of the node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clients: dict[str, Any] = {}
        self._calls: list[Call] = []

    def make(
        self,
        kind: Any,
        name: str,
        request: Any,
        answered: Callable[[Any], None],
        failed: Callable[[str], None],
        patience: float = PATIENCE,
    ) -> None:
        """Call a service: `answered` gets the response, or `failed` a sentence.

        patience : [s] timeout
        """
        client = self._client(kind, name)
        if not client.service_is_ready():
            failed(f'{name} is not available')
            return
        future, deadline = client.call_async(request), time.monotonic() + patience
        self._calls.append(Call(client, future, patience, deadline, answered, failed))

    def poll(self) -> None:
        """Handle the calls that have a response, or whose timeout is over."""
        now, calls = time.monotonic(), self._calls
        self._calls = [c for c in calls if not c.future.done() and now < c.deadline]
        for call in calls:
            if call.future.done():
                self._answer(call)
            elif now >= call.deadline:
                call.client.remove_pending_request(call.future)
                call.failed(f'{call.client.srv_name} did not answer within {call.patience:g} s')

    def drop(self) -> None:
        """Drop all pending calls, since the node is gone."""
        calls, self._calls = self._calls, []
        for call in calls:
            call.client.remove_pending_request(call.future)

    def _client(self, kind: Any, name: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name)
        return self._clients[name]

    def _answer(self, call: Call) -> None:
        error = call.future.exception()
        if error is not None:
            call.failed(f'{call.client.srv_name}: {error}')
        else:
            call.answered(call.future.result())
