"""How a chain can be solved: which of its axes meet in a point or are parallel.

A chain of fewer than six joints is completed with *virtual* joints, which have to come out as
zero: two axes that meet are a wrist with a third one, a single axis with two. A chain of seven is
solved for one joint held at a value. Whether a layout really solves a chain is not judged here:
it is tried (`form`), best first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array, IntArray
from .cores import GENERAL, PARALLEL, POINT, WRIST
from .judging import EXACT

NEARLY = 5e-3
"""Axes that miss each other by this [m], or lean by this [rad], may be treated as if not."""
ASIDE = 0.02
"""Sine of the angle from which on neighbouring axes are not parallel."""
HELD_ORDER = 2, 6, 4, 0, 1, 3, 5
"""Which joint of seven is held: the third where that serves, else the last, then the others."""
GENERIC = np.random.default_rng(6).normal(size=(8, 3))
"""Directions and points [m] that are special to no robot."""


@dataclass(frozen=True, eq=False)
class Layout:
    """A way to solve a chain. `rows` (m, 6): axis and point of its joints, virtual ones included;
    `joints` (m,): which joint of the chain each is, -1 for a virtual one; `order`: the rows
    as the kernels take them. `of`: the joints that make it possible. `deviation`: how far their
    axes are from that [m, rad]."""

    kind: int
    rows: Array
    joints: tuple[int, ...]
    order: tuple[int, ...]
    cut: int
    of: tuple[int, ...]
    deviation: float
    reversed: bool = False
    held: int = -1

    @property
    def integers(self) -> IntArray:
        """What the kernels read; see `cores`."""
        numbers = self.kind, self.held, self.reversed, self.cut, *self.order, self.is_completed
        return np.array(numbers, int)

    @property
    def is_completed(self) -> bool:
        """Whether virtual joints have to come out as zero."""
        used = self.order[:3] if self.kind == POINT else self.order
        return any(self.joints[i] < 0 for i in used)

    def title(self, names: Sequence[str]) -> str:
        """What it is, in words, with the names of the chain's joints."""
        these = ', '.join(names[i] for i in self.of)
        if self.kind == POINT:
            title = f'{len(names)} joints that place a point'
        elif self.kind == GENERAL:
            title = f'a chain of {len(names)}, by eigenvalues'
        elif self.kind == PARALLEL:
            title = f'three parallel axes ({these})'
        elif len(self.of) == 3:
            title = f'three axes that meet in a point ({these})'
        elif len(self.of) == 2:
            title = f'two axes that meet ({these})'
        else:
            title = f'a chain of {len(names)}'
        if self.deviation > EXACT:
            title += f', but for {self.deviation:.0e}'
        return title if self.held < 0 else f'{title}, {names[self.held]} as redundancy parameter'


def layouts(rows: Array, slides: NDArray[np.bool_], point: Array | None = None) -> list[Layout]:
    """Those that may solve a chain of rows (n, 6), the exact and simple ones first.

    `point` (3,) [m]: what has to be placed, all joints at zero, where that is no pose.
    """
    n = len(rows)
    if point is not None:
        found = [_point_layout(rows, point)] if n <= 3 else []
    elif n <= 6:
        found = [*_wrists(rows, slides), *_parallels(rows, slides), *_generals(rows)]
    elif n == 7:
        found = [*_held(rows, slides), *_generals_held(rows)]
    else:
        found = []
    return sorted(found, key=lambda layout: round(layout.deviation, 7))


def _point_layout(rows: Array, point: Array) -> Layout:
    """Virtual joints complete it to three; a fourth one stands for the point."""
    more = [_row(GENERIC[i], GENERIC[-1 - i]) for i in range(6 - len(rows))]
    more[3 - len(rows)][3:] = point
    joints = (*range(len(rows)), *(-1 for _ in more))
    return Layout(POINT, np.vstack([rows, *more]), joints, tuple(range(6)), 0, (), 0.0)


