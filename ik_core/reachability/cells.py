# SPDX-License-Identifier: Apache-2.0
"""The cells of a map, solved in chunks on any machine and in any order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..batch.many_targets import BatchResult, solve_batch
from ..exceptions import InvalidOption, UnsupportedProblem
from ..locks import Lock
from ..maths.rotations import Array
from ..problem import IkProblem
from ..tasks import PositionTask
from .bounds import BoolArray, ReachBounds, reach_bounds
from .grid import Grid, orientations

# arrays with a value per voxel of a chunk: `reached` orientations, `tried` ones (not certainly out
# of reach), and if requested the mean `manipulability` over reached ones
Chunk = dict[str, np.ndarray]

# restarts of the first attempt at points: almost all points in reach are reached with them, and
# the others were missed by less than NEARLY_REACHED_ERROR times the arm's reach, which then get
# all restarts (Panda: two of 131,693, missed by 0.1 and 1.6 mm; a map with all restarts at once
# takes three times as long)
FEW_RESTARTS = 4
NEARLY_REACHED_ERROR = 0.02

_one_at_a_time = Lock()  # a batch uses all cores, so threads of a worker would only compete


@dataclass(frozen=True, eq=False)
class Cells:
    """The voxels of a grid times the orientations, solved for a problem in chunks of voxels.

    The result of a chunk depends on nothing but its voxels: every cell starts from q0 and draws
    its restarts from the same random seed.
    """

    problem: IkProblem
    q0: Array
    grid: Grid
    orientations: int
    restarts: int
    random_seed: int
    manipulability: bool
    chunk_voxels: int

    def __post_init__(self) -> None:
        goals = self.problem.goals
        if not goals or len({goal.link for goal in goals}) > 1:
            raise UnsupportedProblem('a reachability map needs goals for one link')
        if any(goal.relative_to is not None for goal in goals):
            raise UnsupportedProblem('a reachability map needs goals relative to the root link')
        if self.problem.other_tasks or self.problem.levels:
            raise UnsupportedProblem('a reachability map takes goals only, no other tasks')
        if self.problem.valid is not None:
            raise UnsupportedProblem('a reachability map takes avoid=, but not valid=')
        turning = any(goal.rotation_weights.any() for goal in goals)
        if self.orientations > 1 and not turning:
            raise InvalidOption(
                'the goals leave the orientation free: one orientation per voxel is enough'
            )

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return -(-self.grid.voxels // self.chunk_voxels)

    @cached_property
    def bounds(self) -> ReachBounds:
        """Bounds outside which everything is certainly out of reach."""
        return reach_bounds(self.problem, self.q0)

    @cached_property
    def rotations(self) -> Array:
        """The orientations (N, 3, 3) to try in every voxel."""
        return orientations(self.orientations)

    def settings(self) -> dict[str, Any]:
        """Everything that the results depend on, as JSON data."""
        return {
            'robot': self.problem.robot.name,
            'link': self.problem.goals[0].link,
            'kinematics': self._digest(),
            'step': self.grid.step,
            'first_voxel': list(self.grid.first),
            'shape': list(self.grid.shape),
            'orientations': self.orientations,
            'position_tolerance': self.problem.position_tolerance,
            'orientation_tolerance': self.problem.orientation_tolerance,
            'restarts': self.restarts,
            'random_seed': self.random_seed,
            'manipulability': self.manipulability,
        }

    def voxels(self, chunk: int) -> range:
        """The numbers of the voxels of a chunk."""
        start = chunk * self.chunk_voxels
        return range(start, min(start + self.chunk_voxels, self.grid.voxels))

    def solve(self, chunk: int) -> Chunk:
        """Solve the cells of a chunk."""
        voxels = self.voxels(chunk)
        owners, poses = self._candidates(self.grid.centres(np.array(voxels)))
        success, q = self._solve(self.problem, poses)
        count = len(voxels)
        reached = owners[success]
        answers = {
            'reached': np.bincount(reached, minlength=count).astype('<u4'),
            'tried': np.bincount(owners, minlength=count).astype('<u4'),
        }
        if self.manipulability:
            total = np.bincount(reached, self._measure(q[success]), count)
            mean = total / np.maximum(answers['reached'], 1)
            answers['manipulability'] = mean.astype('<f4')
        return answers

    def _candidates(self, centres: Array) -> tuple[np.ndarray, Array]:
        """The poses (P, 4, 4) of a chunk that may be in reach, and the voxel (P,) of each."""
        voxels = np.flatnonzero(self.bounds.may_hold(centres))
        if self._position_problem is not None:
            poses = _poses(np.eye(3), centres[voxels])
            voxels = voxels[self._solve(self._position_problem, poses)[0]]
        owners = voxels.repeat(self.orientations)
        poses = _poses(np.tile(self.rotations, (len(voxels), 1, 1)), centres[owners])
        kept = self.bounds.may_place(poses)
        return owners[kept], poses[kept]

    def _solve(self, problem: IkProblem, poses: Array) -> tuple[BoolArray, Array]:
        """Solve for poses (P, 4, 4); returns a mask of those reached, and q (P, n).

        Points first get few restarts; those that are nearly reached then get all of them.
        """
        turning = any(goal.rotation_weights.any() for goal in problem.goals)
        few = self.restarts if turning else min(FEW_RESTARTS, self.restarts)
        first = self._attempt(problem, poses, few)
        success, q = first.success, first.q
        if few < self.restarts:
            missed_by = first.position_errors.max(axis=1)  # the cost depends on weights
            nearly = missed_by <= NEARLY_REACHED_ERROR * self.bounds.workspace
            again = np.flatnonzero(~success & nearly)
            second = self._attempt(problem, poses[again], self.restarts)
            success[again], q[again] = second.success, second.q
        return success, q

    def _attempt(self, problem: IkProblem, poses: Array, restarts: int) -> BatchResult:
        targets = np.repeat(poses[:, np.newaxis], len(problem.goals), axis=1)
        with _one_at_a_time:
            return solve_batch(
                problem, targets, self.q0, random_seed=self.random_seed, restarts=restarts
            )

    @cached_property
    def _position_problem(self) -> IkProblem | None:
        """The position goal common to all orientations of a voxel; None if it saves no work."""
        given = self.problem
        whole = [goal for goal in given.goals if goal.position_weights.all()]
        if self.orientations == 1 or not whole:
            return None
        lower, upper = given.robot.lower.copy(), given.robot.upper.copy()
        lower[given.variables], upper[given.variables] = given.limits.lower, given.limits.upper
        return IkProblem(
            given.robot,
            [PositionTask(whole[0].link, tool=whole[0].tool)],
            frozen_joints=given.frozen_joints,
            lower=lower,
            upper=upper,
            position_tolerance=given.position_tolerance,
        )

    def _measure(self, q: Array) -> Array:
        """sqrt(det(J J')) (P,) at q (P, n), for the rows of J that the goals constrain."""
        problem = self.problem
        turning = any(goal.rotation_weights.any() for goal in problem.goals)
        moving = any(goal.position_weights.any() for goal in problem.goals)
        rows = slice(0 if moving else 3, 6 if turning else 3)
        jacobians = np.zeros((len(q), 6, len(problem.variables)))
        for i, row in enumerate(q):
            jacobian = problem.robot.jacobian(row, problem.goals[0].link)
            jacobians[i] = jacobian[:, problem.variables]
        asked = jacobians[:, rows]
        gram = asked @ asked.transpose(0, 2, 1)
        return np.sqrt(np.maximum(np.linalg.det(gram), 0.0))

    def _digest(self) -> str:
        """A hash of the robot, the goals and the limits, equal on every machine."""
        problem, robot = self.problem, self.problem.robot
        parts = [
            *(robot.tree, robot.geometry, robot.placement(problem.goals[0].link).transform),
            *(problem.variables, problem.limits.packed, self.q0),
        ]
        for goal in problem.goals:
            parts += [goal.tool, goal.position_weights, goal.rotation_weights]
            parts.append(np.frombuffer(type(goal).__name__.encode(), np.uint8))
            parts.append(np.array([goal.position_axes]))
            parts += [
                turn for turn in (goal.position_turn, goal.rotation_turn) if turn is not None
            ]
        digest = hashlib.sha256()
        for part in parts:
            digest.update((np.round(np.asarray(part, '<f8'), 9) + 0.0).tobytes())  # never -0.0
        if problem.avoid is not None:
            digest.update(problem.avoid.digest().encode())
        return digest.hexdigest()[:32]


def _poses(rotations: Array, positions: Array) -> Array:
    """Transforms (P, 4, 4) of rotations, (P, 3, 3) or (3, 3) for all, and positions (P, 3)."""
    poses = np.zeros((len(positions), 4, 4))
    poses[:, :3, :3] = rotations
    poses[:, :3, 3] = positions
    poses[:, 3, 3] = 1.0
    return poses
