"""Angles that fulfil one equation: the canonical subproblems, in real arithmetic.

- `angle_onto`: the turn about an axis that brings one vector onto another ([Paden1986]);
- `line_angles`: x cos q + y sin q = d ([EliasWen2022] subproblem 4);
- `circle_angles`: a trigonometric polynomial of degree two, at most four angles. With
  x = cos q, y = sin q these are the points where a conic meets the unit circle. One of the conics
  through them is a pair of real lines, and each line meets the circle in up to two points. A
  double solution is a line that touches: it is clamped, so that rounding does not lose it.

All are lenient: they also propose angles where an equation just fails to have a solution.
Whoever calls them has to check what comes of it.
"""

from __future__ import annotations

import math

from .._jit import inner, njit
from ..maths.rotations import Array
from ..maths.vectors import Vector, cross, dot, times

LENIENT = 1e-2
"""A line passes the circle by at most this share of its radius where it is taken to touch it."""
FREE = 1e-8
"""Vectors shorter than this have no direction: rounding gives them one [m, or of length one]."""
NOTHING = 1e-14
"""Sums below this share of their terms are zero."""
FLAT = 1e-13
"""Coefficients below this share of the largest are zero."""
LINE_STEPS = 60
POLISHING = 3

Trig = tuple[float, float, float]
"""x0 + x1 cos q + x2 sin q."""
Trig2 = tuple[float, float, float, float, float]
"""x0 + x1 cos q + x2 sin q + x3 cos 2q + x4 sin 2q."""


