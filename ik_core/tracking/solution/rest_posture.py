# SPDX-License-Identifier: Apache-2.0
"""A rest posture for a stream of goals: motion of the joints in the null space of the goals.

Each tick the joints move with a velocity v of the null space of the goals' Jacobian J
([Liegeois1977]; [Buss2009] section 4):

    v = N w,    N = I - J'(J J')^-1 J,    w = rate (rest - q)

w takes at most a quarter of the velocity limits, and v changes with at most a quarter of the
acceleration limits, so that the commanded joints follow it without lag: the goals stay reached.
Each step leaves the curved manifold of the goals a little, which the next solve corrects. Joints
at a limit that v would cross are clamped. At the rest posture, or where N w = 0, v ends: closed
paths of the goals become closed paths of the joints.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ...kernels.jit import kernel
from ...kernels.signatures import Array1, Array2
from ...maths.linalg import cholesky_solve
from ...maths.rotations import Array
from ...tasks.kernels import Packed, goal_jacobian, update
from ...tasks.packing import PackedGoals
from ..governor.motion_limits import MotionLimits

# [rad/s or m/s] A null-space velocity below this has ended.
AT_REST = 3e-7

# The rows of a table (10, variables): limits, rest posture and state, then scratch.
LOWER, UPPER, REST, SPEED, ACCELERATION, X, VELOCITY, CHANGE, TRIAL, CLAMPED = range(10)


class RestPosture:
    """Motion of the variables of goals to a rest posture q (n,).

    `at_rest` : it is reached, as far as the goals allow; only to be read
    `velocity` (variables,) : of this motion
    """

    # Attributes that are its state.
    OWN: ClassVar = ('at_rest', 'velocity')

    def __init__(self, goals: PackedGoals, limits: MotionLimits, period: float, q: Array) -> None:
        self._period = period
        self.change(goals, limits, q)

    def change(self, goals: PackedGoals, limits: MotionLimits, q: Array) -> None:
        """Move the variables of these goals to q (n,), inside these limits, beginning at rest."""
        self.at_rest = False
        self._goals = goals
        self._variables = v = goals.variables
        n, m = len(v), goals.rows
        self._rows = np.zeros((10, n))
        self.velocity = self._none = np.zeros(n)
        self._rows[LOWER], self._rows[UPPER] = limits.lower[v], limits.upper[v]
        self._rows[REST] = np.clip(q[v], limits.lower[v], limits.upper[v])
        # 0.5 rad/s or m/s at most: nothing waits for the rest posture.
        self._rows[SPEED] = np.minimum(0.25 * limits.velocity[v], 0.5)
        self._rows[ACCELERATION] = 0.25 * limits.acceleration[v]
        self._columns, self._normal, self._rhs = np.zeros((n, m)), np.zeros((m, m)), np.zeros(m)

    def halt(self) -> None:
        """Forget the velocity: the next step begins at rest."""
        self.at_rest, self.velocity = False, self._none

    def step(self, q: Array, rate: float) -> bool:
        """Move q (n,) by one period, in place; return whether it moved.

        rate [1/s] : at which the distance to the rest posture shall decrease
        """
        goals, rows = self._goals, self._rows
        goals.load(q)
        rows[X], rows[VELOCITY] = q[self._variables], self.velocity
        moved = null_space_step(
            goals.arrays, rows, self._columns, self._normal, self._rhs, rate, self._period
        )
        if moved:
            q[self._variables] = rows[X]
        self.at_rest, self.velocity = not moved, rows[VELOCITY].copy()
        return moved


@kernel(entry='ik_null_space_step')
def null_space_step(
    p: Packed,
    rows: Array2,
    columns: Array2,
    normal: Array2,
    rhs: Array1,
    rate: float,
    period: float,
) -> bool:
    """Move rows[X] by one period, with a new rows[VELOCITY]; return whether it moved.

    columns (n, m), normal (m, m) and rhs (m,) are scratch.
    """
    x, velocity, change = rows[X], rows[VELOCITY], rows[CHANGE]
    update(p, x, rhs)
    goal_jacobian(p, 0, columns)
    _towards_rest(rows, rate)
    _project(rows, columns, normal, rhs)
    fraction = 1.0  # of the change of the velocity that the accelerations allow
    for j in range(x.size):
        change[j] = rows[TRIAL, j] - velocity[j]
        if change[j] != 0.0:
            fraction = min(fraction, rows[ACCELERATION, j] * period / abs(change[j]))
    for j in range(x.size):
        rows[TRIAL, j] = velocity[j] + fraction * change[j]
    _project(rows, columns, normal, rhs)
    fastest = 0.0
    for j in range(x.size):
        velocity[j] = rows[TRIAL, j]
        fastest = max(fastest, abs(velocity[j]))
    if fastest < AT_REST and fraction == 1.0:
        for j in range(x.size):
            velocity[j] = 0.0
        return False
    for j in range(x.size):
        x[j] = min(max(x[j] + period * velocity[j], rows[LOWER, j]), rows[UPPER, j])
    return True


@kernel
def _towards_rest(rows: Array, rate: float) -> None:
    """Write w to rows[TRIAL]: as fast as it may be, and slowing down in time."""
    fraction, n = 1.0, rows.shape[1]
    for j in range(n):
        left = rows[REST, j] - rows[X, j]
        rows[TRIAL, j] = rate * left
        if left != 0.0:
            fastest = min(rows[SPEED, j], math.sqrt(rows[ACCELERATION, j] * abs(left)))
            fraction = min(fraction, fastest / abs(rate * left))
    for j in range(n):
        rows[TRIAL, j] *= fraction


@kernel
def _project(rows: Array, columns: Array, normal: Array, rhs: Array) -> None:
    """Multiply rows[TRIAL] by N, over the joints that are not clamped at a limit."""
    x, v, clamped = rows[X], rows[TRIAL], rows[CLAMPED]
    for j in range(x.size):
        clamped[j] = 0.0
    crossing = True
    while crossing:
        crossing = False
        if not _seen_part(columns, v, clamped, normal, rhs):
            for j in range(x.size):
                clamped[j] = 1.0
        for j in range(x.size):
            if clamped[j] == 0.0:
                left = v[j] - _dot(columns, j, rhs)
                below, above = x[j] <= rows[LOWER, j], x[j] >= rows[UPPER, j]
                if (below and left < 0.0) or (above and left > 0.0):
                    clamped[j] = 1.0
                    crossing = True
    for j in range(x.size):
        v[j] = v[j] - _dot(columns, j, rhs) if clamped[j] == 0.0 else 0.0


@kernel
def _seen_part(columns: Array, v: Array, clamped: Array, normal: Array, rhs: Array) -> bool:
    """Write (J J' + mu I)^-1 J v over the free joints to rhs.

    J' rhs is the part of v that moves the goals. Returns False if that is not finite.
    """
    n, m = columns.shape
    for i in range(m):
        rhs[i] = 0.0
        for k in range(i + 1):
            normal[i, k] = 0.0
    for j in range(n):
        if clamped[j] == 0.0:
            for i in range(m):
                rhs[i] += columns[j, i] * v[j]
                for k in range(i + 1):
                    normal[i, k] += columns[j, i] * columns[j, k]
    trace = 1e-300  # not 0
    for i in range(m):
        trace += normal[i, i]
    for i in range(m):
        normal[i, i] += 1e-12 * trace  # J J' may be singular
    return cholesky_solve(normal, rhs, m)


@kernel
def _dot(columns: Array, j: int, v: Array) -> float:
    """Return the product of row j with v (m,)."""
    s = 0.0
    for i in range(v.size):
        s += columns[j, i] * v[i]
    return s
