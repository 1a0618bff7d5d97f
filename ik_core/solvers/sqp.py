"""Sequential quadratic programming (what [TakKo] section 4.3 runs DONLP2 for).

The limits are constraints, as in the coursework's Lagrange route ([Dorta2014] section 3.1.2):

    minimise f(x) = |r(x)|^2   subject to   l <= x <= u

"The SQP algorithm is a generalization of Newton's method in that it finds a step away from the
current point by minimizing a quadratic model of the problem" ([TakKo] section 4.3). Each step
solves

    minimise grad f'p + p'Bp / 2   subject to   l - x <= p <= u - x

and goes along p, which descends and stays inside, as far as Armijo back-tracking finds good
(`line_search`). B approximates the Hessian of f, which is that of the Lagrangian, the constraints
being linear: BFGS with Powell's damping [Powell1978], made for SQP, from 2 (J'J + eps I).

The quadratic program is solved as SLSQP does [Kraft1988]: with B = L L' it is the least squares
problem |L'p + L^-1 grad f|^2 inside the bounds, and for those the active-set method of
[StarkParker1995] is exact: scipy's `lsq_linear(method='bvls')`. So the active set comes out of the
program, many variables at a time; that is what differs from `bfgs`. scipy is imported by the
first step.

With secondary tasks the goals, once they are reached, become constraints too
(`goal_constraints`): minimise |s(x)|^2 subject to r(x) = 0 and the limits. The program is then

    minimise g'p + p'Bp / 2   subject to   J p = -r   and   l - x <= p <= u - x

with g = 2 Js's and B for the Hessian of the Lagrangian |s|^2 + lambda'r; lambda comes from g + B p
+ J'lambda = 0 over the joints that no limit holds. The equalities join the least squares problem
with a large weight. The line search is on the merit |s|^2 + nu |r| [HanPowell], nu above |lambda|;
as a full step may be refused only for the curvature of the goals [Maratos1978], it is tried with a
second-order correction, J+ r(x + p) taken off.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..maths import safe
from ..maths.linalg import damped_step
from ..maths.rotations import Array
from ..optim.goal_constraints import GoalEqualities
from ..optim.null_space import Descent
from ..optim.quasi_newton import (
    QuasiNewtonOptions,
    QuasiNewtonState,
    bfgs_update,
    descend,
    linear_hessian,
)
from ..problem import Evaluation, IkProblem
from ..robot.limits import JointLimits
from .base import IterativeSolver

EQUALITY = 1e5
"""The weight of equalities in the least squares problem."""


class Sqp(IterativeSolver[QuasiNewtonState]):
    """See the module."""

    name: ClassVar[str] = 'sqp'
    Options: ClassVar = QuasiNewtonOptions

    def descent(self, problem: IkProblem, x: Array, reached: bool) -> Descent:
        """With the goals as constraints, where there is a point that fulfils them."""
        if reached and not problem.other_tasks:
            return ConstrainedPrograms(problem, x, self.options)
        return super().descent(problem, x, reached)

    def start(self, problem: IkProblem, at: Evaluation) -> QuasiNewtonState:
        """With the Hessian of the linear model."""
        return QuasiNewtonState(at, hessian=linear_hessian(at.jacobian, self.options.epsilon))

    def step(self, problem: IkProblem, state: QuasiNewtonState) -> QuasiNewtonState:
        """One quadratic program, and one line search along its solution."""

        def solution(gradient: Array, hessian: Array) -> Array:
            return quadratic_program(hessian, gradient, problem.limits, state.at.x)

        return descend(problem, state, self.options, solution)


class ConstrainedPrograms(GoalEqualities):
    """Sequential quadratic programs on the secondary tasks, the goals being constraints."""

    def __init__(self, problem: IkProblem, x: Array, options: QuasiNewtonOptions) -> None:
        super().__init__(problem, x)
        self.options = options
        _, jacobian = problem.secondary_at(x)
        self.hessian = linear_hessian(jacobian, options.epsilon)
        self.penalty = 0.0  # nu

    def next_iterate(self) -> Evaluation:
        """One program and one line search on the merit."""
        at, limits = self.current, self.problem.limits
        gradient = self.gradient(at)
        step = quadratic_program(self.hessian, gradient, limits, at.x, at.jacobian, at.residual)
        pull = -(gradient + self.hessian @ step)
        free = (at.x + step > limits.lower) & (at.x + step < limits.upper)
        multipliers = safe.least_squares(at.jacobian[:, free].T, pull[free], 1e-9)
        self.penalty = max(self.penalty, 2.0 * float(np.linalg.norm(multipliers)))
        new = self.search(at, step, float(gradient @ step))
        change = self.gradient(new) - gradient
        change += (new.jacobian - at.jacobian).T @ multipliers
        self.hessian = bfgs_update(self.hessian, new.x - at.x, change)
        return new

    def gradient(self, at: Evaluation) -> Array:
        """The gradient 2 Js's (n,) of the secondary cost."""
        residual, jacobian = self.problem.secondary_at(at.x)
        result: Array = 2.0 * (jacobian.T @ residual)
        return result

    def merit(self, at: Evaluation) -> float:
        """|s|^2 + nu |r|."""
        return self.secondary_cost(at.x) + self.penalty * float(np.sqrt(at.cost))

    def search(self, at: Evaluation, step: Array, slope: float) -> Evaluation:
        """The first point that lowers the merit enough; `at` where none does."""
        project, merit = self.problem.limits.project, self.merit(at)
        slope = min(0.0, slope - self.penalty * float(np.sqrt(at.cost)))
        size = 1.0
        while size * np.max(np.abs(step)) > 1e-12:
            trial = self.problem.at(project(at.x + size * step))
            back = damped_step(trial.jacobian, -trial.residual, 0.0)
            for new in (self.problem.at(project(trial.x + back)), trial):
                if self.merit(new) < merit + self.options.alpha * size * slope:
                    return new
            size *= self.options.beta
        return at


def quadratic_program(
    hessian: Array,
    gradient: Array,
    limits: JointLimits,
    x: Array,
    jacobian: Array | None = None,
    residual: Array | None = None,
) -> Array:
    """The p (n,) that minimises g'p + p'Bp / 2 with x + p inside the limits.

    B (n, n) is positive definite, x (n,) is inside. With J (m, n) and r (m,), p fulfils J p = -r
    as well, or nearly so where it can't. 0 where rounding has left B no longer definite.
    """
    from scipy.optimize import lsq_linear

    step = np.zeros_like(x)
    free = limits.lower < limits.upper
    if not free.any():
        return step
    factor = safe.cholesky(hessian[np.ix_(free, free)])
    if factor is None:
        return step
    target = -safe.solve(factor, gradient[free])
    rows = factor.T
    if jacobian is not None and residual is not None:
        rows = np.vstack([rows, EQUALITY * jacobian[:, free]])
        target = np.concatenate([target, -EQUALITY * residual])
    if not (np.isfinite(rows).all() and np.isfinite(target).all()):
        return step
    bounds = ((limits.lower - x)[free], (limits.upper - x)[free])
    found = lsq_linear(
        rows, target, bounds, method='bvls', tol=1e-14, max_iter=20 * len(rows[0]) + 100
    )
    step[free] = found.x
    return step
