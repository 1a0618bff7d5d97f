# SPDX-License-Identifier: Apache-2.0
"""EAIK: closed forms by subproblem decomposition, in C++."""

from __future__ import annotations

from typing import Any

import numpy as np
from eaik.IK_HP import HPRobot

from .base import Array, Chain, ClosedForm
from .exponentials import axes_and_offsets


class Peer(ClosedForm):
    """All solutions that are exact."""

    def __init__(self, chain: Chain, choose: bool) -> None:
        super().__init__(chain, choose)
        axes, offsets, self._rotation = axes_and_offsets(chain)
        self._robot = HPRobot(axes, offsets)
        if not self._robot.hasKnownDecomposition():
            raise NotImplementedError('no closed form for this arm')
        self.settings = f'{self._robot.getKinematicFamily()}, {self.extent}'

    def prepare(self, goal: Array, q0: Array) -> Any:
        pose = goal.copy()
        pose[:3, :3] = goal[:3, :3] @ self._rotation.T
        return pose, q0

    def solutions(self, prepared: Any) -> Any:
        found = self._robot.IK(*prepared)
        return found.Q, found.is_LS

    def as_array(self, found: Any) -> Array:
        solutions, inexact = found
        return np.reshape(solutions, (-1, 6))[~np.array(inexact, bool)]
