# SPDX-License-Identifier: Apache-2.0
"""A proof that all solutions of a 7R chain collide, for all values of its redundancy parameter.

On a *piece*, an interval of the parameter, affine forms (`maths.affine`) bound the formulas of a
branch for all goals within the tolerances. Either there is no solution, or a joint violates a
limit, or the cosines and sines of all joints are known within small bounds. These bound the pose
of one link relative to another, along the joints between them or the other way round the loop.

Let a pair be deeper than its margin by d at the middle of a piece. The signed distance of convex
shapes is the maximum over directions n of the gap between their support planes perpendicular to n,
and planes move no further than points. So if no point of one shape moves by d relative to the
other, the pair collides on the whole piece. Pieces without a proof are halved. Once none is left,
no configuration inside the limits reaches the goal within the tolerances without a collision.

Where two branches meet, the root that distinguishes them is between 0 and a bound, and so large
that halving the parameter helps little: there the root's range is halved.

Formulas are computed without directed rounding. Instead goals may be off by `PROOF_SPARE` more
than the tolerances, which moves a formula by more than rounding does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..collision.records import CYLINDER
from ..maths.affine import Affine, dot, stacked
from ..maths.rotations import Array, IntArray
from ..problem import IkProblem
from ..problem.avoidance import DEPTH
from ..robot.kinematics import PARENT, VARIABLE
from ..robot.limits import FULL_TURN
from . import records as rec
from .closed_form import ClosedForm

# Unknowns of the forms: the redundancy parameter, and the rotation and translation of the goal.
SYMBOLS = 7
PROOF_SPARE = 1e-8  # [m, rad] Exceeds rounding, and the deviation of an exact form from its chain
TINY = 1e-12  # Squared lengths and gaps [m^2] below this may be rounding
PIECES = 32  # Initial number of pieces
MAX_PIECES = 8000  # Maximum number of pieces of branches: they take about a second
NARROWEST_PIECE = 1e-4  # [rad] Pieces of this width are not divided: there the proof ends

# If a joint's spread [rad] where two branches meet is more than this many times the width of the
# piece, the spread is halved instead of the piece.
WIDE_SPREAD = 10.0

Turn = tuple[Affine, Affine]  # Cosine and sine of an element, (1, N) each


class Piece(NamedTuple):
    """Branches on intervals of the redundancy parameter.

    Ends `low` and `high` (N,), `signs` (SIGNS, N), and bounds `roots` (SIGNS, 2, N) of the root
    that each sign selects.
    """

    low: Array
    high: Array
    signs: Array
    roots: Array

    def among(self, mask: NDArray[np.bool_]) -> Piece:
        """Return the pieces that a mask (N,) selects."""
        return Piece(*(one[..., mask] for one in self))

    def halves(self, spread: Array) -> Piece:
        """Return both halves of each piece.

        spread (SIGNS, N) : spread of the joints [rad] that each root causes; if the largest is
            more than WIDE_SPREAD times as wide as the interval, the range of that root is halved,
            else the interval
        """
        halves = [Piece(*(one.copy() for one in self)) for _ in range(2)]
        sign, every = spread.argmax(axis=0), np.arange(len(self.low))
        by_root = spread.max(axis=0) > WIDE_SPREAD * (self.high - self.low)
        middle = 0.5 * (self.low + self.high)
        inner = self.roots[sign, :, every].mean(axis=1)
        for end, half in enumerate(halves):
            ends = half.high if end == 0 else half.low
            ends[~by_root] = middle[~by_root]
            half.roots[sign[by_root], 1 - end, every[by_root]] = inner[by_root]
        return Piece(*(np.concatenate(both, axis=-1) for both in zip(*halves, strict=True)))


def whole(low: float, high: float) -> Piece:
    """Return all branches on `PIECES` intervals from low to high."""
    ends = np.linspace(low, high, PIECES + 1)
    bits = (np.arange(rec.SLOTS) >> np.arange(rec.SIGNS)[:, np.newaxis]) & 1
    signs = np.tile(1.0 - 2.0 * bits, PIECES)
    roots = np.zeros((rec.SIGNS, 2, PIECES * rec.SLOTS))
    roots[:, 1] = math.inf
    return Piece(np.repeat(ends[:-1], rec.SLOTS), np.repeat(ends[1:], rec.SLOTS), signs, roots)


class Loop:
    """A plan and its numbers, for a goal within tolerances.

    Solves branches on pieces as the kernel solves them at values (`kernel`), without its singular
    cases: an element that is not determined may be anywhere.
    """

    def __init__(
        self, plan: IntArray, numbers: Array, target: Array, tolerances: tuple[float, float]
    ) -> None:
        self.plan, self.numbers = plan, numbers
        self.piece = whole(0.0, 0.0)
        self.spread = np.empty((rec.SIGNS, 0))
        self.turns: dict[int, Turn] = {}
        self._pose = self._pose_of(target, *tolerances)

    def _pose_of(self, target: Array, position: float, orientation: float) -> list[Affine]:
        """The columns (3, 1) of the motion E0; its translation is the last."""
        turn, shift = _rigid(target)
        by, along = _rigid(self.numbers[rec.HOME])
        position, orientation = position + PROOF_SPARE, orientation + PROOF_SPARE
        columns = []
        for arm in (*(turn @ by).T, turn @ along):
            terms = np.zeros((SYMBOLS, 3, 1))
            terms[1:4, :, 0] = orientation * np.cross(np.eye(3), arm)
            rest = np.full((3, 1), 0.5 * orientation**2 * float(np.linalg.norm(arm)))
            columns.append(Affine(arm[:, np.newaxis], terms, rest))
        last = columns[3]
        last.terms[4:, :, 0] = position * np.eye(3)
        columns[3] = last + shift[:, np.newaxis]
        return columns

    def solve(self, piece: Piece) -> None:
        """Solve branches (N,); `piece` and `turns` keep those that may have solutions."""
        k, numbers = int(self.plan[rec.REDUNDANT]), self.numbers
        half = 0.5 * (piece.high - piece.low)[np.newaxis]
        value = 0.5 * (piece.low + piece.high)[np.newaxis]
        value = numbers[k, rec.MULTIPLIER] * value + numbers[k, rec.OFFSET]
        slope = np.zeros((SYMBOLS, *half.shape))
        slope[0] = numbers[k, rec.MULTIPLIER] * half
        c, s, rest = np.cos(value), np.sin(value), 0.5 * half * half
        self.turns = {k: (Affine(c, -s * slope, rest), Affine(s, c * slope, rest))}
        self.piece, self.spread = piece, np.zeros_like(piece.signs)
        for one in range(self.plan[rec.RECORDS]):
            if len(self.piece.low):
                self._solve(rec.HEADER + rec.RECORD * one)

    def _solve(self, r: int) -> None:
        """Solve the record at an index of the plan."""
        plan, numbers = self.plan, self.numbers
        j, first = int(plan[r + rec.JOINT]), int(plan[r + rec.FIRST])
        offset = float(plan[r + rec.IS_POINT])
        (h, p), (h0, p0), (axis, point) = (
            (numbers[k, :3], offset * numbers[k, 3:6, np.newaxis])
            for k in (j, plan[r + rec.SEEN], plan[r + rec.MOVED])
        )
        x = _constant(point if offset else axis[:, np.newaxis])
        a = self._carry(r + rec.INSIDE, 1.0, x, offset) - p
        w = self._carry(r + rec.OUTSIDE, -1.0, x, offset)
        if plan[r + rec.KIND] == rec.TURN:
            self._turn(j, a, w - p)
            return
        w, rise, flat = w - p0, h[np.newaxis] @ a, _across(h, a)
        f = self._carry(r + rec.BETWEEN, -1.0, _constant(h0[:, np.newaxis]), 0.0)
        g = self._carry(r + rec.BETWEEN, -1.0, _constant(p0), offset) - p
        if plan[r + rec.KIND] == rec.SPHERE:
            up = rise - h[np.newaxis] @ g
            d = dot(flat, flat) + dot(_across(h, g), _across(h, g)) + up * up - dot(w, w)
            d, f = 0.5 * d, g
        else:
            d = h0[np.newaxis] @ w - rise * (h[np.newaxis] @ f)
            d = d + dot(f, g) if plan[r + rec.KIND] == rec.PLANE else d
        a, w = self._line(
            j, dot(f, flat), dot(f, _cross(h, a)), d, int(plan[r + rec.SIGN]), [a, w]
        )
        if first >= 0 and len(self.piece.low):
            a = _rotated(h, *self.turns[j], a) + p
            self._turn(first, self._carry(r + rec.BETWEEN, 1.0, a, offset) - p0, w)

    def _carry(self, span: int, direction: float, v: Affine, offset: float) -> Affine:
        """Return v moved by the elements of a span of paths, as `kernel` does."""
        path = self.plan[self.plan[span] : self.plan[span + 1]].tolist()
        for k in path if direction < 0.0 else reversed(path):
            if k == rec.TARGET:
                v = self._posed(v, offset, (direction > 0.0) == (self.plan[rec.MIRRORED] != 0))
                continue
            point = offset * self.numbers[k, 3:6, np.newaxis]
            c, s = self.turns[k]
            v = _rotated(self.numbers[k, :3], c, direction * s, v - point) + point
        return v

    def _posed(self, v: Affine, offset: float, forwards: bool) -> Affine:
        """Return v moved by E0, or by its inverse."""
        x, y, z, shift = self._pose
        if forwards:
            return x * v[:1] + y * v[1:2] + z * v[2:] + offset * shift
        v = v - offset * shift
        return stacked([dot(x, v), dot(y, v), dot(z, v)])

    def _line(
        self, k: int, x: Affine, y: Affine, d: Affine, sign: int, others: list[Affine]
    ) -> list[Affine]:
        """Solve x cos q + y sin q = d for element k by a sign; return the other arguments for the
        pieces that remain."""
        square = x * x + y * y
        gap = square - d * d
        inverse, clear = square.inverse(), square.low > TINY
        root = gap.root()
        bounds = self.piece.roots[sign]
        bounds[0], bounds[1] = np.maximum(root.low, bounds[0]), np.minimum(root.high, bounds[1])
        root = root.within(*bounds)
        folds = (gap.low[0] <= TINY) & clear[0]
        length = np.sqrt(np.where(folds, square.centre[0], 1.0))
        self.spread[sign] = np.where(folds, (bounds[1] - bounds[0]) / length, 0.0)
        along, away = d * inverse, self.piece.signs[sign] * (root * inverse)
        c, s = x * along - y * away, y * along + x * away
        self.turns[k] = c.within_one(clear), s.within_one(clear)
        left = (gap.high[0] >= -TINY) & (bounds[0] <= bounds[1] + TINY) & self.joint(k)[1]
        return self._keep(left, others)

    def _turn(self, k: int, a: Affine, w: Affine) -> None:
        """Solve the element k that brings a to w."""
        h = self.numbers[k, :3]
        u, v = _cross(h, a), _cross(h, w)
        x, y = dot(u, v), dot(u, -_cross(h, v))
        square = x * x + y * y
        inverse, clear = square.root().inverse(), square.low > TINY * TINY
        self.turns[k] = (x * inverse).within_one(clear), (y * inverse).within_one(clear)
        self._keep(self.joint(k)[1], [])

    def _keep(self, left: NDArray[np.bool_], others: list[Affine]) -> list[Affine]:
        self.piece, self.spread = self.piece.among(left), self.spread[:, left]
        self.turns = {k: (c.among(left), s.among(left)) for k, (c, s) in self.turns.items()}
        return [one if one.centre.shape[-1] == 1 else one.among(left) for one in others]

    def joint(self, k: int) -> tuple[Array, NDArray[np.bool_]]:
        """Return element k's joint value at the middle of its range on each piece, inside its
        limits [rad], and whether any of the range is inside."""
        numbers, (c, s) = self.numbers, self.turns[k]
        ratio = np.hypot(c.radius, s.radius) / np.maximum(np.hypot(c.centre, s.centre), TINY)
        reach = np.where(ratio < 1.0, np.arcsin(np.minimum(ratio, 1.0)), math.pi)[0] + PROOF_SPARE
        x = np.arctan2(s.centre, c.centre)[0] - numbers[k, rec.OFFSET]
        x, lower, upper = (
            numbers[k, rec.MULTIPLIER] * x,
            numbers[k, rec.LOWER],
            numbers[k, rec.UPPER],
        )
        if math.isfinite(lower):  # the lowest turn that is not wholly below
            x = x + FULL_TURN * np.ceil((lower - reach - x) / FULL_TURN)
        elif math.isfinite(upper):
            x = x - FULL_TURN * np.ceil((x - reach - upper) / FULL_TURN)
        return np.clip(x, lower, upper), x - reach <= upper

    # --- where a link is, seen from another ------------------------------------------------------

    def seen(self, turns: dict[int, Turn], v: Affine, offset: Array, j: int, i: int) -> Affine:
        """Convert vectors (3, m, N) from the frame of element j to that of an earlier element i, 0
        for the root, along the joints between them.

        offset (m, 1) : 1.0 for points, 0.0 for directions
        """
        for k in range(j, i, -1):
            v = _spun(*turns[k], v)
            v = _from_frame(self.numbers[rec.JUDGED + k - 1], v, offset)
        return v

    def seen_around(
        self, turns: dict[int, Turn], v: Affine, offset: Array, j: int, i: int
    ) -> Affine:
        """Convert vectors of element j to the frame of element i, the other way round the loop:
        along the joints behind j, the goal, and the joints up to i."""
        for k in range(j + 1, self.plan[rec.JOINTS] + 1):
            v = self._into(turns, k, v, offset)
        v = _in_frame(self.numbers[rec.HOME], _in_frame(self.numbers[rec.TIP], v, offset), offset)
        x, y, z, shift = (column[:, np.newaxis] for column in self._pose)
        v = x * v[:1] + y * v[1:2] + z * v[2:] + offset * shift
        for k in range(1, i + 1):
            v = self._into(turns, k, v, offset)
        return v

    def _into(self, turns: dict[int, Turn], k: int, v: Affine, offset: Array) -> Affine:
        c, s = turns[k]
        return _spun(c, -s, _in_frame(self.numbers[rec.JUDGED + k - 1], v, offset))


class InfeasibilityProof:
    """The proof for the goal that a problem has loaded, from a start (n,); see the module.

    Call `refine` until it `is_over`. Then `is_proved` says whether no solution is free, and
    `found` (n,) is a free one that it came across, or None.
    """

    def __init__(self, problem: IkProblem, form: ClosedForm, start: Array) -> None:
        records = form.records
        assert records is not None
        assert problem.avoid is not None
        plan, numbers = records
        self.found: Array | None = None
        self.judged = 0
        self._problem, self._start, self._numbers = problem, start, numbers
        self._columns = plan[rec.COLUMN : rec.COLUMN + plan[rec.JOINTS]]
        self._loop = Loop(plan, numbers, problem.packed.targets[0], problem.tolerances)
        self._left = whole(*form.redundancy_range)
        self._collisions, self._model = problem.avoid, problem.avoid.model
        self._slack = self._slack_by_name()
        self._elements = _elements_of(problem, self._columns)
        self._spheres = self._spheres_of(start)

    def _slack_by_name(self) -> dict[str, float]:
        """Return the largest error [m] of penetration depths, by names of links and obstacles.

        Depths of cylinders may be too large (`epa`).
        """
        model, slack = self._collisions.model, dict[str, float]()
        radii = np.where(model['kind'] == CYLINDER, model['radius'], 0.0).tolist()
        for name, radius in zip(self._collisions.piece_names, radii, strict=True):
            slack[name] = max(slack.get(name, PROOF_SPARE), DEPTH * radius)
        return slack

    def _spheres_of(self, q: Array) -> dict[str, Array]:
        """Return spheres (m, 4) around the pieces of moving links and obstacles by name, in the
        frame of the element that moves them."""
        frames = self._problem.robot.frames(q)
        model, found = self._collisions.model, {}
        names = np.array(self._collisions.piece_names)
        turns = self._turns_of(q[np.newaxis])
        axes, is_point = _constant(np.eye(3, 4)[:, :, np.newaxis]), np.eye(4)[:, 3:]
        for body in np.unique(model['body'][model['body'] > 0]).tolist():
            k = self._elements[body]
            placed = self._loop.seen(turns, axes, is_point, k, 0).centre[:, :, 0]
            turn, shift = _rigid(frames[body - 1].reshape(12))
            own = model['body'] == body
            for name in set(names[own].tolist()):
                spheres = model['sphere'][own & (names == name)].copy()
                spheres[:, :3] = (spheres[:, :3] @ turn.T + shift - placed[:, 3]) @ placed[:, :3]
                found[name] = spheres
        return found

    @property
    def is_proved(self) -> bool:
        """True if the goal can't be reached without a collision, unless the world has changed."""
        is_same = self._collisions.model is self._model
        return not len(self._left.low) and self.found is None and is_same

    @property
    def is_over(self) -> bool:
        """True if the proof is complete, or can get no further."""
        low, high = self._left.low, self._left.high
        if not len(low) or self.found is not None:
            return True
        return self.judged + len(low) > MAX_PIECES or float((high - low).min()) < NARROWEST_PIECE

    def refine(self) -> None:
        """Check all pieces that remain, and halve those without a proof."""
        self.judged += len(self._left.low)
        self._loop.solve(self._left)
        piece = self._left = self._loop.piece
        if not len(piece.low):
            return
        q = np.tile(self._start, (len(piece.low), 1))
        for i, column in enumerate(self._columns):
            q[:, column] = self._loop.joint(i + 1)[0]
        is_open = ~self._collide(q)
        self._left = piece.among(is_open).halves(self._loop.spread[:, is_open])

    def _collide(self, q: Array) -> NDArray[np.bool_]:
        """Return whether a pair that collides at the middles q (N, n) of the pieces collides on
        all of each piece."""
        proved = np.zeros(len(q), bool)
        depths: dict[tuple[str, str], Array] = {}
        for i, one in enumerate(q):
            pairs = self._collisions.colliding(one, self._problem.avoidance.groups)
            if not pairs and self.found is None and self._is_answer(one):
                self.found = one
            for pair in pairs:
                names = pair.first, pair.second
                depth = pair.margin - pair.distance - sum(self._slack[name] for name in names)
                depths.setdefault(names, np.zeros(len(q)))[i] = depth
        for (first, second), deep in depths.items():
            mask = (deep > 0.0) & ~proved
            if mask.any():
                proved[mask] = self._moved(first, second, q[mask], mask) < deep[mask]
        return proved

    def _is_answer(self, q: Array) -> bool:
        return self._problem.is_solved(
            *self._problem.errors(q)
        ) and self._problem.avoidance.may_answer(q)

    def _moved(self, first: str, second: str, q: Array, mask: NDArray[np.bool_]) -> Array:
        """Bound the motion [m] of one link's pieces relative to the other link, from q (N, n)."""
        i, j = (self._elements[1 + self._collisions.body_of(name)] for name in (first, second))
        if i > j:
            return self._moved(second, first, q, mask)
        if i == j:
            return np.zeros(len(q))
        loop, spheres = self._loop, self._spheres[second]
        v = np.concatenate([np.eye(3), spheres[:, :3].T], axis=1)[:, :, np.newaxis]
        offset = np.repeat([0.0, 1.0], [3, len(spheres)])[:, np.newaxis]
        turns = {k: (c.among(mask), s.among(mask)) for k, (c, s) in loop.turns.items()}
        is_near = 2 * (j - i) <= len(self._columns)
        seen = (loop.seen if is_near else loop.seen_around)(turns, _constant(v), offset, j, i)
        there = loop.seen(self._turns_of(q), _constant(v), offset, j, i).centre
        off = (seen - there).reach
        turned = np.sqrt((off[:, :3] ** 2).sum(axis=(0, 1)))
        moved = np.sqrt((off[:, 3:] ** 2).sum(axis=0)) + spheres[:, 3:] * turned
        most: Array = moved.max(axis=0)
        return most

    def _turns_of(self, q: Array) -> dict[int, Turn]:
        """Return cosines and sines of all elements at q (N, n)."""
        turns = {}
        for k, column in enumerate(self._columns.tolist(), 1):
            value = self._numbers[k, rec.MULTIPLIER] * q[:, column] + self._numbers[k, rec.OFFSET]
            turns[k] = _constant(np.cos(value)[np.newaxis]), _constant(np.sin(value)[np.newaxis])
        return turns


