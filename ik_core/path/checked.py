# SPDX-License-Identifier: Apache-2.0
"""Motions along a piece of the joints' path whose limits are checked at many moments."""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import PPoly

from ..maths.rotations import Array
from . import timing
from .task import Rates, TipUse

MOST_FRAMES = 1_000_000
CHECKED = 4000  # least number of moments at which limits are checked
UNCHECKED = 1.001  # a motion takes so much longer, for what is between them


def fastest(piece: PPoly, tip_use: TipUse | None, rates: Rates) -> timing.TimeLaw:
    """The fastest motion along a piece, from rest to rest, slowed where its checks ask for it."""
    law = timing.fastest(piece, tip_use, rates)
    _, use = uses(piece, tip_use, rates, law)
    slower = max(float(use[k].max()) ** (1.0 / (k + 1)) for k in range(3))
    return law.slowed(UNCHECKED * max(slower, 1.0))


def uses(
    piece: PPoly, tip_use: TipUse | None, rates: Rates, law: timing.TimeLaw
) -> tuple[Array, Array]:
    """Places (M,) of many moments of a motion, and the uses (3, M, v + 1) of limits there."""
    moments = moments_of(law)
    motion = law.place(moments)
    motion = np.hstack([motion, timing.at_knots(piece, law, moments, motion[0])[1]])
    motion = motion[:, np.argsort(motion[0], kind='stable')]
    return motion[0], timing.use_of_limits(piece, tip_use, rates, motion)


def moments_of(law: timing.TimeLaw) -> Array:
    """Moments (M,) of a motion, a millisecond or less apart."""
    count = min(max(CHECKED, math.ceil(law.duration / 1e-3)), 4 * MOST_FRAMES)
    moments: Array = np.linspace(0.0, law.duration, count + 1, dtype=float)
    return moments
