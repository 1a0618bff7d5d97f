# SPDX-License-Identifier: Apache-2.0
"""Selectively damped least squares: its formulas, written out as loops, and its bounds."""

import math

import numpy as np
import pytest
from support import robots
from support.jacobian_problems import (
    WIDE,
    buss_and_kim,
    figure,
    flat,
    model,
    planar,
    slides,
    step_from,
)

from ik_core import IkProblem, PoseTask, PositionTask, PostureTask, make_solver

SOLVER = 'selectively_damped_least_squares'
QUARTER = math.pi / 4


def cases():
    rng = np.random.default_rng(11)
    for name in ('buss_y', 'buss_double_y'):
        for stretch in (1.02, 1.3, 3.0):
            problem, _ = figure(name, stretch=stretch)
            rows = [list(range(3 * k, 3 * k + 3)) for k in range(len(problem.goals))]
            yield problem, rng.uniform(-1.0, 1.0, problem.robot.n), rows
            yield problem, np.full(problem.robot.n, 1e-3), rows  # nearly singular
    dual = robots.shipped('dual_arm')
    poses = [
        PoseTask(link, transform=robots.random_transform(rng), orientation_weights=(1, 0, 2))
        for link in dual.tips()
    ]
    problem = IkProblem(dual, poses)
    yield problem, robots.random_q(dual, rng), [list(range(5)), list(range(5, 10))]


@pytest.mark.parametrize('gamma_max', [QUARTER, 0.05])
def test_the_step_is_that_of_the_paper(gamma_max):
    for problem, q, rows in cases():
        jacobian, e = model(problem, q)
        expected, _ = buss_and_kim(jacobian, e, rows, gamma_max)
        limits = np.minimum(np.maximum(q + expected, problem.robot.lower), problem.robot.upper)
        step = step_from(SOLVER, problem, q, max_error=np.inf, max_step=gamma_max)
        np.testing.assert_allclose(step, limits - q, atol=1e-9)


def test_gamma_max_is_a_quarter_of_pi_by_default():
    assert make_solver(SOLVER).options.max_step == pytest.approx(QUARTER)


def test_no_step_exceeds_gamma_max_nor_any_term_its_own_bound():
    damped = 0
    for problem, q, rows in cases():
        jacobian, e = model(problem, q)
        step, terms = buss_and_kim(jacobian, e, rows, QUARTER)
        assert np.abs(step).max() <= QUARTER * (1 + 1e-12)
        found = step_from(SOLVER, problem, q, max_error=np.inf)
        assert np.abs(found).max() <= QUARTER * (1 + 1e-12)
        for term, gamma in terms:
            assert np.abs(term).max() <= gamma * (1 + 1e-12)
            assert gamma <= QUARTER
            damped += gamma < 0.1 * QUARTER
    assert damped > 3


def test_small_errors_away_from_singularities_are_not_damped():
    problem, _ = figure('buss_y', stretch=1.001)
    q = np.linspace(-0.4, 0.4, 7) + 0.3
    target = problem.robot.forward_kinematics(q + 1e-4, 'tip_left')[:3, 3]
    problem = IkProblem(problem.robot, [PositionTask('tip_left', target)])
    plain = step_from('pseudoinverse', problem, q, rank_tolerance=1e-12, **WIDE)
    np.testing.assert_allclose(step_from(SOLVER, problem, q), plain, atol=1e-12)


def test_near_a_singularity_it_stays_small_where_the_pseudoinverse_leaps():
    problem = IkProblem(planar(1.0, 1.0), [flat(1.8, 0.0)])
    for bend in (1e-2, 1e-3, 1e-5, 1e-7):
        leap = step_from('pseudoinverse', problem, [0.0, bend], rank_tolerance=1e-12, **WIDE)
        step = step_from(SOLVER, problem, [0.0, bend])
        assert np.abs(leap).max() > 0.1 / bend
        assert np.abs(step).max() < 10 * bend
    assert step_from(SOLVER, problem, [0.0, 0.0]).tolist() == [0.0, 0.0]


def bounded_terms(problem, q, gamma_max):
    """The step of an error along each left singular vector, far too long: gamma_i v_i / max |v_i|,
    by numpy's vectors; how much of gamma_max each is."""
    at = problem.evaluate(q)
    u, s, vt = np.linalg.svd(at.jacobian, full_matrices=False)
    (goal,) = problem.goals
    start, shares = goal.target[9:] + at.residual, []
    for i in range(len(s)):
        goal.set_target(position=start + 1e3 * u[:, i])
        step = step_from(SOLVER, problem, q, max_error=np.inf, max_step=gamma_max)
        shares.append(np.abs(step).max() / gamma_max)
        along = step / np.linalg.norm(step)
        np.testing.assert_allclose(abs(along @ vt[i]), 1.0, atol=1e-9)
    return np.array(shares), at.jacobian, s, vt


def test_a_single_end_effector_moves_by_n_equal_one():
    """N_i is |u_i| = 1, and M_i >= s_i |v_i| / s_i: the share is at most 1."""
    problem = IkProblem(robots.shipped('ur5e'), [PositionTask('tool0', [0.4, 0.5, 0.6])])
    q = np.array([0.3, -1.2, 1.4, -0.6, 0.8, 0.2])
    shares, jacobian, s, vt = bounded_terms(problem, q, 0.01)
    rho = np.linalg.norm(jacobian, axis=0)
    np.testing.assert_allclose(shares, 1.0 / (np.abs(vt) @ rho / s), rtol=1e-9)
    assert (shares < 0.9).all()


def test_without_an_end_effector_in_its_way_nothing_is_damped():
    """Joints that move at right angles: each singular vector is one joint, M_i = N_i."""
    axes = [[1, 0, 0], [0, 1e-3, np.sqrt(1 - 1e-6)]]
    goal = PositionTask('tip', [1e3, 2e3, 0.0], weights=(4.0, 1.0, 0.0))  # J = diag(2, 0.001)
    problem = IkProblem(slides(*axes), [goal])
    step = step_from(SOLVER, problem, np.zeros(2), max_error=np.inf, max_step=0.3)
    np.testing.assert_allclose(step, [0.3, 0.3])


def test_tasks_that_are_no_goals_count_as_one_more_end_effector():
    robot = robots.shipped('panda')
    q = robot.middle_configuration
    goal = PoseTask(
        'panda_hand_tcp', transform=robot.forward_kinematics(q + 0.1, 'panda_hand_tcp')
    )
    problem = IkProblem(robot, [goal, PostureTask(q + 0.3, weights=0.1)])
    jacobian, e = model(problem, q)
    rows = [list(range(6)), list(range(6, len(e)))]
    for gamma_max in (QUARTER, 0.02):
        expected, _ = buss_and_kim(jacobian, e, rows, gamma_max)
        step = step_from(SOLVER, problem, q, max_error=np.inf, max_step=gamma_max)
        np.testing.assert_allclose(step, expected, atol=1e-9)
