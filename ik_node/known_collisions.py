# SPDX-License-Identifier: Apache-2.0
"""A cache of the self-collision checkers of the node's robots, shared by all its parts."""

from __future__ import annotations

from pathlib import Path

from ik_core import Collisions, Robot
from ik_core.collision import World, load_world
from ik_core.exceptions import IkError, InvalidOption, UnsupportedProblem
from ik_core.locks import Lock

from .parameters.node_options import NodeOptions

MOST_MARGINS = 4  # the cache keeps the checkers of the last robots and margins only


class KnownCollisions:
    """The self-collision checkers by robot and margin; the first call takes seconds.

    Other threads wait meanwhile.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[tuple[Robot, float], Collisions] = {}

    def of(self, robot: Robot, margin: float) -> Collisions:
        """Return the checker that keeps the links of a robot farther apart than the margin [m].

        Raises IkError if the description has no usable geometry.
        """
        with self._lock:
            found = self._known.pop((robot, margin), None)
            if found is None:
                others = (each for each in self._known.values() if each.robot is robot)
                pieces = next((each.pieces for each in others), None)
                found = Collisions(robot, margin=margin, pieces=pieces)
            self._known[robot, margin] = found  # the newest last
            while len(self._known) > MOST_MARGINS:
                del self._known[next(iter(self._known))]
            return found

    def to_avoid(self, robot: Robot, options: NodeOptions) -> Collisions | None:
        """Return the checker of a robot in the world that it avoids; None for `avoid: none`.

        Raises InvalidOption for a `world_file` that is missing, broken or not for this robot,
        UnsupportedProblem if the description has no usable collision geometry.
        """
        if options.avoid == 'none':
            return None
        world = _world_of(options) if options.avoid == 'world' else World()
        try:
            alone = self.of(robot, options.avoid_margin)
        except IkError as error:
            raise UnsupportedProblem(f'avoid: {options.avoid} is not possible: {error}') from error
        try:
            avoided = alone.with_world(world)
        except IkError as error:
            raise InvalidOption(f'world_file {options.world_file}: {error}') from error
        avoided.prepare_motion()
        return avoided


def _world_of(options: NodeOptions) -> World:
    if not options.world_file:
        return World()  # all obstacles come by topics
    try:
        return load_world(Path(options.world_file).expanduser())
    except IkError as error:
        raise InvalidOption(f'world_file: {error}') from error
