# SPDX-License-Identifier: Apache-2.0
"""The commanded joints on their way to the solution.

`JointMotion` sets the targets of the governor. It decides whether the joints wait for each other,
and limits the speed of the tips (`scale_of`): tips on lines and jogs slow down if their joints lag
behind the moving solution, or would get too fast.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...maths.rotations import Array
from .governor import Detour, Governor
from .slow_in_out import SlowInOut
from .speed_scale import CREEP, SpeedScale

# [rad or m] Joints this close to a solution that moves on no longer wait for each other.
NEARLY_THERE = 0.1
# [rad or m] Lines and jogs wait where a joint is this far behind. To wait is a jerk, too: joints
# with jerk limits would swing about a tip that waits sooner.
MAX_LAG, MAX_LAG_WITH_JERK = 0.002, 0.005
SMOOTHED = 0.3  # weight of the last acceleration of a solution in their mean: streams have jitter
# of a^3 / J^2: the distance of a stop from an acceleration a, without velocity, by a jerk J
STOP_OF_ACCELERATION = 1.0 / 3.0 + 1.0 / math.sqrt(8.0)


class JointMotion:
    """The joints at `q` with `dq` (n,), moved on by one period at a time; all only to be read.

    chains : for each tip, the indices of the joints that move it

    `synchronized` : the joints wait for each other, to arrive together, until they are within
        `near` [rad or m] of the solution; 0 if that stands still, as after a jump of the goals
    `speed_profile` : 'linear' if they then move slow in, slow out; may be set at any time
    """

    # Attributes that are its state.
    OWN: ClassVar = (
        'synchronized', 'near', 'slow_in_out', '_scales', '_last_velocity', '_acceleration',
        '_last_fractions',
    )  # fmt: skip

    def __init__(self, governor: Governor, chains: Sequence[Sequence[int]]) -> None:
        self.governor = governor
        self.q, self.dq = governor.q, governor.dq  # views of what it writes to
        self.synchronized = False
        self.near = 0.0
        self.speed_profile = 'square_root'
        self.slow_in_out: SlowInOut | None = None
        self._chains = np.zeros((len(chains), governor.q.size))
        for tip, chain in enumerate(chains):
            self._chains[tip, chain] = 1.0
        self._let_go()

    def _let_go(self) -> None:
        """Forget how the solution moved: it stands still, and joints keep no tip from moving."""
        self._scales: dict[int, SpeedScale] = {}
        self._last_velocity: Array | None = None  # of the solution, in the last tick
        self._acceleration: Array | float = 0.0  # of the solution, smoothed
        self._last_fractions: dict[int, float] = {}  # of tips that then moved

    def scale_of(self, tip: int) -> SpeedScale:
        """Return how fast the joints let a tip (its index) move."""
        return self._scales.get(tip, CREEP)

    # Instructions

    def come_to_rest(self) -> None:
        """End the synchronization: each joint brakes independently, to where it can stop."""
        self.synchronized, self.near = False, 0.0

    def synchronize(self) -> None:
        """Synchronize the joints until they are near the solution, which is far."""
        self.synchronized, self.slow_in_out = True, None

    def jump(self) -> None:
        """Synchronize the joints until all have arrived, after a jump of the goals."""
        self.synchronize()
        self.near = 0.0

    def drag(self) -> None:
        """End a synchronization when the joints are near the solution, since the goals move."""
        self.near = NEARLY_THERE

    def follow_steps(self) -> None:
        """End the synchronization, since a tip moves along a line or by a twist."""
        self.synchronized, self.near = False, NEARLY_THERE

    # What it does in a tick

    def follow(
        self,
        solution: Array,
        velocity: Array | None,
        fractions: Mapping[int, float],
        independent: NDArray[np.bool_] | None = None,
        detour: Detour | None = None,
    ) -> None:
        """Move one period towards the solution (n,).

        velocity (n,) : of a solution that moves by itself, with tips or to the rest posture
        fractions : fraction of its full speed, for each tip (its index) on a line or a jog
        independent (n,), detour : see `Governor.follow`
        """
        if velocity is None and self.synchronized and self.speed_profile == 'linear':
            if self.slow_in_out is None:
                self.slow_in_out = SlowInOut(self.q.copy(), self.dq.copy())
            ahead = solution
            if independent is not None:
                ahead = np.where(independent, self.slow_in_out.point, solution)
            governor = self.governor
            point, speed = self.slow_in_out.advance(ahead, governor.limits, governor.period)
            if independent is not None:
                point = np.where(independent, solution, point)
            governor.follow(point, speed, False)
        else:
            self.slow_in_out, aim = None, solution
            if velocity is not None and not fractions:
                aim = solution + self._ahead(velocity)
            self.governor.follow(aim, velocity, self.synchronized, independent, detour=detour)
        if self.synchronized:
            left = np.abs(solution - self.q)
            left = left if independent is None else left[~independent]
            stopped = self.governor.obstacle is not None and self.governor.at_rest
            self.synchronized = bool(left.max() > self.near) and not stopped  # then along it
        if velocity is None:
            self._let_go()
            # of tips so slow that the solution does not move yet
            for tip, fraction in fractions.items():
                self._scales[tip] = SpeedScale(max(2.0 * fraction, CREEP.slack))
            return
        lag = solution - self.q
        lag = np.where(lag * velocity < 0.0, 0.0, np.abs(lag))  # a joint that is ahead only brakes
        self._scales = {
            tip: self._scale_for(tip, solution, lag, velocity, fraction)
            for tip, fraction in fractions.items()
        }
        self._last_velocity, self._last_fractions = velocity, dict(fractions)

    def _ahead(self, velocity: Array) -> Array:
        """Return how far (n,) to aim ahead of a solution in motion, to stay without lag.

        The governor expects that a target keeps its velocity (n,). If the target accelerates, a
        joint that keeps up with it has an acceleration that is to be stopped, which takes a while
        with a jerk limit: the joint would lag by the distance of that stop.
        """
        limits = self.governor.limits
        if self._last_velocity is None or not limits.has_jerk:
            return np.zeros_like(velocity)
        change = (velocity - self._last_velocity) / self.governor.period
        change = np.clip(change, -limits.acceleration, limits.acceleration)
        self._acceleration = self._acceleration + SMOOTHED * (change - self._acceleration)
        distance = STOP_OF_ACCELERATION * self._acceleration**3 / limits.jerk**2
        return np.clip(distance, -MAX_LAG_WITH_JERK, MAX_LAG_WITH_JERK)

    def braking_factor(self, solution: Array, velocity: Array) -> float:
        """Return the least factor by which the joints can slow down in proportion.

        velocity (n,) : of the solution (n,)
        """
        return self.governor.scale_bounds(solution, velocity, velocity, 1.0)[1]

    def slow_down(self, factor: float) -> None:
        """Scale the stored velocity of the solution: the joints have slowed by this factor."""
        if self._last_velocity is not None:
            self._last_velocity = factor * self._last_velocity
        self._last_fractions = {
            tip: factor * fraction for tip, fraction in self._last_fractions.items()
        }

    def brake(self, *, announced: bool = False) -> None:
        """Brake for one period, wherever the solution is; see `Governor.brake`."""
        self.governor.brake(announced=announced)
        self.slow_in_out = None
        self._let_go()

    def _scale_for(
        self, tip: int, solution: Array, lag: Array, velocity: Array, fraction: float
    ) -> SpeedScale:
        """Return how fast a tip (its index) may move for its joints to keep their limits.

        lag, velocity (n,) : of the joints behind the solution (n,), and of the solution
        fraction : fraction of its full speed that the tip has
        """
        if fraction == 0.0:
            return CREEP
        governor = self.governor
        limits, period = governor.limits, governor.period
        chain, before = self._chains[tip], self._last_velocity  # 1 for its joints, 0 for others
        velocity = chain * velocity
        max_lag = MAX_LAG_WITH_JERK if limits.has_jerk else MAX_LAG
        slack = max(0.0, 1.0 - float(np.max(chain * lag)) / max_lag)
        # A path that bends: not one on which the tip gets slower, or faster.
        last_fraction = self._last_fractions.get(tip, 0.0)
        speed = fraction / last_fraction if last_fraction else 1.0
        before = 0.0 * chain if before is None else speed * chain * before
        # A tenth of a joint's velocity is left to catch up. Where the tip has less than 0.1 of its
        # full speed a singularity is near, and joints should not race.
        most = 0.9 * min(1.0, math.sqrt(fraction / 0.1))
        if not limits.has_jerk:
            growth, least = governor.scale_bounds(solution, velocity, before, most)
            return SpeedScale(slack, growth, slack * least)
        # A tip that speeds up or slows down by another rate than before jerks the joints, and
        # before it brakes as hard as it may it goes on for a while.
        gain = 1.0 - last_fraction / fraction  # of the fraction, in the last tick
        with np.errstate(divide='ignore'):
            jerk = float(np.min(limits.jerk / np.abs(velocity)))
        change = 0.5 * jerk * period**2  # the other half of the jerk is for bends of the path
        ticks = max(1.0 - self.braking_factor(solution, velocity) + min(gain, 0.0), 0.0) / change
        ahead = np.clip(solution + 0.5 * ticks * period * velocity, limits.lower, limits.upper)
        growth, least = governor.scale_bounds(ahead, velocity, before, most)
        if not last_fraction:  # the joints rested until now, and have yet to follow
            return SpeedScale(slack, min(growth, 2.0 + change), 0.0, change)
        low, high = max(1.0 + min(gain, 0.0) - change, 0.0), max(1.0 + gain + change, 0.0)
        growth, least = min(max(growth, low), high), min(max(slack * least, low), high, 1.0)
        return SpeedScale(slack, growth, least, change)
