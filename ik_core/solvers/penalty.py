"""Limits as penalty terms (the coursework of Dorta et al. 2014, section 3.1.2).

"A penalty term for each joint constraint is simply added to the cost function", which restores a
joint that breaks its limit and leaves the others alone:

    phi(x) = |r(x)|^2 + mu sum_i v_i(x)^2,    v(x) = x - P(x)

where P puts a joint on the limit that it breaks. The coursework adds its terms to the distance;
here they are added to the squared distance, which is smooth. phi is minimised as it is, over all
x (`limit_terms`), and its iterates may be outside the limits: what counts, and what the driver
sees, is the cost at P(x).

Where a limit holds the solution back, the minimum of phi is outside by grad f / (2 mu), so only
mu -> infinity gives the closest point. Whenever phi is about least, mu grows by `growth`;
`growth` 1 keeps the coursework's fixed weight, and a solution that is pushed back, not the best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..limit_terms import FreePoint, Limited, LimitTerms, advance, free_point
from ..options import option
from ..problem import Evaluation, IkProblem
from ..quasi_newton import QuasiNewtonOptions, linear_hessian
from .base import IterativeSolver, State

LARGEST_WEIGHT = 1e12
"""Beyond, the terms would drown the cost in rounding [m^2/rad^2]."""


@dataclass(frozen=True)
class PenaltyOptions(QuasiNewtonOptions):
    """Options of `penalty`."""

    weight: float = option(1.0, 'weight mu of the penalty terms, the first one where it grows',
                           unit='m^2/rad^2', bounds=(1e-6, 1e6))  # fmt: skip
    growth: float = option(10.0, 'factor by which the weight grows; 1 leaves it',
                           bounds=(1.0, 1e3))  # fmt: skip


@dataclass(eq=False)
class PenaltyState(State):
    """`at` is inside the limits; the iterate itself, `point`, may be outside."""

    point: FreePoint | None = None


class Penalty(IterativeSolver):
    """See the module."""

    name: ClassVar[str] = 'penalty'
    Options: ClassVar = PenaltyOptions

    def start(self, problem: IkProblem, at: Evaluation) -> State:
        """With the first weight."""
        terms = LimitTerms(self.options.weight, np.zeros_like(at.x))
        hessian = linear_hessian(at, self.options.epsilon)
        return PenaltyState(at, point=free_point(problem, at, terms, hessian))

    def step(self, problem: IkProblem, state: State) -> State:
        """One line search, or as many as it takes to move what is inside the limits."""
        assert isinstance(state, PenaltyState)
        assert state.point is not None
        at, point, evaluations = advance(
            problem, state.at, state.point, self.options, self.with_more_weight
        )
        return PenaltyState(at, evaluations, point)

    def with_more_weight(self, problem: Limited, point: FreePoint) -> FreePoint:
        """The same point with the next weight."""
        weight = min(point.terms.weight * self.options.growth, LARGEST_WEIGHT)
        return free_point(problem, point.at, replace(point.terms, weight=weight), point.hessian)
