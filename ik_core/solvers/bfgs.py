"""Quasi-Newton with an active set ([ZhaoBadler1994]; [Engell2007] section 2.4).

The cost f = |r|^2 over the limits l <= x <= u (Eq. 10-12, 16) is modelled as a quadratic with
a positive definite approximation B of its Hessian (Eq. 13, 15; `quasi_newton.bfgs_update`):

    p = -B^-1 grad f,    grad f = 2 J'r

Eq. 14 prints the gradient as J (e - g); it is J'(e - g), and twice that for f without a half.

Limits. Clipping x + p to them is no good: what clipping leaves of a quasi-Newton direction need
not descend ([EngellErleben2011] section 4). Instead the model is reduced to the
variables that are free, as in Rosen's gradient projection:

    p_F = -(B_FF)^-1 grad_F f,    p_H = 0

A variable is held (H) at a limit that the negative gradient would have it cross, and, in a second
look, one at a limit that p would have it cross. grad f'p = -p_F' B_FF p_F < 0, so p descends. The
step along p ends at the first limit on its way, where that variable may be held next; up to
there it is found by Armijo back-tracking (`line_search`) from the full step. A variable is freed
as soon as its gradient points inwards.

Start. B is either 2 I, or the Hessian 2 (J'J + eps I) of the linear model; the 2007 paper prefers
the latter, but prints grad f' grad f, a number. eps keeps J'J, singular for redundant arms,
positive definite. Where the curvature condition s'y > 0 fails, y is damped, so B stays so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..maths import safe
from ..maths.rotations import Array
from ..optim.active_set import step_of_free
from ..optim.quasi_newton import QuasiNewtonOptions, QuasiNewtonState, descend, linear_hessian
from ..options import option
from ..problem import Evaluation, IkProblem
from ..robot.limits import JointLimits
from .base import IterativeSolver


@dataclass(frozen=True)
class BfgsOptions(QuasiNewtonOptions):
    """Options of `bfgs`."""

    initial_hessian: str = option(
        'gauss_newton',
        "the first approximation: that of the linear model, or the identity's",
        choices=('gauss_newton', 'identity'),
    )


class Bfgs(IterativeSolver[QuasiNewtonState]):
    """See the module."""

    name: ClassVar[str] = 'bfgs'
    Options: ClassVar = BfgsOptions

    def start(self, problem: IkProblem, at: Evaluation) -> QuasiNewtonState:
        """With the first approximation of the Hessian."""
        if self.options.initial_hessian == 'identity':
            return QuasiNewtonState(at, hessian=2.0 * np.eye(len(at.x)))
        return QuasiNewtonState(at, hessian=linear_hessian(at.jacobian, self.options.epsilon))

    def step(self, problem: IkProblem, state: QuasiNewtonState) -> QuasiNewtonState:
        """One line search along the reduced direction, up to the first limit."""

        def reduced_step(gradient: Array, hessian: Array) -> Array:
            x, limits = state.at.x, problem.limits
            direction = reduced_direction(limits, x, gradient, hessian)
            return direction * limits.reach(x, direction)

        return descend(problem, state, self.options, reduced_step)


def reduced_direction(limits: JointLimits, x: Array, gradient: Array, hessian: Array) -> Array:
    """The quasi-Newton direction (n,) over the variables that no limit holds."""

    def solve(free: NDArray[np.bool_]) -> Array:
        return -safe.solve(hessian[np.ix_(free, free)], gradient[free])

    return step_of_free(limits, x, solve, ~limits.active(x, -gradient))
