# SPDX-License-Identifier: Apache-2.0
"""Joint limits as a box: projection, violation, active limits, and random configurations."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, BoolArray1
from ..maths.rotations import Array
from ..maths.vectors import copy_to, differ

FULL_TURN = 2.0 * math.pi
SNAP = 1e-12  # [rad or m] a variable this close to a limit is at it

# [rad or m] largest position of a joint: sines of larger angles have fewer than eight digits
LARGEST_POSITION = 1e8

# larger limits count as infinite: the difference of two of them may overflow
FARTHEST = 1e300


class JointLimits:
    """The box lower <= x <= upper over the variables of a problem; limits may be infinite.

    `sample_lower` and `sample_upper` are finite: an infinite limit is replaced by the valid value
    nearest to 0, minus or plus pi [rad or m]. `turns` marks variables for which a whole turn more
    or less is the same posture, and whose range is a turn or longer. `packed` (5, n) holds all of
    these for kernels.
    """

    def __init__(self, lower: Array, upper: Array, turns: ArrayLike = False) -> None:
        self.lower = np.array(lower, float)
        self.upper = np.array(upper, float)
        centre = np.clip(0.0, self.lower, self.upper)
        self.sample_lower = np.where(self.lower > -FARTHEST, self.lower, centre - math.pi)
        self.sample_upper = np.where(self.upper < FARTHEST, self.upper, centre + math.pi)
        with np.errstate(over='ignore'):
            width = self.upper - self.lower
        self.turns = np.broadcast_to(turns, self.lower.shape) & (width >= FULL_TURN)
        self.packed = np.array(
            [self.lower, self.upper, self.sample_lower, self.sample_upper, self.turns], float
        )
        for array in (self.lower, self.upper, self.sample_lower, self.sample_upper):
            array.flags.writeable = False

    def project(self, x: Array) -> Array:
        """The point of the box nearest to x, in C order (kernels are compiled per order)."""
        return np.minimum(np.maximum(x, self.lower), self.upper, order='C')

    def nearest_turn(self, x: Array, reference: Array) -> Array:
        """Shift the marked variables of x by whole turns, to the value nearest to `reference`.

        The result stays inside the limits.
        """
        result = x.copy()
        shift_to_nearest_turns(result, reference, self.lower, self.upper, self.turns)
        return result

    def violation(self, x: Array) -> Array:
        """Return the violation of each variable [rad or m]: negative below, positive above."""
        return x - self.project(x)

    def active(self, x: Array, direction: Array) -> NDArray[np.bool_]:
        """Mask of variables at a limit that a step along `direction` would cross."""
        return ((x <= self.lower) & (direction < 0.0)) | ((x >= self.upper) & (direction > 0.0))


@kernel(entry='ik_shift_to_nearest_turns')
def shift_to_nearest_turns(
    q: Array1, reference: Array1, lower: Array1, upper: Array1, turning: BoolArray1
) -> None:
    """Shift the turning joints of q (n,) in place by whole turns, next to the reference (n,).

    If the nearest turn is outside the limits, the nearest one inside is used.
    """
    for i in range(q.size):
        if not turning[i]:
            continue
        turns = np.round((reference[i] - q[i]) / FULL_TURN)
        turns = min(turns, np.floor((upper[i] - q[i]) / FULL_TURN))
        turns = max(turns, np.ceil((lower[i] - q[i]) / FULL_TURN))
        nearest = q[i] + FULL_TURN * turns
        if lower[i] <= nearest <= upper[i]:
            q[i] = nearest


@kernel
def write_answer(best: Array, reference: Array, bounds: Array, answer: Array) -> bool:
    """Write the best point into answer (n,), shifted by whole turns next to the reference (n,).

    The shifted point stays inside the bounds (5, n). Return whether it differs from `best`, so
    that it has to be evaluated again.
    """
    copy_to(best, answer)
    shift_to_nearest_turns(answer, reference, bounds[0], bounds[1], bounds[4])
    return differ(answer, best)


@kernel
def hash32(value: int) -> int:
    """Hash a 32-bit number to a well mixed 32-bit number.

    Products stay below 2^64 and only their low half is used, so Python's integers and wrapping
    machine integers give the same.
    """
    value = ((value ^ (value >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    value = ((value ^ (value >> 15)) * 0x46CA68B5) & 0xFFFFFFFF
    return (value ^ (value >> 16)) & 0xFFFFFFFF


@kernel(entry='ik_random_configuration')
def random_configuration(
    seed: int, attempt: int, lower: Array1, upper: Array1, out: Array1
) -> None:
    """Write a uniform random point of a finite box into `out`; it depends on seed and attempt
    only."""
    stream = hash32(hash32(seed & 0xFFFFFFFF) ^ ((attempt * 0x1E3779B9) & 0xFFFFFFFF))
    for j in range(out.shape[0]):
        bits = hash32(stream ^ hash32(j + 1))
        out[j] = lower[j] + (upper[j] - lower[j]) * (bits + 0.5) / 4294967296.0
