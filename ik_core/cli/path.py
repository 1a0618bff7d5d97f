# SPDX-License-Identifier: Apache-2.0
"""`ik path`: a motion along a path of poses.

    ik path ur5e poses.csv --out motion.csv
    ik path panda poses.csv --tip panda_hand_tcp --velocity 1 --acceleration 3 --jerk 50
    ik path ur5e poses.csv --tip-speed 0.1 --keep-within 0.0005 --out motion.csv --plot motion.png
    ik path ur5e poses.csv --avoid --world table.yaml --out motion.csv

The file has a pose in each line, as for `ik solve --poses`: x,y,z,roll,pitch,yaw, or
x,y,z,qx,qy,qz,qw; with x,y,z alone the orientation is free. Between the poses the tip moves along
straight lines, and turns about one axis. With --times it is at the poses at the times [s] of the
file's column `time`. `ik play motion.csv ROBOT` shows the motion.

Exit codes: 0 there is a motion, 1 there is none, 2 bad input.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..display import angle, counted, length, time
from ..motion import save_motion
from ..path import PathResult, solve_path
from ..path.figure import draw_path
from ..problem import IkProblem
from ..robot.motion_files import check_suffix
from ..tasks import PoseTask, PositionTask
from ..tracking import MotionLimits
from .angles import DEGREES, RADIANS, configuration, joint_value
from .collision_arguments import add_collisions, collisions_of
from .goal_arguments import Goal, GoalMaker
from .parser import (
    NOT_REACHED,
    REACHED,
    UsageError,
    add_json,
    add_robot,
    add_tip,
    check_drawable,
    check_writable,
    new_parser,
    robot_of,
)
from .pose_files import read_poses
from .text import as_json


def add_parser(commands: Any, summary: str) -> None:
    """Add `path` to the subcommands of `ik`."""
    parser = new_parser(commands, 'path', summary, __doc__)
    add_robot(parser)
    add = parser.add_argument
    add('poses', metavar='POSES', type=Path, help='a CSV file of poses')
    add_tip(parser)
    text = 'tool centre point in the frame of the tip, X Y Z [m] or X Y Z R P Y'
    add('--tool', nargs='+', type=float, metavar='N', help=text)
    text = 'configuration to begin in: a number for each joint, or JOINT=VALUE for some'
    add('--q0', nargs='+', type=joint_value, metavar='Q', help=text)
    text = 'velocity to begin with at --q0 [rad/s or m/s]: as --q0, 0 for the others'
    add('--dq0', nargs='+', type=joint_value, metavar='DQ', help=text)
    text = 'configuration to end in: as --q0'
    add('--end', nargs='+', type=joint_value, metavar='Q', help=text)
    add('--closed', action='store_true', help='return to the first pose and configuration')
    text = 'distance [m] behind the first pose, along its z axis, to begin in'
    add('--approach', type=float, default=0.0, metavar='M', help=text)
    text = 'distance [m] behind the last pose, along its z axis, to end in'
    add('--retreat', type=float, default=0.0, metavar='M', help=text)
    text = "be at the poses at the times [s] of the file's column `time`"
    add('--times', action='store_true', help=text)
    add('--rest', action='store_true', help='with --times: begin and end at rest')
    for name, unit in (('velocity', 's'), ('acceleration', 's^2'), ('jerk', 's^3')):
        text = f'limit of all joints [rad/{unit} or m/{unit}]; it can tighten that of the robot'
        add(f'--{name}', type=float, default=math.inf, metavar='LIMIT', help=text)
    add('--tip-speed', type=float, default=math.inf, metavar='M/S', help='limit of the tip [m/s]')
    text = 'largest distance of the tip from its path [m] (default: 1e-4)'
    add('--keep-within', type=float, default=1e-4, metavar='M', help=text)
    add('--rate', type=float, default=100.0, metavar='HZ', help='frames a second (default: 100)')
    add('--out', type=Path, metavar='FILE', help='file for the motion, .csv or .npz')
    add('--plot', type=Path, metavar='FILE', help='draw the motion, .png or .svg')
    add_collisions(parser.add_argument_group('collisions'))
    text = 'angles of POSES, --tool, --q0, --dq0 and --end in degrees, not in radians'
    add('--degrees', action='store_true', help=text)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Find the motion, write and draw it; exit code 0 if there is one, else 1."""
    if arguments.out:
        check_suffix(arguments.out)
        check_writable(arguments.out)
    if arguments.plot:
        check_drawable(arguments.plot)
    if not arguments.rate > 0.0:
        raise UsageError(f'--rate {arguments.rate:g}: a positive number is needed')
    robot = robot_of(arguments)
    angles = DEGREES if arguments.degrees else RADIANS
    poses = read_poses(arguments.poses, angles)
    tip = arguments.tip or robot.default_tip()
    tool = GoalMaker(robot, angles).tool(Goal(tool=arguments.tool))
    goal = PoseTask(tip, tool=tool) if poses.turned else PositionTask(tip, tool=tool)
    problem = IkProblem(robot, [goal], avoid=collisions_of(arguments, robot))
    if arguments.times and poses.times is None:
        raise UsageError(f'{arguments.poses}: --times needs a column `time` [s]')
    start, end = (
        None if q is None else configuration(robot, q, robot.middle_configuration, angles)
        for q in (arguments.q0, arguments.end)
    )
    dq0 = arguments.dq0 and configuration(robot, arguments.dq0, np.zeros(robot.n), angles, 'dq0')
    rates = {name: getattr(arguments, name) for name in ('velocity', 'acceleration', 'jerk')}
    limits = MotionLimits.of(robot, **rates)
    result = solve_path(
        problem,
        poses.transforms,
        q0=start,
        dq0=dq0,
        end=end,
        times=poses.times if arguments.times else None,
        rest=arguments.rest,
        limits=limits,
        keep_within=(arguments.keep_within, 10.0 * arguments.keep_within),
        tip_speed=arguments.tip_speed,
        approach=arguments.approach,
        retreat=arguments.retreat,
        closed=arguments.closed,
        period=1.0 / arguments.rate,
    )
    if result.motion is not None and arguments.out:
        save_motion(result.motion, arguments.out)
    if result.motion is not None and arguments.plot:
        draw_path(result, robot, tip, limits, arguments.plot)
    print(as_json(_data(result, arguments)) if arguments.json else _text(result, arguments))
    return REACHED if result.success else NOT_REACHED


