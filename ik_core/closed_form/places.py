"""Three joints that bring a point p to a place w: E1 E2 E3 p = w, all solutions.

With revolute joints about axes h1, h2, h3, and a point on each, the way from the first axis is
u = a + R2 v(q3), and R1 u = w says

    h1.u = h1.w,   |u|^2 = |w|^2

Both are linear in y, the part of R2 v at right angles to h2: h1.y = b1, a.y = b2, with b1 and b2
polynomials in (cos q3, sin q3). With K = h2.(h1 x a) this has the one solution
y = (b2 h2 x h1 - b1 h2 x a) / K, and |y| = |v across h2| is a trigonometric polynomial of degree
two in q3: up to four angles. Where K = 0, since the first two axes meet or are parallel, both
equations are about one component of y: one equation remains in q3 alone, and q2 has two solutions.
This is [Pieper1968]'s decomposition in the vectors of [EliasWen2022] (subproblem 5 and 6).

Prismatic joints shift along h; where one is last, q3 becomes a polynomial's variable d, by
d = tan(q/2). Where the first of three is prismatic, the problem is solved backwards:
E3^-1 E2^-1 E1^-1 w = p.

Chains are rows of (axis, point) (6,) in the root's frame, all joints at zero.
"""

from __future__ import annotations

import math

from .._jit import inner, njit
from ..maths.rotations import Array, IntArray
from ..maths.vectors import Vector, cross, dot, minus, norm, times
from .subproblems import (
    FREE,
    LENIENT,
    Trig,
    Trig2,
    across,
    angle_onto,
    blend,
    circle_angles,
    combined,
    line_angles,
    plus,
    product,
    turned,
)

MEETING = 1e-5
"""Two axes are taken to meet, or to be parallel, where K is below this [m]."""
FARTHEST = 1e6
"""Prismatic joints do not go farther [m]."""


@njit
def axis_of(chain: Array, i: int) -> Vector:
    """The axis of a row."""
    return chain[i, 0], chain[i, 1], chain[i, 2]


@njit
def point_of(chain: Array, i: int) -> Vector:
    """The point of a row."""
    return chain[i, 3], chain[i, 4], chain[i, 5]


@njit
def put_row(chain: Array, i: int, axis: Vector, point: Vector) -> None:
    """Row i = (axis, point)."""
    for c in range(3):
        chain[i, c], chain[i, 3 + c] = axis[c], point[c]


@inner
def _put(places: Array, count: int, q1: float, q2: float, q3: float) -> int:
    places[count, 0], places[count, 1], places[count, 2] = q1, q2, q3
    return count + 1


@inner
def place(
    slides: IntArray,
    chain: Array,
    p: Vector,
    w: Vector,
    free: Array,
    angles: Array,
    places: Array,
) -> int:
    """The values (places[:count], 3) of the first three joints that bring p to w; the count.

    `slides` (3 or more,): which joints are prismatic. `free`: the values taken for angles that
    do not matter. There are at most eight.
    """
    kind = 4 * slides[0] + 2 * slides[1] + slides[2]
    if kind == 0:
        return _three_turns(chain, p, w, free, angles, places)
    if kind == 1:
        return _turn_turn_shift(chain, p, w, free, angles, places)
    if kind == 2:
        return _turn_shift_turn(chain, p, w, free, angles, places)
    if kind == 3:
        return _turn_shift_shift(chain, p, w, free, angles, places)
    if kind == 5:
        return _shift_turn_shift(chain, p, w, free, angles, places)
    if kind == 7:
        return _three_shifts(chain, p, w, places)
    return _backwards(kind, chain, p, w, free, angles, places)


@inner
def _backwards(
    kind: int, chain: Array, p: Vector, w: Vector, free: Array, angles: Array, places: Array
) -> int:
    """The inverse of the chain solved, and its joints put in order again."""
    _reverse(chain, free)
    if kind == 4:
        count = _turn_turn_shift(chain, w, p, free, angles, places)
    else:
        count = _turn_shift_shift(chain, w, p, free, angles, places)
    _reverse(chain, free)
    for i in range(count):
        places[i, 0], places[i, 2] = places[i, 2], places[i, 0]
    return count


@inner
def _reverse(chain: Array, free: Array) -> None:
    """The first three joints of a chain in reverse order, their axes turned round."""
    for c in range(6):
        sign = -1.0 if c < 3 else 1.0
        chain[0, c], chain[2, c] = sign * chain[2, c], sign * chain[0, c]
    for c in range(3):
        chain[1, c] = -chain[1, c]
    free[0], free[2] = free[2], free[0]


