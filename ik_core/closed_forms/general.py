"""A way to solve six joints of any geometry, by eigenvalues: ready for use as any other."""

from __future__ import annotations

import numpy as np

from ..maths.rotations import Array, transform_of
from ..robot.limits import TURN, JointLimits
from ..tasks.packing import PackedGoals
from . import judging
from .chain import Chain, motion_of
from .elimination import CUTS, Elimination
from .layouts import GENERAL, Layout
from .polish import Six
from .way import Way

TRIALS = 4
"""Random configurations that a cut of the loop is tried with."""
LEAST_ACCURATE = 1e-4
"""A cut that misses these by more [rad, m], the median of them, is none."""
SOLVED = 1e-10
"""Errors [m, rad] of a candidate that has become a solution."""
DOUBTFUL = 1e-4
"""Imaginary part of an angle [rad] below which a candidate should have become one."""
MOVED = 1e-2
"""A candidate that moves farther [rad, m] while it becomes one, may have become another one."""


class NoCut(Exception):
    """Every way to cut a loop leads to singular matrices."""


class GeneralWay(Way):
    """As `Way`, by an elimination. `is_sure`: whether what `propose` found last is all there is:
    no matrix was singular, and every candidate has become a solution of its own.

    The cut of the loop that is used is the most accurate one in trials. Raises `NoCut` where there
    is none.
    """

    def __init__(self, chain: Chain, layout: Layout, tolerance: float) -> None:
        super().__init__(chain, layout, tolerance)
        self._joints = [i for i in range(len(layout.rows)) if i != layout.held]
        self._rows = layout.rows
        self._slides = self._links[judging.SLIDES].astype(bool)
        self._cut = self._best_cut()
        self._stood = 0.0
        self._parts = self._at(0.0, self._cut)
        self.is_sure = True

    def propose(
        self,
        packed: PackedGoals,
        limits: JointLimits,
        poses: Array,
        held: float = 0.0,
        guess: float = np.nan,
        margin: float | None = None,
    ) -> int:
        """See `judging.propose`; the start is `x`, `guess` is of no use."""
        poses[judging.TARGET] = packed.targets[0]
        target = transform_of(packed.targets[0]) @ transform_of(poses[judging.HOME])
        held = self._value_of_held(held)
        if held != self._stood:
            self._stood = held
            self._parts = self._at(held, self._cut)
        found = self._found(target @ self._parts[2])
        return judging.settle(
            self._integers, self._links, self._scales, held,
            self.margin if margin is None else margin, packed.tree, packed.geometry,
            packed.frames, poses, limits.packed, self.x, self._memory[0], found, len(found),
            self.q, self.kinds,
        )  # fmt: skip

    def _found(self, target: Array) -> Array:
        """The solutions (k, 6) of the six joints, and what nearly is one."""
        elimination, six, _ = self._parts
        candidates = elimination.candidates(target)
        values = candidates.values
        six.complete(values, elimination.last, target)
        before = values.copy()
        errors = six.polish(values, target)
        solved = errors <= SOLVED
        moved = np.abs(values - before).max(axis=1) > MOVED
        self.is_sure = candidates.is_regular and not bool(
            ((~solved | moved) & (candidates.imaginary < DOUBTFUL)).any()
        )
        return values[errors <= max(self.margin, SOLVED)][: judging.MOST_FOUND]

    def _at(self, held: float, cut: tuple[bool, int]) -> tuple[Elimination, Six, Array]:
        """What solves the six joints while one is held, and what its target is multiplied by."""
        rows, hold = self._rows, self.layout.held
        back: Array = np.eye(4)
        if hold >= 0:
            turn = motion_of(rows[hold], held, bool(self._slides[hold]))
            rows, back = rows.copy(), np.asarray(np.linalg.inv(turn), float)
            rows[hold:, :3] = rows[hold:, :3] @ turn[:3, :3].T
            rows[hold:, 3:] = rows[hold:, 3:] @ turn[:3, :3].T + turn[:3, 3]
        rows, slides = rows[self._joints], self._slides[self._joints]
        return Elimination(rows, slides, cut), Six(rows, slides), back

    def _best_cut(self) -> tuple[bool, int]:
        """The most accurate way to cut the loop."""
        rng = np.random.default_rng(0)
        values = rng.uniform(-3.0, 3.0, (TRIALS, 7))
        values[:, self._slides[self._joints].nonzero()[0]] /= 3.0
        errors = np.array([[self._error(one, cut) for one in values] for cut in CUTS])
        best = int(errors.max(axis=1).argmin())
        if np.median(errors[best]) > LEAST_ACCURATE:
            raise NoCut
        return CUTS[best]

    def _error(self, values: Array, cut: tuple[bool, int]) -> float:
        """How far the nearest candidate is from six joint values that it should be."""
        elimination, six, _ = self._at(values[6], cut)
        target = np.eye(4)
        for motion in six.motions(values[None, :6])[0]:
            target = target @ motion
        found = elimination.candidates(target).values
        six.complete(found, elimination.last, target)
        gaps = found - values[:6]
        gaps[:, ~six.slides] -= TURN * np.round(gaps[:, ~six.slides] / TURN)
        return float(np.abs(gaps).max(axis=1).min(initial=1.0))


def make_way(chain: Chain, layout: Layout, tolerance: float) -> Way | None:
    """The way of a layout; None where it turns out to be none."""
    if layout.kind != GENERAL:
        return Way(chain, layout, tolerance)
    try:
        return GeneralWay(chain, layout, tolerance)
    except NoCut:
        return None
