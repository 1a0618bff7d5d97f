# SPDX-License-Identifier: Apache-2.0
"""Limits as penalty terms (the coursework [Dorta2014] section 3.1.2).

"A penalty term for each joint constraint is simply added to the cost function", which restores a
joint that breaks its limit and leaves the others alone:

    phi(x) = |r(x)|^2 + mu sum_i v_i(x)^2,    v(x) = x - P(x)

where P puts a joint on the limit that it breaks. The coursework adds its terms to the distance;
here they are added to the squared distance, which is smooth. phi is minimised over all x
(`limit_terms`), and its iterates may be outside the limits: the search's point is P(x).

If a limit is active at the solution, the minimum of phi is outside by grad f / (2 mu), so only
mu -> infinity gives the closest point. Whenever x about minimises phi, mu grows by `growth`; with
`growth` 1 the weight is fixed, as in the coursework, and the answer is not the closest point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..kernels.jit import kernel, with_kernels
from ..optim.layouts import Record
from ..optim.limit_terms import limit_terms_at, step
from ..optim.quasi_newton import QuasiNewtonOptions
from ..options import option
from .limit_method import LimitMethod

# [m^2/rad^2] Largest weight: beyond it, rounding of the terms would exceed the cost.
LARGEST_PENALTY = 1e12


@dataclass(frozen=True)
class PenaltyOptions(QuasiNewtonOptions):
    """Options of `penalty`."""

    weight: float = option(
        1.0,
        'weight mu of the penalty terms; the initial one if it grows',
        unit='m^2/rad^2',
        bounds=(1e-6, 1e6),
    )
    growth: float = option(
        10.0, 'factor by which the weight grows; 1: constant weight', bounds=(1.0, 1e3)
    )


@kernel
def next_weight(search: Record) -> None:
    """Increase mu by its growth factor; there are no multipliers."""
    own = limit_terms_at(search.own)
    own.mu = min(own.mu * own.growth, LARGEST_PENALTY)


class Penalty(LimitMethod):
    """Quadratic penalties for the limits, minimised by BFGS."""

    name: ClassVar[str] = 'penalty'
    Options: ClassVar = PenaltyOptions
    step = with_kernels(step, 'step_penalty', next_terms=next_weight)
