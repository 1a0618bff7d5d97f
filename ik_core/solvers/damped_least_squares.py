"""Damped least squares (Wampler; Nakamura & Hanafusa), as in Buss 2009, sections 2 and 5.

    dq = J' (J J' + d^2 I)^-1 e                                       (Eq. 11)

where e is the error, target minus current, J its Jacobian and d the damping. Two clamps keep
steps sane: ClampMag shortens each goal's error to at most Dmax, so that far targets do not
stretch the arm into a singularity, and ClampMaxAbs scales the step so that no joint moves
further than a bound. Joint limits are kept by projecting each step, which is not part of the
method: at a limit it may stop short of the closest point, and then reports STALLED.

Damping may be fixed or adaptive:
- 'fixed': d = damping;
- 'singular_value' (after Chiaverini 1997): d^2 = (1 - (s/threshold)^2) damping^2 for the
  smallest singular value s of J below `threshold`, else 0;
- 'manipulability' (Nakamura & Hanafusa 1986): d = damping (1 - w/threshold)^2 for
  w = sqrt(det J J') below `threshold`, else 0.
Where damping is 0 and the step fails to be unique, the shortest one is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..driver import DriverOptions
from ..linalg import damped_step
from ..options import option
from ..problem import IkProblem
from ..rotations import Array
from .base import IterativeSolver, State


@dataclass(frozen=True)
class DampedLeastSquaresOptions(DriverOptions):
    """Options of `damped_least_squares`."""

    damping: float = option(0.05, 'damping d, the largest one where adaptive', unit='m/rad',
                            bounds=(0.0, 1e6))  # fmt: skip
    adaptive: str = option('singular_value', 'how damping follows the nearness of a singularity',
                           choices=('fixed', 'singular_value', 'manipulability'))  # fmt: skip
    threshold: float = option(0.05, 'measure below which adaptive damping sets in',
                              bounds=(1e-12, 1e6))  # fmt: skip
    max_error: float = option(0.3, 'Dmax of ClampMag: largest error of one goal in a step',
                              unit='m', bounds=(1e-9, np.inf))  # fmt: skip
    max_step: float = option(0.7, 'ClampMaxAbs: largest move of a joint in a step',
                             unit='rad or m', bounds=(1e-9, np.inf))  # fmt: skip


class DampedLeastSquares(IterativeSolver):
    """See the module."""

    name: ClassVar[str] = 'damped_least_squares'
    Options: ClassVar = DampedLeastSquaresOptions

    def step(self, problem: IkProblem, state: State) -> State:
        at = state.at
        error = clamp_magnitudes(-at.residual, problem.goals.goal_rows, self.options.max_error)
        damping = self.damping(at.jacobian)
        dx = clamp_max_abs(damped_step(at.jacobian, error, damping), self.options.max_step)
        return State(problem.at(problem.limits.project(at.x + dx)))

    def damping(self, jacobian: Array) -> float:
        """The damping d at this Jacobian (m, n)."""
        o = self.options
        if o.adaptive == 'fixed':
            return o.damping
        values = np.linalg.svd(jacobian, compute_uv=False)
        if o.adaptive == 'singular_value':
            return o.damping * np.sqrt(max(0.0, 1.0 - (values[-1] / o.threshold) ** 2))
        return o.damping * max(0.0, 1.0 - np.prod(values) / o.threshold) ** 2


def clamp_magnitudes(error: Array, goal_rows: list[slice], largest: float) -> Array:
    """ClampMag (Buss 2): each goal's part of the error (m,) shortened to at most `largest`."""
    clamped = error.copy()
    for rows in goal_rows:
        length = np.linalg.norm(clamped[rows])
        if length > largest:
            clamped[rows] *= largest / length
    return clamped


def clamp_max_abs(step: Array, largest: float) -> Array:
    """ClampMaxAbs (Buss 8): the step scaled so that no component exceeds `largest`."""
    size = np.max(np.abs(step))
    return step * (largest / size) if size > largest else step
