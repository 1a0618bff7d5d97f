# SPDX-License-Identifier: Apache-2.0
"""`ik human`: write a human figure as a URDF or an ASF, or one of its motions.

    ik human --out human.urdf
    ik human --stature 1.62 --out figure.asf
    ik human --thumbs-and-jaw --out figure.urdf
    ik human --motion walk --out walk.csv
    ik play walk.csv --source human

A motion is made from the keys in the folder `motions` for a figure whose pelvis floats: six joints
more. Walking and running are one cycle, on the spot.

Exit codes: 0 written, 2 bad input.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..retargeting.human_motions import MOTIONS, human_motion
from ..robot.human_model import COMMENT, NAME, ROOT, human, human_joints, human_shapes
from ..robot.mocap.asf_text import asf_text
from ..robot.motion_files import check_suffix, save_motion
from ..robot.urdf_text import urdf_text
from .parser import REACHED, UsageError, check_writable, new_parser


def add_parser(commands: Any, summary: str) -> None:
    """Add `human` to the subcommands of `ik`."""
    parser = new_parser(commands, 'human', summary, __doc__)
    add = parser.add_argument
    add('--stature', type=float, default=1.75, metavar='M', help='height [m] (default: 1.75)')
    add('--mass', type=float, metavar='KG', help='mass (default: 22 kg/m^2 times stature^2)')
    add('--thumbs-and-jaw', action='store_true', help='78 angles in place of 71')
    add('--motion', choices=MOTIONS, help='write this motion instead of the figure')
    add('--rate', type=float, default=60.0, metavar='HZ', help='frames per second (default: 60)')
    add('--out', type=Path, metavar='FILE', help='.urdf or .asf; a motion: .csv or .npz')
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the skeleton or its motion; exit code 0.

    Raises InvalidOption, InvalidMotion, UsageError.
    """
    if arguments.motion:
        return _write_motion(arguments)
    if arguments.out and arguments.out.suffix.lower() not in ('.urdf', '.asf'):
        raise UsageError(f'{arguments.out}: the suffix of a figure is one of .urdf, .asf')
    more = {'thumbs_and_jaw': arguments.thumbs_and_jaw}
    robot = human(arguments.stature, arguments.mass, **more)
    if arguments.out and arguments.out.suffix.lower() == '.asf':
        text = asf_text(NAME, ROOT, human_joints(arguments.stature, **more))
    else:
        text = urdf_text(robot, human_shapes(arguments.stature, **more), COMMENT)
    if not arguments.out:
        print(text, end='')
        return REACHED
    check_writable(arguments.out)
    arguments.out.write_text(text, encoding='utf-8')
    print(f'{robot.name}: {robot.n} angles, written: {arguments.out}')
    return REACHED


def _write_motion(arguments: argparse.Namespace) -> int:
    if arguments.thumbs_and_jaw:
        raise UsageError('--motion is for the figure of 71 angles: leave out --thumbs-and-jaw')
    if not arguments.out:
        raise UsageError('--motion needs --out FILE, a .csv or .npz')
    check_suffix(arguments.out)
    check_writable(arguments.out)
    motion = human_motion(arguments.motion, arguments.stature).motion(arguments.rate)
    save_motion(motion, arguments.out)
    print(f'{arguments.motion}: {len(motion)} frames, written: {arguments.out}')
    return REACHED
