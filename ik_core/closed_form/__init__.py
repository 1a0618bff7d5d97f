# SPDX-License-Identifier: Apache-2.0
"""Closed forms: all solutions of a chain, found from its axes.

- A strategy for a chain: `chain` (the axes), `families` (tables of the chains that can be solved),
  `idealised_chain` (for chains that nearly belong to a family)
- Solutions of poses: `records` (a closed form as data: subproblems), `kernel` (which solves them
  in lanes, by three `formulas`), `elimination` (six joints of any geometry, by eigenvalues; the
  kernel checks their solutions), `refinement` (by the problem's own kinematics), `workspace`
  (arrays of a strategy)
- For users: `closed_form` (all solutions of a pose), `batch` (of many poses), `naming` (names of
  solutions), `cached_form` (kept with a problem)
- Redundant arms: `redundancy` (values of the redundant joint), with the kernels `redundancy_scan`,
  `nearest_branch` and `branch_search`, which follow `branches`; `approximate_nearest`, for chains
  that nearly have formulas; `infeasibility_proof`, that all values collide
- `initial_guess`, for searches of the default solver, with the kernel `nearest`

All import `problem` and packages below it, never solvers.
"""

from .batch import ManySolutions
from .closed_form import ClosedForm, form
from .naming import branch_names
from .redundancy import best_solution, redundancy_intervals

__all__ = [
    'ClosedForm',
    'ManySolutions',
    'best_solution',
    'branch_names',
    'form',
    'redundancy_intervals',
]
