# SPDX-License-Identifier: Apache-2.0
"""ROS parameters made from the metadata of option dataclasses.

Each field of an option dataclass becomes a ROS parameter. Options of the node and of the tracker
have their own names, those of solvers are `<solver>.<option>`. A loaded robot adds
`joint_limits.<joint>.<limit>`, `home.<joint>`, `state_tolerance.<joint>`, `tools.<tip>.<part>` and
`goal_kind.<tip>` and `goal_frame.<tip>`. A new option or solver needs no change here.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from ik_core import SOLVERS, Robot
from ik_core.exceptions import InvalidOption
from ik_core.robot.joints import RATES
from ik_core.tracking import TrackerOptions

from .node_options import GOAL_KINDS, ExampleOptions, NodeOptions, TeleopOptions, TwistScale

UNBOUNDED = (-math.inf, math.inf)
INT64_MAX = 2**63 - 1
# [rad or m] Larger than the sag and overshoot of controllers; a short lag makes no error.
FOLLOWING_ERROR = 0.1
LONGEST_TOOL = 100.0  # [m] largest coordinate of a tool centre point
# Smallest limit of velocity, acceleration and jerk: at 0 a joint could neither move nor stop.
SLOWEST = 1e-6


@dataclass(frozen=True)
class Spec:
    """A ROS parameter: its name, type, default, bounds and description."""

    name: str
    kind: type
    default: Any
    doc: str = ''
    unit: str = ''
    bounds: tuple[float, float] = UNBOUNDED
    choices: tuple[str, ...] = ()
    static: bool = False

    @property
    def bounded(self) -> bool:
        """True if this is a number with bounds."""
        return self.kind in (int, float) and self.bounds != UNBOUNDED

    @property
    def switch(self) -> bool:
        """True if this text may also be given as true or false, which YAML reads as bool."""
        return 'true' in self.choices

    def declare(self, node: Node, value: Any = None) -> None:
        """Declare the parameter with this value; for None with that of command line or file."""
        default = self.default if value is None else value
        if self.kind in (tuple, list):
            default = list(default) or ['']
        known = value is not None
        node.declare_parameter(self.name, default, self.descriptor(), ignore_override=known)

    def accepts(self, value: Any) -> bool:
        """Return whether `read` accepts a value."""
        try:
            self.read(value)
        except InvalidOption:
            return False
        return True

    def same(self, value: Any, other: Any) -> bool:
        """Return whether two accepted values mean the same, as 100 and 100.0 do."""
        return bool(self.read(value) == self.read(other))

    def descriptor(self) -> ParameterDescriptor:
        """Return the description for `ros2 param describe`.

        Doubles and lists have dynamic types: rclpy would refuse the integer of `rate: 500`, and a
        single name in place of a list. `read` checks them instead.
        """
        unit = f' [{self.unit}]' if self.unit else ''
        choices = f'one of {", ".join(self.choices)}' if self.choices else ''
        when = 'only while unconfigured' if self.static else ''
        descriptor = ParameterDescriptor(
            description=self.doc + unit,
            additional_constraints='; '.join(filter(None, (choices, when))),
            dynamic_typing=self.kind in (float, tuple, list) or self.switch,
        )
        if self.bounded and self.kind is float:
            low, high = map(float, self.bounds)
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        if self.bounded and self.kind is int:
            low, high = (int(max(-INT64_MAX, min(INT64_MAX, bound))) for bound in self.bounds)
            descriptor.integer_range = [IntegerRange(from_value=low, to_value=high)]
        return descriptor

    def read(self, value: Any) -> Any:
        """Return the value in the option's type. Raises InvalidOption."""
        if self.switch and isinstance(value, bool):
            value = str(value).lower()
        value = _READERS[self.kind](value)
        if value is None:
            raise InvalidOption(f'{self.name} must be {_KINDS[self.kind]}')
        if self.bounded and not self.bounds[0] <= value <= self.bounds[1]:
            low, high = self.bounds
            raise InvalidOption(f'{self.name} is {value:g}; it must be in [{low:g}, {high:g}]')
        if self.kind is list:
            for number in value:
                if not self.bounds[0] <= number <= self.bounds[1]:
                    low, high = self.bounds
                    raise InvalidOption(
                        f'{self.name} has {number:g}; its numbers must be in [{low:g}, {high:g}]'
                    )
        if self.choices and value not in self.choices:
            choices = ', '.join(self.choices)
            raise InvalidOption(f'{self.name} is {value!r}; it must be one of: {choices}')
        return value


