# SPDX-License-Identifier: Apache-2.0
"""Goals as constraints on secondary tasks."""

import numpy as np
import pytest
from scipy.optimize import minimize
from support import robots
from support.optimiser_problems import UNREACHABLE, cross, near, pose_of

import ik_core as ik
from ik_core import Budget, IkProblem, IkStatus, PositionTask, make_solver
from ik_core.optim.goal_constraints import GoalEqualities


def with_a_rest_posture(name, seed):
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    q = robots.random_q(robot, rng, margin=0.2)
    rest = ik.PostureTask(robot.middle_configuration + 0.3 * rng.normal(size=robot.n))
    goal = pose_of(robot, q, robots.tip_of(robot))
    return IkProblem(robot, [goal], secondary=[rest]), near(robot, q, rng, 0.1)


def secondary_cost(problem, q):
    residual, _ = problem.evaluator.secondary_at(q[problem.variables])
    return residual @ residual


def unbalanced(problem, q):
    """The share of the secondary gradient that neither goals nor limits can balance."""
    at = problem.evaluate(q)
    slope = robots.central_differences(
        lambda x: np.array([np.sum(problem.evaluator.secondary_at(x)[0] ** 2)]), at.x
    )[0]
    low, high = at.x <= problem.limits.lower + 1e-9, at.x >= problem.limits.upper - 1e-9
    free = ~(low | high)
    multipliers = np.linalg.lstsq(at.jacobian[:, free].T, -slope[free], rcond=1e-9)[0]
    left = slope + at.jacobian.T @ multipliers
    left[low] = np.minimum(left[low], 0.0)
    left[high] = np.maximum(left[high], 0.0)
    return np.linalg.norm(left) / np.linalg.norm(slope)


SECONDARY = [(name, seed) for name in ('panda', 'iiwa14', 'pr2_like') for seed in range(4)]


@pytest.mark.parametrize('solver', ['augmented_lagrangian', 'sqp'])
@pytest.mark.parametrize(('name', 'seed'), SECONDARY)
def test_secondary_tasks_are_least_among_all_that_reach_the_goals(solver, name, seed):
    problem, q0 = with_a_rest_posture(name, seed)
    plain = IkProblem(problem.robot, problem.goals)
    result = make_solver(solver).solve(problem, q0)
    assert result.success
    assert secondary_cost(problem, result.q) < secondary_cost(
        problem, make_solver(solver).solve(plain, q0).q
    )
    assert unbalanced(problem, result.q) < 2e-3
    assert result.cost < 1e-12  # the goals themselves, not the edge of their tolerances


def test_every_evaluation_of_the_goals_counts(monkeypatch):
    problem, q0 = with_a_rest_posture('panda', 0)
    search = make_solver('sqp').begin(problem, q0)
    while not search.descents:
        search.run(Budget(iterations=1))
    [descent] = search.descents
    before, made, at = search.result().evaluations, [], descent.problem.at
    monkeypatch.setattr(descent.problem, 'at', lambda x: made.append(x) or at(x))
    assert search.run()
    assert search.result().evaluations == before + len(made)
    assert len(made) > descent.iterations


def test_iterates_off_the_goals_or_worse_than_the_start_do_not_count():
    problem = IkProblem(
        cross(), [PositionTask('l3', [1.0, 2.0, 0.0], weights=(1, 1, 0))],
        secondary=[ik.PostureTask([0.0, 0.0, 5.0])],
    )  # fmt: skip
    path = [[0.5, 0.0, 5.0], [1.0, 2.0, -3.0], [1.0, 2.0, 4.0], [1.0, 2.0, 3.0], [0, 0, 5.0]]

    class Scripted(GoalEqualities):
        def next_iterate(self):
            return problem.at(np.array(path[self.iterations - 1]))

    x = np.array([1.0, 2.0, 0.0])
    problem.start(x)
    descent = Scripted(problem, x)
    seen = []
    for _ in path:
        descent.iterate()
        seen.append(descent.at.x.tolist())
    assert seen == [x.tolist(), x.tolist(), path[2], path[3], path[3]]


def test_the_two_routes_give_almost_equivalent_results_in_most_cases():
    # Tak & Ko, 4.3: "in most cases the two solvers produce almost equivalent results".
    same = 0
    for name, seed in SECONDARY:
        problem, q0 = with_a_rest_posture(name, seed)
        one, two = (
            secondary_cost(problem, make_solver(solver).solve(problem, q0).q)
            for solver in ('augmented_lagrangian', 'sqp')
        )
        same += one == pytest.approx(two, rel=1e-5)
    assert same >= 9


@pytest.mark.parametrize('seed', range(3))
def test_scipys_slsqp_with_the_goals_as_equalities_is_no_better(seed):
    problem, q0 = with_a_rest_posture('panda', seed)
    result = make_solver('sqp').solve(problem, q0)

    def gradient(x):
        residual, jacobian = problem.evaluator.secondary_at(x)
        return 2.0 * jacobian.T @ residual

    found = minimize(
        lambda x: np.sum(problem.evaluator.secondary_at(x)[0] ** 2),
        result.q[problem.variables] + 1e-3,
        jac=gradient,
        method='SLSQP',
        bounds=list(zip(problem.limits.lower, problem.limits.upper, strict=True)),
        constraints={
            'type': 'eq',
            'fun': lambda x: problem.at(x).residual,
            'jac': lambda x: problem.at(x).jacobian,
        },
        options={'ftol': 1e-12},
    )
    assert found.success
    assert secondary_cost(problem, result.q) == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.parametrize('solver', ['augmented_lagrangian', 'sqp'])
def test_secondary_tasks_do_not_move_a_goal_out_of_reach_further_away(solver):
    plain, q0 = UNREACHABLE['mimic']()
    rest = ik.PostureTask(plain.robot.middle_configuration)
    problem = IkProblem(plain.robot, plain.goals, secondary=[rest])
    alone, result = (make_solver(solver).solve(p, q0) for p in (plain, problem))
    assert result.status is IkStatus.CLOSEST
    assert result.cost <= alone.cost * (1 + 1e-6)


@pytest.mark.parametrize('solver', ['augmented_lagrangian', 'sqp'])
def test_secondary_tasks_in_pieces_come_to_exactly_the_same(solver):
    problem, q0 = with_a_rest_posture('iiwa14', 1)
    whole = make_solver(solver).solve(problem, q0)
    search = make_solver(solver).begin(problem, q0)
    costs = []
    while not search.run(Budget(iterations=1)):
        costs.append(search.result().iterations)
    assert costs == list(range(1, len(costs) + 1))
    np.testing.assert_array_equal(search.result().q, whole.q)
