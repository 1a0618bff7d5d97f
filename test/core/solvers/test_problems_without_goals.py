# SPDX-License-Identifier: Apache-2.0
"""Problems of tasks alone: their least cost is what was asked for, in every solver."""

import numpy as np
import pytest
from support import robots

import ik_core as ik


@pytest.mark.parametrize(
    'solver', [name for name in ik.SOLVERS if name != 'cyclic_coordinate_descent']
)
def test_a_posture_alone_is_taken_and_that_is_success(solver):
    robot, rng = robots.shipped('scara'), np.random.default_rng(1)
    rest, start = (robots.random_q(robot, rng, margin=0.3) for _ in range(2))
    result = ik.solve(ik.IkProblem(robot, [ik.PostureTask(rest)]), start, solver=solver)
    assert result.status is ik.IkStatus.LEAST
    assert result.success
    np.testing.assert_allclose(result.q, rest, atol=1e-4)


def test_the_defaults_least_cost_may_be_one_that_limits_hold():
    robot = robots.shipped('scara')
    rest = robot.upper + 1.0
    result = ik.solve(ik.IkProblem(robot, [ik.PostureTask(rest)]))
    assert result.status is ik.IkStatus.LEAST
    np.testing.assert_array_equal(result.q, robot.upper)
    assert result.cost == pytest.approx(robot.n)
