# SPDX-License-Identifier: Apache-2.0
"""Candidates for the samples of a path: configurations that reach each of them.

If the chain has a closed form, these are all its solutions; with a redundant joint, those at
values of it that are spread over its limits. For other chains searches from scattered starts find
configurations at some samples, the *anchors*, and each is continued from sample to sample, in both
directions, as far as it can be: a track.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..batch.many_targets import ManySolves, scattered_starts
from ..closed_form.cached_form import CachedForm
from ..closed_form.closed_form import ClosedForm
from ..exceptions import UnsupportedProblem
from ..maths.rotations import Array
from ..problem import IkProblem
from ..robot.limits import FULL_TURN
from ..solvers import make_solver
from .graph import Candidates

ANCHORS = 3
STARTS = 96  # searches at an anchor
TRACKS = 32  # most tracks from an anchor
DIFFERENT = 0.05  # [rad or m] tracks whose joints all differ by less at an anchor are one
LARGEST_STEP = 0.5  # [rad or m] of a joint between samples; larger steps are flips
TIGHT = 1e-9  # [m, rad] errors of candidates, if the problem's tolerances allow more


def usable_form(problem: IkProblem, start: Array) -> ClosedForm | None:
    """The closed form of a problem if it is fast enough for paths; else None."""
    known: CachedForm | None = problem.kept_solvers.get('form')
    if known is None or not known.is_for(problem):
        known = problem.kept_solvers['form'] = CachedForm(problem)
    form = known.find(start)
    if form is None:
        return None
    try:
        form.set_frozen_joints(start)
    except UnsupportedProblem:
        return None
    is_slow = form.strategy.by_elimination and form.redundant_joint is not None
    return None if is_slow or form.strategy.is_completed else form


def closed_candidates(
    form: ClosedForm, problem: IkProblem, transforms: Array, start: Array, values: Array | None
) -> Candidates:
    """All solutions for transforms (N, 4, 4), at values (V,) of the redundant joint if it has one.

    start (n,) : values of the joints that the problem does not move
    """
    count = len(transforms)
    if values is None:
        found = form.solve_many(transforms, start)
        each = found.counts
        band = np.zeros(each.sum())
    else:
        targets = np.repeat(transforms, len(values), axis=0)
        found = form.solve_many(targets, start, np.tile(values, count))
        each = found.counts.reshape(count, -1).sum(axis=1)
        band = np.repeat(np.tile(values, count), found.counts)
    kept = np.arange(found.q.shape[1]) < found.counts[:, np.newaxis]
    x = np.ascontiguousarray(found.q[kept][:, problem.variables])
    return Candidates(x, np.concatenate([[0], np.cumsum(each)]), band)


class Continuation:
    """Solutions near given ones, of a problem without what it avoids and secondary tasks."""

    def __init__(self, problem: IkProblem) -> None:
        own = problem.without_avoid()
        own.levels = ()
        own.position_tolerance = min(own.position_tolerance, TIGHT)
        own.orientation_tolerance = min(own.orientation_tolerance, TIGHT)
        self.problem = own
        # one iteration more is cheaper than a search from elsewhere, which would end in a flip
        near = make_solver(restarts=0, closed_form=False)
        self._near = ManySolves(own, near, threads=1)
        self._wide = ManySolves(own, make_solver(closed_form=False), threads=None)

    def near(self, transforms: Array, q: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Solutions (M, n) next to q (M, n) for transforms (M, 4, 4), and which were found (M,).

        A solution with a step above LARGEST_STEP does not count.
        """
        found = self._near.run(np.ascontiguousarray(transforms[:, np.newaxis]), q.copy())
        step = np.abs(found.q - q).max(axis=1, initial=0.0)
        return found.q, found.success & (step <= LARGEST_STEP)

    def scattered(self, transform: Array, start: Array) -> Array:
        """Different solutions (k, n) for a transform (4, 4), by searches from scattered starts."""
        starts, seeds = scattered_starts(self.problem, start, 0, STARTS, 0)
        targets = np.broadcast_to(transform, (STARTS, 1, 4, 4)).copy()
        found = self._wide.run(targets, starts, near=start, seeds=seeds)
        turning = self.problem.limits.turns
        kept: list[Array] = []
        for q in found.q[found.success]:
            gaps = np.reshape(kept, (-1, len(q))) - q
            moving = gaps[:, self.problem.variables]
            moving[:, turning] -= FULL_TURN * np.round(moving[:, turning] / FULL_TURN)
            if (np.abs(moving).max(axis=1, initial=0.0) > DIFFERENT).all():
                kept.append(q)
            if len(kept) == TRACKS:
                break
        return np.reshape(kept, (-1, len(start)))


def continuation(problem: IkProblem) -> Continuation:
    """The problem's `Continuation`, which is kept with it."""
    known: Continuation | None = problem.kept_solvers.get('continuation')
    if known is None:
        known = problem.kept_solvers['continuation'] = Continuation(problem)
    return known


def continued_candidates(
    problem: IkProblem, transforms: Array, start: Array, first: Array | None
) -> Candidates:
    """Tracks for transforms (N, 4, 4), see the module.

    first (n,) : a configuration that reaches the first transform, of a track; or None
    """
    follow, count = continuation(problem), len(transforms)
    anchors = np.unique(np.linspace(0, count - 1, ANCHORS).round().astype(int)).tolist()
    tracks: list[Array] = []
    for anchor in anchors:
        begin = follow.scattered(transforms[anchor], start)
        if anchor == 0 and first is not None:
            begin = np.vstack([first, begin])
        if len(begin):
            track = np.full((count, len(begin), len(start)), np.nan)
            track[anchor] = begin
            _continue(follow, transforms, track, range(anchor + 1, count))
            _continue(follow, transforms, track, range(anchor - 1, -1, -1))
            tracks.append(track)
    if not tracks:
        return Candidates(
            np.empty((0, len(problem.variables))), np.zeros(count + 1, int), np.empty(0)
        )
    q = np.concatenate(tracks, axis=1)
    found = np.isfinite(q[:, :, 0])
    x = np.ascontiguousarray(q[found][:, problem.variables])
    first_of = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    return Candidates(x, first_of, np.zeros(len(x)))


def _continue(follow: Continuation, transforms: Array, track: Array, order: range) -> None:
    """Continue tracks (N, k, n) in place through these samples, as long as each can be."""
    step = order.step
    for i in order:
        alive = np.isfinite(track[i - step, :, 0]).nonzero()[0]
        if not len(alive):
            return
        before = track[i - step, alive]
        targets = np.broadcast_to(transforms[i], (len(alive), 4, 4))
        q, found = follow.near(targets, before)
        track[i, alive[found]] = q[found]


def redundancy_grid(form: ClosedForm, count: int) -> Array:
    """Values (count,) of the redundant joint, spread over its limits."""
    low, high = form.redundancy_range
    is_circle = math.isclose(high - low, FULL_TURN)
    return np.linspace(low, high, count, endpoint=not is_circle)
