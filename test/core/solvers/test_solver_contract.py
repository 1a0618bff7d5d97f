# SPDX-License-Identifier: Apache-2.0
"""Promises of every solver: one test for each solver and case names the checks that failed.

Errors are judged by `Robot.forward_kinematics` and scipy's rotations, closest points against
scipy's bounded least squares from many starts. Budgets, seeds, history and reuse are in
test_solver_search_contract.py.
"""

import numpy as np
import pytest
from support.oracles import best_known_cost, independent_cost, independent_errors
from support.solver_cases import CASES, reachable, solved

import ik_core as ik
from ik_core import Budget, IkStatus, make_solver
from ik_core.optim.search import is_stationary


def check_all(checks, *subject):
    """Call every check with the subject; raise one AssertionError that names what failed.

    checks: functions that raise an AssertionError, and whose names say what they check.
    """
    failures = {}
    for check in checks:
        try:
            check(*subject)
        except Exception as failure:
            name = check.__name__.replace('_', ' ')
            failures[name] = f'{type(failure).__name__}: {failure}'
    if failures:
        reasons = (f'{name}\n  {reason}' for name, reason in failures.items())
        raise AssertionError(f'{len(failures)} of {len(checks)} failed:\n' + '\n'.join(reasons))


# --- the checks: of a solver by its name, a case, and what the solver made of it ----------------

CLOSEST = IkStatus.CLOSEST, IkStatus.TOO_FEW_JOINTS


def moved_joints_are_inside_the_limits_and_the_others_where_they_were(solver, case, result):
    problem, moved = case.problem, case.problem.variables
    assert np.isfinite(result.q).all()
    assert (result.q[moved] >= problem.limits.lower).all()
    assert (result.q[moved] <= problem.limits.upper).all()
    others = np.setdiff1d(np.arange(problem.robot.n), moved)
    np.testing.assert_array_equal(result.q[others], case.q0[others])


def reported_errors_and_cost_are_those_of_the_returned_configuration(solver, case, result):
    expected = independent_errors(case.problem, result.q)
    position = [np.linalg.norm(shift) for shift, *_ in expected]
    orientation = [np.linalg.norm(turn) for _, turn, *_ in expected]
    # nearly equal axes and matrices have lost half their digits in scipy's way
    np.testing.assert_allclose(result.position_errors, position, atol=1e-9)
    np.testing.assert_allclose(result.orientation_errors, orientation, atol=2e-8)
    cost = independent_cost(case.problem, result.q)
    assert result.cost == pytest.approx(cost, rel=1e-6, abs=1e-12)


def success_means_within_tolerance_and_nothing_else_does(solver, case, result):
    problem = case.problem
    within = (result.position_errors <= problem.position_tolerance).all() and (
        result.orientation_errors <= problem.orientation_tolerance
    ).all()
    assert result.success == within == (result.status is IkStatus.REACHED)
    if not case.reachable:
        assert not result.success


def never_worse_than_the_start_in_the_limits(solver, case, result):
    _, x0 = case.problem.start(case.q0)
    assert result.success or result.cost <= case.problem.at(x0).cost


def the_same_again_bit_by_bit(solver, case, result):
    again = make_solver(solver)
    again.solve(reachable('iiwa14').problem)  # whatever it did before has no say
    assert_same_result(again.solve(case.problem, case.q0), result)
    assert_same_result(again.solve(case.problem, case.q0), result)


def the_start_is_left_alone(solver, case, result):
    q0 = case.q0.copy()
    q0.flags.writeable = False
    other = make_solver(solver, max_iterations=5).solve(case.problem, q0)
    np.testing.assert_array_equal(q0, case.q0)
    assert other.q is not q0


def a_closest_point_has_no_descent_left(solver, case, result):
    if result.status not in CLOSEST:
        return
    at = case.problem.evaluate(result.q)
    assert is_stationary(case.problem, at)
    rng = np.random.default_rng(1)
    for size in (1e-4, 1e-3, 1e-2):  # nothing near is better, inside the limits
        for _ in range(60):
            x = case.problem.limits.project(at.x + size * rng.normal(size=len(at.x)))
            assert case.problem.at(x).cost >= at.cost * (1 - 1e-9)


def all_that_can_be_reached_is_reached(solver, case, result):
    assert result.success == case.reachable, result.message