@inner
def _conditions(
    chain: Array, a: Vector, w: Vector, height: Trig, square: Trig
) -> tuple[Trig, Trig]:
    """b1 and b2 of the module, for h2.v and |v|^2: any three coefficients."""
    h1, h2 = axis_of(chain, 0), axis_of(chain, 1)
    lean, along = dot(h1, h2), dot(a, h2)
    b1 = blend(-lean, height, 0.0, height)
    b2 = blend(-0.5, square, -along, height)
    rise = dot(h1, w) - dot(h1, a)
    reach = 0.5 * (dot(w, w) - dot(a, a))
    return (b1[0] + rise, b1[1], b1[2]), (b2[0] + reach, b2[1], b2[2])


@inner
def _three_turns(
    chain: Array, p: Vector, w: Vector, free: Array, angles: Array, places: Array
) -> int:
    h1, h2, h3 = axis_of(chain, 0), axis_of(chain, 1), axis_of(chain, 2)
    a, w = minus(point_of(chain, 1), point_of(chain, 0)), minus(w, point_of(chain, 0))
    b, c = minus(point_of(chain, 2), point_of(chain, 1)), minus(p, point_of(chain, 2))
    rest, swing, side = plus(b, times(dot(h3, c), h3)), across(h3, c), cross(h3, c)
    height = (dot(h2, rest), dot(h2, swing), dot(h2, side))
    square = (dot(rest, rest) + dot(swing, swing), 2.0 * dot(b, swing), 2.0 * dot(b, side))
    b1, b2 = _conditions(chain, a, w, height, square)
    k, size = dot(h2, cross(h1, a)), norm(a) + norm(b) + norm(c) + norm(w) + FREE
    across_a, across_h = across(h2, a), across(h2, h1)
    if abs(k) > MEETING:
        f = combined(
            dot(across_a, across_a),
            product(b1, b1),
            -2.0 * dot(across_a, across_h),
            product(b1, b2),
        )
        f = combined(1.0, f, dot(across_h, across_h), product(b2, b2))
        f = combined(1.0, f, k * k, product(height, height))
        f = combined(1.0, f, -k * k, product(square, (1.0, 0.0, 0.0)))
        count = circle_angles(f, size**4, free[2], angles)
    else:
        lever, lean = _common(across_a, across_h)
        f1 = blend(lever / size**2, b1, -lean / size**2, b2)
        count = line_angles(f1[1], f1[2], -f1[0], free[2], angles, 0)
    for i in range(count):  # the first angles are kept, those behind them are for q2
        places[4 + i, 2] = angles[i]
    done = 0
    for i in range(count):
        q3 = places[4 + i, 2]
        cosine, sine = math.cos(q3), math.sin(q3)
        v = plus(rest, blend(cosine, swing, sine, side))
        one = b1[0] + b1[1] * cosine + b1[2] * sine
        two = b2[0] + b2[1] * cosine + b2[2] * sine
        done = _first_two(chain, a, w, v, one, two, k, q3, free, angles, places, done)
    return done


@inner
def _common(across_a: Vector, across_h: Vector) -> tuple[float, float]:
    """Two parallel vectors as multiples of one unit vector."""
    lever, lean = math.sqrt(dot(across_a, across_a)), math.sqrt(dot(across_h, across_h))
    return lever, math.copysign(lean, dot(across_a, across_h))


@inner
def _first_two(
    chain: Array,
    a: Vector,
    w: Vector,
    v: Vector,
    b1: float,
    b2: float,
    k: float,
    q3: float,
    free: Array,
    angles: Array,
    places: Array,
    done: int,
) -> int:
    """Append the places for one q3: with v, b1 and b2 there."""
    h1, h2 = axis_of(chain, 0), axis_of(chain, 1)
    if abs(k) > MEETING:
        y = times(1.0 / k, blend(b2, cross(h2, h1), -b1, cross(h2, a)))
        angles[0] = angle_onto(h2, v, y, free[1])
        count = 1
    else:
        across_a, across_h = across(h2, a), across(h2, h1)
        lever, lean = _common(across_a, across_h)
        size = 1.0 / max(lever * lever + lean * lean, FREE * FREE)
        unit = blend(lever, across_a, lean, across_h)
        unit = times(1.0 / max(math.sqrt(dot(unit, unit)), FREE * FREE), unit)
        flat = across(h2, v)
        count = line_angles(
            dot(unit, flat),
            dot(unit, cross(h2, flat)),
            size * (b1 * lean + b2 * lever),
            free[1],
            angles,
            0,
        )
    for i in range(count):
        u = plus(a, turned(h2, angles[i], v))
        done = _put(places, done, angle_onto(h1, u, w, free[0]), angles[i], q3)
    return done


