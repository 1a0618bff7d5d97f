# SPDX-License-Identifier: Apache-2.0
"""Callback groups that forget what is destroyed.

rclpy's groups hold a weak reference to each entity that was ever added. Where publishers and
subscriptions come and go, as with each activation and each robot, these add up.
"""

from __future__ import annotations

import weakref
from typing import Any

from rclpy.callback_groups import CallbackGroup


class Forgetting(CallbackGroup):
    """A group without the references of what is not there any more."""

    def add_entity(self, entity: Any) -> None:
        """See rclpy."""
        self.entities.add(weakref.ref(entity, self.entities.discard))


class Polled(Forgetting):
    """The group of what no executor waits for; `take` takes its messages."""

    def can_execute(self, entity: Any) -> bool:
        """Never."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """There is nothing to end."""


def take(subscription: Any) -> bytes | None:
    """The next message of a subscription, serialized; None where there is none."""
    handle = subscription.handle
    with handle:
        taken = handle.take_message(subscription.msg_type, True)
    return None if taken is None else taken[0]
