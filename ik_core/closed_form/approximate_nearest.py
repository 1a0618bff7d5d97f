# SPDX-License-Identifier: Apache-2.0
"""The solution nearest to a start for seven joints that nearly have formulas, in milliseconds.

Calibrated arms, and arms with small offsets in wrist or shoulder, have solutions close to those of
an idealised chain (`idealised_chain`). Formulas find all of the latter, at many values of the
redundancy parameter. Those nearest to the start are refined to solutions of the chain itself, and
then moved along its self-motion to the point nearest to the start.

The result is not certain to be the nearest: at the edge of the reach or near a singularity the
idealised chain may have no solution close to one of the chain itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..maths.rotations import Array, IntArray
from ..robot.limits import JointLimits
from ..tasks.packing import PackedGoals
from .batch import solve_chunks
from .chain import Chain
from .idealised_chain import idealised_chains
from .kernel import EXACT
from .refinement import follow
from .workspace import Workspace

IDEALISED_SAMPLES = 180  # Values of the idealised chain's redundancy parameter
LIMIT_ALLOWANCE = 0.15  # Solutions of the idealised chain may violate limits by this much [rad]
# Solutions closer than SAME [rad] in every joint count as one; at most MOST are refined.
SAME, MOST = 0.2, 40
# Solutions further from the start than the best one by more than this [rad] are skipped.
BEHIND = 0.5
STEPS, LONGEST = 30, 0.2  # Number of steps along the self-motion, and the longest of them [rad]
SHORTEST, SHRINKING = 1e-7, 0.3
# Least curvature of half the squared distance along the self-motion; it is 1.0 where the
# self-motion is straight.
LEAST_BEND = 0.02


class ApproximateNearest:
    """A chain of seven joints, and the formulas of the chain that it nearly is.

    scratch: arrays for `refinement.follow`
    """

    def __init__(
        self,
        ideal: Workspace,
        values: Array,
        packed: PackedGoals,
        limits: JointLimits,
        scratch: tuple[Array, Array, Array],
    ) -> None:
        self._ideal, self._values = ideal, values
        self._packed, self._limits, self._scratch = packed, limits, scratch

    def best(self, start: Array) -> Array | None:
        """Return the nearest solution q (n,) found for the packed targets, or None."""
        s, best, least = start[self._packed.variables], None, np.inf
        for x, gap in self._proposed(start):
            if gap > least + BEHIND:
                break
            if self._follow(x) <= EXACT:
                x = self._nearer(x, s)
                gap = float(np.linalg.norm(x - s))
                if gap < least:
                    best, least = x, gap
        if best is None:
            return None
        q = start.copy()
        q[self._packed.variables] = best
        return q

    def _proposed(self, start: Array) -> Iterator[tuple[Array, float]]:
        """Yield points (variables,) that may lead to solutions, with their distances to the start:
        first the start itself, then the solutions of the idealised chain, nearest first."""
        s = start[self._packed.variables]
        yield s.copy(), 0.0
        frames = np.repeat(self._packed.targets, len(self._values), axis=0)
        q, counts = solve_chunks(self._ideal, frames, start[np.newaxis], self._values, 1, None)
        points = q[np.arange(q.shape[1]) < counts[:, np.newaxis]][:, self._packed.variables]
        gaps = np.linalg.norm(points - s, axis=1)
        order = gaps.argsort(kind='stable')
        points, gaps = points[order], gaps[order]
        for _ in range(MOST):
            if not len(points):
                return
            yield points[0].copy(), float(gaps[0])
            others = np.abs(points - points[0]).max(axis=1) > SAME
            points, gaps = points[others], gaps[others]

    def _follow(self, x: Array) -> float:
        """Refine x (variables,) to a solution nearby inside the limits; return its error."""
        scratch = self._packed.residual, *self._scratch
        return follow(self._packed.arrays, self._limits.packed, -1, x, *scratch)

    def _nearer(self, x: Array, start: Array) -> Array:
        """Follow the self-motion from x towards the start; return the nearest solution
        (variables,)."""
        bend, before = 1.0, None
        for _ in range(STEPS):
            direction = self._self_motion(x)
            slope = float((x - start) @ direction)
            if before is not None:
                moved = float((x - before[0]) @ direction)  # the direction may be reversed
                change = slope - float(np.copysign(before[2], before[1] @ direction * before[2]))
                if abs(moved) > SHORTEST and change / moved > LEAST_BEND:
                    bend = change / moved
            step = float(np.clip(-slope / bend, -LONGEST, LONGEST))
            following = self._downhill(x, step * direction, start)
            if following is None:
                break
            before, x = (x, direction, slope), following
        return x

    def _self_motion(self, x: Array) -> Array:
        """Return the unit direction (variables,) that leaves the goal's frame where it is."""
        self._packed.update(x)
        return np.asarray(np.linalg.svd(self._packed.jacobian())[2][-1], float)

    def _downhill(self, x: Array, step: Array, start: Array) -> Array | None:
        """Take a step of at most this length towards the start; return the solution, or None."""
        gap, length = float(np.linalg.norm(x - start)), float(np.linalg.norm(step))
        while length > SHORTEST:
            following = x + step
            if self._follow(following) <= EXACT and np.linalg.norm(following - start) < gap:
                return following
            step, length = SHRINKING * step, SHRINKING * length
        return None


def approximate_nearest(
    chain: Chain,
    packed: PackedGoals,
    limits: JointLimits,
    joints: IntArray,
    n: int,
    scratch: tuple[Array, Array, Array],
) -> ApproximateNearest | None:
    """Return a search of the nearest solution for a chain of seven joints that nearly has
    formulas.

    None without such formulas, and for chains with prismatic joints. joints (7,): the columns of
    the chain's joints in q (n,). limits: of the variables.
    """
    wide = JointLimits(limits.lower - LIMIT_ALLOWANCE, limits.upper + LIMIT_ALLOWANCE)
    for ideal in idealised_chains(chain):
        for strategy in ideal.strategies():
            if strategy.by_elimination or strategy.redundant < 0 or strategy.deviation > EXACT:
                continue
            j = chain.variables[strategy.redundant]
            values = np.linspace(limits.sample_lower[j], limits.sample_upper[j], IDEALISED_SAMPLES)
            workspace = Workspace(ideal, strategy, wide, joints, n, EXACT)
            return ApproximateNearest(workspace, values, packed, limits, scratch)
    return None
