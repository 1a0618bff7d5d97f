"""The node's parameters: declared, checked and read from the metadata of option dataclasses.

An option is a field of a frozen dataclass with a default, a type and metadata (`doc`, `unit`,
`bounds`). This module turns each into one ROS parameter: the node's own options under their own
names, the tracker's too, every solver's as `<solver>.<option>`, and the limits of every joint of
the loaded robot as `joint_limits.<joint>.<limit>`. A new option or a new solver needs no line
here.

Changes are checked as a whole set, before any of it is stored, by building the snapshot that
they would lead to. The snapshot (`NodeParameters`) is frozen; the node takes a new one at the
start of the tick after a change, because the callback that follows a change does not exist in
Humble's rclpy.
"""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_core import SOLVERS, IkError, Robot
from ik_core.exceptions import InvalidOption
from ik_core.tracking import TrackerOptions
from ik_core.tracking.jerk_limiter import load_ruckig

from ..inputs.planar import KEEP

Values = Mapping[str, Any]
UNBOUNDED = (-math.inf, math.inf)
INT64_MAX = 2**63 - 1
TIGHTEST = 1e-12
SLOWEST = 1e-6
"""The lowest velocity, acceleration and jerk limit; at 0 a joint could neither move nor stop."""


def option(
    default: Any,
    doc: str,
    *,
    unit: str = '',
    bounds: tuple[float, float] = UNBOUNDED,
    choices: Iterable[str] = (),
    static: bool = False,
) -> Any:
    """A field of an option dataclass; a static one can't change while the node is configured."""
    metadata = {
        'doc': doc,
        'unit': unit,
        'bounds': bounds,
        'choices': tuple(choices),
        'static': static,
    }
    if isinstance(default, list):
        return field(default_factory=lambda: tuple(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class NodeOptions:
    """What the node itself needs to know; the solvers' and the tracker's options are their own."""

    robot_description: str = option(
        '',
        'URDF text of the robot; empty: urdf_path, or else the topic robot_description',
        static=True,
    )
    urdf_path: str = option('', 'URDF file, read when robot_description is empty', static=True)
    base_link: str = option(
        '',
        'link that goals without a frame are given in, and that does not move; empty: the root',
        static=True,
    )
    tip_links: tuple[str, ...] = option(
        [], 'links that follow goals; empty: the link where the longest chain ends', static=True
    )
    rate: float = option(
        250.0, 'joint states per second', unit='Hz', bounds=(1.0, 10000.0), static=True
    )
    output: str = option(
        'joint_state',
        'what is published; with all but joint_state the robot starts where joint_states says',
        choices=('joint_state', 'joint_trajectory', 'position_command'),
        static=True,
    )
    command_joints: tuple[str, ...] = option(
        [],
        'joints to publish, in this order; empty: all joints in a joint_state, otherwise those '
        'that the goals move, in the order of the URDF',
        static=True,
    )
    frozen_joints: tuple[str, ...] = option([], 'joints that goals do not move', static=True)
    time_from_start: float = option(
        0.0,
        'when the point of a joint_trajectory is to be reached; 0: after one period',
        unit='s',
        bounds=(0.0, 10.0),
        static=True,
    )
    planar_goals: str = option(
        'keep_z_roll_pitch',
        'what a goal with z = 0 exactly and a yaw only (RViz: 2D Goal Pose), in a frame that '
        'stands still, keeps of the height and the tilt that the tip has',
        choices=KEEP,
    )
    command_in_type: str = option(
        'speed_units',
        'how ~/delta_twist_cmds are given: in m/s and rad/s, or from -1 to 1 (see scale)',
        choices=('speed_units', 'unitless'),
    )
    joint_limit_margin: float = option(
        0.01,
        'a joint this near to its limit is reported to be at its bound',
        unit='rad or m',
        bounds=(0.0, math.inf),
    )
    state_timeout: float = option(
        0.5,
        'where the state is measured: without joint_states for so long the robot stops',
        unit='s',
        bounds=(0.01, math.inf),
    )
    state_tolerance: float = option(
        0.02,
        'where the state is measured: a robot that rests without a goal, and is found farther '
        'from its command than this, has been moved; the command then starts from there',
        unit='rad or m',
        bounds=(0.0, math.inf),
    )
    interactive_markers: str = option(
        'auto',
        'markers to drag in RViz; auto: where the package interactive_markers is installed',
        choices=('auto', 'true', 'false'),
        static=True,
    )
    compute_ik: bool = option(
        False, 'offer the service compute_ik, where moveit_msgs is installed', static=True
    )
    compute_ik_group: str = option(
        '',
        'the planning group that compute_ik answers for; empty: the name of the robot',
        static=True,
    )
    autostart: bool = option(
        True, 'configure and activate at start, without a lifecycle manager', static=True
    )
    record: bool = option(
        False, 'record from the start; otherwise from when ~/record is asked to', static=True
    )
    record_folder: str = option('', 'where recordings are written; empty: the working directory')
    record_minutes: float = option(
        10.0, 'how much of the past a recording keeps', unit='min', bounds=(0.1, 1440.0)
    )
    solver: str = option('levenberg_marquardt', 'the method', choices=SOLVERS)
    position_tolerance: float = option(
        1e-5, 'a goal nearer than this counts as reached', unit='m', bounds=(TIGHTEST, math.inf)
    )
    orientation_tolerance: float = option(
        1e-4, 'a goal nearer than this counts as reached', unit='rad', bounds=(TIGHTEST, math.inf)
    )
    orientation_length: float = option(
        0.2,
        'weighs rotation against distance where a goal is out of reach: 1 rad is this far',
        unit='m',
        bounds=(TIGHTEST, math.inf),
    )


@dataclass(frozen=True)
class TwistScale:
    """The full speed of unitless twist commands."""

    linear: float = option(
        0.25, 'speed of a unitless twist command of 1', unit='m/s', bounds=(0.0, 1e3)
    )
    rotational: float = option(
        1.0, 'speed of a unitless twist command of 1', unit='rad/s', bounds=(0.0, 1e3)
    )


@dataclass(frozen=True)
class Tool:
    """Where the tool centre point of a tip is, in the frame of the tip's link."""

    xyz: tuple[float, ...] = (0.0, 0.0, 0.0)
    rpy: tuple[float, ...] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Limits:
    """Limits of one joint as parameters; inf where there is none."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf


@dataclass(frozen=True)
class NodeParameters:
    """All parameters at one moment, checked. `joint_limits` is by joint name, `tools` by tip."""

    node: NodeOptions
    tracker: TrackerOptions
    solver_options: Any
    scale: TwistScale
    default_limits: Limits
    joint_limits: Mapping[str, Limits]
    tools: Mapping[str, Tool]


@dataclass(frozen=True)
class Spec:
    """One ROS parameter: what it is called, what it may be, and what describes it."""

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
        """Whether this is a number that has bounds."""
        return self.kind in (int, float) and self.bounds != UNBOUNDED

    @property
    def switch(self) -> bool:
        """Whether this may also be given as true or false, which YAML takes for no text."""
        return 'true' in self.choices

    def declare(self, node: Node) -> None:
        """Declare the parameter; an override from the command line or a file wins."""
        default = self.default
        if self.kind in (tuple, list):
            default = list(default) or ['']
        node.declare_parameter(self.name, default, self.descriptor())

    def descriptor(self) -> ParameterDescriptor:
        """What `ros2 param describe` shows.

        Doubles and lists are typed dynamically: rclpy would refuse the 500 of `rate: 500` as an
        integer, and a single name where a list is meant; `read` does the checking instead.
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
        """The value as this option has it; InvalidOption says what would be right."""
        if self.switch and isinstance(value, bool):
            value = str(value).lower()
        value = _READERS[self.kind](value)
        if value is None:
            raise InvalidOption(f'{self.name} must be {_KINDS[self.kind]}')
        if self.bounded and not self.bounds[0] <= value <= self.bounds[1]:
            low, high = self.bounds
            raise InvalidOption(f'{self.name} is {value:g}; it must be in [{low:g}, {high:g}]')
        if self.choices and value not in self.choices:
            choices = ', '.join(self.choices)
            raise InvalidOption(f'{self.name} is {value!r}; it must be one of: {choices}')
        return value


def _read_float(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and not math.isnan(value) else None


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
    """One Spec per field of an option dataclass."""
    defaults = options()
    return [
        Spec(
            name=prefix + entry.name,
            kind=type(getattr(defaults, entry.name)),
            default=getattr(defaults, entry.name),
            doc=entry.metadata.get('doc', ''),
            unit=entry.metadata.get('unit', ''),
            bounds=entry.metadata.get('bounds', UNBOUNDED),
            choices=tuple(entry.metadata.get('choices') or ()),
            static=entry.metadata.get('static', False),
        )
        for entry in fields(options)
    ]


def limit_specs(robot: Robot) -> list[Spec]:
    """The limits of every joint of a robot; their bounds let them only tighten the URDF's."""
    return [
        Spec(
            name=f'joint_limits.{joint}.{limit}',
            kind=float,
            default=default,
            doc=f'{limit} limit of {joint}; can only tighten the URDF',
            unit=unit,
            bounds=bounds,
        )
        for i, joint in enumerate(robot.joint_names)
        for limit, default, unit, bounds in _limits_of(robot, i)
    ]


def _limits_of(robot: Robot, i: int) -> list[tuple[str, float, str, tuple[float, float]]]:
    """Rows of limit, default, unit, bounds. A joint that turns for ever has no position limits."""
    lower, upper, velocity = (float(x[i]) for x in (robot.lower, robot.upper, robot.velocity))
    unit = robot.joint_units[i]
    rates = [
        ('velocity', velocity, f'{unit}/s', (SLOWEST, velocity)),
        ('acceleration', math.inf, f'{unit}/s^2', (SLOWEST, math.inf)),
        ('jerk', math.inf, f'{unit}/s^3', (SLOWEST, math.inf)),
    ]
    if robot.continuous[i]:
        return rates
    positions = [('lower', lower, unit, (lower, upper)), ('upper', upper, unit, (lower, upper))]
    return positions + rates


def tool_specs(tip_links: Iterable[str]) -> list[Spec]:
    """The tool centre point of every tip."""
    return [
        Spec(
            name=f'tools.{tip}.{part}',
            kind=list,
            default=(0.0, 0.0, 0.0),
            doc=f'{what} of the tool centre point that goals of {tip} are for, in its frame',
            unit=unit,
        )
        for tip in tip_links
        for part, what, unit in (
            ('xyz', 'position', 'm'),
            ('rpy', 'orientation (fixed-axis roll, pitch, yaw)', 'rad'),
        )
    ]


def default_limit_specs() -> list[Spec]:
    """What holds where the URDF and the limits of the joint give none."""
    doc = '{} limit of joints that have none of their own; inf: none'
    unit = {
        'velocity': 'rad/s or m/s',
        'acceleration': 'rad/s^2 or m/s^2',
        'jerk': 'rad/s^3 or m/s^3',
    }
    note = {'jerk': '; needs the Python library ruckig'}
    return [
        Spec(
            name=f'joint_limits.default.{limit}',
            kind=float,
            default=math.inf,
            doc=doc.format(limit) + note.get(limit, ''),
            unit=unit[limit],
            bounds=(SLOWEST, math.inf),
        )
        for limit in unit
    ]


def fixed_specs() -> list[Spec]:
    """Every parameter that there is without a robot."""
    solvers = [s for name, solver in SOLVERS.items() for s in specs_of(solver.Options, f'{name}.')]
    return [
        *specs_of(NodeOptions),
        *specs_of(TrackerOptions),
        *specs_of(TwistScale, 'scale.'),
        *default_limit_specs(),
        *solvers,
    ]


class Parameters:
    """Declares the parameters of a node, checks changes, and gives snapshots.

    `locked` is true while the node is configured: static parameters then refuse to change.
    `changed` is true from an accepted change until the next `take`. Raises InvalidOption, here
    and in `declare_robot`, when the values that the node was started with are refused.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._specs: dict[str, Spec] = {}
        self._joints: tuple[str, ...] = ()
        self._tips: tuple[str, ...] = ()
        self.locked = False
        self.changed = False
        self._declare(fixed_specs())
        self._permanent = frozenset(self._specs)
        self.take()
        node.add_on_set_parameters_callback(self._on_set)

    def take(self) -> NodeParameters:
        """The snapshot of what is set now."""
        self.changed = False
        return self._build(self._values())

    def declare_robot(self, robot: Robot, tip_links: Sequence[str] = ()) -> None:
        """Declare the limits of the joints and the tools of the tips; those before are gone."""
        self.undeclare_robot()
        self._joints, self._tips = robot.joint_names, tuple(dict.fromkeys(tip_links))
        try:
            self._declare([*limit_specs(robot), *tool_specs(self._tips)])
            self.take()
        except InvalidOption:
            self.undeclare_robot()
            raise

    def undeclare_robot(self) -> None:
        """Forget the limits of the joints and the tools; `joint_limits.default` stays."""
        self._joints = self._tips = ()
        for name in self._specs.keys() - self._permanent:
            self._node.undeclare_parameter(name)
            del self._specs[name]

    def unread(self) -> list[str]:
        """What the node was started with and nobody declared: most likely misspelt."""
        given = getattr(self._node, '_parameter_overrides', {})  # there is no public way to ask
        unread = [name for name in given if not self._node.has_parameter(name)]
        return [_with_hint(name, self._specs) for name in sorted(unread)]

    def _declare(self, specs: Iterable[Spec]) -> None:
        for spec in specs:
            if spec.name in self._specs:
                continue  # a joint called 'default' takes the default limits
            try:
                spec.declare(self._node)
            except ParameterException as error:
                raise InvalidOption(str(error)) from error
            self._specs[spec.name] = spec

    def _values(self) -> dict[str, Any]:
        return {name: self._node.get_parameter(name).value for name in self._specs}

    def _on_set(self, changes: list[Parameter]) -> SetParametersResult:
        ours = {change.name: change.value for change in changes if change.name in self._specs}
        if not ours:
            return SetParametersResult(successful=True)
        now = self._values()
        try:
            self._check_static(now, ours)
            self._build({**now, **ours})
        except IkError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self.changed = True
        return SetParametersResult(successful=True)

    def _check_static(self, now: Values, changes: Values) -> None:
        fixed = [
            name
            for name, value in changes.items()
            if self._specs[name].static and value != now[name]
        ]
        if self.locked and fixed:
            raise InvalidOption(
                f'{", ".join(fixed)} can change only while the node is unconfigured; '
                'deactivate it and clean it up first, or set it at start'
            )

    def _build(self, values: Values) -> NodeParameters:
        read = {name: self._specs[name].read(value) for name, value in values.items()}
        node = _make(NodeOptions, read)
        solvers = {name: _make(SOLVERS[name].Options, read, f'{name}.') for name in SOLVERS}
        limits = {joint: _make(Limits, read, f'joint_limits.{joint}.') for joint in self._joints}
        for joint, limit in limits.items():
            if limit.lower > limit.upper:
                raise InvalidOption(
                    f'joint_limits.{joint}.lower is {limit.lower:g}, above upper, {limit.upper:g}'
                )
        default = _make(Limits, read, 'joint_limits.default.')
        if any(math.isfinite(limit.jerk) for limit in (default, *limits.values())):
            load_ruckig()
        return NodeParameters(
            node=node,
            tracker=_make(TrackerOptions, read),
            solver_options=solvers[node.solver],
            scale=_make(TwistScale, read, 'scale.'),
            default_limits=default,
            joint_limits=MappingProxyType(limits),
            tools=MappingProxyType(
                {tip: _make(Tool, read, f'tools.{tip}.') for tip in self._tips}
            ),
        )


def _with_hint(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f'{name} (did you mean {close[0]}?)' if close else name


def _make(options: type, values: Values, prefix: str = '') -> Any:
    """An option dataclass from the parameters that start with `prefix`."""
    names = (entry.name for entry in fields(options))
    try:
        return options(**{n: values[prefix + n] for n in names if prefix + n in values})
    except InvalidOption as error:
        raise InvalidOption(f'{prefix}: {error}' if prefix else str(error)) from error
