# SPDX-License-Identifier: Apache-2.0
"""A cache of the self-collision checkers of the node's robot, shared by all its parts."""

from __future__ import annotations

from ik_core import Collisions, Robot
from ik_core.locks import Lock

MOST_MARGINS = 4  # the cache keeps the checkers of the last margins only


class KnownCollisions:
    """The self-collision checkers of a robot, by margin; the first call of a margin takes seconds.

    Other threads wait meanwhile.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._robot: Robot | None = None
        self._by_margin: dict[float, Collisions] = {}

    def of(self, robot: Robot, margin: float) -> Collisions:
        """Return the checker that keeps the links of a robot farther apart than the margin [m].

        Raises IkError if the description has no usable geometry.
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
