# SPDX-License-Identifier: Apache-2.0
"""Weights: one number, one for each component, or a symmetric positive semidefinite matrix.

The cost of a difference d with a full matrix W is d'W d ([EngellErleben2011] Eq. 17; M of [TakKo]
Eq. 5). With the principal axes V and the scales s, W = V diag(s^2) V', so in these axes the rows
are those of single components: s (V'd).
"""

from __future__ import annotations

import numpy as np

from ..exceptions import InvalidOption
from ..maths.argument_types import WeightsLike
from ..maths.rotations import Array

ZERO_EIGENVALUE = 1e-12  # smaller eigenvalues, relative to the largest, are 0
ASYMMETRY = 1e-9  # allowed difference of entries that should be equal, relative to the largest


def checked_weights(weights: WeightsLike) -> Array:
    """Return weights as an array; raises InvalidOption unless all are finite and not negative."""
    try:
        array = np.asarray(weights, float)
    except (TypeError, ValueError):
        raise InvalidOption(f'weights {weights!r} are not made of numbers') from None
    if not np.isfinite(array).all() or (array < 0.0).any():
        raise InvalidOption(f'weights {weights!r} must be finite and not negative')
    return array


def is_matrix(weights: WeightsLike) -> bool:
    """Return whether weights are given as a matrix."""
    return np.ndim(weights) == 2


def principal_axes(weights: WeightsLike, name: str) -> tuple[Array, Array]:
    """The weights (k,) along the principal axes of a matrix (k, k), and the axes (its columns).

    Raises InvalidOption if the matrix is not symmetric, or not positive semidefinite.
    """
    matrix = np.array(weights, float, order='C')
    rows, columns = matrix.shape
    if rows != columns or not np.isfinite(matrix).all():
        raise InvalidOption(f'{name}: a matrix of weights must be square, of finite numbers')
    largest = np.abs(matrix).max(initial=0.0)
    if np.abs(matrix - matrix.T).max(initial=0.0) > ASYMMETRY * largest:
        raise InvalidOption(f'{name}: the matrix of weights is not symmetric')
    values, axes = np.linalg.eigh(0.5 * (matrix + matrix.T))
    values[np.abs(values) <= ZERO_EIGENVALUE * largest] = 0.0
    if (values < 0.0).any():
        raise InvalidOption(
            f'{name}: the matrix of weights has the eigenvalue {values.min():.3g}; it must be '
            'positive semidefinite'
        )
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]  # a rotation
    return values, axes


def check_alpha_beta(alpha: float, beta: float) -> None:
    """Raise InvalidOption unless the weights of [TakKo] Eq. 1 are in [0, 1] and not both 0."""
    if not (0.0 <= alpha <= 1.0 and 0.0 <= beta <= 1.0 and alpha + beta > 0.0):
        raise InvalidOption(
            f'alpha {alpha!r} and beta {beta!r}: both from 0 to 1, one of them not 0'
        )