def _wrists(rows: Array, slides: NDArray[np.bool_]) -> Iterator[Layout]:
    """Up to three neighbouring joints that meet, and virtual ones, as a wrist."""
    n = len(rows)
    for size in range(min(3, n), max(n - 4, -1), -1):
        for first in range(n - size, -1 if size else n - 1, -1):
            of = tuple(range(first, first + size))
            if n - size > 3 or slides[list(of)].any():
                continue
            point, deviation = meeting_point(rows[list(of)])
            if deviation <= NEARLY:
                yield _simpler(rows, _wrist(rows, of, point, deviation))


def _simpler(rows: Array, layout: Layout) -> Layout:
    """A wrist's layout, or that of the chain read backwards where only there the first two meet or
    are parallel: then there is no equation of degree four."""
    n = len(rows)
    if layout.is_completed or is_simple(layout):
        return layout
    of = tuple(sorted(n - 1 - i for i in layout.of))
    point, deviation = meeting_point(rows[list(layout.of)])
    other = _mirrored(_wrist(rows[::-1], of, point, deviation), n)
    return other if is_simple(other) else layout


def is_simple(layout: Layout) -> bool:
    """Whether the first two axes are neighbours that meet or are parallel."""
    i, j = layout.order[:2]
    one, two = layout.rows[[i, j]]
    return abs(i - j) == 1 and abs(np.cross(one[:3], two[:3]) @ (two[3:] - one[3:])) <= EXACT


def _wrist(rows: Array, of: tuple[int, ...], point: Array, deviation: float) -> Layout:
    """The layout of a wrist; further virtual joints come last in the chain."""
    n, first = len(rows), of[0] if of else len(rows)
    axes = _wrist_axes(rows[list(of), :3])
    wrist = [_row(axis, point) for axis in axes]
    behind = [*rows[first + len(of) :]]
    behind += [_row(GENERIC[i], GENERIC[i + 3]) for i in range(3 - (n - len(of)))]
    count = len(behind)
    joints = (
        *range(first + len(of)),
        *(-1 for _ in range(3 - len(of))),
        *range(first + len(of), n),
        *(-1 for _ in range(3 - (n - len(of)))),
    )
    order = (*range(6 - count, 6), *range(6 - count))
    cut = (first + 3) % 6
    return Layout(
        WRIST, np.vstack([*rows[:first], *wrist, *behind]), joints, order, cut, of, deviation
    )


def _wrist_axes(axes: Array) -> list[Array]:
    """Three axes of a wrist, the given ones first, neighbours at right angles where we choose."""
    made = [*axes]
    for helper in GENERIC[5:]:
        if len(made) == 3:
            break
        axis = helper
        for other in made:
            axis = axis - (axis @ other) * other if len(axes) < 2 else axis
        if len(axes) == 2:
            axis = axis - (axis @ made[-1]) * made[-1]
        made.append(axis / np.linalg.norm(axis))
    return made


def _parallels(rows: Array, slides: NDArray[np.bool_]) -> Iterator[Layout]:
    """Three neighbouring parallel axes, and next to them in the loop two that meet."""
    n = len(rows)
    if slides.any() or n < 3:
        return
    for backwards in (False, True):
        seen = rows[::-1] if backwards else rows
        for first in range(n - 2):
            layout = _parallel(seen, first)
            if layout is not None and layout.deviation <= NEARLY:
                yield _mirrored(layout, n) if backwards else layout


def _parallel(rows: Array, first: int) -> Layout | None:
    """The layout of the three parallel axes from `first` on, and of the two behind them.

    Behind the last joint the loop goes on with the first. Of the two one may be virtual, or both.
    """
    n = len(rows)
    virtual, last = 6 - n, first + 3 == n > 3
    others = rows[: min(2, first)] if last else rows[first + 3 :][:2]
    real = min(len(others), 2 - virtual) if last else len(others)
    if real + virtual < 2 or (last and n < 5):
        return None
    point, miss = meeting_point(others[:real])
    axes = _wrist_axes(others[:real, :3])
    pair = [_row(axis, point) for axis in axes[:2]]
    more = [_row(GENERIC[i], GENERIC[i + 3]) for i in range(virtual - 2 + real)]
    unreal = [-1] * virtual
    if last:  # virtual joints come first
        full = [*pair[real:], *pair[:real], *rows[real:]]
        joints, start = (*unreal, *range(n)), 3
    else:
        full = [*rows[: first + 3], *pair, *rows[first + 3 + real :], *more]
        joints, start = (*range(n), *unreal), first
    of = (first, first + 1, first + 2)
    deviation = max(_lean(rows[first : first + 3, :3]), miss)
    order = (*range(start, 6), *range(start))
    return Layout(PARALLEL, np.vstack(full), joints, order, start, of, deviation)


