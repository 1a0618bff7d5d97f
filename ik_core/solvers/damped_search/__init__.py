# SPDX-License-Identifier: Apache-2.0
"""The compiled search of `levenberg_marquardt`: data, and two functions.

`layouts` lists the records: the problem, the searches, and the lanes that run attempts. `evaluate`
makes the next point of every lane, with the model there (`model`) and, for a lane that needs it, a
step with the Hessian (`second_order`). `decide` keeps or rejects a lane's point: it applies all
rules of a search. `run` is the loop around the two, and has the kernels that Python calls;
`workspace` makes the records. `solvers.levenberg_marquardt` describes the method itself.
"""
