"""Tasks about the joints themselves: a rest posture, distance from the limits, smoothness.

Each residual is linear in q. Weights give what a squared radian (or metre of a prismatic
joint) is worth beside a squared metre of a goal [m^2/rad^2].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import InvalidOption
from ..robot import Robot
from ..rotations import Array
from .base import Task


class PostureTask(Task):
    """Stay near a rest posture: sqrt(weight) (q - rest), the term of Buss's section 4.

    `rest` (n,): by default the middle of the limits; `weights`: one, or one per joint (n,).
    """

    def __init__(self, rest: ArrayLike | None = None, *, weights: ArrayLike = 1.0) -> None:
        self.rest = None if rest is None else np.array(rest, float)
        self.weights = checked_weights(weights)

    def set_rest(self, rest: ArrayLike) -> None:
        """Rest at another posture (n,)."""
        self.rest = np.array(rest, float)

    def residual(self, robot: Robot, q: ArrayLike) -> Array:
        """The weighted residual (n,) at q (n,)."""
        rest = (
            robot.middle_configuration if self.rest is None else robot.checked(self.rest, 'rest')
        )
        return np.sqrt(self.weights) * (robot.checked(q) - rest)

    def jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        """The derivative (n, n) of `residual`: constant."""
        return diagonal(np.sqrt(self.weights), robot.n)


class SmoothnessTask(Task):
    """Stay near the previous frame: x'Mx for x = q - previous (Tak & Ko, Eq. 4 and 5).

    `stiffness`: the diagonal of M, one number or (n,). M counts in the units of the E-error
    (Tak & Ko 4.3) through `length` [m/rad], the total link length: the cost is L^2 x'Mx.
    """

    def __init__(
        self, previous: ArrayLike, *, stiffness: ArrayLike = 1.0, length: float = 1.0
    ) -> None:
        self.previous = np.array(previous, float)
        self.weights = checked_weights(stiffness) * length**2

    def set_previous(self, previous: ArrayLike) -> None:
        """Take the configuration (n,) of the frame just solved."""
        self.previous = np.array(previous, float)

    def residual(self, robot: Robot, q: ArrayLike) -> Array:
        """The weighted residual (n,) at q (n,)."""
        return np.sqrt(self.weights) * (robot.checked(q) - robot.checked(self.previous))

    def jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        """The derivative (n, n) of `residual`: constant."""
        return diagonal(np.sqrt(self.weights), robot.n)


class LimitAvoidanceTask(Task):
    """Stay away from the joint limits (Liegeois 1977).

    The cost is weight / n * sum ((q - middle) / (half the range))^2 over the joints that have
    two limits; the others have no say.
    """

    def __init__(self, *, weight: float = 1.0) -> None:
        self.weight = float(checked_weights(weight))

    def residual(self, robot: Robot, q: ArrayLike) -> Array:
        """The weighted residual (n,) at q (n,): within sqrt(weight / n) inside the limits."""
        scale = self._scale(robot)
        middle = np.where(scale > 0.0, robot.lower, 0.0) + np.where(scale > 0.0, robot.upper, 0.0)
        return scale * (robot.checked(q) - 0.5 * middle)

    def jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        """The derivative (n, n) of `residual`: constant."""
        return np.diag(self._scale(robot))

    def _scale(self, robot: Robot) -> Array:
        half = 0.5 * (robot.upper - robot.lower)
        ranged = np.isfinite(half) & (half > 0.0)
        scale = np.zeros(robot.n)
        scale[ranged] = np.sqrt(self.weight / robot.n) / half[ranged]
        return scale


def checked_weights(weights: ArrayLike) -> Array:
    """Weights as an array; InvalidOption unless all are finite and none is negative."""
    array = np.asarray(weights, float)
    if not np.isfinite(array).all() or (array < 0.0).any():
        raise InvalidOption(f'weights {weights!r} must be finite and not negative')
    return array


def diagonal(values: Array, n: int) -> Array:
    """The diagonal matrix (n, n) of one number or (n,)."""
    return np.diag(np.broadcast_to(values, n).astype(float))
