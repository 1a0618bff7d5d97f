"""Steps that keep jerk limits too, by the library Ruckig, where it is installed.

Each tick the time-optimal trajectory from the commanded position, velocity and acceleration to
the target is computed again [BerscheidKroeger2021], and one period of it is taken. Ruckig knows
no position limits on the way, so a step is only taken where the joint can still stop inside its
limits afterwards; else it brakes. From velocity v and acceleration a, with limits A and J, the
fastest way to rest turns the acceleration to -p, keeps it, and takes it back to 0:

    p = min(A, sqrt(J v + a^2 / 2))    (for v + a |a| / 2J > 0; mirrored otherwise)
"""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from .._jit import njit
from ..exceptions import InvalidOption
from ..maths.rotations import Array
from .limits import MotionLimits
from .speed_scale import BRAKING, scale_bounds

ROUNDING = 1e-9
"""[rad or m] What Ruckig's rounding may add to a position at a limit."""
LAG = 1e-4
"""[rad or m] How far joints may fall behind a line while their acceleration builds up."""
REST = 1e-9
"""[rad or m; a second's] A joint this near to its target, and this slow, is there."""


@njit
def brake(
    v: float, a: float, most: float, jerk: float, seconds: float
) -> tuple[float, float, float]:
    """Return the way, velocity and acceleration after braking for so long, inf until at rest.

    `most` and `jerk` are the limits, both finite.
    """
    side = 1.0 if v + a * abs(a) / (2.0 * jerk) >= 0.0 else -1.0
    v, a = side * v, side * a
    peak = min(max(most, -a), math.sqrt(max(jerk * v + 0.5 * a * a, 0.0)))
    hold = 0.0
    if peak > 0.0:
        hold = max((v + (a * a - 2.0 * peak * peak) / (2.0 * jerk)) / peak, 0.0)
    way = 0.0
    for phase in range(3):
        time = hold if phase == 1 else (a + peak) / jerk if phase == 0 else peak / jerk
        rate = 0.0 if phase == 1 else -jerk if phase == 0 else jerk
        time = min(max(time, 0.0), seconds)
        way += time * (v + time * (0.5 * a + time * rate / 6.0))
        v += time * (a + 0.5 * time * rate)
        a += time * rate
        seconds -= time
    if seconds > 0.0:
        v, a = 0.0, 0.0
    return side * way, side * v, side * a


@njit
def keep_inside(before: Array, after: Array, limits: Array, jerk: Array, period: float) -> None:
    """Brake in `after` (3, n) the joints that could no more stop inside their limits.

    Position, velocity and acceleration, `before` and `after` a step. limits (4, n): `braking`.
    """
    for i in range(jerk.size):
        lower, upper, most = limits[0, i], limits[1, i], limits[3, i]
        if not lower <= before[0, i] <= upper:
            continue
        way, _, _ = brake(after[1, i], after[2, i], most, jerk[i], math.inf)
        stop = after[0, i] + way
        if stop < lower - ROUNDING or stop > upper + ROUNDING:
            way, after[1, i], after[2, i] = brake(
                before[1, i], before[2, i], most, jerk[i], period
            )
            after[0, i] = before[0, i] + way
        after[0, i] = min(max(after[0, i], lower), upper)


