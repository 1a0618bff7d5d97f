# SPDX-License-Identifier: Apache-2.0
"""The services ~/clear_world and ~/nearest_pair, about the world that the motion avoids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from ik_core.display import counted

from ..robot_model import Model
from ..scene_reader import SceneReader
from .controls import NO_ROBOT

NO_PAIR = 'no distances are kept'
NOTHING = f'{NO_PAIR}, since avoid is none: set avoid to self or world'


class WorldServices:
    """The services. `model` returns the robot model that is moved, None without a robot."""

    def __init__(self, node: Node, model: Callable[[], Model | None], scenes: SceneReader) -> None:
        self._node, self._model, self._scenes = node, model, scenes
        self._services: list[Any] = []

    def open(self) -> None:
        """Offer the services."""
        self._services = [
            self._node.create_service(Trigger, '~/clear_world', self._on_clear),
            self._node.create_service(Trigger, '~/nearest_pair', self._on_nearest),
        ]

    def close(self) -> None:
        """Withdraw the services."""
        while self._services:
            self._node.destroy_service(self._services.pop())

    def _on_clear(self, request: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        count = self._scenes.clear()
        answer.success = True
        answer.message = f'{counted(count, "object")} removed; those of world_file stay'
        return answer

    def _on_nearest(self, request: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        model = self._model()
        if model is None:
            answer.message = NO_ROBOT
            return answer
        pair = model.nearest_pair()
        answer.success = pair is not None
        if pair is None:
            answer.message = NOTHING if model.avoided is None else NO_PAIR
        else:
            names = f'{pair.first} - {pair.second}'
            answer.message = f'{names}: {pair.distance:.3f} m (margin {pair.margin:.3f} m)'
        return answer
