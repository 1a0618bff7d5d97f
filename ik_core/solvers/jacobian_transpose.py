# SPDX-License-Identifier: Apache-2.0
"""The Jacobian transpose method ([Balestrino1984], [WolovichElliott1984]), as in
[Buss2009] section 3.

    dq = tau J'e

J'e is the negative gradient of |e|^2 / 2, so this is steepest descent. It leads towards the
target: J dq = tau JJ'e, and <JJ'e, e> = |J'e|^2 >= 0 (Buss, Theorem 1). For tau there are three
rules, `step_rule`:

- 'alpha': tau = <e, JJ'e> / <JJ'e, JJ'e>, for which |e - J dq| is least (Buss): the remaining
  error is at right angles to J dq. If J'e = 0 it is 0.
- 'fixed': tau = `step_length`. [EngellErleben2011] goes against the gradient of |e|^2, which is
  -2 J'e (Eq. 26 and 27), by 0.005 and sees 0.05 diverge (section 6), in units of which 0.05 are
  1 cm. One unit is 0.2 m, and steps go with the inverse square of lengths: 0.125 and 1.25 per m^2
  of theirs, and twice that of tau: 0.25 and 2.5. In theory it converges where tau < 2 / s^2,
  with s the largest singular value of J, so it depends on the figure's size.
- 'halving' ([Dorta2014] section 3.1): e is halved until |(I - JJ+) e|, the part that no step can
  reduce, is within `halving_tolerance`; then as 'fixed', where `step_length` is their time step.
  It limits the pull of targets out of reach.

Welman's weights, dq = tau K J'e, are the joint weights of `jacobian_method`; alpha is then that
of J K^1/2. The method has no matrix to invert and so no trouble at singularities, but converges
linearly, and slowly where the singular values of J differ much: mostly for single goals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..kernels.jit import kernel
from ..kernels.records import FLOAT, INT
from ..maths.rotations import Array
from ..maths.svd import decompose, product
from ..optim.evaluation import slope
from ..optim.layouts import Record
from ..options import option
from .jacobian_method import (
    JACOBIAN_METHOD,
    JacobianMethod,
    JacobianMethodOptions,
    halve_error,
    image,
    method_step,
)
from .names import PresetName

RANK_TOLERANCE = 1e-9  # Singular values below this, relative to the largest, are 0 for JJ+

STEP_RULES = 'alpha', 'fixed', 'halving'
ALPHA, FIXED, HALVING = range(len(STEP_RULES))


@dataclass(frozen=True)
class JacobianTransposeOptions(JacobianMethodOptions):
    """Options of `jacobian_transpose`."""

    max_iterations: int = option(2000, 'iterations per attempt', bounds=(1, 10**9))
    max_error: float = option(
        np.inf,
        'Dmax of ClampMag: largest error of one goal in a step',
        unit='m',
        bounds=(1e-9, np.inf),
    )
    step_rule: str = option('alpha', 'rule for the length of a step', choices=STEP_RULES)
    step_length: float = option(
        0.25, 'tau of the step rules other than alpha', unit='(rad/m)^2', bounds=(1e-12, 1e12)
    )
    halving_tolerance: float = option(
        1e-3, 'largest part of an error outside the range of J', unit='m', bounds=(1e-12, np.inf)
    )


JACOBIAN_TRANSPOSE = JACOBIAN_METHOD.extended(
    'jacobian_transpose', step_rule=(INT,), step_length=(FLOAT,), halving_tolerance=(FLOAT,)
)
own_at = JACOBIAN_TRANSPOSE.vector_view()


@kernel
def update(search: Record) -> None:
    """dx = tau J'e."""
    own, dx = own_at(search.own), search.dx
    if own.step_rule == HALVING:
        decompose(own.columns, search.basis, search.work, search.rhs)
        halve_error(search, own.halving_tolerance, RANK_TOLERANCE)
    slope(own.columns, own.error, dx)
    tau = own.step_length
    if own.step_rule == ALPHA:
        mended = search.trial_residual
        image(own.columns, dx, mended)
        tau = best_length(own.error, mended)
    for j in range(dx.shape[0]):
        dx[j] *= tau


@kernel
def best_length(error: Array, mended: Array) -> float:
    """Return Buss's alpha, which minimises |e - tau JJ'e|; `mended` is JJ'e. 0 if that is 0."""
    square = product(mended, mended)
    return product(error, mended) / square if square > 0.0 else 0.0


class JacobianTranspose(JacobianMethod):
    """Steepest descent along the transpose of the Jacobian."""

    name: ClassVar[str] = 'jacobian_transpose'
    Options: ClassVar = JacobianTransposeOptions
    layout: ClassVar = JACOBIAN_TRANSPOSE
    presets: ClassVar[Mapping[PresetName, Mapping[str, Any]]] = {
        'buss_pure': {'step_rule': 'alpha', 'max_step': np.inf},
        'engell_erleben': {'step_rule': 'fixed', 'step_length': 0.25, 'max_step': np.inf},
        'coursework': {
            'step_rule': 'fixed',
            'step_length': 1.0,
            'jacobian': 'central_difference',
            'normalised_columns': True,
            'step_norm': 0.05,
            'slow_fraction': 0.2,
            'slow_distance': 0.1,
            'max_step': np.inf,
        },
    }
    step: ClassVar = staticmethod(method_step(name, update))
