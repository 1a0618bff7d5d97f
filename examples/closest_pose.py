# SPDX-License-Identifier: Apache-2.0
# The closest pose to a goal out of reach, its error, and a proof: python closest_pose.py
import ik_core as ik

robot = ik.load_robot('ur5e')
goal = ik.PoseTask('tool0', [1.5, 0.0, 0.6], rpy=[0.0, 1.57, 0.0])
result = ik.solve(ik.IkProblem(robot, [goal]))
print(result.status.name, '-', result.status.value)
print(result.note)
print(f'{1e3 * result.position_errors[0]:.0f} mm and {result.orientation_errors[0]:.3f} rad away')
print('the hand is at', robot.forward_kinematics(result.q, 'tool0')[:3, 3].round(3))

# Weigh position against orientation: a radian counts as this length [m].
for length in (0.02, 2.0):
    result = ik.solve(ik.IkProblem(robot, [goal], orientation_length=length))
    print(length, result.position_errors.round(4), result.orientation_errors.round(4))
