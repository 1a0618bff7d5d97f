# SPDX-License-Identifier: Apache-2.0
"""Lanes: several numbers in one register, so that one kernel computes several problems at once.

A kernel written with arithmetic and the functions of this module (`select`, `least`, `most`,
`root`) accepts plain numbers, for one problem, or lanes, each for another problem. Lanes are
stored in float arrays with one more axis, the last; `in_lanes[count]` views such an array without
that axis, so that its elements are lanes. Without numba they are rows of numpy arrays.

    in the kernel           one problem      four lanes
    x = a[i]                float            <4 x double>, from a[i, 0:4]
    y = x * b[i] + 1.0      float            four products, four sums
    select(x < y, x, y)     x if x < y ..    each lane its own

Operations are neither reassociated nor fused: every lane gets, to the last bit, the result of a
single problem. A condition that may differ between lanes can't be an `if`: both sides are computed
and `select` chooses.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..kernels import library
from ..kernels.jit import COMPILED, NumbaProxy, kernel
from ..kernels.records import Rows

Number = Any  # a float, or lanes of floats

# coefficients of atan(x) / x in x^2 for x up to tan(pi / 8), fitted to 1.3e-18
ARC = (
    -0.017805397205419446, 0.03796525745386593, -0.05035102456601552, 0.05846878297330872,
    -0.06662951813629191, 0.07692045330902225, -0.09090896809064027, 0.11111110744919658,
    -0.14285714279250245, 0.19999999999940893, -0.3333333333333312, 1.0,
)  # fmt: skip
EIGHTH = 0.41421356237309503  # tan(pi / 8)
HALF_PI, PI = 1.5707963267948966, 3.141592653589793
EDGE = 0.8  # a little more than pi / 4
# pi / 2 in parts; the first two have 33 bits, so their products with numbers up to 2^20 are exact
QUARTER_TURN = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
# coefficients in x^2 that give sin x and cos x on [-pi/4, pi/4] to the last bit or two
# [Moshier1992]
SINE = (
    1.58962301576546568060e-10,
    -2.50507477628578072866e-8,
    2.75573136213857245213e-6,
    -1.98412698295895385996e-4,
    8.33333333332211858878e-3,
    -1.66666666666666307295e-1,
)
COSINE = (
    -1.13585365213876817300e-11,
    2.08757008419747316778e-9,
    -2.75573141792967388112e-7,
    2.48015872888517045348e-5,
    -1.38888888888730564116e-3,
    4.16666666666665929218e-2,
)
SMALLEST = 1e-200  # divisors are at least this


def root(x: Number) -> Number:
    """The square root."""
    return np.sqrt(x) if isinstance(x, np.ndarray) else math.sqrt(x)


def floor(x: Number) -> Number:
    """The largest whole number up to x, as a float."""
    return np.floor(x)


def least(a: Number, b: Number) -> Number:
    """The smaller one of a and b; a if they are equal."""
    return select(b < a, b, a)


def most(a: Number, b: Number) -> Number:
    """The larger one of a and b; a if they are equal."""
    return select(b > a, b, a)


def select(condition: Any, a: Number, b: Number) -> Number:
    """a if the condition is true, else b, lane by lane."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, a, b)
    return a if condition else b


def bits(condition: Any) -> int:
    """A condition as an integer: bit i for lane i."""
    return sum(1 << i for i, holds in enumerate(np.atleast_1d(condition)) if holds)


# functions that view an array (..., L) as an array (...) of lanes, by the number of lanes
in_lanes: dict[int, Any] = {1: Rows, 4: Rows, 8: Rows}

LANES = 1  # the number of lanes that is fastest on this machine; 1 if kernels are not compiled
HAS_LANES = True  # False for a numba whose internals are unknown


class InLanes(NumbaProxy):
    """View of a float array (..., count) as an array (...) of lanes, for compiled kernels."""

    def __init__(self, count: int) -> None:
        self.count = count

    def for_numba(self) -> Any:
        """Make numba's intrinsic, once."""
        if self._made is None:
            from ..kernels import numba_lanes

            self._made = numba_lanes.in_lanes(self.count)
        return self._made


@cache
def register_types() -> None:
    """Register lanes with numba. Raises ImportError or AttributeError if its internals differ."""
    if HAS_LANES:
        from ..kernels import numba_lanes

        numba_lanes.register(root, floor, least, most, select, bits)


library.REGISTRATIONS.append(register_types)

if library.BACKEND == 'library':
    LANES = library.lanes()
    in_lanes = {count: InLanes(count) for count in in_lanes}
elif COMPILED:
    try:
        from ..kernels import numba_lanes

        register_types()
        LANES = numba_lanes.natural_count()
        in_lanes = {count: InLanes(count) for count in in_lanes}
    except (ImportError, AttributeError):
        HAS_LANES = False
        from . import one_lane

        root, floor, bits = one_lane.root, one_lane.floor, one_lane.bits
        least, most, select = one_lane.least, one_lane.most, one_lane.select
        in_lanes[1] = one_lane.in_lane


@kernel
def angle_of(x: Number, y: Number) -> Number:
    """The angle [rad] with a cosine and a sine proportional to x and y, as atan2(y, x)."""
    high, low = most(abs(x), abs(y)), least(abs(x), abs(y))
    steep = low > EIGHTH * high
    ratio = select(steep, low - high, low) / most(select(steep, low + high, high), SMALLEST)
    z = ratio * ratio
    z2 = z * z
    z4 = z2 * z2
    # three short sums, which overlap, take half the time of one long sum
    last = (ARC[3] + ARC[2] * z) + z2 * (ARC[1] + ARC[0] * z)
    middle = (ARC[7] + ARC[6] * z) + z2 * (ARC[5] + ARC[4] * z)
    first = (ARC[11] + ARC[10] * z) + z2 * (ARC[9] + ARC[8] * z)
    arc = ratio * (first + z4 * (middle + z4 * last))
    angle = select(steep, 0.5 * HALF_PI, 0.0) + arc
    angle = select(abs(y) > abs(x), HALF_PI - angle, angle)
    angle = select(x < 0.0, PI - angle, angle)
    return select(y < 0.0, -angle, angle)


@kernel
def cos_sin(x: Number) -> tuple[Number, Number]:
    """(cos x, sin x) for x [rad]: to a bit or two up to 1e6, beyond as exactly as x is known."""
    quarters = floor(x * (2.0 / PI) + 0.5)
    r = x - quarters * QUARTER_TURN[0] - quarters * QUARTER_TURN[1] - quarters * QUARTER_TURN[2]
    r = least(most(r, -EDGE), EDGE)  # beyond 1e9 digits are lost, but the results stay in -1..1
    z = r * r
    s, c = SINE[0], COSINE[0]
    for i in range(1, 6):
        s, c = s * z + SINE[i], c * z + COSINE[i]
    sine = r + r * z * s
    cosine = 1.0 - 0.5 * z + z * z * c
    quadrant = quarters - 4.0 * floor(0.25 * quarters)
    odd = (quadrant == 1.0) | (quadrant == 3.0)
    left = (quadrant == 1.0) | (quadrant == 2.0)
    along, up = select(odd, sine, cosine), select(odd, cosine, sine)
    return select(left, -along, along), select(quadrant >= 2.0, -up, up)
