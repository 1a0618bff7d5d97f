"""Tasks about the joints themselves: a rest posture, distance from the limits, smoothness.

Each residual is linear in q. Weights give what a squared radian (or metre of a prismatic
joint) is worth beside a squared metre of a goal [m^2/rad^2].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import InvalidOption
from ..maths.rotations import Array
from ..robot.robot import Robot
from .base import JointTask


class PostureTask(JointTask):
    """Stay near a rest posture: sqrt(weight) (q - rest), the term of [Buss2009] section 4.

    `rest` (n,): by default the middle of the limits; `weights`: one, or one per joint (n,).
    """

    def __init__(self, rest: ArrayLike | None = None, *, weights: ArrayLike = 1.0) -> None:
        self.rest = None if rest is None else np.array(rest, float)
        self.weights = checked_weights(weights)

    def set_rest(self, rest: ArrayLike) -> None:
        """Rest at another posture (n,)."""
        self.rest = np.array(rest, float)

    def joint_rows(self, robot: Robot) -> list[tuple[Array, Array]]:
        """The scales and the rest posture, (n,) each."""
        rest = (
            robot.middle_configuration if self.rest is None else robot.checked(self.rest, 'rest')
        )
        return [(_per_joint(self.weights, robot), rest)]


class SmoothnessTask(JointTask):
    """Stay near the previous frame: x'Mx for x = q - previous ([TakKo] Eq. 4 and 5).

    `stiffness`: the diagonal of M, one number or (n,). M counts in the units of the E-error
    ([TakKo] section 4.3) through `length` [m/rad], the total link length: the cost is L^2 x'Mx.
    """

    def __init__(
        self, previous: ArrayLike, *, stiffness: ArrayLike = 1.0, length: float = 1.0
    ) -> None:
        self.previous = np.array(previous, float)
        self.weights = checked_weights(stiffness) * length**2

    def set_previous(self, previous: ArrayLike) -> None:
        """Take the configuration (n,) of the frame just solved."""
        self.previous = np.array(previous, float)

    def joint_rows(self, robot: Robot) -> list[tuple[Array, Array]]:
        """The scales and the previous configuration, (n,) each."""
        return [(_per_joint(self.weights, robot), robot.checked(self.previous, 'previous'))]


class LimitAvoidanceTask(JointTask):
    """Stay away from the joint limits [Liegeois1977].

    The cost is weight / n * sum ((q - middle) / (half the range))^2 over the joints that have
    two limits; the others do not count.
    """

    def __init__(self, *, weight: float = 1.0) -> None:
        self.weight = float(checked_weights(weight))

    def joint_rows(self, robot: Robot) -> list[tuple[Array, Array]]:
        """The scales and the middles, (n,) each; the residual is within sqrt(weight / n)."""
        half = 0.5 * (robot.upper - robot.lower)
        ranged = np.isfinite(half) & (half > 0.0)
        scale, middle = np.zeros(robot.n), np.zeros(robot.n)
        scale[ranged] = np.sqrt(self.weight / robot.n) / half[ranged]
        middle[ranged] = robot.lower[ranged] + half[ranged]
        return [(scale, middle)]


def checked_weights(weights: ArrayLike) -> Array:
    """Weights as an array; InvalidOption unless all are finite and none is negative."""
    array = np.asarray(weights, float)
    if not np.isfinite(array).all() or (array < 0.0).any():
        raise InvalidOption(f'weights {weights!r} must be finite and not negative')
    return array


def _per_joint(weights: Array, robot: Robot) -> Array:
    """The scales (n,) of rows with these weights, one number or (n,)."""
    return np.broadcast_to(np.sqrt(weights), robot.n).astype(float)
