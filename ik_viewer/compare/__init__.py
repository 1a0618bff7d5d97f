# SPDX-License-Identifier: Apache-2.0
"""Comparison of solvers on the page, each drawn as a ghost, as in their papers.

`methods` has the solvers and presets, `start` the common start, `stepped_solve` the solve of one
method, `moving_targets` a method that follows moving targets. `comparison` advances all solves
without letting a slow one delay the others, and `animation` sets its pace. `panel` and
`targets_panel` are the tabs on the page, made of menus (`method_menus`), tables and plots.
"""
