# SPDX-License-Identifier: Apache-2.0
"""Conversions between ROS parameters, with their descriptors, and settings.

The node's doubles and lists have dynamic types, so that 500 is accepted for 500.0. So the type of
a setting follows from range, choices and value together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from rclpy.parameter import Parameter, parameter_value_to_python

from ..arm import Setting

CHOICES = 'one of '
STATIC = 'only while unconfigured'
UNBOUNDED = (-math.inf, math.inf)


def setting_of(descriptor: ParameterDescriptor, value: Any) -> Setting:
    """Return the setting of a parameter, from its descriptor and its value."""
    python = parameter_value_to_python(value)
    choices, static = _constraints(descriptor)
    kind = _kind(descriptor, python, choices)
    return Setting(
        name=descriptor.name,
        kind=kind,
        value=converted(kind, python),
        doc=descriptor.description,
        bounds=_bounds(descriptor),
        choices=choices,
        static=static or descriptor.read_only,
    )


def converted(kind: type, value: Any) -> Any:
    """Return a parameter's value in the type of its setting; unchanged if that fails."""
    try:
        return _CONVERTERS[kind](value)
    except (TypeError, ValueError):
        return value


def parameters_of(
    values: Mapping[str, Any], settings: Mapping[str, Setting]
) -> list[ParameterMessage]:
    """Return the messages that set these values; an empty list of names becomes ['']."""
    messages = []
    for name, value in values.items():
        setting = settings.get(name)
        if setting is not None:
            value = converted(setting.kind, value)
        if isinstance(value, (tuple, list)):
            value = list(value) or ['']
        messages.append(Parameter(name, value=value).to_parameter_msg())
    return messages


def _kind(descriptor: ParameterDescriptor, value: Any, choices: tuple[str, ...]) -> type:
    if choices:
        return str
    if descriptor.floating_point_range:
        return float
    if isinstance(value, bool):
        return bool
    if isinstance(value, (int, float)):
        whole = isinstance(value, int) and not descriptor.dynamic_typing
        return int if whole else float
    if isinstance(value, str):
        return tuple if descriptor.dynamic_typing else str
    of_numbers = (ParameterType.PARAMETER_DOUBLE_ARRAY, ParameterType.PARAMETER_INTEGER_ARRAY)
    is_numbers = descriptor.type in of_numbers or not all(isinstance(v, str) for v in value or ())
    return list if is_numbers else tuple


def _bounds(descriptor: ParameterDescriptor) -> tuple[float, float]:
    for bounds in (*descriptor.floating_point_range, *descriptor.integer_range):
        return float(bounds.from_value), float(bounds.to_value)
    return UNBOUNDED


def _constraints(descriptor: ParameterDescriptor) -> tuple[tuple[str, ...], bool]:
    """Return the choices of a parameter, and whether it is static."""
    parts = descriptor.additional_constraints.split('; ')
    choices = next((part[len(CHOICES) :] for part in parts if part.startswith(CHOICES)), '')
    return tuple(choices.split(', ')) if choices else (), STATIC in parts


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _names(value: Any) -> tuple[str, ...]:
    names = value.split(',') if isinstance(value, str) else list(value)
    return tuple(name.strip() for name in names if name.strip())


_CONVERTERS: dict[type, Any] = {
    bool: bool,
    int: int,
    float: float,
    str: _text,
    tuple: _names,
    list: lambda value: [float(number) for number in value],
}
