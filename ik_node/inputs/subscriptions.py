# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that are polled without an executor, and survive any message.

rclpy's executor rebuilds its wait set, over all entities of the node, twice for each message: at
1 kHz that takes most of a period, in which the interpreter delays the tick. So these subscriptions
are hidden from the executor, and the node polls them shortly before each tick. It reads bytes, and
converts them only up to a size limit, since the conversion takes long.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSPolicyKind, QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from ik_core.exceptions import InvalidGoal, InvalidOption

from ..callback_groups import Polled, take
from ..conversions import Refused
from ..outputs.diagnostics import Diagnostics
from ..texts import MIDDLEWARE_ERRORS
from .pose_bytes import reader_of

LARGEST = 4096  # largest message [bytes] with one pose or twist and the name of a frame


class Inputs:
    """A group of subscriptions of a node; `poll` handles the received messages.

    overridable : whether the parameters `qos_overrides.<topic>.subscription.reliability` choose
        their reliability

    Messages that a handler refuses are counted by reason; unexpected exceptions are logged.
    """

    def __init__(self, node: Node, health: Diagnostics, *, overridable: bool = False) -> None:
        self._node = node
        self._health = health
        self._options: dict[str, Any] = {}
        if overridable:
            policies = QoSOverridingOptions((QoSPolicyKind.RELIABILITY,))
            self._options['qos_overriding_options'] = policies
        self._group = Polled()
        self._subscriptions: list[tuple[Any, int, Callable[[bytes], None]]] = []

    def listen(
        self,
        kind: Any,
        topic: str,
        handler: Callable[[Any], object],
        qos: QoSProfile | int = 1,
        largest: int = LARGEST,
    ) -> None:
        """Subscribe to a topic, for messages of at most `largest` serialized bytes.

        handler : called with a message; for poses, with the same fields, made by `pose_bytes`
        """
        depth, read = qos if isinstance(qos, int) else qos.depth, reader_of(kind)

        def receive(serialized: bytes) -> None:
            with survived(self._health, topic):
                if len(serialized) > largest:
                    text = f'{len(serialized)} bytes; {largest} are allowed'
                    raise Refused('too_large', text)
                handler(read(serialized))

        try:
            subscription = self._node.create_subscription(
                kind, topic, receive, qos, callback_group=self._group, **self._options
            )
        except RuntimeError as error:  # rclpy raises it for unknown values of an override
            if not self._options or isinstance(error, MIDDLEWARE_ERRORS):
                raise
            text = f'qos_overrides of {topic}: {error}; it is reliable or best_effort'
            raise InvalidOption(text) from error
        self._subscriptions.append((subscription, depth, receive))

    def poll(self) -> None:
        """Handle the received messages: of each topic at most as many as its queue holds."""
        for subscription, depth, receive in self._subscriptions:
            for _ in range(depth):
                serialized = take(subscription)
                if serialized is None:
                    break
                receive(serialized)

    def close(self) -> None:
        """Unsubscribe from all topics."""
        while self._subscriptions:
            self._node.destroy_subscription(self._subscriptions.pop()[0])


@contextmanager
def survived(health: Diagnostics, topic: str) -> Iterator[None]:
    """Count a refusal raised by the handler of a message; log an unexpected exception."""
    try:
        yield
    except Refused as refused:
        health.refuse(topic, refused)
    except InvalidGoal as error:
        health.refuse(topic, Refused('invalid', str(error)))
    except Exception:
        health.error(topic, f'{topic}: {traceback.format_exc()}')
