# SPDX-License-Identifier: Apache-2.0
"""The problems, made once for all peers, and the judge of their answers: pinocchio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ik_core.maths.rotations import Array

from .adapters.base import Chain

NEAR = 0.2  # Distance of the start of a `near` problem from a solution, per joint [rad]
# Answers that overstep a limit by no more [rad] are moved back onto it before they count
OVERSTEP = 1e-5
SEED = 0


class Judge:
    """The true errors of an answer, by pinocchio's forward kinematics of the chain."""

    def __init__(self, chain: Chain) -> None:
        import pinocchio  # the only one who needs it

        self._pin = pinocchio
        self._model = pinocchio.buildModelFromUrdf(chain.path)
        self._data = self._model.createData()
        self._tip = self._model.getFrameId(chain.tip)
        assert list(self._model.names)[1:] == chain.joints
        self._lower, self._upper = np.array(chain.lower), np.array(chain.upper)

    def pose(self, q: Array) -> Array:
        """The tip (4, 4) in the base's frame."""
        self._pin.framesForwardKinematics(self._model, self._data, q)
        return np.array(self._data.oMf[self._tip].homogeneous)

    def errors(self, q: Any, goal: Array) -> tuple[float, float]:
        """The position error [m] and the angle [rad]; infinite for no answer or one outside."""
        q = np.array([] if q is None else q, float)
        if q.shape != self._lower.shape or not np.isfinite(q).all():
            return np.inf, np.inf
        inside = np.clip(q, self._lower, self._upper)
        if np.abs(q - inside).max() > OVERSTEP:
            return np.inf, np.inf
        pose = self.pose(inside)
        chord = np.linalg.norm(pose[:3, :3] - goal[:3, :3]) / np.sqrt(8.0)
        angle = 2.0 * np.arcsin(min(chord, 1.0))
        return float(np.linalg.norm(pose[:3, 3] - goal[:3, 3])), float(angle)


@dataclass(frozen=True)
class Problems:
    """Goals (N, 4, 4) and starts (N, n) of one set."""

    goals: Array
    starts: Array


def make_problems(chain: Chain, judge: Judge, count: int) -> dict[str, Problems]:
    """`random`: reachable goals from random starts; `near`: from starts beside a solution."""
    rng = np.random.default_rng(SEED)
    lower, upper = np.array(chain.lower), np.array(chain.upper)
    shape = (count, len(lower))
    solutions, starts = rng.uniform(lower, upper, shape), rng.uniform(lower, upper, shape)
    near = np.clip(solutions + rng.uniform(-NEAR, NEAR, shape), lower, upper)
    goals = np.array([judge.pose(q) for q in solutions])
    return {'random': Problems(goals, starts), 'near': Problems(goals, near)}
