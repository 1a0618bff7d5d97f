# SPDX-License-Identifier: Apache-2.0
"""Partners of the node in `python -m benchmark.rate`: a bare timer, an echo, a goal publisher."""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rclpy
from geometry_msgs.msg import PoseArray
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ik_core.maths.rotations import Array
from ik_core.robot.urdf import load_urdf
from ik_core.shared_files import shared_file
from ik_node.conversions import transform_to_pose
from ik_node.outputs.commands import JointStateWriter

from ..robots import X, Y, Z, fixed, joint

GOAL_RATE = 50.0
RADIUS = 0.05
# Step [m] of the goal that measures latency: small, so that the arm soon rests again
STEP = 0.0005
STEP_PERIOD = 0.1
# Multiples of it, but for what is before the point, are spread evenly over [0, 1)
GOLDEN = 0.5 * (5.0**0.5 - 1.0)


class Arm(NamedTuple):
    """An arm to measure: a URDF file, its tips, and its bent posture."""

    name: str
    urdf: str
    tips: tuple[str, ...]
    q: list[float]


def figure(folder: Path) -> Arm:
    """A figure of 30 joints, two of its tips the hands: torso 3, head 3, arms 7, legs 5 each."""
    parts = [
        *_row('base', 'torso', (0.0, 0.0, 0.1), (Z, Y, X), 1.2),
        *_row('torso', 'head', (0.0, 0.0, 0.25), (Z, Y, X), 1.2),
    ]
    for side, sign in (('left', 1.0), ('right', -1.0)):
        parts += [
            *_row('torso', f'{side}_shoulder', (0.0, 0.2 * sign, 0.2), (Y, X, Z), 2.0),
            *_row(f'{side}_shoulder', f'{side}_elbow', (0.3, 0.0, 0.0), (Y, X), 2.4),
            *_row(f'{side}_elbow', f'{side}_wrist', (0.25, 0.0, 0.0), (Y, Z), 1.5),
            fixed(f'{side}_wrist', f'{side}_hand', (0.1, 0.0, 0.0)),
            *_row('base', f'{side}_knee', (0.0, 0.1 * sign, 0.0), (Y, X, Z), 1.5),
            *_row(f'{side}_knee', f'{side}_foot', (0.0, 0.0, -0.4), (Y, X), 1.5),
        ]
    path = folder / 'figure.urdf'
    path.write_text(f'<robot name="figure"><link name="base"/>{"".join(parts)}</robot>', 'utf-8')
    robot = load_urdf(path)
    bent = [{'left_elbow_0': -1.2, 'right_elbow_0': -1.2}.get(j, 0.1) for j in robot.joint_names]
    return Arm('figure, 30 joints', str(path), ('left_hand', 'right_hand'), bent)


def _row(parent: str, name: str, at: Any, axes: Any, reach: float) -> Iterator[str]:
    """Revolute joints in one place; the last link is called `name`."""
    for i, axis in enumerate(axes):
        link = name if i == len(axes) - 1 else f'{name}_{i}'
        yield joint(parent, link, (0.0, 0.0, 0.0) if i else at, axis, (-reach, reach))
        parent = link


def panda() -> Arm:
    """The shipped Panda: 7 joints, and the fingers."""
    bent = [0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.8, 0.02]
    return Arm('panda', str(shared_file('urdf/panda.urdf')), ('panda_hand_tcp',), bent)


def bare(urdf: str, rate: float) -> None:
    """Publish a robot's joint states from a timer that does nothing else."""
    robot = load_urdf(Path(urdf))
    writer = JointStateWriter(robot, [*robot.joint_names, *robot.mimic_joints])
    q = robot.middle_configuration
    node = rclpy.create_node('bare_timer')
    publisher, clock = node.create_publisher(JointState, 'joint_states', 10), node.get_clock()

    def tick() -> None:
        publisher.publish(writer.fill(q, q, clock.now().nanoseconds))

    node.create_timer(1.0 / rate, tick, clock=Clock(clock_type=ClockType.STEADY_TIME))
    rclpy.spin(node)


def echo(urdf: str) -> None:
    """Answer every goal at once."""
    robot = load_urdf(Path(urdf))
    writer = JointStateWriter(robot, [*robot.joint_names, *robot.mimic_joints])
    q = np.ones(robot.n)
    node = rclpy.create_node('echo')
    publisher = node.create_publisher(JointState, '/echo/joint_states', 10)

    def answer(goal: PoseArray) -> None:
        publisher.publish(writer.fill(q, q, time.time_ns()))

    node.create_subscription(PoseArray, 'goal_poses', answer, 1)
    rclpy.spin(node)


def publish_goals(arm: Arm) -> None:
    """Do what lines of stdin ask for: '<kind> <seconds> <rate>'; answer with when goals were sent
    [s]."""
    robot = load_urdf(Path(arm.urdf))
    centres = [robot.forward_kinematics(np.array(arm.q), tip) for tip in arm.tips]
    node = rclpy.create_node('goals')
    publisher = node.create_publisher(PoseArray, 'goal_poses', 1)
    while not publisher.get_subscription_count():
        time.sleep(0.05)
    for line in sys.stdin:
        kind, seconds, rate = line.split()
        offsets = steps(1.0 / float(rate)) if kind == 'steps' else circle()
        print(
            json.dumps(list(send(node, publisher, centres, offsets, float(seconds)))), flush=True
        )


def send(
    node: Node, publisher: Any, centres: list[Array], offsets: Any, seconds: float
) -> Iterator[float]:
    """Publish goals (m from the centres) for so long, each after a pause; yield their stamps."""
    end = time.monotonic() + seconds
    for offset, pause in offsets:
        time.sleep(pause)
        if time.monotonic() > end:
            return
        message = PoseArray()
        for centre in centres:
            goal = centre.copy()
            goal[1:3, 3] += offset
            message.poses.append(transform_to_pose(goal))
        stamp = node.get_clock().now()
        publisher.publish(message)
        yield 1e-9 * stamp.nanoseconds


def circle() -> Iterator[tuple[Array, float]]:
    """A goal that goes round in four seconds."""
    while True:
        angle = 2.0 * np.pi * 0.25 * time.monotonic()
        yield RADIUS * np.array((np.cos(angle), np.sin(angle))), 1.0 / GOAL_RATE


def steps(period: float) -> Iterator[tuple[Array, float]]:
    """A goal that steps to and fro, between ticks of this period [s] at all phases alike.

    Were they random, the median of a hundred would be uncertain by a twentieth of the period.
    """
    began, ticks = time.monotonic(), math.ceil(STEP_PERIOD / period)
    for number in itertools.count(1):
        moment = began + period * (number * ticks + number * GOLDEN % 1.0)
        offset = math.copysign(0.5 * STEP, number % 2 - 0.5)
        yield np.array((0.0, offset)), max(moment - time.monotonic(), 0.0)
