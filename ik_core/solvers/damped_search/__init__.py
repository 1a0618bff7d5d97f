"""The compiled search of `levenberg_marquardt`; everything that it knows is in a few flat arrays.

`memory` says what is where in them, `model` evaluates and steps, `saddles` leaves stationary
points that are no minima, `attempts` begins, ends and collects the attempts, `beginnings` has
them begin at solutions in closed form, and `search` is the loop of one. `crew` makes attempts side
by side in lanes, `schedule` says which lane makes which and notes it on the `board`, and
`first_attempts` takes those that come first straight from a batch. `single` runs a problem that
comes alone, whole or step by step, and `workspace` has the arrays. The method itself is described
in `solvers.levenberg_marquardt`.
"""
