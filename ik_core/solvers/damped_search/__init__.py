# SPDX-License-Identifier: Apache-2.0
"""The compiled search of `levenberg_marquardt`: data, and two functions.

`layouts` lists the records: the problem, the searches, the lanes in which attempts are made.
`evaluate` makes the next point of every lane, with the model there (`model`) and, for a lane that
needs it, a step with the Hessian (`second_order`). `decide` says what becomes of a lane's point:
all rules of a search are there. `run` is the loop around the two, and has the kernels that Python
calls; `workspace` makes the records. The method itself is described in
`solvers.levenberg_marquardt`.
"""
