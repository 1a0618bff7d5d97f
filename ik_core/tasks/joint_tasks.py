# SPDX-License-Identifier: Apache-2.0
"""Tasks on the joints themselves: a rest posture, distance from the limits, smoothness.

Each residual is linear in q. A weight is the cost of a squared radian (or metre, of a prismatic
joint), relative to a squared metre of a goal [m^2/rad^2].
"""

from __future__ import annotations

import numpy as np

from ..display import numbers
from ..exceptions import InvalidConfiguration, InvalidOption
from ..maths.argument_types import VectorLike, WeightsLike
from ..maths.rotations import Array
from ..robot.robot import Robot
from .base import JointTask
from .weights import checked_weights, is_matrix, principal_axes


class PostureTask(JointTask):
    """Stay near a rest posture: sqrt(weight) (q - rest), the term of [Buss2009] section 4.

    `rest` (n,): by default the middle of the limits. `weights`: one number, or one per joint (n,).
    """

    def __init__(self, rest: VectorLike | None = None, *, weights: WeightsLike = 1.0) -> None:
        self.rest: Array | None = None
        if rest is not None:
            self.set_rest(rest)
        self.weights = checked_weights(weights)

    def _shown(self) -> list[str]:
        rest = 'the middle of the limits' if self.rest is None else numbers(self.rest)
        return [f'rest={rest}', f'weights={numbers(self.weights)}']

    def set_rest(self, rest: VectorLike) -> None:
        """Change the rest posture (n,). Raises InvalidConfiguration."""
        self.rest = _posture(rest, 'rest')

    def joint_rows(self, robot: Robot) -> list[tuple[Array, Array]]:
        """The scales and the rest posture, (n,) each."""
        rest = (
            robot.middle_configuration if self.rest is None else robot.checked(self.rest, 'rest')
        )
        return [(per_joint(self.weights, robot), rest)]


class SmoothnessTask(JointTask):
    """Stay near the previous frame: x'Mx for x = q - previous ([TakKo] Eq. 4 and 5).

    `stiffness`: the diagonal of M, one number or (n,), or to couple joints the whole M (n, n),
    symmetric and positive semidefinite. `length` [m/rad], the total link length L, converts to the
    units of the E-error ([TakKo] section 4.3): the cost is L^2 x'Mx.
    """

    def __init__(
        self, previous: VectorLike, *, stiffness: WeightsLike = 1.0, length: float = 1.0
    ) -> None:
        self.set_previous(previous)
        if is_matrix(stiffness):
            self.weights = np.array(stiffness, float) * length**2
            values, axes = principal_axes(self.weights, 'stiffness')
            self._rows: Array | None = np.sqrt(values)[:, np.newaxis] * axes.T  # R'R = L^2 M
        else:
            self.weights, self._rows = checked_weights(stiffness) * length**2, None

    def _shown(self) -> list[str]:
        return [f'previous={numbers(self.previous)}', f'weights={numbers(self.weights)}']

    @property
    def couples_joints(self) -> bool:
        """True if `stiffness` is a full matrix M."""
        return self._rows is not None

    def set_previous(self, previous: VectorLike) -> None:
        """Set the configuration (n,) of the frame just solved. Raises InvalidConfiguration."""
        self.previous = _posture(previous, 'previous')

    def joint_rows(self, robot: Robot) -> list[tuple[Array, Array]]:
        """The scales and the previous configuration, (n,) each."""
        return [(per_joint(self.weights, robot), robot.checked(self.previous, 'previous'))]

    def residual(self, robot: Robot, q: VectorLike) -> Array:
        """The weighted residual (n,) at q (n,)."""
        if self._rows is None:
            return super().residual(robot, q)
        vector = robot.checked(q)
        return self.jacobian(robot, q) @ (vector - robot.checked(self.previous, 'previous'))

    def jacobian(self, robot: Robot, q: VectorLike) -> Array:
        """The derivative (n, n) of `residual`: constant."""
        if self._rows is None:
            return super().jacobian(robot, q)
        if len(self._rows) != robot.n:
            raise InvalidOption(f'stiffness has {len(self._rows)} rows; {robot.n} are needed')
        return self._rows.copy()


class LimitAvoidanceTask(JointTask):
    """Stay away from the joint limits [Liegeois1977].

    The cost is weight / n * sum ((q - middle) / (half the range))^2 over the joints with two
    finite limits; the others do not count.
    """

    def __init__(self, *, weight: float = 1.0) -> None:
        self.weight = float(checked_weights(weight))

    def _shown(self) -> list[str]:
        return [f'weight={numbers(self.weight)}']

    def joint_rows(self, robot: Robot) -> list[tuple[Array, Array]]:
        """The scales and the middles, (n,) each; the residual is within sqrt(weight / n)."""
        half = 0.5 * (robot.upper - robot.lower)
        ranged = np.isfinite(half) & (half > 0.0)
        scale, middle = np.zeros(robot.n), np.zeros(robot.n)
        scale[ranged] = np.sqrt(self.weight / robot.n) / half[ranged]
        middle[ranged] = robot.lower[ranged] + half[ranged]
        return [(scale, middle)]


def _posture(given: VectorLike, name: str) -> Array:
    """Numbers (n,), n not yet checked against a robot. Raises InvalidConfiguration."""
    try:
        row = np.array(given, float)
    except (TypeError, ValueError):
        row = np.empty(())
    if row.ndim != 1:
        raise InvalidConfiguration(
            f'{name} = {given!r}: one number for each joint is needed, as robot.q makes them of '
            'positions by name'
        )
    return row


def per_joint(weights: Array, robot: Robot) -> Array:
    """The scales (n,) of rows with weights of one number or (n,). Raises InvalidOption."""
    if weights.shape not in ((), (robot.n,)):
        raise InvalidOption(
            f'weights have shape {weights.shape}; one number or {robot.n} are needed'
        )
    return np.broadcast_to(np.sqrt(weights), robot.n).astype(float)
