"""Attempts that begin neither at the start nor at random: at solutions in closed form."""

from __future__ import annotations

from ..._jit import inlined, inner
from ...closed_form.nearest import nearest_solutions
from ...maths.lanes import HAS_LANES
from ...maths.rotations import Array, IntArray
from ...maths.vectors import copy_to
from .memory import FIRST, TRIAL, SearchArrays, X

SAME = 1e-6
"""Points that are no further apart [rad or m] are the same."""


@inner
def _stay(
    plan: IntArray,
    numbers: Array,
    targets: Array,
    starts: Array,
    first: int,
    last: int,
    memory: Array,
    points: Array,
) -> None:
    """What stands for `nearest_solutions` where there are no lanes, and so no plans."""


choose_beginning = nearest_solutions if HAS_LANES else _stay


@inner
def begins_elsewhere(search: SearchArrays, plan: IntArray, everywhere: Array, room: Array) -> bool:
    """Put x where the first restart begins, if not at random: at the nearest solution.

    Where the first attempt began at a start near the goal and led nowhere. plan, everywhere, room:
    see `closed_form.beginning.Beginning.restart`; of length 0 where nothing is known.
    """
    if plan.shape[0] == 0:
        return False
    first, point = search.vectors[FIRST], search.vectors[TRIAL]
    starts, points = search.vectors[FIRST : FIRST + 1], search.vectors[TRIAL : TRIAL + 1]
    choose_beginning(plan, everywhere, search.p.targets, starts, 0, 1, room, points)
    if not are_apart(first, point):
        return False
    copy_to(point, search.vectors[X])
    return True


@inlined
def are_apart(first: Array, point: Array) -> bool:
    """Whether there is a solution beside where the first attempt began."""
    apart = 0.0
    for j in range(first.shape[0]):
        apart = max(apart, abs(point[j] - first[j]))
    return apart > SAME
