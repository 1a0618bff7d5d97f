# SPDX-License-Identifier: Apache-2.0
"""TRAC-IK, by pytracik: KDL's Newton with restarts, and SQP, side by side in two threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytracik

from .base import Adapter, Array, Chain
from .rotation import quaternion

TOLERANCE = 5e-7  # of each coordinate: of all three together, below 1e-6


class Peer(Adapter):
    """Type 'Speed': the first solution found. Called below its wrapper, which needs numpy < 2."""

    def __init__(self, chain: Chain, budget: float) -> None:
        super().__init__(chain)
        self.settings = f'Speed, {1e3 * budget:g} ms, epsilon={TOLERANCE:g}, 2 threads'
        self._solver = pytracik.TRAC_IK(
            chain.base,
            chain.tip,
            Path(chain.path).read_text(encoding='utf-8'),
            budget,
            TOLERANCE,
            pytracik.SolveType.Speed,
        )

    def prepare(self, goal: Array, q0: Array) -> Any:
        return (self._solver, q0, *goal[:3, 3], *quaternion(goal[:3, :3]))

    def solve(self, prepared: Any) -> Any:
        return pytracik.ik(*prepared)

    def answer(self, raw: Any) -> Any:
        return raw[1:] if raw[0] >= 0 else None
