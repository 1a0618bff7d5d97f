"""Closed forms: all solutions of a chain, found from its axes.

`chain` has the axes of a problem's goal, `layouts` says how they can be solved. Where axes meet or
are parallel, `cores` does that in kernels, by placing a point (`places`) and by turns about axes
(`subproblems`). Six joints of any geometry are eigenvalues: `lines` has the equations,
`elimination` solves them, `polish` makes candidates exact, `general` puts it together. `judging`
keeps what is a solution inside the limits. `forms` has what users hold, `knowledge` what was found
out about a problem. `redundancy` sweeps a redundant joint, by `sweeping`, and by `best_held`
and `hidden`, which see branches as paths (`branch_paths`). `beginning` says where the default's
searches begin, by the kernel `nearest`. They import `problem` and what is below, never solvers.
"""

from .forms import ClosedForm, form
from .many import ManySolutions
from .redundancy import best_solution, redundancy_intervals

__all__ = ['ClosedForm', 'ManySolutions', 'best_solution', 'form', 'redundancy_intervals']
