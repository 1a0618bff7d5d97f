# SPDX-License-Identifier: Apache-2.0
"""Several solvers at once, each as a ghost: what their papers compare, live.

`methods` names them, `start` is where all of them begin, `stepped_solve` is one of them on its
way to a goal, `moving_targets` one that follows targets in motion. `comparison` is all together, none of
which waits for another, and `animation` gives it its pace. `panel` and `targets_panel` are the tabs
on the page, of menus (`method_menus`), tables and plots.
"""
