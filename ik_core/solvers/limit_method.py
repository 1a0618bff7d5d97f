"""What the solvers share that know limits as terms of the cost: the iterate may be outside.

`limit_terms` has the terms and their line search; a solver says what their next weight and
multipliers are (`next_terms`) whenever the cost with the terms is about least.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ..optim.limit_terms import FreePoint, Limited, LimitTerms, free_point, step
from ..optim.python_quasi_newton import linear_hessian
from ..optim.workspace import State
from ..problem import Evaluation, IkProblem
from .base import IterativeSolver


@dataclass(eq=False, kw_only=True)
class FreeState(State):
    """`at` is inside the limits; the iterate itself, `point`, may be outside."""

    point: FreePoint


class LimitMethod(IterativeSolver[FreeState]):
    """Base of `penalty` and `augmented_lagrangian`."""

    def start(self, problem: IkProblem, at: Evaluation) -> FreeState:
        """With the first weight, and multipliers 0."""
        terms = LimitTerms(self.options.weight, np.zeros_like(at.x))
        hessian = linear_hessian(at.jacobian, self.options.epsilon)
        return FreeState(at, point=free_point(problem, at, terms, hessian))

    def step(self, problem: IkProblem, state: FreeState) -> FreeState:
        """One line search, or as many as it takes to move what is inside the limits."""
        at, point, evaluations = step(
            problem, state.at, state.point, self.options, self.next_terms
        )
        return FreeState(at, evaluations, point=point)

    @abstractmethod
    def next_terms(self, problem: Limited, point: FreePoint) -> FreePoint:
        """The same point with the next terms."""
