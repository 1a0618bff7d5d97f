"""What `regular` needs to know of a chain and its layout, as two flat arrays."""

from __future__ import annotations

import numpy as np

from ..maths.lanes import HAS_LANES
from ..maths.rotations import Array, IntArray, frame_of
from ..robot.kinematics import PARENT
from ..robot.limits import JointLimits
from ..tasks.packing import PackedGoals
from . import slots
from .best_held import PART, PARTS, WIDER, best_held
from .branch_paths import NUMBERS
from .branch_search import TRIAL
from .chain import Chain, fixed_frames
from .cores import PARALLEL, WRIST
from .hidden import hidden_values
from .judging import EXACT
from .layouts import Layout, is_simple
from .regular import solve_poses
from .sweeping import sweep


class Plan:
    """A layout for `regular`: `arrays` are its whole (WHOLES,) and other numbers (NUMBERS, 12)."""

    def __init__(self, whole: IntArray, numbers: Array, n: int) -> None:
        self.arrays = whole, numbers
        self._q, self._counts = np.empty((1, slots.SLOTS, n)), np.zeros(1, np.int64)
        self._start, self._held, self._memory = np.empty((1, n)), np.empty(1), memory()
        self._trial = np.empty((TRIAL, slots.WIDTH))
        self._wide = numbers.copy()
        self._wide[0, slots.MARGIN] = WIDER
        self._paths, self._parts = np.zeros((0, NUMBERS, slots.SLOTS)), np.empty((0, PART))
        self._ends = np.zeros((PARTS + 1, NUMBERS, slots.WIDTH))

    def solve(self, targets: Array, start: Array, held: float) -> Array | None:
        """The solutions (k, n) for targets (1, 12) and a start (n,); None if not regular."""
        self._start[0], self._held[0] = start, held
        whole, numbers = self.arrays
        own = self._memory, self._q, self._counts
        solve_poses(whole, numbers, targets, self._start, self._held, 0, 1, *own)
        count = self._counts.item()
        return None if count < 0 else self._q[0, :count].copy()

    def sweep(self, targets: Array, start: Array, values: Array, task: int) -> tuple[float, Array]:
        """The answer of `sweeping.sweep`, and the costs (N,), for targets (1, 12)."""
        whole, numbers = self.arrays
        self._start[0], costs = start, np.zeros(len(values))
        own = self._trial, self._memory, costs
        return sweep(whole, numbers, targets, self._start, values, task, *own), costs

    def best_held(self, targets: Array, start: Array, values: Array) -> tuple[float, bool, Array]:
        """The answers of `best_held.best_held`, and q (n,), for targets (1, 12)."""
        whole, numbers = self.arrays
        self._make_room(len(values))
        self._start[0], q = start, start.copy()
        own = self._trial, self._paths, self._parts, self._ends, self._memory, q
        value, in_doubt = best_held(whole, numbers, self._wide, targets, self._start, values, *own)
        return value, in_doubt, q

    def hidden(self, targets: Array, start: Array, values: Array) -> Array | None:
        """What `hidden.hidden_values` finds, for targets (1, 12); None where joints do not
        matter at a value."""
        self._make_room(len(values))
        self._start[0], found = start, np.empty(len(values))
        own = self._trial, self._paths, self._memory, found
        count = hidden_values(self.arrays[0], self._wide, targets, self._start, values, *own)
        return None if count < 0 else found[:count]

    def _make_room(self, count: int) -> None:
        """Room for the branches at so many values."""
        if count != len(self._paths):
            self._paths = np.zeros((count, NUMBERS, slots.SLOTS))
            self._parts = np.empty((2 * count * slots.SLOTS, PART))


def memory() -> Array:
    """Room for the kernels, one for each thread."""
    return np.zeros((slots.ROWS, slots.WIDTH))


def plan_of(
    chain: Chain,
    layout: Layout,
    packed: PackedGoals,
    limits: JointLimits,
    columns: IntArray,
    margin: float,
    n: int,
    frames: list[Array] | None = None,
) -> Plan | None:
    """The plan of a layout; None where it is not one of those that `regular` knows.

    columns (joints,): where each joint of the chain is in q (n,). margin: see `propose`.
    frames: the fixed ones of the chain, if they are not as packed.
    """
    if not is_known(chain, layout, packed):
        return None
    count = len(chain.rows)
    whole, numbers = np.zeros(slots.WHOLES, int), np.zeros((slots.NUMBERS, 12))
    cut = layout.kind, layout.held, layout.reversed, layout.cut, count
    whole[: slots.PLACE] = *cut, *layout.order
    places = [layout.order.index(i) if i in layout.order else -1 for i in range(count)]
    whole[slots.PLACE : slots.PLACE + count] = places
    whole[slots.COLUMN : slots.COLUMN + count] = columns
    numbers[:count, :6] = layout.rows
    numbers[:count, slots.SIGN], numbers[:count, slots.OFFSET] = chain.signs, chain.offsets
    numbers[:count, slots.LOWER] = limits.lower[chain.variables]
    numbers[:count, slots.UPPER] = limits.upper[chain.variables]
    numbers[0, slots.MARGIN] = margin
    *before, behind = fixed_frames(packed) if frames is None else frames
    for i, frame in enumerate(before):
        numbers[slots.FIXED + i] = frame_of(frame)
    numbers[slots.TOOL] = frame_of(behind @ chain.tool)
    numbers[slots.HOME] = frame_of(np.asarray(np.linalg.inv(chain.last @ chain.tool), float))
    return Plan(whole, numbers, n)


def is_known(chain: Chain, layout: Layout, packed: PackedGoals) -> bool:
    """Whether `regular` has formulas for it."""
    is_serial = (packed.tree[:, PARENT] == np.arange(-1, len(packed.tree) - 1)).all()
    return bool(
        HAS_LANES
        and layout.kind in (WRIST, PARALLEL)
        and (layout.kind == PARALLEL or is_simple(layout))
        and not layout.is_completed
        and layout.deviation <= EXACT
        and not chain.slides.any()
        and is_serial
    )
