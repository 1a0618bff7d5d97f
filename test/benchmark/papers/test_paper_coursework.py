# SPDX-License-Identifier: Apache-2.0
"""Tests of the coursework's experiments: orders of methods of integration, exact derivatives."""

import numpy as np
import pytest

from benchmark.papers import coursework
from benchmark.papers.coursework import EACH, integrated, reversals


def decay(q):
    """dq/dt = -q, whose solution is known."""
    return -q


@pytest.mark.parametrize(('method', 'order'), [('Euler', 1), ('Verlet', 2), ('RK4', 4)])
def test_methods_of_integration_have_their_order(method, order):
    ends = []
    for step in (0.1, 0.05):
        path = integrated(decay, np.array([1.0, -2.0]), method, step, 1.0)
        ends.append(np.abs(path[-1] - np.exp(-1.0) * np.array([1.0, -2.0])).max())
    assert ends[0] > 0.0
    assert np.log2(ends[0] / ends[1]) == pytest.approx(order, abs=0.35)


def test_evaluations_are_counted_as_they_are_made():
    for method, each in EACH.items():
        calls = []
        integrated(lambda q, calls=calls: (calls.append(1), -q)[1], np.ones(2), method, 0.1, 1.0)
        assert len(calls) == pytest.approx(10 * each, abs=each)


def test_reversals_are_steps_in_which_joints_go_back():
    there = np.array([[0.0, 0.0], [0.1, 0.1], [0.2, 0.2], [0.3, 0.3]])
    assert reversals(there) == 0
    there[2:] = [[0.0, 0.0], [0.1, 0.1]]  # back and there again
    assert reversals(there) == 2


def test_the_row_of_central_differences_has_its_best_step_between_truncation_and_rounding():
    rows = [row for row in coursework.derivative_rows(5) if row['method'] == coursework.CENTRAL]
    errors = {row['step']: row['error'] for row in rows}
    assert errors[1e-5] < 1e-3 * errors[1.0]
    assert errors[1e-5] < 1e-3 * errors[1e-12]
