# SPDX-License-Identifier: Apache-2.0
"""Goals on the command line: --tip, --xyz, --rpy, --axis and the like, for one link or several."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..maths.rotations import Array, matrix_from_rpy, quaternion_from_matrix
from ..robot.robot import Robot
from ..tasks import AxisTask, OrientationTask, PoseTask, PositionAxisTask, PositionTask
from ..tasks.goals import GoalTask, Words
from .angles import RADIANS, Angles
from .parser import UsageError

MOST_RADIANS = 2.0 * math.tau  # larger angles of a goal are more likely in degrees
MOST_METRES = 20.0  # larger positions of a goal are more likely in millimetres
ORIENTATIONS = 'rpy', 'quat', 'axis'


@dataclass
class Goal:
    """A goal on the command line for one link; `link` None is the robot's default tip."""

    link: str | None = None
    xyz: list[float] | None = None
    rpy: list[float] | None = None
    quat: list[float] | None = None
    axis: list[float] | None = None
    tool: list[float] | None = None


def add_goals(group: Any, links: Callable[..., Any]) -> None:
    """Add the options of goals; `links` completes the names of links."""
    tip = _add_goal(
        group,
        '--tip',
        metavar='LINK',
        help='the link to move (default: the end of the longest chain); a second --tip adds '
        'a second goal',
    )
    tip.completer = links
    add_pose(group)
    _add_goal(
        group,
        '--axis',
        nargs=3,
        type=float,
        metavar=('X', 'Y', 'Z'),
        help="or only the direction of its z axis (of --tool's, if given); the roll is free",
    )
    _add_goal(
        group,
        '--tool',
        nargs='+',
        type=float,
        metavar='N',
        help='tool centre point in its frame, X Y Z [m] or X Y Z R P Y, which takes its place',
    )
    group.add_argument(
        '--equal-weights',
        action='store_true',
        help='weigh position and orientation alike; by default the position comes first if '
        'fewer than six joints move a link',
    )
    group.add_argument(
        '--couple',
        type=float,
        metavar='W',
        help='weight the differences between the errors of positions W times as much as their '
        'mean, 1e-3 to 1e3',
    )


def add_pose(group: Any) -> None:
    """Add the options of a position and an orientation."""
    axes = 'X', 'Y', 'Z'
    turns = "its orientation: roll, pitch, yaw about the root link's axes, as in URDF"
    _add_goal(group, '--xyz', nargs=3, type=float, metavar=axes, help='its position [m]')
    _add_goal(group, '--rpy', nargs=3, type=float, metavar=('R', 'P', 'Y'), help=turns)
    _add_goal(
        group, '--quat', nargs=4, type=float, metavar=(*axes, 'W'), help='or as a quaternion'
    )


def _add_goal(group: Any, option: str, **more: Any) -> Any:
    return group.add_argument(option, action=_GoalAction, dest='goals', **more)


def add_tolerances(group: Any) -> None:
    """Add the tolerances within which goals are reached."""
    group.add_argument('--position-tolerance', type=float, metavar='M', help='[m] (default: 1e-5)')
    group.add_argument(
        '--orientation-tolerance',
        type=float,
        metavar='ANGLE',
        help='[rad], or [deg] with --degrees (default: 1e-4 rad)',
    )


def tolerances_of(arguments: argparse.Namespace, angles: Angles) -> dict[str, Any]:
    """The given tolerances, as arguments of IkProblem. Raises UsageError."""
    given = {}
    if arguments.position_tolerance is not None:
        given['position_tolerance'] = arguments.position_tolerance
    if arguments.orientation_tolerance is not None:
        given['orientation_tolerance'] = arguments.orientation_tolerance / angles.per_radian
    for name, value in given.items():
        if not 0.0 < value < math.inf:
            option = '--' + name.replace('_', '-')
            raise UsageError(f'{option} {value:g}: a positive number is needed')
    return given