@inner
def _turn_turn_shift(
    chain: Array, p: Vector, w: Vector, free: Array, angles: Array, places: Array
) -> int:
    """As three turns, with v = rest + d h3: polynomials in d."""
    h1, h2, h3 = axis_of(chain, 0), axis_of(chain, 1), axis_of(chain, 2)
    a, w = minus(point_of(chain, 1), point_of(chain, 0)), minus(w, point_of(chain, 0))
    rest = minus(p, point_of(chain, 1))
    height, square = (dot(h2, rest), dot(h2, h3), 0.0), (dot(rest, rest), 2.0 * dot(rest, h3), 1.0)
    b1, b2 = _conditions(chain, a, w, height, square)
    k = dot(h2, cross(h1, a))
    across_a, across_h = across(h2, a), across(h2, h1)
    if abs(k) > MEETING:
        f = combined(
            dot(across_a, across_a),
            _quartic(b1, b1),
            -2.0 * dot(across_a, across_h),
            _quartic(b1, b2),
        )
        f = combined(1.0, f, dot(across_h, across_h), _quartic(b2, b2))
        f = combined(1.0, f, k * k, _quartic(height, height))
        f = combined(1.0, f, -k * k, _quartic(square, (1.0, 0.0, 0.0)))
        count = _distances(_on_circle(f), free[2], angles)
    else:
        lever, lean = _common(across_a, across_h)
        f1 = blend(lever, b1, -lean, b2)
        count = _quadratic_zeros(f1[2], f1[1], f1[0], angles, 0)
    for i in range(count):
        places[4 + i, 2] = angles[i]
    done = 0
    for i in range(count):
        d = places[4 + i, 2]
        one, two = b1[0] + d * (b1[1] + d * b1[2]), b2[0] + d * (b2[1] + d * b2[2])
        v = blend(1.0, rest, d, h3)
        done = _first_two(chain, a, w, v, one, two, k, d, free, angles, places, done)
    return done


@inner
def _quartic(x: Trig, y: Trig) -> Trig2:
    """The coefficients of the product of two polynomials of degree two, from the constant up."""
    return (
        x[0] * y[0],
        x[0] * y[1] + x[1] * y[0],
        x[0] * y[2] + x[1] * y[1] + x[2] * y[0],
        x[1] * y[2] + x[2] * y[1],
        x[2] * y[2],
    )


@inner
def _on_circle(f: Trig2) -> Trig2:
    """cos^4(q/2) f(tan(q/2)) for a quartic f: a trigonometric polynomial of degree two."""
    return (
        (3.0 * f[0] + f[2] + 3.0 * f[4]) / 8.0,
        0.5 * (f[0] - f[4]),
        0.25 * (f[1] + f[3]),
        (f[0] - f[2] + f[4]) / 8.0,
        0.125 * (f[1] - f[3]),
    )


@inner
def _distances(f: Trig2, free: float, angles: Array) -> int:
    """The d = tan(q/2) where f(q) is zero."""
    count, kept = circle_angles(f, 0.0, 2.0 * math.atan(free), angles), 0
    for i in range(count):
        if abs(math.cos(0.5 * angles[i])) > 1.0 / FARTHEST:
            angles[kept] = math.tan(0.5 * angles[i])
            kept += 1
    return kept


@inner
def _quadratic_zeros(a: float, b: float, c: float, zeros: Array, count: int) -> int:
    """Append the zeros of a x^2 + b x + c, with no more than LENIENT missing to a double one."""
    if abs(a) <= FREE * max(abs(b), abs(c)):
        if abs(b) <= FREE * abs(c) or b == 0.0:
            return count
        zeros[count] = -c / b
        return count + 1
    square = b * b - 4.0 * a * c
    if square < -LENIENT * (b * b + abs(4.0 * a * c)):
        return count
    larger = -0.5 * (b + math.copysign(math.sqrt(max(0.0, square)), b))
    zeros[count] = larger / a
    if square <= 0.0 or larger == 0.0:
        return count + 1
    zeros[count + 1] = c / larger
    return count + 2