def _read_float(value: Any) -> float | None:
    """Return a number, also from text: `ros2 param` sends text for 1e-5 and for .inf."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _read_names(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        value = value.split(',')
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
        return tuple(name.strip() for name in value if name.strip())
    return None


def _read_vector(value: Any) -> tuple[float, ...] | None:
    if isinstance(value, str) or not hasattr(value, '__len__') or len(value) != 3:
        return None
    numbers = [_read_float(number) for number in value]
    finite = tuple(x for x in numbers if x is not None and math.isfinite(x))
    return finite if len(finite) == 3 else None


_READERS = {
    float: _read_float,
    int: lambda value: value if type(value) is int else None,
    bool: lambda value: value if isinstance(value, bool) else None,
    str: lambda value: value if isinstance(value, str) else None,
    tuple: _read_names,
    list: _read_vector,
}
_KINDS = {
    float: 'a number',
    int: 'an integer',
    bool: 'true or false',
    str: 'a string',
    list: 'a list of three finite numbers',
    tuple: 'a list of strings, or one string with commas between the names',
}


def specs_of(options: type, prefix: str = '') -> list[Spec]:
    """Return a Spec for each field of an option dataclass."""
    defaults = options()
    return [
        Spec(
            name=prefix + entry.name,
            kind=_kind_of(getattr(defaults, entry.name)),
            default=getattr(defaults, entry.name),
            doc=entry.metadata.get('doc', ''),
            unit=entry.metadata.get('unit', ''),
            bounds=entry.metadata.get('bounds', UNBOUNDED),
            choices=tuple(entry.metadata.get('choices') or ()),
            static=entry.metadata.get('static', False),
        )
        for entry in fields(options)
    ]


def _kind_of(default: Any) -> type:
    """Return the kind of a Spec with this default; list for a vector."""
    is_vector = isinstance(default, tuple) and any(isinstance(x, float) for x in default)
    return list if is_vector else type(default)


def limit_specs(robot: Robot) -> list[Spec]:
    """Return the parameters of all joint limits; bounds allow only tighter ones than the URDF's.

    Mimic joints have only limits of velocity, acceleration and jerk, in their own unit.
    """
    rows = [(joint, row) for i, joint in enumerate(robot.joint_names) for row in _limits(robot, i)]
    rows += [(joint, row) for joint in robot.mimic_joints for row in _rate_limits({}, '')]
    return [
        Spec(
            name=f'joint_limits.{joint}.{limit}',
            kind=float,
            default=default,
            doc=f'{limit} limit of {joint}; can only tighten that of the URDF; see /diagnostics '
            'for the limits in force',
            unit=unit,
            bounds=bounds,
        )
        for joint, (limit, default, unit, bounds) in rows
    ]


LimitRow = tuple[str, float, str, tuple[float, float]]  # limit, default, unit, bounds


def _limits(robot: Robot, i: int) -> list[LimitRow]:
    """Return the limits of joint i; a joint with endless turns has no position limits."""
    lower, upper = float(robot.lower[i]), float(robot.upper[i])
    unit = robot.joint_units[i]
    rates = _rate_limits({rate: float(getattr(robot, rate)[i]) for rate in RATES}, unit)
    if robot.continuous[i]:
        return rates
    positions = [('lower', lower, unit, (lower, upper)), ('upper', upper, unit, (lower, upper))]
    return positions + rates


def _rate_limits(stated: Mapping[str, float], unit: str) -> list[LimitRow]:
    """Return the limits of velocity, acceleration and jerk, bounded by the description's."""
    unit = unit or 'rad or m'
    rows = []
    for power, rate in zip(('', '^2', '^3'), RATES, strict=True):
        most = stated.get(rate, math.inf)
        rows.append((rate, most, f'{unit}/s{power}', (min(SLOWEST, most), most)))
    return rows


def following_error_specs(robot: Robot) -> list[Spec]:
    """Return the parameters that limit the following error, one for each joint."""
    default = 'joint_limits.default.following_error'
    return [
        Spec(
            name=f'joint_limits.{joint}.following_error',
            kind=float,
            default=math.inf,
            doc=f'largest deviation of {joint} from its commands; inf: {default}',
            unit=unit,
            bounds=(SLOWEST, math.inf),
        )
        for joint, unit in zip(robot.joint_names, robot.joint_units, strict=True)
    ]


