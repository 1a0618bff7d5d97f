# SPDX-License-Identifier: Apache-2.0
"""Projected gradient descent: steps by its paper and by Barzilai and Borwein."""

import numpy as np
import pytest
from support.optimiser_problems import cross, paths

from ik_core import Budget, IkProblem, PositionTask, make_solver


def test_the_papers_step_is_tried_from_one_downwards():
    problem, q0 = paths('pr2_like')
    _, x = problem.start(q0)
    search = make_solver('projected_gradient', first_step='one', beta=0.6).begin(problem, q0)
    for _ in range(5):
        at = problem.at(x)
        gradient = 2.0 * at.jacobian.T @ at.residual  # Eq. 26
        trials = (problem.limits.project(x - 0.6**k * gradient) for k in range(99))
        x = next(
            trial for trial in trials
            if problem.at(trial).cost < at.cost + 1e-4 * gradient @ (trial - x)
        )  # fmt: skip
        search.run(Budget(iterations=1))
        np.testing.assert_allclose(where(search), x, rtol=1e-12, atol=1e-14)


def test_the_step_of_barzilai_and_borwein_needs_far_fewer_iterations():
    problem, q0 = paths('pr2_like')
    few, many = (
        make_solver('projected_gradient', first_step=step).solve(problem, q0)
        for step in ('barzilai_borwein', 'one')
    )
    assert few.success
    assert few.iterations < 0.5 * many.iterations


def test_on_a_straight_valley_the_first_spectral_step_is_the_inverse_curvature():
    # f = (x - 1)^2 along one joint: after any step s, s's / s'y = 1/2, Newton's step.
    problem = IkProblem(cross(), [PositionTask('l3', [1.0, 0, 0], weights=(0.01, 0, 0))])
    search = make_solver('projected_gradient').begin(problem, np.zeros(3))
    search.run(Budget(iterations=1))
    assert where(search)[0] == pytest.approx(0.02)  # tau = 1 along -grad f
    search.run(Budget(iterations=1))
    assert search.done
    assert search.result().success


def test_the_first_trial_after_a_step_is_the_spectral_one():
    problem, q0 = paths('pr2_like')
    search = make_solver('projected_gradient').begin(problem, q0)
    steps = 0
    before = gradient_before = None
    while not search.done:
        x, evaluations = where(search), search.workspace.search['evaluations'].item()
        search.run(Budget(iterations=1))
        if search.workspace.search['evaluations'] != evaluations + 1:
            before = None  # the first trial was not taken
            continue
        gradient = 2.0 * problem.at(x).jacobian.T @ problem.at(x).residual
        if before is not None:
            s, y = x - before, gradient - gradient_before
            tau = np.clip(s @ s / (s @ y) if s @ y > 0.0 else np.inf, 1e-6, 1e6)
            expected = problem.limits.project(x - tau * gradient)
            np.testing.assert_allclose(where(search), expected, rtol=1e-9, atol=1e-12)
            steps += 1
        before, gradient_before = x, gradient
    assert steps > 10


def where(search):
    """The point that a search stands at."""
    return search.workspace.search['x'].copy()
