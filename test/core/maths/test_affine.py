# SPDX-License-Identifier: Apache-2.0
"""Affine forms: every value of a formula is among those of its form."""

from __future__ import annotations

import numpy as np
import pytest

from ik_core.maths.affine import Affine, dot, stacked
from ik_core.maths.rotations import Array

SYMBOLS, SAMPLES, COUNT = 3, 500, 40
ROUNDING = 1e-13


def forms(rng: np.random.Generator, low: float, high: float, width: float) -> Affine:
    """Vectors (3, COUNT) about random centres."""
    centre = low + rng.random((3, COUNT)) * (high - low)
    terms = width * rng.uniform(-1.0, 1.0, (SYMBOLS, 3, COUNT))
    return Affine(centre, terms, width * rng.random((3, COUNT)))


def value_of(form: Affine, symbols: Array, rng: np.random.Generator) -> Array:
    """One of the values of a form where the shared unknowns are symbols (SYMBOLS,)."""
    own = rng.choice([-1.0, -0.3, 0.6, 1.0], form.rest.shape)
    value: Array = form.centre + np.tensordot(symbols, form.terms, 1) + form.rest * own
    return value


def check(form: Affine, value: Array, symbols: Array) -> None:
    """Check that a value is possible with these symbols."""
    along = form.centre + np.tensordot(symbols, form.terms, 1)
    assert (abs(value - along) <= form.rest + ROUNDING).all()
    assert (form.low - ROUNDING <= value).all()
    assert (value <= form.high + ROUNDING).all()
    assert (abs(value) <= form.reach + ROUNDING).all()


@pytest.mark.parametrize('width', [1e-3, 0.05, 0.3])
def test_values_of_formulas_are_among_those_of_their_forms(width: float) -> None:
    rng = np.random.default_rng(0)
    a, b = forms(rng, -2.0, 2.0, width), forms(rng, 1.5, 3.0, width)
    matrix = rng.normal(size=(3, 3))
    product, turned = a * b - b, matrix @ a + a
    root, inverse, length = b.root(), b.inverse(), dot(a, b)
    square = (a * a).root()  # of what may be 0
    both = stacked([a[:1], b[1:]])
    for _ in range(SAMPLES):
        symbols = rng.choice([-1.0, 0.2, 1.0], SYMBOLS)
        x, y = value_of(a, symbols, rng), value_of(b, symbols, rng)
        check(product, x * y - y, symbols)
        check(turned, matrix @ x + x, symbols)
        check(root, np.sqrt(y), symbols)
        check(inverse, 1.0 / y, symbols)
        check(length, (x * y).sum(axis=0, keepdims=True), symbols)
        check(square, abs(x), symbols)
        check(both, np.concatenate([x[:1], y[1:]]), symbols)


def test_what_depends_on_shared_unknowns_cancels() -> None:
    rng = np.random.default_rng(1)
    form = forms(rng, -1.0, 1.0, 0.2)
    form = Affine(form.centre, form.terms, np.zeros_like(form.rest))
    np.testing.assert_array_equal((form - form).reach, 0.0)
    assert (form.radius > 0.0).all()


def test_errors_of_formulas_fall_with_the_square_of_the_width() -> None:
    rng = np.random.default_rng(2)
    form = forms(rng, 1.0, 2.0, 0.1)
    rests = []
    for width in (1.0, 0.1):
        narrow = Affine(form.centre, width * form.terms, 0.0 * form.rest)
        rests.append(
            [one.rest.max() for one in (narrow * narrow, narrow.root(), narrow.inverse())]
        )
    assert (np.array(rests[1]) < 0.015 * np.array(rests[0])).all()


def test_bounds_of_a_form_are_taken_where_they_are_closer() -> None:
    one = Affine(np.array([0.0, 0.0]), np.array([[0.5, 0.5]]), np.array([0.5, 0.5]))
    within = one.within(np.array([0.1, -1.0]), np.array([0.2, 1.0]))
    np.testing.assert_allclose(within.low, [0.1, -1.0])
    np.testing.assert_allclose(within.high, [0.2, 1.0])
    np.testing.assert_array_equal(within.terms, [[0.0, 0.5]])
    bounded = one.within_one(np.array([True, False]))
    np.testing.assert_array_equal(bounded.high, 1.0)
