# SPDX-License-Identifier: Apache-2.0
# The hand at its goal, the links away from an obstacle: python clear_of_obstacle.py
import numpy as np

import ik_core as ik
from ik_core.collision import Sphere


class ClearanceTask(ik.tasks.Task):
    """Keep the nearest pair of links and obstacles `wanted` [m] apart."""

    @property
    def moves_all_joints(self) -> bool:
        return True

    def __init__(self, collisions: ik.Collisions, wanted: float) -> None:
        self.collisions, self.wanted = collisions, wanted

    def residual(self, robot: ik.Robot, q: np.ndarray) -> np.ndarray:
        return np.array([max(0.0, self.wanted - self.collisions.distance(q).distance)])

    def jacobian(self, robot: ik.Robot, q: np.ndarray) -> np.ndarray:
        if self.residual(robot, q)[0] == 0.0:
            return np.zeros((1, robot.n))
        return -self.collisions.gradient(q)[np.newaxis]


robot, world = ik.load_robot('panda'), ik.World()
goal = ik.PoseTask('panda_hand_tcp', [0.4, 0.2, 0.5], [1, 0, 0, 0])
free = ik.solve(ik.IkProblem(robot, [goal]))
elbow = robot.forward_kinematics(free.q, 'panda_link4')[:3, 3]
world.add('ball', Sphere(0.05), ik.transform(position=elbow + np.array([0.0, 0.2, 0.0])))
world.allow('panda_link5', 'panda_link7')  # always near each other

# To `avoid` the ball only keeps the links out of it; this task pushes them away in the null space.
clearance = ClearanceTask(ik.Collisions(robot, world), wanted=0.05)
clear = ik.solve(ik.IkProblem(robot, [goal], secondary=[clearance]), free.q)
for name, result in {'without': free, 'with': clear}.items():
    pair = clearance.collisions.distance(result.q)
    print(f'{name:8}{result.status.name}, {1e3 * pair.distance:.0f} mm from the ball')
