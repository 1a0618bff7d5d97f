# SPDX-License-Identifier: Apache-2.0
"""The subscriptions to the node: status, goals, robot, joints and solution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from ik_core import Robot
from ik_core.maths.rotations import Array

from .connection import Latest
from .messages import Status, goals_of, status_of, take_positions

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Joint states read in each frame: several drivers may publish them.
PUBLISHERS = 10


class Watch:
    """Reads the topics of a node, given by its full name.

    on_status : called with each status
    on_robot : called with each description

    `status`, `goals` : the last ones received
    `q` : (n,) of joint_states: commanded with the node's output joint_state, else measured
    `solution` : (n,), None until there is one
    `obstacles` : the last message of ~/obstacles; None until there is one
    """

    def __init__(
        self,
        node: Node,
        name: str,
        on_status: Callable[[Status], None],
        on_robot: Callable[[str], None],
    ) -> None:
        self.status = Status()
        self.goals: list[Array | None] = []
        self.q = np.zeros(0)
        self.solution: Array | None = None
        self.obstacles: MarkerArray | None = None
        self._on_status = on_status
        namespace = name.rpartition('/')[0]
        self._states = Latest(node, JointState, f'{namespace}/joint_states', PUBLISHERS)
        self._solutions = Latest(node, JointState, f'{name}/solution')
        node.create_subscription(DiagnosticStatus, f'{name}/status', self._take_status, LATCHED)
        node.create_subscription(PoseArray, f'{name}/goals', self._take_goals, LATCHED)
        node.create_subscription(MarkerArray, f'{name}/obstacles', self._take_obstacles, LATCHED)
        topic = f'{name}/robot_description'
        node.create_subscription(String, topic, lambda message: on_robot(message.data), LATCHED)
        self._robot: Robot | None = None
        self._is_new = False

    def forget(self) -> None:
        """Reset the state, since the node is gone."""
        self.status, self.goals, self.solution = Status(), [], None
        self.obstacles = None

    def begin(self, robot: Robot) -> None:
        """Read the joints of this robot from now on."""
        self._robot, self.q, self.solution = robot, robot.middle_configuration.copy(), None

    def poll(self) -> bool:
        """Read the joint states; return whether any message has arrived since the last call."""
        states, solutions = self._states.take(), self._solutions.take()
        is_new, self._is_new = self._is_new or bool(states or solutions), False
        if self._robot is not None:
            self.q = _filled(states, self._robot, self.q)
            if solutions:
                self.solution = _filled(solutions, self._robot, self.q)
        return is_new

    def _take_status(self, message: DiagnosticStatus) -> None:
        self._is_new, status = True, status_of(message)
        self._on_status(status)
        self.status = status

    def _take_obstacles(self, message: MarkerArray) -> None:
        self._is_new, self.obstacles = True, message

    def _take_goals(self, message: PoseArray) -> None:
        self._is_new, self.goals = True, goals_of(message)


def _filled(messages: list[JointState], robot: Robot, q: Array) -> Array:
    """Return q (n,) updated by the messages, in their order."""
    filled = q.copy()
    for message in messages:
        take_positions(message, robot, filled)
    return filled
