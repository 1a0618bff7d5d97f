# SPDX-License-Identifier: Apache-2.0
"""Poses of links by pinocchio, if that is installed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .expected_limits import Array

try:
    import pinocchio
except ImportError:
    pinocchio = None


class Poses:
    """The poses of the links of a description; joints that mimic are joints of their own."""

    def __init__(self, text: str) -> None:
        self._model = pinocchio.buildModelFromXML(text)
        self._data = self._model.createData()

    def pose(self, positions: Mapping[str, float], link: str) -> Array:
        """Return the pose of a link (4, 4) in the root's frame; joints without a position are at
        0."""
        q = pinocchio.neutral(self._model)
        for name, joint in zip(self._model.names, self._model.joints, strict=True):
            x = positions.get(name, 0.0)
            if name in positions and joint.nq == 2:  # one that turns for ever
                q[joint.idx_q : joint.idx_q + 2] = np.cos(x), np.sin(x)
            elif name in positions:
                q[joint.idx_q] = x
        pinocchio.framesForwardKinematics(self._model, self._data, q)
        frame = self._model.getFrameId(link, pinocchio.BODY)
        return np.array(self._data.oMf[frame].homogeneous)


def apart(pose: Array, goal: Array) -> tuple[float, float]:
    """The distance [m] and the angle [rad] between two poses (4, 4)."""
    turn = pinocchio.log3(pose[:3, :3].T @ goal[:3, :3])
    return float(np.linalg.norm(goal[:3, 3] - pose[:3, 3])), float(np.linalg.norm(turn))
