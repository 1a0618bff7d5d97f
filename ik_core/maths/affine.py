# SPDX-License-Identifier: Apache-2.0
"""Bounds of formulas by affine forms [Stolfi1997], element by element over arrays.

A form is centre + sum_s terms[s] t_s + rest t, where every t is an unknown in -1..1. All forms
have the t_s in common, so dependent parts of a formula can cancel; each form has its own t for
`rest`. For any t_s, the value of a formula is among the values of its form. Rounding is not
bounded: the caller widens the inputs by more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rotations import Array


@dataclass(frozen=True, eq=False)
class Affine:
    """An array of forms: `centre` (...), `terms` (symbols, ...) and `rest` (...), at least 0."""

    centre: Array
    terms: Array
    rest: Array

    __array_ufunc__ = None  # makes array * form a form, not an array of forms

    def __getitem__(self, at: Any) -> Affine:
        return Affine(self.centre[at], self.terms[(slice(None), *_tuple(at))], self.rest[at])

    def __add__(self, other: Affine | Array) -> Affine:
        if not isinstance(other, Affine):
            return Affine(self.centre + other, self.terms, self.rest)
        return Affine(self.centre + other.centre, self.terms + other.terms, self.rest + other.rest)

    def __sub__(self, other: Affine | Array) -> Affine:
        return self + -other

    def __neg__(self) -> Affine:
        return Affine(-self.centre, -self.terms, self.rest)

    def __rmul__(self, factor: Array | float) -> Affine:
        return Affine(factor * self.centre, factor * self.terms, np.abs(factor) * self.rest)

    def __mul__(self, other: Affine) -> Affine:
        """The product of two forms; the product of their deviations is bounded by the radii."""
        x, y = self.centre, other.centre
        rest = self.radius * other.radius + abs(x) * other.rest + abs(y) * self.rest
        return Affine(x * y, x * other.terms + y * self.terms, rest)

    def __rmatmul__(self, matrix: Array) -> Affine:
        """The product of a constant matrix with vectors along the first axis."""
        return Affine(
            np.einsum('ij,j...->i...', matrix, self.centre),
            np.einsum('ij,sj...->si...', matrix, self.terms),
            np.einsum('ij,j...->i...', abs(matrix), self.rest),
        )

    @property
    def radius(self) -> Array:
        """The largest deviation from the centre."""
        radius: Array = abs(self.terms).sum(0) + self.rest
        return radius

    @property
    def high(self) -> Array:
        """The upper bound."""
        return self.centre + self.radius

    @property
    def low(self) -> Array:
        """The lower bound."""
        return self.centre - self.radius

    @property
    def reach(self) -> Array:
        """The largest absolute value."""
        return abs(self.centre) + self.radius

    def sum(self) -> Affine:
        """The sum along the first axis, which keeps length 1."""
        return Affine(
            self.centre.sum(0, keepdims=True),
            self.terms.sum(1, keepdims=True),
            self.rest.sum(0, keepdims=True),
        )

    def among(self, mask: NDArray[np.bool_]) -> Affine:
        """Forms selected by a mask of the last axis."""
        return Affine(self.centre[..., mask], self.terms[..., mask], self.rest[..., mask])

    def within(self, low: Array, high: Array) -> Affine:
        """Replace forms by the interval from low to high where that is narrower."""
        closer = high - low < self.radius
        return Affine(
            np.where(closer, 0.5 * (low + high), self.centre),
            np.where(closer, 0.0, self.terms),
            np.where(closer, 0.5 * abs(high - low), self.rest),
        )

    def within_one(self, clear: NDArray[np.bool_]) -> Affine:
        """Replace forms of cosines or sines by the interval -1..1 where they are wider, or where
        the mask `clear` is False."""
        clear = clear & (self.radius < 1.0)
        return Affine(
            np.where(clear, self.centre, 0.0),
            np.where(clear, self.terms, 0.0),
            np.where(clear, self.rest, 1.0),
        )

    def root(self) -> Affine:
        """The square root of forms that are not negative.

        The tangent at the centre bounds it from above, with the largest error at the lower bound.
        If the lower bound is not positive, the result is the interval of the roots of the bounds.
        """
        clear, low = self._above_zero()
        at = np.sqrt(np.where(clear, self.centre, np.nan))
        half = 0.5 * abs(at - 0.5 * self.radius / at - np.sqrt(low))
        most = 0.5 * np.sqrt(np.maximum(self.high, 0.0))
        return Affine(
            np.where(clear, at - half, most),
            np.where(clear, 0.5 * self.terms / at, 0.0),
            np.where(clear, 0.5 * self.rest / at + half, most),
        )

    def inverse(self) -> Affine:
        """1 / x for positive forms; NaN where the lower bound is not positive.

        The tangent at the centre bounds it from below, with the largest error at the lower bound.
        """
        clear, low = self._above_zero()
        at = 1.0 / np.where(clear, self.centre, np.nan)
        half = 0.5 * abs(1.0 / low - at - self.radius * at * at)
        return Affine(at + half, -at * at * self.terms, at * at * self.rest + half)

    def _above_zero(self) -> tuple[NDArray[np.bool_], Array]:
        """The mask of forms with a positive lower bound, and that bound, NaN for others."""
        low = self.low
        return low > 0.0, np.where(low > 0.0, low, np.nan)


def dot(a: Affine, b: Affine) -> Affine:
    """The dot products (1, ...) of vectors along the first axis."""
    return (a * b).sum()


def stacked(parts: Sequence[Affine]) -> Affine:
    """Concatenate forms along the first axis."""
    shape = np.broadcast_shapes(*(part.centre.shape[1:] for part in parts))

    def joined(arrays: Sequence[Array], axis: int) -> Array:
        wide = [np.broadcast_to(one, (*one.shape[: axis + 1], *shape)) for one in arrays]
        return np.concatenate(wide, axis=axis)

    return Affine(
        joined([part.centre for part in parts], 0),
        joined([part.terms for part in parts], 1),
        joined([part.rest for part in parts], 0),
    )


def _tuple(at: Any) -> tuple[Any, ...]:
    return at if isinstance(at, tuple) else (at,)