def _mirrored(layout: Layout, n: int) -> Layout:
    """The layout of a chain of n joints for that of the same chain read backwards."""
    return Layout(
        layout.kind,
        layout.rows[::-1].copy(),
        tuple(n - 1 - j if j >= 0 else -1 for j in layout.joints[::-1]),
        tuple(5 - i for i in layout.order),
        layout.cut,
        tuple(n - 1 - j for j in layout.of[::-1]),
        layout.deviation,
        reversed=True,
    )


def _held(rows: Array, slides: NDArray[np.bool_]) -> Iterator[Layout]:
    """One of seven joints held.

    What makes a layout possible must stay so wherever the held joint stands: it stands on
    one side of the held joint.
    """
    for held in HELD_ORDER:
        kept = [i for i in range(7) if i != held]
        for layout in (*_wrists(rows[kept], slides[kept]), *_parallels(rows[kept], slides[kept])):
            of = [kept[i] for i in layout.of]
            order = tuple(kept[i] for i in layout.order)
            pair = sorted(order[3:5])
            if of[0] < held < of[-1] or (layout.kind == PARALLEL and pair[0] < held < pair[1]):
                continue
            inserted = np.insert(layout.rows, held, rows[held], axis=0)
            yield Layout(
                layout.kind,
                inserted,
                tuple(range(7)),
                order,
                layout.cut,
                tuple(of),
                layout.deviation,
                layout.reversed,
                held,
            )


def _generals(rows: Array) -> Iterator[Layout]:
    """Six joints of any geometry, one of them virtual at one end or the other."""
    n = len(rows)
    if n == 6:
        yield Layout(GENERAL, rows.copy(), tuple(range(6)), tuple(range(6)), 0, (), 0.0)
    elif n == 5:
        for first in (False, True):
            more = [_row(GENERIC[3], GENERIC[4])]
            full = [*more, *rows] if first else [*rows, *more]
            joints = (-1, *range(5)) if first else (*range(5), -1)
            yield Layout(GENERAL, np.array(full), joints, tuple(range(6)), 0, (), 0.0)


def _generals_held(rows: Array) -> Iterator[Layout]:
    """Any of seven joints held."""
    for held in HELD_ORDER:
        order = tuple(i for i in range(7) if i != held)
        yield Layout(GENERAL, rows.copy(), tuple(range(7)), order, 0, (), 0.0, held=held)


def meeting_point(rows: Array) -> tuple[Array, float]:
    """The point nearest to the axes of rows (k, 6), and the largest distance to one [m].

    The distance is inf where neighbouring axes are parallel. A single axis has many, one of
    which is chosen; without any, any point.
    """
    axes, points = rows[:, :3], rows[:, 3:]
    if len(rows) == 0:
        return GENERIC[2].copy(), 0.0
    if len(rows) == 1:
        return points[0] + 0.2 * axes[0], 0.0
    if any(np.linalg.norm(np.cross(a, b)) < ASIDE for a, b in pairwise(axes)):
        return points[0], np.inf
    across = np.eye(3) - axes[:, :, None] * axes[:, None]
    point = np.linalg.lstsq(across.sum(0), np.einsum('kij,kj->i', across, points), rcond=None)[0]
    miss = np.linalg.norm(np.einsum('kij,kj->ki', across, point - points), axis=1)
    return point, float(miss.max())


def _lean(axes: Array) -> float:
    """The largest sine of an angle between the middle one of three axes and the others."""
    return float(np.linalg.norm(np.cross(axes[[0, 2]], axes[1]), axis=1).max())


def _row(axis: Array, point: Array) -> Array:
    return np.concatenate([axis / np.linalg.norm(axis), point])
