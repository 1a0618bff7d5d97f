# SPDX-License-Identifier: Apache-2.0
"""Engell-Norregard's arm and goal, and what is said of curves of the objective."""

import argparse

import numpy as np
import pytest

import ik_core as ik
from benchmark.papers import convergence
from benchmark.papers.arm_out_of_reach import cases, goal_for, in_units
from benchmark.papers.convergence import ITERATIONS


def test_the_goal_is_25_units_away_and_can_be_approached_to_2():
    for problem, q0 in cases(8):
        tip = problem.robot.forward_kinematics(q0, 'tip')[:3, 3]
        goal = problem.goals[0].target[9:]
        assert np.linalg.norm(goal - tip) == pytest.approx(2.5)
        stretched = [np.arctan2(goal[1], goal[0]), 0.0, 0.0, 0.0, 0.0]
        nearest = problem.robot.forward_kinematics(stretched, 'tip')[:3, 3]
        assert np.linalg.norm(goal - nearest) == pytest.approx(0.2)
        assert np.linalg.norm(goal) == pytest.approx(0.2 + 2.5)


def test_there_is_no_goal_for_a_tip_near_the_root():
    assert goal_for(np.array([0.1, 0.0, 0.0]), 1.0) is None
    assert goal_for(np.array([0.0, 0.0, 1.0]), 1.0) is None


def test_a_cost_is_a_distance_in_units():
    assert in_units(0.04) == pytest.approx(2.0)


def test_a_curve_begins_at_the_start_and_ends_where_the_solver_does():
    [(problem, q0)] = cases(1)
    found = convergence.curve(problem, q0, 'levenberg_marquardt', None)
    assert found[0] == pytest.approx(25.0)
    assert found.shape == (ITERATIONS + 1,)
    result = ik.solve(problem, q0, restarts=0)
    assert found[-1] == pytest.approx(10.0 * result.position_errors[0])


def test_an_iteration_of_the_curve_is_that_of_the_solver():
    """Budgets of k iterations from the same start, another way to the same numbers."""
    [(problem, q0)] = cases(1)
    found = convergence.curve(problem, q0, 'cyclic_coordinate_descent', None)
    for k in (1, 2, 7):
        result = ik.solve(
            problem, q0, solver='cyclic_coordinate_descent', budget=ik.Budget(iterations=k)
        )
        assert found[k] == pytest.approx(10.0 * result.position_errors[0])


def test_rows_count_rises_and_what_is_close():
    curves = np.array([[25.0, 10.0, 11.0, 2.0], [25.0, 20.0, 15.0, 3.0]])
    row = convergence.row_of('CCD', 'cyclic_coordinate_descent', curves, 3)
    assert (row['risen'], row['close'], row['cases']) == (1, 1, 2)
    assert row['distance'] == 2.0
    assert row['median'] == 2.5
    before = convergence.row_of('CCD', 'cyclic_coordinate_descent', curves, 1)
    assert (before['risen'], before['close']) == (0, 0)


def test_iterations_until_half_of_the_cases_are_close():
    rows = [
        {'set': 'CCD', 'solver': 'x', 'iteration': k, 'close': close, 'cases': 4}
        for k, close in ((0, 0), (5, 1), (9, 2), (20, 4))
    ]
    assert convergence.iterations_until_close(rows, 'CCD') == 9
    assert convergence.iterations_until_close(rows[:2], 'CCD') == np.inf


def test_exact_coordinate_descent_never_rises_and_bfgs_neither():
    rows = list(convergence.rows(argparse.Namespace(count=5)))
    last = {r['set']: r for r in rows if r['iteration'] == ITERATIONS and r['set'] != 'ours'}
    assert last['CCD']['risen'] == last['BFGS']['risen'] == 0
    assert last['JI']['risen'] > 0
    verdicts = [claim.verdict for claim in convergence.claims(rows)]
    assert verdicts[:3] == ['no', 'no', 'yes']
