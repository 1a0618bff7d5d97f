# SPDX-License-Identifier: Apache-2.0
"""A strategy with the arrays that the kernels read and write."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..kernels.records import Record
from ..maths.rotations import Array, IntArray, frame_of
from ..robot.limits import JointLimits
from . import records as rec
from .branch_search import TRIAL
from .branches import NUMBERS
from .chain import Chain
from .families import Strategy
from .kernel import BY_START, solve_poses
from .nearest_branch import ASSUMED_BEYOND, INTERVAL_PARTS, PART, nearest_branch
from .redundancy_scan import hidden_values, sweep

CACHE_LINE = 64  # Length of a cache line in bytes
REFINED_WITHIN = 10.0  # Candidates within this many tolerances of the goal are refined
# The same for callers that need all candidates that may be refined to the tolerances, and for
# chains with virtual joints, which magnify errors.
FAR_REFINED_WITHIN = 100.0
# If there are solutions, candidates with a larger error [m, rad] are not. With virtual joints they
# may be: only candidates of exact goals leave these at zero.
CLEARLY = 1e-5
# Largest error [m, rad] of candidates that are refined, if the chain fits the strategy only
# nearly.
NEARLY_REFINED_WITHIN = 0.1


def memory() -> Array:
    """Return the kernels' memory, one for each thread.

    Its rows of lanes do not cross the lines of a cache, which would halve the speed of reading.
    """
    whole = np.zeros(rec.ROWS * rec.WIDTH + CACHE_LINE // 8)
    first = -whole.ctypes.data % CACHE_LINE // 8
    return whole[first : first + rec.ROWS * rec.WIDTH].reshape(rec.ROWS, rec.WIDTH)


def arrays_of(
    chain: Chain, strategy: Strategy, limits: JointLimits, columns: IntArray, margin: float
) -> tuple[IntArray, Array]:
    """Return plan and numbers of a strategy, as in `records`.

    columns (joints,): column of each joint of the chain in q
    """
    n, elements = len(chain.rows), len(strategy.rows)
    plan = strategy.plan.copy()
    plan[rec.COLUMN : rec.COLUMN + n] = columns
    numbers = np.zeros((rec.NUMBERS, rec.COLUMNS))
    numbers[:elements, :6] = strategy.rows
    numbers[:elements, rec.MULTIPLIER] = 1.0
    numbers[:elements, rec.SLIDES] = strategy.slides
    joints = numbers[1 : n + 1]
    joints[:, rec.MULTIPLIER], joints[:, rec.OFFSET] = chain.signs, chain.offsets
    joints[:, rec.LOWER] = limits.lower[chain.variables]
    joints[:, rec.UPPER] = limits.upper[chain.variables]
    *frames, tip = _frames_of(chain)
    numbers[rec.JUDGED : rec.JUDGED + n] = [frame_of(frame) for frame in frames]
    numbers[rec.NORMALS : rec.NORMALS + 2, :6] = strategy.normals
    home = chain.last @ chain.tool
    numbers[rec.HOME] = frame_of(np.asarray(np.linalg.inv(home), float))
    numbers[rec.TIP] = frame_of(tip)
    numbers[rec.SETTINGS, rec.MARGIN] = margin
    numbers[rec.SETTINGS, rec.MISSES] = margin if strategy.is_completed else CLEARLY
    return plan, numbers


def _frames_of(chain: Chain) -> list[Array]:
    """Return frames (4, 4) with the chain's axes as z axes, then the goal's; each relative to the
    one before."""
    placed = [np.eye(4)]
    for row in chain.rows:
        frame, axis = np.eye(4), row[:3]
        side = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
        side /= np.linalg.norm(side)
        frame[:3] = np.column_stack([side, np.cross(axis, side), axis, row[3:]])
        placed.append(frame)
    placed.append(chain.last @ chain.tool)
    return [np.linalg.inv(one) @ other for one, other in pairwise(placed)]


class Workspace:
    """The arrays with which a strategy is solved for one pose; `q` (rows, n): the last solutions.

    `errors` (rows,) : closing error of each solution; above EXACT it is only near a solution
    `is_near` : True if some rows are only near a solution
    `is_sure` : True if all other solutions were found
    `is_exact` : True if no solution of the trials needed refinement
    """

    rows = rec.SLOTS

    def __init__(
        self, chain: Chain, strategy: Strategy, limits: JointLimits, columns: IntArray, n: int,
        margin: float,
    ) -> None:  # fmt: skip
        self.strategy, self.is_exact, self.is_sure = strategy, False, True
        self.plan, self.numbers = arrays_of(chain, strategy, limits, columns, margin)
        self.q, self.errors = np.empty((self.rows, n)), np.zeros(self.rows)
        self._target, self._start, self._value = np.empty((1, 12)), np.empty((1, n)), np.empty(1)
        self._count, self.is_near = np.zeros(1, np.int64), False
        self._memory = memory()
        self._arrays = self._own_arrays()
        self._wide: Array | None = None
        self._trial = np.empty((TRIAL, rec.WIDTH))
        self._paths, self._parts = np.zeros((0, NUMBERS, rec.SLOTS)), np.empty((0, PART))
        self._ends = np.zeros((INTERVAL_PARTS + 1, NUMBERS, rec.WIDTH))

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != '_arrays'}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._arrays = self._own_arrays()  # a copy's are elsewhere

    def _own_arrays(self) -> Record:
        own = self._target, self._start, self._value, self.q, self.errors, self._count
        return self.arrays(self._memory, *own)

    def arrays(
        self,
        memory: Array,
        targets: Array,
        starts: Array,
        values: Array,
        q: Array,
        errors: Array,
        counts: IntArray,
    ) -> Record:
        """Return the argument of `solve_poses`: these arrays in one record."""
        sizes = {
            'plan_size': len(self.plan),
            'number_rows': len(self.numbers),
            'memory_rows': len(memory),
            'target_rows': len(targets),
            'start_rows': len(starts),
            'value_count': len(values),
            'q_rows': len(q),
            'variables': q.shape[1],
            'slots': len(errors),
            'count': len(counts),
        }
        arrays = {
            'plan': self.plan,
            'numbers': self.numbers,
            'memory': memory,
            'targets': targets,
            'starts': starts,
            'values': values,
            'q': q,
            'errors': errors,
            'counts': counts,
        }
        return rec.ARRAYS.make(sizes, arrays=arrays)

    def solve(self, targets: Array, start: Array, value: float, free: float = BY_START) -> int:
        """Solve for targets (1, 12), a start (n,) and a redundancy parameter; return the number of
        rows.

        -1 if joints of the pose are undetermined, which is detected if `free` is NaN.
        """
        self._target[0], self._start[0], self._value[0] = targets[0], start, value
        self.is_near = solve_poses(self._arrays.address, 0, 1, free)
        return self._count.item()

    # --- seven joints ---------------------------------------------------------------------------

    def sweep(self, targets: Array, start: Array, values: Array, task: int) -> tuple[float, Array]:
        """Return the result and the costs (N,) of `redundancy_scan.sweep`, for targets (1, 12)."""
        self._start[0], costs = start, np.zeros(len(values))
        own = self._trial, self._memory, costs
        given = self.plan, self.numbers, targets, self._start, values, task
        return sweep(*given, *own), costs

    def nearest(self, targets: Array, start: Array, values: Array) -> tuple[float, bool, Array]:
        """Return the results of `nearest_branch`, and q (n,), for targets (1, 12)."""
        wide = self._widened(len(values))
        self._start[0], q = start, start.copy()
        own = self._trial, self._paths, self._parts, self._ends, self._memory, q
        value, in_doubt = nearest_branch(
            self.plan, self.numbers, wide, targets, self._start, values, *own
        )
        return value, in_doubt, q

    def hidden(self, targets: Array, start: Array, values: Array) -> Array | None:
        """The result of `redundancy_scan.hidden_values` for targets (1, 12); None if joints are
        undetermined.
        """
        wide = self._widened(len(values))
        self._start[0], found = start, np.empty(len(values))
        own = self._trial, self._paths, self._memory, found
        count = hidden_values(self.plan, wide, targets, self._start, values, *own)
        return None if count < 0 else found[:count]

    def _widened(self, count: int) -> Array:
        """Return the numbers with wider limits; allocate memory for `count` values."""
        if self._wide is None:
            self._wide = self.numbers.copy()
            self._wide[rec.SETTINGS, rec.MARGIN] = ASSUMED_BEYOND
        if count != len(self._paths):
            self._paths = np.zeros((count, NUMBERS, rec.SLOTS))
            self._parts = np.empty((2 * count * rec.SLOTS, PART))
        return self._wide
