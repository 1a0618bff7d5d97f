# SPDX-License-Identifier: Apache-2.0
"""Limits to judge a motion by: read from a URDF here, and while they change.

Nothing of `ik_core` is used, so that an error there does not excuse itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROWS = ('lower', 'upper', 'velocity', 'acceleration', 'jerk')
LOWER, UPPER, VELOCITY, ACCELERATION, JERK = range(5)
STENCIL = 8  # [ticks] For which a limit still counts after it was lowered: differences look back


@dataclass(frozen=True)
class Mimic:
    """position = multiplier * that of `joint` + offset."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Description:
    """The joints of a robot that move: limits by name, in the order of ROWS, and who mimics."""

    rows: Mapping[str, tuple[float, float, float, float, float]]
    mimics: Mapping[str, Mimic]


def read_description(text: str) -> Description:
    """Read the joints with one degree of freedom from a URDF."""
    rows, mimics = {}, {}
    for joint in ElementTree.fromstring(text.encode()).iter('joint'):
        kind, name = joint.get('type'), joint.get('name', '')
        if kind not in ('revolute', 'continuous', 'prismatic'):
            continue
        limit, mimic = joint.find('limit'), joint.find('mimic')
        given = {} if limit is None else limit.attrib
        turns = kind == 'continuous'
        rows[name] = (
            -math.inf if turns else float(given.get('lower', 0.0)),
            math.inf if turns else float(given.get('upper', 0.0)),
            float(given.get('velocity', 0.0)) or math.inf,
            math.inf,
            math.inf,
        )
        if mimic is not None:
            numbers = float(mimic.get('multiplier', 1.0)), float(mimic.get('offset', 0.0))
            mimics[name] = Mimic(mimic.get('joint', ''), *numbers)
    return Description(rows, mimics)


class Allowance:
    """Allowed values (5, n) at a tick, while limits change in motion.

    A lowered one has to wait until the joint has slowed. How long that can take is bounded: by
    braking with the weakest acceleration and jerk of before and after, after an acceleration
    was run out. Meanwhile the old limit is allowed, and not a moment longer.
    """

    def __init__(self, limits: Array, period: float) -> None:
        self._period = period
        self.asked = np.array(limits, float)
        self._waiting: list[tuple[Array, Array]] = []  # until when (n,) [tick], the old (5, n)
        self._now = self.asked
        self._valid_until = math.inf

    def change(self, limits: Array, tick: int) -> None:
        """Other limits are asked for from this tick on."""
        before = self.at(tick)
        weakest = np.minimum(before, limits)
        jerk, most = weakest[JERK], np.maximum(before, limits)
        easing = np.where(
            np.isfinite(jerk), 2.0 * most[ACCELERATION] / np.minimum(jerk, 1e300), 0.0
        )
        seconds = most[VELOCITY] / weakest[ACCELERATION] + easing
        self._waiting.append((tick + seconds / self._period + STENCIL, before.copy()))
        self.asked = np.array(limits, float)
        self._valid_until = -math.inf

    def is_settled(self, tick: int) -> bool:
        """Return whether no limit of before is allowed any more."""
        self.at(tick)
        return not self._waiting

    def at(self, tick: int) -> Array:
        """The limits (5, n) that this tick has to keep; not to be written to."""
        if tick > self._valid_until:
            self._renew(tick)
        return self._now

    def _renew(self, tick: int) -> None:
        self._waiting = [old for old in self._waiting if (old[0] >= tick).any()]
        now = self.asked.copy()
        for end, rows in self._waiting:
            holds = end >= tick
            now[LOWER] = np.where(holds, np.minimum(now[LOWER], rows[LOWER]), now[LOWER])
            now[UPPER:] = np.where(holds, np.maximum(now[UPPER:], rows[UPPER:]), now[UPPER:])
        self._now = now
        ends = [end[end >= tick].min() for end, _ in self._waiting]
        self._valid_until = min(ends, default=math.inf)
