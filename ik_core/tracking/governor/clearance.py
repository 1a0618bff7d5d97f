# SPDX-License-Identifier: Apache-2.0
"""Show that a step and its stop stay clear of the robot itself and of all obstacles."""

from __future__ import annotations

import numpy as np

from ...collision.collisions import Collisions
from ...collision.motions import MOTION, WIDTH, motion_is_free, set_floors
from ...maths.rotations import Array
from ...robot.robot import Robot
from . import joint_table as t
from .stop_spline import MAX_KNOTS, stop_knots

MOST_CHECKS = 200  # intervals of a motion; what is not shown by then is not taken


class Clearance:
    """The distances that the joints' motion keeps, from one step and its stop to the next.

    collisions : the pairs to check, and the world; only `update` reads its changes
    q (n,) : where the joints rest

    Each pair keeps its margin. One that is nearer than its margin keeps the largest distance that
    it had so far, so that it can only move apart.
    """

    def __init__(self, collisions: Collisions, q: Array) -> None:
        self.collisions = collisions
        n = collisions.robot.n
        knots = 2 + MAX_KNOTS * n
        self._arrays = {
            'ticks': np.zeros(knots, np.int64),
            'q': np.zeros((knots, n)),
            'dq': np.zeros((knots, n)),
        }
        self._checks: dict[bool, _Check] = {}
        self._blocking = -1, False
        self.restart(q)

    @property
    def robot(self) -> Robot:
        """The robot whose joints move."""
        return self.collisions.robot

    def restart(self, q: Array) -> None:
        """Begin at rest at q (n,): pairs that are nearer than their margins keep their distance."""
        self._blocking = -1, False
        for is_outside in (False, True):
            check = self._check(is_outside)
            check.below = set_floors(*check.addresses, np.ascontiguousarray(q), False)

    def shows(self, before: Array, after: Array, period: float) -> bool:
        """Return whether the step and the stop after it are shown to be free.

        before, after : tables of the joints as in `joint_table`, the latter with the accelerations
            of its stop
        period [s] : of the step
        """
        arrays = self._arrays
        ticks, q, dq = arrays['ticks'], arrays['q'], arrays['dq']
        count = stop_knots(after, period, ticks[1:], q[1:], dq[1:])
        ticks[1 : 1 + count] += 1
        q[0], dq[0] = before[t.Q] - 0.5 * period * before[t.MEAN], before[t.MEAN]
        is_outside = bool(self.collisions.are_outside(np.stack([before[t.Q], q[count]])).any())
        check = self._check(is_outside)
        if check.below:
            check.below = set_floors(*check.addresses, q[0], True)
        check.motion['count'], check.motion['period'] = 1 + count, period
        model, state, motion = check.addresses
        found = int(motion_is_free(model, state, check.fine.address, motion))
        self._blocking = found, is_outside
        return found < 0

    @property
    def blocking(self) -> tuple[str, str, float] | None:
        """The pair that the last step was not shown to keep apart: names, and a distance [m]."""
        index, is_outside = self._blocking
        if index < 0:
            return None
        check, names = self._check(is_outside), self.collisions.piece_names
        i, j = check.model['pairs'][index, :2].tolist()
        return names[i], names[j], float(check.motion['distance'])

    def _check(self, is_outside: bool) -> _Check:
        if is_outside not in self._checks:
            self._checks[is_outside] = _Check(self.collisions, is_outside, self._arrays)
        return self._checks[is_outside]


class _Check:
    """The records of the kernels: for joints inside their limits, or with one outside."""

    def __init__(
        self, collisions: Collisions, is_outside: bool, arrays: dict[str, np.ndarray]
    ) -> None:
        self.below = 0
        self.model, approaches = collisions.approaches(is_outside)
        self.state = collisions.workspace_of(self.model)
        self.fine = collisions.workspace_of(self.model)
        sizes = {
            'pair_rows': len(self.model['pairs']),
            'paths': max(1, len(approaches.reach)),
            'joints': collisions.robot.n,
            'knots': len(arrays['ticks']),
        }
        self.motion = MOTION.make(sizes, WIDTH, arrays)
        self.motion['path'], self.motion['cut'] = approaches.path, approaches.cut
        self.motion['reach'], self.motion['turn'] = approaches.reach, approaches.turn
        self.motion['most_checks'] = MOST_CHECKS
        self.addresses = self.model.address, self.state.address, self.motion.address
