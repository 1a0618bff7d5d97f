# SPDX-License-Identifier: Apache-2.0
# The hand at its goal, the elbow near a preferred posture: python rest_posture.py
import numpy as np

import ik_core as ik

robot = ik.load_robot('panda')
goal = ik.PoseTask('panda_hand_tcp', [0.4, 0.2, 0.5], [1, 0, 0, 0])
liked = np.array([0.9, -0.4, -0.6, -2.0, 0.4, 1.8, 0.8, 0.04])

free = ik.solve(ik.IkProblem(robot, [goal]))
resting = ik.solve(ik.IkProblem(robot, [goal], secondary=[ik.PostureTask(liked)]))
for name, result in {'without': free, 'with': resting}.items():
    away = np.linalg.norm(result.q - liked)
    print(f'{name:8} {result.status.name}, {away:.3f} rad from the posture')

# Other uses of the remaining freedom: away from the limits, away from singularities.
for wish in (ik.tasks.LimitAvoidanceTask(), ik.tasks.ManipulabilityTask('panda_hand_tcp')):
    print(type(wish).__name__, ik.solve(ik.IkProblem(robot, [goal], secondary=[wish])).q.round(2))
