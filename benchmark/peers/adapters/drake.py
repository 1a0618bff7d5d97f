# SPDX-License-Identifier: Apache-2.0
"""Drake: `InverseKinematics`, a nonlinear program solved by SNOPT."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydrake.math import RigidTransform
from pydrake.multibody.inverse_kinematics import InverseKinematics
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.solvers import SnoptSolver, SolverOptions

from .base import Adapter, Array, Chain

RESTARTS = 20
TOLERANCE = 1e-7
POINTS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


class Peer(Adapter):
    """Three points of the tip as constraints: those on angles are cosines, good to 1e-4 rad only.

    The program is built for each goal, as it must be: that is part of the time.
    """

    settings = f'SNOPT, three points within {TOLERANCE:g} m, {RESTARTS} restarts'

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        self._plant = MultibodyPlant(0.0)
        Parser(self._plant).AddModels(chain.path)
        self._plant.WeldFrames(
            self._plant.world_frame(), self._plant.GetFrameByName(chain.base), RigidTransform()
        )
        self._plant.Finalize()
        self._tip = self._plant.GetFrameByName(chain.tip)
        self._snopt, self._options = SnoptSolver(), SolverOptions()
        for name in ('Major feasibility tolerance', 'Minor feasibility tolerance'):
            self._options.SetOption(self._snopt.solver_id(), name, TOLERANCE)

    def prepare(self, goal: Array, q0: Array) -> Any:
        return POINTS @ goal[:3, :3].T + goal[:3, 3], q0

    def solve(self, prepared: Any) -> Any:
        places, q0 = prepared
        world = self._plant.world_frame()
        problem = InverseKinematics(self._plant)
        for point, place in zip(POINTS, places, strict=True):
            problem.AddPositionConstraint(
                self._tip, point, world, place - TOLERANCE, place + TOLERANCE
            )
        for start in self.starts(q0, RESTARTS):
            found = self._snopt.Solve(problem.prog(), start, self._options)
            if found.is_success():
                break
        return found.GetSolution(problem.q())