class JerkLimiter:
    """A commanded state that keeps position, velocity, acceleration and jerk limits.

    As RateLimiter, with the acceleration `ddq` (n,) as part of the state. Lines and jogs do not
    wait for joints that lag while their acceleration builds up (to wait is a jerk, too), but
    speed up so slowly that they lag little: lines bend by a few millimetres. Raises
    InvalidOption where Ruckig is not installed.
    """

    max_lag = math.inf

    def __init__(self, limits: MotionLimits, period: float, q: Array) -> None:
        self._ruckig = load_ruckig()
        self.period = period
        n = len(q)
        self.q, self.dq, self.ddq = q.copy(), np.zeros(n), np.zeros(n)
        self._planner = self._ruckig.Ruckig(n, period)
        self._input = self._ruckig.InputParameter(n)
        self._input.target_position = self._input.target_velocity = [0.0] * n
        self._output = self._ruckig.OutputParameter(n)
        self.set_limits(limits)

    def set_limits(self, limits: MotionLimits) -> None:
        """Move within these limits from the next step on."""
        self.limits = limits
        self._rows = limits.rows
        # No limit of the acceleration is one that the jerk does not reach from full speed.
        unlimited = np.where(np.isfinite(limits.velocity), limits.velocity, 1e3)
        self._rows[3] = np.minimum(self._rows[3], np.sqrt(unlimited * self._jerks) + 1.0)
        # A target that speeds up at once by a leaves a joint a^3 / 6 J^2 behind.
        self._scale_rows = self._rows.copy()
        followed = np.cbrt(6.0 * LAG * self._jerks**2) / BRAKING
        self._scale_rows[3] = np.minimum(self._rows[3], followed)
        self._input.max_acceleration = self._rows[3].tolist()
        self._input.max_jerk = self._jerks.tolist()

    @property
    def _jerks(self) -> Array:
        """Finite ones: where there is no limit, one that a tick does not reach."""
        return np.minimum(self.limits.jerk, 1e9)

    @property
    def at_rest(self) -> bool:
        """Whether no joint has a velocity or an acceleration."""
        return not (self.dq.any() or self.ddq.any())

    def restart(self, q: Array, dq: Array) -> None:
        """Begin again at q with the velocity dq (n,), without an acceleration."""
        self.q[:], self.dq[:], self.ddq[:] = q, dq, 0.0

    def follow(
        self, target: Array, velocity: Array | None = None, synchronized: bool = False
    ) -> None:
        """Move one period towards the target (n,); see RateLimiter."""
        rows = self._rows
        goal = np.clip(target, rows[0], rows[1])
        before = np.array([self.q, self.dq, self.ddq])
        if (goal == self.q).all() and not (
            before[1:].any() or (velocity is not None and velocity.any())
        ):
            return
        after = self._planned(goal, velocity, synchronized)
        if after is None:
            after = before.copy()
            for i in range(len(goal)):
                state = brake(before[1, i], before[2, i], rows[3, i], self._jerks[i], self.period)
                after[:, i] = before[0, i] + state[0], state[1], state[2]
        keep_inside(before, after, rows, self._jerks, self.period)
        self._land(after, goal)

    def _planned(self, goal: Array, velocity: Array | None, synchronized: bool) -> Array | None:
        """One period on the way to the goal (n,), (3, n); None where there is no plan.

        Seen from the goal, which moved here with the velocity `velocity` and will move on so.
        """
        given, result = self._input, self._output
        modes = self._ruckig.Synchronization
        given.synchronization = modes.Time if synchronized else modes.No
        fastest = np.minimum(self.limits.velocity, 1e6)
        speed = np.zeros(len(goal)) if velocity is None else velocity
        speed = np.clip(speed, -0.99 * fastest, 0.99 * fastest)
        given.current_position = (self.q - (goal - self.period * speed)).tolist()
        given.current_velocity = (self.dq - speed).tolist()
        given.current_acceleration = self.ddq.tolist()
        given.max_velocity = (fastest - speed).tolist()
        given.min_velocity = (-fastest - speed).tolist()
        try:
            code = self._planner.update(given, result)
        except RuntimeError:
            return None
        state = np.array([result.new_position, result.new_velocity, result.new_acceleration])
        state[0] += goal
        state[1] += speed
        failed = int(code) < 0 or not np.isfinite(state).all()
        return None if failed else state

    def _land(self, after: Array, goal: Array) -> None:
        """Take over the state after a step, without what rounding leaves to the goal."""
        there = (np.abs(after[0] - goal) <= REST) & (np.abs(after[1:]) <= REST).all(axis=0)
        self.q[:] = np.where(there, goal, after[0])
        self.dq[:], self.ddq[:] = np.where(there, 0.0, after[1:])

    def stop_point(self) -> Array:
        """Where the joints (n,) come to rest when they brake from now on."""
        ways = [
            brake(v, a, most, jerk, math.inf)[0]
            for v, a, most, jerk in zip(self.dq, self.ddq, self._rows[3], self._jerks, strict=True)
        ]
        return np.clip(self.q + ways, self._rows[0], self._rows[1])

    def scale_bounds(
        self, target: Array, velocity: Array, before: Array, share: float
    ) -> tuple[float, float]:
        """By what factors the target's velocity (n,) may grow and fall; see `scale_bounds`."""
        return scale_bounds(target, velocity, before, self._scale_rows, self.period, share)

    def warm(self) -> None:
        """Run once all that a tick may run, so that every kernel is compiled; changes nothing."""
        trial = JerkLimiter(self.limits, self.period, self.q)
        for synchronized in (False, True):
            trial.follow(self.q, None, synchronized)
            trial.follow(self.q, self.dq + 1e-3, synchronized)
        trial.scale_bounds(self.q, self.dq, self.dq, 1.0)
        trial.stop_point()


def load_ruckig() -> Any:
    """The library; InvalidOption where it is not installed."""
    try:
        return importlib.import_module('ruckig')
    except ImportError as error:
        raise InvalidOption(
            "jerk limits need the library ruckig, which is not installed: pip install 'ruckig', "
            'or leave the jerk unlimited'
        ) from error
