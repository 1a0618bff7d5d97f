"""Closed forms: all solutions of a chain whose axes meet or are parallel, found from its axes.

`chain` has the axes of a problem's goal, `layouts` says how they can be solved; `cores` does
that in kernels, by placing a point (`places`) and by turns about axes (`subproblems`); `judging`
keeps what is a solution inside the limits. `form` is what users hold, `redundancy` sweeps the
seventh joint. They import `problem` and what is below, never solvers.
"""
