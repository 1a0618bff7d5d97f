"""`ik human`: write a human figure as a URDF, or as an ASF for programs with motion capture.

    ik human --out human.urdf
    ik human --stature 1.62 --out figure.asf

Exit codes: 0 written, 2 bad input.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..robot.human import COMMENT, NAME, ROOT, human, human_joints, human_shapes
from ..robot.mocap.asf_text import asf_text
from ..robot.urdf_text import urdf_text
from .parser import REACHED, check_writable, new_parser


def add_parser(commands: Any, summary: str) -> None:
    """Add `human` to the subcommands of `ik`."""
    parser = new_parser(commands, 'human', summary, __doc__)
    add = parser.add_argument
    add('--stature', type=float, default=1.75, metavar='M', help='height [m] (default: 1.75)')
    add('--mass', type=float, metavar='KG', help='mass (default: 22 kg/m^2 times stature^2)')
    add('--out', type=Path, metavar='FILE', help='URDF or .asf file (default: URDF, printed)')
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the figure; exit code 0. Raises InvalidOption."""
    robot = human(arguments.stature, arguments.mass)
    if arguments.out and arguments.out.suffix.lower() == '.asf':
        text = asf_text(NAME, ROOT, human_joints(arguments.stature))
    else:
        text = urdf_text(robot, human_shapes(arguments.stature), COMMENT)
    if not arguments.out:
        print(text, end='')
        return REACHED
    check_writable(arguments.out)
    arguments.out.write_text(text, encoding='utf-8')
    print(f'{robot.name}: {robot.n} angles, written: {arguments.out}')
    return REACHED
