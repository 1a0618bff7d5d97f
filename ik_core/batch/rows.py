# SPDX-License-Identifier: Apache-2.0
"""Conversion of a chunk of a batch: problems to the arrays of kernels, and their answers back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.jit import kernel
from ..kernels.signatures import Array2, Array3, Array4, IntArray1, IntArray2
from ..maths.rotations import Array, IntArray
from ..maths.vectors import copy_to
from ..rules import put_inside


class Answers(NamedTuple):
    """The answers to N problems of a robot with m joints.

    q (N, m), position_errors and orientation_errors (N, G) [m, rad], cost (N,), statuses (N,) as
    codes, counts (4, N) of iterations, evaluations, restarts and abandoned evaluations
    """

    q: Array
    position_errors: Array
    orientation_errors: Array
    cost: Array
    statuses: IntArray
    counts: IntArray

    @classmethod
    def of(cls, count: int, goals: int, joints: int) -> Answers:
        """Empty arrays for the answers to `count` problems."""
        return cls(
            np.empty((count, joints)),
            np.empty((count, goals)),
            np.empty((count, goals)),
            np.empty(count),
            np.empty(count, np.int64),
            np.empty((4, count), np.int64),
        )


@kernel(entry='ik_take_problems')
def take_problems(
    transforms: Array4,
    starts: Array2,
    variables: IntArray1,
    bounds: Array2,
    first: int,
    frames: Array3,
    points: Array2,
) -> None:
    """Write frames (C, G, 12) and points (C, variables) of the C problems from `first` on.

    transforms (N, G, 4, 4), starts (N, joints) : or (1, ...) for all problems
    bounds (2+, variables) : lower and upper limits, which the points are clamped to
    """
    for i in range(points.shape[0]):
        pose = min(first + i, transforms.shape[0] - 1)
        for g in range(frames.shape[1]):
            for row in range(3):
                frames[i, g, 9 + row] = transforms[pose, g, row, 3]
                for column in range(3):
                    frames[i, g, 3 * row + column] = transforms[pose, g, row, column]
        start = min(first + i, starts.shape[0] - 1)
        for j in range(points.shape[1]):
            points[i, j] = starts[start, variables[j]]
        put_inside(points[i], bounds)


@kernel(entry='ik_put_answers')
def put_answers(
    answers: Array2,
    errors: Array3,
    codes: IntArray2,
    starts: Array2,
    variables: IntArray1,
    first: int,
    q: Array2,
    position_errors: Array2,
    orientation_errors: Array2,
    statuses: IntArray1,
    counts: IntArray2,
) -> None:
    """Write the results of C problems into the `Answers` from `first` on.

    answers (C, variables), errors (C, G, 2) of the goals, codes (C, 4) : results of kernels
    starts (N or 1, joints) : values of joints that do not move

    Abandoned evaluations are left to the caller.
    """
    for i in range(answers.shape[0]):
        at = first + i
        copy_to(starts[min(at, starts.shape[0] - 1)], q[at])
        for j in range(answers.shape[1]):
            q[at, variables[j]] = answers[i, j]
        for g in range(errors.shape[1]):
            position_errors[at, g], orientation_errors[at, g] = errors[i, g, 0], errors[i, g, 1]
        statuses[at] = codes[i, 0]
        for c in range(codes.shape[1] - 1):
            counts[c, at] = codes[i, 1 + c]
