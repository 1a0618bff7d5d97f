# SPDX-License-Identifier: Apache-2.0
"""Lanes: several numbers in one register, so that one kernel computes several problems at once.

A kernel that is written with what stands here (arithmetic, `select`, `least`, `most`, `root`)
computes with whatever it is given: numbers, one problem; or lanes, of which each belongs to
another problem. Lanes live in float arrays with one more axis, the last, and `in_lanes[count]`
shows such an array without that axis: its elements are lanes. Without numba they are rows of
numpy arrays.

    in the kernel           one problem      four lanes
    x = a[i]                float            <4 x double>, from a[i, 0:4]
    y = x * b[i] + 1.0      float            four products, four sums
    select(x < y, x, y)     x if x < y ..    each lane its own

Nothing reassociates or fuses: every lane gets, to the last bit, what one problem alone gets.
What differs from lane to lane can't be an `if`: both sides are computed and `select` takes one.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..kernels import library
from ..kernels.jit import COMPILED, NumbaProxy, kernel
from ..kernels.records import Rows

Number = Any
"""A float, or lanes of them."""

ARC = (
    -0.017805397205419446, 0.03796525745386593, -0.05035102456601552, 0.05846878297330872,
    -0.06662951813629191, 0.07692045330902225, -0.09090896809064027, 0.11111110744919658,
    -0.14285714279250245, 0.19999999999940893, -0.3333333333333312, 1.0,
)  # fmt: skip
"""Coefficients of atan(x) / x in x^2 for x up to tan(pi / 8), fitted to 1.3e-18."""
EIGHTH = 0.41421356237309503
"""tan(pi / 8)."""
HALF_PI, PI = 1.5707963267948966, 3.141592653589793
EDGE = 0.8
"""A little more than pi / 4."""
QUARTER_TURN = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
"""pi / 2 in parts; the first two have 33 bits, so 2^20 times each has no rounding."""
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
"""Coefficients in x^2 that give sin x and cos x on [-pi/4, pi/4] to the last bit or two
[Moshier1992].
"""
SMALLEST = 1e-200
"""Divisors are at least this."""


def root(x: Number) -> Number:
    """The square root."""
    return np.sqrt(x) if isinstance(x, np.ndarray) else math.sqrt(x)


def floor(x: Number) -> Number:
    """The largest whole number that is not above x, as a float."""
    return np.floor(x)


def least(a: Number, b: Number) -> Number:
    """The smaller one; a where they are equal."""
    return select(b < a, b, a)


def most(a: Number, b: Number) -> Number:
    """The larger one; a where they are equal."""
    return select(b > a, b, a)


def select(condition: Any, a: Number, b: Number) -> Number:
    """a where the condition holds, else b."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, a, b)
    return a if condition else b


def bits(condition: Any) -> int:
    """A mask as a number: bit i for lane i."""
    return sum(1 << i for i, holds in enumerate(np.atleast_1d(condition)) if holds)


in_lanes: dict[int, Any] = {1: Rows, 4: Rows, 8: Rows}
"""Converters of an array (..., L) to an array (...) of lanes, by the number of lanes."""

LANES = 1
"""How many lanes are worth it on this machine: 1 where kernels are not compiled."""

HAS_LANES = True
"""Whether kernels may use lanes: not with a numba whose inside is other than those known."""


class InLanes(NumbaProxy):
    """Show a float array (..., count) as an array (...) of lanes, in compiled kernels."""

    def __init__(self, count: int) -> None:
        self.count = count

    def for_numba(self) -> Any:
        """Return numba's intrinsic."""
        if self._made is None:
            from ..kernels import numba_lanes

            self._made = numba_lanes.in_lanes(self.count)
        return self._made


@cache
def register_types() -> None:
    """Register lanes with numba. Raises ImportError or AttributeError if its inside is unknown."""
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
    """The angle of a cosine and a sine, as atan2."""
    high, low = most(abs(x), abs(y)), least(abs(x), abs(y))
    steep = low > EIGHTH * high
    share = select(steep, low - high, low) / most(select(steep, low + high, high), SMALLEST)
    z = share * share
    z2 = z * z
    z4 = z2 * z2
    # sums of few terms at once take half the time of a long one
    last = (ARC[3] + ARC[2] * z) + z2 * (ARC[1] + ARC[0] * z)
    middle = (ARC[7] + ARC[6] * z) + z2 * (ARC[5] + ARC[4] * z)
    first = (ARC[11] + ARC[10] * z) + z2 * (ARC[9] + ARC[8] * z)
    arc = share * (first + z4 * (middle + z4 * last))
    angle = select(steep, 0.5 * HALF_PI, 0.0) + arc
    angle = select(abs(y) > abs(x), HALF_PI - angle, angle)
    angle = select(x < 0.0, PI - angle, angle)
    return select(y < 0.0, -angle, angle)


@kernel
def wave(x: Number) -> tuple[Number, Number]:
    """(cos x, sin x) [rad], to the last bit or two up to 1e6, as well as x is known beyond."""
    quarters = floor(x * (2.0 / PI) + 0.5)
    r = x - quarters * QUARTER_TURN[0] - quarters * QUARTER_TURN[1] - quarters * QUARTER_TURN[2]
    r = least(most(r, -EDGE), EDGE)  # beyond 1e9 its digits are lost, but never the unit circle
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
