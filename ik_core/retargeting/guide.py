# SPDX-License-Identifier: Apache-2.0
"""Follow goals in the style of a demonstrated motion: [TakKo] Eq. 1 for one goal at a time.

A demonstration is a motion of the robot itself. The example for a goal is its posture where the
path of its tips is nearest to the goal, interpolated between frames: so it is used at any speed of
the goal, and in both directions. The posture for the goal minimises

    alpha (sum over the tips of weighted position^2 + (l angle)^2) + beta L^2 |q - example|^2

starting at the example. L is the longest chain to a tip (section 4.3), l the orientation length. A
small beta changes the tips' positions by a multiple of beta L only; alpha = 0 copies the example.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from ..exceptions import InvalidMotion
from ..maths.argument_types import MatrixLike, TransformLike, VectorLike
from ..maths.rotations import Array
from ..problem import IkProblem
from ..robot.motion import Motion
from ..robot.robot import Robot
from ..solvers import DEFAULT_SOLVER, make_solver
from ..tasks import PostureTask
from ..tasks.reference_motion import total_link_length
from ..tasks.weights import check_alpha_beta
from .example import link_paths

BEYOND = 0.05  # [rad or m] measured demonstrations may exceed the limits by this; they are clipped
WIDEST_LIMIT = 1e3  # [rad or m] limit of demonstrations for joints without limits


class Demonstration:
    """A motion of a robot as an example, and the paths of some of its links.

    Joints that the motion does not name have no example. Raises InvalidMotion if it names joints
    that the robot does not have, or exceeds their limits.
    """

    def __init__(self, robot: Robot, links: Sequence[str], motion: Motion) -> None:
        unknown = sorted(set(motion.joint_names) - set(robot.joint_names))
        if unknown:
            raise InvalidMotion(
                f'an example for {robot.name}: it has no joint {unknown[0]!r}; '
                f'its joints are {", ".join(robot.joint_names)}'
            )
        self.robot, self.links = robot, tuple(links)
        self.mapped = np.array([name in motion.joint_names for name in robot.joint_names])
        self.postures = self._postures(motion)
        self.paths = link_paths(robot, self.postures, self.links).reshape(len(motion), -1)

    def __len__(self) -> int:
        return len(self.postures)

    def nearest(self, points: MatrixLike) -> Array:
        """The posture (n,) at which the links' path is nearest to points (links, 3) [m]."""
        point = np.asarray(points, float).ravel()
        starts, spans = self.paths[:-1], np.diff(self.paths, axis=0)
        if not len(spans):
            return self.postures[0].copy()
        squares = np.einsum('ij,ij->i', spans, spans)
        along = np.einsum('ij,ij->i', point - starts, spans) / np.where(squares > 0, squares, 1.0)
        along = np.clip(along, 0.0, 1.0)
        left = point - starts - along[:, np.newaxis] * spans
        i = int(np.argmin(np.einsum('ij,ij->i', left, left)))
        return self.postures[i] + along[i] * (self.postures[i + 1] - self.postures[i])

    def _postures(self, motion: Motion) -> Array:
        """The postures (frames, n) of a motion, clipped to the limits. Raises InvalidMotion."""
        robot = self.robot
        postures = np.tile(robot.middle_configuration, (len(motion), 1))
        columns = [robot.joint_index(name) for name in motion.joint_names]
        postures[:, columns] = motion.positions
        low = np.maximum(robot.lower - BEYOND, -WIDEST_LIMIT)
        high = np.minimum(robot.upper + BEYOND, WIDEST_LIMIT)
        outside = (postures < low) | (postures > high)
        if outside.any():
            frame, joint = np.argwhere(outside)[0].tolist()
            raise InvalidMotion(
                f'an example for {robot.name}: {robot.joint_names[joint]!r} at frame {frame} is '
                f'{postures[frame, joint]:g}, outside [{low[joint]:g}, {high[joint]:g}]'
            )
        return np.clip(postures, robot.lower, robot.upper)


class ExampleGuide:
    """A solver for goals in the style of a demonstration, see the module.

    problem : its goals are for the demonstration's links, in order; it is copied
    alpha, beta : weights of goals and example; only beta / alpha matters
    """

    def __init__(
        self,
        problem: IkProblem,
        demonstration: Demonstration,
        *,
        alpha: float = 1.0,
        beta: float = 1e-5,
    ) -> None:
        check_alpha_beta(alpha, beta)
        self.demonstration = demonstration
        self._robot, self._only_copies = problem.robot, alpha == 0.0
        self._goals = copy.deepcopy(problem.goals)
        length = max(total_link_length(self._robot, goal.link) for goal in self._goals)
        weight = 0.0 if self._only_copies else beta / alpha * length**2
        self._style = PostureTask(
            self._robot.middle_configuration, weights=weight * demonstration.mapped
        )
        self._lower, self._upper = self._robot.lower.copy(), self._robot.upper.copy()
        self._lower[problem.variables] = problem.limits.lower
        self._upper[problem.variables] = problem.limits.upper
        self._problem = IkProblem(
            self._robot,
            [*self._goals, self._style],
            frozen_joints=problem.frozen_joints,
            lower=self._lower,
            upper=self._upper,
            orientation_length=problem.orientation_length,
        )
        self._solver = make_solver(DEFAULT_SOLVER, restarts=0)

    def posture(self, targets: Sequence[TransformLike], q: VectorLike) -> Array:
        """The posture (n,) for targets (4, 4) of all goals.

        q (n,) : values of joints without an example

        Raises InvalidGoal.
        """
        for goal, target in zip(self._goals, targets, strict=True):
            goal.set_target(target)
        links = [goal.transform @ np.linalg.inv(goal.tool) for goal in self._goals]
        example = self.demonstration.nearest([link[:3, 3] for link in links])
        start = np.where(self.demonstration.mapped, example, self._robot.checked(q))
        start = np.clip(start, self._lower, self._upper)
        if self._only_copies:
            return start
        self._style.set_rest(start)
        return self._solver.solve(self._problem, start).q

    def poses(self, q: VectorLike) -> list[Array]:
        """Poses (4, 4) of the goals' tool frames at q (n,)."""
        return [self._robot.forward_kinematics(q, g.link) @ g.tool for g in self._goals]
