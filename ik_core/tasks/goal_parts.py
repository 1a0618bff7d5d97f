# SPDX-License-Identifier: Apache-2.0
"""Parts of tasks for kernels: goals, their halves if weights are matrices, examples for links."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..maths.rotations import Array
from . import kernels


class Goal(Protocol):
    """The attributes of a goal that are packed, see `goals.GoalTask`."""

    link: str
    relative_to: str | None
    tool: Array
    target: Array
    rotation: int
    position_axes: int
    position_weights: Array
    rotation_weights: Array
    position_turn: Array | None
    rotation_turn: Array | None
    position_box: Array
    orientation_box: Array
    cone: float

    @property
    def has_geometric_columns(self) -> bool: ...

    def check_target(self, root: str = '') -> None: ...

    def turned(self, targets: Array) -> Array: ...


class Pattern(Protocol):
    """The attributes of an example for a link that are packed, see `reference_motion`."""

    link: str
    is_orientation: bool

    @property
    def scales(self) -> Array: ...

    def target_frame(self, centre: Array) -> Array: ...

    def blocks(self) -> list[tuple[float, Array]]: ...


class Part:
    """The position or the orientation of a goal, in the principal axes of its weights.

    For the position, these axes become the orientation of the part's target. For the orientation,
    tool and target are both rotated, since a rotation vector in rotated axes is V' log(Rt'R) =
    log((Rt V)'R V).
    """

    position_box = orientation_box = np.zeros(3)
    cone = 0.0

    def __init__(self, goal: Goal, *, of_position: bool) -> None:
        self._goal, self.relative_to = goal, goal.relative_to
        self.link, self.tool, self.rotation = goal.link, goal.tool.copy(), goal.rotation
        self.position_axes = goal.position_axes
        self.position_weights = goal.position_weights if of_position else np.zeros(3)
        self.rotation_weights = np.zeros(3) if of_position else goal.rotation_weights
        self._axes = goal.position_turn if of_position else goal.rotation_turn
        self._are_fixed = of_position and goal.position_axes == kernels.ROOT_AXES
        if self._axes is None:
            return
        if of_position:
            self.position_axes = kernels.GOAL_AXES
        else:
            self.tool[:3, :3] = self.tool[:3, :3] @ self._axes

    @property
    def has_geometric_columns(self) -> bool:
        """True if the rotation rows have one weight, see `GoalTask.has_geometric_columns`."""
        return bool((self.rotation_weights == self.rotation_weights[0]).all())

    @property
    def target(self) -> Array:
        """The target (12,) of this part."""
        return self.turned(self._goal.target)

    def check_target(self, root: str = '') -> None:
        """Raise InvalidGoal if the goal's target is not set, or is in another frame."""
        self._goal.check_target(root)

    def turned(self, targets: Array) -> Array:
        """Rotate targets (..., 12) of the goal into the principal axes of this part's weights."""
        if self._axes is None:
            return targets
        turned = targets.copy()
        given = targets[..., :9].reshape(*targets.shape[:-1], 3, 3)
        axes = np.broadcast_to(self._axes, given.shape) if self._are_fixed else given @ self._axes
        turned[..., :9] = axes.reshape(*targets.shape[:-1], 9)
        return turned


def parts_of(goal: Goal) -> list[Goal | Part]:
    """The goal itself, or its two halves if one of them has a matrix of weights."""
    if goal.position_turn is None and goal.rotation_turn is None:
        return [goal]
    halves = ((True, goal.position_weights), (False, goal.rotation_weights))
    return [Part(goal, of_position=which) for which, weights in halves if weights.any()]


class PatternPart:
    """The position or orientation of a link in an example, packed like a goal without tolerances.

    Its blocks f_b (y - c_b) have the cost |f (y - c)|^2 plus a constant, for f^2 = sum f_b^2 and c
    the mean of the c_b with the weights f_b^2.
    """

    tool, relative_to = np.eye(4), None
    rotation, position_axes = kernels.VECTOR, kernels.ROOT_AXES
    position_box = orientation_box = np.zeros(3)
    cone = 0.0
    has_geometric_columns = False

    def __init__(self, pattern: Pattern) -> None:
        self._pattern, self.link, self._weights = pattern, pattern.link, pattern.scales**2
        self.component = 3 if pattern.is_orientation else 0
        self.position_weights = np.zeros(3) if pattern.is_orientation else self._weights
        self.rotation_weights = self._weights if pattern.is_orientation else np.zeros(3)
        self.target = np.eye(4)[:3].ravel()

    def turned(self, targets: Array) -> Array:
        """Return targets (..., 12) unchanged: the weights are along x, y and z."""
        return targets

    def check_target(self, root: str = '') -> None:
        """Raise InvalidGoal if there is no example yet."""
        self._pattern.blocks()

    def update(self) -> tuple[Array, float]:
        """Set the target from the current frame; return the scales (3,) and the constant cost."""
        blocks = self._pattern.blocks()
        squares = np.array([factor * factor for factor, _ in blocks])
        centres = np.array([offset for _, offset in blocks])
        centre = squares @ centres / squares.sum()
        self.target = self._pattern.target_frame(centre)
        constant = squares @ (centres - centre) ** 2 @ self._weights
        return self._pattern.scales * np.sqrt(squares.sum()), float(constant)
