"""All solutions of a problem that has finitely many, such as a pose for an arm of six joints.

Searches start all over the joint space, evenly, each with restarts, so each ends in a solution
unless there is none; what they find is collected modulo whole turns. A solution that draws the
share p of the starts is missed by k searches with the probability (1 - p)^k. So the search ends
after LEAST searches at the earliest, and when every solution has been found REPEATS times: one
that draws half as many starts as the rarest of those is then missed with a probability of about
exp(-REPEATS / 2), an equally rare one with exp(-REPEATS).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .batch import CHUNK, ManySolves, scattered_starts
from .exceptions import InvalidOption, UnsupportedProblem
from .limits import TURN
from .options import exact_number
from .problem import IkProblem
from .rotations import Array
from .solvers import make_solver
from .solvers.levenberg_marquardt import LevenbergMarquardt

LEAST = 128
REPEATS = 12
TIGHT = 1e-9
"""Solutions are followed to this position [m] and orientation [rad], where that can be met."""
SAME = 1e-4
"""Solutions no further apart in any joint are the same [rad or m]; where TIGHT can't be met,
as many times further as the tolerances are looser than theirs by default."""
SINGULAR = 1e-6
"""Smallest singular value of a regular Jacobian, as a share of the largest."""
MOST_SINGULAR = 16
"""So many solutions found once only, all at singularities, are taken for a continuum."""
MOST_TURNS = 10**6


@dataclass(frozen=True, eq=False)
class Solutions:
    """Solutions `q` (k, n), nearest to the start first; indexing and iterating gives each.

    `position_errors`, `orientation_errors` (k, goals) [m, rad] of exactly these q. `singular`
    (k,): where the Jacobian loses rank, so that the solution may belong to a continuum, of which
    samples are here. `complete`: whether the stopping rule was met, see `solve_all`. `searches`:
    how many there were. `solve_time` [s].
    """

    q: Array
    position_errors: Array
    orientation_errors: Array
    singular: NDArray[np.bool_]
    complete: bool
    searches: int
    solve_time: float

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, i: int) -> Array:
        return self.q[i]

    def __iter__(self) -> Iterator[Array]:
        return iter(self.q)


def solve_all(
    problem: IkProblem,
    q0: ArrayLike | None = None,
    *,
    turns: bool = False,
    max_searches: int = 4096,
    random_seed: int = 0,
    threads: int | None = None,
    **options: Any,
) -> Solutions:
    """All solutions of a problem with finitely many; the module says when it stops looking.

    q0 (n,) : solutions are sorted by their distance to it, and of those that differ by whole
        turns only the nearest is given; joints that the problem does not move keep their value
    turns : give every copy within the limits; of joints without limits only the nearest
    max_searches : after so many `complete` is False, as it is where singular solutions keep
        coming: at a singularity (two axes of a wrist in line, say) there is a continuum, and
        `singular` marks the samples of it that were found
    options : those of `levenberg_marquardt`

    An empty answer means that no search reached the goals. Raises UnsupportedProblem where the
    goals leave freedom, so that there are infinitely many solutions, or where tasks are weighed
    against them.
    """
    started = time.perf_counter()
    limit = _checked_searches(max_searches)
    own = _checked_problem(problem)
    start = own.start(q0)[0]
    solver = make_solver(random_seed=random_seed, **options)
    assert isinstance(solver, LevenbergMarquardt)
    first, same = _tighten(own, solver, start)
    found = _Found(own, same)
    found.add(first, len(first))
    many = ManySolves(own, solver, threads)
    while found.points and not found.ended and found.searches < limit:
        count = min(CHUNK, limit - found.searches)
        starts, seeds = scattered_starts(own, start, found.searches, count, random_seed)
        batch = many.run(None, starts, near=start, seeds=seeds)
        reached = batch.q[batch.success]
        found.add(reached[:, own.variables], count)
    q = np.tile(start, (len(found.points), 1))
    q[:, own.variables] = np.reshape(found.points, (len(q), -1))
    if turns:
        q = _with_turns(own, q)
    q = q[np.argsort(np.linalg.norm(q - start, axis=1), kind='stable')]
    complete = found.complete and bool(found.points)
    return Solutions(q, *_judge(own, q), complete, found.searches, time.perf_counter() - started)


class _Found:
    """The different solutions so far, and how often each was found."""

    def __init__(self, problem: IkProblem, same: float) -> None:
        self.problem = problem
        self.same = same
        self.points: list[Array] = []
        self.counts: list[int] = []
        self.singular: list[bool] = []
        self.searches = 0

    def add(self, points: Array, searches: int) -> None:
        """Take over what so many searches found, points (N, variables), the best ones first."""
        self.searches += searches
        for i in itertools.count():
            if i == len(self.points):
                if not len(points):
                    return
                self.points.append(points[0])
                self.counts.append(0)
                self.singular.append(_is_singular(self.problem, points[0]))
            known = self._is_same(points, self.points[i])
            self.counts[i] += int(known.sum())
            points = points[~known]

    def _is_same(self, points: Array, point: Array) -> NDArray[np.bool_]:
        gap = points - point
        turning = self.problem.limits.turns
        gap[:, turning] -= TURN * np.round(gap[:, turning] / TURN)
        return np.asarray((np.abs(gap) <= self.same).all(1))

    @property
    def complete(self) -> bool:
        """Whether the stopping rule is met; a singular solution has to be found again only."""
        needed = np.where(self.singular, 2, REPEATS)
        return self.searches >= LEAST and bool((self.counts >= needed).all())

    @property
    def ended(self) -> bool:
        """Whether looking on is of no use."""
        lonely = sum(s and c == 1 for s, c in zip(self.singular, self.counts, strict=True))
        return self.complete or lonely > MOST_SINGULAR


def _checked_problem(problem: IkProblem) -> IkProblem:
    """A copy to work on; UnsupportedProblem where it has infinitely many solutions."""
    if problem.soft:
        names = ', '.join(type(task).__name__ for task in problem.soft)
        raise UnsupportedProblem(f'solve_all takes goals only; {names} is weighed against them')
    own = problem.clone()
    own.secondary = ()
    own.start()
    n, ranks = len(own.variables), [own.goals.rows]
    if ranks[0] >= n:
        starts, _ = scattered_starts(own, own.default_configuration, 0, 3, 0)
        jacobians = [own.at(start[own.variables]).jacobian for start in starts]
        ranks = [int(np.linalg.matrix_rank(j, tol=1e-9 * np.linalg.norm(j))) for j in jacobians]
    if max(ranks) < n:
        raise UnsupportedProblem(
            f'the goals leave {n - max(ranks)} of {n} joints free, so there are infinitely many '
            'solutions: freeze as many joints (frozen_joints=), or choose one by solve_best or '
            'by secondary tasks'
        )
    return own


def _tighten(problem: IkProblem, solver: LevenbergMarquardt, q0: Array) -> tuple[Array, float]:
    """Narrow the tolerances of `problem`, if they can be met; the points (0 or 1, variables)
    that the attempt found, and how near to each other two have to be to be the same."""
    given = problem.position_tolerance, problem.orientation_tolerance
    problem.position_tolerance, problem.orientation_tolerance = np.minimum(given, TIGHT)
    result = solver.solve(problem, q0)
    same = SAME
    if not result.success:
        problem.position_tolerance, problem.orientation_tolerance = given
        result = solver.solve(problem, q0)
        same *= max(1.0, given[0] / 1e-5, given[1] / 1e-4) * 10.0
    return result.q[np.newaxis, problem.variables][: int(result.success)], same


def _is_singular(problem: IkProblem, x: Array) -> bool:
    s = np.linalg.svd(problem.at(x).jacobian, compute_uv=False)
    return bool(s[-1] <= SINGULAR * s[0])


def _with_turns(problem: IkProblem, q: Array) -> Array:
    """Every copy of q (k, n) by whole turns inside the limits."""
    limits, moving = problem.limits, problem.variables
    bounded = limits.turns & np.isfinite(limits.lower) & np.isfinite(limits.upper)
    copies = []
    for one in q:
        x = one[moving]
        few = np.where(bounded, np.ceil((np.where(bounded, limits.lower, 0) - x) / TURN), 0)
        many = np.where(bounded, np.floor((np.where(bounded, limits.upper, 0) - x) / TURN), 0)
        ranges = [np.arange(a, b + 1) for a, b in zip(few, many, strict=True)]
        if len(q) * np.prod([float(len(r)) for r in ranges]) > MOST_TURNS:
            raise UnsupportedProblem(f'there are more than {MOST_TURNS} copies by whole turns')
        whole = np.stack(np.meshgrid(*ranges, indexing='ij'), -1).reshape(-1, len(moving))
        turned = np.tile(one, (len(whole), 1))
        turned[:, moving] = limits.project(x + TURN * whole)
        copies.append(turned)
    return np.concatenate(copies) if copies else q


def _judge(problem: IkProblem, q: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """The goals' errors (k, goals) of each q, and whether it is singular."""
    shape = (len(q), len(problem.tasks))
    errors = np.array([problem.errors(one) for one in q]).reshape(len(q), 2, shape[1])
    singular = [_is_singular(problem, one[problem.variables]) for one in q]
    return errors[:, 0].copy(), errors[:, 1].copy(), np.array(singular, bool)


def _checked_searches(max_searches: int) -> int:
    number = exact_number(max_searches, int)
    if number is None or number < 1:
        raise InvalidOption(f'max_searches = {max_searches!r}: a whole number >= 1 is needed')
    return int(number)
