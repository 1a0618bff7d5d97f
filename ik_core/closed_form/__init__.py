# SPDX-License-Identifier: Apache-2.0
"""Closed forms: all solutions of a chain, found from its axes.

`chain` has the axes of a problem's goal, `families` the tables that say how these can be solved: a
closed form is a list of subproblem records (`records`), which one `kernel` runs in lanes by three
`formulas`. Six joints of any geometry are eigenvalues (`elimination`), for the same judge.
`workspace` has a strategy's arrays. `forms` has what users hold, `many` the answers to many poses,
`following` leads near ones to solutions, `cached_form` keeps the form of a problem.
`redundancy` goes through the values of a redundant joint, by `sweeping`, and by `nearest_branch`
and `branch_search`, which see `branches` as paths. `ideals` are the chains with formulas that a
chain nearly is, `nearly` finds the nearest solution by them. `covering` proves that no value of
the redundant joint has a free solution. `beginning` says where the default's searches begin, by
the kernel `nearest`. They import `problem` and what is below, never solvers.
"""

from .forms import ClosedForm, form
from .many import ManySolutions
from .redundancy import best_solution, redundancy_intervals

__all__ = ['ClosedForm', 'ManySolutions', 'best_solution', 'form', 'redundancy_intervals']
