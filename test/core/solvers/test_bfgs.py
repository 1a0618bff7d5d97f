"""Quasi-Newton with an active set: curvature, reduced directions, scipy on the same objective."""

import numpy as np
import pytest
from scipy.optimize import minimize
from support import robots
from support.optimiser_problems import UNREACHABLE, paths, pose_of

from ik_core import Budget, IkProblem, IkStatus, make_solver
from ik_core.maths.linalg import damped_step
from ik_core.robot.limits import JointLimits
from ik_core.solvers.bfgs import reduced_direction


@pytest.mark.parametrize('solver', ['bfgs', 'sqp', 'augmented_lagrangian', 'penalty'])
@pytest.mark.parametrize('name', ['behind limits', 'Y', 'prismatic', 'masked', 'mimic'])
def test_scipys_bounded_optimisers_agree_on_the_same_objective(solver, name):
    problem, q0 = UNREACHABLE[name]()
    result = make_solver(solver).solve(problem, q0)
    assert result.status is IkStatus.CLOSEST
    bounds = list(zip(problem.limits.lower, problem.limits.upper, strict=True))
    for method in ('L-BFGS-B', 'SLSQP'):
        found = minimize(
            lambda x: problem.at(x).cost,
            problem.evaluate(result.q).x + 1e-2,
            jac=lambda x: 2.0 * problem.at(x).jacobian.T @ problem.at(x).residual,
            bounds=bounds, method=method,
            options={'maxiter': 2000, 'ftol': 1e-15},
        )  # fmt: skip
        assert result.cost == pytest.approx(found.fun, rel=1e-7)


@pytest.mark.parametrize('start', ['gauss_newton', 'identity'])
@pytest.mark.parametrize('name', ['ur5e', 'behind limits', 'Y', 'pr2_like'])
def test_the_curvature_condition_holds_and_the_hessian_stays_positive_definite(start, name):
    problem, q0 = paths(name)
    search = make_solver('bfgs', initial_hessian=start).begin(problem, q0)
    undamped = 0
    while not search.done:
        assert np.linalg.eigvalsh(search.state.hessian).min() > 0.0
        at, hessian = search.state.at, search.state.hessian
        search.run(Budget(iterations=1))
        new = search.state.at
        if new is at:
            continue
        s = new.x - at.x
        y = 2.0 * (new.jacobian.T @ new.residual - at.jacobian.T @ at.residual)
        curvature = s @ search.state.hessian @ s
        assert curvature > 0.0
        if s @ y >= 0.2 * s @ hessian @ s:  # Eq. 15 as it is: the secant equation holds
            undamped += 1
            np.testing.assert_allclose(search.state.hessian @ s, y, atol=1e-7 * np.abs(y).max())
    assert undamped >= 1


def test_clipping_a_quasi_newton_direction_may_ascend_and_reducing_it_does_not():
    # Engell-Norregard & Erleben, section 4: "the projected direction can no longer be
    # guaranteed to give a reduction".
    limits = JointLimits(np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    hessian = np.array([[1.0, 0.9], [0.9, 1.0]])
    x, gradient = np.array([1.0, 0.0]), np.array([-1.0, -0.2])
    newton = -np.linalg.solve(hessian, gradient)
    clipped = limits.project(x + newton) - x
    assert gradient @ newton < 0.0
    assert gradient @ clipped > 0.0
    reduced = reduced_direction(limits, x, gradient, hessian)
    assert reduced.tolist() == [0.0, 0.2]


@pytest.mark.parametrize('seed', range(40))
def test_the_reduced_direction_descends_and_crosses_no_limit(seed):
    rng = np.random.default_rng(seed)
    n = 5
    limits = JointLimits(-np.ones(n), np.ones(n))
    x = rng.choice([-1.0, 0.0, 1.0], n)
    root = rng.normal(size=(n, n))
    hessian, gradient = root @ root.T + 0.05 * np.eye(n), rng.normal(size=n)
    p = reduced_direction(limits, x, gradient, hessian)
    assert not limits.active(x, p).any()
    assert (p[limits.active(x, -gradient)] == 0.0).all()
    free = p != 0.0
    assert free.any() == (~limits.active(x, -gradient)).any()
    if free.any():
        assert gradient @ p < 0.0
        np.testing.assert_allclose(hessian[np.ix_(free, free)] @ p[free], -gradient[free])
        far = 1e3 * p
        share = limits.reach(x, far)
        assert 0.0 < share < 1.0
        np.testing.assert_allclose(np.max(np.abs(x + share * far)[free]), 1.0)


def test_the_reach_of_a_step_ends_at_the_first_limit_on_its_way():
    limits = JointLimits(np.array([-np.inf, -1.0]), np.array([np.inf, 1.0]))
    assert limits.reach(np.zeros(2), np.array([1.0, 0.0])) == 1.0
    assert limits.reach(np.zeros(2), np.zeros(2)) == 1.0
    assert limits.reach(np.zeros(2), np.array([9.0, -0.5])) == 1.0
    assert limits.reach(np.zeros(2), np.array([9.0, -4.0])) == 0.25
    assert limits.reach(np.array([0.0, 0.5]), np.array([-9.0, 2.0])) == 0.25


def test_the_first_step_is_the_damped_one_or_the_gradients():
    robot, q0 = robots.shipped('ur5e'), np.full(6, 0.4)
    problem = IkProblem(robot, [pose_of(robot, q0 + 0.2, 'tool0')])
    _, x = problem.start(q0)
    at = problem.at(x)
    gradient = 2.0 * at.jacobian.T @ at.residual
    directions = {
        'gauss_newton': damped_step(at.jacobian, -at.residual, np.sqrt(1e-2)),
        'identity': -0.5 * gradient,
    }
    for start, direction in directions.items():
        search = make_solver('bfgs', initial_hessian=start, epsilon=1e-2).begin(problem, q0)
        search.run(Budget(iterations=1))
        moved = search.state.at.x - x
        size = moved @ direction / (direction @ direction)
        np.testing.assert_allclose(moved, size * direction, atol=1e-9)
        assert 0.0 < size <= 1.0 + 1e-9
