# SPDX-License-Identifier: Apache-2.0
"""Robotics Toolbox for Python: `ik_LM`, Levenberg-Marquardt in C++."""

from __future__ import annotations

from typing import Any

import roboticstoolbox
from roboticstoolbox.models.URDF.URDFRobot import URDF_file

from .base import Adapter, Array, Chain

SEARCHES = 100
TOLERANCE = 1e-13  # of half the squared error, in which metres and radians are added


class Peer(Adapter):
    """Chan's damping, its default; up to 100 searches from random starts."""

    settings = f'ik_LM, chan, slimit={SEARCHES}, ilimit=30, tol={TOLERANCE:g}'

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        links, name, *_ = URDF_file(chain.path)
        robot = roboticstoolbox.Robot(links, name=name)
        self._ets = robot.ets(start=chain.base, end=chain.tip)

    def solve(self, prepared: Any) -> Any:
        goal, q0 = prepared
        return self._ets.ik_LM(goal, q0=q0, ilimit=30, slimit=SEARCHES, tol=TOLERANCE)

    def answer(self, raw: Any) -> Array:
        q: Array = raw[0]
        return q
