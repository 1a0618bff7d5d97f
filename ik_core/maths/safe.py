# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of numpy for steps; where numpy raises, the result is the shortest step.

A Hessian that has lost its rank, or whose numbers exceed the range of doubles, is rare and should
not end a solve: a search only needs a finite step, and continues with a better model if the step
gains nothing. If numpy has a result, it is returned with all its bits.
"""

from __future__ import annotations

import numpy as np

from .rotations import Array


def solve(matrix: Array, rhs: Array) -> Array:
    """Solve A x = b for A (n, n), b (n,).

    If A is singular, the result is the shortest x that minimises |A x - b|; 0 if that is not
    finite.
    """
    try:
        solution = np.asarray(np.linalg.solve(matrix, rhs), float)
    except np.linalg.LinAlgError:
        return least_squares(matrix, rhs)
    return solution if np.isfinite(solution).all() else least_squares(matrix, rhs)


def least_squares(matrix: Array, rhs: Array, tolerance: float | None = None) -> Array:
    """The shortest x (n,) that minimises |A x - b|, for A (m, n), b (m,); 0 if it is not finite.

    Singular values up to `tolerance` times the largest count as 0; by default those that may be
    rounding.
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
    """The decomposition A = u s v' of A (m, n): u (m, k), s (k,), v' (k, n), k = min(m, n).

    If A is not finite, the result is that of a zero matrix, so that a step computed from it is 0.
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
    """Singular values of A (m, n), descending; all 0 if A is not finite."""
    size = _size(matrix)
    if size is None:
        return np.zeros(min(matrix.shape))
    try:
        values = np.asarray(np.linalg.svd(matrix / size, compute_uv=False), float)
    except np.linalg.LinAlgError:
        return np.zeros(min(matrix.shape))
    return _times(values, size)


def _times(values: Array, size: float) -> Array:
    """values * size (k,), limited to the largest double."""
    with np.errstate(over='ignore'):
        return np.minimum(values * size, np.finfo(float).max)


def _size(array: Array) -> float | None:
    """A scale to divide by, since LAPACK may loop forever over extreme numbers.

    It is 1 for numbers of usual size, None if some are not finite.
    """
    size = float(np.max(np.abs(array), initial=0.0))
    if not size < np.inf:
        return None
    return 1.0 if size == 0.0 or 1e-100 < size < 1e100 else size


def finite(step: Array) -> Array:
    """Return the step, or zeros if it is not finite."""
    return step if np.isfinite(step).all() else np.zeros_like(step)
