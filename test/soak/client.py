# SPDX-License-Identifier: Apache-2.0
"""Asks the node's services, and keeps what was set."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import ParameterDescriptor
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from std_srvs.srv import SetBool, Trigger

from .draws import limit_of, message, plain
from .listener import DEFAULT, Listener

PATIENCE = 30.0  # [s] For an answer of the node; none is a failure
SERVICES = {
    'set_parameters_atomically': SetParametersAtomically,
    'list_parameters': ListParameters,
    'describe_parameters': DescribeParameters,
    'get_parameters': GetParameters,
    'change_state': ChangeState,
    'record': SetBool,
    'pause': SetBool,
    'reset': Trigger,
    'home': Trigger,
}


class Client:
    """The services of `ik_node`, asked from any thread but that which `node` spins on.

    `unanswered` names those that did not answer. `values` are the parameters that were accepted
    and `defaults` what each was before it was first set, by name.
    """

    def __init__(self, node: Node, listener: Listener) -> None:
        self._listener = listener
        self._clients = {
            name: node.create_client(kind, f'ik_node/{name}') for name, kind in SERVICES.items()
        }
        self.unanswered: list[str] = []
        self._present: set[str] = set()
        self.values: dict[str, Any] = {}
        self.defaults: dict[str, Any] = {}

    def call(self, name: str, request: Any) -> Any:
        """The answer of a service; None, and a note, where there is none."""
        future = self._clients[name].call_async(request)
        end = time.monotonic() + PATIENCE
        while not future.done() and time.monotonic() < end:
            time.sleep(0.002)
        if not future.done():
            self.unanswered.append(name)
            return None
        return future.result()

    def transitions(self, *numbers: int) -> None:
        """Ask for these transitions of the lifecycle, whether they are possible or not."""
        for number in numbers:
            request = ChangeState.Request()
            request.transition.id = number
            self.call('change_state', request)
        self._listener.silent_by_right()

    def set(self, values: Mapping[str, Any]) -> bool:
        """Set parameters at once; whether they were accepted."""
        if not values.keys() <= self.defaults.keys():
            self.parameters()
        limits = {key: x for name, x in values.items() if (key := limit_of(name)) is not None}
        self._listener.expect(limits)
        request = SetParametersAtomically.Request()
        request.parameters = [message(name, value) for name, value in values.items()]
        answer = self.call('set_parameters_atomically', request)
        accepted = answer is not None and answer.result.successful
        self._listener.answered(limits, accepted)
        if accepted:
            self.values |= values
        return accepted

    def parameters(self) -> list[ParameterDescriptor]:
        """Return all parameters of the node."""
        listed = self.call('list_parameters', ListParameters.Request())
        if listed is None:
            return []
        names = list(listed.result.names)
        self._present = set(names)
        described = self.call('describe_parameters', DescribeParameters.Request(names=names))
        values = self.call('get_parameters', GetParameters.Request(names=names))
        if described is None or values is None:
            return []
        for name, value in zip(names, values.values, strict=False):
            self.defaults.setdefault(name, plain(parameter_value_to_python(value)))
        return list(described.descriptors)

    def changed(self) -> dict[str, Any]:
        """Defaults of all parameters that have changed, of those that the node has now."""
        return {
            name: default
            for name, value in self.values.items()
            if name in self._present and value != (default := self._default(name))
        }

    def _default(self, name: str) -> Any:
        """A joint may have other limits in the next description."""
        limit = limit_of(name)
        if limit is None or limit[0] == DEFAULT:
            return self.defaults[name]
        return self._listener.description_limits(limit[0])[limit[1]]
