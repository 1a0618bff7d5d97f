# SPDX-License-Identifier: Apache-2.0
"""Callback groups that drop the references to destroyed entities.

rclpy's groups keep a weak reference to each entity that was ever added. Each activation and each
new robot makes new publishers and subscriptions, so these references would add up.
"""

from __future__ import annotations

import weakref
from typing import Any

from rclpy.callback_groups import CallbackGroup


class Forgetting(CallbackGroup):
    """A group that drops the reference to an entity once the entity is destroyed."""

    def add_entity(self, entity: Any) -> None:
        """Add a publisher, subscription, timer or service to the group."""
        self.entities.add(weakref.ref(entity, self.entities.discard))


class Polled(Forgetting):
    """A group of subscriptions that no executor waits for; `take` reads their messages."""

    def can_execute(self, entity: Any) -> bool:
        """Return False: no executor runs these callbacks."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Return False: no executor runs these callbacks."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Do nothing, as no execution begins."""


def take(subscription: Any) -> bytes | None:
    """Return the next message of a subscription, serialized; None if its queue is empty."""
    handle = subscription.handle
    with handle:
        taken = handle.take_message(subscription.msg_type, True)
    return None if taken is None else taken[0]
