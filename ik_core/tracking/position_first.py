# SPDX-License-Identifier: Apache-2.0
"""Steps of tips that have too few joints for whole poses, on lines and jogs.

Such a goal puts the position first (`GoalTask.puts_position_first`). Its tip goes to the next
position by the shortest step of the joints, and turns as near to the asked orientation as the
freedom beside the position rows of the Jacobian allows. With s the shortest step, N the freedom, A
the turns of the tip that N allows, d its turn by s, t the turn asked for in this step, e what is
left from before,

    step = s + N (z + z'),    z = A+ (t - d),    z' = share A+ e period / RECOVERY

z keeps the orientation, z' brings it back. A+ is damped where a singular value of A is below
DAMPING: there joints would race to keep an orientation, so it gives way, smoothly.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..maths.rotations import Array, IntArray
from ..maths.safe import singular_values
from ..robot.robot import Robot
from ..tasks.goals import GoalTask
from .cartesian import way_between
from .motion_limits import MotionLimits

RECOVERY = 0.1
"""[s] Time constant with which an orientation is brought back, at full speed."""
FULL_RECOVERY = 0.25
"""The share of the angular velocity, and of the joints' velocities, that this may take."""
DAMPING, DAMPING_AT_REST = 0.3, 0.15
"""[rad of the tip per rad or m of the joints] Singular values below this are damped: where the
position moves on, and where the tip turns alone."""
DEPENDENT = 1e-3
"""Singular values of position rows below this share of the largest allow no direction."""
SPANNED = 1e-3
"""The share of a direction that may be missing."""
SAMPLES = 16
"""Configurations among which one that is not singular is looked for."""
CORRECTIONS = 3
"""Newton steps to the exact position, at most."""
EXACT = 1e-9
"""[m] A position that is missed by less needs no correction."""


def damped_inverse(matrix: Array, damping: float) -> Array:
    """The pseudoinverse (n, m) of a matrix (m, n); singular values below `damping` are damped."""
    u, values, vt = np.linalg.svd(matrix, full_matrices=False)
    near = np.minimum(values / damping, 1.0)
    return (vt.T * (values / (values**2 + damping**2 * (1.0 - near**2)))) @ u.T


def way_of(start: Array, end: Array) -> Array:
    """The twist (6,) that carries one frame (12,) to another one in a second."""
    way = np.zeros(6)
    way_between(start, end, way)
    return way


def rank_of(values: Array) -> int:
    """How many of the singular values, largest first, allow a direction."""
    return int((values > DEPENDENT * values[0]).sum()) if values.size else 0


def is_spanned(basis: Array, vector: Array) -> bool:
    """Whether a vector (m,) lies in the span of an orthonormal basis (m, k)."""
    rest = vector - basis @ (basis.T @ vector)
    return bool(np.linalg.norm(rest) <= SPANNED * np.linalg.norm(vector))


class AskedStep(NamedTuple):
    """What is asked of a tip in a step.

    frame (12,) : where it should be then
    turn (3,) [rad] : by which that frame has turned in this step
    recovery : how fast what is left of the orientation is brought back, up to 1
    fastest [rad/s] : of the tip
    damping : DAMPING or DAMPING_AT_REST
    """

    frame: Array
    turn: Array
    recovery: float
    fastest: float
    damping: float


