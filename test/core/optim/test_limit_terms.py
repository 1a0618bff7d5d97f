"""Limits as terms of the cost: penalty and augmented Lagrangian."""

import numpy as np
import pytest
from support import robots
from support.optimiser_problems import behind_limits, best_known, pose_of

from ik_core import IkProblem, IkStatus, make_solver
from ik_core.optim.limit_terms import LimitTerms, free_point, newton_direction


def final_point(solver, problem, q0, **options):
    search = make_solver(solver, **options).begin(problem, q0)
    search.run()
    return search.state.point, search.result()


def test_with_a_fixed_penalty_the_minimum_is_outside_by_the_gradient_over_the_weight():
    problem, q0 = behind_limits()
    outside = []
    for weight in (1e1, 1e2, 1e3, 1e4):
        point, result = final_point('penalty', problem, q0, weight=weight, growth=1.0,
                                    max_iterations=400)  # fmt: skip
        at = problem.at(point.x)
        violation = problem.limits.violation(point.x)
        slope = 2.0 * at.jacobian.T @ at.residual
        np.testing.assert_allclose(violation, -slope / (2.0 * weight), atol=1e-6 / weight)
        assert at.cost < best_known('behind limits')  # it pays to break them
        assert (result.q >= -0.3).all()
        assert (result.q <= 0.25).all()
        outside.append(np.max(np.abs(violation)))
    ratios = np.array(outside[1:]) / outside[:-1]
    np.testing.assert_allclose(ratios, 0.1, rtol=0.2)  # feasible as the weight grows


def test_as_the_penalty_grows_its_minimum_becomes_the_closest_point():
    problem, q0 = behind_limits()
    point, result = final_point('penalty', problem, q0, growth=10.0)
    assert result.status is IkStatus.CLOSEST
    assert np.max(np.abs(problem.limits.violation(point.x))) < 1e-5
    fixed = make_solver('penalty', growth=1.0, weight=1.0).solve(problem, q0)
    assert result.cost < fixed.cost
    assert fixed.status is not IkStatus.CLOSEST


@pytest.mark.parametrize('solver', ['penalty', 'augmented_lagrangian'])
def test_terms_of_limits_that_are_not_met_change_nothing(solver):
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(8)
    q = rng.uniform(-1.0, 1.0, 6)
    problem = IkProblem(robot, [pose_of(robot, q, 'tool0')])
    light, heavy = (
        make_solver(solver, weight=weight, record_history=True).solve(problem, q + 0.1)
        for weight in (1e-3, 1e5)
    )
    assert light.success
    assert light.history == heavy.history


def test_the_multipliers_become_the_negative_gradient_at_a_finite_weight():
    problem, q0 = behind_limits()
    point, result = final_point('augmented_lagrangian', problem, q0)
    assert result.status is IkStatus.CLOSEST
    at = problem.evaluate(result.q)
    slope = 2.0 * at.jacobian.T @ at.residual
    held = (at.x == problem.limits.lower) | (at.x == problem.limits.upper)
    assert held.sum() >= 3
    assert (point.terms.multipliers[~held] == 0.0).all()
    np.testing.assert_allclose(
        point.terms.multipliers[held], -slope[held], atol=1e-3 * np.abs(slope).max()
    )
    assert ((at.x == problem.limits.upper) == (point.terms.multipliers > 0.0))[held].all()
    assert point.terms.weight <= 1e3
    assert np.max(np.abs(problem.limits.violation(point.x))) < 1e-4


@pytest.mark.parametrize('weight', [1e-2, 1.0, 30.0])
def test_the_gradient_of_the_augmented_cost_is_that_of_central_differences(weight):
    problem, q0 = behind_limits()
    problem.start(q0)
    rng = np.random.default_rng(3)
    terms = LimitTerms(weight, rng.normal(size=7) * weight)

    def phi(x):
        return free_point(problem, problem.at(x), terms, np.eye(7))

    for _ in range(5):
        x = rng.uniform(-1.0, 1.0, 7)
        numeric = robots.central_differences(lambda x: np.array([phi(x).cost]), x)[0]
        np.testing.assert_allclose(phi(x).gradient, numeric, rtol=1e-6, atol=1e-7)
        shift = terms.multipliers / (2 * weight)
        above = np.maximum(0.0, x - problem.limits.upper + shift)
        below = np.maximum(0.0, problem.limits.lower - x - shift)
        expected = problem.at(x).cost + weight * (above @ above + below @ below)
        assert phi(x).cost == pytest.approx(expected)


@pytest.mark.parametrize('seed', range(20))
def test_the_newton_step_is_the_minimum_of_the_model_with_its_kinks(seed):
    problem, q0 = behind_limits()
    problem.start(q0)
    rng = np.random.default_rng(seed)
    terms, weight = LimitTerms(0.5, 0.1 * rng.normal(size=7)), 0.5
    root = rng.normal(size=(7, 7))
    hessian = root @ root.T + np.eye(7)
    point = free_point(problem, problem.at(rng.uniform(-0.6, 0.6, 7)), terms, hessian)
    p = newton_direction(problem.limits, point, hessian)
    outside = problem.limits.violation(point.x + terms.multipliers / (2 * weight) + p)
    slope = 2.0 * point.at.jacobian.T @ point.at.residual
    np.testing.assert_allclose(slope + hessian @ p + 2 * weight * outside, 0.0, atol=1e-9)
