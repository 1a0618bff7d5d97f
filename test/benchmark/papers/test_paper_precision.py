"""Where methods end on a goal out of reach, and the source's table beside it."""

import pytest

from benchmark.papers import precision
from benchmark.papers.arm_out_of_reach import cases
from ik_core.solvers import make_solver


def rows(**medians):
    """Rows of both thresholds, with these medians at the coarse one and 2 at the tight one."""
    named = {'JI, halved': 0.0, 'CCD': 0.0, 'BFGS': 0.0, **medians}
    made = [
        {'method': name, 'solver': '', 'threshold': t, 'median': m, 'iterations': 9.0}
        for t, part in ((precision.COARSE, named), (precision.TIGHT, dict.fromkeys(named, 2.0)))
        for name, m in part.items()
    ]
    ours = {'method': 'default', 'solver': 'levenberg_marquardt', 'threshold': ''}
    return [*made, {**ours, 'median': 2.0, 'iterations': 13.0}]


def test_a_number_of_the_table_holds_where_ours_is_within_a_tenth_of_it():
    holds = [
        claim.holds
        for claim in precision.claims(rows(**{'JI, halved': 5.5, 'CCD': 3.0, 'BFGS': 2.6}))
    ]
    assert holds == [True, True, False, True, True, False]


def test_the_order_is_that_of_the_medians():
    claims = precision.claims(rows(**{'JI, halved': 3.0, 'CCD': 4.0, 'BFGS': 2.0}))
    assert claims[4].ours.startswith('2.00 < 4.00 < 3.00')
    assert not claims[4].holds


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
