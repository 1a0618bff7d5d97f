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
  of the smallest singular value alone: dq = J' (J J' + d^2 u u')^-1 e. What the arm can do well it
  does undamped.
Where damping is 0 and the step fails to be unique, the shortest one is taken.

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
from ..maths.linalg import damped_solve, is_above
from ..maths.rotations import Array
from ..maths.svd import decompose, nth_largest, shortest_step
from ..optim.layouts import Record
from ..options import option
from .jacobian_method import (
    ERROR,
    METHOD_OPTIONS,
    JacobianMethod,
    JacobianMethodOptions,
    method_step,
)
from .names import PresetName

ROUNDING = 2.220446049250313e-16


@dataclass(frozen=True)
class DampedLeastSquaresOptions(JacobianMethodOptions):
    """Options of `damped_least_squares`."""

    damping: float = option(
        0.05, 'damping d; the maximum if it is adaptive', unit='m/rad', bounds=(0.0, 1e6)
    )
    adaptive: str = option(
        'singular_value',
        'rule that adapts the damping near singularities',
        choices=('fixed', 'singular_value', 'manipulability', 'numerical_filtering'),
    )
    threshold: float = option(
        0.05, 'measure below which adaptive damping sets in', bounds=(1e-12, 1e6)
    )


DAMPING, ADAPTIVE, THRESHOLD = range(METHOD_OPTIONS, METHOD_OPTIONS + 3)
FIXED, SINGULAR_VALUE, MANIPULABILITY, NUMERICAL_FILTERING = range(4)
RULES = {
    'fixed': FIXED,
    'singular_value': SINGULAR_VALUE,
    'manipulability': MANIPULABILITY,
    'numerical_filtering': NUMERICAL_FILTERING,
}


@kernel
def update(search: Record) -> None:
    """dx = J'(JJ' + d^2 I)^-1 e."""
    columns, dx, squares = search.own_columns, search.dx, search.rhs
    damping = search.own_options[DAMPING]
    rule, threshold = search.own_options[ADAPTIVE], search.own_options[THRESHOLD]
    solved = False
    if rule == FIXED:
        solved = damped_solve(
            columns, search.own_rows[ERROR], damping * damping, True, search.normal, search.rhs, dx
        )
    elif rule != MANIPULABILITY and is_above(columns, threshold, search.normal, search.rhs):
        solved = damped_solve(
            columns, search.own_rows[ERROR], 0.0, False, search.normal, search.rhs, dx
        )
    if not solved:
        decompose(columns, search.basis, search.work, squares)
        damping *= damping_share(search, squares)
        square = damping * damping
        if rule == NUMERICAL_FILTERING:
            damp_smallest(search, square)
            square = 0.0
        step_by_singular_values(search, square)


@kernel
def damping_share(search: Record, squares: Array) -> float:
    """How much of the damping there is, for the squares (m,) of the singular values."""
    m, n = search.work.shape
    threshold = search.own_options[THRESHOLD]
    smallest, manipulability = np.inf, 1.0
    for place in range(min(m, n)):
        smallest = math.sqrt(nth_largest(squares, m, place))
        manipulability *= smallest
    rule = search.own_options[ADAPTIVE]
    if rule == MANIPULABILITY:
        return max(0.0, 1.0 - manipulability / threshold) ** 2
    if rule != FIXED:
        return math.sqrt(max(0.0, 1.0 - (smallest / threshold) ** 2))
    return 1.0


@kernel
def step_by_singular_values(search: Record, square: float) -> None:
    """dx = sum s / (s^2 + d^2) v u'e ([Buss2009] section 6); what rounding made of s counts as 0.

    So without damping it is the shortest of the least-squares steps.
    """
    dx, squares, error = search.dx, search.rhs, search.own_rows[ERROR]
    shortest_step(search.basis, search.work, squares, error, _rounding(search), square, dx)


@kernel
def _rounding(search: Record) -> float:
    """The largest square of a singular value that counts as 0."""
    m, n = search.work.shape
    return float((ROUNDING * max(m, n)) ** 2 * nth_largest(search.rhs, m, 0))


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
    """See the module."""

    name: ClassVar[str] = 'damped_least_squares'
    Options: ClassVar = DampedLeastSquaresOptions
    presets: ClassVar[Mapping[PresetName, Mapping[str, Any]]] = {
        'buss_pure': {'adaptive': 'fixed', 'max_error': np.inf, 'max_step': np.inf},
        'buss_clamped': {'adaptive': 'fixed', 'max_step': np.inf},
    }
    step: ClassVar = staticmethod(method_step(name, update))

    def method_numbers(self) -> tuple[float, ...]:
        """See JacobianMethod."""
        o = self.options
        return (o.damping, RULES[o.adaptive], o.threshold)
