# SPDX-License-Identifier: Apache-2.0
"""Limits as terms of the cost: penalty and augmented Lagrangian."""

import numpy as np
import pytest
from support import robots
from support.kernel_searches import StandingSearch
from support.optimiser_problems import behind_limits, best_known, pose_of

from ik_core import IkProblem, IkStatus, make_solver
from ik_core.kernels.jit import kernel
from ik_core.optim.layouts import search_at
from ik_core.optim.limit_terms import (
    LIMIT_TERMS,
    newton_step,
    note_terms,
    start,
)
from ik_core.solvers.augmented_lagrangian import AugmentedLagrangianOptions, next_multipliers


@kernel
def begin(address):
    """The method's start."""
    start(search_at(address))


@kernel
def note(address):
    """phi and its gradient."""
    note_terms(search_at(address))


@kernel
def find_step(address):
    """The step of the model."""
    newton_step(search_at(address))


@kernel
def choose_multipliers(address):
    """The next terms of the augmented Lagrangian."""
    next_multipliers(search_at(address))


def iterate_at(problem, x, weight, multipliers):
    """A search whose iterate is x, with these terms."""
    search = StandingSearch(problem, x, LIMIT_TERMS, AugmentedLagrangianOptions(weight=7.0))
    begin(search.address)
    assert search.own['mu'] == 7.0
    search.own['mu'] = weight
    search.own['multipliers'] = multipliers
    note(search.address)
    return search


def final_point(solver, problem, q0, **options):
    """Return the last iterate, which may be outside, the method's record, and the result."""
    search = make_solver(solver, **options).begin(problem, q0)
    search.run()
    own = search.workspace.own
    return own['iterate'].copy(), own, search.result()


def test_with_a_fixed_penalty_the_minimum_is_outside_by_the_gradient_over_the_weight():
    problem, q0 = behind_limits()
    outside = []
    for weight in (1e1, 1e2, 1e3, 1e4):
        x, _, result = final_point('penalty', problem, q0, weight=weight, growth=1.0,
                                   max_iterations=400)  # fmt: skip
        at = problem.at(x)
        violation = problem.limits.violation(x)
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
    x, _, result = final_point('penalty', problem, q0, growth=10.0)
    assert result.status is IkStatus.CLOSEST
    assert np.max(np.abs(problem.limits.violation(x))) < 1e-5
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
    x, own, result = final_point('augmented_lagrangian', problem, q0)
    multipliers = own['multipliers']
    assert result.status is IkStatus.CLOSEST
    at = problem.evaluate(result.q)
    slope = 2.0 * at.jacobian.T @ at.residual
    held = (at.x == problem.limits.lower) | (at.x == problem.limits.upper)
    assert held.sum() >= 3
    assert (multipliers[~held] == 0.0).all()
    np.testing.assert_allclose(multipliers[held], -slope[held], atol=1e-3 * np.abs(slope).max())
    assert ((at.x == problem.limits.upper) == (multipliers > 0.0))[held].all()
    assert own['mu'] <= 1e3
    assert np.max(np.abs(problem.limits.violation(x))) < 1e-4


@pytest.mark.parametrize('weight', [1e-2, 1.0, 30.0])
def test_the_gradient_of_the_augmented_cost_is_that_of_central_differences(weight):
    problem, q0 = behind_limits()
    problem.start(q0)
    rng = np.random.default_rng(3)
    multipliers = rng.normal(size=7) * weight

    def phi(x):
        return iterate_at(problem, x, weight, multipliers).own

    for _ in range(5):
        x = rng.uniform(-1.0, 1.0, 7)
        numeric = robots.central_differences(lambda x: np.array([phi(x)['phi']]), x)[0]
        gradient = 2.0 * phi(x)['phi_gradient']
        np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-7)
        shift = multipliers / (2 * weight)
        above = np.maximum(0.0, x - problem.limits.upper + shift)
        below = np.maximum(0.0, problem.limits.lower - x - shift)
        expected = problem.at(x).cost + weight * (above @ above + below @ below)
        assert phi(x)['phi'] == pytest.approx(expected)


@pytest.mark.parametrize('seed', range(20))
def test_the_newton_step_is_the_minimum_of_the_model_with_its_kinks(seed):
    problem, q0 = behind_limits()
    problem.start(q0)
    rng = np.random.default_rng(seed)
    multipliers, weight = 0.1 * rng.normal(size=7), 0.5
    root = rng.normal(size=(7, 7))
    hessian = root @ root.T + np.eye(7)
    x = rng.uniform(-0.6, 0.6, 7)
    search = iterate_at(problem, x, weight, multipliers)
    search.own['model'][:] = np.where(np.tri(7, dtype=bool), 0.5 * hessian, np.nan)
    find_step(search.address)
    p = search.record['dx']
    outside = problem.limits.violation(x + multipliers / (2 * weight) + p)
    at = problem.at(x)
    slope = 2.0 * at.jacobian.T @ at.residual
    np.testing.assert_allclose(2.0 * search.own['iterate_gradient'], slope, atol=1e-12)
    np.testing.assert_allclose(slope + hessian @ p + 2 * weight * outside, 0.0, atol=1e-9)


def test_the_next_multipliers_are_the_pull_of_the_terms_and_the_weight_grows_where_too_weak():
    problem, q0 = behind_limits()
    problem.start(q0)
    rng = np.random.default_rng(5)
    x, old, weight = rng.uniform(-0.6, 0.6, 7), rng.normal(size=7), 3.0
    outside = np.abs(problem.limits.violation(x)).max()
    for last, grown in ((np.inf, 3.0), (4.01 * outside, 3.0), (3.99 * outside, 30.0)):
        search = iterate_at(problem, x, weight, old)
        search.own['violation'] = last
        choose_multipliers(search.address)
        expected = 2.0 * weight * problem.limits.violation(x + old / (2.0 * weight))
        np.testing.assert_allclose(search.own['multipliers'], expected, atol=1e-13)
        assert search.own['mu'] == pytest.approx(grown)
        assert search.own['violation'] == pytest.approx(outside)
