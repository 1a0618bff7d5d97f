# SPDX-License-Identifier: Apache-2.0
"""Adapter of this package, through its public API."""

from __future__ import annotations

from typing import Any

import ik_core as ik

from .base import Adapter, Array, Chain

TOLERANCE = 1e-6


class Peer(Adapter):
    """`solver.solve(problem, q0)` of the default solver, with all its defaults."""

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        self._goal = ik.PoseTask(chain.tip)
        self._problem = ik.IkProblem(
            ik.load_robot(chain.path),
            [self._goal],
            position_tolerance=TOLERANCE,
            orientation_tolerance=TOLERANCE,
        )
        self._solver = ik.make_solver('levenberg_marquardt')
        restarts = self._solver.options.restarts
        self.settings = f'levenberg_marquardt, {restarts} restarts, {TOLERANCE:g}'

    def prepare(self, goal: Array, q0: Array) -> Any:
        self._goal.set_target(goal)
        return q0

    def solve(self, prepared: Any) -> Any:
        return self._solver.solve(self._problem, prepared).q
