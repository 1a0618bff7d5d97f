# SPDX-License-Identifier: Apache-2.0
"""Show that a step and its stop stay clear of the robot itself and of all obstacles."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...collision.collisions import Collisions
from ...collision.motions import (
    MOTION,
    PLACES,
    ROUNDING,
    SPARE,
    bend_step,
    measure_motion,
    measure_pairs,
    motion_is_free,
    shorten_step,
)
from ...collision.records import WIDTH
from ...maths.rotations import Array
from . import joint_table as t
from .stop_spline import MAX_KNOTS, stop_knots, stop_point

ARRIVED = 1e-5  # [rad or m] Joints rest at an obstacle that leaves them no longer a step.
# Intervals of a motion that are checked: a step that is not shown by then is not taken.
MOST_CHECKS = 120
MANY_CHECKS = 300  # where it is a stop that is taken in any case
STRIDE = 0.02  # [m] by which pairs may come nearer between places where a path is judged


class Clearance:
    """The distances that the joints' motion keeps, from one step and its stop to the next.

    collisions : the pairs to check, and the world, which no longer changes

    Each pair keeps its margin. One that is nearer than its margin at `restart` or `begin` keeps
    the largest distance that it had so far, so that it can only move apart.
    """

    def __init__(self, collisions: Collisions) -> None:
        self.collisions = collisions
        n = collisions.robot.n
        knots = 2 + MAX_KNOTS * n
        self._ticks, self._q, self._dq = np.zeros(knots, np.int64), *np.zeros((2, knots, n))
        self._floors = collisions.approaches(True)[0]['margin'].copy()
        self._checks: dict[bool, _Check] = {}
        self._blocking = -1, False
        self._count, self._rest = 0, np.zeros(n)
        self._near = self._check(False)

    def copy(self) -> Clearance:
        """Return another one in the same state."""
        return Clearance.resume(self.collisions, self.floors)

    @classmethod
    def resume(cls, collisions: Collisions, floors: Array) -> Clearance:
        """Return a clearance that continues from the `floors` of another one."""
        other = cls(collisions)
        other._floors[:] = floors
        return other

    @property
    def floors(self) -> Array:
        """A copy of the distances (P,) [m] that pairs keep, also those outside the limits."""
        return self._floors.copy()

    def forget(self) -> None:
        """Forget which pairs were near, as a copy does."""
        for check in self._checks.values():
            check.motion['near'] = check.motion['count'] = 0

    def restart(self, q: Array) -> None:
        """Begin at rest at q (n,): pairs nearer than their margins keep their distances."""
        self._blocking = -1, False
        check = self._check(True)  # its pairs are those of the other, and more
        level = check.measure(q)
        self._floors[:] = np.where(level < check.margins, level - ROUNDING, level)

    def begin(self, joints: Array, stop: Array, period: float) -> None:
        """Begin in motion: pairs may come as near as they do on the present stop.

        joints, stop, period : as in `shows`
        """
        self.restart(joints[t.Q])
        check, tries = self._check(True), Counter[int]()
        self._write(joints, stop, period)
        if check.find(self._count, period, MANY_CHECKS) < 0:
            return
        measure_motion(*check.addresses, 0.0)
        near = check.motion['level'] < self._floors
        self._floors[near] = check.motion['level'][near] - ROUNDING
        while (found := check.find(self._count, period, MANY_CHECKS)) >= 0:
            tries[found] += 1  # it is nearer between the ticks
            self._floors[found] -= ROUNDING * 1e3 ** tries[found]

    def shows(self, before: Array, after: Array, period: float) -> bool:
        """Return whether the step and the stop after it are shown to be free.

        before, after : tables of the joints as in `joint_table`, with the accelerations of the
            kept stop and of the stop after the step
        period [s] : of the step
        """
        is_outside = self._write(before, after, period)
        check = self._check(is_outside)
        floors = self._floors[: check.margins.size]
        if (floors < check.margins).any():
            # The kept stop may still lead nearer than now: its end counts, too.
            stop_point(before, period, self._rest)
            level = check.measure(self._q[0], self._rest)
            level = np.where(level < check.margins, level - ROUNDING, level)
            np.maximum(floors, level, out=floors)
        found = check.find(self._count, period)
        self._blocking = found, is_outside
        return found < 0

    def path_is_free(self, start: Array, end: Array) -> bool:
        """Return whether no pair stops the joints on the straight path (n,), (n,).

        Each pair keeps the distance at which steps end, or the one at the start. It is judged at
        places between which no pair comes nearer by more than `STRIDE`: to choose a path, and not
        to show that it is free.
        """
        check = self._check(self.collisions.is_outside(np.array([start, end])))
        strides = float((check.motion['reach'] @ np.abs(end - start)).max(initial=0.0)) / STRIDE
        parts = 1 + int(strides / (PLACES - 1))
        corners = start + np.linspace(0.0, 1.0, parts + 1)[:, np.newaxis] * (end - start)
        kept = self._levels(check, start, start) - ARRIVED
        return all(
            (self._levels(check, first, last) >= kept).all() for first, last in pairwise(corners)
        )

    def _levels(self, check: _Check, start: Array, end: Array) -> Array:
        """Return the least distances (P,) [m], up to margin + SPARE, on a straight path."""
        motion, count = check.motion, int(check.motion['count'])
        self._ticks[:2], self._q[:2] = (0, PLACES - 1), (start, end)
        self._dq[:2] = (end - start) / (PLACES - 1)
        motion['count'], motion['period'] = 2, 1.0
        measure_motion(*check.addresses, SPARE)
        motion['count'] = count  # of the last stop, to which the lengths of its paths belong
        levels: Array = motion['level'].copy()
        return levels

    def shorten(self, q: Array, target: Array, horizon: Array) -> Array | None:
        """Return the end of a shorter step from q (n,), if obstacles are in the way of a target.

        horizon (n,) [rad or m] : how far joints look ahead, more than they need to stop

        None if the way to the target (n,) is free up to there, as far as near pairs tell.
        """
        self._near = self._check(self.collisions.is_outside(q[np.newaxis]))
        aimed = np.empty_like(q)
        way = target - q
        ahead = q + _fraction_within(way, horizon) * way
        found = shorten_step(*self._near.addresses, q, ahead, aimed)
        return None if found < 0 else _rested(q, aimed)

    def bend(self, q: Array, target: Array, horizon: Array, metric: Array) -> Array:
        """Return the point (n,) nearest to the way to a target that near pairs leave free.

        metric (n, n) : the inverse of the matrix M of distances sqrt(x M x)

        The near pairs are those of the last `shorten`.
        """
        way = target - q
        aimed = q + _fraction_within(way, horizon) * way
        bend_step(self._near.addresses[2], q, metric, aimed)
        return _rested(q, aimed)

    def _write(self, before: Array, after: Array, period: float) -> bool:
        """Write the knots of a step and its stop; return whether a joint is outside its limits."""
        ticks, q, dq = self._ticks, self._q, self._dq
        self._count = 1 + stop_knots(after, period, ticks[1:], q[1:], dq[1:])
        ticks[1 : self._count] += 1
        q[0], dq[0] = before[t.Q] - 0.5 * period * before[t.MEAN], before[t.MEAN]
        return self.collisions.is_outside(q[: self._count])

    @property
    def obstacle(self) -> tuple[str, str] | None:
        """The pair of links or obstacles that kept the joints from their last target."""
        index, is_outside = self._blocking
        check = self._check(is_outside)
        index = index if index >= 0 else int(check.motion['nearest'])
        if index < 0:
            return None
        names = self.collisions.piece_names
        i, j = check.model['pairs'][index, :2].tolist()
        return names[i], names[j]

    def obstacle_distance(self, q: Array) -> float | None:
        """Return the distance [m] of the pair of `obstacle` with the joints at q (n,)."""
        names = self.obstacle
        if names is None:
            return None
        # In motion, a pair that the joints are braking for may still be far.
        near = float(self._floors.max(initial=0.0)) + STRIDE
        for within in (near, 8.0 * near, np.inf):
            for pair in self.collisions.distances(q, within):
                if (pair.first, pair.second) == names:
                    return pair.distance
        return None

    def _check(self, is_outside: bool) -> _Check:
        if is_outside not in self._checks:
            shared = {'ticks': self._ticks, 'q': self._q, 'dq': self._dq, 'floor': self._floors}
            self._checks[is_outside] = _Check(self.collisions, is_outside, shared)
        return self._checks[is_outside]


def _fraction_within(way: Array, horizon: Array) -> float:
    """Return the fraction of a straight way (n,) that takes no joint beyond the horizon."""
    far = np.abs(way)
    return float(np.divide(horizon, far, out=np.ones_like(far), where=far > horizon).min())


def _rested(q: Array, aimed: Array) -> Array:
    """Return the end of a step from q (n,), or q if it is no longer a step."""
    return q if np.abs(aimed - q).max() < ARRIVED else aimed


class _Check:
    """The records of the kernels: for joints inside their limits, or with one outside."""

    def __init__(
        self, collisions: Collisions, is_outside: bool, shared: dict[str, NDArray[Any]]
    ) -> None:
        self.model, approaches = collisions.approaches(is_outside)
        self.state = collisions.workspace_of(self.model)
        self.fine = collisions.workspace_of(self.model)
        sizes = {
            'pair_rows': len(self.model['pairs']),
            'paths': max(1, len(approaches.reach)),
            'joints': collisions.robot.n,
            'knots': len(shared['ticks']),
        }
        self.margins = self.model['margin']
        shared = {**shared, 'floor': shared['floor'][: self.margins.size]}
        self.motion = MOTION.make(sizes, WIDTH, shared)
        self.motion['path'], self.motion['cut'] = approaches.path, approaches.cut
        paths = len(approaches.reach)  # none without pairs
        self.motion['reach'][:paths], self.motion['turn'][:paths] = (
            approaches.reach,
            approaches.turn,
        )
        self.addresses = self.model.address, self.state.address, self.motion.address

    def measure(self, *places: Array) -> Array:
        """Return the least distance (P,) [m] of each pair at places (n,), at most its margin."""
        for k, q in enumerate(places):
            measure_pairs(*self.addresses, np.ascontiguousarray(q), k > 0)
        return self.motion['level']

    def find(self, count: int, period: float, most_checks: int = MOST_CHECKS) -> int:
        """Return the index of a pair that `count` knots are not shown to keep apart; -1: none."""
        self.motion['count'], self.motion['period'] = count, period
        self.motion['most_checks'] = most_checks
        model, state, motion = self.addresses
        return int(motion_is_free(model, state, self.fine.address, motion))
