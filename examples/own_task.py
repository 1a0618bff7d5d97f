# SPDX-License-Identifier: Apache-2.0
# A task of your own: a residual that should be zero, and its Jacobian: python own_task.py
import numpy as np

import ik_core as ik


class SameHeight(ik.tasks.Task):
    """Keep two links at the same height [m]."""

    @property
    def links(self) -> tuple[str, str]:  # the joints that move these links may move
        return 'panda_link4', 'panda_hand_tcp'

    def residual(self, robot: ik.Robot, q: np.ndarray) -> np.ndarray:
        first, second = (robot.forward_kinematics(q, link)[2, 3] for link in self.links)
        return np.array([first - second])

    def jacobian(self, robot: ik.Robot, q: np.ndarray) -> np.ndarray:
        first, second = (robot.jacobian(q, link)[2] for link in self.links)
        return np.array([first - second])


robot = ik.load_robot('panda')
goal = ik.PositionTask('panda_hand_tcp', [0.5, 0.0, 0.4])
level = SameHeight()  # the elbow as high as the hand
ik.tasks.check_task(level, robot)  # raises if the Jacobian is not the residual's derivative
result = ik.solve(ik.IkProblem(robot, [goal], secondary=[level]))
print(result.status.name, f'{1e3 * level.residual(robot, result.q)[0]:.3f} mm apart in height')
