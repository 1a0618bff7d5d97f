# SPDX-License-Identifier: Apache-2.0
"""Closed forms: all solutions of a chain, found from its axes.

`chain` has the axes of a problem's goal, `families` the tables that say how these can be solved: a
closed form is a list of subproblem records (`records`), which one `kernel` runs in lanes by three
`formulas`. Six joints of any geometry are eigenvalues (`elimination`), for the same judge.
`workspace` has a strategy's arrays. `closed_form` has what users hold, `batch` the answers to
many poses, `refinement` leads near ones to solutions, `cached_form` keeps the form of a problem.
`redundancy` goes through the values of a redundant joint, by `redundancy_scan`, and by
`nearest_branch` and `branch_search`, which follow `branches` as paths. A chain that nearly has
formulas has an `idealised_chain` with some; `approximate_nearest` finds the nearest solution by
them. `infeasibility_proof` proves that no value of the redundant joint has a free solution.
`initial_guess` chooses where the default's searches begin, by the kernel `nearest`. `naming`
names solutions. All import `problem` and what is below, never solvers.
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
