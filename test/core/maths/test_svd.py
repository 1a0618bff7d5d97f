# SPDX-License-Identifier: Apache-2.0
"""Singular values by Jacobi rotations, against numpy's."""

import numpy as np
import pytest

from ik_core.kernels.jit import kernel
from ik_core.maths.svd import decompose, nth_largest

RNG = np.random.default_rng(31)
SHAPES = [(3, 7), (6, 6), (7, 3), (12, 16), (16, 5), (1, 1), (1, 4), (4, 1)]


@kernel
def enter(columns, basis, work, squares, in_order):
    decompose(columns, basis, work, squares)
    for place in range(squares.shape[0]):
        in_order[place] = nth_largest(squares, squares.shape[0], place)


def decomposed(jacobian, basis=None):
    """(U, rows s_i v_i, s^2, s^2 in falling order), from a basis (m, m) of rows, by default I."""
    m, n = jacobian.shape
    basis = np.eye(m) if basis is None else basis.copy()
    work, squares, in_order = np.full((m, n), np.nan), np.full(m, np.nan), np.full(m, np.nan)
    enter(np.ascontiguousarray(jacobian.T), basis, work, squares, in_order)
    return basis.T, work, squares, in_order


def assert_decomposed(jacobian, basis=None, size=1.0):
    """U is orthonormal, J = U (S V'), with rows at right angles, and the values are numpy's."""
    u, work, squares, in_order = decomposed(jacobian, basis)
    m = len(jacobian)
    np.testing.assert_allclose(u.T @ u, np.eye(m), atol=1e-13)
    np.testing.assert_allclose(u @ work, jacobian, atol=1e-13 * size, rtol=1e-12)
    found = np.zeros(m)
    expected = np.linalg.svd(jacobian, compute_uv=False)
    found[: len(expected)] = expected
    np.testing.assert_allclose(np.sqrt(in_order), found, rtol=1e-12, atol=1e-13 * size)
    np.testing.assert_array_equal(np.sort(squares)[::-1], in_order)
    lengths = np.linalg.norm(work / size, axis=1)
    np.testing.assert_allclose(np.sqrt(squares) / size, lengths, atol=1e-7, rtol=1e-12)
    kept = work[lengths > 1e-10] / size
    kept /= np.linalg.norm(kept, axis=1)[:, np.newaxis]
    np.testing.assert_allclose(kept @ kept.T, np.eye(len(kept)), atol=1e-12)


@pytest.mark.parametrize(('m', 'n'), SHAPES)
def test_any_shape(m, n):
    for _ in range(5):
        assert_decomposed(RNG.normal(size=(m, n)))


@pytest.mark.parametrize(('m', 'n'), SHAPES)
@pytest.mark.parametrize('rank', [0, 1, 2])
def test_lost_ranks(m, n, rank):
    for _ in range(3):
        assert_decomposed(RNG.normal(size=(m, rank)) @ RNG.normal(size=(rank, n)))


@pytest.mark.parametrize('size', [1e-150, 1e-40, 1e40, 1e150])
@pytest.mark.parametrize(('m', 'n'), SHAPES)
def test_any_size(m, n, size):
    assert_decomposed(size * RNG.normal(size=(m, n)), size=size)


def test_values_that_are_the_same_or_nothing():
    assert_decomposed(np.eye(4))
    assert_decomposed(np.diag([2.0, 2.0, 0.0]))
    assert_decomposed(np.zeros((3, 5)))
    assert_decomposed(np.array([[1.0, 2.0], [1.0, 2.0]]))


def test_small_values_come_out_as_exactly_as_large_ones():
    """The rows differ in size, so the squares in JJ' would lose the small values."""
    turn = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
    values = np.array([1.0, 1e-4, 1e-9, 1e-13])
    _, _, _, squares = decomposed(values[:, np.newaxis] * turn)
    np.testing.assert_allclose(np.sqrt(squares), values, rtol=1e-12)


@pytest.mark.parametrize(('m', 'n'), SHAPES)
def test_the_last_basis_is_a_place_to_begin(m, n):
    """The basis of a similar matrix, of another one, and of one that has lost its rank since."""
    jacobian = RNG.normal(size=(m, n))
    basis = decomposed(jacobian)[0].T
    for other in (
        jacobian + 1e-3 * RNG.normal(size=(m, n)),
        RNG.normal(size=(m, n)),
        np.outer(RNG.normal(size=m), RNG.normal(size=n)),
    ):
        assert_decomposed(other, basis)


def test_a_basis_stays_orthonormal_over_thousands_of_matrices():
    jacobian, basis = RNG.normal(size=(6, 7)), np.eye(6)
    for _ in range(5000):
        jacobian += 0.02 * RNG.normal(size=(6, 7))
        basis = decomposed(jacobian, basis)[0].T
    np.testing.assert_allclose(basis @ basis.T, np.eye(6), atol=1e-11)
    np.testing.assert_allclose(
        np.sqrt(decomposed(jacobian, basis)[3]), np.linalg.svd(jacobian, compute_uv=False),
        rtol=1e-10,
    )  # fmt: skip
