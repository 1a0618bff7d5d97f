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
  w = sqrt(det J J') below `threshold`, else 0.
Where damping is 0 and the step fails to be unique, the shortest one is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..maths import safe
from ..maths.linalg import damped_step
from ..maths.rotations import Array
from ..options import option
from ..problem import IkProblem
from .jacobian_method import JacobianMethod, JacobianMethodOptions, JacobianState


@dataclass(frozen=True)
class DampedLeastSquaresOptions(JacobianMethodOptions):
    """Options of `damped_least_squares`."""

    damping: float = option(
        0.05, 'damping d, the largest one where adaptive', unit='m/rad', bounds=(0.0, 1e6)
    )
    adaptive: str = option(
        'singular_value',
        'how damping follows the nearness of a singularity',
        choices=('fixed', 'singular_value', 'manipulability'),
    )
    threshold: float = option(
        0.05, 'measure below which adaptive damping sets in', bounds=(1e-12, 1e6)
    )


class DampedLeastSquares(JacobianMethod):
    """See the module."""

    name: ClassVar[str] = 'damped_least_squares'
    Options: ClassVar = DampedLeastSquaresOptions

    def update(
        self, problem: IkProblem, state: JacobianState, jacobian: Array, error: Array
    ) -> Array:
        """See JacobianMethod."""
        return damped_step(jacobian, error, self.damping(jacobian))

    def damping(self, jacobian: Array) -> float:
        """The damping d at this Jacobian (m, n)."""
        o = self.options
        if o.adaptive == 'fixed':
            return o.damping
        values = safe.singular_values(jacobian)
        if o.adaptive == 'singular_value':
            return o.damping * np.sqrt(max(0.0, 1.0 - (values[-1] / o.threshold) ** 2))
        return o.damping * max(0.0, 1.0 - np.prod(values) / o.threshold) ** 2
