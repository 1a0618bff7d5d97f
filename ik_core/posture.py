"""A rest posture for a stream of goals: motion of the joints that the goals do not see.

Each tick the joints move on with a velocity v of the null space of the goals' Jacobian J (Liegeois
1977; Buss 2009, section 4):

    v = N w,    N = I - J'(J J')^-1 J,    w = rate (rest - q)

w is slowed down to SPEED_SHARE of the velocity limits, and v changes with ACCELERATION_SHARE of
the accelerations, so that the commanded joints follow it without lag: the goals stay reached on
the way. What the curvature of the goals' manifold adds, the next solve takes back. Joints at a
limit that v would cross are held. At the rest posture, or where N w is nothing, v ends: closed
paths of the goals become closed paths of the joints.
"""

from __future__ import annotations

import numpy as np

from .motion import MotionLimits
from .rotations import Array
from .tasks.packing import PackedGoals

SPEED_SHARE = 0.25
ACCELERATION_SHARE = 0.25
FASTEST = 0.5
"""[rad/s or m/s] Where the velocity limits allow more, no joint is drawn faster than this."""
AT_REST = 3e-7
"""[rad/s or m/s] Slower than this it has ended."""
DAMPING = 1e-12
"""Relative to the trace of J J', which may be singular."""


class RestPosture:
    """Draws the variables of goals to a rest posture q (n,)."""

    def __init__(self, goals: PackedGoals, limits: MotionLimits, period: float, q: Array) -> None:
        self._goals = goals
        self._period = period
        self._variables = v = goals.variables
        self._lower, self._upper = limits.lower[v], limits.upper[v]
        self._speeds = np.minimum(SPEED_SHARE * limits.velocity[v], FASTEST)
        self._accelerations = ACCELERATION_SHARE * limits.acceleration[v]
        self._velocity = np.zeros(len(v))
        self._rest = np.clip(q[v], self._lower, self._upper)

    def halt(self) -> None:
        """Begin again from rest."""
        self._velocity[:] = 0.0

    def step(self, q: Array, rate: float) -> bool:
        """Move q (n,) on by one period, in place; whether it moved.

        rate [1/s] : how fast what is left is to become less.
        """
        x = q[self._variables]
        wanted = self._towards_rest(x, rate)
        self._goals.load(q)
        self._goals.update(x)
        jacobian = self._goals.jacobian()
        change = self._projected(jacobian, x, wanted) - self._velocity
        size = np.abs(change)
        with np.errstate(divide='ignore', invalid='ignore'):
            part = np.nanmin(self._accelerations * self._period / size, initial=1.0)
        velocity = self._projected(jacobian, x, self._velocity + part * change)
        self._velocity = velocity
        if np.max(np.abs(velocity)) < AT_REST and part == 1.0:
            self._velocity = np.zeros_like(velocity)
            return False
        moved = np.clip(x + self._period * velocity, self._lower, self._upper)
        q[self._variables] = moved
        return True

    def _towards_rest(self, x: Array, rate: float) -> Array:
        """w: as fast as it may be, and slowing down in time."""
        left = self._rest - x
        wanted = rate * left
        fastest = np.minimum(self._speeds, np.sqrt(self._accelerations * np.abs(left)))
        with np.errstate(divide='ignore', invalid='ignore'):
            share = np.nanmin(fastest / np.abs(wanted), initial=1.0)
        return np.asarray(share * wanted, float)

    def _projected(self, jacobian: Array, x: Array, v: Array) -> Array:
        """N v over the joints that no limit holds."""
        free = np.ones(len(v), bool)
        while True:
            result = np.zeros(len(v))
            result[free] = _null_part(jacobian[:, free], v[free])
            crossing = ((x <= self._lower) & (result < 0.0)) | (
                (x >= self._upper) & (result > 0.0)
            )
            if not crossing.any():
                return result
            free &= ~crossing


def _null_part(jacobian: Array, v: Array) -> Array:
    """v (n,) without what J (m, n) sees of it."""
    square = jacobian @ jacobian.T
    square.flat[:: len(square) + 1] += DAMPING * (np.trace(square) + 1e-300)
    return np.asarray(v - jacobian.T @ np.linalg.solve(square, jacobian @ v), float)
