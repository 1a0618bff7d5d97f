# SPDX-License-Identifier: Apache-2.0
# A motion around a square, timed within limits: python path_of_poses.py
import ik_core as ik

robot = ik.load_robot('ur5e')
problem = ik.IkProblem(robot, [ik.PoseTask('tool0')])
corner = ik.transform(position=[-0.45, -0.2, 0.4], rpy=[3.1416, 0.0, 0.0])
poses = [corner.copy() for _ in range(5)]
for pose, x, y in zip(poses, (0, 0.1, 0.1, 0, 0), (0, 0, 0.1, 0.1, 0), strict=True):
    pose[:2, 3] += x, y  # [m]

limits = ik.MotionLimits.of(robot, velocity=2.0, acceleration=5.0, jerk=100.0)
result = ik.solve_path(problem, poses, limits=limits, tip_speed=0.25)
print(result.message)
assert result.motion is not None  # else the message says why
print(f'{result.motion.duration:.2f} s, branch: {result.branches[0]}')
ik.motion.save_motion(result.motion, 'motion.csv')  # ik play motion.csv ur5e

for pose in poses[2:]:
    pose[0, 3] -= 1.0
result = ik.solve_path(problem, poses, limits=limits)
print(result.message)
