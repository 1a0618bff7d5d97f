# SPDX-License-Identifier: Apache-2.0
"""The presence of the node: whether it publishes ~/status, and has sent messages recently."""

from __future__ import annotations

import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

POLL_PERIOD = 0.25
# [s] Silence after which a node counts as gone: it publishes once a second. A killed node stays
# in the graph for longer.
SILENCE = 5.0


class Presence:
    """Watches for a node by its full name.

    appeared : called when a process of that name appears, also in place of another one
    vanished : called when none is left

    `poll` calls both.
    """

    def __init__(
        self,
        node: Node,
        name: str,
        appeared: Callable[[], None],
        vanished: Callable[[], None],
    ) -> None:
        self._node, self._name = node, name
        self._appeared, self._vanished = appeared, vanished
        self._publishers: frozenset[bytes] = frozenset()
        self._heard = self._next = 0.0
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    @property
    def is_there(self) -> bool:
        """True if the node is in the graph, and not silent."""
        return bool(self._publishers) and time.monotonic() - self._heard < SILENCE

    def note_message(self) -> None:
        """Record that a message of the node has arrived."""
        self._heard = time.monotonic()

    def poll(self) -> None:
        """Check the graph, if POLL_PERIOD has passed since the last check."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + POLL_PERIOD
        found = self._node.get_publishers_info_by_topic(f'{self._name}/status')
        before = self._publishers
        self._publishers = frozenset(bytes(each.endpoint_gid) for each in found)
        if self._publishers - before:
            self._heard = now
            self._appeared()
        elif before and not self._publishers:
            self._vanished()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        name = f'{self._name.lstrip("/")}: '  # earlier versions of the node have the slash
        if any(status.name.lstrip('/').startswith(name) for status in message.status):
            self.note_message()
