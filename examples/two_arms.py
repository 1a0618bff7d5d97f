# SPDX-License-Identifier: Apache-2.0
# Goals for two hands with a common torso: python two_arms.py
import ik_core as ik

robot = ik.load_robot('dual_arm')
print(robot.tips())
left = ik.PositionTask('left_palm', [0.4, 0.25, 1.0])
right = ik.PositionTask('right_palm', [0.4, -0.25, 1.0])
problem = ik.IkProblem(robot, [left, right])
result = ik.solve(problem)
print(result.status.name, result.position_errors)  # [m], one for each hand

# Both goals can't be reached: weights= would decide which error is smaller.
left.set_target(position=[0.4, 1.5, 1.0])
right.set_target(position=[0.4, -1.5, 1.0])
result = ik.solve(problem, result.q)
print(result.status.name, result.position_errors.round(3))
