"""Following an example motion: the E- and A-errors of example-guided IK (Tak & Ko).

    alpha (|y - Y|^2 + kv |y' - Y'|^2 + ka |y'' - Y''|^2)                       (Eq. 2 and 3)

for a quantity y(q) of the animated figure and the example's Y: the position of an end effector
(E-error) or the joint vector (A-error, times the square of the total link length, section
4.3). Velocities and accelerations are backward differences over the frames' period, so at each
frame only y(q) itself is free, and the task is a residual like any other. With alpha = 1 and
beta = 1e-5 as the weights of the two, an animated figure reaches the goals in the manner of the
example; with `SmoothnessTask` it is Eq. 4.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import InvalidGoal, InvalidOption
from ..robot import Robot
from ..rotations import Array
from .base import Task
from .joint_tasks import checked_weights


class ReferenceMotionTask(Task):
    """What both patterns share. Call `advance` with every frame of the example, in order.

    `weight` is alpha (or beta), `velocity_weight` kv [s^2], `acceleration_weight` ka [s^4],
    `period` [s] the time between two frames. The first frames, which have no past, leave the
    differences out.
    """

    def __init__(
        self,
        *,
        weight: float = 1.0,
        velocity_weight: float = 0.0,
        acceleration_weight: float = 0.0,
        period: float = 1.0,
        length: float = 1.0,
    ) -> None:
        if not (0.0 < period < np.inf and 0.0 < length < np.inf):
            raise InvalidOption('period and length must be positive numbers')
        self.weight = float(checked_weights(weight)) * length**2
        self.velocity_weight = float(checked_weights(velocity_weight))
        self.acceleration_weight = float(checked_weights(acceleration_weight))
        self.period = period
        self._example: list[Array] = []  # Y of this frame and up to two before, newest first
        self._achieved: list[Array] = []  # y of the up to two frames before, newest first

    @abstractmethod
    def value(self, robot: Robot, q: ArrayLike) -> Array:
        """y(q)."""

    @abstractmethod
    def value_jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        """dy/dq."""

    def advance(self, example: ArrayLike, robot: Robot, achieved: ArrayLike | None = None) -> None:
        """Go on to the next frame of the example, Y; `achieved` (n,) is q of the last frame.

        Without `achieved` the history starts anew. Raises InvalidGoal where Y is not finite.
        """
        frame = np.array(example, float)
        if frame.ndim != 1 or not np.isfinite(frame).all():
            raise InvalidGoal(f'a frame of the example must be finite numbers: {example!r}')
        if achieved is None:
            self._example, self._achieved = [frame], []
            return
        self._achieved = [self.value(robot, achieved), *self._achieved][:2]
        self._example = [frame, *self._example][:3]

    def residual(self, robot: Robot, q: ArrayLike) -> Array:
        """The weighted residual at q (n,): position, then velocity and acceleration rows."""
        if not self._example:
            raise InvalidGoal(f'{type(self).__name__} has no example yet; call advance')
        error = self.value(robot, q) - self._example[0]
        before = self._past_errors()
        rows = [error]
        for order, weight in self._differences():
            past = before[0] if order == 1 else 2.0 * before[0] - before[1]
            rows.append(np.sqrt(weight) * (error - past) / self.period**order)
        return np.sqrt(self.weight) * np.concatenate(rows)

    def jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        """The exact derivative of `residual` with respect to q (n,)."""
        jacobian = self.value_jacobian(robot, q)
        rows = [jacobian]
        for order, weight in self._differences():
            rows.append(np.sqrt(weight) / self.period**order * jacobian)
        return np.sqrt(self.weight) * np.vstack(rows)

    def _past_errors(self) -> list[Array]:
        return [y - e for y, e in zip(self._achieved, self._example[1:], strict=False)]

    def _differences(self) -> Iterable[tuple[int, float]]:
        """The orders of the differences that have a weight and enough past."""
        for order, weight in ((1, self.velocity_weight), (2, self.acceleration_weight)):
            if weight > 0.0 and len(self._achieved) >= order:
                yield order, weight


class EndEffectorPatternTask(ReferenceMotionTask):
    """E-error: the position of a link follows the example's (3,) [m] (Eq. 2)."""

    def __init__(
        self,
        link: str,
        *,
        weight: float = 1.0,
        velocity_weight: float = 0.0,
        acceleration_weight: float = 0.0,
        period: float = 1.0,
    ) -> None:
        super().__init__(
            weight=weight,
            velocity_weight=velocity_weight,
            acceleration_weight=acceleration_weight,
            period=period,
        )
        self.link = link

    def value(self, robot: Robot, q: ArrayLike) -> Array:
        """The position (3,) of the link."""
        return robot.forward_kinematics(q, self.link)[:3, 3]

    def value_jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        """Its derivative (3, n)."""
        return robot.jacobian(q, self.link)[:3]


class JointPatternTask(ReferenceMotionTask):
    """A-error: the joints follow the example's (n,) [rad] (Eq. 3), times length^2 (4.3)."""

    def value(self, robot: Robot, q: ArrayLike) -> Array:
        """q itself."""
        return robot.checked(q)

    def value_jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        """The identity (n, n)."""
        return np.eye(robot.n)


def total_link_length(robot: Robot, link: str) -> float:
    """The length [m] of the chain from the root to a link at rest: the L of Tak & Ko 4.3."""
    frames = robot.frames(robot.middle_configuration)
    points = [frames[k, 9:] for k in robot.body_path(link)]
    points.append(robot.link_transform(frames, link)[:3, 3])
    return float(sum(np.linalg.norm(b - a) for a, b in pairwise(points)))
