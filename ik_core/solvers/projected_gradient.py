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
from ..maths.vectors import copy_to
from ..optim.layouts import Record
from ..optim.line_search import METHOD_OPTIONS, LineSearchOptions, armijo
from ..options import option
from .base import KernelSolver
from .names import PresetName

SHORTEST_STEP, LONGEST_STEP = 1e-6, 1e6
"""Bounds of the first tau, where a curvature is close to 0 or its estimate is off."""

SPECTRAL = METHOD_OPTIONS
"""Whether the step of Barzilai and Borwein is tried first."""

MOVED = 0
"""Index into `own_values`: 1 if the last step moved x, else 0; 0 before the first step."""

LAST, LAST_GRADIENT = 0, 1
"""Indices into `own_vectors`: x_(k-1), and half the gradient there."""


@dataclass(frozen=True)
class ProjectedGradientOptions(LineSearchOptions):
    """Options of `projected_gradient`."""

    max_iterations: int = option(5000, 'iterations per attempt', bounds=(1, 10**9))
    first_step: str = option(
        'barzilai_borwein',
        'initial step of a line search',
        choices=('one', 'barzilai_borwein'),
    )


@kernel
def start(search: Record) -> None:
    """Do nothing: there is no last step to compare with."""
    search.own_values[MOVED] = 0.0


@kernel
def step(search: Record) -> bool:
    """One projected line search along -grad f = -2 J'r; False where it finds nothing better."""
    tau = 1.0
    if search.own_options[SPECTRAL] != 0.0 and search.own_values[MOVED] != 0.0:
        tau = spectral_step(search)
    gradient, direction = search.gradient, search.dx
    copy_to(search.x, search.own_vectors[LAST])
    copy_to(gradient, search.own_vectors[LAST_GRADIENT])
    for j in range(direction.shape[0]):
        direction[j] = -2.0 * gradient[j]
    moved = armijo(search, direction, tau)
    search.own_values[MOVED] = 1.0 if moved else 0.0
    return moved


@kernel
def spectral_step(search: Record) -> float:
    """s's / s'y, the longest step allowed where the cost curves downwards along s."""
    squares = curvature = 0.0
    for j in range(search.joints):
        s = search.x[j] - search.own_vectors[LAST, j]
        y = 2.0 * (search.gradient[j] - search.own_vectors[LAST_GRADIENT, j])
        squares += s * s
        curvature += s * y
    if curvature <= 0.0:
        return LONGEST_STEP
    return min(max(squares / curvature, SHORTEST_STEP), LONGEST_STEP)


class ProjectedGradient(KernelSolver):
    """See the module."""

    name: ClassVar[str] = 'projected_gradient'
    Options: ClassVar = ProjectedGradientOptions
    presets: ClassVar[Mapping[PresetName, Mapping[str, Any]]] = {'tau_one': {'first_step': 'one'}}
    start, step = start, step

    def numbers(self) -> tuple[float, ...]:
        """See KernelSolver."""
        options = self.options
        return (options.alpha, options.beta, options.first_step == 'barzilai_borwein')
