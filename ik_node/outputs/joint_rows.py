# SPDX-License-Identifier: Apache-2.0
"""Positions and velocities of selected joints, taken from those of all movable joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_core import Robot
from ik_core.maths.rotations import Array


class JointRows:
    """Selected joints of a robot, by name, including mimic joints.

    From arrays (..., n) a mimic joint is computed as multiplier * driver + offset; arrays
    (..., n + m) have columns for the m mimic joints.
    """

    def __init__(self, robot: Robot, names: Sequence[str]) -> None:
        rows = [robot.mimic_joints.get(name) for name in names]
        drivers = [
            name if row is None else row.joint for name, row in zip(names, rows, strict=True)
        ]
        self.size = len(names)
        self._n, every = robot.n, [*robot.joint_names, *robot.mimic_joints]
        self._columns = np.array([every.index(name) for name in names])
        self._drivers = np.array([robot.joint_index(name) for name in drivers])
        self._multipliers = np.array([row.multiplier if row else 1.0 for row in rows])
        self._offsets = np.array([row.offset if row else 0.0 for row in rows])
        self._copied = bool((self._multipliers == 1.0).all() and not self._offsets.any())

    def positions(self, q: Array, out: Array) -> None:
        """Write the joints' positions (..., size), from q (..., n) or (..., n + m)."""
        self.velocities(q, out)
        if not self._copied and q.shape[-1] == self._n:
            np.add(out, self._offsets, out=out)

    def velocities(self, dq: Array, out: Array) -> None:
        """Write the joints' velocities (..., size), from dq (..., n) or (..., n + m)."""
        follow = dq.shape[-1] == self._n
        # The mode 'clip' needs no buffer.
        dq.take(self._drivers if follow else self._columns, -1, out, 'clip')
        if not self._copied and follow:
            np.multiply(out, self._multipliers, out=out)
