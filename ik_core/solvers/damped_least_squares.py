# SPDX-License-Identifier: Apache-2.0
"""Damped least squares ([Wampler1986], [NakamuraHanafusa1986]), as in [Buss2009].

    dq = J' (J J' + d^2 I)^-1 e                                       (Eq. 11)

where e is the error, target minus current, J its Jacobian and d the damping. That is the dq that
minimises |J dq - e|^2 + d^2 |dq|^2, and equals (J'J + d^2 I)^-1 J'e (Eq. 10). With the clamp of
errors it is Buss's DLS' (section 8). The clamps, the choice of J, the joint weights and the
limits are those of `jacobian_method`.

Damping may be fixed or adaptive:
- 'fixed': d = damping;
- 'singular_value' (after [Chiaverini1997]): d^2 = (1 - (s/threshold)^2) damping^2 for the
  smallest singular value s of J below `threshold`, else 0;
- 'manipulability' [NakamuraHanafusa1986]: d = damping (1 - w/threshold)^2 for
  w = sqrt(det J J') below `threshold`, else 0;
- 'numerical_filtering' [MaciejewskiKlein1988]: d as by 'singular_value', but along the direction u
  of the smallest singular value alone: dq = J' (J J' + d^2 u u')^-1 e. Motions along the others
  are undamped.
If damping is 0 and the step is not unique, the shortest one is taken.

Buss gives no damping constant: it depends on the figure and has to be found (section 5). The
presets are his two versions of section 8: `buss_pure` is DLS, `buss_clamped` DLS'.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..kernels.jit import kernel
from ..kernels.records import FLOAT, INT
from ..maths.linalg import damped_solve, is_above
from ..maths.rotations import Array
from ..maths.svd import decompose, nth_largest, shortest_step
from ..optim.layouts import Record
from ..options import option
from .jacobian_method import (
    JACOBIAN_METHOD,
    JacobianMethod,
    JacobianMethodOptions,
    method_step,
)
from .names import PresetName

EPSILON = 2.220446049250313e-16

RULES = 'fixed', 'singular_value', 'manipulability', 'numerical_filtering'
FIXED, SINGULAR_VALUE, MANIPULABILITY, NUMERICAL_FILTERING = range(len(RULES))


@dataclass(frozen=True)
class DampedLeastSquaresOptions(JacobianMethodOptions):
    """Options of `damped_least_squares`."""

    damping: float = option(
        0.05, 'damping d; the maximum if it is adaptive', unit='m/rad', bounds=(0.0, 1e6)
    )
    adaptive: str = option(
        'singular_value',
        'rule that adapts the damping near singularities',
        choices=RULES,
    )
    threshold: float = option(
        0.05, 'measure below which adaptive damping sets in', bounds=(1e-12, 1e6)
    )


DAMPED_LEAST_SQUARES = JACOBIAN_METHOD.extended(
    'damped_least_squares', damping=(FLOAT,), adaptive=(INT,), threshold=(FLOAT,)
)
own_at = DAMPED_LEAST_SQUARES.vector_view()


@kernel
def update(search: Record) -> None:
    """dx = J'(JJ' + d^2 I)^-1 e."""
    own, dx, normal, squares = own_at(search.own), search.dx, search.normal, search.rhs
    columns, error, damping, rule = own.columns, own.error, own.damping, own.adaptive
    solved = False
    if rule == FIXED:
        solved = damped_solve(columns, error, damping * damping, True, normal, squares, dx)
    elif rule != MANIPULABILITY and is_above(columns, own.threshold, normal, squares):
        solved = damped_solve(columns, error, 0.0, False, normal, squares, dx)
    if not solved:
        decompose(columns, search.basis, search.work, squares)
        damping *= damping_fraction(search, squares)
        square = damping * damping
        if rule == NUMERICAL_FILTERING:
            damp_smallest(search, square)
            square = 0.0
        step_by_singular_values(search, square)


@kernel
def damping_fraction(search: Record, squares: Array) -> float:
    """Return the fraction of the damping that applies, for squares (m,) of singular values."""
    own, (m, n) = own_at(search.own), search.work.shape
    smallest, manipulability = np.inf, 1.0
    for place in range(min(m, n)):
        smallest = math.sqrt(nth_largest(squares, m, place))
        manipulability *= smallest
    if own.adaptive == MANIPULABILITY:
        return float(max(0.0, 1.0 - manipulability / own.threshold) ** 2)
    if own.adaptive != FIXED:
        return math.sqrt(max(0.0, 1.0 - (smallest / own.threshold) ** 2))
    return 1.0


@kernel
def step_by_singular_values(search: Record, square: float) -> None:
    """dx = sum s / (s^2 + d^2) v u'e ([Buss2009] section 6); an s within rounding counts as 0.

    So without damping it is the shortest of the least-squares steps.
    """
    dx, squares, error = search.dx, search.rhs, own_at(search.own).error
    shortest_step(search.basis, search.work, squares, error, _rounding(search), square, dx)


@kernel
def _rounding(search: Record) -> float:
    """Return the largest square of a singular value that counts as 0."""
    m, n = search.work.shape
    return float((EPSILON * max(m, n)) ** 2 * nth_largest(search.rhs, m, 0))


@kernel
def damp_smallest(search: Record, square: float) -> None:
    """Add d^2 to the square of the smallest singular value, unless that counts as 0."""
    squares = search.rhs
    m, n = search.work.shape
    smallest, least = nth_largest(squares, m, min(m, n) - 1), _rounding(search)
    for i in range(m):
        if squares[i] == smallest and smallest > least:
            squares[i] += square
            return


class DampedLeastSquares(JacobianMethod):
    """Damped least squares, with fixed or adaptive damping."""

    name: ClassVar[str] = 'damped_least_squares'
    Options: ClassVar = DampedLeastSquaresOptions
    layout: ClassVar = DAMPED_LEAST_SQUARES
    presets: ClassVar[Mapping[PresetName, Mapping[str, Any]]] = {
        'buss_pure': {'adaptive': 'fixed', 'max_error': np.inf, 'max_step': np.inf},
        'buss_clamped': {'adaptive': 'fixed', 'max_step': np.inf},
    }
    step: ClassVar = staticmethod(method_step(name, update))
