# SPDX-License-Identifier: Apache-2.0
"""The Jacobian transpose method: its direction and its three step rules."""

import numpy as np
import pytest
from support.jacobian_problems import WIDE, each_step, figure, flat, model, planar, step_from

from ik_core import IkProblem, IkStatus, PositionTask, make_solver

SOLVER = 'jacobian_transpose'
HUMAN = 0.35  # the double Y, 3.3 m from root to tip, as a person from hips to raised hands


def problems():
    rng = np.random.default_rng(7)
    for name in ('buss_y', 'buss_double_y'):
        for seed in range(4):
            problem, _ = figure(name, seed=seed, stretch=1.3)
            yield problem, rng.uniform(-1.0, 1.0, problem.robot.n)


@pytest.mark.parametrize('options', [{}, {'joint_weights': 'link_length'}])
@pytest.mark.parametrize('rule', ['alpha', 'fixed'])
def test_the_step_leads_towards_the_target(rule, options):
    """Buss, Theorem 1: <JJ'e, e> >= 0, with positive joint weights too."""
    for problem, q in problems():
        step = step_from(SOLVER, problem, q, step_rule=rule, step_length=1e-4, **WIDE, **options)
        jacobian, e = model(problem, q)
        assert jacobian @ step @ e > 0.0
        assert problem.evaluate(q + 1e-3 * step).cost < problem.evaluate(q).cost


def test_a_fixed_step_is_tau_times_the_transpose():
    for problem, q in problems():
        jacobian, e = model(problem, q)
        step = step_from(SOLVER, problem, q, step_rule='fixed', step_length=0.03, **WIDE)
        np.testing.assert_allclose(step, 0.03 * jacobian.T @ e, atol=1e-13)


def test_alpha_leaves_the_least_error_of_all_step_lengths():
    for problem, q in problems():
        jacobian, e = model(problem, q)
        step = step_from(SOLVER, problem, q, **WIDE)
        direction = jacobian.T @ e
        mended = jacobian @ direction
        np.testing.assert_allclose(step, (e @ mended) / (mended @ mended) * direction, atol=1e-12)
        left = np.linalg.norm(e - jacobian @ step)
        assert (e - jacobian @ step) @ (jacobian @ step) == pytest.approx(0.0, abs=1e-10)
        for share in (0.0, 0.5, 0.99, 1.01, 1.5):
            assert np.linalg.norm(e - share * jacobian @ step) > left


def test_alpha_knows_the_joint_weights():
    problem, _ = figure('buss_y', stretch=1.3)
    q = np.linspace(-0.6, 0.7, 7)
    stiff = {'joint_stiffness': 'joint_stem=5, joint_left_1=0.3'}
    jacobian, e = model(problem, q)
    step = step_from(SOLVER, problem, q, **stiff, **WIDE)
    assert (e - jacobian @ step) @ (jacobian @ step) == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize('rule', ['alpha', 'fixed', 'halving'])
def test_where_the_transpose_gives_nothing_it_stands_still_and_the_search_goes_on(rule):
    """A goal straight ahead; in reach, being stretched out is no minimum."""
    for reach in (5.0, 1.5):
        problem = IkProblem(planar(1.0, 1.0), [flat(reach, 0.0)])
        assert step_from(SOLVER, problem, [0.0, 0.0], step_rule=rule).tolist() == [0.0, 0.0]
        result = make_solver(SOLVER, step_rule=rule).solve(problem, [0.0, 0.0])
        if reach == 5.0:
            assert result.q.tolist() == [0.0, 0.0]
            assert result.status is IkStatus.CLOSEST
        else:
            assert result.success


