# SPDX-License-Identifier: Apache-2.0
"""`ik goal`: send a goal to a running node, and print its status until the goal is reached.

    ik goal --xyz 0.4 0 0.5 --rpy 3.1416 0 0
    ik goal panda_hand_tcp --xyz 0.4 0 0.5 --rpy 180 0 45 --degrees
    ik goal panda_hand_tcp --xyz 0.4 0.2 0.5
    ik goal --joints panda_joint1=0.5 panda_joint4=-1.5
    ik goal --home
    ik goal --twist 0 0 0.05 0 0 0 --seconds 2
    ik goal --pause
    ik goal --resume
    ik goal --home --namespace left

Poses and twists are in the frame of the node's `base_link`, by default the root link, and move the
first tip of the node if none is named. Without --rpy and --quat the tip keeps its orientation,
without --xyz its position.

After Ctrl-C the node drops the goal, and the joints stop within their limits. The node is searched
for in ROS_DOMAIN_ID; this needs ROS 2.

Exit codes: 0 reached, 1 not reached, 2 bad input, refused, or no node found.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

from .angles import DEGREES, RADIANS, joint_value
from .goal_arguments import add_pose
from .parser import UsageError, new_parser
from .programs import call_program

PATIENCE = 5.0  # [s] to discover the node
SECONDS = 1.0  # [s] of a twist
KINDS = 'joints', 'home', 'twist', 'pause', 'resume'  # in place of a pose


def add_parser(commands: Any, summary: str) -> None:
    """Add `goal` to the subcommands of `ik`."""
    parser = new_parser(commands, 'goal', summary, __doc__)
    parser.usage = 'ik goal [TIP] --xyz X Y Z [--rpy R P Y | --quat X Y Z W] [options]'
    parser.add_argument(
        'tip', metavar='TIP', nargs='?', help='the link to move (default: the first of the node)'
    )
    add_pose(parser.add_argument_group('pose'))
    others = parser.add_argument_group('in place of a pose')
    others.add_argument(
        '--joints',
        nargs='+',
        type=joint_value,
        metavar='VALUE',
        help='positions [rad or m]: JOINT=VALUE for some joints, or a number for each',
    )
    others.add_argument('--home', action='store_true', help='go to the home positions')
    others.add_argument(
        '--twist',
        nargs=6,
        type=float,
        metavar=('VX', 'VY', 'VZ', 'WX', 'WY', 'WZ'),
        help='jog the tip [m/s, rad/s], or as fractions from -1 to 1, if the parameter '
        'command_in_type of the node is unitless',
    )
    others.add_argument(
        '--seconds', type=float, metavar='S', help=f'duration of --twist (default: {SECONDS:g})'
    )
    others.add_argument('--pause', action='store_true', help='stop, and keep the goals')
    others.add_argument('--resume', action='store_true', help='continue after --pause')
    parser.add_argument(
        '--degrees', action='store_true', help='angles are in degrees, not in radians'
    )
    node = parser.add_argument_group('node')
    node.add_argument('--namespace', metavar='NS', help='of the node (default: any)')
    node.add_argument(
        '--wait',
        type=float,
        default=PATIENCE,
        metavar='S',
        help=f'time to find a node that takes goals (default: {PATIENCE:g})',
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Send the goal of the arguments; return 0 if it is reached, else 1. Raises UsageError."""
    arguments.angles = DEGREES if arguments.degrees else RADIANS
    _check_kind(arguments)
    _check_times(arguments)
    return call_program('goal', 'ik_node.tools.goal:main', arguments)


def _check_kind(arguments: argparse.Namespace) -> None:
    """Set `kind` to the kind of goal: 'pose', or one of KINDS. Raises UsageError."""
    kinds = ['pose'] if arguments.goals else []
    kinds += [kind for kind in KINDS if getattr(arguments, kind)]
    if not kinds:
        raise UsageError(
            'nothing to send: give --xyz X Y Z, --rpy R P Y or both, --joints JOINT=VALUE, '
            '--home, --twist, --pause or --resume'
        )
    if len(kinds) > 1:
        names = ['--xyz, --rpy or --quat' if kind == 'pose' else f'--{kind}' for kind in kinds]
        raise UsageError(f'{" and ".join(names)}: give only one of them')
    (arguments.kind,) = kinds
    if arguments.tip is not None and arguments.kind not in ('pose', 'twist'):
        raise UsageError(f'--{arguments.kind} is for all joints: leave out {arguments.tip!r}')


def _check_times(arguments: argparse.Namespace) -> None:
    """Check --seconds and --wait. Raises UsageError."""
    if arguments.seconds is None:
        arguments.seconds = SECONDS
    elif arguments.kind != 'twist':
        raise UsageError('--seconds is the duration of --twist')
    for option in ('seconds', 'wait'):
        value = getattr(arguments, option)
        if not 0.0 < value < math.inf:
            raise UsageError(f'--{option} {value:g}: a positive number is needed')
