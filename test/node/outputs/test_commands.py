# SPDX-License-Identifier: Apache-2.0
"""Published commands: joint states, trajectories and position commands."""

from collections import namedtuple

import numpy as np
import pytest

pytest.importorskip('rclpy')


from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

import ik_core as ik
from ik_node.clocks import Moment
from ik_node.outputs.commands import JointStateWriter, SerializedJointStateWriter

Commanded = namedtuple('Commanded', 'q dq')  # as a governor has them
GRIPPER = """<robot name="gripper">
<link name="hand"/><link name="left"/><link name="right"/><link name="wrist"/>
<joint name="turn" type="revolute"><parent link="wrist"/><child link="hand"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="2" effort="1"/></joint>
<joint name="open" type="prismatic"><parent link="hand"/><child link="left"/>
<axis xyz="1 0 0"/><limit lower="0" upper="0.1" velocity="1" effort="1"/></joint>
<joint name="follow" type="prismatic"><parent link="hand"/><child link="right"/>
<axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="9" effort="1"/>
<mimic joint="open" multiplier="-2" offset="0.01"/></joint>
</robot>"""


def test_the_joint_state_names_mimic_joints_and_moves_them():
    robot = ik.load_robot(GRIPPER)
    message = JointStateWriter(robot).fill(np.array([0.5, 0.03]), np.array([0.2, -0.1]), 0)
    positions = dict(zip(message.name, message.position, strict=True))
    velocities = dict(zip(message.name, message.velocity, strict=True))
    assert positions == pytest.approx({'turn': 0.5, 'open': 0.03, 'follow': -0.05})
    assert velocities == pytest.approx({'turn': 0.2, 'open': -0.1, 'follow': 0.2})


def test_the_joint_state_agrees_with_the_robot():
    robot = ik.load_robot(GRIPPER)
    writer, rng = JointStateWriter(robot), np.random.default_rng(1)
    for _ in range(5):
        q = rng.uniform(robot.lower, robot.upper)
        message = writer.fill(q, np.zeros(robot.n), 0)
        written = dict(zip(message.name, message.position, strict=True))
        assert written == pytest.approx(robot.joint_values(q))


def test_one_joint_state_message_is_filled_again_and_again():
    robot = ik.load_robot(GRIPPER)
    writer, moment = JointStateWriter(robot), Moment(0, 0)
    first = writer.write(Commanded(np.array([0.5, 0.03]), np.zeros(2)), moment)
    second = writer.write(Commanded(np.array([0.1, 0.01]), np.zeros(2)), moment)
    assert second is first
    assert list(second.position)[:2] == [0.1, 0.01]


def test_bytes_are_what_rclpy_makes_of_the_message():
    robot, rng = ik.load_robot(GRIPPER), np.random.default_rng(2)
    fast, slow = SerializedJointStateWriter(robot), JointStateWriter(robot)
    for _ in range(20):
        q, dq = rng.uniform(robot.lower, robot.upper), rng.normal(size=robot.n)
        stamp = int(rng.integers(2**31)) * 10**9 + int(rng.integers(10**9))
        moment = Moment(7, stamp)
        written = deserialize_message(fast.write(Commanded(q, dq), moment), JointState)
        assert written == slow.write(Commanded(q, dq), moment)
        assert written.header.stamp.sec == stamp // 10**9


def test_bytes_that_were_handed_out_do_not_change():
    robot = ik.load_robot(GRIPPER)
    writer = SerializedJointStateWriter(robot, ['open', 'turn'])
    first = writer.write(Commanded(np.array([0.5, 0.03]), np.zeros(2)), Moment(1, 1))
    writer.write(Commanded(np.array([0.1, 0.01]), np.zeros(2)), Moment(2, 2))
    assert list(deserialize_message(first, JointState).position) == [0.03, 0.5]
