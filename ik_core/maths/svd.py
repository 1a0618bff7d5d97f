# SPDX-License-Identifier: Apache-2.0
"""Singular values of small matrices by one-sided Jacobi rotations, with a warm start.

Rotations of the rows of J (m, n) make them orthogonal: U'J = S V' ([Hestenes1958]). If the rows
are nearly orthogonal already, that takes one round or two; so if J changes little from step to
step, the last U is a good start. Small singular values have the same relative accuracy as large
ones.
"""

from __future__ import annotations

import math

from ..kernels.jit import kernel
from .rotations import Array

LARGEST_SQUARABLE = 1e150  # of cotangents of twice an angle, whose square must not overflow
ORTHOGONAL = 1e-14  # largest cosine between rows that count as orthogonal

JACOBI_SWEEPS = 30


@kernel
def identity(matrix: Array) -> None:
    """Set matrix (m, m) to the identity."""
    for i in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            matrix[i, k] = 0.0
        matrix[i, i] = 1.0


@kernel
def decompose(columns: Array, basis: Array, work: Array, squares: Array) -> None:
    """The singular values of J (m, n), whose columns are the rows of `columns` (n, m).

    basis (m, m) : rows u_i; input: any orthonormal ones, output: the left singular vectors
    work (m, n) : output: rows s_i v_i
    squares (m,) : output: s_i^2, unsorted
    """
    m, n = work.shape
    for i in range(m):
        for j in range(n):
            total = 0.0
            for k in range(m):
                total += basis[i, k] * columns[j, k]
            work[i, j] = total
    for _ in range(JACOBI_SWEEPS):
        for i in range(m):
            squares[i] = product(work[i], work[i])
        if not _round(basis, work, squares):
            break


@kernel
def _round(basis: Array, work: Array, squares: Array) -> bool:
    """Do one Jacobi sweep over all pairs of rows; return whether any was not orthogonal."""
    turned = 0
    for p in range(work.shape[0]):
        for q in range(p + 1, work.shape[0]):
            overlap = product(work[p], work[q])
            if abs(overlap) <= ORTHOGONAL * math.sqrt(squares[p]) * math.sqrt(squares[q]):
                continue
            turned += 1
            zeta = 0.5 * (squares[q] - squares[p]) / overlap
            size = min(abs(zeta), LARGEST_SQUARABLE)
            t = 1.0 / (size + math.sqrt(1.0 + size * size))
            if zeta < 0.0:
                t = -t
            c = 1.0 / math.sqrt(1.0 + t * t)
            _rotate(work[p], work[q], c, c * t)
            _rotate(basis[p], basis[q], c, c * t)
            squares[p] = max(squares[p] - t * overlap, 0.0)
            squares[q] = max(squares[q] + t * overlap, 0.0)
    return turned > 0


@kernel
def product(a: Array, b: Array) -> float:
    """a . b."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@kernel
def _rotate(a: Array, b: Array, c: float, s: float) -> None:
    """Rotate two rows: (a, b) = (c a - s b, s a + c b)."""
    for i in range(a.shape[0]):
        x, y = a[i], b[i]
        a[i] = c * x - s * y
        b[i] = s * x + c * y


@kernel
def nth_largest(numbers: Array, count: int, rank: int) -> float:
    """The number with index `rank` among the first `count` numbers, in descending order."""
    found = 0.0
    for i in range(count):
        larger = equal = 0
        for k in range(count):
            larger += 1 if numbers[k] > numbers[i] else 0
            equal += 1 if numbers[k] == numbers[i] else 0
        if larger <= rank < larger + equal:
            found = numbers[i]
    return found


@kernel
def shortest_step(
    basis: Array, work: Array, squares: Array, error: Array, least: float, square: float, dx: Array
) -> None:
    """Minimise |J dx - e|^2 + square |dx|^2 for e (m,); the result is the shortest dx (n,).

        dx = sum s / (s^2 + square) v u'e

    ([Buss2009] section 6) over the singular values found by `decompose`; those whose square is at
    most `least` count as 0.
    """
    for j in range(dx.shape[0]):
        dx[j] = 0.0
    for i in range(work.shape[0]):
        if squares[i] > least:
            scale = product(basis[i], error) / (squares[i] + square)
            for j in range(dx.shape[0]):
                dx[j] += scale * work[i, j]
