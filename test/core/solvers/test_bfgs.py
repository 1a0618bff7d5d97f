# SPDX-License-Identifier: Apache-2.0
"""Quasi-Newton with an active set: curvature, reduced directions, scipy on the same objective."""

import numpy as np
import pytest
from scipy.optimize import minimize
from support import robots
from support.optimiser_problems import UNREACHABLE, paths, pose_of

from ik_core import Budget, IkProblem, IkStatus, make_solver
from ik_core.maths.linalg import damped_step
from ik_core.optim.active_set import fraction_inside, reduced_direction
from ik_core.robot.limits import JointLimits
from ik_core.solvers.bfgs import Bfgs


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
    secants = 0
    points, models = [problem.at(problem.start(q0)[1])], []
    while not search.done:
        search.run(Budget(iterations=1))
        points.append(problem.at(search.workspace.search['x'].copy()))
        models.append(whole(search.workspace.own['model']))  # that of the step to this point
        assert np.linalg.eigvalsh(models[-1]).min() > 0.0
    for before, after, model, updated in zip(points, points[1:], models, models[1:], strict=False):
        s = after.x - before.x
        y = after.jacobian.T @ after.residual - before.jacobian.T @ before.residual
        begun_again = after.jacobian.T @ after.jacobian + 1e-3 * np.eye(len(s))
        if np.allclose(updated, begun_again, rtol=1e-12) or not s @ y >= 0.2 * s @ model @ s:
            continue
        secants += 1  # Eq. 15 as it is: the secant equation holds
        np.testing.assert_allclose(updated @ s, y, atol=1e-7 * np.abs(y).max())
    assert secants >= 1


def whole(model):
    """The symmetric matrix of a lower triangle."""
    return np.tril(model) + np.tril(model, -1).T


def reduced(limits, x, gradient, hessian):
    """The reduced direction, by a matrix with nothing above its diagonal."""
    n = len(x)
    direction, held, rhs = np.full((3, n), np.nan)
    model = np.where(np.tri(n, dtype=bool), hessian, np.nan)
    normal = np.empty((n, n))
    reduced_direction(model, gradient, x, limits.packed, direction, held, normal, rhs)
    return direction


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
    direction = reduced(limits, x, gradient, hessian)
    assert direction.tolist() == [0.0, 0.2]


@pytest.mark.parametrize('seed', range(40))
def test_the_reduced_direction_descends_and_crosses_no_limit(seed):
    rng = np.random.default_rng(seed)
    n = 5
    limits = JointLimits(-np.ones(n), np.ones(n))
    x = rng.choice([-1.0, 0.0, 1.0], n)
    root = rng.normal(size=(n, n))
    hessian, gradient = root @ root.T + 0.05 * np.eye(n), rng.normal(size=n)
    p = reduced(limits, x, gradient, hessian)
    assert not limits.active(x, p).any()
    assert (p[limits.active(x, -gradient)] == 0.0).all()
    free = p != 0.0
    assert free.any() == (~limits.active(x, -gradient)).any()
    if free.any():
        assert gradient @ p < 0.0
        np.testing.assert_allclose(hessian[np.ix_(free, free)] @ p[free], -gradient[free])
        far = 1e3 * p
        share = fraction_inside(x, far, limits.packed)
        assert 0.0 < share < 1.0
        np.testing.assert_allclose(np.max(np.abs(x + share * far)[free]), 1.0)


def test_a_step_ends_at_the_first_limit_on_its_way():
    limits = JointLimits(np.array([-np.inf, -1.0]), np.array([np.inf, 1.0]))
    for x, step, share in (
        ([0.0, 0.0], [1.0, 0.0], 1.0),
        ([0.0, 0.0], [0.0, 0.0], 1.0),
        ([0.0, 0.0], [9.0, -0.5], 1.0),
        ([0.0, 0.0], [9.0, -4.0], 0.25),
        ([0.0, 0.5], [-9.0, 2.0], 0.25),
        ([0.0, 1.0], [0.5, 1.0], 0.0),
    ):
        assert fraction_inside(np.array(x), np.array(step), limits.packed) == share


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
        moved = search.workspace.search['x'] - x
        size = moved @ direction / (direction @ direction)
        np.testing.assert_allclose(moved, size * direction, atol=1e-9)
        assert 0.0 < size <= 1.0 + 1e-9


@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_an_indefinite_model_has_no_direction():
    limits = JointLimits(-np.ones(2), np.ones(2))
    for hessian in (np.diag([1.0, -1.0]), np.full((2, 2), np.nan), np.full((2, 2), np.inf)):
        assert reduced(limits, np.zeros(2), np.ones(2), hessian).tolist() == [0.0, 0.0]


def test_the_state_of_the_art_stops_where_the_solution_hardly_changes():
    problem, q0 = UNREACHABLE['panda']()
    options = {**Bfgs.presets['state_of_the_art'], 'relative_change': 1e-3}
    result = make_solver('bfgs', **options).solve(problem, q0)
    patient = make_solver('bfgs').begin(problem, q0)
    last, changes = problem.start(q0)[1], []
    while not patient.done and len(changes) < result.iterations:
        patient.run(Budget(iterations=1))
        x = patient.workspace.search['x'].copy()
        changes.append(np.abs(x - last).max() / np.abs(x).max())
        last = x
    assert len(changes) == result.iterations
    assert min(changes[:-1]) > options['relative_change'] >= changes[-1]
    assert result.status is IkStatus.STALLED
    np.testing.assert_array_equal(result.q[problem.variables], last)


def test_a_coarse_stop_rule_ends_early():
    problem, q0 = UNREACHABLE['ur5e']()
    few, more = (
        make_solver('bfgs', relative_change=share).solve(problem, q0) for share in (0.3, 1e-3)
    )
    assert few.status is IkStatus.STALLED
    assert few.iterations < more.iterations
    assert few.cost > more.cost
