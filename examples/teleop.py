# SPDX-License-Identifier: Apache-2.0
# A hand moves an arm of five joints over wifi, without a device: python teleop.py
import numpy as np

import ik_core as ik

RATE, SAMPLES = 100, 72  # [Hz] of the joints, and of a headset
robot = ik.load_robot('so101_like')
limits = ik.MotionLimits.of(robot, velocity=3.0, acceleration=20.0)
options = ik.teleop.HandOptions(axes=ik.teleop.OPENXR, latency=0.15, gripper='gripper')
teleop = ik.Teleop(robot, tip='gripper_frame_link', rate=RATE, limits=limits, options=options)


def headset(t: float) -> np.ndarray:
    """Where the hand is after t seconds: on a circle of 5 cm radius that faces the user."""
    return ik.transform(position=[0.05 * np.sin(2 * t), 1.0 - 0.05 * np.cos(2 * t), -0.4])


q = np.array([0.0, -0.3, 0.6, 0.5, 0.0, 0.3])  # measured: a real arm's, at each step
waiting = [k / SAMPLES for k in range(6 * SAMPLES)]
heights = []
for tick in range(6 * RATE):
    now = tick / RATE
    while waiting and np.ceil(waiting[0] / 0.1) * 0.1 <= now:  # ten bursts a second
        t = waiting.pop(0)
        teleop.push(headset(t), stamp=t, engaged=t > 1.0, gripper=1.2)
    q = teleop.step(now, measured=q)  # send q to the arm
    heights.append(robot.forward_kinematics(q, 'gripper_frame_link')[2, 3])
print(teleop)
print(f'the tip rose and sank by {1e3 * np.ptp(heights[2 * RATE :]):.0f} mm')
