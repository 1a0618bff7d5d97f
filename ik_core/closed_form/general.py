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
SINGULAR = 1e-6
"""Solutions with a smaller singular value of the Jacobian, as a share of the largest, may be some
of infinitely many."""
DOUBTFUL = 1e-4
"""Imaginary part of an angle [rad] below which a candidate should have become one."""
NUDGES = [
    motion_of(np.array([0.48, -0.6, 0.64, *point]), angle, False)
    for angle, point in ((1e-4, (0.3, -0.7, 0.2)), (-1e-3, (-0.4, 0.1, 0.6)))
]
"""Small motions (4, 4) in directions that are special to no arm: from where matrices are singular
to where they are not, and solutions are still beside those looked for."""
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
        self._cuts = self._good_cuts()
        self._stood, self._parts = np.nan, (Six(np.zeros((6, 6)), np.zeros(6, bool)), np.eye(4))
        self._eliminations: list[Elimination] = []

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
            self._stood, self._parts, self._eliminations = held, self._at(held), []
        found = self._found(target @ self._parts[1])
        return judging.settle(
            self._integers, self._links, self._scales, held,
            self.margin if margin is None else margin, packed.tree, packed.geometry,
            packed.frames, poses, limits.packed, self.x, self._memory[0], found, len(found),
            self.q, self.kinds,
        )  # fmt: skip

    def _found(self, target: Array) -> Array:
        """The solutions (k, 6) of the six joints, and what nearly is one.

        By the best cut; where that is not sure, by the others as well, and from poses beside it:
        one singular solution makes matrices singular that all regular ones come from. It may be
        one of infinitely many that take the places of others: nothing is sure beside it.
        """
        found = np.empty((0, 6))
        for i in range(len(self._cuts)):
            values, errors, self.is_sure = self._by_cut(i, target)
            values = values[errors <= max(self.margin, SOLVED)]
            found = np.vstack([found, _new_ones(values, found)])
            if self.is_sure and (self._parts[0].regularity(found) > SINGULAR).all():
                return found
        self.is_sure = False
        beside = [self._beside(target @ nudge) for nudge in NUDGES]
        for values in (self._start(), *beside):  # the start may be one of infinitely many
            errors = self._parts[0].polish(values, target)
            found = np.vstack([found, _new_ones(values[errors <= SOLVED], found)])
        order = (-self._parts[0].regularity(found)).argsort(kind='stable')
        return found[order]  # of infinitely many, there may be more than there is room for

    def _beside(self, target: Array) -> Array:
        """Solutions (k, 6) for a pose beside the one where matrices are singular."""
        values, errors, _ = self._by_cut(0, target)
        return values[errors <= SOLVED]

    def _start(self) -> Array:
        """The values (1, 6) of the six joints at the start."""
        variables = self._links[judging.VARIABLE, self._joints]
        start = np.where(variables < 0, 0.0, self.x[variables])
        signs, offsets = self._scales[:, self._joints]
        return np.asarray(signs * start + offsets, float)[None]

    def _by_cut(self, i: int, target: Array) -> tuple[Array, Array, bool]:
        """Candidates (k, 6) as far as they can be led to solutions, the errors that are left, and
        whether all solutions certainly are among them."""
        six = self._parts[0]
        if i == len(self._eliminations):
            self._eliminations.append(Elimination(six.rows, six.slides, self._cuts[i]))
        candidates = self._eliminations[i].candidates(target)
        values = candidates.values
        six.complete(values, self._eliminations[i].last, target)
        before = values.copy()
        errors = six.polish(values, target)
        doubtful = (errors > SOLVED) | (np.abs(values - before).max(axis=1) > MOVED)
        doubtful &= candidates.imaginary < DOUBTFUL
        return values, errors, candidates.is_regular and not bool(doubtful.any())

    def _at(self, held: float) -> tuple[Six, Array]:
        """The six joints while one is held, and what their target is multiplied by."""
        rows, hold = self._rows, self.layout.held
        back: Array = np.eye(4)
        if hold >= 0:
            turn = motion_of(rows[hold], held, bool(self._slides[hold]))
            rows, back = rows.copy(), np.asarray(np.linalg.inv(turn), float)
            rows[hold:, :3] = rows[hold:, :3] @ turn[:3, :3].T
            rows[hold:, 3:] = rows[hold:, 3:] @ turn[:3, :3].T + turn[:3, 3]
        return Six(rows[self._joints], self._slides[self._joints]), back

    def _good_cuts(self) -> list[tuple[bool, int]]:
        """The ways to cut the loop that are accurate, the most accurate one first."""
        rng = np.random.default_rng(0)
        values = rng.uniform(-3.0, 3.0, (TRIALS, 7))
        values[:, self._slides[self._joints].nonzero()[0]] /= 3.0
        errors = np.array([[self._error(one, cut) for one in values] for cut in CUTS])
        order = errors.max(axis=1).argsort(kind='stable')
        good = [CUTS[i] for i in order if np.median(errors[i]) <= LEAST_ACCURATE]
        if not good:
            raise NoCut
        return good

    def _error(self, values: Array, cut: tuple[bool, int]) -> float:
        """How far the nearest candidate is from six joint values that it should be."""
        six, _ = self._at(values[6])
        elimination = Elimination(six.rows, six.slides, cut)
        target = np.eye(4)
        for motion in six.motions(values[None, :6])[0]:
            target = target @ motion
        found = elimination.candidates(target).values
        six.complete(found, elimination.last, target)
        gaps = found - values[:6]
        gaps[:, ~six.slides] -= TURN * np.round(gaps[:, ~six.slides] / TURN)
        return float(np.abs(gaps).max(axis=1).min(initial=1.0))


def _new_ones(values: Array, known: Array) -> Array:
    """The rows (k, 6) that are not among those known."""
    gaps = np.abs(np.sin(0.5 * (values[:, None] - known[None]))).max(axis=2)
    return values[gaps.min(axis=1, initial=1.0) > judging.SAME]


def make_way(chain: Chain, layout: Layout, tolerance: float) -> Way | None:
    """The way of a layout; None where it turns out to be none."""
    if layout.kind != GENERAL:
        return Way(chain, layout, tolerance)
    try:
        return GeneralWay(chain, layout, tolerance)
    except NoCut:
        return None
