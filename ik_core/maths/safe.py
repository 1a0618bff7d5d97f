# SPDX-License-Identifier: Apache-2.0
"""numpy's linear algebra, for steps: where numpy raises, the answer is the step of least length.

Matrices of a Hessian that has lost its rank, or whose numbers have left the range of doubles, are
rare, and no reason to end a solve: a search only needs a step that is finite, and goes on from a
better model where this one gains nothing. Where numpy has an answer, it is numpy's to the last
bit.
"""

from __future__ import annotations

import numpy as np

from .rotations import Array


def solve(matrix: Array, rhs: Array) -> Array:
    """x (n,) with A x = b for A (n, n), b (n,).

    Where A is singular, the shortest x for which |A x - b| is least; 0 where that is not finite.
    """
    try:
        solution = np.asarray(np.linalg.solve(matrix, rhs), float)
    except np.linalg.LinAlgError:
        return least_squares(matrix, rhs)
    return solution if np.isfinite(solution).all() else least_squares(matrix, rhs)


def least_squares(matrix: Array, rhs: Array, tolerance: float | None = None) -> Array:
    """The shortest x (n,) for which |A x - b| is least, for A (m, n), b (m,).

    Singular values up to `tolerance` times the largest count as 0, by default those that rounding
    may have made. 0 where x is not finite.
    """
    size, length = _size(matrix), _size(rhs)
    nothing = np.zeros(matrix.shape[1])
    if size is None or length is None:
        return nothing
    with np.errstate(over='ignore', invalid='ignore'):
        try:
            solution = np.linalg.lstsq(matrix / size, rhs / length, rcond=tolerance)[0]
        except np.linalg.LinAlgError:
            return nothing
        return finite(np.asarray(solution * (length / size), float))


def svd(matrix: Array) -> tuple[Array, Array, Array]:
    """u (m, k), s (k,), v' (k, n) with A = u s v' for A (m, n), k the smaller of the two.

    Those of a zero matrix where A has numbers that are not finite: a step by them is no step.
    """
    size = _size(matrix)
    if size is None:
        return svd(np.zeros_like(matrix))
    try:
        u, s, vt = np.linalg.svd(matrix / size, full_matrices=False)
    except np.linalg.LinAlgError:
        return svd(np.zeros_like(matrix))
    return u, _times(s, size), vt


def singular_values(matrix: Array) -> Array:
    """Singular values of A (m, n), descending; all 0 where A has numbers that are not finite."""
    size = _size(matrix)
    if size is None:
        return np.zeros(min(matrix.shape))
    try:
        values = np.asarray(np.linalg.svd(matrix / size, compute_uv=False), float)
    except np.linalg.LinAlgError:
        return np.zeros(min(matrix.shape))
    return _times(values, size)


def _times(values: Array, size: float) -> Array:
    """values * size (k,), the largest double where that overflows."""
    with np.errstate(over='ignore'):
        return np.minimum(values * size, np.finfo(float).max)


def _size(array: Array) -> float | None:
    """A scale to divide by: LAPACK may loop for ever over extreme numbers.

    1 where all are of a usual size; None where some are not finite.
    """
    size = float(np.max(np.abs(array), initial=0.0))
    if not size < np.inf:
        return None
    return 1.0 if size == 0.0 or 1e-100 < size < 1e100 else size


def finite(step: Array) -> Array:
    """The step; 0 where it is not finite."""
    return step if np.isfinite(step).all() else np.zeros_like(step)
