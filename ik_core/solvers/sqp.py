# SPDX-License-Identifier: Apache-2.0
"""Sequential quadratic programming (what [TakKo] section 4.3 runs DONLP2 for).

The limits are constraints, as in the coursework's Lagrange route ([Dorta2014] section 3.1.2):

    minimise f(x) = |r(x)|^2   subject to   l <= x <= u

"The SQP algorithm is a generalization of Newton's method in that it finds a step away from the
current point by minimizing a quadratic model of the problem" ([TakKo] section 4.3). Each step
solves

    minimise grad f'p + p'Bp / 2   subject to   l - x <= p <= u - x

and moves along p, which descends and stays inside, as far as Armijo back-tracking allows
(`line_search`). B approximates the Hessian of f, which is that of the Lagrangian, the constraints
being linear: BFGS with Powell's damping [Powell1978], made for SQP, from 2 (J'J + eps I).

The program is solved exactly (`maths.dual_active_set`), which finds the active set, many variables
at a time: the difference from `bfgs`. With linear constraints beside the limits both solve the
same program (`optim.constrained`).

With secondary tasks the goals, once they are reached, become constraints too
(`goal_constraints`): minimise |s(x)|^2 subject to r(x) = 0 and the limits. The program is then

    minimise g'p + p'Bp / 2   subject to   J p = -r   and   l - x <= p <= u - x

with g = 2 Js's and B for the Hessian of the Lagrangian |s|^2 + lambda'r; lambda comes from
g + B p + J'lambda = 0 over the joints that are not clamped at a limit. The equalities are
fulfilled by the method of multipliers ([Powell1969], [Hestenes1969]): a few programs inside the
limits. The line search is on the merit |s|^2 + nu |r| [HanPowell], nu above |lambda|; as a full
step may be refused only for the curvature of the goals [Maratos1978], it is tried with a
second-order correction, J+ r(x + p) taken off.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..maths import safe
from ..maths.dual_active_set import SOLVED, boxed_program, program_size
from ..maths.linalg import damped_step
from ..maths.rotations import Array
from ..optim.constrained import constrained_step
from ..optim.goal_constraints import GoalEqualities
from ..optim.null_space import Descent
from ..optim.quasi_newton import (
    QUASI_NEWTON,
    QuasiNewtonOptions,
    begin_model,
    bfgs_update,
)
from ..problem import Evaluation, IkProblem
from ..robot.limits import JointLimits
from .base import KernelSolver

EQUALITY = 1e5  # Weight of the equalities, relative to the Hessian, in the method of multipliers

PROGRAMS = 10  # Maximum number of programs inside the limits that solve one with equalities

MET = 1e-12  # Equalities count as met once their residual has fallen by this factor


class Sqp(KernelSolver):
    """Sequential quadratic programming inside limits and linear constraints."""

    name: ClassVar[str] = 'sqp'
    avoids: ClassVar = True
    Options: ClassVar = QuasiNewtonOptions
    layout: ClassVar = QUASI_NEWTON
    start = begin_model
    step = constrained_step = constrained_step

    def descent(self, problem: IkProblem, x: Array, reached: bool) -> Descent:
        """Descend with the goals as constraints, if a point fulfils them."""
        if reached and not problem.other_tasks:
            return ConstrainedPrograms(problem, x, self.options)
        return super().descent(problem, x, reached)


class ConstrainedPrograms(GoalEqualities):
    """Sequential quadratic programs on the secondary tasks, the goals being constraints."""

    def __init__(self, problem: IkProblem, x: Array, options: QuasiNewtonOptions) -> None:
        super().__init__(problem, x)
        self.options = options
        _, jacobian = problem.evaluator.secondary_at(x)
        self.hessian = 2.0 * (jacobian.T @ jacobian + options.epsilon * np.eye(len(x)))
        self.penalty = 0.0  # nu

    def next_iterate(self) -> Evaluation:
        """Solve one program, and line-search on the merit."""
        at, limits = self.current, self.problem.limits
        gradient = self.gradient(at)
        step = program_with_equalities(
            self.hessian, gradient, limits, at.x, at.jacobian, at.residual
        )
        pull = -(gradient + self.hessian @ step)
        free = (at.x + step > limits.lower) & (at.x + step < limits.upper)
        multipliers = safe.least_squares(at.jacobian[:, free].T, pull[free], 1e-9)
        self.penalty = max(self.penalty, 2.0 * float(np.linalg.norm(multipliers)))
        new = self.search(at, step, float(gradient @ step))
        change = self.gradient(new) - gradient
        change += (new.jacobian - at.jacobian).T @ multipliers
        bfgs_update(self.hessian, new.x - at.x, change, np.empty_like(at.x))
        self.hessian = np.tril(self.hessian) + np.tril(self.hessian, -1).T
        return new

    def gradient(self, at: Evaluation) -> Array:
        """Return the gradient 2 Js's (n,) of the secondary cost."""
        residual, jacobian = self.problem.evaluator.secondary_at(at.x)
        result: Array = 2.0 * (jacobian.T @ residual)
        return result

    def merit(self, at: Evaluation) -> float:
        """Return |s|^2 + nu |r|."""
        return self.secondary_cost(at.x) + self.penalty * float(np.sqrt(at.cost))

    def search(self, at: Evaluation, step: Array, slope: float) -> Evaluation:
        """Return the first point that lowers the merit enough; `at` if none does."""
        project, merit = self.problem.limits.project, self.merit(at)
        slope = min(0.0, slope - self.penalty * float(np.sqrt(at.cost)))
        size = 1.0
        while size * np.max(np.abs(step)) > 1e-12:
            trial = self.evaluate(project(at.x + size * step))
            back = damped_step(trial.jacobian, -trial.residual, 0.0)
            for new in (self.evaluate(project(trial.x + back)), trial):
                if self.merit(new) < merit + self.options.alpha * size * slope:
                    return new
            size *= self.options.beta
        return at


def program_with_equalities(
    hessian: Array,
    gradient: Array,
    limits: JointLimits,
    x: Array,
    jacobian: Array,
    residual: Array,
) -> Array:
    """Return the p (n,) that minimises g'p + p'Bp / 2 with x + p inside the limits and J p = -r.

    B (n, n) is positive definite, x (n,) is inside, J (m, n), r (m,). If the equalities can't be
    fulfilled, p comes as near as it can. 0 if B is not definite, by rounding.

    Multipliers: with the terms w |J p + r + lambda / w|^2 / 2 instead of the equalities, lambda
    grows by w (J p + r) until that is 0.
    """
    step, memory = np.zeros(len(x)), np.empty(program_size(len(x), 0))
    size = np.trace(hessian) / max(float(np.sum(jacobian * jacobian)), 1e-300)
    weight = EQUALITY * size
    model, normal = hessian + weight * jacobian.T @ jacobian, np.empty_like(hessian)
    multipliers = np.zeros_like(residual)
    for _ in range(PROGRAMS):
        pull = gradient + jacobian.T @ (multipliers + weight * residual)
        if boxed_program(model, pull, x, limits.packed, normal, step, memory) != SOLVED:
            break
        left = jacobian @ step + residual
        multipliers += weight * left
        if np.linalg.norm(left) <= MET * np.linalg.norm(residual):
            break
    return step
