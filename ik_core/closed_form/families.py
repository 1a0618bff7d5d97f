# SPDX-License-Identifier: Apache-2.0
"""The families of arms with closed forms, as tables, and the strategies that solve a chain.

A table names the six unknown joints A ... F in the order of the loop. The loop may be cut anywhere
and read backwards, so a spherical wrist, elbow and shoulder are one family, and three parallel
axes are one wherever they are in the chain. Known elements, the target and the redundant joint of
seven, may lie between any two joints that the table does not want to be neighbours.

A row of a table:

    kind    joints  moved object  span  invariant under
    PLANE   C       point D       A:D   BDEF

In the span from joint A up to joint D, without D, joint C moves the point of axis D into a plane
across axis A. (Without an end, a span has one joint.) The last column has the joints that do not
change this equation: paths leave them out, so their values need not be known. See `records` for
the kinds.

A chain of less than six joints is completed by *virtual* joints, which have to come out as zero.
Strategies are tried on the chain (`closed_form`), best first: whether one solves it shows there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array, IntArray
from . import records as rec
from .kernel import EXACT

# Axes that miss each other by less [m], or lean by less [rad], may be treated as if they met or
# were parallel.
NEARLY_SPECIAL = 5e-3
PARALLEL_ROUNDING = 1e-15  # Axes that were made parallel have at most this sine of their angle
ASIDE = 0.02  # Neighbouring axes that meet at an angle of at least this sine are not parallel
# [m] Axes whose distance times the sine of their angle exceeds this neither meet nor are parallel.
SKEW = 1e-5
# Order in which the joints of a 7R chain are tried as the redundancy parameter.
REDUNDANT_ORDER = 2, 6, 4, 0, 1, 3, 5
# Directions and points [m] that are special to no robot.
GENERIC = np.random.default_rng(6).normal(size=(12, 3))
WHOLE = 'ABCDEF'


@dataclass(frozen=True)
class Family:
    """A table and its conditions.

    Groups of neighbouring joints: those that `meet` in a point, that are `parallel`, that move
    points within parallel planes (`planar`), or that do neither of these (`apart`). `turning`:
    joints that are not prismatic.
    """

    steps: str
    turning: str
    meet: tuple[str, ...] = ()
    parallel: str = ''
    planar: str = ''
    apart: str = ''


_WRIST = """
    CONE    DE   axis F   D:F  F
    TURN    F    axis E   F:   -
"""
_PLANAR_ARM = """
    CIRCLE  AB   point C  A:C  C
    TURN    C    axis D   C:D  D
"""
# Families of closed forms. Those with an equation of degree four come last, except for the last
# two families.
FAMILIES = (
    Family(
        """
        PLANE   C    point D  A:D  BDEF
        CIRCLE  AB   point D  A:D  DEF
        """ + _WRIST,
        turning='DEF', meet=('DEF',), planar='AB',
    ),
    Family(
        """
        SPHERE  C    point D  A:D  BDEF
        CONE    AB   point D  A:D  DEF
        """ + _WRIST,
        turning='ABDEF', meet=('AB', 'DEF'),
    ),
    Family(
        """
        PLANE   D    point E  C:E  ABEF
        CONE    EF   axis A   E:A  ABC
        """ + _PLANAR_ARM,
        turning='ABCEF', meet=('EF',), parallel='ABC',
    ),
    Family(
        """
        PLACE   ABC  point D  A:D  DEF
        """ + _WRIST,
        turning='DEF', meet=('DEF',), apart='AB',
    ),
    Family(
        """
        LEVEL   DEF  axis A   D:A  ABC
        """ + _PLANAR_ARM,
        turning=WHOLE, parallel='ABC', apart='DE',
    ),
)  # fmt: skip
_KINDS = {
    'TURN': rec.TURN, 'PLANE': rec.PLANE, 'SPHERE': rec.SPHERE, 'CONE': rec.CONE,
    'CIRCLE': rec.SPHERE, 'PLACE': rec.PLACE, 'LEVEL': rec.LEVEL,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Strategy:
    """A way to solve a chain by subproblems.

    plan : the whole numbers of `records`, but for the joints' places in q
    rows : (elements, 6) axis and point of each as the formulas take them; `slides` (elements,)
    normals : (2, 6) two more axes that records see
    of : the joints that make it possible; `are_parallel`, or else meet
    deviation : how far their axes are from that [m, rad]
    redundant : the joint that is the redundancy parameter, or -1
    virtual : number of virtual joints
    order : the elements that elimination solves for, from the root on; empty where records do
    """

    plan: IntArray
    rows: Array
    slides: NDArray[np.bool_]
    normals: Array
    of: tuple[int, ...]
    are_parallel: bool
    deviation: float
    redundant: int = -1
    virtual: int = 0
    order: tuple[int, ...] = ()

    @property
    def by_elimination(self) -> bool:
        """True if elimination solves the chain, instead of records."""
        return bool(self.order)

    @property
    def is_simple(self) -> bool:
        """True if the records have no equation of degree four."""
        kinds = self.plan[rec.HEADER + rec.KIND :: rec.RECORD][: self.plan[rec.RECORDS]]
        return not self.by_elimination and bool((kinds < rec.PLACE).all())

    @property
    def is_completed(self) -> bool:
        """True if the chain is completed by virtual joints, which must be zero in solutions."""
        return self.virtual > 0

    def title(self, names: Sequence[str]) -> str:
        """The strategy in words, with the names of the chain's joints."""
        these = ', '.join(names[i] for i in self.of)
        if self.plan[rec.POINT_ONLY]:
            title = f'{len(names)} joints that place a point'
        elif self.by_elimination:
            title = f'a chain of {len(names)}, by eigenvalues'
        elif self.are_parallel:
            title = f'three parallel axes ({these})'
        elif len(self.of) == 3:
            title = f'three axes that meet in a point ({these})'
        elif len(self.of) == 2:
            title = f'two axes that meet ({these})'
        else:
            title = f'a chain of {len(names)}'
        if self.deviation > EXACT:
            title += f', but for {self.deviation:.0e}'
        if self.redundant < 0:
            return title
        return f'{title}, {names[self.redundant]} as redundancy parameter'


