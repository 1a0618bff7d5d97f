"""The collisions of the links of the robot that a node moves, for all who ask."""

from __future__ import annotations

import threading

from ik_core import Collisions, Robot


class KnownCollisions:
    """Prepared for whoever asks first, which may take seconds; others wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._robot: Robot | None = None
        self._collisions: Collisions

    def of(self, robot: Robot) -> Collisions:
        """Return those of a robot. Raises IkError where its description has no usable geometry."""
        with self._lock:
            if self._robot is not robot:
                self._collisions = Collisions(robot)
                self._robot = robot
            return self._collisions
