"""What an iteration of a compiled method takes, apart from the call that it is made in."""

from __future__ import annotations

import time

from ...maths.rotations import Array
from ...optim.search import Budget
from ...problem import IkProblem
from ...result import IkResult
from ...solvers import Solver

REPEATS = 3
SHORT, LONG = 2, 12
"""Iterations of the two solves whose difference is timed."""


def timed(
    method: Solver, problem: IkProblem, q0: Array, budget: Budget | None = None
) -> tuple[IkResult, float]:
    """The result, and the shortest of some times [s]: other work only ever adds to it."""
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        result = method.solve(problem, q0, budget)
        times.append(time.perf_counter() - begun)
    return result, min(times)


def per_iteration(method: Solver, problem: IkProblem, q0: Array) -> float:
    """[s] By how much a long solve takes longer than a short one; no goal is to be in reach."""
    short, long = (timed(method, problem, q0, Budget(iterations=n))[1] for n in (SHORT, LONG))
    return (long - short) / (LONG - SHORT)