@dataclass(frozen=True)
class GoalMaker:
    """Maker of tasks for goals of the command line, for a robot with some frozen joints.

    equal_weights : weight position and orientation equally, also for links that few joints move
    """

    robot: Robot
    angles: Angles
    frozen: Sequence[str] = ()
    equal_weights: bool = False

    def task(self, goal: Goal) -> GoalTask:
        """Make the task of a goal. Raises UsageError if the goal constrains nothing."""
        link = self.robot.default_tip() if goal.link is None else goal.link
        quaternion, tool = quaternion_of(goal, self.angles), self.tool(goal)
        if goal.xyz is None and quaternion is None and goal.axis is None:
            raise UsageError(
                f'no goal for {link!r}: give --xyz X Y Z, or --rpy R P Y or --axis X Y Z, or both'
            )
        if goal.axis is not None and not any(goal.axis):
            raise UsageError('--axis 0 0 0 is no direction: --axis 0 0 -1, say, points down')
        note_millimetres('--xyz', goal.xyz)
        if goal.axis is not None:
            if goal.xyz is not None:
                return PositionAxisTask(link, goal.xyz, direction=goal.axis, tool=tool)
            along = (0.0, 0.0, 1.0) if tool is None else tool[:3, 2]
            return AxisTask(link, along, goal.axis)
        if quaternion is None:
            return PositionTask(link, goal.xyz, tool=tool)
        if goal.xyz is None:
            return OrientationTask(link, quaternion, tool=tool)
        pose = self.pose(link, tool)
        pose.set_target(position=goal.xyz, quaternion=quaternion)
        return pose

    def pose(self, link: str, tool: Array | None) -> PoseTask:
        """Make a task for poses of a link, without a target."""
        if self.equal_weights:
            return PoseTask(link, tool=tool)
        frozen = {self.robot.joint_index(name) for name in self.frozen}
        joints = set(self.robot.chain(link)) - frozen
        return PoseTask.for_joints(len(joints), link, tool)

    def tool(self, goal: Goal) -> Array | None:
        """The tool (4, 4) of a goal. Raises UsageError for a wrong count of numbers."""
        if goal.tool is None:
            return None
        if len(goal.tool) not in (3, 6):
            raise UsageError(
                f'--tool has {len(goal.tool)} numbers: X Y Z are needed, or X Y Z R P Y'
            )
        tool = np.eye(4)
        tool[:3, 3] = goal.tool[:3]
        if len(goal.tool) == 6:
            radians = [angle / self.angles.per_radian for angle in goal.tool[3:]]
            tool[:3, :3] = matrix_from_rpy(radians)
        note_millimetres('--tool', goal.tool[:3])
        return tool


def maker_of(arguments: argparse.Namespace, robot: Robot) -> GoalMaker:
    """Make the maker of tasks from the arguments of `ik solve`."""
    return GoalMaker(robot, arguments.angles, arguments.frozen, arguments.equal_weights)


# advice on constraining less, with options of the command line
IN_SHELL = Words(
    axis='ask for position and axis (--axis in place of --rpy)',
    first='put the position first (leave out --equal-weights)',
    point='ask for the position alone (--xyz)',
    free='ask for less',
)


def note_millimetres(option: str, metres: Sequence[float] | None) -> None:
    """Print a note on stderr if numbers are so large that millimetres may be meant."""
    if metres is not None and MOST_METRES < max(map(abs, metres)) < math.inf:
        print(f'ik: {option} is in metres, not in millimetres', file=sys.stderr)


def quaternion_of(goal: Goal, angles: Angles) -> Array | None:
    """The quaternion (4,) of --rpy or --quat; None without either."""
    if goal.rpy is not None:
        radians = [angle / angles.per_radian for angle in goal.rpy]
        if max(map(abs, goal.rpy)) > MOST_RADIANS and angles is RADIANS:
            print('ik: --rpy is in radians; for degrees add --degrees', file=sys.stderr)
        return quaternion_from_matrix(matrix_from_rpy(radians))
    return None if goal.quat is None else np.array(goal.quat)


class _GoalAction(argparse.Action):
    """Action of options of goals: a second --tip begins a goal; others belong to the last goal."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        goals = namespace.goals = namespace.goals or []
        if not goals or (option == '--tip' and goals[-1].link is not None):
            goals.append(Goal())
        goal, field = goals[-1], {'--tip': 'link'}.get(option, option[2:])
        if getattr(goal, field) is not None:
            raise UsageError(f'{option} is given twice for one goal: begin another with --tip')
        others = [other for other in ORIENTATIONS if getattr(goal, other) is not None]
        if field in ORIENTATIONS and others:
            raise UsageError(
                f'--{others[0]} and {option} both turn one goal: give one of --rpy, --quat and '
                '--axis, or begin another goal with --tip'
            )
        setattr(goal, field, values)
