# SPDX-License-Identifier: Apache-2.0
"""The best sequence of solutions along a path: a dynamic programme over candidates.

The *candidates* of a sample are configurations that reach it. Two candidates of neighbouring
samples are joined if no joint moves by more than its largest step; anything else is a
*reconfiguration*. The best sequence has the fewest reconfigurations; of those the least of the
largest speeds, each as a fraction of its joint's limit; of those the least travel. The least
largest speed is found first, and then the least travel of all sequences that are not faster.

Whole turns are no candidates of their own: a label has, for each joint, the interval of whole
turns by which all candidates since the last reconfiguration can be shifted inside the limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array, IntArray
from ..robot.limits import FULL_TURN, JointLimits
from .kernels import join

UNLIMITED = 1e6  # whole turns of a joint without limits
ROUNDING = 1e-9  # [rad or m] beyond limits; relative, of speeds that count as equal


@dataclass(frozen=True, eq=False)
class Candidates:
    """Configurations x (M, v) that reach the samples of a path, sample by sample.

    first (N + 1,) : x[first[i] : first[i + 1]] are those of sample i
    band (M,) : values of the redundancy parameter, rising in each sample; 0 without one, NaN for
        a candidate that may be joined with all
    """

    x: Array
    first: IntArray
    band: Array

    @property
    def counts(self) -> IntArray:
        """The number of candidates (N,) of each sample."""
        return np.diff(self.first)

    def chosen(self, kept: NDArray[np.bool_]) -> Candidates:
        """Return the candidates that a mask (M,) keeps."""
        first = np.concatenate([[0], np.cumsum(kept)])[self.first]
        return Candidates(self.x[kept], first, self.band[kept])

    def replaced(self, sample: int, x: Array) -> Candidates:
        """The same with one candidate (v,) for a sample; it may join all bands."""
        begin, end = self.first[sample], self.first[sample + 1]
        first = self.first.copy()
        first[sample + 1 :] += 1 - (end - begin)
        rows = np.concatenate([self.x[:begin], x[np.newaxis], self.x[end:]])
        band = np.concatenate([self.band[:begin], np.array([math.nan]), self.band[end:]])
        return Candidates(rows, first, band)


@dataclass(frozen=True, eq=False)
class Sequence:
    """A sequence of candidates, one for each of the samples 0 to N - 1.

    x (N, v) : configurations with whole turns continued, inside the limits
    nodes (N,) : indices of the candidates
    breaks (k,) : samples that a reconfiguration leads to
    done (N,) : for each sample, the fewest reconfigurations that lead to it
    """

    x: Array
    nodes: IntArray
    breaks: IntArray
    done: IntArray


def best_sequence(
    candidates: Candidates,
    limits: JointLimits,
    most: Array,
    rates: Array,
    *,
    near: Array | None = None,
    fixed: NDArray[np.bool_] | None = None,
    reach: float = math.inf,
    apart: Array | None = None,
) -> Sequence:
    """Find the best sequence, see the module. Every sample has candidates.

    most (N - 1, v) : largest steps [rad or m] of a joint from sample to sample
    rates (N - 1, v) : 1 / the step that a joint makes at its largest speed
    near (v,) : where to begin: of the sequences with the fewest reconfigurations only those that
        begin nearest to it count
    fixed (M,) : candidates that whole turns may not shift
    reach : largest difference of the bands of joined candidates
    apart (k, 2) : pairs of candidates that must not be joined
    """
    x, first, n = candidates.x, candidates.first, len(limits.lower)
    turning = limits.turns.astype(np.int64)
    ranges = _ranges(x, limits)
    if fixed is not None:
        ranges[fixed] = 0.0
    pairs = np.empty((0, 2), np.int64)
    if apart is not None:
        pairs = np.ascontiguousarray(apart, np.int64)
    counts, parents = np.empty(len(x), np.int64), np.empty(len(x), np.int64)
    costs, boxes = np.empty(len(x)), np.empty((len(x), 2 * n))
    final = slice(first[-2], first[-1])

    def label(start: Array, rates: Array, fastest: float, travels: bool) -> float:
        """Label all candidates; return the cost of the best sequence."""
        join(
            first, x, candidates.band, most, rates, turning, ranges, pairs, start, reach, fastest,
            travels, counts, costs, boxes, parents,
        )  # fmt: skip
        return float(costs[first[-2] + _least(counts[final], costs[final])])

    start = np.zeros(first[1])
    if near is not None:
        gaps = np.linalg.norm(_nearest(x[: first[1]], near, ranges[: first[1]]) - near, axis=1)
        start[gaps > label(gaps, 0.0 * rates, math.inf, False)] = math.inf
    fastest = label(start, rates, math.inf, False) * (1.0 + ROUNDING)
    done = np.minimum.reduceat(counts, first[:-1])
    label(start, rates, fastest, True)
    last = first[-2] + _least(counts[final], costs[final])
    nodes = np.empty(len(first) - 1, np.int64)
    for i in range(len(nodes) - 1, -1, -1):
        nodes[i] = last
        last = parents[last]
    breaks = np.flatnonzero(np.diff(counts[nodes])) + 1
    points = x[nodes].copy()
    _continue_turns(points, breaks, boxes[nodes], turning, near)
    return Sequence(points, nodes, breaks, done)


def _least(counts: IntArray, costs: Array) -> int:
    """The index of the label with the least count, and of those the least cost."""
    return int(np.lexsort((costs, counts))[0])


def _ranges(x: Array, limits: JointLimits) -> Array:
    """The least and the most whole turns (M, 2 v) that keep candidates inside the limits."""
    turning = limits.turns
    with np.errstate(invalid='ignore', over='ignore'):
        low = np.ceil((limits.lower - ROUNDING - x) / FULL_TURN)
        high = np.floor((limits.upper + ROUNDING - x) / FULL_TURN)
    low = np.where(turning, np.maximum(low, -UNLIMITED), 0.0)
    high = np.where(turning, np.minimum(high, UNLIMITED), 0.0)
    return np.ascontiguousarray(np.hstack([low, high]))


def _nearest(x: Array, to: Array, boxes: Array) -> Array:
    """Candidates (k, v), shifted by whole turns in boxes (k, 2 v) next to a configuration (v,)."""
    n = len(to)
    turns = np.clip(np.round((to - x) / FULL_TURN), boxes[:, :n], boxes[:, n:])
    return x + FULL_TURN * turns


def _continue_turns(
    x: Array, breaks: IntArray, boxes: Array, turning: IntArray, near: Array | None
) -> None:
    """Shift the configurations x (N, v) in place by whole turns, so that no joint leaps.

    Each run without reconfigurations begins next to where the one before ends, the first next to
    `near` or, without it, in the middle of what its limits allow.
    """
    n, ends = x.shape[1], [*breaks.tolist(), len(x)]
    previous = near
    for begin, stop in zip([0, *ends[:-1]], ends, strict=True):
        steps = np.round((x[begin : stop - 1] - x[begin + 1 : stop]) / FULL_TURN) * turning
        gained = np.vstack([np.zeros(n), np.cumsum(steps, axis=0)])
        low, high = boxes[stop - 1, :n] - gained[-1], boxes[stop - 1, n:] - gained[-1]
        turns = np.round(0.5 * (low + high))
        if previous is not None:
            turns = np.round((previous - x[begin]) / FULL_TURN)
        turns = np.clip(turns * turning, low, high)
        x[begin:stop] += FULL_TURN * (gained + turns)
        previous = x[stop - 1]