def strategies(
    rows: Array, slides: NDArray[np.bool_], point: Array | None = None
) -> list[Strategy]:
    """Strategies for a chain of rows (n, 6), the exact and simple ones first.

    `point` (3,) [m]: what has to be placed, all joints at zero, where that is no pose.
    """
    n = len(rows)
    if n > (7 if point is None else 3):
        return []
    chain = _Chain(rows, slides, point)
    found = [*chain.by_records(), *chain.by_elimination()]
    return sorted(found, key=lambda one: round(one.deviation, 7))


class _Chain:
    """A chain: axes (n, 6), which of them slide (n,), and the point (3,) of a position goal."""

    def __init__(self, rows: Array, slides: NDArray[np.bool_], point: Array | None) -> None:
        self.n, self.point = len(rows), point
        self.rows = np.vstack([np.zeros(6), rows])
        self.slides = np.concatenate([[False], slides])

    def by_elimination(self) -> Iterator[Strategy]:
        """Yield strategies of elimination: six joints of any geometry. Five are completed by a
        virtual joint; of seven, any may be the redundancy parameter."""
        if self.point is not None or self.n < 5:
            return
        virtual, given = 6 - min(self.n, 6), (np.zeros((2, 6)), (), False, 0.0)
        rows = np.vstack([self.rows, *[_row(GENERIC[3], GENERIC[4])] * virtual])
        slides = np.concatenate([self.slides, np.zeros(virtual, bool)])
        elements = list(range(1, len(rows)))
        for redundant in (-1,) if self.n <= 6 else REDUNDANT_ORDER:
            plan = np.zeros(rec.HEADER, np.int64)
            plan[rec.ELEMENTS], plan[rec.JOINTS] = len(rows), self.n
            _note_redundant(plan, redundant)
            order = [k for k in elements if k != redundant + 1 or redundant < 0]
            for own in (order, [order[-1], *order[:-1]])[: 1 + virtual]:
                yield Strategy(plan, rows, slides, *given, redundant, virtual, tuple(own))

    def by_records(self) -> Iterator[Strategy]:
        """Yield strategies of the tables, for any redundancy parameter, virtual joints and cut of
        the loop, read in both directions."""
        for redundant in (-1,) if self.n <= 6 else REDUNDANT_ORDER:
            found = [
                one
                for family in FAMILIES
                for virtual in self._virtual_letters(family)
                for mirrored in ((False, True) if self.point is None else (False,))
                for first in (range(self.n + 1) if self.point is None else (1,))
                if (one := self._strategy(family, virtual, redundant, mirrored, first))
            ]
            yield from sorted(found, key=lambda one: -len(one.of) if self.n < 6 else 0)

    def _virtual_letters(self, family: Family) -> Iterator[str]:
        """Yield the letters of virtual joints; the real ones of a group are neighbours."""
        count = 6 - min(self.n, 6)
        if self.point is not None:
            if family.parallel:
                return
            count = 3 - self.n
        for some in combinations('ABC' if self.point is not None else WHOLE, count):
            letters = ''.join(some) + ('DEF' if self.point is not None else '')
            if any(letter in family.parallel + family.planar + family.apart for letter in some):
                continue
            real = [''.join('v' if x in letters else x for x in group) for group in family.meet]
            if all('v' not in group.strip('v') for group in real):
                yield letters

    def _strategy(
        self, family: Family, virtual: str, redundant: int, mirrored: bool, first: int
    ) -> Strategy | None:
        """Return the strategy of a family for one cut of the loop; None if it does not fit."""
        cycle = np.roll(np.arange(self.n + 1), -first)[:: -1 if mirrored else 1].tolist()
        known = rec.TARGET, redundant + 1 if redundant >= 0 else rec.TARGET
        free = [k for k in cycle if k not in known]
        if not free or cycle[0] != free[0]:  # one cut for each labelling: known ones come last
            return None
        letters, last = {}, -1
        for letter in WHOLE:
            if letter in virtual:
                letters[letter] = self.n + 1 + virtual.index(letter)
                cycle.insert(last + 1, letters[letter])
            else:
                letters[letter] = free.pop(0)
            last = cycle.index(letters[letter])
        loop = _Loop(self, family, cycle, letters, virtual, mirrored)
        deviation = loop.deviation()
        if not deviation <= NEARLY_SPECIAL:
            return None
        plan = loop.compiled()
        _note_redundant(plan, redundant)
        plan[rec.POINT_ONLY] = self.point is not None
        group = family.parallel or family.meet[-1]
        of = sorted(letters[x] - 1 for x in group if x not in virtual)
        return Strategy(
            plan, loop.rows, loop.slides, loop.normals, tuple(of), bool(family.parallel),
            deviation, redundant, len(virtual.strip('DEF') if self.point is not None else virtual),
        )  # fmt: skip


