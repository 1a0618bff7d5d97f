# SPDX-License-Identifier: Apache-2.0
"""Damped least squares: its step and its damping. Its clamps are in test_jacobian_methods.py."""

import numpy as np
import pytest
from support import robots
from support.jacobian_problems import planar, slides
from support.jacobian_problems import step_from as step_of

import ik_core as ik
from ik_core import Budget, IkProblem, InvalidOption, PoseTask, PositionTask, make_solver

SOLVER = 'damped_least_squares'
RNG = np.random.default_rng(60)
WIDE = {'max_error': 1e6, 'max_step': 1e6}


def one_step(problem, q0, **options):
    result = make_solver(SOLVER, **options).solve(problem, q0, Budget(iterations=1))
    assert result.iterations == 1
    return result.q


def step_from(problem, q, **options):
    """The step itself, whether it makes things better or not."""
    return step_of(SOLVER, problem, q, **options)


@pytest.mark.parametrize('damping', [0.01, 0.3])
def test_the_step_is_buss_equation_11(damping):
    robot = robots.shipped('buss_y')
    goals = [PositionTask(link, [0.4, 0.7, 0.1], weights=(1, 2, 3)) for link in robot.tips()]
    problem = IkProblem(robot, goals)
    q = RNG.uniform(-1, 1, robot.n)
    at = problem.evaluate(q)
    J, e = at.jacobian, -at.residual
    expected = J.T @ np.linalg.inv(J @ J.T + damping**2 * np.eye(len(e))) @ e
    step = step_from(problem, q, damping=damping, adaptive='fixed', **WIDE)
    np.testing.assert_allclose(step, expected, atol=1e-10)


def test_the_step_goes_towards_the_goal():
    robot = planar(1.0, 1.0)
    problem = IkProblem(robot, [PositionTask('tip', [0.5, 1.0, 0.0])])
    q0 = np.array([0.3, 0.9])
    q = one_step(problem, q0)
    assert problem.evaluate(q).cost < problem.evaluate(q0).cost


# --- damping ---------------------------------------------------------------------------------


def square_of_damping(problem, q, **options):
    """d^2, solved for in the step's part s / (s^2 + d^2) u'e along the largest singular value's
    vector, by numpy's singular values."""
    at = problem.evaluate(q)
    u, s, vt = np.linalg.svd(at.jacobian)
    step = step_from(problem, q, **WIDE, **options)
    return s[0] * (u[:, 0] @ -at.residual) / (vt[0] @ step) - s[0] ** 2


def damping_at(bend, **options):
    """The damping of a stretched (bend 0) or bent arm of two links in the plane."""
    problem = IkProblem(planar(1.0, 1.0), [PositionTask('tip', [1, 1, 0], weights=(1, 1, 0))])
    return np.sqrt(max(square_of_damping(problem, [0.3, bend], **options), 0.0))


@pytest.mark.parametrize('adaptive', ['singular_value', 'manipulability'])
def test_adaptive_damping_is_zero_far_from_singularities_and_largest_at_one(adaptive):
    options = {'adaptive': adaptive, 'damping': 0.2, 'threshold': 0.1}
    for bend, expected in ((1.5, 0.0), (0.5, 0.0), (0.0, 0.2), (np.pi, 0.2)):
        assert damping_at(bend, **options) == pytest.approx(expected, abs=2e-6)
    bends = np.linspace(0.0, 0.5, 60)
    dampings = [damping_at(bend, **options) for bend in bends]
    steps = -np.diff(dampings)
    assert steps.min() > -2e-6  # the root of rounding
    assert steps.max() < 0.1  # it fades out, without a jump
    assert 0.0 < dampings[3] < 0.2


def slides_in_a_plane(goal, *axes, weights=(1, 1, 0)):
    """(problem, q): J is the axes' first two components, times the roots of the weights."""
    problem = IkProblem(slides(*axes), [PositionTask('tip', goal, weights=weights)])
    return problem, np.zeros(len(axes))


def test_the_singular_value_rule_in_numbers():
    options = {'adaptive': 'singular_value', 'damping': 0.2, 'threshold': 0.1}
    for smallest in (0.0, 0.02, 0.06, 0.0999, 0.1, 0.5):  # J = diag(1, smallest)
        oblique = [0.0, smallest, np.sqrt(1.0 - smallest**2)]
        problem, q = slides_in_a_plane([0.7, 0.3, 0.0], [1, 0, 0], oblique)
        np.testing.assert_allclose(problem.evaluate(q).jacobian, np.diag([1.0, smallest]))
        square = max(0.0, (1 - (smallest / 0.1) ** 2) * 0.2**2)
        expected = [0.7 / (1.0 + square), 0.3 * smallest / (smallest**2 + square)]
        step = step_from(problem, q, **options, **WIDE)
        np.testing.assert_allclose(step, expected, rtol=1e-10)
        assert square_of_damping(problem, q, **options) == pytest.approx(square, abs=1e-14)


