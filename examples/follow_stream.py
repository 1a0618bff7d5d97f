# SPDX-License-Identifier: Apache-2.0
# Follow a moving goal at 250 Hz within the limits, without ROS: python follow_stream.py
import numpy as np

import ik_core as ik

RATE = 250
robot, tip = ik.load_robot('panda'), 'panda_hand_tcp'
limits = ik.MotionLimits.of(robot, acceleration=10.0)  # [rad/s^2]; its URDF states none
tracker = ik.Tracker(
    ik.IkProblem(robot, [ik.PoseTask(tip)]),
    RATE,
    limits=limits,
    options=ik.tracking.TrackerOptions(feed_forward=True),  # no lag at constant velocity
)
errors = []
for tick in range(1, 4 * RATE):
    now = tick / RATE
    goal = ik.transform(
        position=[0.45 + 0.1 * np.cos(now), 0.1 * np.sin(now), 0.4], rpy=[np.pi, 0, 0]
    )
    tracker.set_goal(tip, goal, now)
    command = tracker.tick(now)  # send command.q to the robot
    here = robot.forward_kinematics(command.q, tip)
    errors.append(np.linalg.norm((here - goal)[:3, 3]))
print(command.status.name, f'{1e3 * np.max(errors[2 * RATE :]):.2f} mm behind after two seconds')
