# SPDX-License-Identifier: Apache-2.0
"""The one owner of the last command: position, velocity and acceleration of every joint.

A `Governor` advances by one period at a time. Invariant:

    after every step the fastest stop keeps all limits.

A joint takes a step only if the fastest stop after that step ends inside the position limits. If
not, it begins the stop that was possible after the previous step. So no limit is ever broken to
keep another one.

With a `Clearance` there is one kept stop of all joints, shown to be free of collisions when its
step was taken. A step is taken if the stop after it is shown to be free, too, and that becomes the
kept one; if not, the kept stop continues, within the limits of the moment when it was kept. Each
way to move is such a proposal: `follow` towards a target, and `brake` as hard as the limits allow.
Changed limits are part of the proposal, so in motion they hold from the first step on that is
shown with them, and at the latest at rest.

Joints without a jerk limit move by the rule of `second_order`: dq is the velocity of the last
period, q(k) = q(k-1) + period dq(k). Joints with one move by `third_order`: q, dq and ddq are
samples of a motion whose jerk is piecewise constant, the fastest one to its target.

Limits that change in motion (`limit_changes`):

1. New position and velocity limits hold at once. A joint that can't stop inside its position
   limits brakes as hard as it may, moves no further out, and returns at limited speed; so does a
   joint that was measured outside. A speed above its limit falls as fast as the other limits
   allow.
2. Raised acceleration and jerk limits hold at once, and so does switching a jerk limit off. The
   exception is a joint whose acceleration is still above a lowered limit: its jerk limit is
   raised or switched off only once a stop with the new one keeps the position limits.
3. Lowered acceleration and jerk limits hold, joint by joint, once a stop within them ends inside
   the position limits without a reversal. Until then the joint keeps its old limits: it reduces
   its acceleration to zero if the new limits fit after that, and brakes if they don't. An
   acceleration above its new limit falls at the jerk limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...exceptions import InvalidConfiguration, InvalidOption
from ...kernels.jit import kernel
from ...kernels.signatures import Array2
from ...maths.argument_types import VectorLike
from ...maths.rotations import Array
from . import joint_table as t
from .clearance import Clearance
from .limit_changes import adopt
from .motion_limits import MotionLimits
from .second_order import second_order_step
from .speed_scale import BRAKING, scale_bounds
from .stop_spline import MAX_KNOTS, announced_accelerations, stop_knots, stop_point
from .third_order import third_order_step
from .time_synchronisation import common_rate, move_on_a_line, time_left

# For joints at q (n,) and their target (n,): another target, and the inverse (n, n) of the matrix
# M in which a point near it is the nearest one, by sqrt(x M x)
Detour = Callable[[Array, Array], tuple[Array, Array]]
AHEAD = 0.2  # [rad or m]


@kernel(entry='ik_governor_advance')
def advance(joints: Array2, together: bool, period: float) -> None:
    """Move the joints, a table as in `joint_table`, by one period towards their goals.

    together: they arrive at the same time, instead of each as soon as it can.
    """
    rate = 1.0 / period
    if together:
        has_jerk_limits = False
        for i in range(joints.shape[1]):
            t.take_aim(i, joints)
            has_jerk_limits = has_jerk_limits or joints[t.JERK, i] < math.inf
        if has_jerk_limits:
            if move_on_a_line(joints, period):
                return
            rate = 1.0 / time_left(joints, period)
        rate = common_rate(joints, rate, period)
    for i in range(joints.shape[1]):
        if not together:
            t.take_aim(i, joints)
            joints[t.CAP, i], joints[t.LEFT, i] = math.inf, 0.0
        if joints[t.JERK, i] < math.inf:
            third_order_step(i, joints, period)
        else:
            second_order_step(i, joints, rate, period)
        joints[t.ACT, i] = joints[t.DRIFT, i] = 0.0  # each act and drift holds for one step


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
        self._joints = np.zeros((t.ROWS, asked.shape[1]))
        self._joints[: len(asked)] = asked
        self._before = self._joints.copy()  # at the beginning of the last tick
        # Accelerations (n,) of the announced stop, None before it is; and at the last begin_tick.
        self._announced: Array | None = None
        self._announced_before: Array | None = None
        self._clearance: Clearance | None = None
        shown = self._joints.view()
        shown.flags.writeable = False
        self._q, self._dq, self._ddq = shown[t.Q], shown[t.DQ], shown[t.DDQ]
        rows = (t.GOAL, t.DRIFT, t.ACT)
        self._goal, self._drift, self._act = (self._joints[row] for row in rows)
        n = self._q.size
        self._knots = (
            np.zeros(1 + MAX_KNOTS * n, np.int64),
            np.zeros((1 + MAX_KNOTS * n, n)),
            np.zeros((1 + MAX_KNOTS * n, n)),
        )
        self.set_limits(limits)
        self.restart(q)

    @property
    def q(self) -> Array:
        """The position (n,), a read-only view that the next step changes."""
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
        """A copy of all that the next step depends on, except the requested limits."""
        return self._joints.copy()

    def save(self) -> tuple[Any, ...]:
        """Copy all that steps and instructions change, for `load`."""
        asked = self._limits, self._asked, self._adopted, self._scale_rows
        announced = self._announced, self._announced_before
        return self._joints.copy(), self._before.copy(), *announced, *asked, self._clearance

    def load(self, saved: tuple[Any, ...]) -> None:
        """Take back all changes since `save`."""
        self._joints[:], self._before[:] = saved[:2]
        self._announced, self._announced_before = saved[2:4]
        self._limits, self._asked, self._adopted, self._scale_rows = saved[4:8]
        self._clearance = saved[8]

    def copy(self) -> Governor:
        """Return another governor in the same state."""
        announced = None if self._announced is None else self._announced.copy()
        clearance = None if self._clearance is None else self._clearance.copy()
        return Governor.resume(self._limits, self.period, self._joints, announced, clearance)

    @classmethod
    def resume(
        cls,
        limits: MotionLimits,
        period: float,
        state: Array,
        announced: Array | None = None,
        clearance: Clearance | None = None,
    ) -> Governor:
        """Return a governor that continues from the `state` of another with the same limits.

        announced (n,), clearance : those of the other governor; it has the clearance from now on
        """
        governor = cls(limits, period, state[t.Q])
        governor._joints[:] = governor._before[:] = state
        governor._announced = governor._announced_before = announced
        governor._clearance = clearance
        return governor

    @property
    def announced(self) -> Array | None:
        """The accelerations (n,) of the announced stop; None before it is announced."""
        return self._announced

    @property
    def limits(self) -> MotionLimits:
        """The requested limits; lowered ones may wait until the joints are slower."""
        return self._limits

    @property
    def limits_in_force(self) -> MotionLimits:
        """The limits in force, which differ from `limits` while a lowered one waits."""
        asked, joints = self._limits, self._joints
        return MotionLimits(
            asked.lower, asked.upper, asked.velocity, joints[t.ACCELERATION], joints[t.JERK]
        )

    @property
    def at_rest(self) -> bool:
        """True if no joint has a velocity, or an acceleration that takes time to end."""
        if self._dq.any():
            return False
        return not (self._ddq.any() and self._ddq[self._joints[t.JERK] < math.inf].any())

    def set_limits(self, limits: MotionLimits) -> None:
        """Move within these limits from the next step on. Raises InvalidOption for another n."""
        asked = _rows_of(limits)
        if asked.shape[1] != self._q.size:
            raise InvalidOption(
                f'limits of {asked.shape[1]} joints, for a motion of {self._q.size}'
            )
        self._limits, self._asked = limits, asked
        self._adopted = False
        self._joints[t.LEFT] = 0.0  # plans were made for the limits before
        # A target that speeds up at once by a leaves a joint with a jerk limit a^3 / 6 J^2 behind:
        # on lines and jogs 1e-4 rad or m at most.
        self._scale_rows = asked.copy()
        most = np.cbrt(6.0 * 1e-4 * asked[t.JERK] ** 2) / BRAKING
        np.minimum(self._scale_rows[t.ACCELERATION], most, out=self._scale_rows[t.ACCELERATION])

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
        self._announced = self._announced_before = None
        self._joints[t.Q :] = 0.0
        self._joints[t.Q] = position
        self._before[:] = self._joints
        if self._clearance is not None:
            self._clearance.restart(position)

    @property
    def clearance(self) -> Clearance | None:
        """Show the stop of each step to be free of collisions with this; None: not checked."""
        return self._clearance

    @clearance.setter
    def clearance(self, clearance: Clearance | None) -> None:
        self._clearance = clearance
        if clearance is not None:
            clearance.begin(self._joints, self._announced_joints(), self.period)

    @property
    def obstacle(self) -> tuple[str, str] | None:
        """The pair of links or obstacles that keeps the joints from their target, by names."""
        return None if self._clearance is None else self._clearance.obstacle

    @property
    def obstacle_distance(self) -> float | None:
        """The distance [m] of these two, minus their depth where they overlap; None for none."""
        return None if self._clearance is None else self._clearance.obstacle_distance(self._q)

    @property
    def path_is_free(self) -> Callable[[Array, Array], bool] | None:
        """Returns whether a straight path of the joints is free; None if nothing is avoided."""
        return None if self._clearance is None else self._clearance.path_is_free

    def follow(
        self,
        target: VectorLike,
        velocity: float | VectorLike | None = None,
        synchronized: bool = False,
        independent: NDArray[np.bool_] | None = None,
        *,
        detour: Detour | None = None,
    ) -> None:
        """Move one period towards the target (n,), clamped to the limits.

        velocity (n,) : with which the target came and will move on; a joint that keeps up with
            it stays without lag. By default the joints come to rest at the target
        synchronized : the joints arrive together, from rest on a straight line in joint space
        independent (n,) : mask of joints that no other waits for, and that wait for none
        detour : how to bend a step that obstacles are in the way of, unless it is synchronized;
            by default it is shortened

        A joint brakes if its velocity, or its target after clamping, is not finite.
        """
        kept = self._kept()
        if self._clearance is not None:
            goal = np.asarray(target, float)
            q = self._q.copy()
            horizon = self._horizon()
            aimed = self._clearance.shorten(q, goal, horizon)
            if aimed is not None and detour is not None and not synchronized:
                point, metric = detour(q, goal)
                aimed, synchronized = self._clearance.bend(q, point, horizon, metric), True
            target, velocity = (goal, velocity) if aimed is None else (aimed, None)
        self._begin_step()
        self._goal[:] = target
        if velocity is not None:
            self._drift[:] = velocity
        if synchronized and independent is not None:
            for part, together in ((independent, False), (~independent, True)):
                joints = np.ascontiguousarray(self._joints[:, part])
                advance(joints, together, self.period)
                self._joints[:, part] = joints
        else:
            advance(self._joints, synchronized, self.period)
        self._keep_or_go_back(kept)

    def _horizon(self) -> Array:
        """Return how far the joints look ahead (n,) [rad or m]: twice as far as they need to stop.

        At least `AHEAD`: an obstacle that only counted above a certain speed would make the joints
        slow down, and be forgotten.
        """
        return np.maximum(2.0 * np.abs(self.stop_point() - self._q), AHEAD)

    def brake(self, *, announced: bool = False) -> None:
        """Brake for one period as hard as the limits allow; at rest, stay.

        announced : follow the stop of `stop_knots`, within the limits of the moment when it was
            announced; limits requested since then wait
        """
        kept = None if announced else self._kept()
        accelerations = self._announced_accelerations() if announced else None
        self._begin_step(adopting=not announced)
        most = self._joints[t.ACCELERATION].copy()
        if accelerations is not None:
            self._announced = accelerations
            self._joints[t.ACCELERATION] = accelerations
        self._act.fill(t.BRAKE)
        advance(self._joints, False, self.period)
        self._joints[t.ACCELERATION] = most
        self._keep_or_go_back(kept)

    def give_up(self) -> None:
        """Continue the kept stop, which no check has to allow; without a clearance, brake."""
        self.brake(announced=self._clearance is not None)

    def _kept(self) -> tuple[Array, Array, bool] | None:
        """Return the state with the kept stop; None without a clearance."""
        if self._clearance is None:
            return None
        return self._joints.copy(), self._announced_accelerations(), self._adopted

    def _keep_or_go_back(self, kept: tuple[Array, Array, bool] | None) -> None:
        """Keep the step and its stop if that is shown to be free; else continue the kept stop."""
        if kept is None or self._clearance is None:
            return
        before = kept[0].copy()
        before[t.ACCELERATION] = kept[1]
        if self._clearance.shows(before, self._announced_joints(), self.period):
            return
        self._joints[:], self._announced, self._adopted = kept
        self.brake(announced=True)

    def begin_tick(self) -> None:
        """Keep the state that `undo_tick` restores."""
        self._before[:], self._announced_before = self._joints, self._announced

    def undo_tick(self) -> None:
        """Undo all steps since the last `begin_tick`, which were not published."""
        self._joints[:] = self._before
        self._adopted, self._announced = False, self._announced_before

    def stop_point(self, *, announced: bool = False) -> Array:
        """Return where the joints (n,) come to rest if they `brake` from now on."""
        point = np.empty_like(self._goal)
        stop_point(self._announced_joints() if announced else self._joints, self.period, point)
        return point

    @property
    def stopping_time(self) -> float:
        """Return the longest duration of a stop [s], under the limits in force and those that are
        pending.

        For each joint it is at most speed / acceleration + 2 acceleration / jerk: the present
        acceleration ends, then a deceleration builds up and ends.
        """
        asked, now = self._limits, self.limits_in_force
        acceleration = np.minimum(asked.acceleration, now.acceleration)
        jerk = np.minimum(asked.jerk, now.jerk)
        speed = np.abs(self._dq) + self._ddq**2 / (2.0 * jerk)  # when that has run out
        moves = speed > 0.0
        if not moves.any():
            return 0.0
        speed, acceleration, jerk = speed[moves], acceleration[moves], jerk[moves]
        sudden = speed / self.period  # at rest within a period
        least = np.min([acceleration, np.sqrt(jerk * speed), sudden], axis=0)
        most = np.min([now.acceleration[moves], np.sqrt(now.jerk[moves] * speed), sudden], axis=0)
        most = np.maximum(most, np.abs(self._ddq[moves]))
        return float(np.max(speed / least + 2.0 * most / jerk))

    def stop_knots(self) -> tuple[NDArray[np.int64], Array, Array]:
        """Announce a stop in which all joints rest as soon as possible: knots of cubic splines.

        Joints without jerk limits slow down in proportion, so that a tip in motion stays near its
        line. One that would leave its limits by that brakes as hard as it may, and so do joints
        with jerk limits.

        Returns ticks (m,), positions (m, n) and velocities (m, n), views that the next call writes
        to (`stop_spline`). The first knot lies half a period before the last step and is certain;
        `ticks` counts the periods from there to each knot; in the last one all joints rest.
        """
        ticks, q, dq = self._knots
        count = stop_knots(self._announced_joints(), self.period, ticks, q, dq)
        return ticks[:count], q[:count], dq[:count]

    def scale_bounds(
        self, target: Array, velocity: Array, before: Array, fraction: float
    ) -> tuple[float, float]:
        """Return the bounds of the factor of the target's velocity (n,); see `scale_bounds`."""
        return scale_bounds(target, velocity, before, self._scale_rows, self.period, fraction)

    def _announced_joints(self) -> Array:
        """Copy the table, with the accelerations of the announced stop."""
        joints = self._joints.copy()
        joints[t.ACCELERATION] = self._announced_accelerations()
        return joints

    def _announced_accelerations(self) -> Array:
        """Return the accelerations (n,) of the announced stop, which keeps them to its end."""
        if self._announced is None:
            self._announced = np.empty_like(self._goal)
            announced_accelerations(self._joints, self.period, self._announced)
        return self._announced

    def _begin_step(self, *, adopting: bool = True) -> None:
        self._announced = None
        if adopting and not self._adopted:
            self._adopted = adopt(self._joints, self._asked, self.period)


def _rows_of(limits: MotionLimits) -> Array:
    """Return the limits (5, n) for the kernels, in the order of `joint_table`."""
    jerk = np.where(limits.jerk < t.SUDDEN, limits.jerk, np.inf)
    return np.array(
        [
            np.maximum(limits.lower, -t.NO_LIMIT),
            np.minimum(limits.upper, t.NO_LIMIT),
            np.minimum(limits.velocity, t.NO_LIMIT),
            limits.acceleration,
            jerk,
        ]
    )
