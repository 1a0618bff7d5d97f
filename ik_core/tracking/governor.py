# SPDX-License-Identifier: Apache-2.0
"""The one owner of what was last commanded: position, velocity, acceleration of every joint.

A `Governor` moves on by one period at a time, and by nothing else: whatever it is told, from one
step to the next no joint moves as it may not. What it rests on is one property of its state:

    after every step a stop exists that keeps all limits,

the fastest one. A step is taken only if the stop after it ends inside the position limits, and
else the stop is begun, which the step before has left possible. So nothing ever has to break one
limit to keep another.

Joints without a jerk limit move by the rule of `second_order_motion`: dq is the velocity of the
last period, q(k) = q(k-1) + period dq(k). Joints with one move by `third_order_motion`: q, dq and
ddq are samples of a motion whose jerk is piecewise constant, the fastest one to its target.

Limits that change in motion:

1. Position and velocity limits hold at once. A joint that can't stop inside brakes as hard as it
   may, moves no further out, and returns at limited speed; so does one that was measured outside.
   A speed above its limit falls as fast as the other limits allow.
2. An acceleration or a jerk that is raised is so at once, as is a jerk limit switched off. Only
   while a joint brakes harder than a lowered acceleration, a jerk waits if the stop would become
   longer by it and leave the limits.
3. One that is lowered waits, joint by joint, until the state fits it: until a stop with it ends
   inside, without turning round. Meanwhile that joint keeps its old ones: it runs its acceleration
   out where the new ones then fit, and brakes where they don't. An acceleration above the new
   limit comes down at the limit of the jerk.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InvalidConfiguration, InvalidOption
from ..kernels.jit import kernel
from ..kernels.signatures import Array2
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array
from .braking import ACCELERATION, LOWER, UPPER, VELOCITY
from .knots import MOST, stop_knots
from .motion_limits import MotionLimits
from .speed_scale import BRAKING, scale_bounds
from .steps import (
    ACT,
    BRAKE,
    CAP,
    DDQ,
    DQ,
    DRIFT,
    FAR,
    GOAL,
    JERK,
    LEFT,
    MEAN,
    ROWS,
    SUDDEN,
    Q,
    adopt,
    second_order_step,
    stop_point,
    take_aim,
    third_order_step,
)
from .together import (
    common_rate,
    has_jerk_limits,
    move_on_a_line,
    time_left,
)

__all__ = ['Governor']

LAG = 1e-4
"""[rad or m] How far joints may fall behind a line while their acceleration builds up."""
MAX_LAG, MAX_LAG_WITH_JERK = 0.002, 0.005
"""[rad or m] How far joints may fall behind a line or a jog, without and with jerk limits."""


@kernel(entry='ik_governor_advance')
def advance(joints: Array2, together: bool, period: float) -> None:
    """Move the joints, a table as in `steps`, by one period towards their goals, or as they act.

    together: they arrive at the same time, instead of each as soon as it can.
    """
    rate = 1.0 / period
    if together:
        for i in range(joints.shape[1]):
            take_aim(i, joints)
        if has_jerk_limits(joints):
            if move_on_a_line(joints, period):
                return
            rate = 1.0 / time_left(joints, period)
        rate = common_rate(joints, rate, period)
    for i in range(joints.shape[1]):
        if not together:
            take_aim(i, joints)
            joints[CAP, i], joints[LEFT, i] = math.inf, 0.0
        if joints[JERK, i] < math.inf:
            third_order_step(i, joints, period)
        else:
            second_order_step(i, joints, rate, period)
        joints[ACT, i] = joints[DRIFT, i] = 0.0  # what was told holds for one step


class Governor:
    """The state (n,) that was last commanded, moved on by one period at a time within its limits.

    limits : of every step, changed by `set_limits`
    period [s] : how long a step is
    q (n,) : where the joints are, at rest; outside the position limits too

    Raises InvalidOption, InvalidConfiguration. Not thread-safe.
    """

    def __init__(self, limits: MotionLimits, period: float, q: VectorLike) -> None:
        if not 0.0 < period < math.inf:
            raise InvalidOption(f'period = {period!r} [s]: must be positive')
        self.period = period
        asked = _rows_of(limits)
        self._joints = np.zeros((ROWS, asked.shape[1]))
        self._joints[: len(asked)] = asked
        self._before = self._joints.copy()  # at the beginning of the last tick
        # Accelerations (n,) of the stop that is told, once it is; and those of the stop before.
        self._told: Array | None = None
        self._told_before: Array | None = None
        shown = self._joints.view()
        shown.flags.writeable = False
        self._q, self._dq, self._ddq = shown[Q], shown[DQ], shown[DDQ]
        self._goal, self._drift, self._act = (self._joints[row] for row in (GOAL, DRIFT, ACT))
        n = self._q.size
        self._knots = (
            np.zeros(1 + MOST * n, np.int64),
            np.zeros((1 + MOST * n, n)),
            np.zeros((1 + MOST * n, n)),
        )
        self.set_limits(limits)
        self.restart(q)

    @property
    def q(self) -> Array:
        """The position (n,), a read-only view: it moves on with the next step."""
        return self._q

    @property
    def dq(self) -> Array:
        """The velocity (n,), a read-only view."""
        return self._dq

    @property
    def ddq(self) -> Array:
        """The acceleration (n,), a read-only view."""
        return self._ddq

    @property
    def state(self) -> Array:
        """All that the next step depends on, but the limits asked for: what `resume` takes."""
        return self._joints.copy()

    def save(self) -> tuple[Any, ...]:
        """A copy of all that steps and instructions change, for `load`."""
        asked = self._limits, self._asked, self._adopted, self._scale_rows
        return self._joints.copy(), self._before.copy(), self._told, self._told_before, *asked

    def load(self, saved: tuple[Any, ...]) -> None:
        """Take back all changes since `save`."""
        self._joints[:], self._before[:], self._told, self._told_before, *asked = saved
        self._limits, self._asked, self._adopted, self._scale_rows = asked

    def copy(self) -> Governor:
        """Another one in the same state."""
        return Governor.resume(self._limits, self.period, self._joints)

    @classmethod
    def resume(cls, limits: MotionLimits, period: float, state: Array) -> Governor:
        """A governor that goes on from the `state` of another, with the same limits asked for."""
        governor = cls(limits, period, state[Q])
        governor._joints[:] = governor._before[:] = state
        return governor

    @property
    def limits(self) -> MotionLimits:
        """The limits that were asked for; lowered ones may have to wait until the joints slow."""
        return self._limits

    @property
    def limits_in_force(self) -> MotionLimits:
        """The limits in force: others than asked for while a lowered one still has to wait."""
        asked, joints = self._limits, self._joints
        return MotionLimits(
            asked.lower, asked.upper, asked.velocity, joints[ACCELERATION], joints[JERK]
        )

    @property
    def at_rest(self) -> bool:
        """Whether no joint has a velocity, or an acceleration that takes time to end."""
        if self._dq.any():
            return False
        return not (self._ddq.any() and self._ddq[self._joints[JERK] < math.inf].any())

    def set_limits(self, limits: MotionLimits) -> None:
        """Move within these limits from the next step on. Raises InvalidOption for another n."""
        asked = _rows_of(limits)
        if asked.shape[1] != self._q.size:
            raise InvalidOption(
                f'limits of {asked.shape[1]} joints, for a motion of {self._q.size}'
            )
        self._limits, self._asked = limits, asked
        self._adopted = False
        self._joints[LEFT] = 0.0  # what was planned does not hold any more
        # A target that speeds up at once by a leaves a joint with a jerk limit a^3 / 6 J^2 behind.
        self._scale_rows = asked.copy()
        most = np.cbrt(6.0 * LAG * asked[JERK] ** 2) / BRAKING
        np.minimum(self._scale_rows[ACCELERATION], most, out=self._scale_rows[ACCELERATION])

    def restart(self, q: VectorLike) -> None:
        """Begin at rest at a measured q (n,), which may be outside the limits.

        Raises RuntimeError unless at rest, InvalidConfiguration where q is not finite.
        """
        if not self.at_rest:
            raise RuntimeError('the joints still move: brake() them before restart()')
        position = np.asarray(q, float)
        if position.shape != self._q.shape or not np.isfinite(position).all():
            raise InvalidConfiguration(
                f'q = {position}: {self._q.size} finite numbers are needed, one for each joint'
            )
        self._told = self._told_before = None
        self._joints[Q:] = 0.0
        self._joints[Q] = position
        self._before[:] = self._joints

    def follow(
        self,
        target: VectorLike,
        velocity: float | VectorLike | None = None,
        synchronized: bool = False,
        apart: NDArray[np.bool_] | None = None,
    ) -> None:
        """Move one period towards the target (n,), taken into the limits.

        velocity (n,) : with which the target came and will move on; a joint that keeps up with
            it stays without lag. By default the joints come to rest at the target
        synchronized : the joints arrive together, from rest on a straight line in joint space
        apart (n,) : mask of joints that no other waits for, and that wait for none

        A joint brakes whose velocity is NaN or infinite, or its target inside the limits.
        """
        self._begin_step()
        self._goal[:] = target
        if velocity is not None:
            self._drift[:] = velocity
        if synchronized and apart is not None:
            for part, together in ((apart, False), (~apart, True)):
                joints = np.ascontiguousarray(self._joints[:, part])
                advance(joints, together, self.period)
                self._joints[:, part] = joints
            return
        advance(self._joints, synchronized, self.period)

    def brake(self, *, as_told: bool = False) -> None:
        """Brake for one period as hard as the limits allow; at rest, stay.

        as_told: as the last `stop_knots` tell, within the limits of that moment. Others that were
        asked for since have to wait.
        """
        told = self._told_accelerations() if as_told else None
        self._begin_step(adopting=not as_told)
        most = self._joints[ACCELERATION].copy()
        if told is not None:
            self._told, self._joints[ACCELERATION] = told, told
        self._act.fill(BRAKE)
        advance(self._joints, False, self.period)
        self._joints[ACCELERATION] = most

    def begin_tick(self) -> None:
        """Keep the state that `undo_tick` restores."""
        self._before[:], self._told_before = self._joints, self._told

    def undo_tick(self) -> None:
        """Undo all steps since the last `begin_tick`, which were not published."""
        self._joints[:] = self._before
        self._adopted, self._told = False, self._told_before

    def stop_point(self, *, as_told: bool = False) -> Array:
        """Where the joints (n,) come to rest when they `brake` from now on."""
        point = np.empty_like(self._goal)
        stop_point(self._told_joints() if as_told else self._joints, self.period, point)
        return point

    def stop_knots(self) -> tuple[NDArray[np.int64], Array, Array]:
        """How the joints come to rest together, in the shortest time: knots of cubic splines.

        Joints without jerk limits slow down in proportion, so that a tip in motion stays near its
        line. One that would leave its limits by that brakes as hard as it may, and so do joints
        with jerk limits.

        Returns ticks (m,), positions (m, n) and velocities (m, n), views that the next call writes
        to. The first knot lies half a period before the last step and is certain; each other so
        many periods later as its tick says, in the last one all rest. See `knots`.
        """
        ticks, q, dq = self._knots
        count = stop_knots(self._told_joints(), self.period, ticks, q, dq)
        return ticks[:count], q[:count], dq[:count]

    @property
    def max_lag(self) -> float:
        """[rad or m] Lines and jogs wait where a joint is this far behind.

        To wait is a jerk, too: joints with jerk limits would swing about a tip that waits sooner.
        """
        return MAX_LAG_WITH_JERK if self._limits.has_jerk else MAX_LAG

    def scale_bounds(
        self, target: Array, velocity: Array, before: Array, share: float
    ) -> tuple[float, float]:
        """By what factors the target's velocity (n,) may grow and fall; see `scale_bounds`."""
        return scale_bounds(target, velocity, before, self._scale_rows, self.period, share)

    def _told_joints(self) -> Array:
        """Copy the table, with the accelerations of the stop that `stop_knots` tells."""
        joints = self._joints.copy()
        joints[ACCELERATION] = self._told_accelerations()
        return joints

    def _told_accelerations(self) -> Array:
        """Accelerations (n,) of the stop that `stop_knots` tells: the same until its end."""
        if self._told is None:
            joints = self._joints
            most, q, dq = joints[ACCELERATION].copy(), joints[Q], joints[DQ]
            speeds = np.abs(dq)
            waits = np.isinf(joints[JERK]) & (dq == joints[MEAN])
            waits &= (speeds > 0.0) & (speeds <= joints[VELOCITY])
            if waits.any():
                rate = float((most[waits] / speeds[waits]).min())  # [1/s] of the slowest to stop
                end = q + dq * _time_of_way(rate, self.period)
                waits &= (joints[LOWER] <= end) & (end <= joints[UPPER])
                most[waits] = rate * speeds[waits]
            self._told = most
        return self._told

    def _begin_step(self, *, adopting: bool = True) -> None:
        self._told = None
        if adopting and not self._adopted:
            self._adopted = adopt(self._joints, self._asked, self.period)


def _time_of_way(rate: float, period: float) -> float:
    """The time [s] in which a joint would go the way of its stop, which sheds `rate` [1/s] of its
    speed.
    """
    shed = min(rate * period, 1.0)  # in each period
    count = math.floor(1.0 / shed)
    return period * (count - 0.5 * shed * count * (count + 1))


def _rows_of(limits: MotionLimits) -> Array:
    """The limits (5, n) for the kernels."""
    jerk = np.where(limits.jerk < SUDDEN, limits.jerk, np.inf)
    return np.array(
        [
            np.maximum(limits.lower, -FAR),
            np.minimum(limits.upper, FAR),
            np.minimum(limits.velocity, FAR),
            limits.acceleration,
            jerk,
        ]
    )
