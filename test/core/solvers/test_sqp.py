"""Sequential quadratic programming: the program against its optimum."""

import numpy as np
import pytest

from ik_core.robot.limits import JointLimits
from ik_core.solvers.sqp import quadratic_program


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


def test_where_everything_is_pinned_there_is_no_program():
    here = np.array([0.3, -0.2])
    step = quadratic_program(np.eye(2), np.ones(2), JointLimits(here, here), here)
    assert step.tolist() == [0.0, 0.0]
