# SPDX-License-Identifier: Apache-2.0
"""Tests of methods with an approximate Hessian: first approximation, update, descent."""

import numpy as np
import pytest
from support import robots
from support.kernel_searches import StandingSearch, random_definite

from ik_core import IkProblem, PoseTask
from ik_core.kernels.jit import kernel, with_kernels
from ik_core.optim.layouts import search_at
from ik_core.optim.quasi_newton import (
    QUASI_NEWTON,
    QuasiNewtonOptions,
    begin_model,
    bfgs_update,
    descend,
    linear_model,
    quasi_newton_at,
)

NAN = np.nan  # Above the diagonal, where nothing may look


def lower(matrix):
    """The lower triangle, and nothing above it."""
    return np.where(np.tri(len(matrix), dtype=bool), matrix, NAN)


def whole(matrix):
    """The symmetric matrix of a lower triangle."""
    return np.tril(matrix) + np.tril(matrix, -1).T


def updated_by(hessian, step, change):
    """The approximation after the update."""
    model = lower(hessian)
    bfgs_update(model, step, change.copy(), np.empty_like(step))
    return whole(model)


@pytest.mark.parametrize('seed', range(10))
def test_the_update_is_equation_15_where_the_curvature_is_positive(seed):
    rng = np.random.default_rng(seed)
    b, s = random_definite(rng, 5), rng.normal(size=5)
    y = random_definite(rng, 5) @ s
    y *= max(1.0, 0.3 * (s @ b @ s) / (s @ y))
    updated = updated_by(b, s, y)
    bs = b @ s
    expected = b - np.outer(bs, bs) / (s @ bs) + np.outer(y, y) / (y @ s)
    np.testing.assert_allclose(updated, expected, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(updated @ s, y, rtol=1e-9, atol=1e-9)  # the secant equation
    half = updated_by(0.5 * b, s, 0.5 * y)
    np.testing.assert_allclose(half, 0.5 * updated, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize('seed', range(10))
@pytest.mark.parametrize('curvature', [-3.0, -0.1, 0.0, 0.1, 0.199])
def test_where_curvature_fails_damping_keeps_the_approximation_positive_definite(seed, curvature):
    rng = np.random.default_rng(seed)
    b, s = random_definite(rng, 4), rng.normal(size=4)
    expected = s @ b @ s
    y = rng.normal(size=4)
    y += s * (curvature * expected - s @ y) / (s @ s)
    assert s @ y == pytest.approx(curvature * expected, abs=1e-9)
    updated = updated_by(b, s, y)
    assert np.linalg.eigvalsh(updated).min() > 0.0
    assert s @ updated @ s == pytest.approx(0.2 * expected)  # as little damping as it takes
    damped = updated @ s
    theta = 0.8 / (1.0 - curvature)
    np.testing.assert_allclose(damped, theta * y + (1 - theta) * b @ s, rtol=1e-9, atol=1e-9)


def test_no_step_is_no_update():
    b = np.diag([1.0, 2.0])
    np.testing.assert_array_equal(updated_by(b, np.zeros(2), np.ones(2)), b)


def test_on_a_quadratic_exact_searches_find_the_hessian_in_n_steps():
    rng = np.random.default_rng(1)
    hessian, b, x = random_definite(rng, 4), np.eye(4), rng.normal(size=4)
    for _ in range(4):
        g = hessian @ x
        p = -np.linalg.solve(b, g)
        s = -(g @ p) / (p @ hessian @ p) * p
        b = updated_by(b, s, hessian @ s)
        x = x + s
    np.testing.assert_allclose(b, hessian, rtol=1e-6)
    np.testing.assert_allclose(x, 0.0, atol=1e-8)


def arm_problem():
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(2)
    pose = robot.forward_kinematics(robots.random_q(robot, rng, margin=0.2), 'tool0')
    problem = IkProblem(robot, [PoseTask('tool0', transform=pose)])
    _, x = problem.start(robots.random_q(robot, rng, margin=0.2))
    return problem, x


def first_model(jacobian, epsilon):
    """The whole matrix of `linear_model`."""
    model = np.full((jacobian.shape[1], jacobian.shape[1]), NAN)
    linear_model(np.ascontiguousarray(jacobian.T), epsilon, model)
    return whole(model)


def test_the_first_model_is_half_the_hessian_of_the_linear_models_cost():
    problem, x = arm_problem()
    at = problem.at(x)

    def gradient(dx):
        return 2.0 * at.jacobian.T @ (at.residual + at.jacobian @ dx)

    numeric = robots.central_differences(gradient, np.zeros(6))
    np.testing.assert_allclose(2.0 * first_model(at.jacobian, 0.0), numeric, atol=1e-8)
    np.testing.assert_allclose(
        2.0 * first_model(at.jacobian, 0.3), numeric + 0.6 * np.eye(6), atol=1e-8
    )


@kernel
def scaled_gradient(search):
    """DX = -g / B_00."""
    model = quasi_newton_at(search.own).model
    for j in range(search.joints):
        search.dx[j] = -search.gradient[j] / model[0, 0]


descend_scaled = with_kernels(descend, 'descend_scaled', model_step=scaled_gradient)


@kernel
def begin(address):
    """With the linear model."""
    begin_model(search_at(address))


@kernel
def descend_once(address):
    """Return whether a line search along the scaled gradient found a better point."""
    return descend_scaled(search_at(address))


def ready_to_descend(flip=1.0):
    """A search whose model is the linear one times `flip`."""
    search = StandingSearch(*arm_problem(), QUASI_NEWTON, QuasiNewtonOptions(epsilon=0.05))
    begin(search.address)
    search.own['model'][:] *= flip
    return search


def test_a_search_that_fails_is_begun_again_with_the_linear_model():
    sound, spoilt = ready_to_descend(), ready_to_descend(-1.0)  # as if rounding had spoilt it
    before = spoilt.workspace.cost
    for search in (sound, spoilt):
        assert descend_once(search.address)
        assert search.own['moved'] == 1.0
    np.testing.assert_array_equal(sound.x, spoilt.x)
    np.testing.assert_array_equal(*(np.tril(s.own['model']) for s in (sound, spoilt)))
    assert spoilt.workspace.cost < before
    at = spoilt.problem.at(ready_to_descend().x)
    expected = first_model(at.jacobian, 0.05)
    np.testing.assert_allclose(np.tril(spoilt.own['model']), np.tril(expected), atol=1e-12)


def test_where_no_model_gains_anything_it_stays():
    search = ready_to_descend()
    x = search.x
    search.record['gradient'] = -search.record['gradient']  # a gradient that lies
    assert not descend_once(search.address)
    assert search.own['moved'] == 0.0
    np.testing.assert_array_equal(search.x, x)
