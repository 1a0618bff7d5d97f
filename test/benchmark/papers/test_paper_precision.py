# SPDX-License-Identifier: Apache-2.0
"""Tests of the final errors on a goal out of reach, beside the source's table."""

import pytest

from benchmark.papers import precision
from benchmark.papers.arm_out_of_reach import cases
from ik_core.solvers import make_solver


def rows(seeds=(0,), **medians):
    """Rows of both thresholds, with these medians at the coarse one and 2 at the tight one."""
    named = {'JI, halved': 0.0, 'CCD': 0.0, 'BFGS': 0.0, **medians}
    made = [
        {
            'method': name,
            'solver': '',
            'threshold': t,
            'seed': seed,
            'median': m,
            'iterations': 9.0,
        }
        for seed in seeds
        for t, part in ((precision.COARSE, named), (precision.TIGHT, dict.fromkeys(named, 2.0)))
        for name, m in part.items()
    ]
    ours = {'method': 'default', 'solver': 'levenberg_marquardt', 'threshold': '', 'seed': 0}
    return [*made, {**ours, 'median': 2.0, 'iterations': 13.0}]


def test_number_of_the_table_holds_where_ours_is_within_a_tenth_of_it():
    claims = precision.claims(rows(**{'JI, halved': 5.5, 'CCD': 3.0, 'BFGS': 2.6}))
    verdicts = [claim.verdict for claim in claims]
    assert verdicts == ['yes', 'partly', 'no', 'partly', 'partly', 'no']
    assert claims[1].ours.endswith('holds at 0.03')
    assert claims[1].range == 'threshold 1e-06 to 0.03, seeds 0 to 9'


def test_order_is_that_of_the_medians():
    claim = precision.claims(rows(**{'JI, halved': 3.0, 'CCD': 4.0, 'BFGS': 2.0}))[4]
    assert claim.ours.startswith('BFGS 2.00, CCD 4.00, JI, halved 3.00 at')
    assert claim.verdict == 'no'


def test_order_in_some_seeds_alone_is_partly():
    good = rows(**{'JI, halved': 5.0, 'CCD': 4.0, 'BFGS': 3.0})
    bad = [
        {**row, 'seed': 1}
        for row in rows(**{'JI, halved': 3.0, 'CCD': 4.0, 'BFGS': 3.0})
        if row['threshold'] != ''
    ]
    claim = precision.claims([*good, *bad])[4]
    assert claim.verdict == 'partly'
    assert claim.ours.endswith('in 1 of 2 seeds at 0.03')


def test_an_end_is_the_last_point_and_the_nearest_one():
    [(problem, q0)] = cases(1)
    pure = make_solver('pseudoinverse', preset='buss_pure', record_history=True)
    last, nearest, iterations = precision.end(problem, q0, pure)
    history = pure.solve(problem, q0).history
    assert last == pytest.approx(10.0 * history[-1] ** 0.5)
    assert nearest == pytest.approx(10.0 * min(history) ** 0.5)
    assert nearest < last
    assert iterations == len(history)


def test_a_coarser_threshold_ends_earlier():
    coarse, tight = (
        precision.row_of(
            'CCD',
            'cyclic_coordinate_descent',
            threshold,
            make_solver(
                'cyclic_coordinate_descent', record_history=True, relative_change=threshold
            ),
            3,
        )
        for threshold in (precision.COARSE, precision.TIGHT)
    )
    assert coarse['iterations'] < tight['iterations']
    assert coarse['median'] > tight['median']
