# SPDX-License-Identifier: Apache-2.0
"""Commands: each output has one message, which each tick fills again.

- `joint_state`: a JointState on `joint_states`, with all movable joints, mimic joints last.
- `joint_trajectory`: a JointTrajectory on `joint_trajectory` for ros2_control's
  JointTrajectoryController: a window of the motion (`joint_trajectories`).
- `position_command`: a Float64MultiArray on `commands` for forward_command_controller.

The last two have the joints that the goals move, in the URDF's order, or those of
`command_joints`, in its order.

If possible, a joint state is published as bytes: it is serialized once, and then only its numbers
change. rclpy would convert and serialize all names in every tick, which is most of the time of
publishing.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ik_core import Robot
from ik_core.maths.rotations import Array
from ik_core.tracking.governor import Governor

from ..clocks import Moment
from ..robot_model import Model
from .joint_rows import JointRows
from .joint_trajectories import JointTrajectoryWriter
from .output import Output


class JointStateWriter(Output):
    """An output of the positions and velocities of joints; by default of all movable joints."""

    kind: ClassVar[Any] = JointState
    topic: ClassVar[str] = 'joint_states'

    def __init__(self, robot: Robot, names: Sequence[str] = ()) -> None:
        names = list(names) or [*robot.joint_names, *robot.mimic_joints]
        self._rows = JointRows(robot, names)
        self.message = JointState(name=names, position=_zeros(names), velocity=_zeros(names))
        # Views of the message's own arrays: a tick only writes through them.
        self._position = np.frombuffer(self.message.position)
        self._velocity = np.frombuffer(self.message.velocity)

    def write(self, governor: Governor, moment: Moment) -> JointState:
        """Return the message for the governor's state at a moment."""
        return self.fill(governor.q, governor.dq, moment.stamp)

    def fill(self, q: Array, dq: Array, stamp: int) -> JointState:
        """Return the message for positions and velocities (n,), with a stamp [ns]."""
        self._rows.positions(q, self._position)
        self._rows.velocities(dq, self._velocity)
        self.message.header.stamp.sec, self.message.header.stamp.nanosec = divmod(stamp, 10**9)
        return self.message


class SerializedJointStateWriter(Output):
    """Joint states as bytes; ValueError where a joint state isn't serialized as is assumed here.

    Where the numbers stand is found by serializing numbers that can be found.
    """

    kind: ClassVar[Any] = JointState
    topic: ClassVar[str] = 'joint_states'

    def __init__(self, robot: Robot, names: Sequence[str] = ()) -> None:
        writer = JointStateWriter(robot, names)
        self._rows, message = writer._rows, writer.message
        count = len(message.name)
        self._values = np.arange(1.0, 2.0 * count + 1.0) * 1.2345e-100
        self._position, self._velocity = self._values[:count], self._values[count:]
        message.position = array('d', self._position.tobytes())
        message.velocity = array('d', self._velocity.tobytes())
        message.header.stamp.sec, message.header.stamp.nanosec = 0x1234567, 0x2345678
        self._bytes = bytearray(serialize_message(message))
        self._stamp = struct.Struct('=iI')
        self._stamp_at = self._bytes.index(self._stamp.pack(0x1234567, 0x2345678))
        # The bytes are not aligned for numbers, so numbers are computed elsewhere and copied here.
        self._number_views = [
            memoryview(self._bytes)[start : start + part.nbytes]
            for part in (self._position, self._velocity)
            for start in (self._bytes.index(part.tobytes()),)
        ]

    def write(self, governor: Governor, moment: Moment) -> bytes:
        """Return the serialized message for the governor's state at a moment."""
        self._rows.positions(governor.q, self._position)
        self._rows.velocities(governor.dq, self._velocity)
        self._number_views[0][:] = self._position.tobytes()
        self._number_views[1][:] = self._velocity.tobytes()
        self._stamp.pack_into(self._bytes, self._stamp_at, *divmod(moment.stamp, 10**9))
        return bytes(self._bytes)


class PositionWriter(Output):
    """An output of the positions of the joints `names`, in their order."""

    kind: ClassVar[Any] = Float64MultiArray
    topic: ClassVar[str] = 'commands'

    def __init__(self, robot: Robot, names: Sequence[str]) -> None:
        self._rows = JointRows(robot, names)
        self.message = Float64MultiArray(data=_zeros(names))
        self._position = np.frombuffer(self.message.data)

    def write(self, governor: Governor, moment: Moment) -> Float64MultiArray:
        """Return the message for the governor's state."""
        self._rows.positions(governor.q, self._position)
        return self.message


def make_output(model: Model) -> Output:
    """Return the output that the parameters select, for the model's robot."""
    node, names = model.parameters.node, model.command_joints
    if node.output == 'joint_trajectory':
        return JointTrajectoryWriter(model.robot, names, node.rate, node.trajectory_delay)
    if node.output == 'position_command':
        return PositionWriter(model.robot, names)
    try:
        return SerializedJointStateWriter(model.robot, names)
    except ValueError:
        return JointStateWriter(model.robot, names)


# Outputs by the value of the parameter `output`.
OUTPUTS: dict[str, type[Output]] = {
    'joint_state': JointStateWriter,
    'joint_trajectory': JointTrajectoryWriter,
    'position_command': PositionWriter,
}


def _zeros(names: Sequence[str]) -> array[float]:
    return array('d', bytes(8 * len(names)))
