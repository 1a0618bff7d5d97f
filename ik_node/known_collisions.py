# SPDX-License-Identifier: Apache-2.0
"""The collisions of the links of the robot that a node moves, for all callers."""

from __future__ import annotations

from ik_core import Collisions, Robot
from ik_core.locks import Lock

MOST_MARGINS = 4  # margins whose collisions are kept: the last ones


class KnownCollisions:
    """Prepared at the first call for a margin, which may take seconds; other callers wait."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._robot: Robot | None = None
        self._by_margin: dict[float, Collisions] = {}

    def of(self, robot: Robot, margin: float) -> Collisions:
        """Return those of a robot whose links are to be farther apart than the margin [m].

        Raises IkError where its description has no usable geometry.
        """
        with self._lock:
            if self._robot is not robot:
                self._robot, self._by_margin = robot, {}
            found = self._by_margin.pop(margin, None)
            if found is None:
                others = next(iter(self._by_margin.values()), None)
                pieces = None if others is None else others.pieces
                found = Collisions(robot, margin=margin, pieces=pieces)
            self._by_margin[margin] = found  # the newest last
            while len(self._by_margin) > MOST_MARGINS:
                del self._by_margin[next(iter(self._by_margin))]
            return found
