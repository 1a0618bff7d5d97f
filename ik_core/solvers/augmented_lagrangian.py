"""The limits as constraints, by the augmented Lagrangian (what EGIK 4.3 runs LANCELOT for).

Tak & Ko solve their inverse kinematics by "successive minimization of the augmented Lagrangian";
the coursework of Dorta et al. (3.1.2) calls Lagrange multipliers perhaps the best way to
constrain joints. The cost f = |r|^2 subject to l <= x <= u has the augmented Lagrangian

    phi(x) = f(x) + mu |v(x + lambda / (2 mu))|^2 + const,    v(x) = x - P(x)

(`limit_terms` derives it), with one multiplier per variable, positive at an upper and negative
at a lower limit. Whenever phi is about least in x,

    lambda <- 2 mu v(x + lambda / (2 mu))

and mu grows where that did not bring x nearer to the limits. At the solution lambda is minus the
gradient of f where a limit holds, so that, unlike with a penalty, the minimum of phi is inside
the limits at a finite weight. Iterates may be outside; what the driver sees is
P(x + lambda / (2 mu)), inside and on the limits that have a multiplier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..limit_terms import FreePoint, LimitTerms, advance, free_point
from ..options import option
from ..problem import Evaluation, IkProblem
from ..quasi_newton import QuasiNewtonOptions, linear_hessian
from .base import IterativeSolver, State

NEARER = 0.25
"""Share of the distance outside that an update of lambda must leave at most, or mu grows."""

LARGEST_WEIGHT = 1e9
"""Beyond, the terms would drown the cost in rounding [m^2/rad^2]."""


@dataclass(frozen=True)
class AugmentedLagrangianOptions(QuasiNewtonOptions):
    """Options of `augmented_lagrangian`."""

    weight: float = option(1.0, 'the first weight mu of the quadratic terms', unit='m^2/rad^2',
                           bounds=(1e-6, 1e6))  # fmt: skip
    growth: float = option(10.0, 'factor by which the weight grows', bounds=(1.1, 1e3))


@dataclass(eq=False)
class LagrangianState(State):
    """`at` is inside the limits; the iterate itself, `point`, may be outside."""

    point: FreePoint | None = None


class AugmentedLagrangian(IterativeSolver):
    """See the module."""

    name: ClassVar[str] = 'augmented_lagrangian'
    Options: ClassVar = AugmentedLagrangianOptions

    def start(self, problem: IkProblem, at: Evaluation) -> State:
        """With multipliers 0 and the first weight."""
        terms = LimitTerms(self.options.weight, np.zeros_like(at.x))
        hessian = linear_hessian(at, self.options.epsilon)
        return LagrangianState(at, point=free_point(problem, at, terms, hessian))

    def step(self, problem: IkProblem, state: State) -> State:
        """One line search, or as many as it takes to move what is inside the limits."""
        assert isinstance(state, LagrangianState)
        assert state.point is not None
        at, point, evaluations = advance(
            problem, state.at, state.point, self.options, self.with_next_terms
        )
        return LagrangianState(at, evaluations, point)

    def with_next_terms(self, problem: IkProblem, point: FreePoint) -> FreePoint:
        """The same point with the next multipliers, and more weight where they did too little."""
        limits, weight, last = problem.limits, point.terms.weight, point.terms.violation
        multipliers = 2.0 * weight * limits.violation(point.shifted)
        violation = float(np.max(np.abs(limits.violation(point.x))))
        if violation > NEARER * last:
            weight = min(weight * self.options.growth, LARGEST_WEIGHT)
        terms = LimitTerms(weight, multipliers, violation)
        return free_point(problem, point.at, terms, point.hessian)
