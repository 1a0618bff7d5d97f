"""A method that makes one update in every step of targets that move ([Buss2009] section 2, (i)).

A solve returns the best point that it has seen; here a method goes where its update leads, be
that better or worse.
"""

from __future__ import annotations

from typing import Any

from ...maths.rotations import Array
from ...optim import memory
from ...problem import IkProblem
from ...solvers import make_solver
from ...solvers.base import KernelSolver


class OneUpdate:
    """A solver's updates of a problem, whose goals may be moved between them."""

    def __init__(self, problem: IkProblem, solver: str, **options: Any) -> None:
        method = make_solver(solver, **options)
        assert isinstance(method, KernelSolver)
        self.problem = problem
        self._workspace = method.workspace(problem)

    def __call__(self, q: Array) -> Array:
        """q (n,) after one update, as the method makes it."""
        after = self._workspace.load(q)
        self._workspace.run(1)
        after[self.problem.variables] = self._workspace.vectors[memory.X]
        return after
