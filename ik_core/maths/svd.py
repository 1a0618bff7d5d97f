# SPDX-License-Identifier: Apache-2.0
"""Singular values by one-sided Jacobi rotations: small matrices, and close to the last ones.

For J (m, n) rotations of its rows make them orthogonal: U'J = S V' ([Hestenes1958]). Rows that
are nearly orthogonal already take one round or two, so where J changes little from step to step
the last U is the place to begin. Small singular values come out as exactly as large ones.
"""

from __future__ import annotations

import math

from ..kernels.jit import kernel
from .rotations import Array

LARGEST = 1e150
"""Cotangents of twice an angle are at most this: its square is a number."""
ORTHOGONAL = 1e-14
"""Largest cosine between rows that count as orthogonal."""

ROUNDS = 30


@kernel
def identity(matrix: Array) -> None:
    """matrix (m, m) = I."""
    for i in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            matrix[i, k] = 0.0
        matrix[i, i] = 1.0


@kernel
def decompose(columns: Array, basis: Array, work: Array, squares: Array) -> None:
    """The singular values of J (m, n), whose columns are the rows of `columns` (n, m).

    basis (m, m) : rows u_i; in: any orthonormal ones, out: the left singular vectors
    work (m, n) : out: rows s_i v_i
    squares (m,) : out: s_i^2, in no order
    """
    m, n = work.shape
    for i in range(m):
        for j in range(n):
            total = 0.0
            for k in range(m):
                total += basis[i, k] * columns[j, k]
            work[i, j] = total
    for _ in range(ROUNDS):
        for i in range(m):
            squares[i] = product(work[i], work[i])
        if not _round(basis, work, squares):
            break


@kernel
def _round(basis: Array, work: Array, squares: Array) -> bool:
    """Make every pair of rows orthogonal once; whether there was anything to do."""
    turned = 0
    for p in range(work.shape[0]):
        for q in range(p + 1, work.shape[0]):
            leaning = product(work[p], work[q])
            if abs(leaning) <= ORTHOGONAL * math.sqrt(squares[p]) * math.sqrt(squares[q]):
                continue
            turned += 1
            zeta = 0.5 * (squares[q] - squares[p]) / leaning
            size = min(abs(zeta), LARGEST)
            t = 1.0 / (size + math.sqrt(1.0 + size * size))
            if zeta < 0.0:
                t = -t
            c = 1.0 / math.sqrt(1.0 + t * t)
            _rotate(work[p], work[q], c, c * t)
            _rotate(basis[p], basis[q], c, c * t)
            squares[p] = max(squares[p] - t * leaning, 0.0)
            squares[q] = max(squares[q] + t * leaning, 0.0)
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
    """(a, b) = (c a - s b, s a + c b)."""
    for i in range(a.shape[0]):
        x, y = a[i], b[i]
        a[i] = c * x - s * y
        b[i] = s * x + c * y


@kernel
def falling(numbers: Array, count: int, place: int) -> float:
    """The largest of the first `count` numbers, or the one at a later place in falling order."""
    found = 0.0
    for i in range(count):
        larger = equal = 0
        for k in range(count):
            larger += 1 if numbers[k] > numbers[i] else 0
            equal += 1 if numbers[k] == numbers[i] else 0
        if larger <= place < larger + equal:
            found = numbers[i]
    return found


@kernel
def shortest_step(
    basis: Array, work: Array, squares: Array, error: Array, least: float, square: float, dx: Array
) -> None:
    """dx (n,) = the minimiser of |J dx - e|^2 + square |dx|^2, the shortest one, for e (m,).

        dx = sum s / (s^2 + square) v u'e

    ([Buss2009] section 6) over the singular values that `decompose` found; those whose square is
    not above `least` count as 0.
    """
    for j in range(dx.shape[0]):
        dx[j] = 0.0
    for i in range(work.shape[0]):
        if squares[i] > least:
            share = product(basis[i], error) / (squares[i] + square)
            for j in range(dx.shape[0]):
                dx[j] += share * work[i, j]
