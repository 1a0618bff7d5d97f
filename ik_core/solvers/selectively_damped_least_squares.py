"""Selectively damped least squares [BussKim2005]: each singular vector has its own damping.

The pseudoinverse step is a sum over the singular values of J = sum s_i u_i v_i',

    dq = sum v_i (u_i'e) / s_i,

and where s_i is small the joints move much and the end effectors little. So the i-th term may
move joints by at most gamma_i:

    N_i     = sum_l |u_l,i|                      how far it should move the end effectors l
    M_i     = 1/s_i sum_l sum_j |v_j,i| rho_l,j  how far the joints j could move them on the way
    gamma_i = min(1, N_i / M_i) gamma_max
    dq_i    = ClampMaxAbs(v_i (u_i'e) / s_i, gamma_i)
    dq      = ClampMaxAbs(sum dq_i, gamma_max)

u_l,i are the rows of u_i that belong to the end effector l, and rho_l,j is the length of its part
of column j of J: how far a unit step of joint j alone moves it. Where the joints work against one
another M_i is large beside N_i, and the term is damped; no damping constant is to be tuned, and
away from singularities nothing is damped for small errors. (Its authors' program has
gamma / (gamma + max) in the place of both clamps.)

gamma_max is `max_step`, pi/4 as in the paper. An end effector here is a goal: of a pose goal all
six rows count, weighted and with rotations in metres, as in the cost. Tasks that are no goals
count as one more end effector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..maths.rotations import Array
from ..options import option
from ..problem import IkProblem
from .jacobian_method import JacobianMethod, JacobianMethodOptions, JacobianState, truncated_svd

RANK_TOLERANCE = 1e-10
"""Singular values below this, relative to the largest, are 0."""


@dataclass(frozen=True)
class SelectivelyDampedLeastSquaresOptions(JacobianMethodOptions):
    """Options of `selectively_damped_least_squares`."""

    max_step: float = option(
        math.pi / 4,
        'gamma_max: largest move of a joint in a step',
        unit='rad or m',
        bounds=(1e-9, np.inf),
    )


class SelectivelyDampedLeastSquares(JacobianMethod):
    """See the module."""

    name: ClassVar[str] = 'selectively_damped_least_squares'
    Options: ClassVar = SelectivelyDampedLeastSquaresOptions

    def update(
        self, problem: IkProblem, state: JacobianState, jacobian: Array, error: Array
    ) -> Array:
        """See JacobianMethod, which clamps the sum."""
        u, s, v = truncated_svd(jacobian, RANK_TOLERANCE)
        terms = v * ((error @ u) / s)
        largest = np.max(np.abs(terms), axis=0, initial=0.0)
        gamma = self.options.max_step * allowed_shares(
            jacobian, u, s, v, end_effectors(problem, len(u))
        )
        clamps = np.ones_like(s)
        over = largest > gamma
        clamps[over] = gamma[over] / largest[over]
        return np.asarray(terms @ clamps, float)


def end_effectors(problem: IkProblem, rows: int) -> list[slice]:
    """The rows of each goal; those of all other tasks together count as one more."""
    packed = problem.packed
    others = [slice(packed.rows, rows)] if rows > packed.rows else []
    return [*packed.goal_rows, *others]


def allowed_shares(jacobian: Array, u: Array, s: Array, v: Array, effectors: list[slice]) -> Array:
    """min(1, N_i / M_i) (rank,) for J (m, n) = u s v' and the rows of each end effector."""
    n, rho = np.zeros(len(s)), np.zeros(jacobian.shape[1])
    for rows in effectors:
        n += np.linalg.norm(u[rows], axis=0)
        rho += np.linalg.norm(jacobian[rows], axis=0)
    m = (rho @ np.abs(v)) / s
    return np.asarray(np.minimum(1.0, n / m), float)
