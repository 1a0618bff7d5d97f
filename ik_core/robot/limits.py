# SPDX-License-Identifier: Apache-2.0
"""Joint limits as a box: projection, violation, the active set, and random configurations."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, BoolArray1
from ..maths.rotations import Array
from ..maths.vectors import copy_to, differ

TURN = 2.0 * math.pi
SNAP = 1e-12
"""A variable this close to a limit [rad or m] is on it."""

LARGEST_POSITION = 1e8
"""Largest position [rad or m] of a joint: sine and cosine of larger angles have fewer than eight
digits.
"""

FARTHEST = 1e300
"""Limits beyond are as good as none: a range between them may be more than a number holds."""


class JointLimits:
    """The box lower <= x <= upper over the variables of a problem, infinite where open.

    `sample_lower`, `sample_upper` are finite: half a turn (rad) or metre to either side of
    the valid value nearest to 0 stands in for a side that is open. `turns` marks variables for
    which a whole turn more or less is the same posture; it stays set where the range has room
    for one. `packed` (5, n) holds all of it for kernels.
    """

    def __init__(self, lower: Array, upper: Array, turns: ArrayLike = False) -> None:
        self.lower = np.array(lower, float)
        self.upper = np.array(upper, float)
        centre = np.clip(0.0, self.lower, self.upper)
        self.sample_lower = np.where(self.lower > -FARTHEST, self.lower, centre - math.pi)
        self.sample_upper = np.where(self.upper < FARTHEST, self.upper, centre + math.pi)
        with np.errstate(over='ignore'):
            room = self.upper - self.lower
        self.turns = np.broadcast_to(turns, self.lower.shape) & (room >= TURN)
        self.packed = np.array(
            [self.lower, self.upper, self.sample_lower, self.sample_upper, self.turns], float
        )
        for array in (self.lower, self.upper, self.sample_lower, self.sample_upper):
            array.flags.writeable = False

    def project(self, x: Array) -> Array:
        """The nearest point of the box, in C order: kernels are compiled once for each order."""
        return np.minimum(np.maximum(x, self.lower), self.upper, order='C')

    def nearest_turn(self, x: Array, reference: Array) -> Array:
        """x with whole turns added where that is the same posture and nearer to `reference`.

        Stays inside the limits: it serves continuous joints and ranges over one turn.
        """
        result = x.copy()
        shift_to_nearest_turns(result, reference, self.lower, self.upper, self.turns)
        return result

    def violation(self, x: Array) -> Array:
        """How far each variable is outside [rad or m]: negative below, positive above."""
        return x - self.project(x)

    def active(self, x: Array, direction: Array) -> NDArray[np.bool_]:
        """Mask of variables at a limit that `direction` would have them cross."""
        return ((x <= self.lower) & (direction < 0.0)) | ((x >= self.upper) & (direction > 0.0))


@kernel(entry='ik_shift_to_nearest_turns')
def shift_to_nearest_turns(
    q: Array1, reference: Array1, lower: Array1, upper: Array1, turning: BoolArray1
) -> None:
    """Shift the turning joints of q (n,) by whole turns, in place, next to the reference (n,).

    Only to places inside the limits: where the nearest turn is outside, the next one inside.
    """
    for i in range(q.size):
        if not turning[i]:
            continue
        turns = np.round((reference[i] - q[i]) / TURN)
        turns = min(turns, np.floor((upper[i] - q[i]) / TURN))
        turns = max(turns, np.ceil((lower[i] - q[i]) / TURN))
        nearest = q[i] + TURN * turns
        if lower[i] <= nearest <= upper[i]:
            q[i] = nearest


@kernel
def write_answer(best: Array, reference: Array, bounds: Array, answer: Array) -> bool:
    """answer (n,) = the best point, on the whole turns nearest to the reference (n,) inside the
    bounds (5, n); return whether they are others, so that it is to be evaluated again."""
    copy_to(best, answer)
    shift_to_nearest_turns(answer, reference, bounds[0], bounds[1], bounds[4])
    return differ(answer, best)


@kernel
def hash32(value: int) -> int:
    """A well mixed 32-bit number for a 32-bit number.

    Products stay below 2^64 and only their low half is used, so Python's integers and wrapped
    machine ones give the same.
    """
    value = ((value ^ (value >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    value = ((value ^ (value >> 15)) * 0x46CA68B5) & 0xFFFFFFFF
    return (value ^ (value >> 16)) & 0xFFFFFFFF


@kernel(entry='ik_random_configuration')
def random_configuration(
    seed: int, attempt: int, lower: Array1, upper: Array1, out: Array1
) -> None:
    """out = a uniform random point of a finite box, a pure function of seed and attempt."""
    stream = hash32(hash32(seed & 0xFFFFFFFF) ^ ((attempt * 0x1E3779B9) & 0xFFFFFFFF))
    for j in range(out.shape[0]):
        bits = hash32(stream ^ hash32(j + 1))
        out[j] = lower[j] + (upper[j] - lower[j]) * (bits + 0.5) / 4294967296.0
