# SPDX-License-Identifier: Apache-2.0
"""The projected line search, on problems done by hand."""

import numpy as np
import pytest
from support import robots
from support.kernel_searches import Bowl, StandingSearch, in_a_box, random_definite

import ik_core as ik
from ik_core import IkProblem, PoseTask
from ik_core.kernels.jit import kernel
from ik_core.optim.layouts import search_at
from ik_core.optim.line_search import LINE_SEARCH, LineSearchOptions, armijo


@kernel
def search_along(address, tau):
    """Return whether the line search found a better point along dx."""
    search = search_at(address)
    return armijo(search, search.dx, tau)


def searched(problem, x, direction, alpha=1e-4, beta=0.5, tau=1.0):
    """The search after a line search from x, and whether that found something."""
    search = StandingSearch(problem, x, LINE_SEARCH, LineSearchOptions(alpha=alpha, beta=beta))
    search.record['dx'] = direction
    return search, bool(search_along(search.address, tau))


@pytest.mark.parametrize('seed', range(20))
@pytest.mark.parametrize('first', [1.0, 7.0, 1e-3])
def test_the_first_trial_that_fulfils_equation_39_is_taken(seed, first):
    rng = np.random.default_rng(seed)
    upper = rng.uniform(0.2, 1.0, 3)
    bowl = Bowl(random_definite(rng, 3) * 5, rng.normal(size=3))
    problem = in_a_box(bowl, -upper, upper)
    x = np.clip(rng.normal(size=3), -upper, upper)
    gradient = bowl.gradient(x)
    search, found = searched(problem, x, -gradient, alpha=0.1, beta=0.7, tau=first)
    trials = [np.clip(x - first * 0.7**k * gradient, -upper, upper) for k in range(200)]
    good = [
        k for k, trial in enumerate(trials)
        if bowl.cost(trial) < bowl.cost(x) + 0.1 * gradient @ (trial - x)
    ]  # fmt: skip
    assert found
    np.testing.assert_allclose(search.x, trials[good[0]], rtol=1e-12)
    assert search.evaluations == good[0] + 1
    assert search.workspace.cost == pytest.approx(bowl.cost(search.x), rel=1e-12)
    np.testing.assert_allclose(
        search.record['residual'], bowl.residual(None, search.x), rtol=1e-12
    )


def test_the_decrease_is_measured_along_what_projection_leaves_of_the_move():
    # A wall right behind x leaves a short move that brings what (39) asks; (35), which asks in
    # proportion to the whole of tau d, would refuse it and go back.
    bowl, x = Bowl([[1.0]], [10.0]), np.zeros(1)
    gradient = bowl.gradient(x)
    search, found = searched(in_a_box(bowl, [-0.01], [0.01]), x, -gradient, alpha=0.1)
    assert found
    assert search.x.tolist() == [0.01]
    assert search.evaluations == 1
    assert not bowl.cost(search.x) < bowl.cost(x) - 0.1 * gradient @ gradient


def test_a_direction_that_does_not_descend_is_refused_without_a_trial():
    problem = in_a_box(Bowl(np.eye(2), [1.0, 0.0]), -np.ones(2), np.ones(2))
    for direction in ([-1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [np.nan, np.nan]):
        search, found = searched(problem, np.zeros(2), direction)
        assert not found
        assert search.evaluations == 0
        assert search.x.tolist() == [0.0, 0.0]


def test_a_gradient_that_lies_ends_in_nothing_found():
    bowl = Bowl(np.eye(2), [0.1, 0.1], slope_error=1.0)
    problem = in_a_box(bowl, -np.ones(2), np.ones(2))
    search = StandingSearch(problem, [0.1, 0.1], LINE_SEARCH, LineSearchOptions())
    search.record['gradient'] = 1.0  # the least value is here, whatever the gradient says
    search.record['dx'] = -1.0
    assert not search_along(search.address, 1.0)
    assert 40 <= search.evaluations <= 60
    assert search.x.tolist() == [0.1, 0.1]


def test_a_trial_that_ends_on_a_limit_but_for_rounding_is_on_it():
    bowl = Bowl(np.eye(2), [5.0, 5.0])
    problem = in_a_box(bowl, [-1.0, -1.0], [0.3, 2.0])
    direction = np.array([(0.3 - 0.1) * (1.0 - 1e-14), 2.0 - 1e-9])
    search, found = searched(problem, [0.1, 0.0], direction)
    assert found
    assert search.x.tolist() == [0.3, 2.0 - 1e-9]


@pytest.mark.parametrize('name', ['ur5e', 'scara', 'dual_arm', 'buss_y', 'panda'])
def test_twice_the_gradient_of_a_search_is_that_of_central_differences(name):
    robot, rng = robots.shipped(name), np.random.default_rng(4)
    goals = [
        PoseTask(link, transform=robot.forward_kinematics(robots.random_q(robot, rng), link),
                 position_weights=(1, 2, 3), orientation_weights=0.5)
        for link in robot.tips()
    ]  # fmt: skip
    problem = IkProblem(robot, goals)
    _, x = problem.start(robots.random_q(robot, rng, margin=0.1))
    search = StandingSearch(problem, x)
    numeric = robots.central_differences(lambda x: np.array([problem.at(x).cost]), x)[0]
    np.testing.assert_allclose(2.0 * search.record['gradient'], numeric, atol=1e-6)


@pytest.mark.parametrize(
    ('alpha', 'beta', 'wrong'),
    [
        (1.0, 0.5, 'alpha'),
        (-0.1, 0.5, 'alpha'),
        (1.1, 0.5, 'alpha'),
        (0.1, 1.0, 'beta'),
        (0.1, 1.5, 'beta'),
        (0.5, 0.499, 'beta'),
        (1e-4, 0.0, 'beta'),
        (0.0, 0.0, 'beta'),
    ],
)
def test_alpha_is_from_0_to_below_1_and_beta_above_0_and_from_alpha_to_below_1(alpha, beta, wrong):
    with pytest.raises(ik.InvalidOption, match=f'^{wrong} = '):
        LineSearchOptions(alpha=alpha, beta=beta)


@pytest.mark.parametrize(('alpha', 'beta'), [(0.5, 0.5), (1e-12, 1e-12), (0.9, 0.99), (0.0, 0.5)])
def test_all_that_equations_32_to_34_allow_is_allowed(alpha, beta):
    options = LineSearchOptions(alpha=alpha, beta=beta)
    assert (options.alpha, options.beta) == (alpha, beta)
