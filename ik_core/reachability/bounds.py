# SPDX-License-Identifier: Apache-2.0
"""Bounds of a link's reach for any joint positions: balls that save most hopeless solves.

The origins of successive moving joints are a fixed distance apart, except for the travel of
prismatic joints. So the last joint's origin stays within the sum of these distances of the first
one, and the link's goal point within that sum plus its own distance from the last origin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array
from ..problem import IkProblem
from ..robot.kinematics import PRISMATIC
from ..tasks import PoseTask
from ..tasks.goals import GoalTask

RADIUS_SLACK = 1e-9  # added to every radius, relative to it, against rounding

BoolArray = NDArray[np.bool_]

ALONG = [2, 5, 8]  # elements of a frame (12,) that are its z axis, the joint's axis


@dataclass(frozen=True, eq=False)
class ReachBounds:
    """Two balls about `centre` (3,), in the root link's frame [m].

    The goal point stays within `radius`. The origin of the last joint, at `last_joint` (3,) in the
    goal's frame, stays within `joint_radius`. A radius is infinite if the goals do not determine
    the point, or if a prismatic joint has no limits. `workspace` is the radius for any goals.
    """

    centre: Array
    radius: float
    joint_radius: float
    last_joint: Array
    workspace: float

    def may_hold(self, points: Array) -> BoolArray:
        """Mask of points (V, 3) that are not certainly out of reach."""
        distances: Array = np.linalg.norm(points - self.centre, axis=-1)
        return distances <= self.radius

    def may_place(self, poses: Array) -> BoolArray:
        """Mask of poses (V, 4, 4) that are not certainly out of reach."""
        joints = poses[:, :3, :3] @ self.last_joint + poses[:, :3, 3]
        distances: Array = np.linalg.norm(joints - self.centre, axis=-1)
        return distances <= self.joint_radius


def reach_bounds(problem: IkProblem, q0: Array) -> ReachBounds:
    """The bounds of a problem whose goals are for one link, with frozen joints as in q0 (n,)."""
    centre, arm = _arm(problem, q0)
    place = problem.robot.placement(problem.goals[0].link)
    radius = joint_radius = math.inf
    last_joint = np.zeros(3)
    workspace = 0.0
    for goal in problem.goals:
        tip = place.transform @ goal.tool
        tip_length = float(np.linalg.norm(tip[:3, 3]))
        workspace = max(workspace, (arm + tip_length) * (1.0 + RADIUS_SLACK))
        if goal.position_weights.all():
            slack = problem.position_tolerance + RADIUS_SLACK * (arm + tip_length)
            radius = min(radius, arm + tip_length + slack)
            if _fixes_orientation(goal):
                joint_radius = arm + slack + tip_length * problem.orientation_tolerance
                last_joint = -tip[:3, :3].T @ tip[:3, 3]
    return ReachBounds(centre, radius, joint_radius, last_joint, workspace)


def _fixes_orientation(goal: GoalTask) -> bool:
    return isinstance(goal, PoseTask) and bool(goal.rotation_weights.all())


def _arm(problem: IkProblem, q0: Array) -> tuple[Array, float]:
    """A point (3,) that no joint moves, and the farthest the last joint's origin gets from it."""
    robot = problem.robot
    path = robot.body_path(problem.goals[0].link)
    while not _moves(problem, path[0]):
        path = path[1:]
    frame = robot.frames(q0)[path[0]]
    centre, axis = frame[9:].copy(), frame[ALONG]
    along = length = 0.0
    if robot.tree[path[0], 1] == PRISMATIC:
        low, high = _travel(problem, path[0], q0)
        here = _position(problem, path[0], q0)
        length = 0.5 * (high - low)
        centre += (0.5 * (low + high) - here) * axis if length < math.inf else 0.0
    elif len(path) > 1:  # any point on the axis stays: the one nearest to the second joint
        along = float(robot.geometry[path[1], 11])
        centre += along * axis
    for k in path[1:]:
        offset = robot.geometry[k, 9:12].copy()
        offset[2] -= along
        along = 0.0
        length += _longest(problem, k, offset, q0)
    return centre, length


def _longest(problem: IkProblem, body: int, offset: Array, q0: Array) -> float:
    """The largest distance [m] of the origin of a body from that of its parent."""
    robot = problem.robot
    if robot.tree[body, 1] != PRISMATIC:
        return float(np.linalg.norm(offset))
    axis = robot.geometry[body, ALONG]
    ends = _travel(problem, body, q0)
    if not np.isfinite(ends).all():
        return math.inf
    return max(float(np.linalg.norm(offset + end * axis)) for end in ends)


def _travel(problem: IkProblem, body: int, q0: Array) -> tuple[float, float]:
    """The least and the largest position [m] of a body's prismatic joint."""
    if not _moves(problem, body):
        return (_position(problem, body, q0),) * 2
    robot, limits = problem.robot, problem.limits
    variable = int(np.flatnonzero(problem.variables == robot.tree[body, 2])[0])
    multiplier, offset = robot.geometry[body, 12:14]
    ends = multiplier * limits.lower[variable], multiplier * limits.upper[variable]
    return float(min(ends) + offset), float(max(ends) + offset)


def _position(problem: IkProblem, body: int, q0: Array) -> float:
    robot = problem.robot
    multiplier, offset = robot.geometry[body, 12:14]
    return float(multiplier * q0[robot.tree[body, 2]] + offset)


def _moves(problem: IkProblem, body: int) -> bool:
    """Return whether the problem moves the joint of a body."""
    robot = problem.robot
    return robot.geometry[body, 12] != 0.0 and robot.tree[body, 2] in problem.variables
