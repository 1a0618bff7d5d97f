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

The paper tries tau = 1 first, every time ('one'). That, in its units and in ours, is a matter of
scale, and convergence is linear at a rate that the condition of J'J sets. The default
('barzilai_borwein') tries

    tau = s's / s'y,    s = x_k - x_(k-1),  y = grad f_k - grad f_(k-1)

first ([BarzilaiBorwein1988]; with projection [Birgin2000]): the inverse of
the curvature that the last step saw. Direction, projection, Eq. 39 and what they promise stay
as they are; the iterations become fewer, by a factor of four to twenty on the robots here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..maths.rotations import Array
from ..optim.line_search import LineSearchOptions, armijo, cost_gradient
from ..optim.workspace import State
from ..options import option
from ..problem import Evaluation, IkProblem
from .base import IterativeSolver

STEP_RANGE = (1e-6, 1e6)
"""Bounds of the first tau, where a curvature is close to 0 or its estimate is off."""


@dataclass(frozen=True)
class ProjectedGradientOptions(LineSearchOptions):
    """Options of `projected_gradient`."""

    max_iterations: int = option(
        5000, 'iterations per attempt before it is given up', bounds=(1, 10**9)
    )
    first_step: str = option(
        'barzilai_borwein',
        'the step that a line search tries first',
        choices=('one', 'barzilai_borwein'),
    )


@dataclass(eq=False)
class ProjectedGradientState(State):
    """With the step that the next line search tries first."""

    first_step: float = 1.0


class ProjectedGradient(IterativeSolver[ProjectedGradientState]):
    """See the module."""

    name: ClassVar[str] = 'projected_gradient'
    Options: ClassVar = ProjectedGradientOptions

    def start(self, problem: IkProblem, at: Evaluation) -> ProjectedGradientState:
        """At tau = 1."""
        return ProjectedGradientState(at)

    def step(self, problem: IkProblem, state: ProjectedGradientState) -> ProjectedGradientState:
        """One projected line search; the same state where it finds nothing better."""
        at, project = state.at, problem.limits.project
        gradient = cost_gradient(at)
        new, evaluations = armijo(
            at, gradient, -gradient, problem.at, self.options, project, state.first_step
        )
        if new is None:
            return ProjectedGradientState(at, evaluations)
        first_step = 1.0
        if self.options.first_step == 'barzilai_borwein':
            first_step = spectral_step(new.x - at.x, cost_gradient(new) - gradient)
        return ProjectedGradientState(new, evaluations, first_step)


def spectral_step(move: Array, change: Array) -> float:
    """s's / s'y, the longest step allowed where the cost curves downwards along s."""
    curvature = float(move @ change)
    if curvature <= 0.0:
        return STEP_RANGE[1]
    return float(np.clip(move @ move / curvature, *STEP_RANGE))
