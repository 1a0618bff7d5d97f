"""Where a search begins: at the solution in closed form that is nearest to its start.

Or, for a chain without formulas, at that of a chain with some that it nearly is (`ideals`).
A chain is looked at once, whichever limits, tolerances and problems it is in: that takes
milliseconds, a search microseconds.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

import numpy as np

from ..exceptions import UnsupportedProblem
from ..maths.rotations import Array, IntArray, frame_of
from ..problem import IkProblem
from ..robot.limits import JointLimits
from ..tasks.packing import PackedGoals
from . import slots
from .chain import (
    Chain,
    asks_for_a_point,
    chain_of,
    fixed_frames,
    frames_of_rows,
    motion_of,
)
from .cores import GENERAL
from .ideals import ideals_of
from .layouts import Layout
from .nearest import ROOM, nearest_solutions
from .plans import is_known, plan_of
from .way import MARGIN

NEAR = 1.0
"""Starts that miss their target by less [m, rad] stay, where one of seven joints would be held.

To hold one moves the others further than all together have to: for starts up to 0.1 rad off 1.4
(panda) and 1.1 times as far in the median, 35 times in one of a hundred; for errors above this,
1.1 and 1.05 times, 4 times in one of a hundred.
"""
CLOSE = 0.3
"""Starts that miss their target by less [m, rad] stay with six joints: a search from there takes
no longer, and near a singularity it ends at what is within the tolerances close by, where exact
solutions may be half a turn away.
"""
LEAST, MOST = 6, 7
"""Joints of chains that are known."""
TRIALS, ENOUGH = 8, 6
"""So many configurations have to be found again: most, as some may be singular."""
ASIDE, SAME, HALF_TURN = 1e-3, 1e-6, 3.0
"""Starts of the trials, and how exact they are found again [rad]; and where they are."""
APART = 0.1
"""Solutions of an ideal chain miss the target by about this at most [m, rad]: less than CLOSE."""
PLANS_KEPT = 64


class Beginning:
    """The points where searches of one problem begin."""

    def __init__(self, plan: _Plan, problem: IkProblem) -> None:
        limits, joints = problem.limits, len(plan.variables)
        self._whole, self._numbers = plan.whole, plan.numbers.copy()
        self._numbers[:joints, slots.LOWER] = limits.lower[plan.variables]
        self._numbers[:joints, slots.UPPER] = limits.upper[plan.variables]
        self._near = NEAR if plan.holds else CLOSE
        self._tolerances = 0.0, 0.0
        self.set_tolerances(problem)

    def set_tolerances(self, problem: IkProblem) -> None:
        """Take over the tolerances of the problem, which may change."""
        tolerances = problem.position_tolerance, problem.orientation_tolerance
        if tolerances == self._tolerances:
            return
        self._tolerances, tolerance = tolerances, max(tolerances)
        self._numbers[0, slots.MARGIN] = MARGIN * tolerance
        self._numbers[0, slots.NEAR] = max(self._near, tolerance)  # what is reached stays

    def fill(self, targets: Array, starts: Array, first: int, last: int, points: Array) -> None:
        """Fill points[first:last] (N, variables) for targets (N, 1, 12) and starts as points."""
        given = self._whole, self._numbers, targets.reshape(-1, 12), starts
        nearest_solutions(*given, first, last, _room(), points)

    @property
    def plan(self) -> tuple[IntArray, Array, Array]:
        """What the kernel `nearest_solutions` takes for plan, numbers and memory."""
        return self._whole, self._numbers, _room()


def _room() -> Array:
    return np.zeros((ROOM, slots.WIDTH))


class _Plan(NamedTuple):
    """What the kernel needs of a chain whose joints have no limits; `variables` (joints,)."""

    whole: IntArray
    numbers: Array
    variables: IntArray
    holds: bool


_PLANS: dict[bytes, _Plan | None] = {}
"""What was found out about chains, by all that it depends on; those asked first go first."""
_LOCK = Lock()


def beginning_of(problem: IkProblem) -> Beginning | None:
    """Where searches of a problem begin; None: at their starts.

    For one pose alone, and a chain of six or seven joints that has, or nearly is one that has,
    formulas for regular poses.
    """
    packed = problem.packed
    if not LEAST <= len(problem.variables) <= MOST or len(packed.frozen) or problem.secondary:
        return None
    try:
        if asks_for_a_point(problem):
            return None
    except UnsupportedProblem:
        return None
    plan = _plan_for(packed, len(problem.variables))
    return None if plan is None else Beginning(plan, problem)


def expected_beginning(problem: IkProblem) -> str | None:
    """What the chain nearly is, in words, where its formulas begin searches; untried.

    None where it has formulas of its own, or no others. Compiles nothing.
    """
    packed = problem.packed
    if not LEAST <= len(problem.variables) <= MOST or len(packed.frozen):
        return None
    try:
        chain = chain_of(packed, asks_for_a_point(problem))
    except UnsupportedProblem:
        return None
    if len(chain.rows) < len(problem.variables) or _known(chain, packed):
        return None
    names = [problem.robot.joint_names[i] for i in problem.variables[chain.variables]]
    found = (layout for ideal in ideals_of(chain) for layout in _known(ideal, packed))
    return next((f'nearly {layout.title(names)}' for layout in found), None)


def _known(chain: Chain, packed: PackedGoals) -> list[Layout]:
    """The layouts of a chain for which there are formulas in kernels."""
    layouts = chain.layouts()
    return [one for one in layouts if one.kind != GENERAL and is_known(chain, one, packed)]


def _plan_for(packed: PackedGoals, variables: int) -> _Plan | None:
    arrays = packed.tree, packed.geometry, packed.table, packed.tools
    key = b''.join(array.tobytes() for array in arrays)
    with _LOCK:
        if key not in _PLANS:
            while len(_PLANS) >= PLANS_KEPT:
                _PLANS.pop(next(iter(_PLANS)))
            _PLANS[key] = _look_at(packed, variables)
        return _PLANS[key]


def _look_at(packed: PackedGoals, variables: int) -> _Plan | None:
    """The plan of the first layout that is known, and finds what there is."""
    try:
        chain = chain_of(packed, point_only=False)
    except UnsupportedProblem:
        return None
    if len(chain.rows) < variables:
        return None
    found = _plan_among(chain, packed, variables, fixed_frames(packed))
    if found:
        return found
    ideals = (ideal for ideal in ideals_of(chain) if _apart(ideal, chain) <= APART)
    plans = (_plan_among(one, packed, variables, frames_of_rows(one)) for one in ideals)
    return next((plan for plan in plans if plan), None)


def _plan_among(
    chain: Chain, packed: PackedGoals, variables: int, frames: list[Array]
) -> _Plan | None:
    """The plan of the first of a chain's layouts that is known, and finds what there is."""
    for layout in _known(chain, packed):
        plan = _plan_of(chain, layout, packed, variables, frames)
        if _finds_again(plan, chain):
            return plan
    return None


