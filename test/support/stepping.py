"""Solves one iteration at a time, to see where each leads."""

from ik_core.optim.memory import X


class Stepping:
    """A search of a solver in the shared loop, begun at q (n,).

    `at` is the problem where it stands, inside the limits; `workspace` has its arrays.
    """

    def __init__(self, solver, problem, q):
        self.problem, self.workspace = problem, solver.workspace(problem)
        self.workspace.load(q)
        self.workspace.run(0)

    @property
    def x(self):
        return self.workspace.vectors[X].copy()

    @property
    def at(self):
        return self.problem.at(self.x)

    def step(self):
        """One iteration; returns what came of it: a status, or None where it goes on."""
        return self.workspace.run(1)
