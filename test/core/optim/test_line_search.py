"""The projected line search and what the quasi-Newton methods share, on problems done by hand."""

import dataclasses

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core import IkProblem, PoseTask
from ik_core.optim.line_search import LineSearchOptions, armijo, cost_gradient, onto_near_limits
from ik_core.optim.quasi_newton import (
    QuasiNewtonOptions,
    QuasiNewtonState,
    bfgs_update,
    descend,
    linear_hessian,
)
from ik_core.robot.limits import JointLimits


@dataclasses.dataclass
class Bowl:
    """f(x) = (x - centre)' H (x - centre) as a point with a cost; remembers who asked."""

    x: np.ndarray
    cost: float


class Landscape:
    def __init__(self, hessian, centre):
        self.hessian, self.centre = np.array(hessian, float), np.array(centre, float)
        self.asked = []

    def __call__(self, x):
        self.asked.append(x.copy())
        away = x - self.centre
        return Bowl(x, float(away @ self.hessian @ away))

    def gradient(self, x):
        return 2.0 * self.hessian @ (x - self.centre)


def random_definite(rng, n):
    root = rng.normal(size=(n, n))
    return root @ root.T + 0.1 * np.eye(n)


def box(*upper):
    upper = np.array(upper, float)
    return JointLimits(-upper, upper)


@pytest.mark.parametrize('seed', range(20))
@pytest.mark.parametrize('first', [1.0, 7.0, 1e-3])
def test_the_first_trial_that_fulfils_equation_39_is_taken(seed, first):
    rng = np.random.default_rng(seed)
    limits = box(*rng.uniform(0.2, 1.0, 3))
    options = LineSearchOptions(alpha=0.1, beta=0.7)
    f = Landscape(random_definite(rng, 3) * 5, rng.normal(size=3))
    x = limits.project(rng.normal(size=3))
    gradient = f.gradient(x)
    found, evaluations = armijo(f(x), gradient, -gradient, f, options, limits.project, step=first)
    trials = [limits.project(x - first * 0.7**k * gradient) for k in range(200)]
    start = f(x).cost
    good = [
        k for k, trial in enumerate(trials)
        if f(trial).cost < start + 0.1 * gradient @ (trial - x)
    ]  # fmt: skip
    np.testing.assert_allclose(found.x, trials[good[0]], rtol=1e-12)
    assert evaluations == good[0] + 1
    assert found.cost < start


def test_the_decrease_is_measured_along_what_projection_leaves_of_the_move():
    # A wall right behind x leaves a short move that brings what (39) asks; (35), which asks in
    # proportion to the whole of tau d, would refuse it and go back.
    limits = box(0.01)
    f = Landscape([[1.0]], [10.0])
    x = np.zeros(1)
    gradient = f.gradient(x)
    options = LineSearchOptions(alpha=0.1)
    found, evaluations = armijo(f(x), gradient, -gradient, f, options, limits.project)
    assert found.x.tolist() == [0.01]
    assert evaluations == 1
    assert not found.cost < f(x).cost - 0.1 * gradient @ gradient


def test_a_direction_that_does_not_descend_is_refused_without_a_trial():
    f = Landscape(np.eye(2), [1.0, 0.0])
    at = f(np.zeros(2))
    for direction in ([-1.0, 0.0], [0.0, 1.0], [0.0, 0.0]):
        f.asked.clear()
        found, evaluations = armijo(
            at, f.gradient(at.x), np.array(direction), f, LineSearchOptions()
        )
        assert (found, evaluations) == (None, 0)
        assert not f.asked


def test_a_gradient_that_lies_ends_in_none():
    f = Landscape(np.eye(1), [0.0])  # the least value is here, whatever the gradient says
    found, evaluations = armijo(
        f(np.zeros(1)), np.ones(1), -np.ones(1), f, LineSearchOptions(beta=0.5)
    )
    assert found is None
    assert 40 <= evaluations <= 60


def test_near_limits_only_are_snapped_to():
    limits = JointLimits(np.array([-1.0, -1.0, -np.inf, 0.3]), np.array([2.0, 2.0, np.inf, 0.3]))
    x = np.array([-1.0 + 1e-8, 2.0 - 1e-4, 1e9, 0.4])
    assert onto_near_limits(limits, x, 1e-6).tolist() == [-1.0, 2.0 - 1e-4, 1e9, 0.3]
    assert onto_near_limits(limits, x, 1e-3).tolist() == [-1.0, 2.0, 1e9, 0.3]


@pytest.mark.parametrize('name', ['ur5e', 'scara', 'dual_arm', 'buss_y', 'panda'])
def test_the_gradient_of_the_cost_is_that_of_central_differences(name):
    robot, rng = robots.shipped(name), np.random.default_rng(4)
    goals = [
        PoseTask(link, transform=robot.forward_kinematics(robots.random_q(robot, rng), link),
                 position_weights=(1, 2, 3), orientation_weights=0.5)
        for link in robot.tips()
    ]  # fmt: skip
    problem = IkProblem(robot, goals)
    _, x = problem.start(robots.random_q(robot, rng, margin=0.1))
    numeric = robots.central_differences(lambda x: np.array([problem.at(x).cost]), x)[0]
    np.testing.assert_allclose(cost_gradient(problem.at(x)), numeric, atol=1e-6)


