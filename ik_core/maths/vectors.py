# SPDX-License-Identifier: Apache-2.0
"""Vectors of three numbers as tuples, for kernels; and copies of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.jit import kernel
from .lanes import root

Vector = tuple[float, float, float]


@kernel
def minus(a: Vector, b: Vector) -> Vector:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def times(scale: float, a: Vector) -> Vector:
    """scale * a."""
    return scale * a[0], scale * a[1], scale * a[2]


@kernel
def dot(a: Vector, b: Vector) -> float:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Vector, b: Vector) -> Vector:
    """a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@kernel
def norm(a: Vector) -> float:
    """|a|."""
    return root(dot(a, a))


@kernel
def copy_to(source: NDArray[np.float64], target: NDArray[np.float64]) -> None:
    """Copy source (n,) to target: the loop compiles in a tenth of the time of target[:] = ..."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel
def divide_by_largest(v: NDArray[np.float64]) -> float:
    """Divide v (n,) by its largest magnitude, unless that is 0; return it."""
    largest = 0.0
    for i in range(v.shape[0]):
        largest = max(largest, abs(v[i]))
    for i in range(v.shape[0]):
        v[i] = v[i] / largest if largest > 0.0 else 0.0
    return largest


@kernel
def differ(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    """Return whether a and b (n,) differ anywhere."""
    apart = 0.0
    for i in range(a.shape[0]):
        apart = max(apart, abs(a[i] - b[i]))
    return apart > 0.0
