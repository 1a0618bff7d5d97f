"""The seventh joint as a parameter: intervals with solutions, and the best over all of them."""

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core import IkProblem, PoseTask, UnsupportedProblem


def arm(name, seed):
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    goal = PoseTask(robots.tip_of(robot))
    problem = IkProblem(robot, [goal])
    q = robots.random_q(robot, rng, margin=0.15)
    goal.set_target(robot.forward_kinematics(q, goal.link))
    return robot, goal, ik.closed_form(problem), q, rng


@pytest.mark.parametrize(('name', 'held'), [('iiwa14', 2), ('panda', 6)])
def test_the_intervals_end_where_solutions_do(name, held):
    *_, form, q, rng = arm(name, 30)
    assert form.held == held
    intervals = ik.held_intervals(form, q, samples=60)
    assert any(low <= q[held] <= high for low, high in intervals)
    limits = form.held_range
    for low, high in intervals:
        assert limits[0] <= low < high <= limits[1]
        for value in rng.uniform(low, high, 5):
            assert len(form.solve(q, value)) > 0
        for end, outside in ((low, low - 1e-6), (high, high + 1e-6)):
            assert len(form.solve(q, end)) > 0
            if limits[0] < outside < limits[1]:
                assert len(form.solve(q, outside)) == 0


@pytest.mark.parametrize('name', ['iiwa14', 'panda'])
def test_the_nearest_of_all_is_at_least_as_near_as_one_that_is_known(name):
    for seed in (31, 32):
        robot, goal, form, q, rng = arm(name, seed)
        start = q + rng.uniform(-0.1, 0.1, robot.n)
        start = np.clip(start, robot.lower, robot.upper)
        best = ik.best_solution(form, start, samples=90)
        np.testing.assert_allclose(
            robot.forward_kinematics(best, goal.link), goal.transform, atol=5e-9
        )
        assert np.linalg.norm(best - start) <= np.linalg.norm(q - start) + 1e-6


def test_any_cost_of_a_configuration_may_choose():
    robot, _, form, q, _ = arm('iiwa14', 33)
    middle = robot.middle_configuration
    best = ik.best_solution(form, q, lambda one: float(np.abs(one - middle).max()), samples=60)
    values = np.linspace(*form.held_range, 60)
    costs = [np.abs(one - middle).max() for value in values for one in form.solve(q, value)]
    assert np.abs(best - middle).max() <= min(costs)


def test_out_of_reach_there_is_no_interval_and_no_best():
    _, goal, form, q, _ = arm('iiwa14', 34)
    goal.set_target(position=[3.0, 0.0, 0.0])
    assert ik.held_intervals(form, q, samples=20) == []
    assert ik.best_solution(form, q, samples=20) is None


def test_without_a_joint_that_is_held_there_is_nothing_to_sweep():
    robot = robots.shipped('ur5e')
    form = ik.closed_form(IkProblem(robot, [PoseTask('tool0')]))
    with pytest.raises(UnsupportedProblem, match='no joint is held'):
        ik.held_intervals(form)
