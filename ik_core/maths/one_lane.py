# SPDX-License-Identifier: Apache-2.0
"""The functions of `lanes` for single numbers: for numba without its vectors."""

from __future__ import annotations

import math
from typing import Any

from ..kernels.jit import kernel


@kernel
def root(x: float) -> float:
    """The square root."""
    return math.sqrt(x)


@kernel
def floor(x: float) -> float:
    """The largest whole number that is not above x, as a float."""
    return float(math.floor(x))


@kernel
def least(a: float, b: float) -> float:
    """The smaller one; a where they are equal."""
    return b if b < a else a


@kernel
def most(a: float, b: float) -> float:
    """The larger one; a where they are equal."""
    return b if b > a else a


@kernel
def select(condition: bool, a: float, b: float) -> float:
    """a where the condition holds, else b."""
    return a if condition else b


@kernel
def bits(condition: bool) -> int:
    """1 where the condition holds."""
    return 1 if condition else 0


@kernel
def in_lane(array: Any) -> Any:
    """A float array (..., 1) as an array (...)."""
    return array[..., 0]