@pytest.mark.parametrize('seed', range(5))
def test_numerical_filtering_damps_along_the_smallest_singular_value_alone(seed):
    """J'(JJ' + d^2 u u')^-1 e."""
    rng = np.random.default_rng(seed)
    options = {'adaptive': 'numerical_filtering', 'damping': 0.2, 'threshold': 1.5}
    robot, tip = robots.shipped('panda'), 'panda_hand_tcp'
    q = robots.random_q(robot, rng, margin=0.25)
    goal = robot.forward_kinematics(q + 0.1 * rng.normal(size=robot.n), tip)
    problem = IkProblem(robot, [PoseTask(tip, transform=goal)])
    at = problem.evaluate(q)
    jacobian, u, s = at.jacobian, *np.linalg.svd(at.jacobian)[:2]
    square = max(0.0, (1.0 - (s[-1] / 1.5) ** 2) * 0.2**2)
    assert square > 0.0
    damped = jacobian @ jacobian.T + square * np.outer(u[:, -1], u[:, -1])
    expected = jacobian.T @ np.linalg.solve(damped, -at.residual)
    np.testing.assert_allclose(step_from(problem, q, **options, **WIDE), expected, atol=1e-9)
    far = {**options, 'threshold': 1e-6}  # no singular value is as small
    expected = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T, -at.residual)
    np.testing.assert_allclose(step_from(problem, q, **far, **WIDE), expected, atol=1e-9)


def test_numerical_filtering_of_a_singular_value_that_is_zero_does_nothing_along_it():
    options = {'adaptive': 'numerical_filtering', 'damping': 0.2, 'threshold': 0.1}
    problem, q = slides_in_a_plane([0.7, 0.3, 0.0], [1, 0, 0], [0, 0, 1])  # J = diag(1, 0)
    np.testing.assert_allclose(step_from(problem, q, **options, **WIDE), [0.7, 0.0], atol=1e-12)


def test_the_manipulability_rule_in_numbers():
    options = {'adaptive': 'manipulability', 'damping': 0.2, 'threshold': 0.1}
    for other in (0.0, 0.01, 0.03, 0.05, 0.3):  # J = ((2, 0, 0), (0, 0, other))
        oblique = [0.0, other, np.sqrt(1.0 - other**2)]
        problem, q = slides_in_a_plane([0.7, 0.3, 0.0], [1, 0, 0], [0, 0, 1], oblique,
                                       weights=(4, 1, 0))  # fmt: skip
        jacobian = problem.evaluate(q).jacobian
        np.testing.assert_allclose(jacobian, [[2.0, 0.0, 0.0], [0.0, 0.0, other]])
        w = np.sqrt(np.linalg.det(jacobian @ jacobian.T))
        expected = 0.2 * (1 - w / 0.1) ** 2 if w < 0.1 else 0.0
        found = square_of_damping(problem, q, **options)
        assert found == pytest.approx(expected**2, abs=1e-13)


def test_fixed_damping_is_fixed():
    for bend in (0.0, 0.2, 1.5):
        found = damping_at(bend, adaptive='fixed', damping=0.07, threshold=1e6)
        assert found == pytest.approx(0.07, abs=1e-10)


@pytest.mark.parametrize(
    'adaptive', ['fixed', 'singular_value', 'manipulability', 'numerical_filtering']
)
@pytest.mark.parametrize('name', ['panda', 'iiwa14', 'buss_y'])
def test_near_goals_are_reached_with_every_damping(name, adaptive):
    robot, rng = robots.shipped(name), np.random.default_rng(61)
    reached = 0
    for _ in range(12):
        q = robots.random_q(robot, rng, margin=0.25)
        goals = [
            PositionTask(link, robot.forward_kinematics(q, link)[:3, 3]) for link in robot.tips()
        ]
        q0 = q + rng.uniform(-0.15, 0.15, robot.n)
        solver = make_solver(SOLVER, adaptive=adaptive, threshold=0.01)
        reached += solver.solve(IkProblem(robot, goals), q0).success
    assert reached >= 11


def test_without_damping_a_stretched_arm_does_not_blow_up():
    problem = IkProblem(planar(1.0, 1.0), [PositionTask('tip', [1.5, 0.5, 0.0])])
    step = step_from(problem, np.zeros(2), damping=0.0, **WIDE)
    assert np.abs(step).max() < 1.0
    assert step[1] == pytest.approx(0.5 * step[0], abs=1e-9)  # the shortest step that moves y


def test_far_goals_do_not_make_it_swing():
    """Out of reach, with damping and clamps, it settles on the closest point (Buss 7)."""
    robot = planar(1.0, 1.0, 1.0)
    problem = IkProblem(robot, [PositionTask('tip', [4.0, 3.0, 0.0])])
    solver = make_solver(SOLVER, damping=0.5, adaptive='fixed')
    result = solver.solve(problem, [0.5, 0.7, -0.4])
    assert result.position_errors == pytest.approx([2.0], abs=1e-6)
    assert result.status is ik.IkStatus.CLOSEST


@pytest.mark.parametrize(
    'options',
    [{'damping': -0.1}, {'adaptive': 'sometimes'}, {'threshold': 0.0}, {'max_error': 0.0},
     {'max_step': -1.0}],
)  # fmt: skip
def test_bad_options_are_refused(options):
    with pytest.raises(InvalidOption, match=next(iter(options))):
        make_solver(SOLVER, **options)
