# SPDX-License-Identifier: Apache-2.0
"""Chains of the source and longer ones, and what is said of growth and of trends."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmark import problems
from benchmark.papers import scaling_papers as scaling
from ik_core.solvers import make_solver


@pytest.mark.parametrize('n', scaling.FIVE)
def test_a_chain_of_the_figure_has_its_joints_and_length(n):
    problem = scaling.problem_of('chains5', n)
    assert len(problem.variables) == n
    base = problem.robot.forward_kinematics(np.zeros(16), 'shared_bone')[:3, 3]
    fan = np.radians([-60.0, -30.0, 0.0, 30.0, 60.0][n - 2])  # as chains5.urdf says
    expected = base + [0.5, 0.0, 0.0] + 0.5 * (n - 1) * np.array([np.cos(fan), np.sin(fan), 0.0])
    np.testing.assert_allclose(scaling.stretched(problem), expected, atol=1e-9)


def test_a_long_chain_moves_all_its_joints():
    problem = scaling.problem_of('chain', 40)
    assert len(problem.variables) == 40
    assert np.linalg.norm(scaling.stretched(problem)) == pytest.approx(1.0)


def test_solves_are_those_of_the_solver():
    problem, method = scaling.problem_of('chains5', 6), make_solver(restarts=0)
    found = scaling.solves_of(method, problem, 20)
    assert set(found[:, 0]) <= {0.0, 1.0}
    assert found[:, 0].sum() >= 10
    assert (found[:, 1] >= 1).all()
    assert (found[:, 2] > 0.0).all()


def test_means_are_over_the_goals_that_all_methods_reach(monkeypatch):
    parts = iter(
        np.array([[reached, count, 1e-3 * count] for reached, count in rows])
        for rows in (
            [(1, 4), (1, 8), (0, 5000)],
            [(1, 2), (0, 9), (1, 3)],
            [(1, 6), (1, 6), (1, 6)],
            [(1, 1), (1, 1), (1, 1)],
        )
    )
    monkeypatch.setattr(scaling, 'solves_of', lambda *arguments: next(parts))
    monkeypatch.setattr(scaling, 'time_per_iteration', lambda *arguments: 2e-6)
    rows = scaling.rows_of('chains5', 3, 3)
    assert [row['iterations'] for row in rows] == [4.0, 2.0, 6.0, 1.0]
    assert rows[0]['ms'] == pytest.approx(4.0)
    assert rows[0]['reached_percent'] == pytest.approx(200.0 / 3.0)
    assert {row['reached_by_all'] for row in rows} == {1}


def made_rows(**powers):
    """Rows of chains whose iterations take n^power us, and n times as many as joints."""
    return [
        {
            'figure': figure,
            'joints': n,
            'method': name,
            'us_per_iteration': float(n) ** powers.get(name, 1.0),
            'iterations': float(n if name == 'BFGS' else 40 - n),
            'ms': 1.0 + len(name),
            'reached_by_all': 9,
        }
        for figure, sizes in (('chains5', scaling.FIVE), ('chain', scaling.LONGER))
        for n in sizes
        for name in scaling.METHODS
    ]


def test_claims_of_growth_are_about_exponents():
    verdicts = [c.verdict for c in scaling.claims(made_rows(JI=2.1, BFGS=1.5, CCD=1.0))]
    assert verdicts[:3] == ['yes', 'no', 'yes']


def test_claims_of_trends_follow_the_exponent_of_two_to_six_joints():
    claims = scaling.claims(made_rows())
    assert [c.verdict for c in claims[4:7]] == ['no', 'yes', 'yes']
    assert claims[4].ours.startswith('38, 37, 36, 35, 34 at 2 to 6 joints: exponent -0.1')


def test_growth_is_judged_at_few_joints_and_at_many():
    rows = [
        {**r, 'us_per_iteration': r['joints'] if r['figure'] == 'chains5' else r['joints'] ** 2}
        for r in made_rows()
    ]
    assert [c.verdict for c in scaling.claims(rows)[:3]] == ['partly', 'partly', 'partly']


def test_order_is_judged_at_each_number_of_joints():
    rows = made_rows()
    for row in rows:
        row['iterations'] = {'JI': 3.0, 'CCD': 2.0}.get(row['method'], 1.0)
    assert [scaling.claims(rows)[i].verdict for i in (3, 7)] == ['no', 'no']
    for row in rows:
        if row['joints'] in (2, 3):
            row['iterations'] = row['ms'] = {'JI': 1.0, 'BFGS': 2.0}.get(row['method'], 3.0)
    claims = scaling.claims(rows)
    assert [claims[i].verdict for i in (3, 7)] == ['partly', 'partly']
    assert claims[3].ours.endswith('holds at 2 to 3')


def test_time_of_an_iteration_is_over_those_that_are_made(monkeypatch):
    """An iteration takes 0.2 s, the end of a search 5 s more."""
    search = SimpleNamespace(end=20)

    def solve(problem, q0, budget):
        return SimpleNamespace(iterations=min(budget.iterations, search.end))

    def timed(method, problem, q0, budget, repeats):
        made = solve(problem, q0, budget).iterations
        return None, 1.0 + 0.2 * made + 5.0 * (budget.iterations >= search.end)

    monkeypatch.setattr(problems, 'timed', timed)
    method = SimpleNamespace(solve=solve)
    for search.end in (20, 13, 12, 7, 3):
        assert problems.per_iteration(method, None, None) == pytest.approx(0.2)
    for search.end in (2, 1):
        assert np.isnan(problems.per_iteration(method, None, None))


def test_goals_that_no_method_shares_leave_cells_empty_and_claims_that_say_so(
    monkeypatch, recwarn
):
    missed = np.array([[0.0, 9.0, 1e-3], [0.0, 9.0, 1e-3]])
    monkeypatch.setattr(scaling, 'solves_of', lambda *arguments: missed)
    monkeypatch.setattr(scaling, 'time_per_iteration', lambda *arguments: 2e-6)
    few = scaling.rows_of('chains5', 3, 2)
    assert all(row['iterations'] == row['ms'] == '' for row in few)
    rows = [r for r in made_rows() if (r['figure'], r['joints']) != ('chains5', 3)] + few
    claims = scaling.claims(rows)
    assert [c.ours for c in claims][3:] == [
        'no goal that all methods reach: take a larger --count'
    ]
    assert claims[3].verdict == 'none'
    assert len(recwarn) == 0
