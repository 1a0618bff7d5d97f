# SPDX-License-Identifier: Apache-2.0
"""Example motions by topic: demonstrations whose style the robot follows goals in.

Only names and positions of a message are read; it may name some of the joints. Processing takes
longer than a tick, so a background job does it. An unusable example is refused, and the previous
one stays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from ik_core.exceptions import IkError
from ik_core.jobs import Job
from ik_core.motion import Motion
from ik_core.retargeting import Demonstration

from ..conversions import Refused
from ..outputs.diagnostics import Diagnostics
from ..robot_model import Model
from .subscriptions import Inputs

TOPIC = 'example_trajectory'
LARGEST_EXAMPLE = 400_000  # [bytes] 5000 points of 7 joints, more than a minute at 60 Hz


class Examples:
    """The subscription of examples. `ready` returns the robot model, or raises Refused."""

    def __init__(self, node: Node, health: Diagnostics, ready: Callable[[], Model]) -> None:
        self._node, self._health, self._ready = node, health, ready
        self._input = Inputs(node, health)
        self._job: Job[Demonstration] | None = None
        self._next: JointTrajectory | None = None

    def open(self) -> None:
        """Subscribe to examples."""
        self._input.listen(JointTrajectory, TOPIC, self._take, largest=LARGEST_EXAMPLE)

    def close(self) -> None:
        """Unsubscribe, and drop examples that are not processed yet."""
        self._input.close()
        self._job = self._next = None

    def poll(self) -> None:
        """Handle the received messages; process one example at a time, and then the newest."""
        self._input.poll()
        if self._job is None and self._next is not None:
            message, self._next = self._next, None
            try:
                model = self._ready()
            except Refused as refused:
                self._health.refuse(TOPIC, refused)
                return
            self._job = Job(lambda: read_example(message, model))

    def pass_to(self, model: Model) -> None:
        """Set the example that is processed, if any, in the model."""
        job = self._job
        if job is None or not job.done:
            return
        self._job = None
        try:
            model.set_example(job.result())
        except Refused as refused:
            self._health.refuse(TOPIC, refused)
        except IkError as error:
            self._health.refuse(TOPIC, Refused('invalid', str(error)))
        else:
            frames = len(job.result())
            self._node.get_logger().info(
                f'following goals in the style of {frames} example frames'
            )

    def _take(self, message: JointTrajectory) -> None:
        self._ready()
        self._next = message


def read_example(message: JointTrajectory, model: Model) -> Demonstration:
    """Return the demonstration of a message for a model's robot. Raises IkError."""
    names, points = tuple(message.joint_names), message.points
    if not names or not points:
        raise Refused('empty', 'an example needs the names of joints, and points')
    for i, point in enumerate(points):
        if len(point.positions) != len(names):
            text = f'point {i} has {len(point.positions)} positions; {len(names)} are needed'
            raise Refused('wrong_length', text)
    positions = np.array([point.positions for point in points])
    return Demonstration(model.robot, model.tip_links, Motion(names, positions, period=1.0))
