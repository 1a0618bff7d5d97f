"""Following an example motion: the E- and A-errors of example-guided IK [TakKo].

    alpha (|y - Y|^2 + kv |y' - Y'|^2 + ka |y'' - Y''|^2)                       (Eq. 2 and 3)

for a quantity y(q) of the animated figure and the example's Y: the position of an end effector
(E-error) or the joint vector (A-error, times the square of the total link length, section
4.3). Velocities and accelerations are backward differences over the frames' period, so at each
frame only y(q) itself is free, and the task is a residual like any other. With alpha = 1 and
beta = 1e-5 as the weights of the two, an animated figure reaches the goals in the manner of the
example; with `SmoothnessTask` it is Eq. 4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import InvalidGoal, InvalidOption
from ..maths.rotations import Array
from ..robot.robot import Robot
from .base import JointTask, Task
from .joint_tasks import checked_weights


class ReferenceMotionTask(ABC):
    """What both patterns share. Call `next_frame` with every frame of the example, in order.

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

    def next_frame(
        self, example: ArrayLike, robot: Robot, achieved: ArrayLike | None = None
    ) -> None:
        """Go on to the next frame of the example, Y; `achieved` (n,) is q of the last frame.

        Without `achieved` the history starts again. Raises InvalidGoal where Y is not finite.
        """
        frame = np.array(example, float)
        if frame.ndim != 1 or not np.isfinite(frame).all():
            raise InvalidGoal(f'a frame of the example must be finite numbers: {example!r}')
        if achieved is None:
            self._example, self._achieved = [frame], []
            return
        self._achieved = [self.value(robot, achieved), *self._achieved][:2]
        self._example = [frame, *self._example][:3]

    @property
    def history(self) -> tuple[list[Array], list[Array]]:
        """The last frames of the example, and what was achieved before, each newest first."""
        return [y.copy() for y in self._example], [y.copy() for y in self._achieved]

    def set_history(self, example: Sequence[Array], achieved: Sequence[Array]) -> None:
        """Go on from the `history` of a task like this one."""
        self._example, self._achieved = list(example), list(achieved)

    def blocks(self) -> list[tuple[float, Array]]:
        """(scale, offset) of the rows of position, velocity, acceleration: scale (y - offset).

        With the errors e of the frames before, velocity's rows ask for y - Y = e1, acceleration's
        for y - Y = 2 e1 - e2. Raises InvalidGoal where there is no example yet.
        """
        if not self._example:
            raise InvalidGoal(f'{type(self).__name__} has no example yet; call next_frame')
        errors = [y - e for y, e in zip(self._achieved, self._example[1:], strict=False)]
        example, scale = self._example[0], np.sqrt(self.weight)
        blocks = [(scale, example)]
        if self.velocity_weight > 0.0 and len(errors) >= 1:
            faster = scale * np.sqrt(self.velocity_weight) / self.period
            blocks.append((faster, example + errors[0]))
        if self.acceleration_weight > 0.0 and len(errors) >= 2:
            faster = scale * np.sqrt(self.acceleration_weight) / self.period**2
            blocks.append((faster, example + 2.0 * errors[0] - errors[1]))
        return blocks


class EndEffectorPatternTask(ReferenceMotionTask, Task):
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

    @property
    def links(self) -> tuple[str, ...]:
        """The link that it is about."""
        return (self.link,)

    def value(self, robot: Robot, q: ArrayLike) -> Array:
        """The position (3,) of the link."""
        return robot.forward_kinematics(q, self.link)[:3, 3]

    def residual(self, robot: Robot, q: ArrayLike) -> Array:
        """The weighted residual at q (n,): position, then velocity and acceleration rows."""
        value = self.value(robot, q)
        return np.concatenate([scale * (value - offset) for scale, offset in self.blocks()])

    def jacobian(self, robot: Robot, q: ArrayLike) -> Array:
        """The exact derivative of `residual` with respect to q (n,)."""
        jacobian = robot.jacobian(q, self.link)[:3]
        return np.vstack([scale * jacobian for scale, _ in self.blocks()])


class JointPatternTask(ReferenceMotionTask, JointTask):
    """A-error: the joints follow the example's (n,) [rad] (Eq. 3), times length^2 (4.3)."""

    def value(self, robot: Robot, q: ArrayLike) -> Array:
        """q itself."""
        return robot.checked(q)

    def joint_rows(self, robot: Robot) -> list[tuple[Array, Array]]:
        """The scales and what the joints should be, (n,) each."""
        return [(np.full(robot.n, scale), offset) for scale, offset in self.blocks()]


def total_link_length(robot: Robot, link: str) -> float:
    """The length [m] of the chain from the root to a link at rest: L in [TakKo] section 4.3."""
    frames = robot.frames(robot.middle_configuration)
    points = [frames[k, 9:] for k in robot.body_path(link)]
    points.append(robot.link_transform(frames, link)[:3, 3])
    return float(sum(np.linalg.norm(b - a) for a, b in pairwise(points)))
