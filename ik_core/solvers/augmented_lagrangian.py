# SPDX-License-Identifier: Apache-2.0
"""The limits as constraints, by the augmented Lagrangian (LANCELOT in [TakKo] section 4.3).

Tak & Ko solve their inverse kinematics by "successive minimization of the augmented Lagrangian";
the coursework [Dorta2014] (section 3.1.2) calls Lagrange multipliers perhaps the best way to
constrain joints. The cost f = |r|^2 subject to l <= x <= u has the augmented Lagrangian

    phi(x) = f(x) + mu |v(x + lambda / (2 mu))|^2 + const,    v(x) = x - P(x)

(`limit_terms` derives it), with one multiplier per variable, positive at an upper and negative
at a lower limit. Whenever x about minimises phi,

    lambda <- 2 mu v(x + lambda / (2 mu))

and mu grows if x came little nearer to the limits. At the solution lambda is minus the gradient of
f at active limits, so that, unlike with a penalty, the minimum of phi is inside the limits at a
finite weight. Iterates may be outside; the search's point is P(x + lambda / (2 mu)), inside and on
the limits that have a multiplier.

With secondary tasks the goals, once they are reached, become constraints too
(`goal_constraints`): minimise |s(x)|^2 subject to r(x) = 0 and the limits. The goals' terms are
like the limits', for multipliers eta of the goals,

    phi(x) = |s|^2 + kappa |r + eta / (2 kappa)|^2 + the limits' terms

and eta <- eta + 2 kappa r after each minimisation over x, for which the limits' terms are treated
as above. kappa grows if r came little nearer to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..kernels.jit import kernel, with_kernels
from ..maths.argument_types import VectorLike
from ..maths.boxed_step import clamp
from ..maths.rotations import Array
from ..optim.goal_constraints import GoalEqualities
from ..optim.layouts import Record
from ..optim.limit_terms import limit_terms_at, outside, step
from ..optim.null_space import Descent
from ..optim.quasi_newton import QuasiNewtonOptions
from ..optim.search import Budget
from ..options import option
from ..problem import Evaluation, IkProblem
from ..robot.robot import Robot
from ..tasks.base import Task
from .limit_method import LimitMethod

# mu grows unless an update of lambda reduces the violation of the limits to this fraction.
NEARER = 0.25

# [m^2/rad^2] Largest weight: beyond it, rounding of the terms would exceed the cost.
LARGEST_WEIGHT = 1e9


GOAL_WEIGHT = 1e2  # The first weight of the goals [1/m^2], for a secondary cost of 1

# Largest first weight of the limits' terms; below it they begin with that of the goals.
HEAVIEST_START = 1e6

SEARCHES = 50  # Maximum number of line searches in one minimisation over x


@dataclass(frozen=True)
class AugmentedLagrangianOptions(QuasiNewtonOptions):
    """Options of `augmented_lagrangian`."""

    weight: float = option(
        1.0, 'initial weight mu of the quadratic terms', unit='m^2/rad^2', bounds=(1e-6, 1e6)
    )
    growth: float = option(10.0, 'factor by which the weight grows', bounds=(1.1, 1e3))


@kernel
def next_multipliers(search: Record) -> None:
    """lambda <- 2 mu v(x + lambda / (2 mu)); mu grows if x came little nearer to the limits."""
    own, bounds = limit_terms_at(search.own), search.problem.bounds
    x, violation = own.iterate, 0.0
    for j in range(search.joints):
        own.multipliers[j] = 2.0 * own.mu * outside(search, x, j)
        violation = max(violation, abs(x[j] - clamp(x[j], bounds[0, j], bounds[1, j])))
    if violation > NEARER * own.violation:
        own.mu = min(own.mu * own.growth, LARGEST_WEIGHT)
    own.violation = violation


class AugmentedLagrangian(LimitMethod):
    """The augmented Lagrangian of the limits, minimised by BFGS."""

    name: ClassVar[str] = 'augmented_lagrangian'
    Options: ClassVar = AugmentedLagrangianOptions
    step = with_kernels(step, 'step_augmented_lagrangian', next_terms=next_multipliers)

    def descent(self, problem: IkProblem, x: Array, reached: bool) -> Descent:
        """Descend with the goals as constraints, if a point fulfils them."""
        if reached and not problem.other_tasks:
            return GoalMultipliers(problem, x, self.options)
        return super().descent(problem, x, reached)


class GoalTerms(Task):
    """Task with the cost kappa |r + eta / (2 kappa)|^2, for the residual r (m,) of goals."""

    def __init__(self, problem: IkProblem, weight: float, rows: int) -> None:
        self.problem = problem
        self.weight = weight  # kappa
        self.shift = np.zeros(rows)  # eta / (2 kappa)

    @property
    def links(self) -> tuple[str, ...]:
        """The links of the goals."""
        return tuple(link for goal in self.problem.goals for link in goal.links)

    def residual(self, robot: Robot, q: VectorLike) -> Array:
        """Return the goals' weighted, shifted residual (m,): sqrt(kappa) (r + eta / (2 kappa))."""
        at = self.problem.at(robot.checked(q)[self.problem.variables])
        result: Array = np.sqrt(self.weight) * (at.residual + self.shift)
        return result

    def jacobian(self, robot: Robot, q: VectorLike) -> Array:
        """Return the derivative (m, n) of the residual with respect to q."""
        at = self.problem.at(robot.checked(q)[self.problem.variables])
        columns = np.zeros((len(self.shift), robot.n))
        columns[:, self.problem.variables] = np.sqrt(self.weight) * at.jacobian
        return columns


class GoalMultipliers(GoalEqualities):
    """Successive minimisations over x, and updates of the goals' multipliers in between.

    Each minimises the cost of the secondary tasks and the goals' terms inside the limits, by this
    method.
    """

    def __init__(self, problem: IkProblem, x: Array, options: AugmentedLagrangianOptions) -> None:
        super().__init__(problem, x)
        weight = GOAL_WEIGHT * (1.0 + self.first_cost)
        self.terms = GoalTerms(problem, weight, len(self.at.residual))
        self.together = problem.with_tasks((*problem.secondary, self.terms))
        self.growth = options.growth
        first = min(weight, HEAVIEST_START)
        self.minimiser = AugmentedLagrangian(**{**vars(options), 'weight': first, 'restarts': 0})
        self.distance = np.inf

    def next_iterate(self) -> Evaluation:
        """Minimise once, and update the multipliers."""
        start = self.problem.evaluator.q_at(self.current.x).copy()
        found = self.minimiser.solve(self.together, start, Budget(iterations=SEARCHES))
        self.evaluations += found.total_evaluations
        at = self.evaluate(found.q[self.problem.variables])
        distance = float(np.linalg.norm(at.residual))
        weight, shift = self.terms.weight, self.terms.shift + at.residual
        if distance > NEARER * self.distance:
            self.terms.weight = min(weight * self.growth, LARGEST_WEIGHT)
            shift = shift * (weight / self.terms.weight)
        self.terms.shift, self.distance = shift, distance
        return at
