# SPDX-License-Identifier: Apache-2.0
"""Base of the solvers with limits as terms of the cost, whose iterates may be outside.

`limit_terms` has the terms and their line search; a solver chooses their next weight and
multipliers whenever x about minimises the cost with the terms.
"""

from __future__ import annotations

from typing import ClassVar

from ..optim.limit_terms import LIMIT_TERMS, start
from .base import KernelSolver


class LimitMethod(KernelSolver):
    """Base of `penalty` and `augmented_lagrangian`."""

    layout: ClassVar = LIMIT_TERMS
    start = start
