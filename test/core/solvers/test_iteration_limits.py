# SPDX-License-Identifier: Apache-2.0
"""The iterations that a result reports are those that the options and budgets allow."""

import numpy as np
import pytest
from support import robots

import ik_core as ik

every_solver = pytest.mark.parametrize('solver', ik.SOLVERS)
# Of their attempts, as they say; the second hands over to the first, out of reach
FOLLOWING_THE_BEST = ('levenberg_marquardt', 'closed_form')
ARM = robots.shipped('arm5')
START = ARM.middle_configuration + 0.1


def hard_problem(secondary=()):
    """A pose that an arm of five joints does not reach."""
    goal = ik.PoseTask(robots.tip_of(ARM), [0.1, 0.2, 0.3], rpy=[1.0, 2.0, 0.3])
    return ik.IkProblem(ARM, [goal], secondary=secondary)


@every_solver
@pytest.mark.parametrize('limit', [1, 3])
def test_one_attempt_takes_as_many_iterations_as_it_may(solver, limit):
    options = {'max_iterations': limit, 'restarts': 0, 'record_history': True}
    result = ik.solve(hard_problem(), START, solver=solver, **options)
    assert result.status is ik.IkStatus.ITERATION_LIMIT
    assert result.iterations == len(result.history) == limit


@every_solver
def test_so_does_every_restart(solver):
    result = ik.solve(hard_problem(), START, solver=solver, max_iterations=3, restarts=2)
    assert result.restarts == 2
    again = 2 if solver in FOLLOWING_THE_BEST else 1
    assert result.iterations == 3 * 3 * again


@every_solver
@pytest.mark.parametrize('limit', [1, 5])
@pytest.mark.parametrize('secondary', [(), (ik.PostureTask(np.zeros(ARM.n)),)], ids=['', 'more'])
def test_a_budget_bounds_all_of_it(solver, limit, secondary):
    budget = ik.Budget(iterations=limit)
    options = {'max_iterations': 2, 'restarts': 9}
    solver = ik.make_solver(solver, **options)
    result = solver.solve(hard_problem(secondary), START, budget)
    assert result.iterations == limit


@every_solver
def test_the_same_holds_in_batches(solver):
    problem = hard_problem()
    place = problem.goals[0].transform
    options = {'solver': solver, 'max_iterations': 3, 'restarts': 0}
    batch = ik.solve_batch(problem, [place, place], START, **options)
    assert batch.iterations.tolist() == [3, 3]
