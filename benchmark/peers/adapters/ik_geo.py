# SPDX-License-Identifier: Apache-2.0
"""ik-geo: the closed form of the subproblem decomposition, in Rust."""

from __future__ import annotations

from typing import Any

import ik_geo
import numpy as np

from .base import Array, Chain, ClosedForm
from .exponentials import axes_and_offsets


class Peer(ClosedForm):
    """All solutions of a UR arm: three parallel and two intersecting axes."""

    def __init__(self, chain: Chain, choose: bool) -> None:
        super().__init__(chain, choose)
        axes, offsets, self._rotation = axes_and_offsets(chain)
        self._robot = ik_geo.Robot.three_parallel_two_intersecting(axes, offsets)
        self.settings = f'three_parallel_two_intersecting, {self.extent}'

    def prepare(self, goal: Array, q0: Array) -> Any:
        turned = goal[:3, :3] @ self._rotation.T
        return turned.T.tolist(), goal[:3, 3].tolist(), q0  # it takes the columns

    def solutions(self, prepared: Any) -> Any:
        return self._robot.get_ik(*prepared)

    def as_array(self, found: Any) -> Array:
        return np.array([q for q, inexact in found if not inexact]).reshape(-1, 6)
