# SPDX-License-Identifier: Apache-2.0
# All solutions of an arm with six joints for a pose: python all_solutions.py
import numpy as np

import ik_core as ik

robot = ik.load_robot('ur5e')
problem = ik.IkProblem(robot, [ik.PoseTask('tool0', [0.4, 0.2, 0.5], rpy=[3.1416, 0.0, 0.0])])
found = ik.solve_all(problem)  # the nearest to the middle first; or to q0=
print(f'{len(found)} solutions, complete: {found.complete}')
for q in found:
    print(np.degrees(q).round(1))

# Arms with more joints have infinitely many solutions: choose the best of many searches.
panda = ik.load_robot('panda')
problem = ik.IkProblem(panda, [ik.PoseTask('panda_hand_tcp', [0.4, 0.2, 0.5], [1, 0, 0, 0])])
best = ik.batch.solve_best(problem, choose='manipulable', budget=ik.Budget(seconds=0.2))
print('most manipulable:', best.q.round(3))
