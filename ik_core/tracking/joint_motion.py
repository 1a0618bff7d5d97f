"""The commanded joints on their way to the solution.

`JointMotion` aims the governor, and owns whether the joints wait for each other, and how fast
the tips may go for the joints' sake (`scale_of`): where joints lag behind a solution that moves on
by itself, or would get too fast, the tips on lines and jogs that they move slow down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..maths.rotations import Array
from .approach import Approach
from .governor import Governor
from .limits import MotionLimits
from .snapshot import Values, take_values, values_of
from .speed_scale import FREE, SpeedScale

NEAR = 0.1
"""[rad or m] Joints this close to a solution that moves on no longer wait for each other."""
FULL_SHARE = 0.9
"""The share of a joint's velocity that a line or a jog may ask for; the rest is to catch up."""
CRAWL = 0.1
"""The share of the tip's full speed below which joints get slower too."""


class JointMotion:
    """The joints at `q` with `dq` (n,), moved on by one period at a time; all only to be read.

    chains : for each tip, the indices of the joints that move it
    `synchronized`: the joints wait for each other, to arrive together; until they are `near`
    the solution, which is 0 where it stands still, as after a jump of the goals.
    `speed_profile`: 'linear' where they then go by an `approach`; may be set at any time.
    """

    def __init__(self, governor: Governor, chains: Sequence[Sequence[int]]) -> None:
        self.governor = governor
        self.q, self.dq = governor.q, governor.dq  # views of what it writes to
        self.synchronized = False
        self.near = 0.0
        self.speed_profile = 'square_root'
        self._approach: Approach | None = None
        self._chains = np.zeros((len(chains), governor.q.size))
        for tip, chain in enumerate(chains):
            self._chains[tip, chain] = 1.0
        self._let_go()

    def _let_go(self) -> None:
        """The solution stands still: joints keep no tip from moving."""
        self._scales: dict[int, SpeedScale] = {}
        self._last_velocity: Array | None = None  # of the solution, in the last tick

    @property
    def limits(self) -> MotionLimits:
        """The limits asked for last."""
        return self.governor.limits

    def stop_point(self) -> Array:
        """Where the joints (n,) come to rest when they brake from now on."""
        return self.governor.stop_point()

    def scale_of(self, tip: int) -> SpeedScale:
        """How fast the joints let a tip go (its index)."""
        return self._scales.get(tip, FREE)

    # Instructions

    def set_limits(self, limits: MotionLimits) -> None:
        """Move within these limits from the next tick on."""
        self.governor.set_limits(limits)

    def come_to_rest(self) -> None:
        """The solution is where the joints can stop: each brakes by itself."""
        self.synchronized, self.near = False, 0.0

    def synchronize(self) -> None:
        """The solution is far: the joints wait for each other."""
        self.synchronized, self._approach = True, None

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

    def follow(self, solution: Array, velocity: Array | None, shares: Mapping[int, float]) -> None:
        """Move one period towards the solution (n,).

        velocity (n,) : that of a solution which moves on by itself, along with tips or to the
            rest posture
        shares : of its full speed, for each tip (its index) that moves on a line or a jog
        """
        self._step_to(solution, velocity)
        if self.synchronized:
            self.synchronized = bool(self._distance(solution) > self.near)
        if velocity is None:
            self._let_go()
            return
        lag = np.abs(solution - self.q)
        self._scales = {
            tip: self._scale_for(self._chains[tip], solution, lag, velocity, share)
            for tip, share in shares.items()
        }
        self._last_velocity = velocity

    def go_on(self, solution: Array) -> None:
        """Move one period towards the solution (n,) of the last tick."""
        self._step_to(solution, None)

    def _step_to(self, solution: Array, velocity: Array | None) -> None:
        """One step of the governor, towards the solution or a point on the way to it."""
        if velocity is None and self.synchronized and self.speed_profile == 'linear':
            approach = self._approach = self._approach or Approach(self.q, self.dq)
            solution, velocity = approach.advance(solution, self.limits, self.governor.period)
        else:
            self._approach = None
        together = self.synchronized and self._approach is None
        self.governor.follow(solution, velocity, together)

    def brake(self, *, as_told: bool = False) -> None:
        """Brake for one period, wherever the solution is; see `Governor.brake`."""
        self.governor.brake(as_told=as_told)
        self._approach = None
        self._let_go()

    def _scale_for(
        self, chain: Array, solution: Array, lag: Array, velocity: Array, share: float
    ) -> SpeedScale:
        """What the joints of a chain, 1 in it and 0 for the others (n,), ask of their tip."""
        slack = max(0.0, 1.0 - float(np.max(chain * lag)) / self.governor.max_lag)
        # Where the tip can but crawl, joints should not race: a singularity is near.
        share = FULL_SHARE * min(1.0, math.sqrt(share / CRAWL))
        before = 0.0 * chain if self._last_velocity is None else chain * self._last_velocity
        growth, least = self.governor.scale_bounds(solution, chain * velocity, before, share)
        return SpeedScale(slack, growth, slack * least)

    def _distance(self, solution: Array) -> float:
        """How far the joint is from the solution that is furthest [rad or m]."""
        return float(np.max(np.abs(solution - self.q)))

    def snapshot(self) -> Values:
        """Its state as plain values, but that of the governor."""
        return {
            **values_of(self, ('synchronized', 'near', '_last_velocity')),
            'scales': [[tip, *scale] for tip, scale in self._scales.items()],
            'approach': self._approach.snapshot() if self._approach else None,
        }

    def restore(self, values: Values) -> None:
        """Take over a snapshot."""
        rest = {**values}
        self._scales = {tip: SpeedScale(*scale) for tip, *scale in rest.pop('scales')}
        approach = rest.pop('approach', None)
        self._approach = Approach.resume(approach) if approach else None
        take_values(self, rest)

    def warm(self) -> None:
        """Run once all that a tick may run, so that every kernel is compiled; changes nothing."""
        self.governor.warm()
