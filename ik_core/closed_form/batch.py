# SPDX-License-Identifier: Apache-2.0
"""All solutions of many poses: results, checks of arguments, and threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..chunks import Progress, Work, checked_threads, parallel_for
from ..display import counted
from ..exceptions import InvalidConfiguration
from ..kernels.jit import COMPILED
from ..maths.argument_types import VectorLike
from ..maths.rotations import (
    Array,
    IntArray,
)
from .kernel import BY_START, solve_poses
from .records import SLOTS
from .workspace import Workspace, memory

# Poses between two returns to the interpreter: few, so that Ctrl-C soon ends a batch.
CHUNK = 512 if COMPILED else 8


@dataclass(frozen=True, eq=False)
class ManySolutions:
    """All solutions of N poses; `many[i]` (k, n) are those of one, nearest to its start first.

    `q` (N, most, n): all in one array, padded with NaN. `counts` (N,): number of solutions of each
    pose. `certain` (N,) bool: whether they are certainly all, see `ClosedForm`.
    """

    q: Array
    counts: IntArray
    certain: NDArray[np.bool_]

    def __repr__(self) -> str:
        solved, found = int((self.counts > 0).sum()), int(self.counts.sum())
        poses = counted(len(self), 'pose')
        return f'<ManySolutions: {poses}, {solved:,} solved, {found:,} solutions>'

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, i: int) -> Array:
        return self.q[i, : self.counts[i]]

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))


def redundancy_values(redundancy: float | VectorLike, count: int) -> Array:
    """Return the values of the redundant joint, (1,) for all or (N,). Raises
    InvalidConfiguration."""
    try:
        values = np.atleast_1d(np.ascontiguousarray(redundancy, float))
    except (TypeError, ValueError) as error:
        raise InvalidConfiguration(
            f'redundancy = {redundancy!r} is no position of a joint'
        ) from error
    if values.shape not in {(1,), (count,)}:
        raise InvalidConfiguration(
            f'redundancy has shape {values.shape}; a number or ({count},) is needed'
        )
    if not np.isfinite(values).all():
        bad = np.argmin(np.isfinite(values))
        raise InvalidConfiguration(f'redundancy is not finite at {bad}')
    return values


def solve_chunks(
    workspace: Workspace,
    frames: Array,
    starts: Array,
    values: Array,
    threads: int | None,
    progress: Progress | None,
) -> tuple[Array, IntArray]:
    """Return q (N, SLOTS, n) and counts (N,), which are -1 for poses with near-solutions.

    frames (N, 12), starts (N, n) and values (N,) of the redundant joint; one row serves all.
    """
    count, n = len(frames), starts.shape[1]
    starts, values = np.ascontiguousarray(starts), np.ascontiguousarray(values)
    q = np.empty((count * SLOTS, n))
    counts = np.full(count, -1)

    def worker(k: int) -> Work:
        own = workspace.arrays(memory(), frames, starts, values, q, np.empty(SLOTS), counts)

        def work(first: int, last: int) -> None:
            solve_poses(own.address, first, last, BY_START)

        return work

    parallel_for(count, CHUNK, checked_threads(threads), worker, progress)
    return q.reshape(count, SLOTS, n), counts
