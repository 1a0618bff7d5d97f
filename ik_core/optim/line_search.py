# SPDX-License-Identifier: Apache-2.0
"""Projected Armijo back-tracking ([EngellErleben2011] section 5.3).

Along x(tau) = P(x + tau d), with P the projection onto the limits, the first tau of
tau_1, beta tau_1, beta^2 tau_1, ... is taken for which

    f(x(tau)) < f(x) + alpha g'(x(tau) - x)                              (39)

g is the gradient of f at x. Without projection that is the Armijo condition (35); with it, the
required decrease is measured along the move that the limits leave, (37) and (38), not along
tau d. Eq. 39 promises a decrease only if x is inside the limits: outside, f may well be lower
than anywhere inside. So every solve here begins at P(start).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..exceptions import InvalidOption
from ..kernels.jit import kernel, with_kernels
from ..kernels.records import FLOAT
from ..maths.rotations import Array
from ..options import option
from .evaluation import evaluate, project, take_trial
from .layouts import METHOD, Record
from .loop import Kernel
from .search import SearchOptions

# The search gives up once no variable moves by more than this, relative to |x| + 1.
SMALLEST_RELATIVE_MOVE = 1e-15

# A trial nearer to a limit than this, relative to |x| + 1, differs from the limit only by
# rounding.
LIMIT_ROUNDING = 1e-13


@dataclass(frozen=True)
class LineSearchOptions(SearchOptions):
    """Options of every solver that searches along a line: 0 <= alpha <= beta < 1, 0 < beta."""

    alpha: float = option(
        1e-4,
        'fraction of the predicted decrease that a step must achieve (Armijo), below 1; 0: any '
        'decrease',
        bounds=(0.0, 1.0),
    )
    beta: float = option(
        0.5,
        'factor for a step that achieves less; from alpha to below 1',
        bounds=(0.0, 1.0),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.alpha < 1.0:
            raise InvalidOption(f'alpha = {self.alpha}: must be from 0 to below 1')
        if not (0.0 < self.beta < 1.0 and self.alpha <= self.beta):
            raise InvalidOption(
                f'beta = {self.beta}: must be above 0 and below 1, and not below '
                f'alpha = {self.alpha}'
            )


LINE_SEARCH = METHOD.extended('line_search', alpha=(FLOAT,), beta=(FLOAT,))
line_search_at = LINE_SEARCH.vector_view()


@kernel
def project_onto(search: Record, x: Array) -> None:
    """Apply P: move x (n,) inside the limits, and onto a limit if rounding is the difference."""
    project(search, x)
    bounds = search.problem.bounds
    for j in range(x.shape[0]):
        lower, upper, near = bounds[0, j], bounds[1, j], LIMIT_ROUNDING * (1.0 + abs(x[j]))
        if x[j] - lower <= near:
            x[j] = lower
        elif upper - x[j] <= near:
            x[j] = upper


@kernel
def trial_cost(search: Record, trial: Array) -> float:
    """Return f at the trial point (n,)."""
    return evaluate(search, trial, search.trial_residual)


bring_inside: Kernel = project_onto
# Projects a trial in place and returns its cost. Copies of `back_track` substitute this and the
# next one.
cost_at: Kernel = trial_cost


def back_track(
    search: Record, x: Array, cost: float, gradient: Array, direction: Array, tau: float
) -> float:
    """Set `trial` to the first point along a direction that decreases the cost enough (39).

    x (n,), cost, gradient (n,) : where the search begins, inside; half the gradient there
    direction (n,) : d
    tau : tau_1, the first step

    Returns its cost; inf if the direction does not descend, or if only steps that are lost in
    rounding would be left.
    """
    own, trial = line_search_at(search.own), search.trial
    smallest = 0.0
    for j in range(x.shape[0]):
        smallest = max(smallest, abs(x[j]))
    smallest = SMALLEST_RELATIVE_MOVE * (1.0 + smallest)
    while True:
        for j in range(x.shape[0]):
            trial[j] = x[j] + tau * direction[j]
        bring_inside(search, trial)
        slope = moved = 0.0
        for j in range(x.shape[0]):
            slope += 2.0 * gradient[j] * (trial[j] - x[j])
            moved = max(moved, abs(trial[j] - x[j]))
        if not (moved > smallest and slope < 0.0):
            return np.inf
        found = cost_at(search, trial)
        if found < cost + own.alpha * slope:
            return float(found)
        tau *= own.beta


back_track_f = with_kernels(back_track, 'back_track_f')


@kernel
def armijo(search: Record, direction: Array, tau: float) -> bool:
    """Move the search to the first point along a projected direction (n,) that fulfils Eq. 39.

    tau : tau_1, the first step

    Returns False, with the search unmoved, if there is none.
    """
    x, gradient = search.x, search.gradient
    cost = back_track_f(search, x, search.cost, gradient, direction, tau)
    if not cost < np.inf:
        return False
    take_trial(search, cost)
    return True
