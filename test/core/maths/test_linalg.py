"""Small linear algebra: the Cholesky kernel and the damped step against numpy's."""

import numpy as np
import pytest

from ik_core.maths.linalg import cholesky_solve, damped_step

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