class PositionFirst:
    """The steps of the tip of one goal.

    variables : the joints (their indices) that may move
    period [s] : of a step
    """

    def __init__(self, robot: Robot, goal: GoalTask, variables: IntArray, period: float) -> None:
        self._robot, self._goal, self._period = robot, goal, period
        moving = set(robot.chain(*goal.chains[0])) & set(variables.tolist())
        self._columns = np.array(sorted(moving), int)

    def step(self, q: Array, asked: AskedStep, limits: MotionLimits) -> tuple[Array, float]:
        """A q (n,) after one step, with the position asked for where it can be reached from q.

        Also how far [rad or m] joints have yet to go to turn the tip. A joint that would leave its
        limits stops there, and the others go on without it.
        """
        columns, start = self._columns, q
        after, left = self._free_step(start, columns, asked, limits)
        inside = (limits.lower <= after) & (after <= limits.upper)
        while not inside[columns].all():
            start = np.where(inside, start, np.clip(after, limits.lower, limits.upper))
            columns = columns[inside[columns]]
            if not columns.size:
                return start, 0.0
            after, left = self._free_step(start, columns, asked, limits)
            inside = (limits.lower <= after) & (after <= limits.upper)
        return np.clip(after, limits.lower, limits.upper), left

    def _free_step(
        self, q: Array, columns: Array, asked: AskedStep, limits: MotionLimits
    ) -> tuple[Array, float]:
        """The step of some joints without position limits; see `step`."""
        q, left = q.copy(), 0.0
        if columns.size == 0:
            return q, left
        here = self._frame(q)
        way = way_of(here, asked.frame)
        for newton in range(1 + CORRECTIONS):
            linear, angular = self._rows(q, here, columns)
            u, values, vt = np.linalg.svd(linear)
            rank = rank_of(values)
            step = vt[:rank].T @ (u[:, :rank].T @ way[:3] / values[:rank])
            if newton == 0 and rank < columns.size:
                free, velocity = vt[rank:].T, limits.velocity[columns]
                turning, left = self._turning(
                    angular @ free, free, angular @ step, way[3:], asked, velocity
                )
                step += turning
            q[columns] += step
            here = self._frame(q)
            way = asked.frame[9:] - here[9:]
            if np.abs(way).max() < EXACT:
                break
        return q, left

    def _turning(
        self, turns: Array, free: Array, forced: Array, error: Array, asked: AskedStep,
        velocity: Array,
    ) -> tuple[Array, float]:  # fmt: skip
        """The part of a step that turns the tip alone, and how far joints have yet to go."""
        inverse = damped_inverse(turns, asked.damping)
        back = inverse @ (error - asked.turn)
        joints, angle = np.abs(free @ back), float(np.linalg.norm(turns @ back))
        least = max(angle / asked.fastest, float((joints / velocity).max())) / FULL_RECOVERY
        recovery = asked.recovery * self._period / max(RECOVERY, least, self._period)
        step = free @ (inverse @ (asked.turn - forced) + recovery * back)
        return step, float(joints.max())

    def lacks_joints(self, q: Array, twist: Array) -> bool:
        """Whether no configuration near q (n,) lets the tip move by the twist (6,).

        Where the tip is to move, only that counts. At a singularity it is not for lack of joints.
        """
        linear, angular = self._rows(q, self._frame(q), self._columns)
        u, values, vt = np.linalg.svd(linear)
        rank = rank_of(values)
        if rank < self._rank:
            return False
        if twist[:3].any():
            return not is_spanned(u[:, :rank], twist[:3])
        u, values, _ = np.linalg.svd(angular @ vt[rank:].T)
        return not is_spanned(u[:, : rank_of(values)], twist[3:])

    @cached_property
    def _rank(self) -> int:
        """The number of directions that the position has where it is not singular."""
        rng, robot, rank = np.random.default_rng(0), self._robot, 0
        lower, upper = np.clip([robot.lower, robot.upper], -np.pi, np.pi)
        for _ in range(SAMPLES):
            q = rng.uniform(lower, upper)
            linear, _angular = self._rows(q, self._frame(q), self._columns)
            rank = max(rank, rank_of(singular_values(linear)))
        return rank

    def _frame(self, q: Array) -> Array:
        """The frame (12,) of the tip at q (n,)."""
        return self._goal.frame_at(self._robot, self._robot.frames(q))

    def _rows(self, q: Array, here: Array, columns: Array) -> tuple[Array, Array]:
        """The linear and angular rows (3, joints) of the Jacobian of the tip at `here`."""
        rows = self._robot.jacobian(q, *self._goal.chains[0])[:, columns]
        tool = self._goal.tool
        arm = here[:9].reshape(3, 3) @ (tool[:3, :3].T @ tool[:3, 3])  # from the link's origin
        return rows[:3] + np.cross(rows[3:], arm, axis=0), rows[3:]
