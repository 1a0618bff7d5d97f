# SPDX-License-Identifier: Apache-2.0
"""The three formulas to which all subproblems of a closed form reduce, for numbers or lanes.

- `turn`: R(h, q) a = b, one angle ([Paden1986] subproblem 1);
- `line`: x cos q + y sin q = d, two angles. A point that is turned into a `plane` ([EliasWen2022]
  subproblem 4), onto a `sphere` ([Paden1986] 3), and a direction or point that two axes which meet
  bring to its place, a `cone` ([Paden1986] 2), give x, y and d; for a prismatic joint
  `line_of_shift`;
- `quartic`: a trigonometric polynomial of degree two, four angles ([Pieper1968], [EliasWen2022] 5
  and 6).

Angles are pairs (cosine, sine). Singular cases are handled here and nowhere else:

- *undetermined*, where every angle is a solution: `free`, which is the start's;
- *double*, where two solutions coincide or rounding has lost them: both are the angle between;
- *none*: that same angle. The loop does not close then, and the candidate is rejected.

So each formula returns an angle without control flow, and lanes are independent. `cone` and
`sphere` give the gap between two solutions without cancellation: by the arccosine, as in
textbooks, half of the digits are lost where a wrist is aligned or an arm stretched.
"""

from __future__ import annotations

from ..kernels.jit import inline_kernel, kernel
from ..maths.lanes import Number, bits, least, most, root, select
from ..maths.vectors import Vector, cross, dot, times

# Squared lengths [m^2] below which a vector has no direction. FINE: whatever its angle, the loop
# closes to the nanometre of an exact solution. COARSE: rounding may have caused its direction.
FINE, COARSE = 6e-20, 1e-14
# Gaps of points below this fraction of `short`, times their terms, are set to zero, as for
# stretched arms: this moves a point by no more than rounding, while the angle would be wrong by
# the root of it.
STRETCHED_ROUNDING = 0.2
SMALLEST = 1e-200  # Smallest absolute value of a divisor
# Coefficients of a polynomial below this, relative to the largest, are zero
ZERO_COEFFICIENT = 1e-13
# A polynomial is zero if it is below this fraction of the sum of its terms
ZERO_POLYNOMIAL = 1e-14
ROOT_ROUNDS, ROOT_SETTLED = 60, 1e-16
POLISHES, LONGEST = 3, 0.1  # Number of Newton steps for a root, and the longest of them [rad]

Angle = tuple[Number, Number]  # (cosine, sine)
# x0 + x1 cos q + x2 sin q; for a prismatic joint x0 + x1 d + x2 d^2.
Affine = tuple[Number, Number, Number]
# x0 + x1 cos q + x2 sin q + x3 cos 2q + x4 sin 2q.
Trigonometric = tuple[Number, Number, Number, Number, Number]
Line = tuple[Number, Number, Number, Number]  # x, y, d and gap of `line`


