# SPDX-License-Identifier: Apache-2.0
"""The parameters of an arm in this process, made from the metadata of options.

They have the names of the node's parameters, so that values tried on the page can be copied to a
parameter file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ik_core import SOLVERS, Robot
from ik_core.exceptions import InvalidOption
from ik_core.options import exact_number, option
from ik_core.solvers import SolverName
from ik_core.tracking import TrackerOptions

from ..arm import Setting

# Limits of joints without any: full speed after a quarter of a second, as in typical arms.
DEFAULT_VELOCITY, DEFAULT_ACCELERATION = 2.0, 8.0
SLOWEST = 1e-6
TIGHTEST = 1e-12


@dataclass(frozen=True)
class GoalOptions:
    """Options of goals, named as the node's parameters."""

    solver: SolverName = option(
        'levenberg_marquardt', 'name of the solver', choices=tuple(SOLVERS)
    )
    position_tolerance: float = option(
        1e-5, 'error below which a goal counts as reached', unit='m', bounds=(TIGHTEST, 1.0)
    )
    orientation_tolerance: float = option(
        1e-4, 'error below which a goal counts as reached', unit='rad', bounds=(TIGHTEST, math.pi)
    )
    orientation_length: float = option(
        0.2,
        'distance that weighs as much as 1 rad, for goals that are not reached',
        unit='m',
        bounds=(TIGHTEST, 1000.0),
    )


def all_settings(robot: Robot) -> dict[str, Setting]:
    """Return all parameters of a robot, at their defaults."""
    rows = [
        *_of_options(GoalOptions),
        *_of_options(TrackerOptions),
        *(row for name, kind in SOLVERS.items() for row in _of_options(kind.Options, f'{name}.')),
        *_default_limits(),
        *(row for i in range(robot.n) for row in _limits(robot, i)),
    ]
    return {setting.name: setting for setting in rows}


def changed(settings: Mapping[str, Setting], values: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the settings with changed values. Raises InvalidOption, which names the wrong one."""
    result = dict(settings)
    for name, value in values.items():
        if name not in settings:
            raise InvalidOption(f'there is no setting {name!r}')
        result[name] = replace(settings[name], value=checked(settings[name], value))
    return result


def checked(setting: Setting, value: Any) -> Any:
    """Return the value in the setting's type. Raises InvalidOption."""
    name, kind = setting.name, setting.kind
    if setting.static:
        raise InvalidOption(f'{name} can only be set at the start')
    if kind is bool or kind is str:
        if type(value) is not kind or (setting.choices and value not in setting.choices):
            right = ', '.join(setting.choices) or kind.__name__
            raise InvalidOption(f'{name} = {value!r}: one of {right}')
        return value
    number = exact_number(value, kind)
    low, high = setting.bounds
    if number is None or not low <= number <= high:
        raise InvalidOption(f'{name} = {value!r}: must be a number within [{low:g}, {high:g}]')
    return number


def options_of(kind: type, settings: Mapping[str, Setting], prefix: str = '') -> dict[str, Any]:
    """Return the values of an option dataclass's fields from the settings."""
    return {entry.name: settings[prefix + entry.name].value for entry in fields(kind)}


def _of_options(kind: type, prefix: str = '') -> Iterator[Setting]:
    for entry in fields(kind):
        unit = f' [{entry.metadata["unit"]}]' if entry.metadata.get('unit') else ''
        yield Setting(
            name=prefix + entry.name,
            kind=type(entry.default),
            value=entry.default,
            doc=entry.metadata.get('doc', '') + unit,
            bounds=entry.metadata.get('bounds', (-math.inf, math.inf)),
            choices=tuple(entry.metadata.get('choices') or ()),
            static=entry.metadata.get('static', False),
        )


def _default_limits() -> Iterator[Setting]:
    values = {
        'velocity': (DEFAULT_VELOCITY, '[rad/s or m/s]'),
        'acceleration': (DEFAULT_ACCELERATION, '[rad/s^2 or m/s^2]'),
        'jerk': (math.inf, '[rad/s^3 or m/s^3]'),
    }
    for kind, (value, unit) in values.items():
        doc = f'{kind} limit of joints without one of their own; inf: none {unit}'
        yield Setting(f'joint_limits.default.{kind}', float, value, doc, (SLOWEST, math.inf))


def _limits(robot: Robot, i: int) -> Iterator[Setting]:
    """Yield the limits of a joint, which can only tighten those of the robot."""
    joint, unit = robot.joint_names[i], robot.joint_units[i]
    bounds = float(robot.lower[i]), float(robot.upper[i])

    def row(kind: str, value: float, unit: str, bounds: tuple[float, float]) -> Setting:
        name, doc = f'joint_limits.{joint}.{kind}', f'{kind} limit of {joint} [{unit}]'
        return Setting(name, float, value, doc, bounds)

    if not robot.continuous[i]:
        yield row('lower', bounds[0], unit, bounds)
        yield row('upper', bounds[1], unit, bounds)
    for rate, power in {'velocity': '', 'acceleration': '^2', 'jerk': '^3'}.items():
        most = float(getattr(robot, rate)[i])
        yield row(rate, most, f'{unit}/s{power}', (SLOWEST, most))
