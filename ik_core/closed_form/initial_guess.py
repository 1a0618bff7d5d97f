# SPDX-License-Identifier: Apache-2.0
"""Initial guess of a search: the closed-form solution nearest to its start.

A chain without formulas uses those of an idealised chain (`idealised_chain`), if it is nearly one.
If a chain has one joint too many, such as a rail or a torso lift, that joint keeps its start
value.

Each chain is analysed once, for all limits, tolerances and problems: the analysis takes
milliseconds, a search microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..exceptions import UnsupportedProblem
from ..locks import Lock
from ..maths.lanes import HAS_LANES
from ..maths.rotations import Array, IntArray, frame_of
from ..problem import IkProblem
from ..robot.kinematics import PARENT
from ..robot.limits import JointLimits
from ..tasks.packing import PackedGoals
from . import records as rec
from .chain import (
    Chain,
    asks_for_a_point,
    chain_of,
    motion_of,
    seen_from,
)
from .families import Strategy
from .idealised_chain import idealised_chains
from .kernel import EXACT
from .nearest import SCRATCH_ROWS, nearest_solutions
from .workspace import REFINED_WITHIN, arrays_of

# For chains with a redundancy parameter or another joint that keeps its value, attempt 0 begins at
# q0 itself if q0 misses the target by less than this [m, rad]: with one joint fixed, the others
# have to move further than all together.
NEAR_FOR_SEVEN = 1.0
# The same for six joints. A search from there takes no longer, and near a singularity it finds a
# configuration nearby within the tolerances, while exact solutions may be half a turn away.
NEAR_FOR_SIX = 0.3
# Least and largest number of joints that are solved for. Longer chains may have up to OTHERS_MOST
# joints more, which keep their start values: with one (a rail, a torso lift) most random goals
# have a solution; with two (Talos' waist) only a third have.
LEAST, MOST, OTHERS_MOST = 6, 7, 1
# Random configurations on which a strategy is tried, and how many of them it has to find again.
TRIALS, ENOUGH = 8, 6
# Offset of the start of a trial, accuracy with which its configuration is found again, and largest
# joint value of these configurations [rad].
ASIDE, SAME, SPREAD = 1e-3, 1e-6, 3.0
# Largest error of an idealised chain [m, rad], so that its solutions miss the target by less than
# NEAR_FOR_SIX.
IDEALISED_ERROR = 0.1
PLANS_KEPT = 64


class InitialGuess:
    """The initial guesses of a problem's searches.

    `numbers` : those of the plan that the kernel `nearest_solutions` takes for first attempts
    """

    def __init__(self, plan: _Plan, problem: IkProblem) -> None:
        self._whole, self.numbers = plan.whole, plan.numbers.copy()
        lower, upper = problem.limits.lower, problem.limits.upper
        joints, others = plan.variables, plan.others
        for row, of in ((1, joints), (rec.OTHER, others)):
            self.numbers[row : row + len(of), rec.LOWER] = lower[of]
            self.numbers[row : row + len(of), rec.UPPER] = upper[of]
        self._near = NEAR_FOR_SEVEN if plan.redundant >= 0 or len(others) else NEAR_FOR_SIX
        self._restart_numbers = self.numbers.copy()
        self.set_tolerances(problem)

    def set_tolerances(self, problem: IkProblem) -> None:
        """Read the problem's tolerances again."""
        tolerance = max(problem.position_tolerance, problem.orientation_tolerance)
        near = max(self._near, tolerance)  # what is reached stays
        margin = max(REFINED_WITHIN * tolerance, EXACT)
        for numbers, stays in (self.numbers, near), (self._restart_numbers, -near):
            numbers[rec.SETTINGS, rec.MARGIN] = margin
            numbers[rec.SETTINGS, rec.STAYS] = stays

    def fill(self, targets: Array, starts: Array, first: int, last: int, points: Array) -> None:
        """Fill points[first:last] with guesses for targets (N, 1, 12) and starts (N,
        variables)."""
        given = self._whole, self.numbers, targets.reshape(-1, 12), starts
        nearest_solutions(*given, first, last, _scratch(), points)

    @property
    def restart(self) -> tuple[IntArray, Array, Array]:
        """Plan, numbers and memory of the initial guess of restart 1, after attempt 0 from the
        start failed.

        STAYS is negative: solutions are for the starts at which attempt 0 began.
        """
        return self._whole, self._restart_numbers, _scratch()


