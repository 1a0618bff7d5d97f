# SPDX-License-Identifier: Apache-2.0
# Solve for one pose of a robot's hand: python one_pose.py
import ik_core as ik

robot = ik.load_robot('panda')  # or the path of your URDF
goal = ik.PoseTask('panda_hand_tcp', position=[0.4, 0.2, 0.5], rpy=[3.1416, 0.0, 0.0])
problem = ik.IkProblem(robot, [goal])
result = ik.solve(problem)
print(result.message)
for name, value in robot.joint_values(result.q).items():
    print(f'{name:22} {value:8.4f}')

goal.set_target(position=[0.5, 0.0, 0.4])  # the orientation stays
result = ik.solve(problem, result.q)  # starts at the last solution
print(result.status.name)
