"""Sequential quadratic programming (what EGIK 4.3 runs DONLP2 for).

The limits are constraints, as in the coursework's Lagrange route (Dorta et al. 2014, 3.1.2):

    minimise f(x) = |r(x)|^2   subject to   l <= x <= u

"The SQP algorithm is a generalization of Newton's method in that it finds a step away from the
current point by minimizing a quadratic model of the problem" (Tak & Ko, 4.3). Each step solves

    minimise grad f'p + p'Bp / 2   subject to   l - x <= p <= u - x

and goes along p, which descends and stays inside, as far as Armijo back-tracking finds good
(`line_search`). B approximates the Hessian of f, which is that of the Lagrangian, the constraints
being linear: BFGS with Powell's damping (1978), made for SQP, from 2 (J'J + eps I).

The quadratic program is solved as SLSQP does (Kraft 1988): with B = L L' it is the least squares
problem |L'p + L^-1 grad f|^2 inside the bounds, and for those the active-set method of Stark
& Parker (1995) is exact: scipy's `lsq_linear(method='bvls')`. So the active set comes out of the
program, many variables at a time; that is what differs from `bfgs`. scipy is imported by the
first step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..limits import JointLimits
from ..problem import Evaluation, IkProblem
from ..quasi_newton import QuasiNewtonOptions, descend, linear_hessian
from ..rotations import Array
from .base import IterativeSolver, State


@dataclass(eq=False)
class SqpState(State):
    """With the approximate Hessian (n, n) of the cost."""

    hessian: Array | None = None


class Sqp(IterativeSolver):
    """See the module."""

    name: ClassVar[str] = 'sqp'
    Options: ClassVar = QuasiNewtonOptions

    def start(self, problem: IkProblem, at: Evaluation) -> State:
        """With the Hessian of the linear model."""
        return SqpState(at, hessian=linear_hessian(at, self.options.epsilon))

    def step(self, problem: IkProblem, state: State) -> State:
        """One quadratic program, and one line search along its solution."""
        assert isinstance(state, SqpState)
        assert state.hessian is not None

        def solution(gradient: Array, hessian: Array) -> Array:
            return quadratic_program(hessian, gradient, problem.limits, state.at.x)

        at, hessian, evaluations = descend(
            problem, state.at, state.hessian, self.options, solution
        )
        return SqpState(at, evaluations, hessian)


def quadratic_program(hessian: Array, gradient: Array, limits: JointLimits, x: Array) -> Array:
    """The p (n,) that minimises g'p + p'Bp / 2 with x + p inside the limits.

    B (n, n) is positive definite, x (n,) is inside. Raises numpy's LinAlgError where B is not.
    """
    from scipy.optimize import lsq_linear

    step = np.zeros_like(x)
    free = limits.lower < limits.upper
    if not free.any():
        return step
    factor = np.linalg.cholesky(hessian[np.ix_(free, free)])
    target = -np.linalg.solve(factor, gradient[free])
    bounds = ((limits.lower - x)[free], (limits.upper - x)[free])
    found = lsq_linear(factor.T, target, bounds, method='bvls', tol=1e-14, max_iter=100)
    step[free] = found.x
    return step