def _plan_of(
    chain: Chain, layout: Layout, packed: PackedGoals, variables: int, frames: list[Array]
) -> _Plan:
    endless = JointLimits(np.full(variables, -np.inf), np.full(variables, np.inf))
    plan = plan_of(chain, layout, packed, endless, chain.variables, 0.0, variables, frames)
    assert plan is not None
    whole, numbers = plan.arrays
    numbers[0, slots.NEAR] = -1.0
    return _Plan(whole, numbers, chain.variables, layout.held >= 0)


def _apart(ideal: Chain, chain: Chain) -> float:
    """How far an ideal chain's goal is from the chain's own at random configurations [m, rad]."""
    gaps = (_pose_at(ideal, x) - _pose_at(chain, x) for x in _configurations(chain))
    return float(max(np.linalg.norm(gap, axis=0).max() for gap in gaps))


def _configurations(chain: Chain) -> Array:
    return np.random.default_rng(0).uniform(-HALF_TURN, HALF_TURN, (TRIALS, len(chain.rows)))


def _finds_again(plan: _Plan, chain: Chain) -> bool:
    """Whether random configurations are the solutions nearest to themselves."""
    x = _configurations(chain)
    targets = np.array([frame_of(_pose_at(chain, one)) for one in x])
    found, starts = np.empty_like(x), x + ASIDE
    if plan.holds:
        held = plan.variables[plan.whole[slots.HELD]]
        starts[:, held] = x[:, held]
    given = plan.whole, plan.numbers, targets, starts
    nearest_solutions(*given, 0, TRIALS, _room(), found)
    again = np.abs(found - x).max(1) <= SAME
    return int(again.sum()) >= ENOUGH


def _pose_at(chain: Chain, x: Array) -> Array:
    """The transform (4, 4) of the goal's frame at variables x."""
    motion = np.eye(4)
    for row, value in zip(
        chain.rows, chain.signs * x[chain.variables] + chain.offsets, strict=True
    ):
        motion = motion @ motion_of(row, value, False)
    return np.asarray(motion @ chain.last @ chain.tool, float)