def the_closest_point_is_the_best_that_scipy_finds(solver, case, result):
    assert result.status in CLOSEST, result.message
    assert result.cost <= best_known_cost(case.problem, case.q0) * (1 + 1e-6)


def with_restarts_it_reaches_what_can_be_reached(solver, case, result):
    patient = make_solver(solver, restarts=20).solve(case.problem, case.q0)
    assert patient.success == case.reachable, patient.message


def in_pieces_it_comes_to_exactly_the_same(solver, case, result):
    options = {'restarts': 5, 'random_seed': 3, 'max_iterations': 100}
    whole = make_solver(solver, **options).solve(case.problem, case.q0)
    for piece in (1, 3, 7):
        search = make_solver(solver, **options).begin(case.problem, case.q0)
        pieces = 0
        while not search.run(Budget(iterations=piece)):
            pieces += 1
            assert search.result().iterations == pieces * piece
        assert_same_result(search.result(), whole)


def a_budget_of_iterations_is_kept_and_the_best_so_far_never_gets_worse(solver, case, result):
    _, x0 = case.problem.start(case.q0)
    last = case.problem.at(x0).cost
    for iterations in [0, 1, 2, 3, 5, 8, 30, 100]:
        budget = Budget(iterations=iterations)
        cut = make_solver(solver, restarts=20).solve(case.problem, case.q0, budget)
        assert cut.iterations <= iterations
        if cut.iterations == iterations and not cut.success and iterations < 100:
            assert cut.status in (IkStatus.ITERATION_LIMIT, *CLOSEST)
        assert cut.cost <= last * (1 + 1e-12)
        cost = independent_cost(case.problem, cut.q)
        assert cut.cost == pytest.approx(cost, rel=1e-6, abs=1e-12)
        last = cut.cost


def assert_same_result(one, other):
    """The same to the last bit."""
    np.testing.assert_array_equal(one.q, other.q)
    for name in ('cost', 'status', 'iterations', 'evaluations', 'restarts'):
        assert getattr(one, name) == getattr(other, name), name


# --- which of them hold where -----------------------------------------------------------------

ALWAYS = [
    moved_joints_are_inside_the_limits_and_the_others_where_they_were,
    reported_errors_and_cost_are_those_of_the_returned_configuration,
    success_means_within_tolerance_and_nothing_else_does,
    never_worse_than_the_start_in_the_limits,
    the_same_again_bit_by_bit,
    the_start_is_left_alone,
]
OF_ONE_SOLVER = {
    'levenberg_marquardt': [all_that_can_be_reached_is_reached],
    'damped_least_squares': [with_restarts_it_reaches_what_can_be_reached],
}
OF_SOME_CASES = {
    in_pieces_it_comes_to_exactly_the_same: (
        'panda', 'ur5e out of reach', 'two arms', 'behind a limit',
    ),
    a_budget_of_iterations_is_kept_and_the_best_so_far_never_gets_worse: (
        'panda', 'panda out of reach', 'Y, one out of reach',
    ),
}  # fmt: skip


def checks_of(solver, name, case):
    """Return all checks that a solver has to pass on a case."""
    checks = ALWAYS + OF_ONE_SOLVER.get(solver, [])
    checks += [check for check, names in OF_SOME_CASES.items() if name in names]
    if not case.reachable:
        checks.append(a_closest_point_has_no_descent_left)
        if solver == 'levenberg_marquardt':
            checks.append(the_closest_point_is_the_best_that_scipy_finds)
    return checks


@pytest.mark.parametrize('solver', list(ik.SOLVERS))
@pytest.mark.parametrize('name', CASES)
def test_a_solver_keeps_the_contract(solver, name):
    case, result = solved(solver, name)
    check_all(checks_of(solver, name, case), solver, case, result)


def test_a_failure_names_every_check_that_failed():
    def sound(subject):
        assert subject == 1

    def wrong_sum(subject):
        assert subject == 2, 'not two'

    def broken(subject):
        raise KeyError('lost')

    check_all([sound], 1)
    with pytest.raises(AssertionError) as failure:
        check_all([wrong_sum, sound, broken], 1)
    text = str(failure.value)
    assert text.startswith('2 of 3 failed')
    assert 'wrong sum\n  AssertionError: not two' in text
    assert "broken\n  KeyError: 'lost'" in text
    assert 'sound' not in text
