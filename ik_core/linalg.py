"""Linear algebra for steps: small Cholesky solves as kernels, damped steps, singular values."""

from __future__ import annotations

import math

import numpy as np

from ._jit import njit
from .rotations import Array


@njit
def cholesky_solve(a: Array, b: Array, n: int) -> bool:
    """Solve A y = b in place (b becomes y) for the leading n x n symmetric block of `a`.

    Uses and overwrites the lower triangle. False, with b spoilt, where A is not positive
    definite.
    """
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= a[j, k] * a[j, k]
        if not s > 0.0:
            return False
        d = 1.0 / math.sqrt(s)
        a[j, j] = d  # the inverse of the factor's diagonal: divisions are dear
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s * d
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= a[i, k] * b[k]
        b[i] = s * a[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= a[k, i] * b[k]
        b[i] = s * a[i, i]
    return True


def damped_step(jacobian: Array, error: Array, damping: float) -> Array:
    """The step that minimises |J dq - e|^2 + damping^2 |dq|^2, for J (m, n), e (m,).

    J'(JJ' + d^2 I)^-1 e (Buss Eq. 11) or (J'J + d^2 I)^-1 J'e (Eq. 10): the same step, by
    whichever matrix is smaller. Without damping and of deficient rank, the shortest of the
    least-squares steps.
    """
    m, n = jacobian.shape
    square = damping * damping
    try:
        if m <= n:
            dual = jacobian @ jacobian.T
            dual.flat[:: m + 1] += square
            return np.asarray(jacobian.T @ np.linalg.solve(dual, error), float)
        primal = jacobian.T @ jacobian
        primal.flat[:: n + 1] += square
        return np.asarray(np.linalg.solve(primal, jacobian.T @ error), float)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(jacobian, error, rcond=None)[0], float)
