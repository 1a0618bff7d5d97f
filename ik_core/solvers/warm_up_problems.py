"""Problems that compile what closed forms need: arms of revolute joints, and poses they reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..problem import IkProblem
from ..robot.joints import Joint
from ..robot.robot import Robot
from ..tasks import PoseTask

STANDS = 0.7
"""[rad] Each joint at the pose."""


def wrist_problem() -> IkProblem:
    """A pose for an arm of six joints with a wrist."""
    x, y, z = np.eye(3)
    ways = [0.0 * z, 0.2 * z, 0.4 * x, 0.4 * x, 0.0 * x, 0.0 * x]
    return pose_problem([z, y, y, x, y, x], ways)


def pose_problem(axes: Sequence[ArrayLike], ways: Sequence[ArrayLike]) -> IkProblem:
    """A pose that an arm of revolute joints with these axes, and ways between them, reaches."""
    links, joints = [str(i) for i in range(len(axes) + 1)], []
    for i, (axis, way) in enumerate(zip(axes, ways, strict=True)):
        shift = np.eye(4)
        shift[:3, 3] = way
        own = np.asarray(axis, float)
        joints.append(Joint(f'j{i}', 'revolute', links[i], links[i + 1], shift, own, -3.0, 3.0))
    robot = Robot.from_joints('rehearsal', links, joints)
    pose = robot.forward_kinematics(np.full(len(axes), STANDS), links[-1])
    return IkProblem(robot, [PoseTask(links[-1], transform=pose)])