def state_tolerance_specs(robot: Robot) -> list[Spec]:
    """Return the parameters of the tolerance of states at rest, one for each joint."""
    return [
        Spec(
            name=f'state_tolerance.{joint}',
            kind=float,
            default=math.inf,
            doc=f'largest difference of {joint} at rest from its states before and from its '
            'command; inf: state_tolerance',
            unit=unit,
            bounds=(0.0, math.inf),
        )
        for joint, unit in zip(robot.joint_names, robot.joint_units, strict=True)
    ]


def home_specs(robot: Robot) -> list[Spec]:
    """Return the parameters of the home position, one for each joint."""
    return [
        Spec(
            name=f'home.{joint}',
            kind=float,
            default=math.inf,
            doc=f'position of {joint} for ~/home; inf: where it was when the node was activated',
            unit=unit,
        )
        for joint, unit in zip(robot.joint_names, robot.joint_units, strict=True)
    ]


def tool_specs(tip_links: Iterable[str]) -> list[Spec]:
    """Return the parameters of the tool centre points: position and orientation for each tip."""
    return [
        Spec(
            name=f'tools.{tip}.{part}',
            kind=list,
            default=(0.0, 0.0, 0.0),
            doc=f'{what} of the tool centre point of {tip}, in its frame',
            unit=unit,
            bounds=(-LONGEST_TOOL, LONGEST_TOOL) if unit == 'm' else UNBOUNDED,
        )
        for tip in tip_links
        for part, what, unit in (
            ('xyz', 'position', 'm'),
            ('rpy', 'orientation (fixed-axis roll, pitch, yaw)', 'rad'),
        )
    ]


def goal_kind_specs(tip_links: Iterable[str]) -> list[Spec]:
    """Return the parameters of the kinds of goals, one for each tip."""
    return [
        Spec(
            name=f'goal_kind.{tip}',
            kind=str,
            default=GOAL_KINDS[0],
            doc=f'part of the pose that counts for goals and twists of {tip}, and for holding '
            'it; auto: the pose, or where fewer than six joints move the tip, the position first '
            'and the orientation as far as they can; axis: position and direction of the z axis',
            choices=GOAL_KINDS,
        )
        for tip in tip_links
    ]


def goal_frame_specs(tip_links: Iterable[str]) -> list[Spec]:
    """Return the parameters of the tf frames that tips follow, one for each tip."""
    return [
        Spec(
            name=f'goal_frame.{tip}',
            kind=str,
            default='',
            doc=f'frame of tf that {tip} follows, such as that of a tracker or a tag: each of its '
            'poses is a goal; empty: none',
        )
        for tip in tip_links
    ]


def default_limit_specs() -> list[Spec]:
    """Return the parameters of the default limits, for joints without limits of their own."""
    doc = '{} limit of joints without one of their own; inf: none'
    behind = (
        'with measured states: a joint farther than this from all its commands of the last 0.25 '
        's does not follow, and the robot stops; inf: never'
    )
    rows = (
        ('velocity', math.inf, doc.format('velocity'), 'rad/s or m/s'),
        ('acceleration', math.inf, doc.format('acceleration'), 'rad/s^2 or m/s^2'),
        ('jerk', math.inf, doc.format('jerk'), 'rad/s^3 or m/s^3'),
        ('following_error', FOLLOWING_ERROR, behind, 'rad or m'),
    )
    return [
        Spec(
            name=f'joint_limits.default.{limit}',
            kind=float,
            default=default,
            doc=doc,
            unit=unit,
            bounds=(SLOWEST, math.inf),
        )
        for limit, default, doc, unit in rows
    ]


def fixed_specs() -> list[Spec]:
    """Return all parameters that do not depend on the robot."""
    solvers = [s for name, solver in SOLVERS.items() for s in specs_of(solver.Options, f'{name}.')]
    return [
        *specs_of(NodeOptions),
        *specs_of(TrackerOptions),
        *specs_of(TwistScale, 'scale.'),
        *specs_of(ExampleOptions, 'example.'),
        *specs_of(TeleopOptions, 'teleop.'),
        *default_limit_specs(),
        *solvers,
    ]
