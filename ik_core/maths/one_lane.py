# SPDX-License-Identifier: Apache-2.0
"""The functions of `lanes` for plain numbers, for a numba without vectors."""

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
    """The largest whole number up to x, as a float."""
    return float(math.floor(x))


@kernel
def least(a: float, b: float) -> float:
    """The smaller one of a and b; a if they are equal."""
    return b if b < a else a


@kernel
def most(a: float, b: float) -> float:
    """The larger one of a and b; a if they are equal."""
    return b if b > a else a


@kernel
def select(condition: bool, a: float, b: float) -> float:
    """a if the condition is true, else b."""
    return a if condition else b


@kernel
def bits(condition: bool) -> int:
    """1 if the condition is true, else 0."""
    return 1 if condition else 0


@kernel
def in_lane(array: Any) -> Any:
    """View a float array (..., 1) as an array (...)."""
    return array[..., 0]