def can_prove(problem: IkProblem, form: ClosedForm) -> bool:
    """Return whether problems of this kind have a proof.

    They have seven revolute joints of a simple form, which move only links behind them, and a goal
    in the root's frame.
    """
    records = form.records
    if problem.avoid is None or form.redundant_joint is None or records is None:
        return False
    plan, numbers = records
    elements = numbers[1 : 1 + plan[rec.JOINTS]]
    turning = (elements[:, rec.SLIDES] == 0.0).all() and (
        abs(elements[:, rec.MULTIPLIER]) == 1.0
    ).all()
    columns = plan[rec.COLUMN : rec.COLUMN + plan[rec.JOINTS]].tolist()
    driven = problem.robot.tree[:, VARIABLE].tolist()
    alone = all(driven.count(column) == 1 for column in columns)
    return bool(turning and alone and problem.goals[0].relative_to is None)


def _elements_of(problem: IkProblem, columns: IntArray) -> list[int]:
    """Return the last element that moves each body, the root first; 0 for none."""
    elements = [0]
    own = {column: 1 + i for i, column in enumerate(columns.tolist())}
    for row in problem.robot.tree:
        elements.append(own.get(int(row[VARIABLE]), elements[1 + int(row[PARENT])]))
    return elements


# --- vectors along the first axis ----------------------------------------------------------------


