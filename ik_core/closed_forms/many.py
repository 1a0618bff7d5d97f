"""All solutions of many poses: the answer, the checks of what is given, and the threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._jit import COMPILED, njit
from ..display import counted
from ..exceptions import InvalidConfiguration, InvalidGoal
from ..maths.rotations import LARGEST, ORTHOGONALITY_TOLERANCE, Array, IntArray, is_rigid
from ..maths.transforms import checked_transform
from ..options import whole_number
from ..robot.robot import Robot
from .plans import Plan, memory
from .regular import solve_poses
from .slots import SLOTS

CHUNK = 512 if COMPILED else 8
"""Poses between two looks at the interpreter: few, so that Ctrl-C ends a batch soon."""

Progress = Callable[[int, int], Any]


@dataclass(frozen=True, eq=False)
class ManySolutions:
    """All solutions of N poses; `many[i]` (k, n) are those of one, nearest to its start first.

    `q` (N, most, n): the same in one array, NaN where a pose has no more. `counts` (N,): how many
    each has. `certain` (N,) bool: whether it certainly has no others, see `ClosedForm`.
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


def frames_of(targets: Any, root: str) -> Array:
    """Targets (N, 4, 4) as frames (N, 12); InvalidGoal names the first that is no rigid transform.

    Or a list of what `ik_core.transform` takes; `root`: the frame that stamped ones have to be in.
    """
    if not isinstance(targets, np.ndarray):
        targets = [checked_transform(one, f'targets[{i}]') for i, one in enumerate(targets)]
    try:
        transforms = np.asarray(targets, float)
    except (TypeError, ValueError) as error:
        raise InvalidGoal(f'targets are not one array of numbers: {error}') from error
    if transforms.ndim != 3 or transforms.shape[1:] != (4, 4):
        raise InvalidGoal(f'targets have shape {transforms.shape}; (N, 4, 4) is needed')
    transforms = np.ascontiguousarray(transforms)
    frames = np.empty((len(transforms), 12))
    wrong = _fill_frames(transforms, frames, LARGEST, ORTHOGONALITY_TOLERANCE)
    if wrong >= 0:
        checked_transform(transforms[wrong], f'targets[{wrong}]')
    return frames


@njit
def _fill_frames(transforms: Array, frames: Array, largest: float, tolerance: float) -> int:
    """frames (N, 12) of transforms (N, 4, 4); the index of the first that is not rigid, or -1."""
    for i in range(transforms.shape[0]):
        if not is_rigid(transforms[i], largest, tolerance):
            return i
        for r in range(3):
            for c in range(3):
                frames[i, 3 * r + c] = transforms[i, r, c]
            frames[i, 9 + r] = transforms[i, r, 3]
    return -1


def starts_of(robot: Robot, default: Array, q0: ArrayLike | None, count: int) -> Array:
    """The starts, (1, n) where one is for all, or (N, n); InvalidConfiguration otherwise."""
    if q0 is None:
        return default[np.newaxis]
    try:
        starts = np.ascontiguousarray(q0, float)
    except (TypeError, ValueError) as error:
        raise InvalidConfiguration(f'q0 is not one array of numbers: {error}') from error
    if starts.ndim < 2:
        return robot.checked(starts, 'q0')[np.newaxis]
    if starts.shape != (count, robot.n):
        raise InvalidConfiguration(
            f'q0 has shape {starts.shape}; ({robot.n},) or ({count}, {robot.n}) is needed'
        )
    wrong = ~np.isfinite(starts).all(1)
    if wrong.any():
        robot.checked(starts[np.argmax(wrong)], f'q0[{np.argmax(wrong)}]')
    return starts


def held_values(held: ArrayLike, count: int) -> Array:
    """Values of the held joint: (1,) for all, or (N,); InvalidConfiguration otherwise."""
    try:
        values = np.atleast_1d(np.ascontiguousarray(held, float))
    except (TypeError, ValueError) as error:
        raise InvalidConfiguration(f'held = {held!r} is no position of a joint') from error
    if values.shape not in {(1,), (count,)}:
        raise InvalidConfiguration(
            f'held has shape {values.shape}; a number or ({count},) is needed'
        )
    if not np.isfinite(values).all():
        raise InvalidConfiguration(f'held is not finite at {np.argmin(np.isfinite(values))}')
    return values


def solve_chunks(
    plan: Plan,
    frames: Array,
    starts: Array,
    held: Array,
    threads: int | None,
    progress: Progress | None,
) -> tuple[Array, IntArray]:
    """q (N, SLOTS, n) and counts (N,); see `solve_poses`."""
    count = len(frames)
    q, counts = np.empty((count, SLOTS, starts.shape[1])), np.full(count, -1)

    def solve(own: Array, first: int) -> None:
        last = min(first + CHUNK, count)
        solve_poses(*plan.arrays, frames, starts, held, first, last, own, q, counts)

    _share_out(count, threads, solve, progress)
    return q, counts


def _share_out(
    count: int,
    threads: int | None,
    solve: Callable[[Array, int], None],
    progress: Progress | None,
) -> None:
    """Call solve(memory, first) for every chunk, in this thread and in helping ones."""
    chunks = deque(range(0, count, CHUNK))
    helpers = min(_checked_threads(threads), len(chunks)) - 1

    def work(report: Progress | None = None) -> None:
        own = memory()
        while chunks:
            try:
                first = chunks.popleft()
            except IndexError:  # another thread took the last one
                return
            solve(own, first)
            if report is not None:
                report(max(0, count - CHUNK * (len(chunks) + helpers)), count)

    if helpers < 1:
        work(progress)
        return
    with ThreadPoolExecutor(helpers) as pool:
        helping = [pool.submit(work) for _ in range(helpers)]
        try:
            work(progress)
            for helper in helping:
                helper.result()
        finally:
            chunks.clear()  # where Ctrl-C or an error came: the helpers end after a chunk


def _checked_threads(threads: int | None) -> int:
    if threads is not None:
        return whole_number(threads, 'threads')
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
