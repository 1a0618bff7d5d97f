# SPDX-License-Identifier: Apache-2.0
"""Packing of goals, and of the part of a robot that they need, into arrays for kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..maths.rotations import Array, IntArray, frame_of
from ..robot.kinematics import MULTIPLIER, OFFSET
from ..robot.relative import relative_chain
from ..robot.robot import Robot
from . import kernels
from .goal_parts import Goal, Part, Pattern, PatternPart, parts_of


class PackedGoals:
    """The arrays of some goals for one robot; they belong to one problem and are not shared.

    `variables` are the indices into q that may move; the other joints keep the values given to
    `load`. `orientation_length` [m/rad] scales rotations in the stacked residual. `parts` are the
    entries of the arrays: first one or two of every goal, whose indices are `owners`, then
    `patterns`, which are not goals; their cost has a `constant` besides the squared residual.
    `is_plain`: True if the parts are the goals, one each.
    """

    def __init__(
        self,
        robot: Robot,
        goals: Sequence[Goal],
        variables: ArrayLike | None = None,
        orientation_length: float = 1.0,
        patterns: Sequence[Pattern] = (),
    ) -> None:
        self.goals = tuple(goals)
        self._root = robot.base_link
        of_goals = [(part, i) for i, goal in enumerate(goals) for part in parts_of(goal)]
        self._patterns = [PatternPart(pattern) for pattern in patterns]
        self.owners = [i for _, i in of_goals]
        self.parts: list[Goal | Part | PatternPart] = [part for part, _ in of_goals]
        self.parts += self._patterns
        self.is_plain = self.parts == list(goals)
        self.constant = 0.0
        self.variables = np.arange(robot.n) if variables is None else np.array(variables, int)
        fixed = [part for part in self.parts if part.relative_to is None]
        self._bodies = sorted({k for part in fixed for k in robot.body_path(part.link)})
        self._pack_tree(robot)
        self._pack_goals(robot, orientation_length)
        self.targets = np.empty((len(self.parts), 12))  # parts that no goal asks for may be NaN
        self._rows = list(zip(self.parts, self.targets, strict=True))
        self._make_buffers()

    def load(self, q: Array) -> None:
        """Copy the goals' targets, and the values of frozen joints from q (n,).

        Raises InvalidGoal if a target is not set, or is in the frame of another link.
        """
        for part, row in self._rows:
            part.check_target(self._root)
            row[...] = part.target  # in two thirds of the time of [:]
        if self._patterns:
            self._load_patterns()
        if self._has_frozen:
            self.load_frozen(q)

    def _load_patterns(self) -> None:
        """Copy the targets and the scales of the patterns."""
        self.constant = 0.0
        for i, pattern in enumerate(self._patterns, len(self.owners)):
            scales, constant = pattern.update()
            first = kernels.SCALE + pattern.component
            self.tools[i, first : first + 3] = scales
            self.targets[i] = pattern.target
            self.constant += constant

    def set_targets(self, targets: Sequence[Array]) -> None:
        """Copy targets (12,), one for each goal."""
        for row, part, i in zip(self.targets, self.parts, self.owners, strict=False):
            row[:] = part.turned(targets[i])

    def part_targets(self, targets: Array) -> Array:
        """Convert targets of the goals (N, G, 12) to those of the parts (N, parts, 12)."""
        if self.is_plain:
            return targets
        owned = zip(self.parts, self.owners, strict=False)
        return np.stack([part.turned(targets[:, i]) for part, i in owned], axis=1)

    def goal_errors(self, errors: Array) -> Array:
        """Merge the errors of the parts (..., parts, 2) into those of the goals (..., G, 2)."""
        if self.is_plain:
            return errors
        merged = np.zeros((*errors.shape[:-2], len(self.goals), 2))
        for i, owner in enumerate(self.owners):  # each half has one of the two errors
            merged[..., owner, :] += errors[..., i, :]
        return merged

    @property
    def errors(self) -> Array:
        """The goals' errors (G, 2) [m, rad] at the point of the last `update`."""
        return self.goal_errors(self.part_errors)

    def load_frozen(self, q: Array) -> None:
        """Copy the values of frozen joints only, from q (n,)."""
        if self._has_frozen:
            self.geometry[self.frozen, OFFSET] = self.frozen_values(q)

    def frozen_values(self, q: Array) -> Array:
        """Positions (..., frozen) [rad, m] of the joints of the `frozen` bodies at q (..., n).

        In C order, since kernels are compiled once for each order.
        """
        return self._multiplier * np.take(q, self._frozen_joint, axis=-1) + self._offset

    def update(self, x: Array) -> float:
        """Compute `residual` (m,) and `errors` (G, 2) [m, rad] at x; return the cost |r|^2."""
        return kernels.update(self.arrays, x, self.residual)

    def jacobian(self) -> Array:
        """The exact Jacobian (m, variables) of the residual at the point of the last `update`."""
        columns = np.empty((len(self.variables), len(self.residual)))
        kernels.goal_jacobian(self.arrays, 0, columns)
        return columns.T

    def _pack_tree(self, robot: Robot) -> None:
        """Copy the bodies that carry parts, with columns of variables and frozen joints."""
        index = {body: k for k, body in enumerate(self._bodies)} | {-1: -1}
        column = {int(joint): j for j, joint in enumerate(self.variables)}
        self.tree = robot.tree[self._bodies].reshape(-1, 3).copy()
        self.geometry = robot.geometry[self._bodies].reshape(-1, 14).copy()
        self.tree[:, 0] = [index[int(parent)] for parent in self.tree[:, 0]]
        self._add_relative_chains(robot)
        joints = self.tree[:, 2].copy()
        self.tree[:, 2] = [column.get(int(joint), 0) for joint in joints]
        # A frozen joint has the multiplier 0, and an offset that `load` writes.
        self.frozen = np.flatnonzero([int(joint) not in column for joint in joints])
        self._has_frozen = bool(self.frozen.size)
        self._frozen_joint = joints[self.frozen]
        self._multiplier = self.geometry[self.frozen, MULTIPLIER].copy()
        self._offset = self.geometry[self.frozen, OFFSET].copy()
        self.geometry[self.frozen, MULTIPLIER] = 0.0

    def _add_relative_chains(self, robot: Robot) -> None:
        """Append the bodies between goals' links and the links that these are relative to."""
        self._relative: dict[tuple[str, str], tuple[int, Array]] = {}
        for part in self.parts:
            if part.relative_to is None or (part.link, part.relative_to) in self._relative:
                continue
            chain, first = relative_chain(robot, part.link, part.relative_to), len(self.tree)
            parents = chain.tree[:, :1]
            parents[parents >= 0] += first
            self.tree = np.vstack([self.tree, chain.tree])
            self.geometry = np.vstack([self.geometry, chain.geometry])
            last = len(self.tree) - 1 if len(chain.tree) else -1
            self._relative[part.link, part.relative_to] = last, chain.place

    def _body_of(self, robot: Robot, part: Goal | Part | PatternPart) -> tuple[int, Array]:
        """The packed body (-1: none) of a part's link, and the link's transform (4, 4) on it."""
        if part.relative_to is not None:
            return self._relative[part.link, part.relative_to]
        where = robot.placement(part.link)
        return self._bodies.index(where.body) if where.body >= 0 else -1, where.transform

    def _pack_goals(self, robot: Robot, orientation_length: float) -> None:
        """Write the table and the tools of all parts."""
        self.table = np.full((len(self.parts), kernels.CHAIN + 1), -1, np.int64)
        self.tools = np.zeros((len(self.parts), kernels.CONE + 1))
        rows = 0
        for i, task in enumerate(self.parts):
            body, transform = self._body_of(robot, task)
            axes = task.position_axes if task.position_weights.any() else kernels.NONE
            rotation = task.rotation if task.rotation_weights.any() else kernels.NONE
            self.table[i, : kernels.ROWS] = body, axes, rotation
            self.table[i, kernels.GEOMETRIC] = task.has_geometric_columns
            self.tools[i, : kernels.SCALE] = frame_of(transform @ task.tool)
            weights, slack = np.zeros(kernels.COMPONENTS), np.zeros(kernels.COMPONENTS)
            for values, position, turned in (
                (weights, task.position_weights, task.rotation_weights),
                (slack, task.position_box, task.orientation_box),
            ):
                values[:3] = position
                values[3 : 3 + len(turned)] = turned
            scales = np.sqrt(weights)
            scales[3:] *= orientation_length
            self.tools[i, kernels.SCALE : kernels.CONE + 1] = *scales, *slack, task.cone
            for component in np.flatnonzero(weights):
                self.table[i, kernels.ROWS + component] = rows
                rows += 1
            self.table[i, kernels.CHAIN] = self._is_chain(self.table[i])
        self.rows = rows
        self.goal_rows = _slices(self.table[:, kernels.ROWS : kernels.GEOMETRIC])

    def _is_chain(self, row: IntArray) -> bool:
        """Return whether a table row is the pose of a chain whose joints are the variables."""
        bodies, pose = len(self.tree), [kernels.ROOT_AXES, kernels.VECTOR, *range(6), -1, -1, -1]
        return (
            row[0] == bodies - 1
            and row[1 : kernels.GEOMETRIC].tolist() == pose
            and self.tree[:, 0].tolist() == list(range(-1, bodies - 1))
            and sorted(self.tree[:, 2]) == list(range(len(self.variables)))
        )

    def _make_buffers(self) -> None:
        count = len(self.parts)
        self.frames = np.empty((len(self.tree), 12))
        self.tips = np.empty((count, 12))
        self.raw = np.zeros((count, kernels.COMPONENTS))
        self.scales = np.zeros((count, kernels.COMPONENTS))
        self.part_errors = np.zeros((count, 2))
        self.residual = np.zeros(self.rows)
        self.arrays = kernels.Packed(
            tree=self.tree,
            geometry=self.geometry,
            table=self.table,
            tools=self.tools,
            targets=self.targets,
            frames=self.frames,
            tips=self.tips,
            raw=self.raw,
            scales=self.scales,
            errors=self.part_errors,
        )


def _slices(rows: np.ndarray) -> list[slice]:
    """The slice of the stacked residual of each part; empty if all its components are masked."""
    return [slice(min(r[r >= 0], default=0), r.max() + 1) for r in rows]
