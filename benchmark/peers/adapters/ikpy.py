# SPDX-License-Identifier: Apache-2.0
"""ikpy: scipy's bounded least squares over its own kinematics, with differences for a Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np
from ikpy.chain import Chain as IkpyChain

from .base import Adapter, Array, Chain

TOLERANCE = 1e-12


class Peer(Adapter):
    """The whole frame as the target, by its default optimizer."""

    settings = f'least_squares, tol={TOLERANCE:g}, no restarts'

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        self._chain = IkpyChain.from_urdf_file(chain.path, base_elements=[chain.base])
        names = [link.name for link in self._chain.links]
        self._places = [names.index(joint) for joint in chain.joints]
        self._chain.active_links_mask = np.isin(names, chain.joints)

    def prepare(self, goal: Array, q0: Array) -> Any:
        start = np.zeros(len(self._chain.links))
        start[self._places] = q0
        return goal, start

    def solve(self, prepared: Any) -> Any:
        goal, start = prepared
        q = self._chain.inverse_kinematics_frame(
            goal, start, orientation_mode='all', optimizer='least_squares', tol=TOLERANCE
        )
        return q[self._places]
