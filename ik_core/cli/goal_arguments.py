"""Goals on the command line: --tip, --xyz, --rpy, --quat, for one link or for several."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..maths.rotations import Array, matrix_from_rpy, quaternion_from_matrix
from ..robot.robot import Robot
from ..tasks import OrientationTask, PoseTask, PositionTask
from ..tasks.goals import GoalTask
from .angles import RADIANS, Angles
from .parser import UsageError

MOST_RADIANS = 2.0 * math.tau
"""A larger angle of a goal is more likely in degrees."""
MOST_METRES = 20.0
"""A larger position of a goal is more likely in millimetres."""


@dataclass
class Goal:
    """A goal on the command line for one link; `link` None is the robot's default tip."""

    link: str | None = None
    xyz: list[float] | None = None
    rpy: list[float] | None = None
    quat: list[float] | None = None


def add_goals(group: Any, links: Callable[..., Any]) -> None:
    """Add the options of goals; `links` completes those of a robot."""

    def goal(option: str, **more: Any) -> Any:
        return group.add_argument(option, action=_GoalAction, dest='goals', **more)

    tip = goal(
        '--tip',
        metavar='LINK',
        help='the link to move (default: the end of the longest chain); a second --tip adds '
        'a second goal',
    )
    tip.completer = links
    goal('--xyz', nargs=3, type=float, metavar=('X', 'Y', 'Z'), help='its position [m]')
    goal(
        '--rpy',
        nargs=3,
        type=float,
        metavar=('R', 'P', 'Y'),
        help="its orientation: roll, pitch, yaw about the root link's axes, as in URDF",
    )
    goal('--quat', nargs=4, type=float, metavar=('X', 'Y', 'Z', 'W'), help='or as a quaternion')


def task_of(robot: Robot, goal: Goal, angles: Angles) -> GoalTask:
    """The task that a goal means. Raises UsageError where it asks for nothing."""
    link = robot.default_tip() if goal.link is None else goal.link
    quaternion = _quaternion(goal, angles)
    if goal.xyz is None and quaternion is None:
        raise UsageError(f'no goal for {link!r}: give --xyz X Y Z, or --rpy R P Y, or both')
    if goal.xyz is not None and MOST_METRES < max(map(abs, goal.xyz)) < math.inf:
        print('ik: --xyz is in metres, not in millimetres', file=sys.stderr)
    if quaternion is None:
        return PositionTask(link, goal.xyz)
    if goal.xyz is None:
        return OrientationTask(link, quaternion)
    return PoseTask(link, goal.xyz, quaternion)


def _quaternion(goal: Goal, angles: Angles) -> Array | None:
    if goal.rpy is not None:
        radians = [angle / angles.per_radian for angle in goal.rpy]
        if max(map(abs, goal.rpy)) > MOST_RADIANS and angles is RADIANS:
            print('ik: --rpy is in radians; for degrees add --degrees', file=sys.stderr)
        return quaternion_from_matrix(matrix_from_rpy(radians))
    return None if goal.quat is None else np.array(goal.quat)


class _GoalAction(argparse.Action):
    """A second --tip begins a second goal; --xyz, --rpy, --quat belong to the last one begun."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        goals = namespace.goals = namespace.goals or []
        if not goals or (option == '--tip' and goals[-1].link is not None):
            goals.append(Goal())
        goal, field = goals[-1], {'--tip': 'link'}.get(option, option[2:])
        turned = field in ('rpy', 'quat')
        if any(getattr(goal, f) is not None for f in (('rpy', 'quat') if turned else (field,))):
            what = '--rpy or --quat' if turned else option
            raise UsageError(f'{what} is given twice for one goal: begin another with --tip')
        setattr(goal, field, values)
