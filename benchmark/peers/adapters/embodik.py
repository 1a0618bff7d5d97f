# SPDX-License-Identifier: Apache-2.0
"""EmbodiK: `solve_position`, repeated velocity steps in C++ over pinocchio."""

from __future__ import annotations

from typing import Any

import embodik
import numpy as np

from .base import Adapter, Array, Chain

TOLERANCE = 1e-6
RESTARTS = 20


class Peer(Adapter):
    """Its own loop with full gains, repeated from random starts where it does not arrive."""

    settings = (
        f'solve_position, MIN_ERROR, dt 0.1, 200 iterations, {RESTARTS} restarts, {TOLERANCE:g}'
    )

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        model = embodik.RobotModel(chain.path)
        self._solver = embodik.KinematicsSolver(model)
        self._options = embodik.PositionIKOptions()
        self._options.max_iterations = 200
        self._options.dt = 0.1
        self._options.primary_solve_mode = embodik.TaskSolveMode.MIN_ERROR
        self._options.stagnation_tolerance = 1e-9  # by default it gives up far from tight
        self._options.position_tolerance = self._options.orientation_tolerance = TOLERANCE

    def prepare(self, goal: Array, q0: Array) -> Any:
        return np.asfortranarray(goal), q0

    def solve(self, prepared: Any) -> Any:
        goal, q0 = prepared
        for start in self.starts(q0, RESTARTS):
            found = self._solver.solve_position(start, goal, self.chain.tip, self._options)
            if found.position_error <= TOLERANCE and found.orientation_error <= TOLERANCE:
                break
        return found.q_solution
