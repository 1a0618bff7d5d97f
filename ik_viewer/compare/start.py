# SPDX-License-Identifier: Apache-2.0
"""The start of a comparison: a configuration and goals for all methods; the stretched arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ik_core import IkProblem, IkStatus, PositionTask, Robot, solve
from ik_core.exceptions import UnsupportedProblem
from ik_core.maths.rotations import Array
from ik_core.tasks.goals import GoalTask
from ik_core.tasks.reference_motion import total_link_length

from ..arm import GoalKind, TipState
from ..local.tracker_setup import GOALS

# Distance of the goal of the stretched arm from its tip, relative to the arm's length.
TOWARDS_BASE = 0.2
# [rad or m] The joints of the stretched arm are bent by at most this much: if it were straight,
# the gradient would be 0, and no method of the papers would move at all.
BENT = 0.01
FAR = 3.0  # [arm lengths] from the shoulder: the goal towards which an arm is stretched


@dataclass(frozen=True, eq=False)
class Goal:
    """A goal: the `tool` (4, 4) of a link shall be at `target` (4, 4) in the root link's frame."""

    link: str
    target: Array
    kind: GoalKind
    tool: Array

    def task(self) -> GoalTask:
        """Make the task; a pose counts as a whole, even with few joints."""
        task = GOALS[self.kind](self.link, tool=self.tool)
        task.set_target(self.target)
        return task


@dataclass(frozen=True, eq=False)
class Start:
    """A robot at q0 (n,) and its goals; frozen joints do not move."""

    robot: Robot
    q0: Array
    goals: tuple[Goal, ...]
    frozen_joints: tuple[str, ...] = ()

    def problem(self) -> IkProblem:
        """Make a new problem. Raises IkError."""
        tasks = [goal.task() for goal in self.goals]
        return IkProblem(self.robot, tasks, frozen_joints=self.frozen_joints)


def goals_of(tips: Sequence[TipState]) -> tuple[Goal, ...]:
    """Return the goals of the tips that have one."""
    return tuple(Goal(t.link, t.goal, t.kind, t.tool) for t in tips if t.goal is not None)


def stretched_arm(robot: Robot, link: str, tool: Array | None = None) -> Start:
    """Return a start that is hard for the papers' methods: the stretched arm.

    The arm is stretched out as far as its limits allow, and the goal of its tip is on the line
    from tip to base. No joint moves the tip in that direction, so the gradient vanishes although
    the goal is far, and the Jacobian is singular. A floating root is frozen. Raises
    UnsupportedProblem if the arm can't be stretched, such as on a rail without limits.
    """
    tool = np.eye(4) if tool is None else tool
    frozen = tuple(robot.joint_names[i] for i in robot.root_joints)
    middle = robot.middle_configuration
    length = total_link_length(robot, link)
    shoulder, outwards = _outwards(robot, link, middle)
    goal = PositionTask(link, shoulder + FAR * length * outwards, tool=tool)
    reached = solve(IkProblem(robot, [goal], frozen_joints=frozen), middle)
    if reached.status is not IkStatus.CLOSEST:
        raise UnsupportedProblem(f'{link!r} is not at the end of an arm that can be stretched out')
    tip = robot.forward_kinematics(reached.q, link) @ tool
    along = goal.transform[:3, 3] - tip[:3, 3]
    target = tip.copy()
    target[:3, 3] -= TOWARDS_BASE * length * along / np.linalg.norm(along)
    q0 = _bent(robot, reached.q, frozen)
    return Start(robot, q0, (Goal(link, target, GoalKind.POSITION, tool),), frozen)


def _outwards(robot: Robot, link: str, q: Array) -> tuple[Array, Array]:
    """Return the position (3,) [m] of the arm's first joint, and the unit vector (3,) outwards.

    That is the horizontal direction to the tip; x if the tip is above the joint.
    """
    bodies = [k for k in robot.body_path(link) if robot.tree[k, 2] not in robot.root_joints]
    shoulder = robot.frames(q)[bodies[0], 9:]
    to_tip = robot.forward_kinematics(q, link)[:3, 3] - shoulder
    to_tip[2] = 0.0
    distance = np.linalg.norm(to_tip)
    outwards = to_tip / distance if distance > BENT else np.array([1.0, 0.0, 0.0])
    return shoulder, outwards


def _bent(robot: Robot, q: Array, frozen: Sequence[str]) -> Array:
    """Return q (n,) with its joints bent, always the same way, inside the limits."""
    away = np.random.default_rng(0).uniform(-BENT, BENT, robot.n)
    away[[robot.joint_index(name) for name in frozen]] = 0.0
    return np.clip(q + away, robot.lower, robot.upper)
