# SPDX-License-Identifier: Apache-2.0
"""Selectively damped least squares [BussKim2005]: each singular vector has its own damping.

The pseudoinverse step is a sum over the singular values of J = sum s_i u_i v_i',

    dq = sum v_i (u_i'e) / s_i,

and where s_i is small the joints move much and the end effectors little. So the i-th term may
move joints by at most gamma_i:

    N_i     = sum_l |u_l,i|                      by how much the term moves the end effectors l
    M_i     = 1/s_i sum_l sum_j |v_j,i| rho_l,j  the same, if no joint's effect cancelled another's
    gamma_i = min(1, N_i / M_i) gamma_max
    dq_i    = ClampMaxAbs(v_i (u_i'e) / s_i, gamma_i)
    dq      = ClampMaxAbs(sum dq_i, gamma_max)

u_l,i are the rows of u_i that belong to the end effector l, and rho_l,j is the length of its part
of column j of J: how far a unit step of joint j alone moves it. Where the joints work against one
another M_i is large beside N_i, and the term is damped; no damping constant is to be tuned, and
away from singularities nothing is damped for small errors. (Its authors' program has
gamma / (gamma + max) in the place of both clamps.)

gamma_max is `max_step`, pi/4 as in the paper. An end effector here is a goal: of a pose goal all
six rows count, weighted and with rotations in metres, as in the cost. Tasks other than goals
count as one more end effector.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..kernels.jit import kernel
from ..kernels.records import FLOAT
from ..maths.rotations import Array
from ..maths.svd import decompose, nth_largest, product
from ..optim.layouts import Record
from ..options import option
from .jacobian_method import (
    JACOBIAN_METHOD,
    JacobianMethod,
    JacobianMethodOptions,
    goal_magnitude,
    method_step,
)
from .names import PresetName

ZERO_SINGULAR_VALUE = 1e-10  # Singular values below this, relative to the largest, are 0


@dataclass(frozen=True)
class SelectivelyDampedLeastSquaresOptions(JacobianMethodOptions):
    """Options of `selectively_damped_least_squares`."""

    max_step: float = option(
        math.pi / 4,
        'gamma_max: largest move of a joint in a step',
        unit='rad or m',
        bounds=(1e-9, np.inf),
    )


SELECTIVELY_DAMPED = JACOBIAN_METHOD.extended(
    'selectively_damped_least_squares',
    rho=(FLOAT, 'joints'),  # how far a unit step of a joint alone moves all end effectors, summed
)
own_at = SELECTIVELY_DAMPED.vector_view()


@kernel
def update(search: Record) -> None:
    """dx = the sum of the singular values' steps, each clamped; the sum is clamped by the rest."""
    own, dx, squares = own_at(search.own), search.dx, search.rhs
    columns, error, rho, (m, n) = own.columns, own.error, own.rho, search.work.shape
    decompose(columns, search.basis, search.work, squares)
    for j in range(n):
        dx[j] = 0.0
        rho[j] = over_end_effectors(search, columns[j])
    least = ZERO_SINGULAR_VALUE**2 * nth_largest(squares, m, 0)
    for i in range(m):
        if squares[i] > least:
            factor = product(search.basis[i], error) / squares[i]
            gamma = own.max_step * allowed_fraction(search, i, squares[i])
            largest = 0.0
            for j in range(n):
                largest = max(largest, abs(factor * search.work[i, j]))
            if largest > gamma:
                factor *= gamma / largest
            for j in range(n):
                dx[j] += factor * search.work[i, j]


@kernel
def allowed_fraction(search: Record, i: int, square: float) -> float:
    """Return min(1, N_i / M_i) for a singular value s_i with this square."""
    rho, weighted = own_at(search.own).rho, 0.0
    for j in range(search.work.shape[1]):  # work[i] is s_i v_i, so the sum is s_i^2 M_i
        weighted += abs(search.work[i, j]) * rho[j]
    n_i = over_end_effectors(search, search.basis[i])
    return min(1.0, n_i * square / weighted) if weighted > 0.0 else 1.0


@kernel
def over_end_effectors(search: Record, rows: Array) -> float:
    """Return the sum of the lengths of all end effectors' parts of `rows` (m,)."""
    total, others = 0.0, 0.0
    for i in range(search.goals):
        total += goal_magnitude(search.problem.table, rows, i)
    for i in range(search.problem.goal_rows, rows.shape[0]):
        others += rows[i] * rows[i]
    return total + math.sqrt(others)


class SelectivelyDampedLeastSquares(JacobianMethod):
    """Selectively damped least squares."""

    name: ClassVar[str] = 'selectively_damped_least_squares'
    Options: ClassVar = SelectivelyDampedLeastSquaresOptions
    layout: ClassVar = SELECTIVELY_DAMPED
    presets: ClassVar[Mapping[PresetName, Mapping[str, Any]]] = {
        'buss_pure': {'max_error': np.inf}
    }
    step: ClassVar = staticmethod(method_step(name, update))
