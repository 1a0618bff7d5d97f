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
