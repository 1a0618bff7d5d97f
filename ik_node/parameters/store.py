# SPDX-License-Identifier: Apache-2.0
"""The node's parameters: they are declared, checked together, and read as a snapshot.

A set of changes is checked before any is stored, by building the resulting snapshot. A snapshot
(`NodeParameters`) is frozen; the node takes a new one at the start of the tick after a change,
since Humble's rclpy has no callback after a change.
"""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Literal

from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_core import SOLVERS, Robot, make_solver
from ik_core.exceptions import InvalidOption
from ik_core.solvers import PresetName, SolverName
from ik_core.tracking import TrackerOptions

from ..texts import sentence
from .names import misspelt, unknown
from .node_options import (
    ExampleOptions,
    Limits,
    NodeOptions,
    NodeParameters,
    TeleopOptions,
    Tool,
    TwistScale,
)
from .specs import (
    Spec,
    fixed_specs,
    following_error_specs,
    goal_frame_specs,
    goal_kind_specs,
    home_specs,
    limit_specs,
    state_tolerance_specs,
    tool_specs,
)

Values = Mapping[str, Any]


class Parameters:
    """Declares the parameters of a node, checks changes, and returns snapshots.

    `locked` : whether the node is configured, so that static parameters can't change
    `changed` : whether a change was accepted since the last `take`

    Limits, tools and kinds of goals that were set while running are kept for the next robot, if it
    has these joints and tips. The constructor and `declare_robot` raise InvalidOption for invalid
    values or names that the node was started with.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._specs: dict[str, Spec] = {}
        self._joints: tuple[str, ...] = ()
        self._tips: tuple[str, ...] = ()
        self._positions: dict[str, tuple[float, float]] = {}  # limits of the robot, by joint
        self._kept: dict[str, Any] = {}
        self._read: set[str] = set()
        self.locked = False
        self.changed = False
        self._declare(fixed_specs())
        self._permanent = frozenset(self._specs)
        self._refuse_misspelt()
        self.take()
        node.add_on_set_parameters_callback(self._on_set)

    def take(self) -> NodeParameters:
        """Return a snapshot of the present values."""
        self.changed = False
        return self._build(self._values())

    def declare_robot(self, robot: Robot, tip_links: Sequence[str] = ()) -> None:
        """Declare the parameters of a robot's joints and tips, in place of the previous ones."""
        tips = tuple(dict.fromkeys(tip_links))
        of_joints = limit_specs, following_error_specs, state_tolerance_specs, home_specs
        of_tips = tool_specs, goal_kind_specs, goal_frame_specs
        specs = [s for make in of_joints for s in make(robot)]
        specs += [s for make in of_tips for s in make(tips)]
        positions = zip(robot.lower.tolist(), robot.upper.tolist(), strict=True)
        self._positions = dict(zip(robot.joint_names, positions, strict=True))
        kept = {s.name: self._kept[s.name] for s in specs if s.accepts(self._kept.get(s.name))}
        kept = {name: value for name, value in kept.items() if self._may_be_home(name, value)}
        for values in (kept, {}):
            self.undeclare_robot()
            self._joints, self._tips = (*robot.joint_names, *robot.mimic_joints), tips
            try:
                self._declare(specs, values)
                self._refuse_misspelt(robot.link_names)
                self._check_home(self.take())
                return
            except Exception:
                self.undeclare_robot()
                if not values:
                    raise

    def drop_lost(self) -> list[str]:
        """Return, and drop, parameters that were set while running and do not fit this robot."""
        lost = [name for name, value in self._kept.items() if not self._holds(name, value)]
        for name in lost:
            del self._kept[name]
        return sorted(lost)

    def _holds(self, name: str, value: Any) -> bool:
        spec = self._specs.get(name)
        if spec is None or not spec.accepts(value):
            return False
        return spec.same(value, self._node.get_parameter(name).value)

    def undeclare_robot(self) -> None:
        """Undeclare the parameters of joints and tips; `joint_limits.default` stays."""
        self._joints = self._tips = ()
        for name in self._specs.keys() - self._permanent:
            self._node.undeclare_parameter(name)
            del self._specs[name]

    def unread(self) -> list[str]:
        """Return undeclared parameters that the node was started with: probably misspelt."""
        names = (name for name in self._undeclared() if not name.startswith('qos_overrides.'))
        return [_with_hint(name, self._specs) for name in names]

    def _given(self) -> Values:
        given: Values = getattr(self._node, '_parameter_overrides', {})  # rclpy keeps it private
        return given

    def _undeclared(self) -> list[str]:
        return sorted(name for name in self._given() if not self._node.has_parameter(name))

    def why_unknown(self, names: Iterable[str]) -> str:
        """Return an error text for the unknown names; '' if all are parameters."""
        wrong = [name for name in names if not self._node.has_parameter(name)]
        return '; '.join(unknown(name, self._specs) for name in wrong)

    def _refuse_misspelt(self, links: Iterable[str] = ()) -> None:
        """Raise InvalidOption for a misspelt name, but not for names of other nodes and robots.

        links : all links of the robot. Parameters of previous robots are not misspelt, either.
        """
        given, links = self._given(), frozenset(links)
        for name in self._undeclared():
            why = '' if name in self._read else misspelt(name, self._specs, given, links)
            if why:
                raise InvalidOption(why)

    def _declare(self, specs: Iterable[Spec], values: Values = MappingProxyType({})) -> None:
        for spec in specs:
            if spec.name in self._specs:
                continue  # a joint called 'default' takes the default limits
            try:
                spec.declare(self._node, values.get(spec.name))
            except ParameterException as error:
                if spec.name in self._given():
                    spec.read(self._given()[spec.name].value)  # its error says what would be right
                raise InvalidOption(str(error)) from error
            self._specs[spec.name] = spec
            self._read.add(spec.name)

    def _values(self) -> dict[str, Any]:
        return {name: self._node.get_parameter(name).value for name in self._specs}

    def _on_set(self, changes: list[Parameter]) -> SetParametersResult:
        ours = {change.name: change.value for change in changes if change.name in self._specs}
        if not ours:
            return SetParametersResult(successful=True)
        now = self._values()
        try:
            self._check_static(now, ours)
            self._check_home(self._build({**now, **ours}), ours)
        except Exception as error:  # rclpy would end the process
            return SetParametersResult(successful=False, reason=sentence(error))
        self._kept |= {n: value for n, value in ours.items() if n not in self._permanent}
        self.changed = True
        return SetParametersResult(successful=True)

    def _check_home(self, built: NodeParameters, names: Iterable[str] | None = None) -> None:
        """Raise InvalidOption for a home outside the limits; check `names`, by default all.

        Limits may be tightened beyond a home that was set before: ~/home is then refused.
        """
        changed = [f'home.{joint}' for joint in built.home] if names is None else names
        for joint, position in built.home.items():
            own, (lower, upper) = built.joint_limits[joint], self._positions[joint]
            lower, upper = max(lower, own.lower), min(upper, own.upper)
            if f'home.{joint}' in changed and not lower <= position <= upper:
                raise InvalidOption(
                    f'home.{joint} is {position:g}, outside the limits of {joint}, '
                    f'[{lower:.4g}, {upper:.4g}]'
                )

    def _may_be_home(self, name: str, value: Any) -> bool:
        """Return False for the value of a home outside this robot's limits."""
        if not name.startswith('home.') or math.isinf(value):
            return True
        lower, upper = self._positions[name.removeprefix('home.')]
        return bool(lower <= value <= upper)

    def _check_static(self, now: Values, changes: Values) -> None:
        fixed = [
            name
            for name, value in changes.items()
            if self._specs[name].static and not self._specs[name].same(value, now[name])
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
        return NodeParameters(
            node=node,
            tracker=_make(TrackerOptions, read),
            solver_options=_with_preset(node.solver, node.preset, solvers[node.solver]),
            scale=_make(TwistScale, read, 'scale.'),
            default_limits=default,
            joint_limits=MappingProxyType(limits),
            tools=MappingProxyType(
                {tip: _make(Tool, read, f'tools.{tip}.') for tip in self._tips}
            ),
            example=_make(ExampleOptions, read, 'example.'),
            teleop=_make(TeleopOptions, read, 'teleop.'),
            goal_kinds=MappingProxyType({tip: read[f'goal_kind.{tip}'] for tip in self._tips}),
            goal_frames=MappingProxyType({tip: read[f'goal_frame.{tip}'] for tip in self._tips}),
            home=_of_joints(read, 'home.'),
            state_tolerances=_of_joints(read, 'state_tolerance.'),
        )


def _of_joints(values: Values, prefix: str) -> Mapping[str, float]:
    """Return the finite parameters that start with `prefix`, by joint."""
    return MappingProxyType(
        {
            name.removeprefix(prefix): value
            for name, value in values.items()
            if name.startswith(prefix) and math.isfinite(value)
        }
    )


def _with_hint(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f'{name} (did you mean {close[0]}?)' if close else name


def _with_preset(solver: SolverName, preset: PresetName | Literal[''], options: Any) -> Any:
    """Return the options of a preset, overridden by each option that is not at its default.

    Raises InvalidOption if the solver has no such preset.
    """
    if not preset:
        return options
    changed = {
        entry.name: value
        for entry in fields(options)
        if (value := getattr(options, entry.name)) != entry.default
    }
    return make_solver(solver, preset=preset, **changed).options


def _make(options: type, values: Values, prefix: str = '') -> Any:
    """Return an option dataclass of the parameters that start with `prefix`."""
    names = (entry.name for entry in fields(options))
    try:
        return options(**{n: values[prefix + n] for n in names if prefix + n in values})
    except InvalidOption as error:
        raise InvalidOption(f'{prefix}: {error}' if prefix else str(error)) from error