@inner
def _turn_shift_turn(
    chain: Array, p: Vector, w: Vector, free: Array, angles: Array, places: Array
) -> int:
    """u = a + d h2 + R3 c: h1.u = h1.w gives q3, or d by q3; |u| = |w| the other."""
    h1, h2, h3 = axis_of(chain, 0), axis_of(chain, 1), axis_of(chain, 2)
    a, w = minus(point_of(chain, 2), point_of(chain, 0)), minus(w, point_of(chain, 0))
    c = minus(p, point_of(chain, 2))
    rest, swing, side = plus(a, times(dot(h3, c), h3)), across(h3, c), cross(h3, c)
    lean = dot(h1, h2)
    x, y, rise = dot(h1, swing), dot(h1, side), dot(h1, w) - dot(h1, rest)
    size = norm(a) + norm(c) + norm(w) + FREE
    if abs(lean) <= MEETING:
        count = line_angles(x / size, y / size, rise / size, free[2], angles, 0)
    else:
        d = (rise / lean, -x / lean, -y / lean)
        f = combined(1.0, product(d, d), -dot(w, w), (1.0, 0.0, 0.0, 0.0, 0.0))
        for i in range(3):
            e = (rest[i], swing[i], side[i])
            f = combined(1.0, f, 1.0, product(e, blend(1.0, e, 2.0 * h2[i], d)))
        count = circle_angles(f, size * size, free[2], angles)
    for i in range(count):
        places[4 + i, 2] = angles[i]
    done = 0
    for i in range(count):
        q3 = places[4 + i, 2]
        v = plus(rest, blend(math.cos(q3), swing, math.sin(q3), side))
        angles[0], shifts = (dot(h1, w) - dot(h1, v)) / (lean if lean != 0.0 else 1.0), 1
        if abs(lean) <= MEETING:
            shifts = _quadratic_zeros(1.0, 2.0 * dot(v, h2), dot(v, v) - dot(w, w), angles, 0)
        for j in range(shifts):
            q1 = angle_onto(h1, blend(1.0, v, angles[j], h2), w, free[0])
            done = _put(places, done, q1, angles[j], q3)
    return done


@inner
def _turn_shift_shift(
    chain: Array, p: Vector, w: Vector, free: Array, angles: Array, places: Array
) -> int:
    """The plane of both shifts meets the circle of w about the first axis."""
    h1, h2, h3 = axis_of(chain, 0), axis_of(chain, 1), axis_of(chain, 2)
    a, w = minus(p, point_of(chain, 0)), minus(w, point_of(chain, 0))
    normal = cross(h2, h3)
    area = dot(normal, normal)
    flat = across(h1, w)
    rest = dot(normal, minus(w, flat))
    x, y, d = dot(normal, flat), -dot(normal, cross(h1, flat)), dot(normal, a) - rest
    size = norm(a) + norm(w) + FREE
    count = line_angles(x / size, y / size, d / size, free[0], angles, 0)
    if area <= FREE:
        return 0
    for i in range(count):
        way = minus(turned(h1, -angles[i], w), a)
        d2, d3 = dot(cross(way, h3), normal) / area, dot(cross(h2, way), normal) / area
        _put(places, i, angles[i], d2, d3)
    return count


@inner
def _shift_turn_shift(
    chain: Array, p: Vector, w: Vector, free: Array, angles: Array, places: Array
) -> int:
    """R2 (v + d3 h3) = y - d1 h1, both ways from the second axis: a line, then a quadratic."""
    h1, h2, h3 = axis_of(chain, 0), axis_of(chain, 1), axis_of(chain, 2)
    v, y = minus(p, point_of(chain, 1)), minus(w, point_of(chain, 1))
    one, three = dot(h1, h2), dot(h3, h2)
    rise = dot(h2, y) - dot(h2, v)
    size = one * one + three * three
    if size <= FREE:
        return 0
    base1, base3 = rise * one / size, rise * three / size
    v, y = blend(1.0, v, base3, h3), blend(1.0, y, -base1, h1)
    go1, go3 = three, -one  # d1 = base1 + t go1, d3 = base3 + t go3
    a = go3 * go3 - go1 * go1
    b, c = 2.0 * (go3 * dot(v, h3) + go1 * dot(y, h1)), dot(v, v) - dot(y, y)
    count = _quadratic_zeros(a, b, c, angles, 0)
    for i in range(count):
        t = angles[i]
        before = blend(1.0, v, t * go3, h3)
        after = blend(1.0, y, -t * go1, h1)
        q2 = angle_onto(h2, before, after, free[1])
        _put(places, i, base1 + t * go1, q2, base3 + t * go3)
    return count


@inner
def _three_shifts(chain: Array, p: Vector, w: Vector, places: Array) -> int:
    h1, h2, h3 = axis_of(chain, 0), axis_of(chain, 1), axis_of(chain, 2)
    way, volume = minus(w, p), dot(h1, cross(h2, h3))
    if abs(volume) <= FREE:
        return 0
    d1, d2 = dot(way, cross(h2, h3)) / volume, dot(h1, cross(way, h3)) / volume
    return _put(places, 0, d1, d2, dot(h1, cross(h2, way)) / volume)