def _note_redundant(plan: IntArray, redundant: int) -> None:
    plan[rec.REDUNDANT] = redundant + 1 if redundant >= 0 else -1
    plan[rec.REDUNDANT_JOINT] = redundant


class _Loop:
    """A loop with letters for its unknown elements, which is compared with a table."""

    def __init__(
        self,
        chain: _Chain,
        family: Family,
        cycle: list[int],
        letters: dict[str, int],
        virtual: str,
        mirrored: bool,
    ) -> None:
        self._chain, self._family, self._cycle, self._letters = chain, family, cycle, letters
        self._virtual, self._mirrored = virtual, mirrored
        more = [_row(GENERIC[i], GENERIC[-1 - i]) for i in range(len(virtual))]
        self.rows = np.vstack([chain.rows, *more])
        self.slides = np.concatenate([chain.slides, np.zeros(len(virtual), bool)])
        self.normals = np.zeros((2, 6))
        self._plane = 0  # row of the normal of planes that a planar pair moves points in
        self._within = 0  # and of the direction within them that its first joint does not move in

    def deviation(self) -> float:
        """Move the axes to fit the table; return how far they moved, inf if they can't fit."""
        family, letters = self._family, self._letters
        if any(self.slides[letters[x]] for x in family.turning):
            return np.inf
        for group in (*family.meet, family.parallel, family.planar, family.apart):
            places = [self._cycle.index(letters[x]) for x in group]
            if places and places != list(range(places[0], places[0] + len(group))):
                return np.inf
        if self._mirrored:
            self.rows[:, :3] *= -1.0
        missed = [0.0]
        if family.apart and not self._are_apart(*family.apart):
            return np.inf
        if family.parallel:
            missed.append(self._make_parallel([letters[x] for x in family.parallel]))
        if family.planar:
            missed.append(self._make_planar(*(letters[x] for x in family.planar)))
        if max(missed) <= NEARLY_SPECIAL:
            missed += [self._make_meet(group) for group in family.meet]
        return max(missed)

    def _are_apart(self, *pair: str) -> bool:
        one, two = (self._letters[x] for x in pair)
        if self.slides[[one, two]].any():
            return True
        a, b = self.rows[one], self.rows[two]
        return bool(abs(np.cross(a[:3], b[:3]) @ (b[3:] - a[3:])) > SKEW)

    def _make_parallel(self, these: list[int]) -> float:
        axes = self.rows[these, :3]
        signs = np.where(axes @ axes[len(these) // 2] < 0.0, -1.0, 1.0)[:, None]
        mean = (signs * axes).sum(0)
        mean /= np.linalg.norm(mean)
        lean = float(np.linalg.norm(np.cross(axes, mean), axis=1).max())
        if lean <= NEARLY_SPECIAL:
            self.rows[these, :3] = signs * mean
        return lean

    def _make_planar(self, one: int, two: int) -> float:
        """Make the axes of a group, of two joints, `planar`; see `Family`."""
        a, b, slides = self.rows[one], self.rows[two], self.slides[[one, two]].tolist()
        if slides == [False, False]:
            self._plane = one
            return self._make_parallel([one, two])
        normal = np.cross(a[:3], b[:3]) if slides == [True, True] else (b if slides[0] else a)[:3]
        length = float(np.linalg.norm(normal))
        if length < ASIDE:
            return np.inf
        if slides[0]:
            self._plane, self._within = rec.NORMALS, rec.NORMALS + 1
            self.normals[0, :3] = normal / length
            self.normals[1, :3] = np.cross(normal / length, a[:3])
        else:
            self._plane = one
        return 0.0 if slides == [True, True] else abs(float(a[:3] @ b[:3]))

    def _make_meet(self, group: str) -> float:
        """Move the axes of a group, some of which may be virtual, to a common point."""
        these = [self._letters[x] for x in group]
        real = [k for x, k in zip(group, these, strict=True) if x not in self._virtual]
        if self._chain.point is not None and group == 'DEF':
            point, missed = self._chain.point, 0.0
        else:
            point, missed = meeting_point(self.rows[real])
        if missed <= NEARLY_SPECIAL:
            self.rows[these, 3:] = point
            self._turn_virtual(these, real)
        return missed

    def _turn_virtual(self, these: list[int], real: list[int]) -> None:
        """Turn the virtual axes of a group as perpendicular to their neighbours as possible."""
        made = real.copy() or these[:1]
        while len(made) < len(these):
            before = these.index(made[0]) > 0
            k = these[these.index(made[0]) - 1 if before else these.index(made[-1]) + 1]
            axis = GENERIC[5 + len(made)].copy()
            for other in made if len(real) < 2 else made[:1] if before else made[-1:]:
                axis -= (axis @ self.rows[other, :3]) * self.rows[other, :3]
            self.rows[k, :3] = axis / np.linalg.norm(axis)
            made = [k, *made] if before else [*made, k]

    def compiled(self) -> IntArray:
        """Return the table as a plan."""
        lines = [line.split() for line in self._family.steps.splitlines() if line.split()]
        real = [any(x not in self._virtual for x in line[1]) for line in lines]
        lines = lines[: len(real) - real[::-1].index(True)]  # what solves virtual joints alone
        plan = np.zeros(rec.HEADER + rec.RECORD * len(lines), np.int64)
        plan[rec.RECORDS], plan[rec.ELEMENTS] = len(lines), len(self.rows)
        plan[rec.JOINTS], plan[rec.MIRRORED] = self._chain.n, self._mirrored
        signs, path = 0, list[int]()
        for i, line in enumerate(lines):
            record, count = self._record(line, len(plan), path)
            record[rec.SIGN], record[rec.KNOWN_SIGNS] = signs, signs + count
            plan[rec.HEADER + rec.RECORD * i : rec.HEADER + rec.RECORD * (i + 1)] = record
            plan[rec.BEGINS + signs : rec.BEGINS + signs + count] = i
            signs += count
        plan[rec.USED_SIGNS] = signs
        waiting: list[int] = []  # joints that no further sign waits for are put side by side
        for i, line in enumerate(lines):
            at, following = rec.HEADER + rec.RECORD * i, rec.HEADER + rec.RECORD * (i + 1)
            waiting += [self._letters[x] - 1 for x in line[1] if x not in self._virtual]
            begin = len(plan) + len(path)
            is_last = i + 1 == len(lines)
            if is_last or plan[following + rec.KNOWN_SIGNS] > plan[at + rec.KNOWN_SIGNS]:
                path += waiting
                waiting = []
            plan[at + rec.SOLVED : at + rec.SOLVED + 2] = begin, len(plan) + len(path)
        self._mark_shared(lines, plan, path)
        return np.concatenate([plan, np.array(path, np.int64)])

    def _mark_shared(self, lines: list[list[str]], plan: IntArray, path: list[int]) -> None:
        """Mark in each record the elements at the front of OUTSIDE that are the same for all its
        passes; and in a TURN, those at the back that only add to its angle."""
        last = max(plan[rec.USED_SIGNS] - 1, 0)
        own = {self._letters[x] for line in lines[plan[rec.BEGINS + last] :] for x in line[1]}
        for at in range(rec.HEADER, len(plan), rec.RECORD):
            place, end = plan[at + rec.OUTSIDE : at + rec.OUTSIDE + 2].tolist()
            while place < end and path[place - len(plan)] not in own:
                place += 1
            plan[at + rec.SHARED] = place
            if plan[at + rec.KIND] == rec.TURN:
                own_axis = self.rows[plan[at + rec.JOINT], :3]
                while end > place and self._is_along(own_axis, path[end - 1 - len(plan)]):
                    end -= 1
                plan[at + rec.AROUND] = end

    def _is_along(self, axis: Array, k: int) -> bool:
        """Return whether an element only turns about this direction."""
        is_turning = k != rec.TARGET and not self.slides[k]
        return bool(
            is_turning and np.linalg.norm(np.cross(axis, self.rows[k, :3])) <= PARALLEL_ROUNDING
        )

    def _record(self, line: list[str], base: int, path: list[int]) -> tuple[IntArray, int]:
        """Return a record, and the number of signs that select its solution; append its elements
        to `path`."""
        kind, solved, of, moved, ends, fixed = line
        letters, cycle = self._letters, self._cycle
        joint, third = letters[solved[-2:][0]], letters[solved[-1]]
        if len(solved) < 3:  # of two joints the last is solved by the formula
            joint = third
        j, i = cycle.index(joint), cycle.index(third)
        start, stop = (cycle.index(letters[x]) if x else i + 1 for x in ends.split(':'))
        record = np.zeros(rec.RECORD, np.int64)
        record[rec.KIND], record[rec.SEEN] = _KINDS[kind], letters[ends[0]]
        record[rec.FIRST] = letters[solved[0]] if len(solved) > 1 else -1
        record[rec.JOINT], record[rec.INNER] = joint, third
        record[rec.MOVED], record[rec.IS_POINT] = letters[moved], of == 'point'
        if kind == 'PLANE' and self._plane:
            record[rec.SEEN] = self._plane
        if kind == 'CIRCLE' and self._within:
            record[rec.KIND], record[rec.SEEN] = rec.PLANE, self._within
        left_out = {letters[x] for x in fixed if x != '-'}

        def put(place: int, these: Sequence[int]) -> None:
            record[place : place + 2] = base + len(path), base + len(path) + len(these)
            path.extend(these)

        def between(begin: int, end: int) -> list[int]:
            """Return the elements of the cycle between two positions, wrapping around."""
            count = (end - begin) % len(cycle)
            some = [cycle[(begin + k) % len(cycle)] for k in range(count)]
            return [k for k in some if k not in left_out]

        put(rec.BETWEEN, between(start + 1, j) if j != start else [])
        put(rec.MIDDLE, between(j + 1, i) if i != j else [])
        put(rec.INSIDE, between(i + 1, stop))
        put(rec.OUTSIDE, between(stop, start))
        is_linear = record[rec.KIND] in (rec.TURN, rec.PLANE) and self.slides[joint]
        signs = 0 if kind == 'TURN' or is_linear else 2 if len(solved) == 3 else 1
        return record, signs


def meeting_point(rows: Array) -> tuple[Array, float]:
    """Return the point nearest to the axes of rows (k, 6), and its largest distance to one [m].

    The distance is inf if neighbouring axes are parallel. Any point on a single axis will do, and
    without axes any point.
    """
    axes, points = rows[:, :3], rows[:, 3:]
    if len(rows) == 0:
        return GENERIC[2].copy(), 0.0
    if len(rows) == 1:
        return points[0] + 0.2 * axes[0], 0.0
    if any(np.linalg.norm(np.cross(a, b)) < ASIDE for a, b in pairwise(axes)):
        return points[0], np.inf
    flat = np.eye(3) - axes[:, :, None] * axes[:, None]
    point = np.linalg.lstsq(flat.sum(0), np.einsum('kij,kj->i', flat, points), rcond=None)[0]
    miss = np.linalg.norm(np.einsum('kij,kj->ki', flat, point - points), axis=1)
    return point, float(miss.max())


def _row(axis: Array, point: Array) -> Array:
    return np.concatenate([axis / np.linalg.norm(axis), point])
