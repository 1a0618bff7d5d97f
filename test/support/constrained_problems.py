# SPDX-License-Identifier: Apache-2.0
"""Problems with linear constraints between joints."""

import numpy as np

from ik_core import IkProblem, PoseTask
from ik_core.robot import LinearConstraint
from support import robots

KEEPING = ('bfgs', 'sqp')
"""The solvers that keep constraints."""


def assert_inside(problem, q):
    """The robot's limits and the constraints hold at q, by the joints' names."""
    robot = problem.robot
    assert (q >= robot.lower - 1e-12).all()
    assert (q <= robot.upper + 1e-12).all()
    for constraint in problem.constraints.constraints:
        value = sum(a * q[robot.joint_index(j)] for j, a in constraint.coefficients.items())
        assert constraint.lower - 1e-9 <= value <= constraint.upper + 1e-9


def coupled(name, seed, *, reachable):
    """An arm whose first, second and third joints are coupled, and a goal for it."""
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    joints, tip = robot.joint_names, robots.tip_of(robot)
    q = robots.random_q(robot, rng, margin=0.3)
    q = np.clip(q, -2.0, 2.0)
    bound = q[0] + q[1] + (0.05 if reachable else -0.4)
    constraints = [
        LinearConstraint({joints[0]: 1.0, joints[1]: 1.0}, upper=bound),
        LinearConstraint({joints[2]: 1.0, joints[3]: -0.5}, *[q[2] - 0.5 * q[3]] * 2),
    ]
    goal = PoseTask(tip, transform=robot.forward_kinematics(q, tip))
    if not reachable:
        goal.set_target(transform=goal.transform + 0.6 * (np.arange(16) == 3).reshape(4, 4))
    start = np.clip(q + rng.uniform(-0.3, 0.3, robot.n), robot.lower, robot.upper)
    return IkProblem(robot, [goal], constraints=constraints), start
