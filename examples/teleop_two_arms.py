# SPDX-License-Identifier: Apache-2.0
# Two hands move two arms; a mirror for a user who faces them: python teleop_two_arms.py
import numpy as np

import ik_core as ik

RATE = 100  # [Hz]
LEFT, RIGHT = 'left_gripper_frame_link', 'right_gripper_frame_link'
robot = ik.load_robot('two_so101_like')
teleop = ik.Teleop(
    robot,
    tip=[LEFT, RIGHT],
    rate=RATE,
    limits=ik.MotionLimits.of(robot, velocity=3.0, acceleration=20.0),
    options=ik.teleop.HandOptions(
        axes=np.diag([1.0, -1.0, 1.0]),  # left is right
        scale=0.5,
        box=([0.1, -0.4, 0.05], [0.45, 0.4, 0.4]),  # [m] the tips stay above the table
        latency=0.03,
    ),
)
q = np.tile([0.0, -0.3, 0.6, 0.5, 0.0, 0.3], 2)
for tick in range(4 * RATE):
    now = tick / RATE
    way = 0.1 * np.sin(np.pi * max(now - 1.0, 0.0) / 3.0)
    hand = ik.transform(position=[0.0, way, 0.0])  # to the left, and back
    teleop.push(hand, now, engaged=now > 0.5, tip=LEFT)
    teleop.push(hand, now, engaged=0.5 < now < 2.5, tip=RIGHT)  # it lets go on the far side
    q = teleop.step(now, measured=q)
for tip, state in teleop.states.items():
    y = robot.forward_kinematics(q, tip)[1, 3]
    print(f'{tip}: {state.value}, y = {y:.3f} m')
