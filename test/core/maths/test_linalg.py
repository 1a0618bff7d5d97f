# SPDX-License-Identifier: Apache-2.0
"""Small linear algebra: the Cholesky kernel and damped steps against numpy's."""

import numpy as np
import pytest

from ik_core.kernels.jit import kernel
from ik_core.maths.linalg import (
    WELL_CONDITIONED,
    cholesky_solve,
    damped_solve,
    damped_step,
    is_above,
)

RNG = np.random.default_rng(30)
SHAPES = [(3, 7), (6, 6), (7, 3), (6, 16), (1, 1), (1, 4), (4, 1)]


def rank_deficient(m, n, rank):
    return RNG.normal(size=(m, rank)) @ RNG.normal(size=(rank, n))


@pytest.mark.parametrize('n', [1, 2, 3, 6, 12])
def test_cholesky_solves_the_leading_block_by_its_lower_triangle(n):
    root = RNG.normal(size=(n, n))
    matrix = root @ root.T + 0.1 * np.eye(n)
    block = np.full((n + 2, n + 2), np.nan)
    block[:n, :n] = np.tril(matrix) + np.triu(np.full((n, n), np.nan), 1)
    b = RNG.normal(size=n + 2)
    expected = np.linalg.solve(matrix, b[:n])
    rest = b[n:].copy()
    assert cholesky_solve(block, b, n)
    np.testing.assert_allclose(b[:n], expected, rtol=1e-9)
    np.testing.assert_array_equal(b[n:], rest)