def _constant(value: Array) -> Affine:
    return Affine(value, np.zeros((SYMBOLS, *value.shape)), np.zeros(value.shape))


def _rigid(frame: Array) -> tuple[Array, Array]:
    """Return rotation (3, 3) and translation (3,) of a frame (12,)."""
    return frame[:9].reshape(3, 3), frame[9:12]


def _cross(h: Array, v: Affine) -> Affine:
    x, y, z = h
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) @ v


def _across(h: Array, v: Affine) -> Affine:
    return (np.eye(3) - np.outer(h, h)) @ v


def _rotated(h: Array, c: Affine, s: Affine, v: Affine) -> Affine:
    """Return v rotated about a unit vector (Rodrigues)."""
    return np.outer(h, h) @ v + _across(h, v) * c + _cross(h, v) * s


def _spun(c: Affine, s: Affine, v: Affine) -> Affine:
    """Return v (3, m, N) rotated about the z axis."""
    c, s, x, y = c[:, np.newaxis], s[:, np.newaxis], v[:1], v[1:2]
    return stacked([c * x - s * y, s * x + c * y, v[2:]])


def _from_frame(frame: Array, v: Affine, offset: Array) -> Affine:
    """Convert v (3, m, N) from a frame to its parent."""
    turn, shift = _rigid(frame)
    return turn @ v + offset * shift[:, np.newaxis, np.newaxis]


def _in_frame(frame: Array, v: Affine, offset: Array) -> Affine:
    """Convert v (3, m, N) from the parent of a frame to the frame."""
    turn, shift = _rigid(frame)
    return turn.T @ (v - offset * shift[:, np.newaxis, np.newaxis])