@inline_kernel
def add(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inline_kernel
def blend(p: Number, a: Vector, q: Number, b: Vector) -> Vector:
    """p a + q b."""
    return p * a[0] + q * b[0], p * a[1] + q * b[1], p * a[2] + q * b[2]


@inline_kernel
def across(h: Vector, v: Vector) -> Vector:
    """Return the part of v perpendicular to the unit vector h."""
    return blend(1.0, v, -dot(h, v), h)


@inline_kernel
def rotated(h: Vector, c: Number, s: Number, v: Vector) -> Vector:
    """R(h, q) v for the cosine and sine of q (Rodrigues)."""
    return add(blend(c, v, s, cross(h, v)), times((1.0 - c) * dot(h, v), h))


@inline_kernel
def turn(h: Vector, a: Vector, b: Vector, free: Angle, short: Number) -> Angle:
    """Return cosine and sine of the rotation about h that brings a nearest to b.

    short: FINE or COARSE
    """
    u, v = cross(h, a), cross(h, b)  # a and b across h, a quarter turn further
    x, y = dot(u, v), dot(u, cross(v, h))
    square = x * x + y * y
    scale = 1.0 / root(most(square, SMALLEST))
    clear = square > short * short
    return select(clear, scale * x, free[0]), select(clear, scale * y, free[1])


@inline_kernel
def line(
    x: Number, y: Number, d: Number, gap: Number, free: Angle, short: Number
) -> tuple[Number, Number, Number, Number, Number]:
    """Solve x cos q + y sin q = d for its two angles.

    Returns the means of their cosines and sines, half the differences, and the squared sine of
    half the angle between them, negative if there is no real angle. gap: x^2 + y^2 - d^2, which
    the caller may know without cancellation; short: FINE or COARSE
    """
    square = x * x + y * y
    length, inverse = root(square), 1.0 / most(square, SMALLEST)
    touching = select(d > 0.0, length, -length)
    along = select(gap > 0.0, d, touching) * inverse
    away = root(most(gap, 0.0)) * inverse
    clear = square > short
    return (
        select(clear, x * along, free[0]), select(clear, y * along, free[1]),
        select(clear, -y * away, 0.0), select(clear, x * away, 0.0),
        select(clear, gap * inverse, 1.0),
    )  # fmt: skip


@kernel
def line_of_shift(h: Vector, u: Vector, w: Vector, sign: Number) -> tuple[Number, Number]:
    """Return the shift d with |u + d h| = |w| that a sign selects, and the gap of the two shifts.

    The gap is (half their difference / |w|)^2, negative if there is no real shift.
    """
    rise, flat, square = dot(h, u), across(h, u), dot(w, w)
    gap = square - dot(flat, flat)
    return sign * root(most(gap, 0.0)) - rise, gap / most(square, SMALLEST)


@inline_kernel
def plane(h: Vector, a: Vector, f: Vector, d: Number, short: Number) -> Line:
    """Write f . R(h, q) a = d as the equation of `line`."""
    flat = across(h, a)
    x, y, d = dot(f, flat), dot(f, cross(h, a)), d - dot(h, a) * dot(h, f)
    square = x * x + y * y
    length, far = root(square), abs(d)
    gap = (length - far) * (length + far)
    return x, y, d, select(abs(gap) > STRETCHED_ROUNDING * short * square, gap, 0.0)


@inline_kernel
def sphere(h: Vector, a: Vector, g: Vector, w: Vector, short: Number) -> Line:
    """Write |R(h, q) a - g| = |w| as the equation of `line`.

    It is a triangle perpendicular to h, with the sides |a|, |g| and one that may be tiny, the part
    of |w| perpendicular to h.
    """
    flat, lever, rise = across(h, a), across(h, g), dot(h, a) - dot(h, g)
    one, two = dot(flat, flat), dot(lever, lever)
    up, side = dot(h, w), across(h, w)
    third = dot(side, side) + (up - rise) * (up + rise)
    gap = 0.25 * (third * (2.0 * (one + two) - third) - (one - two) * (one - two))
    gap = select(abs(gap) > STRETCHED_ROUNDING * short * third * (one + two), gap, 0.0)
    return dot(g, flat), dot(g, cross(h, a)), 0.5 * (one + two - third), gap


@inline_kernel
def cone(h: Vector, a: Vector, f: Vector, f0: Vector, w: Vector) -> Line:
    """Write f . R(h, q) a = f0 . w with |a| = |w|, a spherical triangle, as the equation of
    `line`.

    The part of w perpendicular to f0 may be tiny, as it is for an aligned wrist.
    """
    side, along, length = across(f0, w), dot(f0, w), root(dot(w, w))
    small, lean, rise = dot(side, side), dot(h, f), dot(h, a)
    flip = select(along > 0.0, 1.0, -1.0)
    apart = length * lean - flip * rise
    bend = small / most(length + abs(along), SMALLEST)
    gap = small - apart * apart - 2.0 * flip * lean * rise * bend
    flat = across(h, a)
    return dot(f, flat), dot(f, cross(h, a)), along - lean * rise, gap


# --- polynomials of degree two -------------------------------------------------------------------


@kernel
def product(slides: bool, x: Affine, y: Affine) -> Trigonometric:
    """Return x y; for a prismatic joint times cos^4(q/2), with d = tan(q/2)."""
    if slides:
        a, b, c = x[0] * y[0], x[0] * y[1] + x[1] * y[0], x[0] * y[2] + x[1] * y[1] + x[2] * y[0]
        d, e = x[1] * y[2] + x[2] * y[1], x[2] * y[2]
        return (
            0.125 * (3.0 * a + c + 3.0 * e), 0.5 * (a - e), 0.25 * (b + d), 0.125 * (a - c + e),
            0.125 * (b - d),
        )  # fmt: skip
    return (
        x[0] * y[0] + 0.5 * (x[1] * y[1] + x[2] * y[2]),
        x[0] * y[1] + x[1] * y[0],
        x[0] * y[2] + x[2] * y[0],
        0.5 * (x[1] * y[1] - x[2] * y[2]),
        0.5 * (x[1] * y[2] + x[2] * y[1]),
    )


@kernel
def combined(p: Number, x: Trigonometric, q: Number, y: Trigonometric) -> Trigonometric:
    """p x + q y."""
    return (
        p * x[0] + q * y[0], p * x[1] + q * y[1], p * x[2] + q * y[2], p * x[3] + q * y[3],
        p * x[4] + q * y[4],
    )  # fmt: skip


@kernel
def quartic(
    p: Trigonometric, size: Number, signs: tuple[Number, Number], free: Angle
) -> tuple[Number, Number, Number]:
    """Return the zero of p that two signs select, and its gap, as in `line`.

    With (x, y) = (cos q, sin q) the zeros are the points where a conic meets the unit circle. In
    the pencil of both there is a pair of real lines: one sign says which line, the other which of
    its two points. size: that of the terms of which p is the sum
    """
    scale = most(most(most(abs(p[0]), abs(p[1])), most(abs(p[2]), abs(p[3]))), abs(p[4]))
    clear = scale > ZERO_POLYNOMIAL * size
    p = combined(1.0 / most(scale, SMALLEST), p, 0.0, p)
    length = root(p[3] * p[3] + p[4] * p[4])
    bends = length > ZERO_COEFFICIENT
    inverse = 1.0 / most(length, ZERO_COEFFICIENT)
    c2, s2 = select(bends, p[3] * inverse, 1.0), select(bends, p[4] * inverse, 0.0)
    larger = root(0.5 + 0.5 * abs(c2))  # the direction of half the angle of (c2, s2)
    smaller = 0.5 * s2 / larger
    c, s = select(c2 > 0.0, larger, abs(smaller)), select(c2 > 0.0, smaller, larger)
    s = select((c2 <= 0.0) & (s2 < 0.0), -s, s)
    u, v, m = _one_line(
        p[0] * inverse, (p[1] * c + p[2] * s) * inverse, (p[2] * c - p[1] * s) * inverse, signs[0]
    )
    cq, sq, dc, ds, gap = line(u, v, -m, u * u + v * v - m * m, (1.0, 0.0), FINE)
    cq, sq = cq + signs[1] * dc, sq + signs[1] * ds
    cq, sq = _polished(p, cq * c - sq * s, sq * c + cq * s)
    return select(clear, cq, free[0]), select(clear, sq, free[1]), select(clear, gap, 1.0)


@kernel
def _one_line(a: Number, c: Number, s: Number, sign: Number) -> tuple[Number, Number, Number]:
    """Return u, v, m of one of two lines u x + v y + m = 0 through the zeros of a + c x + s y +
    x^2 - y^2.

    That + mu (x^2 + y^2 - 1) = (u x + v y + m) (u x - v y + n), so u^2 = 1 + mu, v^2 = 1 - mu,
    u (m + n) = c, v (n - m) = s, m n = a - mu.
    """
    mu = _degenerate(a, 0.25 * s * s, 0.25 * c * c)
    u, v = root(most(1.0 + mu, 0.0)), root(most(1.0 - mu, 0.0))
    left = mu < 0.0  # one of c / u, s / v keeps its digits, the other follows from it
    known = select(left, s / most(v, SMALLEST), c / most(u, SMALLEST))
    rest = 4.0 * (a - mu)
    other = root(most(known * known + select(left, rest, -rest), 0.0))
    total = select(left, select(c < 0.0, -other, other), known)
    apart = select(left, known, select(s < 0.0, -other, other))
    same = total * apart >= 0.0
    larger = 0.5 * select(same, total + apart, total - apart)
    nonzero = abs(larger) > SMALLEST
    smaller = select(nonzero, (a - mu) / select(nonzero, larger, 1.0), 0.0)
    m, n = select(same, smaller, larger), select(same, larger, smaller)
    return u, select(sign > 0.0, v, -v), select(sign > 0.0, m, n)


@kernel
def _degenerate(a: Number, s: Number, c: Number) -> Number:
    """Return the zero between -1 and 1 of (mu^2 - 1) (a - mu) - (mu + 1) s - (mu - 1) c, by
    Newton's method inside bounds."""
    mu = 0.0 * a
    low, high = mu - 1.0, mu + 1.0
    for _ in range(ROOT_ROUNDS):
        value = (mu * mu - 1.0) * (a - mu) - (mu + 1.0) * s - (mu - 1.0) * c
        rising = value >= 0.0
        low, high = select(rising, mu, low), select(rising, high, mu)
        slope = 2.0 * mu * (a - mu) - (mu * mu - 1.0) - s - c
        flat = abs(slope) < SMALLEST
        following = select(flat, low, mu - value / select(flat, 1.0, slope))
        inside = (following > low) & (following < high)
        following = select(inside, following, 0.5 * (low + high))
        moving = (following != mu) & (high - low > ROOT_SETTLED)
        if bits(moving) == 0:
            break
        mu = select(moving, following, mu)
    return mu


@kernel
def _value(p: Trigonometric, c: Number, s: Number) -> Number:
    return p[0] + p[1] * c + p[2] * s + p[3] * (c * c - s * s) + 2.0 * p[4] * c * s


@kernel
def _polished(p: Trigonometric, c: Number, s: Number) -> Angle:
    """Refine a zero near an angle by Newton's method, while that comes nearer."""
    value = _value(p, c, s)
    for _ in range(POLISHES):
        slope = p[2] * c - p[1] * s + 2.0 * p[4] * (c * c - s * s) - 4.0 * p[3] * c * s
        step = value / select(abs(slope) > SMALLEST, slope, 1.0)
        step = least(most(step, -LONGEST), LONGEST)
        scale = 1.0 / root(1.0 + step * step)
        c1, s1 = scale * (c + step * s), scale * (s - step * c)
        nearer = _value(p, c1, s1)
        better = abs(nearer) < abs(value)
        c, s, value = select(better, c1, c), select(better, s1, s), select(better, nearer, value)
    return c, s
