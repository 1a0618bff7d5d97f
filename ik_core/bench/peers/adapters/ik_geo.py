"""ik-geo: the closed form of the subproblem decomposition, in Rust."""

from __future__ import annotations

from typing import Any

import ik_geo

from .base import Array, Chain, ClosedForm
from .exponentials import axes_and_offsets


class Peer(ClosedForm):
    """All solutions of a UR arm: three parallel and two intersecting axes."""

    settings = 'three_parallel_two_intersecting, all solutions'

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        axes, offsets, self._rotation = axes_and_offsets(chain)
        self._robot = ik_geo.Robot.three_parallel_two_intersecting(axes, offsets)

    def prepare(self, goal: Array, q0: Array) -> Any:
        turned = goal[:3, :3] @ self._rotation.T
        return turned.T.tolist(), goal[:3, 3].tolist()  # it takes the columns

    def solve(self, prepared: Any) -> Any:
        return self._robot.get_ik_sorted(*prepared)

    def answer(self, raw: Any) -> Any:
        return super().answer([solution[0] for solution in raw])
