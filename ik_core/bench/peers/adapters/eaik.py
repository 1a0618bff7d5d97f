"""EAIK: closed forms by subproblem decomposition, in C++."""

from __future__ import annotations

from typing import Any

import numpy as np
from eaik.IK_HP import HPRobot

from .base import Array, Chain, ClosedForm
from .exponentials import axes_and_offsets


class Peer(ClosedForm):
    """All solutions; those of least squares come last."""

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        axes, offsets, self._rotation = axes_and_offsets(chain)
        self._robot = HPRobot(axes, offsets)
        if not self._robot.hasKnownDecomposition():
            raise NotImplementedError('no closed form for this arm')
        self.settings = f'{self._robot.getKinematicFamily()}, all solutions'

    def prepare(self, goal: Array, q0: Array) -> Any:
        pose = goal.copy()
        pose[:3, :3] = goal[:3, :3] @ self._rotation.T
        return pose

    def solve(self, prepared: Any) -> Any:
        found = self._robot.IK(prepared)
        return found.Q, found.is_LS

    def answer(self, raw: Any) -> Any:
        solutions, inexact = raw
        return super().answer([solutions[i] for i in np.argsort(inexact, kind='stable')])
