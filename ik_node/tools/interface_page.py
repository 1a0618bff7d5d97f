"""`python -m ik_node.tools.interface_page > docs/interface.md`: topics, services and parameters.

The parameters come from the metadata that `ros2 param describe` shows too. Topics and services
stand here, each with a sentence; `test_interface_page.py` holds them against running nodes, and
the page against this program. It needs rclpy, but starts no node.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from ik_core import SOLVERS

from ..outputs.codes import Hazard, StatusCode
from ..parameters.describe import group_of, range_text, solver_summary, yaml_value
from ..parameters.specs import Spec, fixed_specs
from ..texts import EVERY_MESSAGE

HEADER = """\
# Topics, services, parameters

<!-- Made by `python -m ik_node.tools.interface_page > docs/interface.md`: not to be edited. -->

What a running node has; `ros2 node info /ik_node` and `ros2 param describe /ik_node <name>` say
the same. Names are relative, so a namespace goes before them; `~` is the node's name, `/ik_node`
unless it is renamed; `<tip>` is the name of a tip link, with `_` in the place of what a topic's
name may not have.
"""


class Endpoint(NamedTuple):
    """A topic or a service: its name, its type, where it is not always there, what it is for."""

    name: str
    kind: str
    when: str
    doc: str


ALWAYS = ''
TITLES = {
    '': 'The node, and how it follows goals',
    'scale': 'Twists without units',
    'example': 'Examples',
    'joint_limits': 'Limits and safety',
}
PARAMETERS = """\
## Parameters

A *static* parameter changes only while the node is unconfigured, all others also while it runs:
the whole set is checked before any of it applies. `config/ik_node.yaml` has the same as a file to
edit. A robot that is loaded brings more parameters:

