# SPDX-License-Identifier: Apache-2.0
"""Linear algebra that always answers: numpy's own answer, or a finite one where numpy raises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ik_core.maths import linalg, safe

FIXED = settings(max_examples=300)

NUMBERS = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 1e17, -1e17, 1e-17, 1e150, 1e-150, 1e300, 5e-324, 1e308]),
    st.floats(-1e3, 1e3),
)
ANY = st.one_of(NUMBERS, st.sampled_from([np.inf, -np.inf, np.nan]))


@st.composite
def systems(draw, numbers):
    """(A, b): square, of any rank; of products of few vectors, scaled to any size."""
    n = draw(st.integers(1, 6))
    if draw(st.booleans()):
        matrix = draw(arrays.arrays(float, (n, n), elements=numbers))
    else:
        root = draw(arrays.arrays(float, (n, draw(st.integers(1, n))), elements=st.floats(-2, 2)))
        with np.errstate(all='ignore'):
            matrix = draw(numbers) * (root @ root.T)
    return matrix, draw(arrays.arrays(float, n, elements=numbers))


@FIXED
@given(systems(ANY))
@np.errstate(all='ignore')
def test_every_answer_is_finite_whatever_the_numbers(system):
    matrix, rhs = system
    assert np.isfinite(safe.solve(matrix, rhs)).all()
    assert np.isfinite(safe.least_squares(matrix, rhs)).all()
    for part in (*safe.svd(matrix), safe.singular_values(matrix)):
        assert np.isfinite(part).all()
    for damping in (0.0, 1e-3):
        assert np.isfinite(linalg.damped_step(matrix, rhs, damping)).all()


@pytest.mark.parametrize('seed', range(20))
def test_where_numpy_answers_it_is_numpys_answer(seed):
    rng = np.random.default_rng(seed)
    root, rhs = rng.normal(size=(5, 5)), rng.normal(size=5)
    assert (safe.solve(root, rhs) == np.linalg.solve(root, rhs)).all()
    assert (safe.singular_values(root) == np.linalg.svd(root, compute_uv=False)).all()
    for own, numpys in zip(safe.svd(root), np.linalg.svd(root), strict=True):
        assert (own == numpys).all()


@pytest.mark.parametrize('size', [1e-200, 1e-17, 1.0, 1e17, 1e200])
def test_a_singular_system_gets_its_shortest_solution(size):
    v = np.array([3.0, 4.0, 0.0])
    matrix = size * np.outer(v, v)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.solve(matrix, size * v)
    np.testing.assert_allclose(safe.solve(matrix, size * v), v / 25.0, rtol=1e-12)
    across = np.array([-4.0, 3.0, 7.0])
    np.testing.assert_allclose(safe.solve(matrix, size * (v + across)), v / 25.0, atol=1e-12)
