# SPDX-License-Identifier: Apache-2.0
"""Quadratic programs in a box alone: against the conditions of their optimum, and scipy."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from ik_core.maths import dual_active_set as programs
from ik_core.robot.limits import JointLimits


def quadratic_program(hessian, gradient, limits, x):
    """The step, by a matrix with nothing above its diagonal."""
    n = len(x)
    memory = np.full(programs.program_size(n, 0), np.nan)
    model = np.where(np.tri(n, dtype=bool), hessian, np.nan)
    step, normal = np.full(n, np.nan), np.empty((n, n))
    answer = programs.boxed_program(model, gradient, x, limits.packed, normal, step, memory)
    assert answer == programs.SOLVED or not step.any()
    return step if answer == programs.SOLVED else None


def scipys(hessian, gradient, limits, x):
    """The same program as least squares |L'p + L^-1 g|^2 in the box, for B = L L'."""
    factor = np.linalg.cholesky(hessian)
    bounds = (limits.lower - x, limits.upper - x)
    target = -np.linalg.solve(factor, gradient)
    return lsq_linear(factor.T, target, bounds, method='bvls', tol=1e-14).x


@pytest.mark.parametrize('n', [6, 20])
@pytest.mark.parametrize('seed', range(30))
def test_the_quadratic_program_is_solved_to_its_optimum(seed, n):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    hessian, gradient = root @ root.T + 0.02 * np.eye(n), 3.0 * rng.normal(size=n)
    lower, upper = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
    lower[0] = upper[0] = 0.4  # pinned
    lower[1], upper[2] = -np.inf, np.inf
    limits = JointLimits(lower, upper)
    x = limits.project(rng.normal(size=n))
    p = quadratic_program(hessian, gradient, limits, x)
    end, slope = x + p, gradient + hessian @ p
    assert p[0] == 0.0
    assert (end >= lower - 1e-12).all()
    assert (end <= upper + 1e-12).all()
    for j in range(1, n):
        if abs(end[j] - lower[j]) < 1e-9:
            assert slope[j] > -1e-8
        elif abs(end[j] - upper[j]) < 1e-9:
            assert slope[j] < 1e-8
        else:
            assert abs(slope[j]) < 1e-8


def test_the_quadratic_program_is_solved_where_it_is_ill_conditioned():
    n = 8
    for seed in range(100):
        rng = np.random.default_rng(seed)
        turn, _ = np.linalg.qr(rng.normal(size=(n, n)))
        hessian = turn @ np.diag(np.geomspace(1e-3, 1e3, n)) @ turn.T
        gradient = 3.0 * rng.normal(size=n)
        limits = JointLimits(-rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n))
        x = limits.project(rng.normal(size=n))
        p = quadratic_program(hessian, gradient, limits, x)
        end, slope = x + p, gradient + hessian @ p
        slope = np.where(end <= limits.lower + 1e-10, np.minimum(slope, 0.0), slope)
        slope = np.where(end >= limits.upper - 1e-10, np.maximum(slope, 0.0), slope)
        assert np.abs(slope).max() < 1e-4


@pytest.mark.parametrize('seed', range(60))
def test_scipys_bounded_least_squares_has_the_same_minimum(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    root = rng.normal(size=(n, max(1, n // 2)))  # flat directions, but for a little
    hessian, gradient = root @ root.T + 0.05 * np.eye(n), 5.0 * rng.normal(size=n)
    limits = JointLimits(-rng.uniform(0.01, 1.0, n), rng.uniform(0.01, 1.0, n))
    x = limits.project(rng.choice([-2.0, 2.0, 0.0, 0.005], n))
    p = quadratic_program(hessian, gradient, limits, x)
    np.testing.assert_allclose(p, scipys(hessian, gradient, limits, x), atol=1e-8)


def test_variables_held_too_soon_are_released():
    # The minimum over both leaves the box at either side; with the first one held, that of the
    # second is inside.
    hessian, gradient = np.array([[1.0, 0.95], [0.95, 1.0]]), np.array([-2.0, -1.5])
    limits = JointLimits(-np.ones(2), np.ones(2))
    newton = -np.linalg.solve(hessian, gradient)
    assert newton[0] > 1.0
    assert newton[1] < -1.0
    p = quadratic_program(hessian, gradient, limits, np.zeros(2))
    np.testing.assert_allclose(p, [1.0, 0.55], rtol=1e-12)


@pytest.mark.filterwarnings('ignore::RuntimeWarning')
@pytest.mark.parametrize('lost', [-1.0, 0.0, np.nan, np.inf])
def test_where_the_hessian_is_not_positive_definite_there_is_no_step(lost):
    hessian, limits = np.diag([1.0, lost, 1.0]), JointLimits(-np.ones(3), np.ones(3))
    step = quadratic_program(hessian, -np.ones(3), limits, np.zeros(3))
    assert step is None or np.isfinite(step).all()
    assert (step is None) == (lost != np.inf)


def test_where_everything_is_pinned_there_is_no_program():
    here = np.array([0.3, -0.2])
    step = quadratic_program(np.eye(2), np.ones(2), JointLimits(here, here), here)
    assert step.tolist() == [0.0, 0.0]
