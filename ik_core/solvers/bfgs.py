# SPDX-License-Identifier: Apache-2.0
"""Quasi-Newton with an active set ([ZhaoBadler1994]; [Engell2007] section 2.4).

The cost f = |r|^2 over the limits l <= x <= u (Eq. 10, 16) is modelled as a quadratic with
a positive definite approximation B of its Hessian (Eq. 13, 15; `quasi_newton.bfgs_update`):

    p = -B^-1 grad f,    grad f = 2 J'r

Eq. 14 prints the gradient as J (e - g); it is J'(e - g), and twice that for f without a half.

Limits. Clipping x + p to them is no good: what clipping leaves of a quasi-Newton direction need
not descend ([EngellErleben2011] section 4). Instead the model is reduced to the
variables that are free, as in Rosen's gradient projection:

    p_F = -(B_FF)^-1 grad_F f,    p_H = 0

A variable is clamped (H) at a limit that the negative gradient would have it cross, then also at
one that p would have it cross. grad f'p = -p_F' B_FF p_F < 0, so p descends. The step along p ends
at the first limit it meets, where that variable may be clamped next; Armijo back-tracking
(`line_search`) shortens it from there. A variable is freed as soon as its gradient points inwards.

Linear constraints a'x = b and a'x <= b (Eq. 11-12), where a problem has `constraints`. Their
normals are not at right angles to each other, as those of limits are, so a constraint that the
gradient would have x cross need not be active. Then p is the minimum of the model inside all
constraints, by an exact quadratic program (`optim.constrained`), which finds the active set.

Start. B is either 2 I, or the Hessian 2 (J'J + eps I) of the linear model; the 2007 paper prefers
the latter, but prints grad f' grad f, a number. eps keeps J'J, singular for redundant arms,
positive definite. Where the curvature condition s'y > 0 fails, y is damped, so B stays so.

The preset `state_of_the_art` has the stop rule of the report's section 3.3.1, the change of the
solution relative to the iteration before; the report does not print its threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..kernels.jit import kernel, with_kernels
from ..kernels.records import INT
from ..optim.active_set import fraction_inside, reduced_direction
from ..optim.constrained import constrained_step
from ..optim.layouts import Record
from ..optim.quasi_newton import QUASI_NEWTON, QuasiNewtonOptions, begin_model, descend
from ..options import option
from .base import KernelSolver
from .names import PresetName

INITIAL_HESSIANS = 'gauss_newton', 'identity'
IDENTITY = 1


@dataclass(frozen=True)
class BfgsOptions(QuasiNewtonOptions):
    """Options of `bfgs`."""

    initial_hessian: str = option(
        'gauss_newton',
        'initial Hessian: that of the linear model, or the identity',
        choices=INITIAL_HESSIANS,
    )


BFGS = QUASI_NEWTON.extended('bfgs', initial_hessian=(INT,))
own_at = BFGS.vector_view()


@kernel
def start(search: Record) -> None:
    """Begin with half the first approximation B of the Hessian: J'J + eps I, or I."""
    own = own_at(search.own)
    begin_model(search)
    if own.initial_hessian == IDENTITY:
        for j in range(search.joints):
            for k in range(j):
                own.model[j, k] = 0.0
            own.model[j, j] = 1.0


@kernel
def reduced_step(search: Record) -> None:
    """dx = the reduced direction, up to the first limit that it meets."""
    x, dx = search.x, search.dx
    reduced_direction(
        own_at(search.own).model,
        search.gradient,
        x,
        search.problem.bounds,
        dx,
        search.clamped,
        search.normal,
        search.rhs,
    )
    fraction = fraction_inside(x, dx, search.problem.bounds)
    for j in range(dx.shape[0]):
        dx[j] *= fraction


class Bfgs(KernelSolver):
    """BFGS with an active set of limits."""

    name: ClassVar[str] = 'bfgs'
    avoids: ClassVar = True
    Options: ClassVar = BfgsOptions
    layout: ClassVar = BFGS
    presets: ClassVar[Mapping[PresetName, Mapping[str, Any]]] = {
        'state_of_the_art': {'initial_hessian': 'gauss_newton', 'relative_change': 1e-6}
    }
    start = start
    step = with_kernels(descend, 'step_bfgs', model_step=reduced_step)
    constrained_step = constrained_step