@pytest.mark.parametrize('seed', range(10))
def test_the_update_is_equation_15_where_the_curvature_is_positive(seed):
    rng = np.random.default_rng(seed)
    b, s = random_definite(rng, 5), rng.normal(size=5)
    y = random_definite(rng, 5) @ s
    y *= max(1.0, 0.3 * (s @ b @ s) / (s @ y))
    updated = bfgs_update(b, s, y)
    bs = b @ s
    expected = b - np.outer(bs, bs) / (s @ bs) + np.outer(y, y) / (y @ s)
    np.testing.assert_allclose(updated, expected, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(updated @ s, y, rtol=1e-9, atol=1e-9)  # the secant equation
    np.testing.assert_allclose(updated, updated.T, rtol=1e-12)


@pytest.mark.parametrize('seed', range(10))
@pytest.mark.parametrize('curvature', [-3.0, -0.1, 0.0, 0.1, 0.199])
def test_where_curvature_fails_damping_keeps_the_approximation_positive_definite(seed, curvature):
    rng = np.random.default_rng(seed)
    b, s = random_definite(rng, 4), rng.normal(size=4)
    expected = s @ b @ s
    y = rng.normal(size=4)
    y += s * (curvature * expected - s @ y) / (s @ s)
    assert s @ y == pytest.approx(curvature * expected, abs=1e-9)
    updated = bfgs_update(b, s, y)
    assert np.linalg.eigvalsh(updated).min() > 0.0
    assert s @ updated @ s == pytest.approx(0.2 * expected)  # as little damping as it takes
    damped = updated @ s
    theta = 0.8 / (1.0 - curvature)
    np.testing.assert_allclose(damped, theta * y + (1 - theta) * b @ s, rtol=1e-9, atol=1e-9)


def test_no_step_is_no_update():
    b = np.diag([1.0, 2.0])
    assert bfgs_update(b, np.zeros(2), np.ones(2)) is b


def test_on_a_quadratic_exact_searches_find_the_hessian_in_n_steps():
    rng = np.random.default_rng(1)
    hessian, b, x = random_definite(rng, 4), np.eye(4), rng.normal(size=4)
    for _ in range(4):
        g = hessian @ x
        p = -np.linalg.solve(b, g)
        s = -(g @ p) / (p @ hessian @ p) * p
        b = bfgs_update(b, s, hessian @ s)
        x = x + s
    np.testing.assert_allclose(b, hessian, rtol=1e-6)
    np.testing.assert_allclose(x, 0.0, atol=1e-8)


def arm_problem():
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(2)
    pose = robot.forward_kinematics(robots.random_q(robot, rng, margin=0.2), 'tool0')
    problem = IkProblem(robot, [PoseTask('tool0', transform=pose)])
    _, x = problem.start(robots.random_q(robot, rng, margin=0.2))
    return problem, x


def test_the_hessian_of_the_linear_model_is_that_of_its_cost():
    problem, x = arm_problem()
    at = problem.at(x)

    def gradient(dx):
        return 2.0 * at.jacobian.T @ (at.residual + at.jacobian @ dx)

    numeric = robots.central_differences(gradient, np.zeros(6))
    np.testing.assert_allclose(linear_hessian(at.jacobian, 0.0), numeric, atol=1e-8)
    np.testing.assert_allclose(
        linear_hessian(at.jacobian, 0.3), numeric + 0.6 * np.eye(6), atol=1e-8
    )


def test_a_search_that_fails_is_begun_again_with_the_linear_model():
    problem, x = arm_problem()
    at, options = problem.at(x), QuasiNewtonOptions()
    bad = -np.eye(6)  # as if rounding had spoilt it: B^-1 g ascends

    def step(gradient, hessian):
        return -np.linalg.solve(hessian, gradient)

    spoilt = QuasiNewtonState(at, hessian=bad)
    sound = QuasiNewtonState(at, hessian=linear_hessian(at.jacobian, options.epsilon))
    new = descend(problem, spoilt, options, step)
    fresh = descend(problem, sound, options, step)
    np.testing.assert_array_equal(new.at.x, fresh.at.x)
    np.testing.assert_array_equal(new.hessian, fresh.hessian)
    assert new.at.cost < at.cost
    assert new.evaluations >= 1
    nowhere = descend(problem, spoilt, options, lambda g, b: g)
    assert nowhere.at is at
    assert nowhere.hessian is bad


@pytest.mark.parametrize(('name', 'value'), [('alpha', 0.2), ('alpha', -0.1), ('beta', 1.0),
                                             ('beta', 0.05)])  # fmt: skip
def test_options_outside_what_the_paper_allows_are_refused(name, value):
    with pytest.raises(ik.InvalidOption, match=name):
        LineSearchOptions(**{name: value})
