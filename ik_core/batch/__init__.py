# SPDX-License-Identifier: Apache-2.0
"""Many solves: many targets at once, the best of several solutions, all solutions.

These modules may import solvers, never `tracking`.
"""

from .all_solutions import Solutions, solve_all
from .best_solution import solve_best
from .many_targets import BatchResult, solve_batch

__all__ = ['BatchResult', 'Solutions', 'solve_all', 'solve_batch', 'solve_best']
