# SPDX-License-Identifier: Apache-2.0
"""The arguments of the command `ik_node`: a robot, and the arguments of any ROS 2 node."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from ik_core.robot.shipped import robot_path, shipped_robots

ROS_ARGUMENTS = '--ros-args'
END = '--'

EXAMPLES = """\
examples:
  ik_node panda
  ik_node my_robot.urdf --ros-args -p tip_links:=[tool0] -p rate:=250.0
  ik_node --ros-args --params-file my_robot.yaml -r __ns:=/left

Without a robot, and without the parameters urdf_path and robot_description, the node waits for
one on the topic robot_description. Shipped robots: {robots}.
Robots of an installed example-robot-data or robot_descriptions have names, too.

Joints that state no velocity or acceleration limit have none here. The launch files read
config/ik_node.yaml, which sets 1 rad/s and 5 rad/s^2 for them (joint_limits.default.*).
"""


def with_robot(args: Sequence[str]) -> list[str]:
    """Return the arguments for rclpy; a robot's name or file becomes the parameter `urdf_path`.

    Prints and raises SystemExit for --help (0) and for unknown arguments (2). Raises UrdfError
    if the robot does not exist.
    """
    robot = _parser().parse_args(_own(args)).robot
    if robot is None:
        return list(args)
    path = json.dumps(str(robot_path(robot)))  # quoted for YAML: a name may have any characters
    return [*args, ROS_ARGUMENTS, '-p', f'urdf_path:={path}']


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='ik_node',
        usage='%(prog)s [ROBOT] [--ros-args ...]',
        description='Inverse kinematics: goal poses in, joint states out, within all limits.',
        epilog=EXAMPLES.format(robots=', '.join(sorted(shipped_robots())) or 'none found'),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument('robot', metavar='ROBOT', nargs='?', help='a URDF, or the name of a robot')
    return parser


def _own(args: Sequence[str]) -> list[str]:
    """Return the arguments outside of --ros-args ... --."""
    own: list[str] = []
    is_ros = False
    for text in args:
        if text == ROS_ARGUMENTS:
            is_ros = True
        elif is_ros:
            is_ros = text != END
        else:
            own.append(text)
    return own