@pytest.mark.parametrize(
    'matrix', [[[0.0]], [[-1.0]], [[np.nan]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]
)
def test_cholesky_says_when_a_matrix_is_not_positive_definite(matrix):
    assert not cholesky_solve(np.array(matrix), np.ones(len(matrix)), len(matrix))


def test_cholesky_of_nothing():
    assert cholesky_solve(np.empty((2, 2)), np.empty(2), 0)


@pytest.mark.parametrize(('m', 'n'), SHAPES)
@pytest.mark.parametrize('damping', [1e-3, 0.1, 3.0])
def test_both_forms_of_the_damped_step_are_the_same(m, n, damping):
    jacobian, error = RNG.normal(size=(m, n)), RNG.normal(size=m)
    square = damping**2
    eq11 = jacobian.T @ np.linalg.inv(jacobian @ jacobian.T + square * np.eye(m)) @ error
    eq10 = np.linalg.inv(jacobian.T @ jacobian + square * np.eye(n)) @ jacobian.T @ error
    step = damped_step(jacobian, error, damping)
    np.testing.assert_allclose(step, eq10, atol=1e-9)
    np.testing.assert_allclose(step, eq11, atol=1e-9)


@pytest.mark.parametrize(('m', 'n'), SHAPES)
def test_the_damped_step_minimises_what_it_says(m, n):
    jacobian, error, damping = RNG.normal(size=(m, n)), RNG.normal(size=m), 0.3
    step = damped_step(jacobian, error, damping)

    def value(dq):
        return np.sum((jacobian @ dq - error) ** 2) + damping**2 * np.sum(dq**2)

    for _ in range(20):
        assert value(step) < value(step + 1e-3 * RNG.normal(size=n))


@pytest.mark.parametrize(('m', 'n'), SHAPES)
def test_as_damping_goes_to_zero_the_step_goes_to_the_pseudoinverses(m, n):
    jacobian, error = RNG.normal(size=(m, n)), RNG.normal(size=m)
    expected = np.linalg.pinv(jacobian) @ error
    distances = [
        np.linalg.norm(damped_step(jacobian, error, d) - expected) for d in (1e-1, 1e-2, 1e-3, 0.0)
    ]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-9
    # quadratically: the damping acts by its square
    assert distances[2] < 0.02 * distances[1] + 1e-9


@pytest.mark.parametrize(('m', 'n', 'rank'), [(6, 7, 4), (6, 6, 5), (7, 3, 2), (6, 16, 1)])
@pytest.mark.parametrize('damping', [0.0, 1e-12, 1e-10, 1e-8])
def test_without_damping_a_singular_jacobian_gives_the_shortest_step(m, n, rank, damping):
    for _ in range(10):
        jacobian, error = rank_deficient(m, n, rank), RNG.normal(size=m)
        expected = np.linalg.pinv(jacobian, rcond=1e-10) @ error
        step = damped_step(jacobian, error, damping)
        np.testing.assert_allclose(step, expected, rtol=0, atol=1e-5 * np.linalg.norm(expected))


def test_a_zero_jacobian_gives_no_step():
    for damping in (0.0, 0.1):
        assert damped_step(np.zeros((3, 4)), np.ones(3), damping).tolist() == [0.0] * 4


# --- the kernels of damped steps ---------------------------------------------------------------


@kernel
def enter_damped_solve(columns, error, square, wary, normal, rhs, dx):
    return damped_solve(columns, error, square, wary, normal, rhs, dx)


@kernel
def enter_is_above(columns, threshold, normal, rhs):
    return is_above(columns, threshold, normal, rhs)


def scratch(m, n):
    size = max(m, n)
    return np.full((size, size), np.nan), np.full(size, np.nan)


def solved(jacobian, error, square, wary=False):
    """The step of `damped_solve`; None where it found none."""
    m, n = jacobian.shape
    dx = np.full(n, np.nan)
    columns = np.ascontiguousarray(jacobian.T)
    found = enter_damped_solve(columns, error, square, wary, *scratch(m, n), dx)
    return dx if found else None


def all_above(jacobian, threshold):
    columns = np.ascontiguousarray(jacobian.T)
    return enter_is_above(columns, threshold, *scratch(*jacobian.shape))


@pytest.mark.parametrize(('m', 'n'), SHAPES)
@pytest.mark.parametrize('damping', [0.0, 0.05, 3.0])
@pytest.mark.parametrize('wary', [False, True])
def test_a_damped_solve_minimises_the_damped_squares(m, n, damping, wary):
    jacobian, error = RNG.normal(size=(m, n)), RNG.normal(size=m)
    stacked = np.vstack([jacobian, damping * np.eye(n)])
    expected = np.linalg.lstsq(stacked, np.append(error, np.zeros(n)), rcond=None)[0]
    found = solved(jacobian, error, damping**2, wary)
    if wary and damping == 0.0:
        assert found is None
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(('m', 'n'), [(3, 7), (6, 6), (7, 3)])
def test_the_wary_damp_enough_for_any_matrix_or_leave_it(m, n):
    jacobian, error = rank_deficient(m, n, 2), RNG.normal(size=m)
    least = WELL_CONDITIONED * (jacobian**2).sum()
    assert solved(jacobian, error, 0.99 * least, wary=True) is None
    found = solved(jacobian, error, 1.01 * least, wary=True)
    stacked = np.vstack([jacobian, np.sqrt(1.01 * least) * np.eye(n)])
    expected = np.linalg.lstsq(stacked, np.append(error, np.zeros(n)), rcond=None)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_without_damping_a_matrix_that_lost_its_rank_is_refused():
    zero = np.zeros((2, 3))
    assert solved(zero, np.ones(2), 0.0) is None
    assert solved(zero.T, np.ones(3), 0.0) is None
    assert solved(np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones(2), 0.0) is None


@pytest.mark.parametrize(('m', 'n'), [(3, 7), (6, 6), (6, 16), (1, 1), (1, 4)])
def test_whether_all_singular_values_are_above_a_threshold(m, n):
    for _ in range(5):
        jacobian = RNG.normal(size=(m, n))
        smallest = np.linalg.svd(jacobian, compute_uv=False)[-1]
        for threshold in (0.01 * np.linalg.norm(jacobian), 0.1, 1.0):  # seen in JJ'
            scaled = jacobian * threshold / smallest
            if threshold**2 > 2e-6 * (scaled**2).sum():
                assert all_above(scaled * 1.0001, threshold)
                assert not all_above(scaled * 0.9999, threshold)


def test_what_squares_can_not_see_is_not_above():
    assert not all_above(np.diag([1.0, 0.5]), 1e-4)  # though it is
    assert all_above(np.diag([1.0, 0.5]), 0.4)
    assert not all_above(np.ones((3, 2)) + np.eye(3, 2), 0.1)  # a row more than columns: 0
    assert not all_above(np.zeros((2, 3)), 0.1)
