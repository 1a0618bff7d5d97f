"""Turns as pairs (cosine, sine), of many poses at once: the subproblems without branches.

What they are given and return are numbers or lanes (`maths.lanes`). Beside its answers a
subproblem says how sure it is of them: YES, NO, UNCLEAR where they nearly coincide, LOST where all
would do and one is taken, MISSED where there is none, but what comes nearest is near.
"""

from __future__ import annotations

from .._jit import inner
from ..maths.lanes import Number, least, most, root, select
from ..maths.rotations import Frame
from ..maths.vectors import Vector, cross, dot, times
from .subproblems import LENIENT, blend, plus

YES, UNCLEAR, LOST, MISSED, NO = 2.0, 1.0, 0.0, -1.0, -2.0
TOUCHING = 1e-6
"""The square of half the angle between two answers [rad^2], below which they nearly coincide."""
SHORT = 1e-14
"""Vectors whose product is below the root of this have a direction to 1e-9 rad at best."""
LEAST = 1e-200
"""Divisors are at least this."""

Line = tuple[Number, Number, Number, Number, Number, Number]
"""Two angles: the mean of their cosines and sines, half the differences, how sure they are; the
square of the sine of half of what is between them, below 0 where there is none."""


@inner
def after(one: Number, other: Number) -> Number:
    """How sure an answer is that follows from another one: what that lost stays so."""
    return select(one == LOST, one, least(one, other))


@inner
def turned_by(axis: Vector, c: Number, s: Number, v: Vector) -> Vector:
    """v turned about a unit axis by an angle with this cosine and sine (Rodrigues)."""
    return plus(blend(c, v, s, cross(axis, v)), times((1.0 - c) * dot(axis, v), axis))


@inner
def spun(frame: Frame, c: Number, s: Number) -> Frame:
    """A frame turned about its z axis."""
    a0, a1, a2, a3, a4, a5, a6, a7, a8, x, y, z = frame
    return (
        c * a0 + s * a1, c * a1 - s * a0, a2,
        c * a3 + s * a4, c * a4 - s * a3, a5,
        c * a6 + s * a7, c * a7 - s * a6, a8, x, y, z,
    )  # fmt: skip


@inner
def onto(axis: Vector, a: Vector, b: Vector) -> tuple[Number, Number, Number]:
    """(cosine, sine, how sure) of the turn about a unit axis that brings a nearest to b."""
    x, y = dot(a, b) - dot(axis, a) * dot(axis, b), dot(axis, cross(a, b))
    square = x * x + y * y
    scale = 1.0 / root(most(square, LEAST))
    clear = square > SHORT
    return select(clear, scale * x, 1.0), select(clear, scale * y, 0.0), select(clear, YES, LOST)


@inner
def on_line(x: Number, y: Number, d: Number) -> Line:
    """The angles where x cos q + y sin q = d; see `Line`."""
    square = x * x + y * y
    inverse = 1.0 / most(square, LEAST)
    gap = 1.0 - d * d * inverse
    edge = root(inverse)
    clear = square > SHORT
    along = select(gap > 0.0, d * inverse, select(d > 0.0, edge, -edge))
    along, away = select(clear, along, 0.0), root(most(gap, 0.0) * inverse)
    away = select(clear, away, 0.0)
    sure = select(gap > TOUCHING, YES, select(gap < -TOUCHING, MISSED, UNCLEAR))
    sure = select(gap < -2.5 * LENIENT, NO, sure)
    c = select(clear, x * along, 1.0)
    return c, y * along, -y * away, x * away, select(clear, sure, LOST), select(clear, gap, 0.0)


@inner
def one_of(line: Line, sign: Number) -> tuple[Number, Number]:
    """(cosine, sine) of one of the two angles."""
    c, s, dc, ds, _, _ = line
    return c + sign * dc, s + sign * ds
