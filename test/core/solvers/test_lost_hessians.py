# SPDX-License-Identifier: Apache-2.0
"""Hessians that have lost their rank, or their numbers: no solver ends for it, nor gets worse."""

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core import Budget, IkProblem, PoseTask

DIRECTION = np.array([1.0, -2.0, 0.5, 0.0, 3.0, 1.0])
LOST = {
    'rank 1, huge': 1e17 * np.outer(DIRECTION, DIRECTION),
    'zero': np.zeros((6, 6)),
    'tiny': 1e-310 * np.outer(DIRECTION, DIRECTION),
    'overflown': np.full((6, 6), np.inf),
    'not numbers': np.full((6, 6), np.nan),
}


@pytest.mark.filterwarnings('ignore::RuntimeWarning')
@pytest.mark.parametrize('kind', LOST)
@pytest.mark.parametrize('name', ['bfgs', 'sqp', 'penalty', 'augmented_lagrangian'])
def test_a_lost_hessian_ends_no_solve(name, kind):
    robot, q0 = robots.shipped('ur5e'), np.full(6, 0.4)
    target = robot.forward_kinematics(q0 + 0.3, 'tool0')
    problem = IkProblem(robot, [PoseTask('tool0', transform=target)])
    search = ik.make_solver(name).begin(problem, q0)
    search.run(Budget(iterations=2))
    search.workspace.own['model'][:] = LOST[kind]
    before = search.workspace.cost
    search.run(Budget(iterations=1))
    assert np.isfinite(search.workspace.search['x']).all()
    assert search.workspace.cost <= before
    search.run()
    assert search.result().success
