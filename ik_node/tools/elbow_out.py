# SPDX-License-Identifier: Apache-2.0
"""A demonstration for the Panda, and goals to follow in its style.

    python -m ik_node.tools.elbow_out config/panda_elbow_out.csv     # writes the demonstration
    python -m ik_node.tools.elbow_out --publish goal_pose            # sends goals, until Ctrl-C

In the demonstration the hand moves in a circle, with the elbow out to one side. The goals move in
a circle 5 cm higher, one turn in 20 s.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from typing import NoReturn

import numpy as np

import ik_core as ik
from ik_core.ending import end_process
from ik_core.robot.robot_sources import load_robot

from ..main import stop_on_signals

TIP, JOINTS = 'panda_hand_tcp', 7
# [m] The horizontal circle of the demonstration; the hand points down.
CENTRE, RADIUS = np.array([0.45, 0.0, 0.4]), 0.15
DOWN = (1.0, 0.0, 0.0, 0.0)
ELBOW_OUT = (1.4, -0.9, -1.5, -2.2, 0.3, 2.0, 0.6, 0.04)
FRAMES, PERIOD = 96, 0.05
RAISED = np.array([0.0, 0.0, 0.05])
# [s] Duration of a turn, the wait before it, and the period of goals.
TURN_TIME, PAUSE, GOAL_PERIOD = 20.0, 5.0, 0.02


def position(phase: float) -> np.ndarray:
    """Return the position (3,) [m] of the hand at a phase, 0 to 1 for a turn."""
    angle = 2.0 * np.pi * phase
    return CENTRE + RADIUS * np.array([np.cos(angle), np.sin(angle), 0.0])


def demonstration(frames: int = FRAMES) -> ik.motion.Motion:
    """Return a motion of one turn, with the posture closest to ELBOW_OUT at each frame."""
    robot = load_robot('panda')
    goal, rest = ik.PoseTask(TIP), ik.PostureTask(ELBOW_OUT)
    problem = ik.IkProblem(robot, [goal], secondary=[rest])
    q, found = np.array(ELBOW_OUT), []
    for phase in np.linspace(0.0, 1.0, frames):
        goal.set_target(position=position(float(phase)), quaternion=DOWN)
        q = ik.solve(problem, q).q
        found.append(q[:JOINTS].round(6))
    return ik.motion.Motion(robot.joint_names[:JOINTS], np.array(found), PERIOD)


def main() -> None:
    """Write the demonstration, or publish goals."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument('file', nargs='?', help='where to write the demonstration: .csv or .npz')
    what.add_argument('--publish', metavar='TOPIC', help='publish goals on this topic')
    given = sys.argv[1:]
    cut = given.index('--ros-args') if '--ros-args' in given else len(given)
    arguments = parser.parse_args(given[:cut])
    if arguments.publish:
        publish(arguments.publish, given[cut:])
    else:
        ik.motion.save_motion(demonstration(), arguments.file)


def publish(topic: str, for_ros: list[str]) -> NoReturn:
    """Publish goals until SIGINT or SIGTERM; `ros2 launch` sends a second SIGINT."""
    stopping = threading.Event()
    stop_on_signals(stopping)
    import rclpy  # here, since the demonstration is written without ROS
    from geometry_msgs.msg import PoseStamped
    from rclpy.signals import SignalHandlerOptions

    from ..conversions import transform_to_pose

    goal = PoseStamped()
    goal.header.frame_id = 'panda_link0'
    transform = np.eye(4)
    transform[:3, :3] = np.diag([1.0, -1.0, -1.0])
    rclpy.init(args=for_ros, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('circle')
    publisher = node.create_publisher(PoseStamped, topic, 1)
    begun = time.monotonic()
    while not stopping.is_set():
        time.sleep(GOAL_PERIOD)
        phase = max(time.monotonic() - begun - PAUSE, 0.0) / TURN_TIME
        transform[:3, 3] = position(phase) + RAISED
        goal.pose = transform_to_pose(transform)
        publisher.publish(goal)
    rclpy.try_shutdown()
    end_process(0)


if __name__ == '__main__':
    main()
