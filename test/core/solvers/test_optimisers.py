# SPDX-License-Identifier: Apache-2.0
"""Promises of all optimisers, against scipy on the same objective, and of feasible searches."""

import numpy as np
import pytest
from support import robots
from support.optimiser_problems import (
    UNREACHABLE,
    assert_no_descent_left,
    behind_limits,
    best_known,
    cross,
    near,
    paths,
    pose_of,
)

import ik_core as ik
from ik_core import Budget, IkProblem, IkStatus, PositionTask, make_solver

OPTIMISERS = ('bfgs', 'projected_gradient', 'penalty', 'augmented_lagrangian', 'sqp',
              'trust_region')  # fmt: skip


SEARCHERS = ('bfgs', 'projected_gradient', 'sqp')  # one feasible line search an iteration


every_optimiser = pytest.mark.parametrize('solver', OPTIMISERS)


RESTARTS = {'ur5e': 12, 'panda': 12}  # where the start leads some methods to a local minimum


@every_optimiser
@pytest.mark.parametrize('name', UNREACHABLE)
def test_the_closest_point_is_the_best_that_scipy_finds_from_many_starts(solver, name):
    problem, q0 = UNREACHABLE[name]()
    result = make_solver(solver, restarts=RESTARTS.get(name, 0)).solve(problem, q0)
    assert result.status is IkStatus.CLOSEST, result.message
    assert result.cost == pytest.approx(best_known(name), rel=1e-6)
    assert_no_descent_left(problem, problem.evaluate(result.q))


@every_optimiser
def test_the_weights_decide_between_goals_that_exclude_each_other(solver):
    robot = cross()
    one, two = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 5.0, 4.0])
    goals = [
        PositionTask('l3', one, weights=(1.0, 3.0, 0.5)),
        PositionTask('l3', two, weights=(4.0, 1.0, 0.5)),
    ]
    expected = [(1 * 1 - 2 * 4) / 5, (2 * 3 + 5) / 4, 3.5]
    result = make_solver(solver).solve(IkProblem(robot, goals), np.zeros(3))
    assert result.status is IkStatus.CLOSEST
    np.testing.assert_allclose(result.q, expected, atol=1e-5)
    short = make_solver(solver).solve(IkProblem(cross(2.0), goals), np.zeros(3))
    assert short.status is IkStatus.CLOSEST
    np.testing.assert_allclose(short.q, [-1.4, 2.0, 2.0], atol=1e-5)
    assert short.q[1] == short.q[2] == 2.0  # on the limit, not near it


@every_optimiser
def test_several_end_effectors_are_reached_at_once(solver):
    for name in ('buss_y', 'buss_double_y', 'dual_arm'):
        robot, rng = robots.shipped(name), np.random.default_rng(3)
        q = robots.random_q(robot, rng, margin=0.25)
        goals = [pose_of(robot, q, link) for link in robot.tips()]
        if name.startswith('buss'):
            goals = [PositionTask(goal.link, goal.transform[:3, 3]) for goal in goals]
        result = make_solver(solver).solve(IkProblem(robot, goals), near(robot, q, rng, 0.2))
        assert result.success, (name, result.message)
        for goal in goals:
            tip = robot.forward_kinematics(result.q, goal.link)
            assert np.linalg.norm(tip[:3, 3] - goal.transform[:3, 3]) <= 1e-5 * (1 + 1e-9)


@every_optimiser
def test_a_solution_on_limits_is_found_and_is_on_them(solver):
    problem, q0 = behind_limits()
    result = make_solver(solver).solve(problem, q0)
    assert result.status is IkStatus.CLOSEST
    at = problem.evaluate(result.q)
    held = (at.x == problem.limits.lower) | (at.x == problem.limits.upper)
    reference = make_solver('trust_region').solve(problem, q0)
    assert held.sum() >= 3
    assert result.cost == pytest.approx(reference.cost, rel=1e-9)
    np.testing.assert_allclose(result.q, reference.q, atol=1e-4)
    assert_no_descent_left(problem, at)


@every_optimiser
def test_tasks_that_are_no_goals_take_part(solver):
    robot = cross()
    tasks = [PositionTask('l3', [1.0, 2.0, 3.0]), ik.PostureTask(np.zeros(3), weights=0.25)]
    result = make_solver(solver).solve(IkProblem(robot, tasks), [0.5, -0.5, 0.1])
    np.testing.assert_allclose(result.q, np.array([1.0, 2.0, 3.0]) / 1.25, atol=1e-5)
    assert not result.success


@pytest.mark.parametrize(
    ('solver', 'options'),
    [(solver, {'alpha': alpha}) for solver in SEARCHERS for alpha in (0.0, 1e-4, 0.1)]
    + [('projected_gradient', {'alpha': 0.1, 'first_step': 'one', 'beta': 0.9})],
)
@pytest.mark.parametrize('name', ['pr2_like', 'behind limits', 'Y', 'mimic'])
def test_every_accepted_step_fulfils_equation_39_inside_the_limits(solver, options, name):
    problem, q0 = paths(name)
    search = make_solver(solver, **options).begin(problem, q0)
    steps = 0
    while not search.done and steps < 60:
        before = standing(problem, search)
        search.run(Budget(iterations=1))
        after = standing(problem, search)
        assert (after.x >= problem.limits.lower).all()
        assert (after.x <= problem.limits.upper).all()
        if (after.x == before.x).all():
            continue
        slope = robots.central_differences(lambda x: np.array([problem.at(x).cost]), before.x)[0]
        bound = before.cost + options['alpha'] * slope @ (after.x - before.x)
        assert after.cost < bound + 1e-8 * before.cost
        assert after.cost < before.cost
        steps += 1
    assert steps >= 3


def standing(problem, search):
    """The problem where a search stands."""
    return problem.at(search.workspace.search['x'].copy())


@pytest.mark.parametrize('solver', SEARCHERS)
@pytest.mark.parametrize('name', ['ur5e', 'dual arm', 'masked', 'panda'])
def test_the_cost_falls_in_every_iteration(solver, name):
    problem, q0 = UNREACHABLE[name]()
    result = make_solver(solver, record_history=True, max_iterations=500).solve(problem, q0)
    assert len(result.history) > 3
    assert (np.diff(result.history) < 0.0).sum() >= len(result.history) - 2
    assert (np.diff(result.history) <= 0.0).all()
