# SPDX-License-Identifier: Apache-2.0
"""The commanded joints on their way to the solution.

`JointMotion` aims the governor, and owns whether the joints wait for each other, and how fast
the tips may go for the joints' sake (`scale_of`): where joints lag behind a solution that moves on
by itself, or would get too fast, the tips on lines and jogs that they move slow down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array
from .approach import Approach
from .governor import Governor
from .motion_limits import MotionLimits
from .speed_scale import CREEP, SpeedScale

NEAR = 0.1
"""[rad or m] Joints this close to a solution that moves on no longer wait for each other."""
FULL_SHARE = 0.9
"""The share of a joint's velocity that a line or a jog may ask for; the rest is to catch up."""
SMOOTH = 0.5
"""The share of a joint's jerk that a tip which speeds up or slows down may ask for."""
CRAWL = 0.1
"""The share of the tip's full speed below which joints get slower too."""


class JointMotion:
    """The joints at `q` with `dq` (n,), moved on by one period at a time; all only to be read.

    chains : for each tip, the indices of the joints that move it
    `synchronized`: the joints wait for each other, to arrive together; until they are `near`
    the solution, which is 0 where it stands still, as after a jump of the goals.
    `speed_profile`: 'linear' where they then go by an `approach`; may be set at any time.
    """

    OWN: ClassVar = (
        'synchronized', 'near', 'approach', '_scales', '_last_velocity', '_last_shares',
    )  # fmt: skip
    """Attributes that are its state."""

    def __init__(self, governor: Governor, chains: Sequence[Sequence[int]]) -> None:
        self.governor = governor
        self.q, self.dq = governor.q, governor.dq  # views of what it writes to
        self.synchronized = False
        self.near = 0.0
        self.speed_profile = 'square_root'
        self.approach: Approach | None = None
        self._chains = np.zeros((len(chains), governor.q.size))
        for tip, chain in enumerate(chains):
            self._chains[tip, chain] = 1.0
        self._let_go()

    def _let_go(self) -> None:
        """The solution stands still: joints keep no tip from moving."""
        self._scales: dict[int, SpeedScale] = {}
        self._last_velocity: Array | None = None  # of the solution, in the last tick
        self._last_shares: dict[int, float] = {}  # of tips that then moved

    @property
    def limits(self) -> MotionLimits:
        """The limits asked for last."""
        return self.governor.limits

    def stop_point(self, *, as_told: bool = False) -> Array:
        """Where the joints (n,) come to rest when they `brake` from now on."""
        return self.governor.stop_point(as_told=as_told)

    @property
    def stopping_time(self) -> float:
        """[s] How long braking takes at most, by the limits in force and those that wait."""
        return stopping_time(self.governor)

    def scale_of(self, tip: int) -> SpeedScale:
        """How fast the joints let a tip go (its index)."""
        return self._scales.get(tip, CREEP)

    # Instructions

    def set_limits(self, limits: MotionLimits) -> None:
        """Move within these limits from the next tick on."""
        self.governor.set_limits(limits)

    def come_to_rest(self) -> None:
        """The solution is where the joints can stop: each brakes by itself."""
        self.synchronized, self.near = False, 0.0

    def synchronize(self) -> None:
        """The solution is far: the joints wait for each other."""
        self.synchronized, self.approach = True, None

    def jump(self) -> None:
        """The goals jumped: the joints wait for each other until all have arrived."""
        self.synchronize()
        self.near = 0.0

    def drag(self) -> None:
        """The goals move on: joints that wait for each other do so until they are near."""
        self.near = NEAR

    def follow_closely(self) -> None:
        """A tip is led along a line or by a twist: no joint waits for another."""
        self.synchronized, self.near = False, NEAR

    # What it does in a tick

    def follow(
        self,
        solution: Array,
        velocity: Array | None,
        shares: Mapping[int, float],
        apart: NDArray[np.bool_] | None = None,
    ) -> None:
        """Move one period towards the solution (n,).

        velocity (n,) : that of a solution which moves on by itself, along with tips or to the
            rest posture
        shares : of its full speed, for each tip (its index) that moves on a line or a jog
        apart (n,) : mask of joints that others do not wait for; see `Governor.follow`
        """
        if velocity is None and self.synchronized and self.speed_profile == 'linear':
            approach = self.approach = self.approach or Approach(self.q.copy(), self.dq.copy())
            ahead = solution if apart is None else np.where(apart, approach.point, solution)
            point, speed = approach.advance(ahead, self.limits, self.governor.period)
            point = point if apart is None else np.where(apart, solution, point)
            self.governor.follow(point, speed, False)
        else:
            self.approach = None
            self.governor.follow(solution, velocity, self.synchronized, apart)
        if self.synchronized:
            left = np.abs(solution - self.q)
            left = left if apart is None else left[~apart]
            self.synchronized = bool(left.max() > self.near)
        if velocity is None:
            self._let_go()
            for tip, share in shares.items():  # so slow that the solution does not move yet
                self._scales[tip] = SpeedScale(max(2.0 * share, CREEP.slack))
            return
        lag = solution - self.q
        lag = np.where(lag * velocity < 0.0, 0.0, np.abs(lag))  # a joint that is ahead only brakes
        self._scales = {
            tip: self._scale_for(tip, solution, lag, velocity, share)
            for tip, share in shares.items()
        }
        self._last_velocity, self._last_shares = velocity, dict(shares)

    def braking_factor(self, solution: Array, velocity: Array) -> float:
        """By what factor the joints can slow down together, at a velocity (n,) of the solution."""
        return self.governor.scale_bounds(solution, velocity, velocity, 1.0)[1]

    def slow_down(self, factor: float) -> None:
        """The joints slowed down by this factor, along the way of the solution."""
        if self._last_velocity is not None:
            self._last_velocity = factor * self._last_velocity
        self._last_shares = {tip: factor * share for tip, share in self._last_shares.items()}

    def brake(self, *, as_told: bool = False) -> None:
        """Brake for one period, wherever the solution is; see `Governor.brake`."""
        self.governor.brake(as_told=as_told)
        self.approach = None
        self._let_go()

    def _scale_for(
        self, tip: int, solution: Array, lag: Array, velocity: Array, share: float
    ) -> SpeedScale:
        """By how much a tip must slow down, or may speed up, for joints to keep their limits."""
        if share == 0.0:
            return CREEP
        chain, before = self._chains[tip], self._last_velocity  # 1 for its joints, 0 for others
        velocity = chain * velocity
        slack = max(0.0, 1.0 - float(np.max(chain * lag)) / self.governor.max_lag)
        # A path that bends: not one on which the tip gets slower, or faster.
        last_share = self._last_shares.get(tip, 0.0)
        speed = share / last_share if last_share else 1.0
        before = 0.0 * chain if before is None else speed * chain * before
        # Where the tip can but crawl, joints should not race: a singularity is near.
        most = FULL_SHARE * min(1.0, math.sqrt(share / CRAWL))
        if not self.limits.has_jerk:
            growth, least = self.governor.scale_bounds(solution, velocity, before, most)
            return SpeedScale(slack, growth, slack * least)
        # A tip that speeds up or slows down by another rate than before jerks the joints, and
        # before it brakes as hard as it may it goes on for a while.
        period, gain = self.governor.period, 1.0 - last_share / share  # of the share, by the tick
        with np.errstate(divide='ignore'):
            jerk = float(np.min(self.limits.jerk / np.abs(velocity)))
        change = SMOOTH * jerk * period**2
        ticks = max(1.0 - self.braking_factor(solution, velocity) + min(gain, 0.0), 0.0) / change
        ahead = np.clip(
            solution + 0.5 * ticks * period * velocity, self.limits.lower, self.limits.upper
        )
        growth, least = self.governor.scale_bounds(ahead, velocity, before, most)
        if not last_share:  # the joints rested until now, and have yet to follow
            return SpeedScale(slack, min(growth, 2.0 + change), 0.0, change)
        low, high = max(1.0 + min(gain, 0.0) - change, 0.0), max(1.0 + gain + change, 0.0)
        growth, least = min(max(growth, low), high), min(max(slack * least, low), high, 1.0)
        return SpeedScale(slack, growth, least, change)


def stopping_time(governor: Governor) -> float:
    """[s] How long braking takes at most, by the limits in force and those that wait.

    For each joint speed / acceleration + 2 acceleration / jerk: the acceleration of now runs
    out, a deceleration builds up and ends again.
    """
    asked, now = governor.limits, governor.limits_in_force
    acceleration = np.minimum(asked.acceleration, now.acceleration)
    jerk = np.minimum(asked.jerk, now.jerk)
    speed = np.abs(governor.dq) + governor.ddq**2 / (2.0 * jerk)  # when that has run out
    moves = speed > 0.0
    if not moves.any():
        return 0.0
    speed, acceleration, jerk = speed[moves], acceleration[moves], jerk[moves]
    sudden = speed / governor.period  # at rest within a period
    least = np.min([acceleration, np.sqrt(jerk * speed), sudden], axis=0)
    most = np.min([now.acceleration[moves], np.sqrt(now.jerk[moves] * speed), sudden], axis=0)
    most = np.maximum(most, np.abs(governor.ddq[moves]))
    return float(np.max(speed / least + 2.0 * most / jerk))
