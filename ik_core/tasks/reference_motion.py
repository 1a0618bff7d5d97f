# SPDX-License-Identifier: Apache-2.0
"""Tasks that follow an example motion: the E- and A-errors of example-guided IK [TakKo].

    G = alpha G_E + beta G_A                                                    (Eq. 1)
    G_E, G_A = |y - Y|^2 + kv |y' - Y'|^2 + ka |y'' - Y''|^2                    (Eq. 2 and 3)

for a quantity y(q) of the animated skeleton and the example's Y: the position of an end effector
or its orientation (E-error), or the joint vector (A-error, times the square of the total link
length, section 4.3). Velocities and accelerations are backward differences over the frames'
period, so in each frame only y(q) itself is variable, and the task is a residual like any other.
`example_guided_tasks` makes both for alpha + beta = 1; with a small beta, as 1e-5, the skeleton
reaches the goals in the style of the example. With `SmoothnessTask` it is Eq. 4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..display import numbers
from ..exceptions import InvalidGoal, InvalidOption
from ..maths.argument_types import VectorLike, WeightsLike
from ..maths.rotations import (
    Array,
    finite_vector,
    matrix_from_quaternion,
    quaternion_from_matrix,
    relative_logs,
)
from ..robot.robot import Robot
from .base import JointTask, Task
from .goals import OrientationTask
from .joint_tasks import per_joint
from .weights import checked_weights


class ReferenceMotionTask(ABC):
    """Base of tasks that follow an example. Call `next_frame` with every frame, in order.

    `weights`: alpha (or beta), one number for all components of y or one each. `velocity_weight`:
    kv [s^2]. `acceleration_weight`: ka [s^4]. `period` [s]: time between frames. The first frames
    have no differences, since they have no past.
    """

    def __init__(
        self,
        *,
        weights: WeightsLike = 1.0,
        velocity_weight: float = 0.0,
        acceleration_weight: float = 0.0,
        period: float = 1.0,
    ) -> None:
        if not 0.0 < period < np.inf:
            raise InvalidOption(f'period {period!r} [s] must be a positive number')
        self.weights = checked_weights(weights)
        self.velocity_weight = float(checked_weights(velocity_weight))
        self.acceleration_weight = float(checked_weights(acceleration_weight))
        self.period = period
        self._example: list[Array] = []  # Y of this frame and up to two before, newest first
        self._achieved: list[Array] = []  # y of the up to two frames before, newest first

    def _shown(self) -> list[str]:
        links = [repr(link) for link in getattr(self, 'links', ())]
        example = numbers(self._example[0]) if self._example else 'none yet'
        return [*links, f'example={example}', f'weights={numbers(self.weights)}']

    @abstractmethod
    def value(self, robot: Robot, q: VectorLike) -> Array:
        """The value y(q) that should follow the example."""

    def next_frame(
        self, example: VectorLike, robot: Robot, achieved: VectorLike | None = None
    ) -> None:
        """Advance to the next frame Y of the example; `achieved` (n,) is q of the last frame.

        Without `achieved` the history starts again. Raises InvalidGoal if the shape of Y is not
        that of y(q).
        """
        value = self.value(robot, robot.middle_configuration if achieved is None else achieved)
        frame = finite_vector(example, len(value), 'a frame of the example')
        if achieved is None:
            self._example, self._achieved = [frame], []
            return
        self._achieved = [value, *self._achieved][:2]
        self._example = [frame, *self._example][:3]

    @property
    def has_example(self) -> bool:
        """True if there is a frame to follow."""
        return bool(self._example)

    @property
    def has_rates(self) -> bool:
        """True if velocities or accelerations have weights."""
        return self.velocity_weight > 0.0 or self.acceleration_weight > 0.0

    @property
    def history(self) -> tuple[list[Array], list[Array]]:
        """The last frames of the example and the values achieved for them, newest first."""
        return [y.copy() for y in self._example], [y.copy() for y in self._achieved]

    def set_history(self, example: Sequence[Array], achieved: Sequence[Array]) -> None:
        """Set the `history` of a task of the same kind."""
        self._example, self._achieved = list(example), list(achieved)

    def blocks(self) -> list[tuple[float, Array]]:
        """(factor, offset) of position, velocity and acceleration rows: factor (y - offset).

        With the errors e of earlier frames, velocity rows aim at y - Y = e1, acceleration rows at
        y - Y = 2 e1 - e2. The rows of the task are these times the roots of its weights. Raises
        InvalidGoal before the first frame.
        """
        if not self._example:
            raise InvalidGoal(f'{type(self).__name__} has no example yet; call next_frame')
        example = self._origin()
        before = zip(self._achieved, self._example[1:], strict=False)
        errors = [self._error(*pair) for pair in before]
        blocks = [(1.0, example)]
        if self.velocity_weight > 0.0 and len(errors) >= 1:
            blocks.append((np.sqrt(self.velocity_weight) / self.period, example + errors[0]))
        if self.acceleration_weight > 0.0 and len(errors) >= 2:
            factor = np.sqrt(self.acceleration_weight) / self.period**2
            blocks.append((factor, example + 2.0 * errors[0] - errors[1]))
        return blocks

    def _origin(self) -> Array:
        """The value Y that the offsets of `blocks` are relative to."""
        return self._example[0]

    def _error(self, achieved: Array, example: Array) -> Array:
        """The error y - Y of a frame, from both values."""
        return achieved - example


class EndEffectorPatternTask(ReferenceMotionTask, Task):
    """Follow the example's link position (3,) [m]: the E-error (Eq. 2).

    Both positions are in the root link's frame. `weights`: one number, or one for each of x, y and
    z (3,).
    """

    is_orientation = False

    def __init__(
        self,
        link: str,
        *,
        weights: WeightsLike = 1.0,
        velocity_weight: float = 0.0,
        acceleration_weight: float = 0.0,
        period: float = 1.0,
    ) -> None:
        super().__init__(
            weights=weights,
            velocity_weight=velocity_weight,
            acceleration_weight=acceleration_weight,
            period=period,
        )
        self.link = link
        if self.weights.shape not in ((), (3,)):
            raise InvalidOption(f'weights {weights!r}: one number or three')

    @property
    def links(self) -> tuple[str, ...]:
        """The link of the task."""
        return (self.link,)

    @property
    def scales(self) -> Array:
        """The roots of the weights of x, y and z (3,)."""
        return np.sqrt(np.broadcast_to(self.weights, 3))

    def target_frame(self, centre: Array) -> Array:
        """A position (3,) as a frame (12,)."""
        return np.concatenate([np.eye(3).ravel(), centre])

    def value(self, robot: Robot, q: VectorLike) -> Array:
        """The position (3,) of the link."""
        return robot.forward_kinematics(q, self.link)[:3, 3]

    def residual(self, robot: Robot, q: VectorLike) -> Array:
        """The weighted residual at q (n,): position, then velocity and acceleration rows."""
        value, scales = self.value(robot, q), self.scales
        return np.concatenate([f * scales * (value - offset) for f, offset in self.blocks()])

    def jacobian(self, robot: Robot, q: VectorLike) -> Array:
        """The exact derivative of `residual` with respect to q (n,)."""
        jacobian = self.scales[:, np.newaxis] * robot.jacobian(q, self.link)[:3]
        return np.vstack([factor * jacobian for factor, _ in self.blocks()])


class OrientationPatternTask(ReferenceMotionTask, Task):
    """Follow the example's orientation of a link, a quaternion (x, y, z, w): the E-error (Eq. 2).

    Its error is the rotation vector [rad] from the example's orientation to the link's, in the
    link's axes. Both are in the root link's frame. `weights` [m^2/rad^2]: one number.
    """

    is_orientation = True

    def __init__(
        self,
        link: str,
        *,
        weights: float = 1.0,
        velocity_weight: float = 0.0,
        acceleration_weight: float = 0.0,
        period: float = 1.0,
    ) -> None:
        super().__init__(
            weights=weights,
            velocity_weight=velocity_weight,
            acceleration_weight=acceleration_weight,
            period=period,
        )
        if self.weights.ndim:
            raise InvalidOption(f'weights {weights!r}: one number')
        self.link = link
        self._goal = OrientationTask(link)

    @property
    def links(self) -> tuple[str, ...]:
        """The link of the task."""
        return (self.link,)

    @property
    def scales(self) -> Array:
        """The root of the weight (3,)."""
        return np.full(3, np.sqrt(self.weights))

    def target_frame(self, centre: Array) -> Array:
        """The example's orientation as a frame (12,).

        `centre` is not used: only tasks without velocity and acceleration weights are packed, and
        theirs is zero."""
        return np.append(matrix_from_quaternion(self._example[0]).ravel(), np.zeros(3))

    def value(self, robot: Robot, q: VectorLike) -> Array:
        """The quaternion (4,) of the link."""
        return quaternion_from_matrix(robot.forward_kinematics(q, self.link)[:3, :3])

    def next_frame(
        self, example: VectorLike, robot: Robot, achieved: VectorLike | None = None
    ) -> None:
        """Advance to the next frame of the example, the target orientation `example` (4,)."""
        rotation = matrix_from_quaternion(finite_vector(example, 4, 'a frame of the example'))
        super().next_frame(quaternion_from_matrix(rotation), robot, achieved)

    def residual(self, robot: Robot, q: VectorLike) -> Array:
        """The weighted residual at q (n,): orientation, then velocity and acceleration rows."""
        blocks = self.blocks()
        self._goal.set_target(quaternion=self._example[0])
        error, scales = self._goal.residual(robot, q), self.scales
        return np.concatenate([f * scales * (error - offset) for f, offset in blocks])

    def jacobian(self, robot: Robot, q: VectorLike) -> Array:
        """The exact derivative of `residual` with respect to q (n,)."""
        blocks = self.blocks()
        self._goal.set_target(quaternion=self._example[0])
        jacobian = self.scales[:, np.newaxis] * self._goal.jacobian(robot, q)
        return np.vstack([factor * jacobian for factor, _ in blocks])

    def _origin(self) -> Array:
        return np.zeros(3)

    def _error(self, achieved: Array, example: Array) -> Array:
        before, after = (matrix_from_quaternion(q).reshape(1, 9) for q in (example, achieved))
        vectors = np.empty((1, 3))
        relative_logs(before, after, vectors)
        return vectors[0]


class JointPatternTask(ReferenceMotionTask, JointTask):
    """Follow the example's joints (n,) [rad]: the A-error (Eq. 3), times length^2 (section 4.3).

    `weights`: one number for every joint except those of a floating or planar root, which are a
    position, not a posture; or one per joint (n,). `length` [m/rad]: the total link length; by
    default that of the robot's longest chain. All joints become variables, including those that
    move no end effector.
    """

    def __init__(
        self,
        *,
        weights: WeightsLike = 1.0,
        velocity_weight: float = 0.0,
        acceleration_weight: float = 0.0,
        period: float = 1.0,
        length: float | None = None,
    ) -> None:
        super().__init__(
            weights=weights,
            velocity_weight=velocity_weight,
            acceleration_weight=acceleration_weight,
            period=period,
        )
        if length is not None and not 0.0 < length < np.inf:
            raise InvalidOption(f'length {length!r} [m/rad] must be a positive number')
        self.length = length

    @property
    def moves_all_joints(self) -> bool:
        """True: a posture includes every joint."""
        return True

    def value(self, robot: Robot, q: VectorLike) -> Array:
        """The configuration q itself."""
        return robot.checked(q)

    def joint_rows(self, robot: Robot) -> list[tuple[Array, Array]]:
        """The scales and the joint targets, (n,) each."""
        blocks, scales = self.blocks(), self._scales(robot)
        return [(factor * scales, offset) for factor, offset in blocks]

    def _scales(self, robot: Robot) -> Array:
        if self.length is None:
            self.length = max(total_link_length(robot, tip) for tip in robot.tips())
        scales = self.length * per_joint(self.weights, robot)
        if self.weights.ndim == 0:
            scales[list(robot.root_joints)] = 0.0
        return scales


def example_guided_tasks(
    robot: Robot,
    link: str,
    *,
    beta: float = 1e-5,
    joint_weights: float | VectorLike = 1.0,
    velocity_weights: float | VectorLike = 0.0,
    acceleration_weights: float | VectorLike = 0.0,
    period: float = 1.0,
) -> tuple[EndEffectorPatternTask, JointPatternTask]:
    """Make both tasks of Eq. 1 with alpha = 1 - beta: 0 is inverse kinematics, 1 copies joints.

    The A-error is multiplied by the square of the total link length of the chain to `link`, with
    weights of the joints as in `JointPatternTask`. `velocity_weights` [s^2],
    `acceleration_weights` [s^4]: one k for both errors, or (2,) for the E-error and the A-error.
    `period` [s]: time between frames.
    """
    if not 0.0 <= beta <= 1.0:
        raise InvalidOption(f'beta {beta!r} must be from 0 to 1: alpha is 1 - beta')
    (ev, av), (ea, aa) = (
        np.broadcast_to(checked_weights(k), 2).tolist()
        for k in (velocity_weights, acceleration_weights)
    )
    hand = EndEffectorPatternTask(
        link, weights=1.0 - beta, velocity_weight=ev, acceleration_weight=ea, period=period
    )
    joints = JointPatternTask(
        weights=beta * checked_weights(joint_weights),
        velocity_weight=av,
        acceleration_weight=aa,
        period=period,
        length=total_link_length(robot, link),
    )
    return hand, joints


def total_link_length(robot: Robot, link: str) -> float:
    """Length [m] of the chain from its first joint to a link at rest: L in [TakKo] section 4.3.

    With a floating or planar root the chain begins at the link that the root carries.
    """
    frames = robot.frames(robot.middle_configuration)
    skipped = robot.root_joints[:-1]
    points = [frames[k, 9:] for k in robot.body_path(link) if robot.tree[k, 2] not in skipped]
    points.append(robot.link_transform(frames, link)[:3, 3])
    return float(sum(np.linalg.norm(b - a) for a, b in pairwise(points)))
