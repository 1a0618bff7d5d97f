"""The limits as constraints, by the augmented Lagrangian (LANCELOT in [TakKo] section 4.3).

Tak & Ko solve their inverse kinematics by "successive minimization of the augmented Lagrangian";
the coursework [Dorta2014] (section 3.1.2) calls Lagrange multipliers perhaps the best way to
constrain joints. The cost f = |r|^2 subject to l <= x <= u has the augmented Lagrangian

    phi(x) = f(x) + mu |v(x + lambda / (2 mu))|^2 + const,    v(x) = x - P(x)

(`limit_terms` derives it), with one multiplier per variable, positive at an upper and negative
at a lower limit. Whenever phi is about least in x,

    lambda <- 2 mu v(x + lambda / (2 mu))

and mu grows where that did not bring x nearer to the limits. At the solution lambda is minus the
gradient of f where a limit holds, so that, unlike with a penalty, the minimum of phi is inside
the limits at a finite weight. Iterates may be outside; what the search sees is
P(x + lambda / (2 mu)), inside and on the limits that have a multiplier.

With secondary tasks the goals, once they are reached, become constraints too
(`goal_constraints`): minimise |s(x)|^2 subject to r(x) = 0 and the limits. The goals' terms are
like the limits', for multipliers eta of the goals,

    phi(x) = |s|^2 + kappa |r + eta / (2 kappa)|^2 + the limits' terms

and eta <- eta + 2 kappa r after each minimisation over x, for which the limits' terms are treated
as above. kappa grows where that did not bring r nearer to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..maths.rotations import Array
from ..optim.goal_constraints import GoalEqualities
from ..optim.limit_terms import FreePoint, Limited, LimitTerms, free_point, step
from ..optim.null_space import Descent
from ..optim.python_quasi_newton import QuasiNewtonOptions, linear_hessian
from ..options import option
from ..problem import Evaluation, IkProblem
from ..robot.limits import JointLimits
from .limit_method import LimitMethod

NEARER = 0.25
"""Share of the distance outside that an update of lambda must leave at most, or mu grows."""

LARGEST_WEIGHT = 1e9
"""Beyond, the terms would drown the cost in rounding [m^2/rad^2]."""


GOAL_WEIGHT = 1e2
"""The first weight of the goals [1/m^2], for a secondary cost of 1."""

SEARCHES = 50
"""Line searches that one minimisation over x may take."""

SETTLED = 1e-9
"""A minimisation over x is over where a line search moves no joint by more [rad or m]."""


@dataclass(frozen=True)
class AugmentedLagrangianOptions(QuasiNewtonOptions):
    """Options of `augmented_lagrangian`."""

    weight: float = option(
        1.0, 'the first weight mu of the quadratic terms', unit='m^2/rad^2', bounds=(1e-6, 1e6)
    )
    growth: float = option(10.0, 'factor by which the weight grows', bounds=(1.1, 1e3))


class AugmentedLagrangian(LimitMethod):
    """See the module."""

    name: ClassVar[str] = 'augmented_lagrangian'
    Options: ClassVar = AugmentedLagrangianOptions

    def descent(self, problem: IkProblem, x: Array, reached: bool) -> Descent:
        """With the goals as constraints, where there is a point that fulfils them."""
        if reached and not problem.other_tasks:
            return GoalMultipliers(problem, x, self)
        return super().descent(problem, x, reached)

    def next_terms(self, problem: Limited, point: FreePoint) -> FreePoint:
        """The same point with the next multipliers, and more weight where they did too little."""
        limits, weight, last = problem.limits, point.terms.weight, point.terms.violation
        multipliers = 2.0 * weight * limits.violation(point.shifted)
        violation = float(np.max(np.abs(limits.violation(point.x))))
        if violation > NEARER * last:
            weight = min(weight * self.options.growth, LARGEST_WEIGHT)
        terms = LimitTerms(weight, multipliers, violation)
        return free_point(problem, point.at, terms, point.hessian)


@dataclass(frozen=True)
class GoalTerms:
    """|s|^2 + kappa |r + eta / (2 kappa)|^2 in the place of a problem's cost."""

    problem: IkProblem
    weight: float  # kappa
    shift: Array  # eta / (2 kappa), (m,)

    @property
    def limits(self) -> JointLimits:
        """The problem's."""
        return self.problem.limits

    def at(self, x: Array) -> Evaluation:
        """Both as one residual (s + m,), with its Jacobian; the errors are the goals'."""
        at = self.problem.at(x)
        residual, jacobian = self.problem.secondary_at(x)
        root = np.sqrt(self.weight)
        stacked = np.concatenate([residual, root * (at.residual + self.shift)])
        columns = np.vstack([jacobian, root * at.jacobian])
        cost = float(stacked @ stacked)
        return Evaluation(x, stacked, columns, cost, at.position_errors, at.orientation_errors)


class GoalMultipliers(GoalEqualities):
    """Successive minimisation over x, and multipliers of the goals in between."""

    def __init__(self, problem: IkProblem, x: Array, solver: AugmentedLagrangian) -> None:
        super().__init__(problem, x)
        self.solver = solver
        weight = GOAL_WEIGHT * (1.0 + self.first_cost)
        self.terms = GoalTerms(problem, weight, np.zeros_like(self.at.residual))
        self.limit_terms = LimitTerms(weight, np.zeros_like(x))
        self.distance = np.inf

    def next_iterate(self) -> Evaluation:
        """One minimisation, and the multipliers after it."""
        at = self.problem.at(self.minimum(self.current.x))
        distance = float(np.linalg.norm(at.residual))
        weight, shift = self.terms.weight, self.terms.shift + at.residual
        if distance > NEARER * self.distance:
            weight = min(weight * self.solver.options.growth, LARGEST_WEIGHT)
            shift = shift * (self.terms.weight / weight)
        self.distance = distance
        self.terms = GoalTerms(self.problem, weight, shift)
        return at

    def minimum(self, x: Array) -> Array:
        """Where the terms are about least, inside the limits; the limits' multipliers go on."""
        at = self.terms.at(x)
        hessian = linear_hessian(at.jacobian, self.solver.options.epsilon)
        point = free_point(self.terms, at, self.limit_terms, hessian)
        for _ in range(SEARCHES):
            before = at
            at, point, _ = step(self.terms, at, point, self.solver.options, self.solver.next_terms)
            if np.max(np.abs(at.x - before.x)) <= SETTLED:
                break
        self.limit_terms = point.terms
        return at.x
