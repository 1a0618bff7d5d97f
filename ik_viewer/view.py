# SPDX-License-Identifier: Apache-2.0
"""`ik view ROBOT`: show a robot in the browser and drag its tips, without ROS.

ik view panda
ik view my_robot.urdf --mesh-folder ~/ros/src/my_robot_description
ik view dual_arm --tip left_tool --tip right_tool --solver jacobian_transpose
ik view buss_double_y --solver damped_least_squares --preset buss_clamped
ik view human --goal circle --tip right_fingertips --solver bfgs
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from ik_core import SOLVERS
from ik_core.cli.parser import add_robot, limits_of
from ik_core.exceptions import IkError
from ik_core.maths.rotations import Array
from ik_core.solvers import DEFAULT_SOLVER

from .arm import Description
from .drawing.description import describe
from .local.local_arm import RATE, LocalArm
from .page.circling_goals import CirclingGoals
from .page.page import open_page
from .page.program import (
    BAD_INPUT,
    INTERRUPTED,
    add_address,
    add_mesh_folders,
    ended_by_signals,
    show_until,
)
from .parts import ALL_PARTS
from .presets import preset_settings


def main(argv: Sequence[str] | None = None) -> int:
    """Show a robot until Ctrl-C; return the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return _run(arguments)
    except (IkError, OSError) as error:
        print(f'ik: {error}', file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:  # before there was a page
        return INTERRUPTED


def start_of(description: Description) -> Array | None:
    """Return the initial q (n,): zero for skeletons of motion capture, None for URDFs.

    None stands for the middle of the limits.
    """
    robot = description.robot
    return None if description.urdf else np.clip(np.zeros(robot.n), robot.lower, robot.upper)


def _run(arguments: argparse.Namespace) -> int:
    description = describe(
        arguments.robot,
        arguments.mesh_folder,
        floating_base=arguments.floating_base,
        **limits_of(arguments),
    )
    values = {'solver': arguments.solver}
    if arguments.preset:
        values |= preset_settings(arguments.solver, arguments.preset)
    arm = LocalArm(
        description, arguments.tip, rate=arguments.rate, q0=start_of(description), values=values
    )
    try:
        parts = (*ALL_PARTS, CirclingGoals) if arguments.goal == 'circle' else ALL_PARTS
        page = open_page(arm, arguments.host, arguments.port, parts)
        show_until(ended_by_signals(), page, description.robot.name)
    finally:
        arm.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='ik view', description='show a robot in the browser', allow_abbrev=False
    )
    add_robot(parser)
    parser.add_argument(
        '--tip',
        action='append',
        default=[],
        metavar='LINK',
        help='a link to move; may be repeated',
    )
    parser.add_argument(
        '--floating-base', action='store_true', help='let the root link float: six joints more'
    )
    add_mesh_folders(parser)
    add_address(parser)
    parser.add_argument(
        '--rate', type=float, default=RATE, help=f'ticks per second (default: {RATE:g})'
    )
    parser.add_argument(
        '--solver',
        choices=sorted(SOLVERS),
        default=DEFAULT_SOLVER,
        help='the solver (default: %(default)s)',
    )
    parser.add_argument(
        '--goal', choices=('circle',), help='let the goals of the tips move on circles'
    )
    parser.add_argument('--preset', metavar='NAME', help="options of the solver's paper")
    return parser


if __name__ == '__main__':
    sys.exit(main())
