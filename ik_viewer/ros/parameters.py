# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node as settings: read when it appears, updated by parameter events.

They are requested in small groups, since the node does not tick while it responds.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import QoSProfile

from ..arm import Setting
from .calls import Calls
from .settings import converted, parameters_of, setting_of

AT_ONCE = 16  # parameters per request: the node does not tick while it responds
# [s] Parameters are read this long after the last one appeared or disappeared: a robot has
# hundreds.
QUIET = 0.3
NOT_SHOWN = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')
EVENTS = QoSProfile(depth=1000)


class Parameters:
    """The parameters of a node.

    report : called with the reason of a refusal

    `settings` is a new mapping after each change, and may be read by any thread; all methods are
    for one thread.
    """

    def __init__(self, node: Node, name: str, calls: Calls, report: Callable[[str], None]) -> None:
        self._name, self._calls, self._report = name, calls, report
        self.settings: Mapping[str, Setting] = {}
        self._found: dict[str, Setting] = {}
        self._news: dict[str, Any] = {}  # changes since the reading began: responses may be older
        self._reading = 0  # number of the last reading that began
        self._read_at: float | None = None
        self._waiting: deque[tuple[dict[str, Any], Callable[[bool], None]]] = deque()
        self._is_setting = False
        node.create_subscription(ParameterEvent, '/parameter_events', self._on_event, EVENTS)

    def read(self) -> None:
        """Read all parameters, after the time QUIET."""
        self._read_at = time.monotonic() + QUIET

    def forget(self) -> None:
        """Drop all settings and pending changes, since the node is gone."""
        self.settings, self._read_at = {}, None
        self._reading += 1
        self._waiting.clear()
        self._is_setting = False

    def poll(self) -> None:
        """Begin to read, and send the next change, if they are due."""
        if self._read_at is not None and time.monotonic() >= self._read_at:
            self._read_at = None
            self._begin_to_read()
        self._set_next()

    def set(
        self, values: Mapping[str, Any], done: Callable[[bool], None] = lambda success: None
    ) -> None:
        """Set parameters, all or none; a pending change of the same ones is replaced."""
        if self._waiting and self._waiting[-1][0].keys() == values.keys():
            self._waiting.pop()[1](False)
        self._waiting.append((dict(values), done))

    # Reading

    def _begin_to_read(self) -> None:
        self._reading += 1
        self._found, self._news = {}, {}
        request = ListParameters.Request()
        answered = partial(self._on_names, self._reading)
        self._call(ListParameters, 'list_parameters', request, answered, self._try_again)

    def _on_names(self, reading: int, answer: Any) -> None:
        names = [name for name in answer.result.names if not name.startswith(NOT_SHOWN)]
        self._read_some(reading, deque(names))

    def _read_some(self, reading: int, left: deque[str]) -> None:
        """Request the next group; set `settings` once none are left."""
        if reading != self._reading:
            return
        if not left:
            self.settings = self._found
            return
        names = [left.popleft() for _ in range(min(AT_ONCE, len(left)))]
        self._call(
            DescribeParameters,
            'describe_parameters',
            DescribeParameters.Request(names=names),
            lambda answer: self._get(reading, left, answer.descriptors),
            self._try_again,
        )

    def _get(self, reading: int, left: deque[str], descriptors: Any) -> None:
        def take(answer: Any) -> None:
            pairs = zip(descriptors, answer.values, strict=False)
            self._found |= {d.name: setting_of(d, value) for d, value in pairs}
            self._found = _with_values(self._found, self._news)
            self._read_some(reading, left)

        names = [descriptor.name for descriptor in descriptors]
        request = GetParameters.Request(names=names)
        self._call(GetParameters, 'get_parameters', request, take, self._try_again)

    def _try_again(self, reason: str) -> None:
        """Read again: a parameter disappeared meanwhile, or the node is starting or ending."""
        self.read()

    def _on_event(self, event: ParameterEvent) -> None:
        if event.node != self._name:
            return
        if event.new_parameters or event.deleted_parameters:
            self.read()
        changed = {
            each.name: parameter_value_to_python(each.value) for each in event.changed_parameters
        }
        self._adopt(changed)

    def _adopt(self, values: Mapping[str, Any]) -> None:
        self._news |= values
        self._found = _with_values(self._found, values)
        if not self.settings.keys().isdisjoint(values):
            self.settings = _with_values(self.settings, values)

    # Setting

    def _set_next(self) -> None:
        if self._is_setting or not self._waiting:
            return
        self._is_setting = True
        values, done = self._waiting.popleft()
        request = SetParametersAtomically.Request(parameters=parameters_of(values, self.settings))

        def answered(answer: Any) -> None:
            self._is_setting = False
            if answer.result.successful:
                self._adopt(values)
            else:
                self._report(answer.result.reason)
            done(answer.result.successful)

        def failed(reason: str) -> None:
            self._is_setting = False
            self._report(reason)
            done(False)

        name = 'set_parameters_atomically'
        self._call(SetParametersAtomically, name, request, answered, failed)

    def _call(self, kind: Any, service: str, request: Any, answered: Any, failed: Any) -> None:
        self._calls.make(kind, f'{self._name}/{service}', request, answered, failed)


def _with_values(settings: Mapping[str, Setting], values: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the settings with changed values; unknown names are ignored."""
    changed = {
        name: replace(settings[name], value=converted(settings[name].kind, value))
        for name, value in values.items()
        if name in settings
    }
    return {**settings, **changed}
