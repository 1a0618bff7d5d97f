# SPDX-License-Identifier: Apache-2.0
"""A rest posture for a stream of goals: motion of the joints that the goals do not see.

Each tick the joints move on with a velocity v of the null space of the goals' Jacobian J
([Liegeois1977]; [Buss2009] section 4):

    v = N w,    N = I - J'(J J')^-1 J,    w = rate (rest - q)

w is slowed down to SPEED_SHARE of the velocity limits, and v changes with ACCELERATION_SHARE of
the accelerations, so that the commanded joints follow it without lag: the goals stay reached on
the way. What the curvature of the goals' manifold adds, the next solve takes back. Joints at a
limit that v would cross are held. At the rest posture, or where N w is nothing, v ends: closed
paths of the goals become closed paths of the joints.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, Array2
from ..maths.linalg import cholesky_solve
from ..maths.rotations import Array
from ..tasks.kernels import Packed, goal_jacobian, update
from ..tasks.packing import PackedGoals
from .motion_limits import MotionLimits

SPEED_SHARE = 0.25
ACCELERATION_SHARE = 0.25
FASTEST = 0.5
"""[rad/s or m/s] Where the velocity limits allow more, no joint is drawn faster than this."""
AT_REST = 3e-7
"""[rad/s or m/s] Slower than this it has ended."""
DAMPING = 1e-12
"""Relative to the trace of J J', which may be singular."""
SMALLEST = 1e-300
"""Added where that trace is 0."""

# rows (10, variables) float: what is given, then scratch
LOWER, UPPER, REST, SPEED, ACCELERATION, X, VELOCITY, CHANGE, TRIAL, HELD = range(10)


class RestPosture:
    """Draws the variables of goals to a rest posture q (n,).

    `at_rest`: it is reached, as far as the goals allow; only to be read.
    `velocity` (variables,) : with which the joints are drawn
    """

    OWN: ClassVar = ('at_rest', 'velocity')
    """Attributes that are its state."""

    def __init__(self, goals: PackedGoals, limits: MotionLimits, period: float, q: Array) -> None:
        self._period = period
        self.change(goals, limits, q)

    def change(self, goals: PackedGoals, limits: MotionLimits, q: Array) -> None:
        """Draw the variables of these goals to q (n,), inside these limits, beginning at rest."""
        self.at_rest = False
        self._goals = goals
        self._variables = v = goals.variables
        n, m = len(v), goals.rows
        self._rows = np.zeros((10, n))
        self.velocity = self._none = np.zeros(n)
        self._rows[LOWER], self._rows[UPPER] = limits.lower[v], limits.upper[v]
        self._rows[REST] = np.clip(q[v], limits.lower[v], limits.upper[v])
        self._rows[SPEED] = np.minimum(SPEED_SHARE * limits.velocity[v], FASTEST)
        self._rows[ACCELERATION] = ACCELERATION_SHARE * limits.acceleration[v]
        self._columns, self._normal, self._rhs = np.zeros((n, m)), np.zeros((m, m)), np.zeros(m)

    def halt(self) -> None:
        """Begin again from rest, once nothing else moves the joints."""
        self.at_rest, self.velocity = False, self._none

    def step(self, q: Array, rate: float) -> bool:
        """Move q (n,) on by one period, in place; whether it moved.

        rate [1/s] : how fast what is left is to become less.
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
    """Move rows[X] on by one period, with a new rows[VELOCITY]; return whether it moved.

    columns (n, m), normal (m, m) and rhs (m,) are scratch.
    """
    x, velocity, change = rows[X], rows[VELOCITY], rows[CHANGE]
    update(p, x, rhs)
    goal_jacobian(p, 0, columns)
    _towards_rest(rows, rate)
    _project(rows, columns, normal, rhs)
    part = 1.0
    for j in range(x.size):
        change[j] = rows[TRIAL, j] - velocity[j]
        if change[j] != 0.0:
            part = min(part, rows[ACCELERATION, j] * period / abs(change[j]))
    for j in range(x.size):
        rows[TRIAL, j] = velocity[j] + part * change[j]
    _project(rows, columns, normal, rhs)
    fastest = 0.0
    for j in range(x.size):
        velocity[j] = rows[TRIAL, j]
        fastest = max(fastest, abs(velocity[j]))
    if fastest < AT_REST and part == 1.0:
        for j in range(x.size):
            velocity[j] = 0.0
        return False
    for j in range(x.size):
        x[j] = min(max(x[j] + period * velocity[j], rows[LOWER, j]), rows[UPPER, j])
    return True


@kernel
def _towards_rest(rows: Array, rate: float) -> None:
    """rows[TRIAL] = w: as fast as it may be, and slowing down in time."""
    share, n = 1.0, rows.shape[1]
    for j in range(n):
        left = rows[REST, j] - rows[X, j]
        rows[TRIAL, j] = rate * left
        if left != 0.0:
            fastest = min(rows[SPEED, j], math.sqrt(rows[ACCELERATION, j] * abs(left)))
            share = min(share, fastest / abs(rate * left))
    for j in range(n):
        rows[TRIAL, j] *= share


@kernel
def _project(rows: Array, columns: Array, normal: Array, rhs: Array) -> None:
    """rows[TRIAL] becomes N rows[TRIAL], over the joints that no limit holds."""
    x, v, held = rows[X], rows[TRIAL], rows[HELD]
    for j in range(x.size):
        held[j] = 0.0
    crossing = True
    while crossing:
        crossing = False
        if not _seen_part(columns, v, held, normal, rhs):
            for j in range(x.size):
                held[j] = 1.0
        for j in range(x.size):
            if held[j] == 0.0:
                left = v[j] - _dot(columns, j, rhs)
                below, above = x[j] <= rows[LOWER, j], x[j] >= rows[UPPER, j]
                if (below and left < 0.0) or (above and left > 0.0):
                    held[j] = 1.0
                    crossing = True
    for j in range(x.size):
        v[j] = v[j] - _dot(columns, j, rhs) if held[j] == 0.0 else 0.0


@kernel
def _seen_part(columns: Array, v: Array, held: Array, normal: Array, rhs: Array) -> bool:
    """rhs = (J J' + mu I)^-1 J v over the free joints: J' rhs is what the goals see of v.

    Returns whether there is one, which only numbers that are not finite can prevent.
    """
    n, m = columns.shape
    for i in range(m):
        rhs[i] = 0.0
        for k in range(i + 1):
            normal[i, k] = 0.0
    for j in range(n):
        if held[j] == 0.0:
            for i in range(m):
                rhs[i] += columns[j, i] * v[j]
                for k in range(i + 1):
                    normal[i, k] += columns[j, i] * columns[j, k]
    trace = SMALLEST
    for i in range(m):
        trace += normal[i, i]
    for i in range(m):
        normal[i, i] += DAMPING * trace
    return cholesky_solve(normal, rhs, m)


@kernel
def _dot(columns: Array, j: int, v: Array) -> float:
    """The product of row j with v (m,)."""
    s = 0.0
    for i in range(v.size):
        s += columns[j, i] * v[i]
    return s
