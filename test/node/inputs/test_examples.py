# SPDX-License-Identifier: Apache-2.0
"""Examples by topic: followed, or refused, and then the one before stays."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.node_harness import load
from support.panda_world import TIP, until_at
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import ik_core as ik
from ik_node.tools.elbow_out import demonstration

TOPIC = 'example_trajectory'


def trajectory(names, rows):
    points = [JointTrajectoryPoint(positions=list(map(float, row))) for row in rows]
    return JointTrajectory(joint_names=list(names), points=points)


def send(node, message):
    node.publisher(JointTrajectory, TOPIC).publish(message)


def elbow_misses(robot, shown, goal, message):
    """Return the largest difference from the example's posture for a goal [rad]."""
    q = np.array(message.position)[: robot.n]
    return np.abs(q - shown.nearest([goal[:3, 3]]))[:7].max()


def test_goals_are_followed_as_in_an_example_that_bad_ones_do_not_replace(panda):
    robot = load('panda')
    motion = demonstration(frames=24)
    names, rows = motion.joint_names, motion.positions
    shown = ik.retargeting.Demonstration(robot, (TIP,), motion)
    goal = robot.forward_kinematics([*shown.postures[12]], TIP)

    send(panda, trajectory(names, rows))
    panda.send_goal(goal)
    until_at(panda, robot, goal)
    panda.until(
        lambda: elbow_misses(robot, shown, goal, panda.states[-1]) < 0.02, 'the posture shown'
    )

    send(panda, trajectory(['elbow', *names[1:]], rows))
    panda.until_refused('invalid')
    spoiled = rows.copy()
    spoiled[3, 2] = np.nan
    send(panda, trajectory(names, spoiled))
    panda.until_refused('invalid', 2)
    spoiled[3, 2] = 1e30
    send(panda, trajectory(names, spoiled))
    panda.until_refused('invalid', 3)
    send(panda, trajectory(names, [*rows[:3], rows[3][:5]]))
    panda.until_refused('wrong_length')
    send(panda, trajectory([], []))
    panda.until_refused('empty')
    send(panda, trajectory(names, np.tile(rows, (300, 1))))
    panda.until_refused('too_large')

    other = robot.forward_kinematics([*shown.postures[15]], TIP)
    panda.send_goal(other)
    until_at(panda, robot, other)
    panda.until(
        lambda: elbow_misses(robot, shown, other, panda.states[-1]) < 0.02, 'still as shown'
    )
