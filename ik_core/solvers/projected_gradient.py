# SPDX-License-Identifier: Apache-2.0
"""Projected gradient descent [EngellErleben2011].

All goals together are one cost with the weights W, to be least inside the limits (Eq. 16-19):

    f(x) = (g - F(x))' W (g - F(x)),    l <= x <= u                      (17, 19)

The residual r here is the weighted one, so f = |r|^2 and the gradient is

    grad f = -2 J' W (g - F(x)) = 2 J'r                                  (26)

for the exact Jacobian J of r. Each iteration goes against it, and the limits are part of the
line search: every trial is projected onto them, and is judged by what the projection leaves of
the move (Eq. 32-40, `line_search`). The negative gradient is at right angles to the contours of
f, so its projection always descends: the cost falls in every iteration, whatever the start, and
the method ends where no feasible direction descends.

Jacobian transpose is the same step at a fixed tau (Eq. 27).

The paper tries tau = 1 first, every time ('one', the preset `tau_one`). That, in its units and in
ours, is a matter of scale, and convergence is linear at a rate that the condition of J'J sets.
The default ('barzilai_borwein') tries

    tau = s's / s'y,    s = x_k - x_(k-1),  y = grad f_k - grad f_(k-1)

first ([BarzilaiBorwein1988]; with projection [Birgin2000]): the inverse of
the curvature that the last step saw. Direction, projection, Eq. 39 and what they promise stay
as they are; the iterations become fewer, by a factor of four to twenty on the robots here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..kernels.jit import kernel
from ..kernels.records import FLOAT, INT
from ..maths.vectors import copy_to
from ..optim.layouts import Record
from ..optim.line_search import LINE_SEARCH, LineSearchOptions, armijo
from ..options import option
from .base import KernelSolver
from .names import PresetName

SHORTEST_STEP, LONGEST_STEP = 1e-6, 1e6  # Bounds of the first tau, for curvatures close to 0

FIRST_STEPS = 'one', 'barzilai_borwein'
BARZILAI_BORWEIN = 1


@dataclass(frozen=True)
class ProjectedGradientOptions(LineSearchOptions):
    """Options of `projected_gradient`."""

    max_iterations: int = option(5000, 'iterations per attempt', bounds=(1, 10**9))
    first_step: str = option(
        'barzilai_borwein',
        'initial step of a line search',
        choices=FIRST_STEPS,
    )


PROJECTED_GRADIENT = LINE_SEARCH.extended(
    'projected_gradient',
    first_step=(INT,),
    moved=(INT,),  # 1 if the last step moved x; 0 before the first step
    last=(FLOAT, 'joints'),  # x_(k-1)
    last_gradient=(FLOAT, 'joints'),  # half the gradient there
)
own_at = PROJECTED_GRADIENT.vector_view()


@kernel
def start(search: Record) -> None:
    """Begin without a last step to compare with."""
    own_at(search.own).moved = 0


@kernel
def step(search: Record) -> bool:
    """Line-search along -grad f = -2 J'r, projected; return False if nothing is better."""
    own, tau = own_at(search.own), 1.0
    if own.first_step == BARZILAI_BORWEIN and own.moved > 0:
        tau = spectral_step(search)
    gradient, direction = search.gradient, search.dx
    copy_to(search.x, own.last)
    copy_to(gradient, own.last_gradient)
    for j in range(direction.shape[0]):
        direction[j] = -2.0 * gradient[j]
    moved = armijo(search, direction, tau)
    own.moved = 1 if moved else 0
    return moved


@kernel
def spectral_step(search: Record) -> float:
    """Return s's / s'y; the longest step allowed if the cost curves downwards along s."""
    own, squares, curvature = own_at(search.own), 0.0, 0.0
    for j in range(search.joints):
        s = search.x[j] - own.last[j]
        y = 2.0 * (search.gradient[j] - own.last_gradient[j])
        squares += s * s
        curvature += s * y
    if curvature <= 0.0:
        return LONGEST_STEP
    return min(max(squares / curvature, SHORTEST_STEP), LONGEST_STEP)


class ProjectedGradient(KernelSolver):
    """Projected gradient descent with a line search."""

    name: ClassVar[str] = 'projected_gradient'
    Options: ClassVar = ProjectedGradientOptions
    layout: ClassVar = PROJECTED_GRADIENT
    presets: ClassVar[Mapping[PresetName, Mapping[str, Any]]] = {'tau_one': {'first_step': 'one'}}
    start, step = start, step