@njit
def plus(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@njit
def blend(p: float, a: Vector, q: float, b: Vector) -> Vector:
    """p a + q b."""
    return p * a[0] + q * b[0], p * a[1] + q * b[1], p * a[2] + q * b[2]


@njit
def across(axis: Vector, v: Vector) -> Vector:
    """The part of v at right angles to a unit axis."""
    return blend(1.0, v, -dot(axis, v), axis)


@njit
def turned(axis: Vector, angle: float, v: Vector) -> Vector:
    """v turned about a unit axis by an angle (Rodrigues)."""
    c, s = math.cos(angle), math.sin(angle)
    return plus(blend(c, v, s, cross(axis, v)), times((1.0 - c) * dot(axis, v), axis))


@njit
def angle_onto(axis: Vector, a: Vector, b: Vector, free: float) -> float:
    """The turn about a unit axis that brings a as near to b as can be; `free` where all do."""
    a, b = across(axis, a), across(axis, b)
    x, y = dot(a, b), dot(axis, cross(a, b))
    if dot(a, a) <= FREE * FREE or dot(b, b) <= FREE * FREE:
        return free
    return math.atan2(y, x)


@njit
def line_angles(x: float, y: float, d: float, free: float, angles: Array, count: int) -> int:
    """Append the angles where x cos q + y sin q = d; return how many there are then.

    `free` is the one taken where all angles do. x, y and d are numbers around one.
    """
    r = math.hypot(x, y)
    if r <= FREE:
        if abs(d) <= LENIENT * LENIENT:
            angles[count] = free
            count += 1
        return count
    if abs(d) > r * (1.0 + LENIENT):
        return count
    middle, half = math.atan2(y, x), math.atan2(math.sqrt(max(0.0, (r - d) * (r + d))), d)
    angles[count] = middle + half
    if half == 0.0 or abs(d) >= r:
        return count + 1
    angles[count + 1] = middle - half
    return count + 2


@njit
def product(x: Trig, y: Trig) -> Trig2:
    """The product of two trigonometric polynomials of degree one."""
    return (
        x[0] * y[0] + 0.5 * (x[1] * y[1] + x[2] * y[2]),
        x[0] * y[1] + x[1] * y[0],
        x[0] * y[2] + x[2] * y[0],
        0.5 * (x[1] * y[1] - x[2] * y[2]),
        0.5 * (x[1] * y[2] + x[2] * y[1]),
    )


@njit
def combined(p: float, x: Trig2, q: float, y: Trig2) -> Trig2:
    """p x + q y."""
    return (
        p * x[0] + q * y[0],
        p * x[1] + q * y[1],
        p * x[2] + q * y[2],
        p * x[3] + q * y[3],
        p * x[4] + q * y[4],
    )


@njit
def circle_angles(f: Trig2, size: float, free: float, angles: Array) -> int:
    """The angles where f is zero, at most four; `free` alone where it is zero everywhere.

    `size`: that of the terms that f is the sum of.
    """
    scale = max(abs(f[0]), abs(f[1]), abs(f[2]), abs(f[3]), abs(f[4]))
    if scale <= NOTHING * size:
        angles[0] = free
        return 1
    f = combined(1.0 / scale, f, 0.0, f)
    size, turn = math.hypot(f[3], f[4]), 0.5 * math.atan2(f[4], f[3])
    if size <= FLAT:
        count = line_angles(f[1], f[2], -f[0], free, angles, 0)
    else:
        c, s = math.cos(turn), math.sin(turn)
        count = _conic_angles(
            f[0] / size, (f[1] * c + f[2] * s) / size, (f[2] * c - f[1] * s) / size, angles
        )
        for i in range(count):
            angles[i] += turn
    for i in range(count):
        angles[i] = _polished(f, angles[i])
    return count


@inner
def _conic_angles(a: float, c: float, s: float, angles: Array) -> int:
    """The zeros of a + c cos q + s sin q + cos 2q.

    a + c x + s y + x^2 - y^2 + mu (x^2 + y^2 - 1) = (u x + v y + m) (u x - v y + n) with
    u^2 = 1 + mu, v^2 = 1 - mu, u (m + n) = c, v (n - m) = s, m n = a - mu. These agree at the
    zeros of a cubic in mu, which has one between -1 and 1: real lines.
    """
    mu = _line_pair(a, c, s)
    u, v = math.sqrt(max(0.0, 1.0 + mu)), math.sqrt(max(0.0, 1.0 - mu))
    if mu < 0.0:  # c / u loses its digits where u is small, and has to follow from the others
        away = s / v
        total = math.copysign(math.sqrt(max(0.0, away * away + 4.0 * (a - mu))), c)
    else:
        total = c / u
        away = math.copysign(math.sqrt(max(0.0, total * total - 4.0 * (a - mu))), s)
    m = n = 0.0
    if total * away >= 0.0:
        n = 0.5 * (total + away)
        m = (a - mu) / n if n != 0.0 else 0.0
    else:
        m = 0.5 * (total - away)
        n = (a - mu) / m
    count = line_angles(u, v, -m, 0.0, angles, 0)
    return line_angles(u, -v, -n, 0.0, angles, count)


@inner
def _line_pair(a: float, c: float, s: float) -> float:
    """The zero between -1 and 1 of (mu^2 - 1) (a - mu) - (mu + 1) s^2/4 - (mu - 1) c^2/4."""
    s, c = 0.25 * s * s, 0.25 * c * c
    low, high, mu = -1.0, 1.0, 0.0
    for _ in range(LINE_STEPS):
        g = (mu * mu - 1.0) * (a - mu) - (mu + 1.0) * s - (mu - 1.0) * c
        if g >= 0.0:
            low = mu
        else:
            high = mu
        slope = 2.0 * mu * (a - mu) - (mu * mu - 1.0) - s - c
        following = mu - g / slope if slope != 0.0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == mu or high - low <= 1e-16:
            break
        mu = following
    return mu


@njit
def value_of(f: Trig2, q: float) -> float:
    """f(q)."""
    c, s = math.cos(q), math.sin(q)
    return f[0] + f[1] * c + f[2] * s + f[3] * (c * c - s * s) + 2.0 * f[4] * c * s


@inner
def _polished(f: Trig2, q: float) -> float:
    """A zero near q by Newton's method, as long as that comes nearer."""
    value = value_of(f, q)
    for _ in range(POLISHING):
        c, s = math.cos(q), math.sin(q)
        slope = f[2] * c - f[1] * s + 2.0 * f[4] * (c * c - s * s) - 4.0 * f[3] * c * s
        if abs(slope) <= abs(value):
            break
        following = q - value / slope
        nearer = value_of(f, following)
        if abs(nearer) >= abs(value):
            break
        q, value = following, nearer
    return q
