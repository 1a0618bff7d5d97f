# SPDX-License-Identifier: Apache-2.0
"""`ik linkage`: write a linkage of rods as a URDF, for `ik solve`, the node, RViz, ...

    ik linkage 3 --joint ball --length 0.4 --out linkage.urdf
    ik linkage 4 --joint two_angle --length 0.5 0.4 0.3 0.2 --limits -1.5 1.5 > linkage.urdf
    ik linkage 6 --joint ball --branches 3 --out tree.urdf
    ik linkage 3 --flexible 4 --out rods.urdf
    ik linkage --live
    ik linkage 3 --flexible 4 --stiffness 3 --live

With --live a page in the browser shows the linkage: it changes while it moves to its goal. Exit
codes: 0 written, or ended by Ctrl-C; 2 bad input.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from ..robot.linkages import ORDERS, JointKind, linkage, spring_weights
from ..robot.urdf_text import urdf_text
from .parser import REACHED, check_writable, new_parser
from .programs import call_program


def add_parser(commands: Any, summary: str) -> None:
    """Add `linkage` to the subcommands of `ik`."""
    parser = new_parser(commands, 'linkage', summary, __doc__)
    add = parser.add_argument
    add('rods', metavar='N', type=int, nargs='?', default=3, help='number of rods (default: 3)')
    add(
        '--joint',
        choices=tuple(ORDERS),
        help='the joint before every rod (default: hinge, or two_angle with --live)',
    )
    add(
        '--length',
        type=float,
        nargs='+',
        default=[0.4],
        metavar='M',
        help='the length of all rods, or of each [m]',
    )
    add(
        '--limits',
        type=float,
        nargs=2,
        metavar=('LOWER', 'UPPER'),
        help='the limits of every angle [rad]',
    )
    add(
        '--velocity',
        type=float,
        default=math.inf,
        metavar='V',
        help='the speed limit of every angle [rad/s]',
    )
    add('--pitch', type=float, default=0.1, metavar='M', help='of screws [m], in a turn')
    add(
        '--branches',
        type=int,
        default=1,
        metavar='N',
        help='number of branches after half of the rods, each with a tip (default: 1, no fork)',
    )
    add(
        '--flexible',
        type=int,
        default=1,
        metavar='PIECES',
        help='of every rod, with joints between them that let it bend',
    )
    add(
        '--stiffness',
        type=float,
        default=3.0,
        metavar='S',
        help='with --flexible and --live: of a rod, relative to a joint (default: 3)',
    )
    add('--out', type=Path, metavar='FILE', help='the URDF file (default: printed)')
    add('--live', action='store_true', help='show it in the browser, and change it there')
    add('--host', default='127.0.0.1', help='address of the page (default: 127.0.0.1)')
    add('--port', type=int, help='port of the page (default: the first free one from 8080)')
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the URDF, or show the linkage; exit code 0. Raises InvalidOption, UsageError."""
    joint: JointKind = arguments.joint or ('two_angle' if arguments.live else 'hinge')
    robot = linkage(
        arguments.rods,
        joint,
        lengths=arguments.length,
        limits=arguments.limits,
        velocity=arguments.velocity,
        pitch=arguments.pitch,
        branches=arguments.branches,
        pieces=arguments.flexible,
    )
    spring_weights(robot, arguments.stiffness)  # raises InvalidOption
    if arguments.live:
        arguments.joint = joint
        return call_program('linkage', 'ik_viewer.linkage.command:main', arguments)
    if arguments.out:
        check_writable(arguments.out)
        arguments.out.write_text(urdf_text(robot), encoding='utf-8')
        print(f'{robot.name}: {robot.n} angles, written: {arguments.out}')
    else:
        print(urdf_text(robot), end='')
    return REACHED