@pytest.mark.parametrize(('tolerance', 'halvings'), [(10.0, 0), (2.0, 1), (1.5, 2), (0.09, 6)])
def test_halving_ends_when_little_is_beyond_reach(tolerance, halvings):
    """Stretched along x: of e = (3.2, 2) no step can mend the 3.2."""
    problem = IkProblem(planar(1.0, 1.0), [flat(5.2, 2.0)])
    jacobian, e = model(problem, [0.0, 0.0])
    beyond = np.linalg.norm(e - jacobian @ np.linalg.pinv(jacobian) @ e)
    assert beyond == pytest.approx(3.2)
    step = step_from(SOLVER, problem, [0.0, 0.0], step_rule='halving', step_length=0.1,
                     halving_tolerance=tolerance, **WIDE)  # fmt: skip
    np.testing.assert_allclose(step, 0.1 * jacobian.T @ e / 2**halvings, atol=1e-12)


def test_within_reach_halving_is_the_fixed_step():
    problem, _ = figure('buss_y', stretch=1.1)
    q = np.linspace(-0.6, 0.7, 7)
    options = {'step_length': 0.02, **WIDE}
    np.testing.assert_array_equal(
        step_from(SOLVER, problem, q, step_rule='halving', halving_tolerance=1e-6, **options),
        step_from(SOLVER, problem, q, step_rule='fixed', **options),
    )


def costs(problem, q, tau, steps=400):
    options = {'step_rule': 'fixed', 'step_length': tau, **WIDE}
    searches = each_step(SOLVER, problem, q, steps, **options)
    return np.array([search.workspace.cost for search in searches])


def test_the_fixed_step_of_the_paper_converges_and_ten_times_it_does_not():
    """Engell-Norregard & Erleben 6: 0.005 and 0.05 in their units are 0.125 and 1.25 per m^2 of
    tau, of which the step along their gradient, 2 J'e, is twice as much (Eq. 26 and 27)."""
    for seed in range(5):
        problem, q = figure('buss_double_y', seed=seed, scale=HUMAN)
        start = q + np.random.default_rng(seed).uniform(-0.1, 0.1, 16)  # close to a solution
        converging = costs(problem, start, 0.25)
        assert (np.diff(converging) < 0.0).all()
        assert converging[-1] < 0.05 * converging[0]
        diverging = costs(problem, start, 2.5)
        assert diverging[-100:].min() > 2.0 * diverging[0]
        flips = np.diff(np.sign(np.diff(diverging[-100:])))
        assert np.count_nonzero(flips) > 30  # between ghosted poses, in their words


def test_the_fixed_step_is_bounded_by_the_largest_singular_value():
    problem, q = figure('buss_double_y', seed=1)
    largest = np.linalg.svd(model(problem, q)[0], compute_uv=False)[0]
    start = q + 1e-3 * np.random.default_rng(1).normal(size=16)
    assert (
        costs(problem, start, 1.9 / largest**2)[-1] < 0.1 * costs(problem, start, 0.0 + 1e-12)[0]
    )
    assert costs(problem, start, 2.2 / largest**2)[-1] > 10.0 * problem.evaluate(start).cost


def test_a_single_goal_is_reached_with_every_rule():
    problem = IkProblem(planar(1.0, 1.0, 1.0), [PositionTask('tip', [1.2, 1.4, 0.0])])
    for options in ({}, {'step_rule': 'fixed'}, {'step_rule': 'halving'}):
        assert make_solver(SOLVER, **options).solve(problem, [0.1, 0.4, 0.3]).success


def test_link_length_weights_let_short_links_move_more():
    """Dorta et al. 3.1.1: without them joints near the base do most of the work."""
    problem = IkProblem(planar(1.0, 0.3, 0.1), [flat(0.9, 0.6)])
    q = np.array([0.2, 0.3, 0.4])
    plain, weighted = (
        step_from(SOLVER, problem, q, joint_weights=w) for w in ('equal', 'link_length')
    )
    ratio = (weighted / weighted[0]) / (plain / plain[0])
    np.testing.assert_allclose(ratio, [1.0, 1.0 / 0.3, 1.0 / 0.1])
