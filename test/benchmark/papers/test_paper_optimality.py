# SPDX-License-Identifier: Apache-2.0
"""Other ways to the minimum: equations, directions, sweeps, against independent formulas."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from support.paper_chains import slides
from support.paper_results import rows_of

from benchmark.papers import optimality
from benchmark.papers.optimality import (
    SYSTEMS,
    clipped,
    derivatives,
    gauss_seidel_sweep,
    new_problem,
    newton_on_equations,
)
from benchmark.problems import aim
from ik_core.robot.human_model import human
from ik_core.tasks import PositionTask


@pytest.fixture(scope='module')
def person():
    """The figure's problem, and a posture (n,) near that of its goals."""
    problem, rng = new_problem(human()), np.random.default_rng(0)
    (start, goal), *_ = optimality.cases(problem.robot, 'in reach', 0.05, 1)
    aim(problem, goal)
    return problem, start, rng


def test_exact_hessian_is_the_derivative_of_the_gradient(person):
    problem, q, rng = person
    hessian = derivatives(problem, q, True)[1]
    for way in rng.normal(size=(5, len(q))):
        ends = [derivatives(problem, q + h * way, True)[0] for h in (1e-5, -1e-5)]
        assert hessian @ way == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-7)
    assert np.abs(hessian - derivatives(problem, q, False)[1]).max() > 1e-3


@pytest.mark.parametrize('system', SYSTEMS)
def test_equations_hold_where_a_quadratic_is_least_inside_the_box_and_nowhere_else(system):
    """f = |x - c|^2 / 2, whose minimum is c clipped."""
    lower, upper, centre = -np.ones(4), np.ones(4), np.array([-3.0, 0.5, 2.0, -0.2])
    best = np.clip(centre, lower, upper)
    at_best = SYSTEMS[system](best, best - centre, np.eye(4), lower, upper)[0]
    assert at_best == pytest.approx(0.0, abs=1e-12)
    for k in range(4):
        for move in (-0.3, 0.3):
            x = best + move * np.eye(4)[k]
            assert abs(SYSTEMS[system](x, x - centre, np.eye(4), lower, upper)[0][k]) > 0.05


@pytest.mark.parametrize('system', SYSTEMS)
def test_generalised_jacobian_is_the_derivative_of_the_equations(system):
    rng = np.random.default_rng(1)
    root, centre = rng.normal(size=(5, 5)), rng.normal(size=5)
    hessian, lower, upper = root @ root.T, -np.ones(5), np.ones(5)

    def equations(x):
        return SYSTEMS[system](x, hessian @ (x - centre), hessian, lower, upper)

    for x in rng.uniform(-1.5, 1.5, (20, 5)):
        difference = approx_fprime(x, lambda y: equations(y)[0], 1e-7)
        assert equations(x)[1] == pytest.approx(difference, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize('exact', [True, False])
@pytest.mark.parametrize('system', SYSTEMS)
def test_newton_on_equations_reaches_a_near_goal_inside_the_limits(person, system, exact):
    problem, start, _ = person
    q, iterations = newton_on_equations(problem, start, system, exact)
    assert problem.errors(q)[0].max() <= optimality.TOLERANCE
    assert (problem.robot.lower <= q).all()
    assert (q <= problem.robot.upper).all()
    assert 0 < iterations < 30


def test_clipped_newton_direction_rises_on_two_slides_and_the_gradient_does_not():
    """The first at its lower limit; the example of test/papers, where it is computed by hand."""
    axes = np.array([[1.0, 0, 0], [np.cos(0.3), np.sin(0.3), 0]])
    chain = slides(*axes).limited([0.0, -5.0], [5.0, 5.0])
    problem = chain.problem(np.array([[-1.0, 1.54, 0.0]]))
    assert clipped(problem, axes @ axes.T, np.zeros(2)) == (True, False)
    assert clipped(problem, np.eye(2), np.zeros(2)) in (None, (False, True))
    assert clipped(problem, np.eye(2), np.ones(2)) is None  # no limit there


def test_gauss_seidel_sweep_solves_the_lower_triangle_of_the_normal_equations():
    robot = human()
    problem = optimality.IkProblem(robot, [PositionTask('left_fingertips')])
    rng = np.random.default_rng(2)
    q = rng.uniform(robot.lower, robot.upper)
    problem.goals[0].set_target(position=rng.normal(size=3))
    at = problem.evaluate(q)
    jacobian = at.jacobian[:, ::-1]
    keep = np.abs(jacobian).max(axis=0) > 1e-9
    change = np.zeros(jacobian.shape[1])
    square = jacobian[:, keep].T @ jacobian[:, keep]
    change[keep] = np.linalg.solve(np.tril(square), -jacobian[:, keep].T @ at.residual)
    sweep = gauss_seidel_sweep(problem, q)
    assert sweep[problem.variables][::-1] == pytest.approx(change, abs=1e-9)


def test_claim_on_equations_turns_where_they_reach_fewer_goals():
    rows = rows_of('optimality')
    before = optimality.claims(rows)[0]
    assert before.verdict == 'partly'
    for row in rows:
        if row['method'].startswith('minimum map'):
            row['reached'] = 10.0
    assert optimality.claims(rows)[0].verdict == 'no'