def _data(result: PathResult, arguments: argparse.Namespace) -> dict[str, Any]:
    """The result as JSON data."""
    motion = result.motion
    return {
        'success': result.success,
        'reason': result.reason.name.lower(),
        'message': result.message,
        'interval': result.interval,
        'fraction': result.fraction,
        'reconfigurations': result.reconfigurations,
        'duration': None if motion is None else motion.duration,
        'deviation': None if motion is None else result.deviation,
        'branches': result.branches,
        'note': result.note,
        'solve_time': result.solve_time,
        'motion': str(arguments.out) if motion is not None and arguments.out else None,
    }


def _text(result: PathResult, arguments: argparse.Namespace) -> str:
    """The result as text."""
    lines = [result.message]
    if result.motion is None:
        lines.append(f'{100.0 * result.fraction:.3g} % of the path can be done from its beginning')
    else:
        position, orientation = result.deviation
        lines = [
            f'{counted(len(result.q), "pose")} in {time(result.motion.duration)}, within '
            f'{length(position)} and {angle(orientation)} of the path (shown everywhere)'
        ]
        names = dict.fromkeys(filter(None, result.branches))
        lines += [f'branch: {"; ".join(names)}'] if names else []
        written = [str(path) for path in (arguments.out, arguments.plot) if path]
        lines += [f'written to {" and ".join(written)}'] if written else []
        if arguments.out:
            lines.append(f'to see it: ik play {arguments.out} {arguments.robot}')
    return '\n'.join([*lines, *filter(None, [result.note])])