def _scratch() -> Array:
    return np.zeros((SCRATCH_ROWS, rec.WIDTH))


class _Plan(NamedTuple):
    """Arrays of a chain for the kernel, without limits of joints.

    `variables` (joints,) are solved for, `others` are not.
    """

    whole: IntArray
    numbers: Array
    variables: IntArray
    others: IntArray
    redundant: int


# Cached plans, by all data on which they depend; the oldest is dropped first.
_PLANS: dict[bytes, _Plan | None] = {}
_LOCK = Lock()


def initial_guess_of(problem: IkProblem) -> InitialGuess | None:
    """Return the initial guess of searches of a problem; None: they begin at their starts.

    There is one for a single pose of a chain of six or seven joints, or of one more, if the chain
    has formulas for regular poses or nearly is a chain that has some.
    """
    if problem.levels or not _may_be_known(problem):
        return None
    plan = _plan_for(problem.packed, len(problem.variables))
    return None if plan is None else InitialGuess(plan, problem)


def expected_initial_guess(problem: IkProblem) -> str | None:
    """Name the initial guess, if it is no closed form of the whole chain, without trying it.

    It is a closed form of an idealised chain, or of a part of the chain. None: there is no such
    guess. Compiles nothing.
    """
    if not _may_be_known(problem):
        return None
    packed, joints = problem.packed, len(problem.variables)
    try:
        chain = chain_of(packed, point_only=False)
    except UnsupportedProblem:
        return None
    if len(chain.rows) < joints or (joints <= MOST and _known(chain, packed)):
        return None
    names = [problem.robot.joint_names[i] for i in problem.variables[chain.variables]]
    titles = (title for part in _windows(joints) for title in _titles(chain, *part, names, packed))
    return next(titles, None)


def _titles(
    chain: Chain, first: int, last: int, names: list[str], packed: PackedGoals
) -> Iterator[str]:
    """Yield the titles of strategies for the joints first..last-1 of a chain."""
    window, others = chain.part(first, last), ', '.join([*names[:first], *names[last:]])
    kept = f', with {others} at the start value' if others else ''
    for strategy in _known(window, packed):
        yield strategy.title(names[first:last]) + kept
    for ideal in idealised_chains(window):
        for strategy in _known(ideal, packed):
            yield f'nearly {strategy.title(names[first:last])}{kept}'


def _may_be_known(problem: IkProblem) -> bool:
    """Return whether a problem is a pose for a number of joints that may have formulas."""
    if not LEAST <= len(problem.variables) <= MOST + OTHERS_MOST or len(problem.packed.frozen):
        return False
    try:
        return not asks_for_a_point(problem)
    except UnsupportedProblem:
        return False


def _known(chain: Chain, packed: PackedGoals) -> list[Strategy]:
    """Return the simple strategies of a chain of revolute joints, without virtual ones."""
    is_serial = (packed.tree[:, PARENT] == np.arange(-1, len(packed.tree) - 1)).all()
    if not HAS_LANES or chain.slides.any() or not is_serial:
        return []
    return [
        one
        for one in chain.strategies()
        if one.is_simple and not one.is_completed and one.deviation <= EXACT
    ]


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
    """Return the plan of the first strategy that is known and passes its trial."""
    try:
        chain = chain_of(packed, point_only=False)
    except UnsupportedProblem:
        return None
    if len(chain.rows) < variables:
        return None
    plans = (_plan_in(chain, first, last, packed) for first, last in _windows(variables))
    return next((plan for plan in plans if plan), None)


