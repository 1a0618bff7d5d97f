# SPDX-License-Identifier: Apache-2.0
"""The topics ~/goals and ~/solution, for programs that display them.

~/goals      the goal of each tip, from any source, in the order of `tip_links` and in the root
             link's frame; all NaN for a tip without a goal, no poses while nothing moves.
             Latched; published on changes, at most 10 times a second
~/solution   the solution of the solver, before limits are applied; 30 times a second, while it
             has subscribers
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import Point, Pose, PoseArray, Quaternion
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState

from ik_core.maths.rotations import Array
from ik_core.tracking import Command

from ..conversions import transform_to_pose
from ..robot_model import Model
from .joint_rows import JointRows

SOLUTION_PERIOD = 1.0 / 30.0
# Returns the robot model that is moved and its last command; None for each that does not exist.
Current = Callable[[], tuple[Model | None, Command | None]]


class GoalsInForce:
    """Publishes ~/goals."""

    def __init__(self, node: Node, current: Current) -> None:
        self._node, self._current = node, current
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._publisher = node.create_publisher(PoseArray, '~/goals', latched)
        self._published: tuple[object, ...] | None = None

    def publish(self) -> None:
        """Publish the goals if they have changed; called periodically."""
        model, _ = self._current()
        goals = [] if model is None else model.tracker.goals
        now = (model, *(None if goal is None else goal.tobytes() for goal in goals))
        if now != self._published:
            self._published = now
            message = PoseArray(poses=[_pose(goal) for goal in goals])
            message.header.frame_id = '' if model is None else model.root_frame
            message.header.stamp = self._node.get_clock().now().to_msg()
            self._publisher.publish(message)


def _pose(goal: Array | None) -> Pose:
    if goal is not None:
        return transform_to_pose(goal)
    nan = math.nan
    return Pose(
        position=Point(x=nan, y=nan, z=nan), orientation=Quaternion(x=nan, y=nan, z=nan, w=nan)
    )


class Solution:
    """Publishes ~/solution: the positions of all movable joints, mimic joints last."""

    def __init__(self, node: Node, current: Current) -> None:
        self._node, self._current = node, current
        self._publisher = node.create_publisher(JointState, '~/solution', 1)
        self._model: Model | None = None

    def publish(self) -> None:
        """Publish the solution of the last tick; called every SOLUTION_PERIOD."""
        if not self._publisher.get_subscription_count():
            return
        model, command = self._current()
        if model is None or command is None:
            return
        if model is not self._model:
            self._begin(model)
        self._rows.positions(command.solution, self._positions)
        self._message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(self._message)

    def _begin(self, model: Model) -> None:
        self._model, robot = model, model.robot
        names = [*robot.joint_names, *robot.mimic_joints]
        self._rows = JointRows(robot, names)
        self._message = JointState(name=names, position=[0.0] * len(names))
        self._positions = np.frombuffer(self._message.position)  # a view of the message
