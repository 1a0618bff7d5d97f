"""`python -m ik_node.parameters.describe > config/ik_node.yaml`: all parameters, documented.

The file is made from the same metadata as `ros2 param describe`. Run the command again when an
option was added or changed, in `ik_core` or here; until then `test_config.py` fails.
It needs rclpy, but starts no node.
"""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import groupby
from typing import Any

from ik_core import SOLVERS

from .specs import UNBOUNDED, Spec, fixed_specs

WIDTH = 99
INDENT = ' ' * 4
SHIPPED = {'joint_limits.default.velocity': 1.0, 'joint_limits.default.acceleration': 5.0}
"""What the file sets; everything else stands there commented out, with its default."""

HEADER = """\
# All parameters of ik_node: what each means, its [unit], range and default.
#
# `ros2 launch ik_node ik.launch.py` reads this file unless `params_file` names another; launch
# arguments win over it. Take the # away from a line to change that parameter. A static one changes
# only while the node is unconfigured, all others also while it runs (`ros2 param set`).
#
# Made by `python -m ik_node.parameters.describe > config/ik_node.yaml`: not to be edited here.
/**:
  ros__parameters:
"""
INTRODUCTIONS = {
    '': """\
The node, and how it follows goals. They are for the tool centre point where a tip has one, in
its frame, by position [m] and roll, pitch, yaw [rad]; for example
    tools.panda_hand.xyz: [0.0, 0.0, 0.1034]
    tools.panda_hand.rpy: [0.0, 0.0, 0.0]
Of a goal's pose all counts, or for a tip only its position, or its position and the direction of
its z axis; of twists, and of where a tip is held, counts the same:
    goal_kind.panda_hand: position  # pose, position or axis""",
    'joint_limits': """\
Limits of the motion. Those of the URDF hold; a joint's own can only tighten them, for example
    joint_limits.panda_joint1.lower: -1.5
    joint_limits.panda_joint1.upper: 1.5
    joint_limits.panda_joint1.velocity: 0.5
    joint_limits.panda_joint1.acceleration: 2.0
The defaults are for joints whose URDF gives none. Without any, a joint may jump as fast as the
goal does. /diagnostics has the limits in force. Limits, tools and kinds of goals that are set
while the node runs stay for the next robot, as far as it has those joints and tips.""",
}
"""What stands before the parameters of a group; the group is the first part of their names."""


def describe(specs: Iterable[Spec]) -> str:
    """The YAML file that documents these parameters."""
    groups = groupby(specs, group_of)
    return HEADER + ''.join(line for name, group in groups for line in _section(name, group))


def group_of(spec: Spec) -> str:
    """The first part of a parameter's name; empty for the node's own."""
    group, dot, _ = spec.name.partition('.')
    return group if dot else ''


def _section(name: str, specs: Iterable[Spec]) -> Iterator[str]:
    yield '\n'
    for text in _introduction(name).splitlines():
        yield f'{INDENT}## {text}\n'
    for spec in specs:
        yield '\n'
        yield from _comment(_explanation(spec))
        off = '' if spec.name in SHIPPED else '#'
        value = SHIPPED.get(spec.name, spec.default)
        yield f'{INDENT}{off}{spec.name}: {yaml_value(value)}\n'


def _introduction(group: str) -> str:
    if group not in SOLVERS:
        return INTRODUCTIONS.get(group, group)
    return f'solver: {group}\n{solver_summary(group)}'


def solver_summary(name: str) -> str:
    """The first paragraph of what a solver's module says of it."""
    return (import_module(SOLVERS[name].__module__).__doc__ or '').split('\n\n')[0]


def _comment(text: str) -> Iterator[str]:
    for line in textwrap.wrap(text, WIDTH - len(INDENT) - 2, break_long_words=False):
        yield f'{INDENT}# {line}\n'


def _explanation(spec: Spec) -> str:
    """Such as 'joint states per second [Hz]; 1 to 10000; default: 250.0; static'."""
    unit = f' [{spec.unit}]' if spec.unit else ''
    facts = (
        spec.doc + unit,
        range_text(spec),
        f'one of {", ".join(spec.choices)}' if spec.choices else '',
        f'default: {yaml_value(spec.default)}' if spec.name in SHIPPED else '',
        'static' if spec.static else '',
    )
    return '; '.join(filter(None, facts))


def range_text(spec: Spec) -> str:
    """Such as '1 to 10000', or '' for what has no bounds."""
    if spec.kind not in (int, float) or spec.bounds == UNBOUNDED:
        return ''
    low, high = spec.bounds
    if spec.kind is int:
        return f'{int(low)} to {int(high)}'
    if not math.isfinite(high):
        return f'at least {low:g}'
    return f'{low:g} to {high:g}' if math.isfinite(low) else f'at most {high:g}'


def yaml_value(value: Any) -> str:
    """A value as YAML that ROS reads in the right type: 1e-05 without a point would be text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _yaml_number(value)
    if isinstance(value, tuple):
        value = ', '.join(value)  # an empty list has no type
    return f"'{value}'" if isinstance(value, str) else str(value)


def _yaml_number(value: float) -> str:
    if math.isinf(value):
        return '.inf' if value > 0.0 else '-.inf'
    mantissa, exponent, power = repr(value).partition('e')
    return f'{mantissa}{"" if "." in mantissa else ".0"}{exponent}{power}'


def main() -> int:
    """Print the file."""
    sys.stdout.write(describe(fixed_specs()))
    return 0


if __name__ == '__main__':
    sys.exit(main())
