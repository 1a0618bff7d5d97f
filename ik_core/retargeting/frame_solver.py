# SPDX-License-Identifier: Apache-2.0
"""Solve the problem of [TakKo] Eq. 4 for one robot and one example, frame by frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InvalidOption
from ..maths.argument_types import VectorLike, WeightsLike
from ..maths.rotations import Array
from ..options import exact_number
from ..problem import IkProblem
from ..result import IkResult
from ..robot.robot import Robot
from ..solvers import SolverName, make_solver, solve
from ..tasks import (
    CentreOfMassTask,
    EndEffectorPatternTask,
    JointPatternTask,
    OrientationPatternTask,
    PositionTask,
    SmoothnessTask,
)
from ..tasks.reference_motion import ReferenceMotionTask
from ..tasks.weights import check_alpha_beta, checked_weights
from .example import Example

Progress = Callable[[int, int], object]  # called with (frames done, frames)

# restarts of the search for the first posture, if joints have no example
FIRST_RESTARTS = 20


@dataclass(frozen=True)
class Weights:
    """Weights of the terms of `retarget`."""

    beta: float = 1e-5
    alpha: float | None = None  # 1 - beta
    links: float | VectorLike = 1.0
    orientations: float | VectorLike = 0.0
    joints: float | VectorLike = 1.0
    velocity: float | VectorLike = 0.0
    acceleration: float | VectorLike = 0.0
    stiffness: WeightsLike = 0.0
    balance: float = 0.0

    def __post_init__(self) -> None:
        check_alpha_beta(self.of_links, self.beta)
        balance = exact_number(self.balance, float)
        if balance is None or not 0.0 <= balance < np.inf:
            raise InvalidOption(f'balance {self.balance!r}: a number from 0 on is needed')

    @property
    def of_links(self) -> float:
        """Alpha, the weight of the links."""
        return 1.0 - self.beta if self.alpha is None else self.alpha


class FrameSolver:
    """A solver for a robot that imitates an example, one frame after the other.

    length : L of section 4.3 [m]
    keep_limits : False removes the limits of the joints
    feet : indices of the example's links above which the centre of mass stays
    """

    def __init__(
        self,
        robot: Robot,
        example: Example,
        weights: Weights,
        length: float,
        *,
        keep_limits: bool,
        feet: Sequence[int] = (),
    ) -> None:
        if not 0.0 < length < np.inf:
            raise InvalidOption(f'length {length!r} [m] must be a positive number')
        self.robot, self.example, self._length = robot, example, length
        open_end = np.full(robot.n, np.inf)
        self._limits = (robot.lower, robot.upper) if keep_limits else (-open_end, open_end)
        self._patterns = self._pattern_tasks(weights)
        self._smoothness = self._smoothness_tasks(weights)
        self._feet = list(feet)
        self._balance = self._balance_tasks(weights.balance)
        tasks: list[Any] = [*(task for task, _ in self._patterns), *self._smoothness]
        tasks += self._balance
        self._problem = IkProblem(robot, tasks, lower=self._limits[0], upper=self._limits[1])

    def run(
        self,
        solver: SolverName,
        options: Mapping[str, Any],
        q0: VectorLike | None = None,
        progress: Progress | None = None,
    ) -> tuple[Array, NDArray[np.bool_]]:
        """The joints (frames, n), and the mask (frames,) of frames with minimal cost."""
        positions = np.empty((len(self.example), self.robot.n))
        converged = np.zeros(len(positions), bool)
        for frame, result in enumerate(self.frames(solver, options, q0)):
            positions[frame], converged[frame] = result.q, result.success
            if progress is not None:
                progress(frame + 1, len(positions))
        return positions, converged

    def frames(
        self,
        solver: SolverName,
        options: Mapping[str, Any],
        q: VectorLike | None = None,
        first: int = 0,
    ) -> Iterator[IkResult]:
        """Yield the result for frame `first`, then for each one after it.

        q : (n,) start of the first one, the robot's posture in the frame before
        """
        search, last = make_solver(solver, **options), self._first(q, first)
        for frame in range(first, len(self.example)):
            self._ask_for_frame(frame, last)
            result = search.solve(self._problem, last)
            last = result.q
            yield result

    def _pattern_tasks(self, weights: Weights) -> list[tuple[ReferenceMotionTask, Array]]:
        """The tasks for the E-errors of all links and for the A-error of the joints, each with the
        example's values (frames, ...)."""
        example, alpha = self.example, weights.of_links
        of_links, of_joints = _rates(weights, example.period)
        count = len(example.links)
        tasks: list[tuple[ReferenceMotionTask, Array]] = []
        for link, path, turns, weight, turning in zip(
            example.links,
            example.paths.swapaxes(0, 1),
            example.orientations.swapaxes(0, 1),
            _each(weights.links, count, 'link_weights'),
            _each(weights.orientations, count, 'orientation_weights'),
            strict=True,
        ):
            hand = EndEffectorPatternTask(link, weights=alpha * weight, **of_links)
            tasks.append((hand, path))
            if turning > 0.0:
                turned = OrientationPatternTask(link, weights=alpha * turning, **of_links)
                tasks.append((turned, turns))
        joints = JointPatternTask(
            weights=weights.beta * self._joint_weights(weights.joints),
            length=self._length,
            **of_joints,
        )
        return [*tasks, (joints, example.postures)]

    def _joint_weights(self, weights: WeightsLike) -> Array:
        """The weights (n,) of joints: 0 for joints without an example, divided by L^2 for sliding
        ones, whose errors are in metres."""
        robot = self.robot
        own = _each(weights, robot.n, 'joint_weights') * self.example.mapped
        slides = np.array([unit == 'm' for unit in robot.joint_units])
        return np.where(slides, own / self._length**2, own)

    def _smoothness_tasks(self, weights: Weights) -> list[SmoothnessTask]:
        if not np.any(weights.stiffness):
            return []
        middle = self.robot.middle_configuration
        task = SmoothnessTask(middle, stiffness=weights.stiffness, length=self._length)
        return [task]

    def _balance_tasks(self, weight: float) -> list[CentreOfMassTask]:
        """The task for the horizontal distance of the centre of mass from the middle of the feet,
        if it has a weight."""
        if weight == 0.0:
            return []
        if not self._feet:
            raise InvalidOption('balance needs feet: links of the robot that it stands on')
        return [CentreOfMassTask(weights=(weight, weight, 0.0))]

    def _first(self, q0: VectorLike | None, frame: int) -> Array:
        """The posture (n,) of frame `frame`: the example's if it is complete."""
        if q0 is not None:
            return self.robot.checked(q0, 'q0')
        example = self.example
        start = np.clip(example.postures[frame], *self._limits)
        if example.mapped.all():
            return start
        goals = [
            PositionTask(link, position)
            for link, position in zip(example.links, example.paths[frame], strict=True)
        ]
        return solve(IkProblem(self.robot, goals), start, restarts=FIRST_RESTARTS).q

    def _ask_for_frame(self, frame: int, q: Array) -> None:
        """Set the targets of a frame of the example; q (n,) is the posture of the frame before."""
        achieved = q if frame > 0 else None
        for pattern, values in self._patterns:
            pattern.next_frame(values[frame], self.robot, achieved)
        for task in self._smoothness:
            task.set_previous(q)
        for balance in self._balance:
            balance.set_target(self.example.paths[frame, self._feet].mean(axis=0))


def _rates(weights: Weights, period: float) -> list[dict[str, float]]:
    """Return the arguments of tasks, for links and for joints, that weigh velocities and
    accelerations."""
    velocity, acceleration = (
        np.broadcast_to(checked_weights(k), 2).tolist()
        for k in (weights.velocity, weights.acceleration)
    )
    return [
        {'velocity_weight': v, 'acceleration_weight': a, 'period': period}
        for v, a in zip(velocity, acceleration, strict=True)
    ]


def _each(weights: WeightsLike, count: int, name: str) -> Array:
    """Weights as an array (count,). Raises InvalidOption."""
    array = checked_weights(weights)
    if array.shape not in ((), (count,)):
        raise InvalidOption(f'{name} have shape {array.shape}; one number or {count} are needed')
    return np.broadcast_to(array, count)