| name | |
|---|---|
| `joint_limits.<joint>.{lower,upper,velocity,acceleration,jerk}` | can only tighten the URDF's |
| `joint_limits.<joint>.following_error` | how far a measured joint may be behind its command |
| `goal_kind.<tip>` | what counts of a tip's goals: `pose`, `position` or `axis` |
| `tools.<tip>.{xyz,rpy}` | the tool centre point in the tip's frame [m, rad] |
"""
TRAJECTORY, POSITION = '`output: joint_trajectory`', '`output: position_command`'
OUTPUTS = f"""
With `output: joint_trajectory` a JointTrajectoryController keeps the limits in each update. With
`output: joint_state` or `output: position_command` {EVERY_MESSAGE}.
"""
BEHIND = 'with the last two outputs'

SUBSCRIPTIONS = (
    Endpoint(
        '<tip>/goal_pose',
        'geometry_msgs/msg/PoseStamped',
        ALWAYS,
        'the goal of a tip, always the whole pose; an empty frame means `base_link`',
    ),
    Endpoint('goal_pose', 'geometry_msgs/msg/PoseStamped', ALWAYS, 'the same for the first tip'),
    Endpoint(
        'goal_pose_2d',
        'geometry_msgs/msg/PoseStamped',
        ALWAYS,
        "x, y and yaw for the first tip, from RViz's *2D Goal Pose*; see `planar_goals`",
    ),
    Endpoint(
        'goal_poses',
        'geometry_msgs/msg/PoseArray',
        ALWAYS,
        'goals of all tips at once, in the order of `tip_links`',
    ),
    Endpoint(
        'clicked_point',
        'geometry_msgs/msg/PointStamped',
        ALWAYS,
        "a goal for the first tip's position; it keeps its orientation",
    ),
    Endpoint(
        '<tip>/delta_twist_cmds',
        'geometry_msgs/msg/TwistStamped',
        ALWAYS,
        'jogs a tip about its origin, as with MoveIt Servo; see `twist_timeout`',
    ),
    Endpoint(
        '~/delta_twist_cmds',
        'geometry_msgs/msg/TwistStamped',
        ALWAYS,
        'the same for the first tip',
    ),
    Endpoint(
        'example_trajectory',
        'trajectory_msgs/msg/JointTrajectory',
        ALWAYS,
        'an example in whose style goals are followed: [](example_guided.md)',
    ),
    Endpoint(
        'robot_description', 'std_msgs/msg/String', 'no robot by parameter', 'the URDF, latched'
    ),
    Endpoint('joint_states', 'sensor_msgs/msg/JointState', BEHIND, 'where the robot is'),
    Endpoint(
        'controller_manager/activity',
        'controller_manager_msgs/msg/ControllerManagerActivity',
        f'{TRAJECTORY}, controller_manager_msgs',
        'whether the controller is active',
    ),
)

PUBLISHERS = (
    Endpoint(
        'joint_states',
        'sensor_msgs/msg/JointState',
        '`output: joint_state`',
        'the command, at `rate`',
    ),
    Endpoint(
        'joint_trajectory',
        'trajectory_msgs/msg/JointTrajectory',
        TRAJECTORY,
        'the command, for a JointTrajectoryController',
    ),
    Endpoint(
        'commands',
        'std_msgs/msg/Float64MultiArray',
        POSITION,
        'the command, for a forward_command_controller',
    ),
    Endpoint(
        '~/status',
        'diagnostic_msgs/msg/DiagnosticStatus',
        ALWAYS,
        'what the node does, the errors [m, rad], what it refused; on change, at most 10 Hz',
    ),
    Endpoint(
        '/diagnostics',
        'diagnostic_msgs/msg/DiagnosticArray',
        ALWAYS,
        'the same with counters and the limits in force, once a second',
    ),
    Endpoint(
        '~/goals',
        'geometry_msgs/msg/PoseArray',
        ALWAYS,
        "each tip's goal, whoever sent it, in the root link's frame; NaN: none; latched",
    ),
    Endpoint(
        '~/solution',
        'sensor_msgs/msg/JointState',
        ALWAYS,
        'where the solver wants the joints; 30 Hz, while somebody listens',
    ),
    Endpoint(
        '~/robot_description',
        'std_msgs/msg/String',
        ALWAYS,
        'the robot that is moved, also where it came from a file; latched; empty: none',
    ),
    Endpoint(
        '~/markers',
        'visualization_msgs/msg/MarkerArray',
        ALWAYS,
        'the goals in the colour of their state, the ways of the tips',
    ),
    Endpoint(
        '~/interactive_goals/update',
        'visualization_msgs/msg/InteractiveMarkerUpdate',
        '`interactive_markers` installed',
        'goals to be dragged in RViz',
    ),
)

SERVICES = (
    Endpoint(
        '~/reset',
        'std_srvs/srv/Trigger',
        ALWAYS,
        'stop, drop the goals, and start from where the robot is; answers at rest',
    ),
    Endpoint(
        '~/pause',
        'std_srvs/srv/SetBool',
        ALWAYS,
        'stop and keep the goals; or go on; answers at rest',
    ),
    Endpoint(
        '~/record',
        'std_srvs/srv/SetBool',
        ALWAYS,
        'record goals, settings and commands: [](ros.md#recording-and-replaying)',
    ),
    Endpoint(
        'compute_ik',
        'moveit_msgs/srv/GetPositionIK',
        '`compute_ik: true`',
        'solve for a pose; nothing moves; 10 s at most',
    ),
)


def page() -> str:
    """The page, as Markdown."""
    return '\n'.join((HEADER, *_topics(), *_codes(), *_parameters(fixed_specs()))) + '\n'


def _topics() -> Iterator[str]:
    for title, endpoints, note in (
        ('Topics that the node listens to', SUBSCRIPTIONS, ''),
        ('Topics that the node publishes', PUBLISHERS, OUTPUTS),
        ('Services', SERVICES, ''),
    ):
        yield f'## {title}\n\n| name | type | only with | |\n|---|---|---|---|'
        for name, kind, when, doc in endpoints:
            package, _, message = kind.split('/')
            yield f'| `{name}` | {package}/{message} | {when} | {doc} |'
        yield note
    yield 'There are also those of every node and of its lifecycle (`~/change_state`, ...).\n'


def _codes() -> Iterator[str]:
    yield '## Codes of `~/status`\n'
    yield '`code` and `code_number` say what the node does, and the message is a sentence:\n'
    yield '| code | number | meaning |\n|---|---|---|'
    yield from (f'| `{code.key}` | {code.number} | {code.text} |' for code in StatusCode)
    yield '\n`warning` says what to beware of while a goal is followed, as MoveIt Servo does:\n'
    yield '| warning | number | meaning |\n|---|---|---|'
    yield from (f'| `{h.key}` | {h.number} | {h.text or "nothing"} |' for h in Hazard)
    yield ''


def _parameters(specs: Iterable[Spec]) -> Iterator[str]:
    yield PARAMETERS
    for group, members in groupby(specs, group_of):
        yield f'### {TITLES.get(group, f"`{group}`")}\n'
        if group in SOLVERS:
            yield f'{solver_summary(group)}\n'
        yield '| name | default | may be | |\n|---|---|---|---|'
        yield from map(_row, members)
        yield ''


def _row(spec: Spec) -> str:
    default = 'none' if spec.default == math.inf else f'`{yaml_value(spec.default)}`'
    allowed = ', '.join(f'`{choice}`' for choice in spec.choices) or range_text(spec)
    if spec.unit:
        allowed = f'{allowed} [{spec.unit}]'.strip()
    meaning = spec.doc + ('; *static*' if spec.static else '')
    return f'| `{spec.name}` | {default} | {allowed} | {meaning} |'


def main() -> int:
    """Print the page."""
    sys.stdout.write(page())
    return 0


if __name__ == '__main__':
    sys.exit(main())
