"""The services ~/reset and ~/pause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ..inputs.joint_states import StartState
from ..model import Model

NO_ROBOT = 'there is no robot yet'


class Controls:
    """Serves ~/reset and ~/pause while open.

    `model` gives what is moved, None without a robot; `drop_goals` brings it to rest and leaves
    it without goals.
    """

    def __init__(
        self,
        node: Node,
        model: Callable[[], Model | None],
        drop_goals: Callable[[], None],
        start_state: StartState,
    ) -> None:
        self._node = node
        self._model = model
        self._drop_goals = drop_goals
        self._start_state = start_state
        self._services: list[Any] = []

    def open(self) -> None:
        """Offer the services."""
        self._services = [
            self._node.create_service(Trigger, '~/reset', self._on_reset),
            self._node.create_service(SetBool, '~/pause', self._on_pause),
        ]

    def close(self) -> None:
        """Withdraw them."""
        while self._services:
            self._node.destroy_service(self._services.pop())

    def reset(self) -> bool:
        """Drop all goals and come to rest; then start from the measured state, if there is one.

        False without a robot.
        """
        model = self._model()
        if model is not None:
            self._drop_goals()
            self._start_state.take_again()
        return model is not None

    def pause(self, paused: bool) -> bool:
        """Come to rest and keep the goals; or go on with them, from where the robot is now.

        False without a robot.
        """
        model = self._model()
        if model is not None:
            if not paused:
                model.apply_due(self._start_state.before_going_on(model))
            model.pause(paused)
        return model is not None

    def _on_reset(self, request: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        done = 'coming to rest; the goals are dropped'
        answer.success = self.reset()
        answer.message = done if answer.success else NO_ROBOT
        return answer

    def _on_pause(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        done = 'paused' if request.data else 'going on'
        answer.success = self.pause(request.data)
        answer.message = done if answer.success else NO_ROBOT
        return answer
