# SPDX-License-Identifier: Apache-2.0
"""Bounds of formulas by affine forms [Stolfi1997], element by element over arrays.

A form is centre + sum_s terms[s] t_s + rest t, where each t is an unknown in -1..1: the t_s are
shared by all forms, so what depends on them cancels where it should; each `rest` is of its own.
Every value of a formula, for whatever the t_s are, is among the values of its form. Rounding is
not bounded: the caller widens what it begins with by more.
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
    """An array of forms: `centre` (...), `terms` (symbols, ...) and `rest` (...), not below 0."""

    centre: Array
    terms: Array
    rest: Array

    __array_ufunc__ = None
    """An array times a form is a form, not an array of them."""

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
        """The product; that of what is not the centre is bounded by the radii."""
        x, y = self.centre, other.centre
        rest = self.radius * other.radius + abs(x) * other.rest + abs(y) * self.rest
        return Affine(x * y, x * other.terms + y * self.terms, rest)

    def __rmatmul__(self, matrix: Array) -> Affine:
        """A constant matrix times vectors along the first axis."""
        return Affine(
            np.einsum('ij,j...->i...', matrix, self.centre),
            np.einsum('ij,sj...->si...', matrix, self.terms),
            np.einsum('ij,j...->i...', abs(matrix), self.rest),
        )

    @property
    def radius(self) -> Array:
        """Largest distance of values from the centre."""
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
        """The sum along the first axis, which is kept."""
        return Affine(
            self.centre.sum(0, keepdims=True),
            self.terms.sum(1, keepdims=True),
            self.rest.sum(0, keepdims=True),
        )

    def among(self, mask: NDArray[np.bool_]) -> Affine:
        """Forms selected by a mask of the last axis."""
        return Affine(self.centre[..., mask], self.terms[..., mask], self.rest[..., mask])

    def within(self, low: Array, high: Array) -> Affine:
        """These forms, or all between two bounds where that is less."""
        closer = high - low < self.radius
        return Affine(
            np.where(closer, 0.5 * (low + high), self.centre),
            np.where(closer, 0.0, self.terms),
            np.where(closer, 0.5 * abs(high - low), self.rest),
        )

    def within_one(self, clear: NDArray[np.bool_]) -> Affine:
        """These forms, which are cosines or sines; all of -1..1 where they bound no more, or are
        not clear."""
        clear = clear & (self.radius < 1.0)
        return Affine(
            np.where(clear, self.centre, 0.0),
            np.where(clear, self.terms, 0.0),
            np.where(clear, self.rest, 1.0),
        )

    def root(self) -> Affine:
        """The square root of what is not below 0: by the tangent at the centre, which is above it,
        most so at the lower bound; by the bounds where the lower one is not above 0."""
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
        """1 / x for x above 0: by the tangent at the centre, which is below it, most so at the
        lower bound. Not a number where that is not above 0."""
        clear, low = self._above_zero()
        at = 1.0 / np.where(clear, self.centre, np.nan)
        half = 0.5 * abs(1.0 / low - at - self.radius * at * at)
        return Affine(at + half, -at * at * self.terms, at * at * self.rest + half)

    def _above_zero(self) -> tuple[NDArray[np.bool_], Array]:
        """Whether the lower bound is above 0, and that bound, or not a number."""
        low = self.low
        return low > 0.0, np.where(low > 0.0, low, np.nan)


def dot(a: Affine, b: Affine) -> Affine:
    """The products of vectors along the first axis, (1, ...)."""
    return (a * b).sum()


def stacked(parts: Sequence[Affine]) -> Affine:
    """Forms one after the other along the first axis."""
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
