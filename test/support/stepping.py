# SPDX-License-Identifier: Apache-2.0
"""Solves one iteration at a time, to see where each leads."""

from functools import cache

from ik_core.kernels.jit import with_kernels
from ik_core.optim.evaluation import differentiate_here
from ik_core.optim.layouts import search_at


class Stepping:
    """A search of a solver in the shared loop, begun at q (n,).

    `at` is the problem where it stands, inside the limits; `workspace` has its records.
    """

    def __init__(self, solver, problem, q):
        self.problem, self.workspace = problem, solver.workspace(problem)
        self.workspace.load(q)
        self.begin()

    def begin(self):
        """Up to the method's start."""
        self.workspace.run(0)

    @property
    def x(self):
        return self.workspace.search['x'].copy()

    @property
    def at(self):
        return self.problem.at(self.x)

    @property
    def evaluations(self):
        """Return how often the problem was evaluated since the search began."""
        return self.workspace.search['evaluations'].item()

    def step(self):
        """One iteration; returns what came of it: a status, or None where it goes on."""
        return self.workspace.run(1)


class Unstopped(Stepping):
    """The steps of a method of kernels alone: no stop rule, no restart, nothing is left."""

    def __init__(self, solver, problem, q):
        self._step = step_alone(solver.name, type(solver).step)
        super().__init__(solver, problem, q)

    def begin(self):
        """As if no goal could be reached."""
        self.workspace.constants['tolerance'] = -1.0
        super().begin()

    def step(self):
        """One step; returns whether x moved."""
        return self._step(self.workspace.search.address)


@cache
def step_alone(name, kernel):
    """An entry from Python that takes one step of a search."""
    return with_kernels(_step_alone, f'step_alone_{name}', step=kernel)


def _step_alone(address):
    search = search_at(address)
    moved = step(search)  # noqa: F821 (the method's, in a copy of this)
    if moved:
        differentiate_here(search)
    return moved
