# SPDX-License-Identifier: Apache-2.0
"""The dogbox method, step by step, and the reference by scipy: it goes where scipy goes."""

import numpy as np
import pytest
from scipy.optimize import least_squares
from support import robots
from support.optimiser_problems import UNREACHABLE, assert_no_descent_left, cross, paths, pose_of

from ik_core import Budget, IkProblem, IkStatus, PositionTask, make_solver
from ik_core.optim.search import is_stationary
from ik_core.robot.limits import JointLimits
from ik_core.solvers.trust_region import onto_near_limits

METHODS = ('dogbox', 'scipy_dogbox', 'scipy_trf')


def share_inside(point, way, low, high):
    """The share of a way that stays in a box."""
    ends = np.where(way > 0.0, high, low)
    with np.errstate(divide='ignore', invalid='ignore'):
        shares = np.where(way != 0.0, (ends - point) / way, np.inf)
    return min(1.0, shares.min())


def dogleg(problem, at, radius):
    """The last point of the dogleg path in the box, with numpy's pseudoinverse."""
    gradient = at.jacobian.T @ at.residual
    free = ~problem.limits.active(at.x, -gradient)
    jacobian, gradient = at.jacobian * free, gradient * free
    newton = np.where(free, -np.linalg.pinv(jacobian, rcond=1e-10) @ at.residual, 0.0)
    low = np.maximum(problem.limits.lower - at.x, -radius)
    high = np.minimum(problem.limits.upper - at.x, radius)
    if (newton >= low).all() and (newton <= high).all():
        return newton
    image = jacobian @ gradient
    cauchy = -(gradient @ gradient) / (image @ image) * gradient
    share = share_inside(np.zeros_like(at.x), cauchy, low, high)
    if share < 1.0:
        return share * cauchy
    return cauchy + share_inside(cauchy, newton - cauchy, low, high) * (newton - cauchy)


@pytest.mark.parametrize('name', ['ur5e', 'panda', 'pr2_like', 'behind limits', 'Y', 'dual arm'])
def test_every_step_is_the_dogleg_in_a_region_that_follows_the_models_success(name):
    problem, q0 = UNREACHABLE[name]() if name in UNREACHABLE else paths(name)
    at, radius = problem.at(problem.start(q0)[1]), 1.0
    search = make_solver('trust_region').begin(problem, q0)
    refused = cut_short = 0
    for _ in range(6):
        cost = np.inf
        while not cost < at.cost:
            step = dogleg(problem, at, radius)
            new = problem.at(onto_near_limits(problem.limits, at.x + step, 1e-13))
            cost = new.cost
            model = at.residual + at.jacobian @ step
            share = (at.cost - cost) / (at.cost - model @ model)
            moved = np.abs(step).max()
            cut_short += moved >= 0.999 * radius
            if share <= 0.25:
                radius = 0.25 * moved
                refused += 1
            elif share > 0.75 and moved >= 0.999 * radius:
                radius *= 2.0
        at = new
        search.run(Budget(iterations=1))
        if is_stationary(problem, at):
            break  # from where the loop may go on by itself
        np.testing.assert_allclose(search.workspace.search['x'], at.x, atol=1e-7)
        if search.done:
            break
    assert refused + cut_short >= 1 or name == 'behind limits'


@pytest.mark.parametrize('method', ['scipy_dogbox', 'scipy_trf'])
@pytest.mark.parametrize('name', ['ur5e', 'panda', 'pr2_like'])
def test_the_reference_goes_where_scipy_itself_goes(name, method):
    problem, q0 = UNREACHABLE[name]() if name in UNREACHABLE else paths(name)
    _, x0 = problem.start(q0)
    found = least_squares(
        lambda x: problem.at(x).residual, x0, lambda x: problem.at(x).jacobian,
        bounds=(problem.limits.lower, problem.limits.upper), xtol=1e-15, ftol=1e-15, gtol=1e-15,
        max_nfev=1000,
        method=method.removeprefix('scipy_'),
    )  # fmt: skip
    result = make_solver('trust_region', method=method, evaluations_per_step=1000).solve(
        problem, q0
    )
    if result.success:
        assert problem.at(found.x).cost < 1e-9
    else:
        assert result.cost <= 2.0 * found.cost * (1.0 + 1e-9)  # it may go on for longer
        assert result.cost == pytest.approx(2.0 * found.cost, rel=1e-4)


def test_a_step_of_the_reference_is_about_as_many_evaluations_as_asked_for():
    problem, q0 = UNREACHABLE['panda']()
    search = make_solver('trust_region', method='scipy_dogbox', evaluations_per_step=5).begin(
        problem, q0
    )
    for step in range(1, 6):
        search.run(Budget(iterations=1))
        assert search.result().evaluations <= 1 + 7 * step


@pytest.mark.parametrize('name', ['behind limits', 'prismatic', 'mimic'])
def test_all_methods_end_on_the_limits(name):
    problem, q0 = UNREACHABLE[name]()
    results = [make_solver('trust_region', method=method).solve(problem, q0) for method in METHODS]
    for result in results:
        assert result.status is IkStatus.CLOSEST
        assert_no_descent_left(problem, problem.evaluate(result.q))
    for other in results[1:]:
        assert results[0].cost == pytest.approx(other.cost, rel=1e-9)


@pytest.mark.parametrize('method', ['dogbox', 'scipy_dogbox'])
def test_it_follows_a_redundant_arms_goal_in_a_few_evaluations(method):
    robot, rng = robots.shipped('panda'), np.random.default_rng(0)
    q = robots.random_q(robot, rng, margin=0.25)
    link = robots.tip_of(robot)
    problem = IkProblem(robot, [pose_of(robot, q, link, [0.002, 0.001, -0.001])])
    result = make_solver('trust_region', method=method).solve(problem, q)
    assert result.success
    assert result.evaluations <= 5
    assert np.max(np.abs(result.q - q)) < 0.02  # the shortest way, no motion in the null space


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('corner', [-1.0, 1.0])
def test_it_starts_on_limits_and_passes_pinned_joints_by(corner, method):
    lower, upper = np.full(3, -1.0), np.full(3, 1.0)
    lower[1] = upper[1] = 0.25
    goal = PositionTask('l3', [0.5, 0.7, 0.0])
    problem = IkProblem(cross(), [goal], lower=lower, upper=upper)
    result = make_solver('trust_region', method=method).solve(problem, np.full(3, corner))
    assert result.status is IkStatus.CLOSEST
    np.testing.assert_allclose(result.q, [0.5, 0.25, 0.0], atol=1e-6)
    assert result.q[1] == 0.25


def test_near_limits_only_are_snapped_to():
    limits = JointLimits(np.array([-1.0, -1.0, -np.inf, 0.3]), np.array([2.0, 2.0, np.inf, 0.3]))
    x = np.array([-1.0 + 1e-8, 2.0 - 1e-4, 1e9, 0.4])
    assert onto_near_limits(limits, x, 1e-6).tolist() == [-1.0, 2.0 - 1e-4, 1e9, 0.3]
    assert onto_near_limits(limits, x, 1e-3).tolist() == [-1.0, 2.0, 1e9, 0.3]
