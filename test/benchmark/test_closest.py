# SPDX-License-Identifier: Apache-2.0
"""The judge of `ik bench closest`: which points are called closest without being so."""

from types import SimpleNamespace

import numpy as np
import pytest

import ik_core as ik
from benchmark.closest import is_false, problem_out_of_reach
from ik_core.robot.linkages import linkage
from ik_core.robot.robot_sources import load_robot


def at(q):
    return SimpleNamespace(q=np.array(q, float))


def test_saddles_slopes_and_limits_left_too_early_are_seen():
    robot = linkage(2)
    beyond = ik.IkProblem(robot, [ik.PositionTask(robot.default_tip(), [4.0, 0.0, 0.0])])
    assert not is_false(beyond, at([0.0, 0.0]))
    assert is_false(beyond, at([np.pi, 0.0])), 'the farthest point, where the gradient is 0'
    assert is_false(beyond, at([0.0, np.pi])), 'a saddle, folded'
    assert is_false(beyond, at([1e-2, 0.0])), 'a slope'
    bounded = ik.IkProblem(robot, beyond.goals, lower=[0.3, -3.0], upper=[3.0, 3.0])
    end = ik.solve(bounded)
    assert not is_false(bounded, end)
    assert is_false(bounded, at([0.3, end.q[1] + 0.01]))


def test_a_minimum_that_limits_hold_beside_a_lower_slope_is_one():
    robot = load_robot('arm5')
    problem, q0 = problem_out_of_reach(robot, True, 64)
    result = ik.solve(problem, q0, solver='penalty', restarts=0)
    assert result.status is ik.IkStatus.CLOSEST
    assert not is_false(problem, result)


@pytest.mark.parametrize('solver', ['trust_region', 'selectively_damped_least_squares'])
@pytest.mark.parametrize('seed', [667, 843])
def test_a_saddle_next_to_a_limit_that_hardly_holds_is_not_called_closest(seed, solver):
    problem, q0 = problem_out_of_reach(load_robot('arm5'), True, seed)
    result = ik.solve(problem, q0, solver=solver, restarts=0)
    assert result.status is not ik.IkStatus.CLOSEST or not is_false(problem, result)