def _windows(joints: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of joints to solve for: those with most joints first, then those at the end."""
    for size in (MOST, LEAST):
        if size <= joints <= size + OTHERS_MOST:
            for first in sorted({joints - size, 0}, reverse=True):
                yield first, first + size


def _plan_in(chain: Chain, first: int, last: int, packed: PackedGoals) -> _Plan | None:
    """Return a plan for the joints first..last-1, by formulas of their own or of an ideal
    chain."""
    window = chain.part(first, last)
    found = _plan_among(window, chain, first, packed)
    if found:
        return found
    ideals = (
        ideal for ideal in idealised_chains(window) if _apart(ideal, window) <= IDEALISED_ERROR
    )
    plans = (_plan_among(one, chain, first, packed) for one in ideals)
    return next((plan for plan in plans if plan), None)


def _plan_among(window: Chain, chain: Chain, first: int, packed: PackedGoals) -> _Plan | None:
    """Return the plan of the first strategy that solves a window reliably in trials, or None."""
    for strategy in _known(window, packed):
        plan = _plan_of(window, strategy, chain, first)
        rows = chain.rows.copy()
        rows[first : first + len(window.rows)] = window.rows
        if _finds_again(plan, replace(chain, rows=rows)):
            return plan
    return None


def _plan_of(window: Chain, strategy: Strategy, chain: Chain, first: int) -> _Plan:
    """Return the plan of a strategy, with the other joints before and behind its window."""
    n = int(chain.variables.max()) + 1
    endless = JointLimits(np.full(n, -np.inf), np.full(n, np.inf))
    plan, numbers = arrays_of(window, strategy, endless, window.variables, EXACT)
    numbers[rec.SETTINGS, rec.REACH] = _reach(window)
    behind = first + len(window.rows)
    others = [*range(first), *range(behind, len(chain.rows))]
    for row, i in enumerate(others, rec.OTHER):
        own = chain.rows[i] if i < first else seen_from(chain.last @ chain.tool, chain.rows[i])
        numbers[row, :6], numbers[row, rec.MULTIPLIER] = own, chain.signs[i]
        numbers[row, rec.OFFSET], numbers[row, rec.SLIDES] = chain.offsets[i], chain.slides[i]
        numbers[row, rec.LOWER], numbers[row, rec.UPPER] = -np.inf, np.inf
    plan[rec.BEFORE], plan[rec.BEHIND] = first, len(chain.rows) - behind
    columns = chain.variables[others]
    plan[rec.OTHERS : rec.OTHERS + len(others)] = columns
    return _Plan(plan, numbers, window.variables, columns, strategy.redundant)


def _reach(chain: Chain) -> float:
    """Return the length of the stretched chain from its first axis to the goal [m]."""
    points = np.vstack([chain.rows[:, 3:], (chain.last @ chain.tool)[:3, 3]])
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def _apart(ideal: Chain, chain: Chain) -> float:
    """Return the largest gap [m, rad] between the chains' goals at random configurations."""
    gaps = (_pose_at(ideal, x) - _pose_at(chain, x) for x in _configurations(chain))
    return float(max(np.linalg.norm(gap, axis=0).max() for gap in gaps))


def _configurations(chain: Chain) -> Array:
    n = int(chain.variables.max()) + 1
    return np.random.default_rng(0).uniform(-SPREAD, SPREAD, (TRIALS, n))


def _finds_again(plan: _Plan, chain: Chain) -> bool:
    """Return whether a plan finds most random configurations again, from starts near them."""
    x = _configurations(chain)
    targets = np.array([frame_of(_pose_at(chain, one)) for one in x])
    found, starts = np.empty_like(x), x.copy()
    moved = np.delete(plan.variables, plan.redundant) if plan.redundant >= 0 else plan.variables
    starts[:, moved] += ASIDE
    given = plan.whole, plan.numbers, targets, starts
    nearest_solutions(*given, 0, TRIALS, _scratch(), found)
    again = np.abs(found - x).max(1) <= SAME
    return int(again.sum()) >= ENOUGH


def _pose_at(chain: Chain, x: Array) -> Array:
    """Return the transform (4, 4) of the goal's frame at variables x."""
    motion = np.eye(4)
    values = chain.signs * x[chain.variables] + chain.offsets
    for row, value, slides in zip(chain.rows, values, chain.slides, strict=True):
        motion = motion @ motion_of(row, value, bool(slides))
    return np.asarray(motion @ chain.last @ chain.tool, float)
