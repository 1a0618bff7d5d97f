# SPDX-License-Identifier: Apache-2.0
"""Many solves: many targets at once, the best of several solutions, all solutions.

These modules may import solvers, never `tracking`.
"""

from .solve_all import Solutions, solve_all
from .solve_batch import BatchResult, solve_batch
from .solve_best import solve_best

__all__ = ['BatchResult', 'Solutions', 'solve_all', 'solve_batch', 'solve_best']
