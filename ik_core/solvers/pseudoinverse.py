"""The pseudoinverse method [Whitney1969], as in [Buss2009] sections 4 and 6.

    dq = J+ e + (I - J+J) phi                                         (Eq. 7)

J+ e is the shortest of the steps for which |J dq - e| is least (Eq. 6). With the singular value
decomposition J = sum s_i u_i v_i' it is the sum of v_i (u_i'e) / s_i over the s_i that are not 0
(Eq. 13): here those above `rank_tolerance` times the largest, so that a singularity is noticed
before rounding hides it. (J+ = (J'J)^-1 J', Eq. 3.7 of [Dorta2014], holds only where J has
no more columns than rows.) Near a singularity 1 / s_i makes steps huge, and targets out of reach
make the method swing; Buss recommends it only with the step clamped severely.

(I - J+J) projects onto the null space of J: it lets through as much of a motion phi as moves no
goal, to first order. Where the problem has secondary tasks, with the residual r and its Jacobian
R, phi is the motion of the null space that mends them best [BaerlocherBoulic1998],

    phi = argmin |r + R phi| over phi = (I - J+J) phi

so for a rest posture it is (I - J+J)(rest - q), Liegeois's use of it [Liegeois1977]. Here they
shape the way to the goals; what of them is left there is for the search to finish, as with all
solvers.

`halving_tolerance` and `time_step` make it the algorithm of [Dorta2014] (section 3.1): e is
halved until |(I - JJ+) e|, what no step can mend of it, is within the tolerance (steps 4 and 5),
then q += dt J+ e (Eq. 3.12) and limits are kept by capping (Eq. 3.13, where dt is left out, and
x stands for that sum). With `limits: at_the_end` it is the inverse-Jacobian method of Blender
that [EngellErleben2011] compares its own with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..maths.linalg import damped_step
from ..maths.rotations import Array
from ..options import option
from ..problem import IkProblem
from .jacobian_method import (
    JacobianMethod,
    JacobianMethodOptions,
    JacobianState,
    halved,
    truncated_svd,
)

SECONDARY_DAMPING = 1e-3
"""Damping of phi, for what the null space can hardly do."""


@dataclass(frozen=True)
class PseudoinverseOptions(JacobianMethodOptions):
    """Options of `pseudoinverse`."""

    rank_tolerance: float = option(
        1e-3, 'singular values below this, relative to the largest, are 0', bounds=(1e-15, 1.0)
    )
    time_step: float = option(
        1.0, 'dt, the share of the step to the target that is made', bounds=(1e-9, 2.0)
    )
    halving_tolerance: float = option(
        np.inf,
        'how much of an error may be beyond the reach of J',
        unit='m',
        bounds=(1e-12, np.inf),
    )


class Pseudoinverse(JacobianMethod):
    """See the module."""

    name: ClassVar[str] = 'pseudoinverse'
    Options: ClassVar = PseudoinverseOptions

    def update(
        self, problem: IkProblem, state: JacobianState, jacobian: Array, error: Array
    ) -> Array:
        """See JacobianMethod."""
        o = self.options
        u, s, v = truncated_svd(jacobian, o.rank_tolerance)
        error = halved(error, u, o.halving_tolerance)
        step: Array = o.time_step * (v @ ((error @ u) / s))
        if problem.secondary:
            step += self.null_space_step(problem, state, v)
        return step

    def null_space_step(self, problem: IkProblem, state: JacobianState, v: Array) -> Array:
        """phi (variables,) for the right singular vectors v (variables, rank) of J."""
        residual, jacobian = problem.secondary_at(state.here.x)
        free = jacobian * state.scale
        free -= (free @ v) @ v.T
        phi = damped_step(free, -residual, SECONDARY_DAMPING)
        return phi - v @ (phi @ v)
