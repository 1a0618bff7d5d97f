# SPDX-License-Identifier: Apache-2.0
"""The command `ik_viewer`: show a running node in the browser.

    ik_viewer                                         # for /ik_node
    ros2 run ik_node ik_viewer --ros-args -r __ns:=/left
    ik_viewer /left/ik_node --port 8081 --mesh-folder ~/ros/src/my_robot_description

It needs a ROS 2 and viser; an error message names a missing one.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Sequence

from ik_core.ending import end_process
from ik_core.exceptions import IkError

from .collisions.world import AvoidedWorld
from .drawing.description import check_mesh_folders
from .page.page import open_page
from .page.program import BAD_INPUT, add_address, add_mesh_folders, ended_by_signals, show_until
from .parts import ALL_PARTS

NO_ROS = (
    "ik_viewer: {missing} can't be imported; source a ROS 2 (source /opt/ros/<distro>/setup.bash) "
    "or install the wheels: pip install '.[fast,ros,viewer]'. Without ROS: ik view ROBOT"
)
NICENESS = 5  # of the process: the node has priority if processor time is short


def main(argv: Sequence[str] | None = None) -> int:
    """Show a node until SIGINT or SIGTERM; return 0, or 1 without ROS, or 2 for bad input."""
    ended = ended_by_signals()
    try:
        from .ros.process import own_arguments, running_ros
    except ModuleNotFoundError as error:
        print(NO_ROS.format(missing=error.name), file=sys.stderr)
        return 1
    given = sys.argv[1:] if argv is None else list(argv)
    try:
        with running_ros(given):
            _show(_parser().parse_args(own_arguments(given)), ended)
    except (IkError, OSError) as error:
        print(f'ik_viewer: {error}', file=sys.stderr)
        return BAD_INPUT
    return end_process(0)


def _show(arguments: argparse.Namespace, ended: threading.Event) -> None:
    from .ros.ros_arm import RosArm

    check_mesh_folders(arguments.mesh_folder)
    os.nice(NICENESS)
    arm = RosArm(arguments.node, mesh_folders=arguments.mesh_folder)
    try:
        page = open_page(arm, arguments.host, arguments.port, (*ALL_PARTS, AvoidedWorld))
        show_until(ended, page, arm.name)
    finally:
        arm.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='ik_viewer',
        usage='%(prog)s [NODE] [options] [--ros-args ...]',
        description='Show a running ik_node in the browser: watch it, drag its tips, change its '
        'parameters.',
        allow_abbrev=False,
    )
    parser.add_argument(
        'node',
        metavar='NODE',
        nargs='?',
        default='ik_node',
        help='the name of the node, with its namespace if it has one (ik_node)',
    )
    add_address(parser)
    add_mesh_folders(parser)
    return parser


if __name__ == '__main__':
    sys.exit(main())
