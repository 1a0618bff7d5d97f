"""The Jacobian transpose method ([Balestrino1984], [WolovichElliott1984]), as in
[Buss2009] section 3.

    dq = tau J'e

J'e is the negative gradient of |e|^2 / 2, so this is steepest descent. It leads towards the
target: J dq = tau JJ'e, and <JJ'e, e> = |J'e|^2 >= 0 (Buss, Theorem 1). For tau there are three
rules, `step_rule`:

- 'alpha': tau = <e, JJ'e> / <JJ'e, JJ'e>, for which |e - J dq| is least (Buss): what is left of
  the error is at right angles to what the step mends. Where J'e = 0 it is 0.
- 'fixed': tau = `step_length`. [EngellErleben2011] section 6 uses 0.005 and sees
  0.05 diverge, in units of which 0.05 are 1 cm. One unit is 0.2 m, and tau goes with the inverse
  square of lengths: 0.125 and 1.25 per m^2. In theory it converges where tau < 2 / s^2, with s
  the largest singular value of J, so it depends on the figure's size.
- 'halving' ([Dorta2014] section 3.1): e is halved until |(I - JJ+) e|, what no step can
  mend of it, is within `halving_tolerance`; then as 'fixed', where `step_length` is their time
  step. It keeps targets out of reach from pulling hard.

Welman's weights, dq = tau K J'e, are the joint weights of `jacobian_method`; alpha is then that
of J K^1/2. The method has no matrix to invert and so no trouble at singularities, but converges
linearly, and slowly where the singular values of J differ much: mostly for single goals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

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

RANK_TOLERANCE = 1e-9
"""Singular values below this, relative to the largest, are 0 for JJ+."""


@dataclass(frozen=True)
class JacobianTransposeOptions(JacobianMethodOptions):
    """Options of `jacobian_transpose`."""

    max_iterations: int = option(
        2000, 'iterations per attempt before it is given up', bounds=(1, 10**9)
    )
    max_error: float = option(
        np.inf,
        'Dmax of ClampMag: largest error of one goal in a step',
        unit='m',
        bounds=(1e-9, np.inf),
    )
    step_rule: str = option(
        'alpha', 'how the length of a step is found', choices=('alpha', 'fixed', 'halving')
    )
    step_length: float = option(
        0.125, 'tau where the step rule is not alpha', unit='(rad/m)^2', bounds=(1e-12, 1e12)
    )
    halving_tolerance: float = option(
        1e-3, 'how much of an error may be beyond the reach of J', unit='m', bounds=(1e-12, np.inf)
    )


class JacobianTranspose(JacobianMethod):
    """See the module."""

    name: ClassVar[str] = 'jacobian_transpose'
    Options: ClassVar = JacobianTransposeOptions

    def update(
        self, problem: IkProblem, state: JacobianState, jacobian: Array, error: Array
    ) -> Array:
        """See JacobianMethod."""
        o = self.options
        if o.step_rule == 'alpha':
            return best_length(jacobian, error) * (error @ jacobian)
        if o.step_rule == 'halving':
            basis, _, _ = truncated_svd(jacobian, RANK_TOLERANCE)
            error = halved(error, basis, o.halving_tolerance)
        return o.step_length * (error @ jacobian)


def best_length(jacobian: Array, error: Array) -> float:
    """Buss's alpha: the tau that makes |e - tau JJ'e| least; 0 where J'e is."""
    mended = jacobian @ (error @ jacobian)
    square = float(mended @ mended)
    return float(error @ mended) / square if square > 0.0 else 0.0
