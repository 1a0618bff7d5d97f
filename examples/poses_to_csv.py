# SPDX-License-Identifier: Apache-2.0
# Solve many poses on all cores and write the joints as CSV: python poses_to_csv.py
import numpy as np

import ik_core as ik

robot = ik.load_robot('panda')
problem = ik.IkProblem(robot, [ik.PoseTask('panda_hand_tcp')])

turn = np.linspace(0, 2 * np.pi, 200)
circle = np.column_stack([0.45 + 0.1 * np.cos(turn), 0.1 * np.sin(turn), np.full(200, 0.4)])
targets = [ik.transform(position=place, rpy=[np.pi, 0, 0]) for place in circle]

batch = ik.solve_batch(problem, targets)  # all from the same start; or from q0=
print(f'{batch.success.sum()} of {len(targets)} reached')
np.savetxt('joints.csv', batch.q, delimiter=',', header=','.join(robot.joint_names), comments='')

# Along a path each solve starts at the last solution, so that the arm stays on its branch.
q, path = None, []
for target in targets:
    problem.goals[0].set_target(target)
    q = ik.solve(problem, q, restarts=0).q
    path.append(q)
print(f'largest step of a joint: {np.abs(np.diff(path, axis=0)).max():.3f} rad')
