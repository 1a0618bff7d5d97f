# SPDX-License-Identifier: Apache-2.0
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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..kernels.jit import kernel
from ..maths.rotations import Array
from ..maths.svd import decompose, nth_largest, product
from ..optim.layouts import Record
from ..options import option
from .jacobian_method import (
    ERROR,
    MAX_STEP,
    JacobianMethod,
    JacobianMethodOptions,
    goal_magnitude,
    method_step,
)
from .names import PresetName

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


RHO = 3
"""Index into `own_vectors`, after those of all Jacobian methods: the distance that a unit step of
each joint alone moves the end effectors, summed over them."""


@kernel
def update(search: Record) -> None:
    """dx = the sum of the singular values' steps, each clamped; the sum is clamped by the rest."""
    dx, squares = search.dx, search.rhs
    m, n = search.work.shape
    decompose(search.own_columns, search.basis, search.work, squares)
    largest_step = search.own_options[MAX_STEP]
    for j in range(n):
        dx[j] = 0.0
        search.own_vectors[RHO, j] = over_end_effectors(search, search.own_columns[j])
    least = RANK_TOLERANCE**2 * nth_largest(squares, m, 0)
    for i in range(m):
        if squares[i] > least:
            share = product(search.basis[i], search.own_rows[ERROR]) / squares[i]
            gamma = largest_step * allowed_share(search, i, squares[i])
            largest = 0.0
            for j in range(n):
                largest = max(largest, abs(share * search.work[i, j]))
            if largest > gamma:
                share *= gamma / largest
            for j in range(n):
                dx[j] += share * search.work[i, j]


@kernel
def allowed_share(search: Record, i: int, square: float) -> float:
    """min(1, N_i / M_i) for a singular value with this square."""
    way = 0.0
    for j in range(search.work.shape[1]):
        way += abs(search.work[i, j]) * search.own_vectors[RHO, j]
    goal = over_end_effectors(search, search.basis[i])
    return min(1.0, goal * square / way) if way > 0.0 else 1.0


@kernel
def over_end_effectors(search: Record, rows: Array) -> float:
    """The sum of the lengths of each end effector's part of `rows` (m,)."""
    total, others = 0.0, 0.0
    for i in range(search.of_goals.shape[0]):
        total += goal_magnitude(search.problem.table, rows, i)
    for i in range(search.problem.goal_rows, rows.shape[0]):
        others += rows[i] * rows[i]
    return total + math.sqrt(others)


class SelectivelyDampedLeastSquares(JacobianMethod):
    """See the module."""

    name: ClassVar[str] = 'selectively_damped_least_squares'
    Options: ClassVar = SelectivelyDampedLeastSquaresOptions
    presets: ClassVar[Mapping[PresetName, Mapping[str, Any]]] = {
        'buss_pure': {'max_error': np.inf}
    }
    step: ClassVar = staticmethod(method_step(name, update))
