"""Rate limits in discrete time: one step of q towards a target, joint by joint.

With the greatest speed from which a joint still stops in time (`braking`) as the cap towards a
target inside the limits, the joint can stop before the target and before the limit, arrives
exactly, and stays. Speeding up is capped by the acceleration alone, so a move starts and ends
slowly.

When a state breaks a limit (measured, or a limit tightened while moving), the order is:

1. The acceleration limit always holds; so a speed above a new limit falls at that rate.
2. A joint outside its position limits comes back at limited speed. It never moves further out,
   except while braking a velocity that already pointed outwards: then at full deceleration, so
   through the least distance.
3. A lowered acceleration limit that would carry a joint over its position limit waits until the
   joint has braked enough, at the old one (`adopt_accelerations`).
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import njit
from ..maths.rotations import Array
from .braking import ACCELERATION, LOWER, UPPER, VELOCITY, approach_speed, stopping_distance
from .limits import MotionLimits
from .speed_scale import scale_bounds

ROUNDING = 1e-14
"""Relative: a few units in the last place of a joint position."""
BRAKING_ROUNDING = 1e-11
"""The same, added up over the many ticks of braking."""
MAX_LAG = 0.005
"""[rad or m] How far joints may fall behind a line or a jog, which waits for them there."""


@njit
def _inside(value: float, lower: float, upper: float) -> float:
    return min(max(value, lower), upper)


@njit
def _landed(q: float, target: float, lower: float, upper: float) -> float:
    """Return q without what rounding leaves between it and the target or a limit."""
    scale = max(1.0, abs(q))
    if abs(q - target) <= ROUNDING * scale:
        return target
    limit = _inside(q, lower, upper)
    return limit if abs(q - limit) <= BRAKING_ROUNDING * scale else q


@njit
def common_rate(q: Array, dq: Array, target: Array, limits: Array, period: float) -> float:
    """Return the greatest k [1/s] with k * (target - q) allowed for all joints in this tick.

    Joints that all move at k times their way to go arrive together; from rest, on a straight line
    in joint space. A joint that still moves the other way turns round first: until then k is 0.
    Joints outside their limits have no say: they come back first.
    """
    rate = 1.0 / period
    for i in range(q.size):
        way = _inside(target[i], limits[LOWER, i], limits[UPPER, i]) - q[i]
        if way == 0.0 or not limits[LOWER, i] <= q[i] <= limits[UPPER, i]:
            continue
        step = limits[ACCELERATION, i] * period
        speed = dq[i] if way > 0.0 else -dq[i]
        allowed = min(limits[VELOCITY, i], approach_speed(abs(way), step, period))
        rate = min(rate, min(allowed, max(speed + step, 0.0)) / abs(way))
    return rate


@njit
def _meeting_speed(
    i: int, q: Array, goal: float, velocity: float, limits: Array, period: float
) -> float:
    """Return the velocity with which joint i catches up with a goal that moves at `velocity`.

    Seen from the goal the joint comes to rest: it starts at the goal's place of a tick ago, and
    its own speed is what it has above that velocity. It stays so slow that it stops inside its
    limits.
    """
    step = limits[ACCELERATION, i] * period
    lag = goal - velocity * period - q[i]
    wanted = velocity + math.copysign(approach_speed(abs(lag), step, period), lag)
    room = limits[UPPER, i] - q[i] if wanted > 0.0 else q[i] - limits[LOWER, i]
    fastest = min(limits[VELOCITY, i], approach_speed(max(room, 0.0), step, period))
    return _inside(wanted, -fastest, fastest)


@njit
def step_towards(
    q: Array,
    dq: Array,
    target: Array,
    limits: Array,
    period: float,
    synchronized: bool,
    velocity: Array,
) -> None:
    """Move q, dq (n,) in place by one period towards the target (n,), taken into the limits.

    synchronized: all joints arrive at the same time, instead of each as soon as it can.
    velocity (n,): the velocity at which the target came and will move on, 0 to come to rest there;
    a joint that keeps up with its target moves at that speed, without lag.
    """
    rate = common_rate(q, dq, target, limits, period) if synchronized else 1.0 / period
    for i in range(q.size):
        lower, upper = limits[LOWER, i], limits[UPPER, i]
        step = limits[ACCELERATION, i] * period
        goal = _inside(target[i], lower, upper)
        way = goal - q[i]
        speed = min(approach_speed(abs(way), step, period), limits[VELOCITY, i])
        if lower <= q[i] <= upper:
            speed = min(speed, rate * abs(way))
        wanted = math.copysign(speed, way)
        if velocity[i] != 0.0 and lower <= q[i] <= upper:
            wanted = _meeting_speed(i, q, goal, velocity[i], limits, period)
        dq[i] = _inside(wanted, dq[i] - step, dq[i] + step)
        q[i] = _landed(q[i] + dq[i] * period, goal, lower, upper)


@njit
def stop_point(q: Array, dq: Array, limits: Array, period: float, point: Array) -> None:
    """Write to point (n,) where the joints rest if all brake as hard as they may from now on."""
    for i in range(q.size):
        step = limits[ACCELERATION, i] * period
        distance = stopping_distance(max(abs(dq[i]) - step, 0.0), step, period)
        stop = q[i] + math.copysign(distance, dq[i])
        point[i] = _inside(stop, limits[LOWER, i], limits[UPPER, i])


@njit
def adopt_accelerations(
    limits: Array, wanted: Array, q: Array, dq: Array, target: Array, period: float
) -> bool:
    """Bring limits[ACCELERATION] to wanted (n,) where that still lets the joint stop inside.

    The other joints are to brake: their target becomes where they are. Returns whether there are
    none; call again next tick for those that there are.
    """
    done = True
    for i in range(q.size):
        step = wanted[i] * period
        room = limits[UPPER, i] - q[i] if dq[i] > 0.0 else q[i] - limits[LOWER, i]
        distance = stopping_distance(max(abs(dq[i]) - step, 0.0), step, period)
        if wanted[i] >= limits[ACCELERATION, i] or distance <= max(room, 0.0):
            limits[ACCELERATION, i] = wanted[i]
        else:
            target[i] = q[i]
            done = False
    return done


class RateLimiter:
    """The commanded state `q`, `dq` (n,), moved on by one period at a time; a `Limiter`."""

    max_lag = MAX_LAG

    def __init__(self, limits: MotionLimits, period: float, q: Array) -> None:
        self.limits = limits
        self.period = period
        self.q = q.copy()
        self.dq = np.zeros_like(q)
        self._still = np.zeros_like(q)
        self._rows = limits.rows  # in force; a lowered acceleration may have to wait
        self._adopted = True

    @property
    def at_rest(self) -> bool:
        """Whether no joint has a velocity."""
        return not self.dq.any()

    def restart(self, q: Array, dq: Array) -> None:
        """Begin again at q with the velocity dq (n,)."""
        self.q[:], self.dq[:] = q, dq

    def set_limits(self, limits: MotionLimits) -> None:
        """Move within these limits from the next step on."""
        self.limits = limits
        in_force = self._rows[ACCELERATION].copy()
        self._rows = limits.rows
        self._rows[ACCELERATION] = in_force
        self._adopted = False

    def follow(
        self, target: Array, velocity: Array | None = None, synchronized: bool = False
    ) -> None:
        """Move one period towards the target (n,), taken into the limits; see `step_towards`."""
        if not self._adopted:
            target = target.copy()
            self._adopted = adopt_accelerations(
                self._rows, self.limits.acceleration, self.q, self.dq, target, self.period
            )
        moving = self._still if velocity is None else velocity
        step_towards(self.q, self.dq, target, self._rows, self.period, synchronized, moving)

    def scale_bounds(
        self, target: Array, velocity: Array, before: Array, share: float
    ) -> tuple[float, float]:
        """By what factors the target's velocity (n,) may grow and fall; see `scale_bounds`."""
        return scale_bounds(target, velocity, before, self._rows, self.period, share)

    def stop_point(self) -> Array:
        """Where the joints (n,) come to rest when they brake from now on."""
        point = np.empty_like(self.q)
        stop_point(self.q, self.dq, self._rows, self.period, point)
        return point

    def warm(self) -> None:
        """Run once all that a tick may run, so that every kernel is compiled; changes nothing."""
        trial = RateLimiter(self.limits, self.period, self.q)
        trial.set_limits(self.limits)
        for synchronized in (False, True):
            trial.follow(self.q, None, synchronized)
            trial.follow(self.q, self.dq, synchronized)
        trial.scale_bounds(self.q, self.dq, self.dq, 1.0)
        trial.stop_point()
