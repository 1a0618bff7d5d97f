# SPDX-License-Identifier: Apache-2.0
"""All solutions of a problem with finitely many solutions, such as a pose for a six-joint arm.

If the chain has a closed form (`ik_core.closed_form`), that gives all solutions; if it gives none,
the goals are proved to be out of reach.

Otherwise searches start evenly spread over the joint space, each with restarts, so each ends in a
solution if there is one; solutions are collected modulo whole turns. A solution that attracts the
fraction p of the starts is missed by k searches with the probability (1 - p)^k. So the search ends
after at least LEAST_SEARCHES searches, once every solution has been found REPEATS times: a
solution that attracts half as many starts as the rarest of these has then been missed with a
probability of about exp(-REPEATS / 2), an equally rare one with exp(-REPEATS).

The end of a search, within the tolerances, is counted for a known solution if it is nearer to it
than a second solution can be: within NEWTON times the relative smallest singular value there,
since Newton's method converges to the solution from all around (Kantorovich). All other ends are
first refined to TIGHT_TOLERANCE, or as far as possible: near a singularity distant postures are
within the tolerances of one solution. An end that remains inexact (a near miss) is a solution of
its own if it is within the problem's tolerances and no straight path within them leads to a better
one. So problems with few joints, which reach hardly any goal exactly, have all their branches.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..closed_form.cached_form import CachedForm
from ..closed_form.closed_form import ClosedForm
from ..closed_form.naming import branch_names
from ..display import angle, html_table, length
from ..display import time as time_text
from ..exceptions import UnsupportedProblem
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array
from ..options import whole_number
from ..problem import IkProblem, checked_problem
from ..result import IkStatus
from ..robot.limits import FULL_TURN
from ..solvers import Solver, make_solver
from ..solvers.names import AllSolutionsOptions
from .many_targets import ManySolves, scattered_starts

if TYPE_CHECKING:
    from typing_extensions import Unpack

LEAST_SEARCHES = 128
MORE = 64  # searches between two checks of the stopping rule, after the first LEAST_SEARCHES
REPEATS = 12
# solutions are refined to this position [m] and orientation [rad], if possible
TIGHT_TOLERANCE = 1e-11
EXACT = 1e-9  # [m, rad] with larger errors a solution is a near miss
BETWEEN = tuple(k / 8 for k in range(1, 8))  # checked points of a path between configurations
SAME = 1e-4  # [rad or m] solutions that differ less in all joints are the same
NEWTON = 0.03  # a solution is alone within this, times its smallest relative singular value
SINGULAR_ESTIMATE = 1e-6  # smallest singular value of a regular Jacobian, relative to the largest
NEARLY_SINGULAR = 1e-5  # solutions with a smaller estimate of that get an SVD
MOST_SINGULAR = 16  # if as many singular solutions were found only once, there is a continuum
MOST_LOST = 0.01  # fraction of searches whose ends could not be refined, near singularities
MOST_TURNS = 10**6


@dataclass(frozen=True, eq=False)
class Solutions:
    """All solutions `q` (k, n), nearest to the start first; `solutions[i]` and iteration give
    rows.

    `position_errors`, `orientation_errors` (k, goals) [m, rad]: errors of exactly these q.
    `singular` (k,): true if the Jacobian loses rank, so that the solution may be one of a
    continuum. `complete`: true if the stopping rule was met, see `solve_all`. `searches`: number
    of searches. `solve_time` [s]. `family`: the geometry that makes a closed form possible; '' for
    solutions found by searches. `colliding` (m, n): solutions that the problem's `avoid` or
    `valid` excludes; if `complete`, and there are no others, this proves that no solution is free.
    `problem`: the problem that they are solutions of.
    """

    q: Array
    position_errors: Array
    orientation_errors: Array
    singular: NDArray[np.bool_]
    complete: bool
    searches: int
    solve_time: float
    family: str = ''
    colliding: Array = field(default_factory=lambda: np.empty((0, 0)))
    problem: IkProblem | None = None

    @property
    def branches(self) -> tuple[str, ...]:
        """Names of the solutions, such as 'left, up, no flip': see `closed_form.branch_names`."""
        if self.problem is None:
            return ('',) * len(self)
        return tuple(branch_names(self.problem, self.q))

    def __repr__(self) -> str:
        what = 'all' if self.complete else 'perhaps not all'
        singular = f', {self.singular.sum()} singular' if self.singular.any() else ''
        singular += f', {len(self.colliding)} more collide' if len(self.colliding) else ''
        errors = [e.max(initial=0.0) for e in (self.position_errors, self.orientation_errors)]
        by = 'closed form' if self.family else f'{self.searches:,} searches'
        return (
            f'<Solutions: {len(self)} ({what}{singular}) by {by} '
            f'in {time_text(self.solve_time)}, errors up to {length(errors[0])} and '
            f'{angle(errors[1])}>'
        )

    def _repr_html_(self) -> str:
        """A table with a row for every solution."""
        q = [[f'{value:.4f}' for value in row] for row in self.q]
        head = ('', *(f'q[{j}]' for j in range(self.q.shape[1])))
        return html_table(repr(self)[1:-1], head, [(i, *row) for i, row in enumerate(q)])

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, i: int) -> Array:
        return self.q[i]

    def __iter__(self) -> Iterator[Array]:
        return iter(self.q)


def solve_all(
    problem: IkProblem,
    q0: VectorLike | None = None,
    *,
    turns: bool = False,
    closed_form: bool = True,
    max_searches: int = 4096,
    random_seed: int = 0,
    threads: int | None = None,
    **options: Unpack[AllSolutionsOptions],
) -> Solutions:
    """Find all solutions of a problem with finitely many; the stopping rule is in the module.

    q0 (n,) : solutions are sorted by their distance from it, and only the nearest of those that
        differ by whole turns is returned; joints that the problem does not move keep their value
    turns : True returns every copy within the limits; for joints without limits only the nearest
    closed_form : False searches even if there is a closed form
    max_searches : most searches. If they are used up, `complete` is False, and also if more and
        more singular solutions are found: at a singularity (two axes of a wrist in line, say)
        there is a continuum, and `singular` marks its samples
    options : options of `levenberg_marquardt`; they, and the three arguments before, apply to
        searches only

    Solutions are all configurations whose errors are locally least and within the problem's
    tolerances. With a closed form `complete` is certain, and False only at singularities: an empty
    result proves that the goals are out of reach. If configurations may be within the tolerances
    that the closed form does not give, searches are used. After searches an empty result means
    that none of them reached the goals. Raises UnsupportedProblem if the goals leave freedom, so
    that there are infinitely many solutions, or if other tasks are weighted against them.
    """
    started = time.perf_counter()
    checked_problem(problem)
    limit = whole_number(max_searches, 'max_searches')
    solver = _searcher(random_seed, options) if options else None
    answer = _in_closed_form(problem, q0, turns, started) if closed_form else None
    if answer is None:
        solver = solver or _searcher(random_seed, options)
        answer = _by_searches(problem, q0, turns, limit, random_seed, threads, solver, started)
    answer = replace(answer, problem=problem)
    return _free_ones(answer, problem, started) if problem.avoids else answer


def _by_searches(
    problem: IkProblem,
    q0: VectorLike | None,
    turns: bool,
    limit: int,
    random_seed: int,
    threads: int | None,
    solver: Solver,
    started: float,
) -> Solutions:
    """Find the solutions by at most `limit` searches."""
    own = _checked_problem(problem)
    start = own.evaluator.load(q0)
    found = _Found(own, start)
    many = ManySolves(own, solver, threads)
    first = solver.solve(own, start)
    found.add(first.q[np.newaxis][: int(first.success)], 1)
    while first.success and not found.ended and found.searches < limit:
        count = MORE if found.searches >= LEAST_SEARCHES else LEAST_SEARCHES
        count = min(count, limit - found.searches)
        starts, seeds = scattered_starts(own, start, found.searches, count, random_seed)
        batch = many.run(None, starts, near=start, seeds=seeds)
        found.add(batch.q[batch.success], count)
    q, singular = found.solutions()
    if turns:
        q, singular = _with_turns(own, q, singular)
    order = np.argsort(np.linalg.norm(q - start, axis=1), kind='stable')
    errors = np.array([own.errors(one) for one in q[order]]).reshape(len(q), 2, len(own.goals))
    return Solutions(
        q[order],
        errors[:, 0].copy(),
        errors[:, 1].copy(),
        singular[order],
        found.complete,
        found.searches,
        time.perf_counter() - started,
    )


def _free_ones(found: Solutions, problem: IkProblem, started: float) -> Solutions:
    """Move the solutions that are not free to `colliding`."""
    free = problem.avoidance.which_may_answer(found.q)
    return replace(
        found,
        q=found.q[free],
        position_errors=found.position_errors[free],
        orientation_errors=found.orientation_errors[free],
        singular=found.singular[free],
        solve_time=time.perf_counter() - started,
        colliding=found.q[~free],
    )


def _searcher(random_seed: int, options: Mapping[str, Any]) -> Solver:
    """Make the solver for searches; it uses no closed form, as an independent check."""
    return make_solver(random_seed=random_seed, **{'closed_form': False, **options})


# cached closed forms of problems, for as long as the problem exists
_KNOWN: WeakKeyDictionary[IkProblem, CachedForm] = WeakKeyDictionary()


def _form_of(problem: IkProblem, q0: VectorLike | None) -> ClosedForm | None:
    """The closed form of a problem with its frozen joints as in q0, or None."""
    known = _KNOWN.get(problem)
    if known is None or not known.is_for(problem):
        known = _KNOWN[problem] = CachedForm(problem)
    start = problem.default_configuration if q0 is None else problem.robot.checked(q0, 'q0')
    return known.find(start)


def _in_closed_form(
    problem: IkProblem, q0: VectorLike | None, turns: bool, started: float
) -> Solutions | None:
    """Find the solutions by a closed form. None if the only forms have redundant joints."""
    form = _form_of(problem, q0)
    if form is None:
        return None
    try:
        q = form.solve_to_tolerances(q0)
    except UnsupportedProblem:  # with the frozen joints at their values in q0
        return None
    if form.redundant_joint is not None or not form.is_certain:
        return None
    errors, ratios = form.appraised(q)
    singular = ratios <= NEARLY_SINGULAR
    for i in singular.nonzero()[0]:
        values = np.linalg.svd(problem.at(q[i, problem.variables]).jacobian, compute_uv=False)
        singular[i] = values[-1] <= SINGULAR_ESTIMATE * values[0]
    if turns:
        q, singular = _with_turns(problem, q, singular)
        order = np.argsort(np.linalg.norm(q - form.start(q0), axis=1), kind='stable')
        q, singular = q[order], singular[order]
        errors, _ = form.appraised(q)
    return Solutions(
        q,
        errors[:, :1].copy(),
        errors[:, 1:].copy(),
        singular,
        not singular.any(),
        0,
        time.perf_counter() - started,
        form.family,
    )


class _Found:
    """The distinct solutions so far, and how often each was found."""

    def __init__(self, problem: IkProblem, start: Array) -> None:
        self.problem = problem
        self.start = start
        self.points: list[Array] = []
        self.counts: list[int] = []
        self.radii: list[float] = []
        self.misses: list[float] = []  # largest errors [m, rad], 0 for solutions
        self.singular: list[bool] = []
        self.searches = self.lost = 0
        tight = problem.clone()
        tight.position_tolerance = tight.orientation_tolerance = TIGHT_TOLERANCE
        self.polish = ManySolves(tight, make_solver(restarts=0), threads=1)

    def add(self, q: Array, searches: int) -> None:
        """Add the solutions q (N, n) of a number of searches."""
        self.searches += searches
        q = self._count(q)
        refined = self.polish.run(None, q, near=self.start)
        ended = refined.status != IkStatus.ITERATION_LIMIT
        errors = refined.position_errors, refined.orientation_errors
        exact = ended & (np.maximum(*errors).max(axis=1) <= EXACT)
        solved = [self.problem.is_solved(*each) for each in zip(*errors, strict=True)]
        points = np.where(np.array(solved, bool)[:, None], refined.q, q)
        self.lost += int((~ended).sum())
        for which, is_exact in ((exact, True), (ended & ~exact, False)):
            q = self._count(points[which])
            while len(q):
                self._append(q[0, self.problem.variables], is_exact)
                q = self._count(q) if is_exact else self._count(q[1:])

    def _append(self, point: Array, exact: bool) -> None:
        """Add a solution; it replaces near misses connected to it, and takes their counts."""
        one = self.problem.at(point)
        miss = (
            0.0 if exact else float(max(one.position_errors.max(), one.orientation_errors.max()))
        )
        same = [i for i, other in enumerate(self.points) if self._connects(i, other, point, exact)]
        if same and miss >= min(self.misses[i] for i in same):
            self.counts[same[0]] += 1
            return
        count = sum(self.counts[i] for i in same)
        for i in reversed(same):
            for rows in (self.points, self.counts, self.misses, self.radii, self.singular):
                del rows[i]
        s = np.linalg.svd(one.jacobian, compute_uv=False)
        self.points.append(point)
        self.counts.append(count + (not exact))
        self.misses.append(miss)
        self.radii.append(max(SAME, NEWTON * float(s[-1] / s[0])))
        self.singular.append(bool(s[-1] <= SINGULAR_ESTIMATE * s[0]))

    def _connects(self, i: int, known: Array, point: Array, exact: bool) -> bool:
        """Return whether a straight path within the tolerances connects a point to solution i.

        Two exact solutions are always distinct.
        """
        if exact and self.misses[i] == 0.0:
            return False
        to = self.problem.limits.nearest_turn(known, point)
        between = (self.problem.at(point + part * (to - point)) for part in BETWEEN)
        return all(
            self.problem.is_solved(at.position_errors, at.orientation_errors) for at in between
        )

    def _count(self, q: Array) -> Array:
        """Count those of q (N, n) that are known solutions; return the others."""
        turning = self.problem.limits.turns
        for i, point in enumerate(self.points):
            gap = q[:, self.problem.variables] - point
            gap[:, turning] -= FULL_TURN * np.round(gap[:, turning] / FULL_TURN)
            known = (np.abs(gap) <= self.radii[i]).all(1)
            self.counts[i] += int(known.sum())
            q = q[~known]
        return q

    @property
    def complete(self) -> bool:
        """True if the stopping rule is met; singular solutions need to be found twice only."""
        needed = np.where(self.singular, 2, REPEATS)
        often = bool((np.array(self.counts) >= needed).all()) and len(self.counts) > 0
        return often and self.searches >= LEAST_SEARCHES and self.lost <= MOST_LOST * self.searches

    @property
    def ended(self) -> bool:
        """True if further searches are useless: all found, or a continuum."""
        lonely = sum(s and c == 1 for s, c in zip(self.singular, self.counts, strict=True))
        return self.complete or lonely > MOST_SINGULAR

    def solutions(self) -> tuple[Array, NDArray[np.bool_]]:
        """The solutions (k, n), and the mask (k,) of singular ones."""
        q = np.tile(self.start, (len(self.points), 1))
        q[:, self.problem.variables] = np.reshape(self.points, (len(q), -1)) if len(q) else 0.0
        return q, np.array(self.singular, bool)


def _checked_problem(problem: IkProblem) -> IkProblem:
    """Copy a problem for the searches. Raises UnsupportedProblem for a continuum of solutions."""
    if problem.other_tasks:
        names = ', '.join(type(task).__name__ for task in problem.other_tasks)
        raise UnsupportedProblem(f'solve_all takes goals only; {names} is weighed against them')
    problem.check_without_constraints()
    own = problem.without_avoid()
    own.levels = ()
    own.evaluator.load()
    n, ranks = len(own.variables), [own.packed.rows]
    if ranks[0] >= n:
        starts, _ = scattered_starts(own, own.default_configuration, 0, 3, 0)
        jacobians = [own.at(start[own.variables]).jacobian for start in starts]
        ranks = [int(np.linalg.matrix_rank(j, tol=1e-9 * np.linalg.norm(j))) for j in jacobians]
    if max(ranks) < n:
        raise UnsupportedProblem(
            f'the goals leave {n - max(ranks)} of {n} joints free, so there are infinitely many '
            'solutions: freeze as many joints (frozen_joints=), or choose one by solve_best '
            '(`ik solve --choose`) or by secondary tasks'
        )
    return own


def _with_turns(
    problem: IkProblem, q: Array, singular: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """Every copy of q (k, n) by whole turns inside the limits, and the mask of singular ones."""
    limits, moving = problem.limits, problem.variables
    turning = limits.turns & np.isfinite(limits.lower) & np.isfinite(limits.upper)
    lower, upper = np.where(turning, limits.lower, 0.0), np.where(turning, limits.upper, 0.0)
    copies, sources = [q[:0]], [singular[:0]]
    for one, flag in zip(q, singular, strict=True):
        x = np.where(turning, one[moving], 0.0)
        first, last = np.ceil((lower - x) / FULL_TURN), np.floor((upper - x) / FULL_TURN)
        if len(q) * np.prod(last - first + 1.0) > MOST_TURNS:
            raise UnsupportedProblem(f'there are more than {MOST_TURNS} copies by whole turns')
        ranges = [np.arange(a, b + 1.0) for a, b in zip(first, last, strict=True)]
        whole = np.stack(np.meshgrid(*ranges, indexing='ij'), -1).reshape(-1, len(moving))
        turned = np.tile(one, (len(whole), 1))
        turned[:, moving] += FULL_TURN * whole
        copies.append(turned)
        sources.append(np.repeat(flag, len(whole)))
    return np.concatenate(copies), np.concatenate(sources)
