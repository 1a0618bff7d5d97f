# SPDX-License-Identifier: Apache-2.0
"""Steps of tips that have too few joints for whole poses, on lines and jogs.

Such a goal puts the position first (`GoalTask.puts_position_first`). Its tip moves to the next
position by the shortest step of the joints, and turns as near to the requested orientation as the
null space N of the position rows of the Jacobian allows. With s the shortest step, A the turns of
the tip that N allows, d its turn by s, t the turn requested in this step, e the rotation that is
left from before,

    step = s + N (z + z'),    z = A+ (t - d),    z' = recovery A+ e period / 0.1 s

z keeps the orientation, z' restores it. A+ is damped where a singular value of A is below
`damping`: there joints would race to keep an orientation, so it gives way, smoothly.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...maths.rotations import Array, IntArray
from ...maths.safe import singular_values
from ...robot.robot import Robot
from ...tasks.goals import GoalTask
from ..goals.cartesian import twist_between
from ..goals.monitor import sampled_configurations
from ..governor.motion_limits import MotionLimits

# [rad of the tip per rad or m of the joints] Singular values below this are damped: where the
# position moves on, and where the tip turns alone.
DAMPING, DAMPING_AT_REST = 0.3, 0.15


def damped_inverse(matrix: Array, damping: float) -> Array:
    """Return the pseudoinverse (n, m) of a matrix (m, n).

    Singular values below `damping` are damped.
    """
    u, values, vt = np.linalg.svd(matrix, full_matrices=False)
    near = np.minimum(values / damping, 1.0)
    return (vt.T * (values / (values**2 + damping**2 * (1.0 - near**2)))) @ u.T


def rank_of(values: Array) -> int:
    """Return how many of the singular values, largest first, allow a direction."""
    return int((values > 1e-3 * values[0]).sum()) if values.size else 0


def is_spanned(basis: Array, vector: Array) -> bool:
    """Return whether a vector (m,) lies in the span of an orthonormal basis (m, k)."""
    missing = vector - basis @ (basis.T @ vector)
    return bool(np.linalg.norm(missing) <= 1e-3 * np.linalg.norm(vector))


class RequestedStep(NamedTuple):
    """The requested step of a tip.

    frame (12,) : target of the tip at the end of the step
    turn (3,) [rad] : rotation of that frame in this step
    recovery : how fast the orientation is restored, 0 to 1
    fastest [rad/s] : angular velocity of the tip
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

    def step(self, q: Array, asked: RequestedStep, limits: MotionLimits) -> tuple[Array, float]:
        """Return q (n,) after one step, at the requested position if that can be reached from q.

        Also returns the greatest distance [rad or m] that a joint has left to turn the tip. A
        joint that would leave its limits stops there, and the others continue without it.
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
        self, q: Array, columns: Array, asked: RequestedStep, limits: MotionLimits
    ) -> tuple[Array, float]:
        """Return a step of some joints (their indices) without position limits, as `step` does."""
        q, left = q.copy(), 0.0
        if columns.size == 0:
            return q, left
        here = self._frame(q)
        displacement = twist_between(here, asked.frame)
        for newton in range(4):  # the step, and corrections of the position
            linear, angular = self._rows(q, here, columns)
            u, values, vt = np.linalg.svd(linear)
            rank = rank_of(values)
            step = vt[:rank].T @ (u[:, :rank].T @ displacement[:3] / values[:rank])
            if newton == 0 and rank < columns.size:
                free, velocity = vt[rank:].T, limits.velocity[columns]
                turning, left = self._turning(
                    angular @ free, free, angular @ step, displacement[3:], asked, velocity
                )
                step += turning
            q[columns] += step
            here = self._frame(q)
            displacement = asked.frame[9:] - here[9:]
            if np.abs(displacement).max() < 1e-9:  # [m]
                break
        return q, left

    def _turning(
        self, turns: Array, free: Array, forced: Array, error: Array, asked: RequestedStep,
        velocity: Array,
    ) -> tuple[Array, float]:  # fmt: skip
        """Return the part of a step that only turns the tip, and how far joints have yet to go."""
        inverse = damped_inverse(turns, asked.damping)
        back = inverse @ (error - asked.turn)
        joints, angle = np.abs(free @ back), float(np.linalg.norm(turns @ back))
        # The recovery takes a quarter of the angular velocity, and of the joints' velocities, at
        # most; its time constant at full speed is 0.1 s.
        least = max(angle / asked.fastest, float((joints / velocity).max())) / 0.25
        recovery = asked.recovery * self._period / max(0.1, least, self._period)
        step = free @ (inverse @ (asked.turn - forced) + recovery * back)
        return step, float(joints.max())

    def lacks_joints(self, q: Array, twist: Array) -> bool:
        """Return whether no configuration near q (n,) lets the tip move by the twist (6,).

        If the twist moves the origin of the tip, only that counts. False at a singularity, where
        the reason is not a lack of joints.
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
        """The number of directions in which the position moves where it is not singular."""
        rank = 0
        for q in sampled_configurations(self._robot):
            linear, _angular = self._rows(q, self._frame(q), self._columns)
            rank = max(rank, rank_of(singular_values(linear)))
        return rank

    def _frame(self, q: Array) -> Array:
        """Return the frame (12,) of the tip at q (n,)."""
        return self._goal.frame_at(self._robot, self._robot.frames(q))

    def _rows(self, q: Array, here: Array, columns: Array) -> tuple[Array, Array]:
        """Return the linear and angular rows (3, joints) of the Jacobian of the tip at `here`."""
        rows = self._robot.jacobian(q, *self._goal.chains[0])[:, columns]
        tool = self._goal.tool
        arm = here[:9].reshape(3, 3) @ (tool[:3, :3].T @ tool[:3, 3])  # from the link's origin
        return rows[:3] + np.cross(rows[3:], arm, axis=0), rows[3:]
