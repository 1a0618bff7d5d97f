"""A layout ready for use: with the arrays that the kernels read and write."""

from __future__ import annotations

import numpy as np

from ..maths.rotations import Array
from ..robot.limits import JointLimits
from ..tasks.packing import PackedGoals
from . import judging
from .chain import Chain
from .judging import EXACT
from .layouts import Layout

MARGIN = 10.0
"""So many tolerances away from the goal a joint vector is followed to a solution."""
NEARLY_MARGIN = 0.1
"""That distance [m, rad] for chains that only nearly are what the layout needs."""


class Way:
    """A way to solve a chain: what `propose` found last is in `q` (rows, variables), `kinds`.

    `is_exact`: whether trials needed no following. `count`: how many were found last. `is_sure`:
    whether these are all there are, where nothing was followed.
    """

    def __init__(self, chain: Chain, layout: Layout, tolerance: float) -> None:
        count, variables = len(layout.rows), int(chain.variables.max()) + 1
        self.layout, self._integers = layout, layout.integers
        self.margin = MARGIN * tolerance if layout.deviation <= EXACT else NEARLY_MARGIN
        self._links = np.array([np.full(count, -1), np.zeros(count, int)])
        self._scales = np.array([np.ones(count), np.zeros(count)])
        for i, joint in enumerate(layout.joints):
            if joint >= 0:
                self._links[:, i] = chain.variables[joint], chain.slides[joint]
                self._scales[:, i] = chain.signs[joint], chain.offsets[joint]
        self.is_exact, self.is_sure, self.count = False, True, 0
        self.x = np.empty(variables)
        self.q = np.empty((judging.MOST_FOUND, variables))
        self.kinds = np.empty(judging.MOST_FOUND, np.int64)
        self._memory = (
            np.empty(variables), np.empty((6, 6)), np.empty(6, np.int64), np.empty(count),
            np.empty(6), np.empty(8), np.empty((8, 3)), np.empty((8, 6)), self.q, self.kinds,
        )  # fmt: skip

    @property
    def held(self) -> int | None:
        """The variable that is held."""
        if self.layout.held < 0:
            return None
        return int(self._links[judging.VARIABLE, self.layout.held])

    def propose(
        self,
        packed: PackedGoals,
        limits: JointLimits,
        poses: Array,
        held: float = 0.0,
        guess: float = np.nan,
        margin: float | None = None,
    ) -> int:
        """See `judging.propose`; the start is `x`. `held`: the value of the held variable."""
        poses[judging.TARGET] = packed.targets[0]
        return judging.propose(
            self._integers, self.layout.rows, self._links, self._scales,
            self._value_of_held(held), guess,
            self.margin if margin is None else margin, packed.tree, packed.geometry,
            packed.frames, poses, limits.packed, self.x, *self._memory,
        )  # fmt: skip

    def _value_of_held(self, held: float) -> float:
        """Where the joint that is held stands for a value of its variable."""
        if self.layout.held < 0:
            return held
        sign, offset = self._scales[:, self.layout.held]
        return float(sign * held + offset)
