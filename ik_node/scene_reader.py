# SPDX-License-Identifier: Apache-2.0
"""The planning scene of a node, shared by all parts that change it or check collisions in it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

from ik_core import Collisions
from ik_core.collision import World
from ik_core.collision.world import MAX_OBSTACLES
from ik_core.locks import Lock

from .known_collisions import MOST_MARGINS, KnownCollisions
from .planning_scene import Missing, Moment, PlanningScene
from .texts import explanation

# A method of PlanningScene that returns the scene after a message.
Change = Callable[[PlanningScene, Any, Moment], PlanningScene]
UNREAD = 'planning_scene'  # the kind of a flaw for a message that could not be read at all


class _Made(NamedTuple):
    """Cached checkers: of a robot in a scene (`inside`), and of the robot alone (`alone`)."""

    scene: PlanningScene
    alone: Collisions
    inside: Collisions


class SceneReader:
    """Keeps the planning scene, and makes the robot's collision checkers in it.

    reader.read(message, now)                       # a moveit_msgs/PlanningScene
    reader.scene.missing(ignored)                   # the parts that could not be read
    reader.collisions(reader.scene, margin, now)    # the checker of the robot in the scene

    Checkers are made once for each scene and margin. Threads may share a reader.
    """

    def __init__(self, known: KnownCollisions) -> None:
        self._known = known
        self._lock = Lock()
        self._scene = PlanningScene()
        self._made: dict[float, _Made] = {}

    @property
    def scene(self) -> PlanningScene:
        """The scene after all messages received so far."""
        return self._scene

    def read(
        self, message: Any, now: Moment, change: Change = PlanningScene.changed
    ) -> list[Missing]:
        """Apply a message; return the parts of it that could not be read.

        change : how to read it; the default reads a moveit_msgs/PlanningScene
        """
        with self._lock:
            before = set(self._scene.missing())
            try:
                self._scene = change(self._scene, message, now)
            except Exception as error:  # the next whole scene removes the flaw
                self._scene = self._scene.with_flaw(UNREAD, explanation(error))
            return [each for each in self._scene.missing() if each not in before]

    def clear(self) -> int:
        """Remove all objects, allowed pairs and flaws; return the number of objects."""
        with self._lock:
            count, self._scene = len(self._scene.objects), self._scene.cleared()
            return count

    def leave_room_for(self, world: World) -> None:
        """Accept so many shapes only that they fit into a world with the obstacles it has."""
        room = MAX_OBSTACLES - len(world)
        with self._lock:
            if room != self._scene.room:
                self._scene = replace(self._scene, room=room)

    def miss(self, reason: str) -> None:
        """Add the flaw that a message was not read; the next whole scene removes it."""
        with self._lock:
            self._scene = self._scene.with_flaw(UNREAD, reason)

    def collisions(self, scene: PlanningScene, margin: float, now: Moment) -> Collisions:
        """Return the collision checker in a scene, with a margin [m].

        scene : the reader's, or one made from it

        Objects in moving frames are placed at the frames' poses of `now`; the next call for the
        same scene moves them. Raises IkError for missing geometry or an unknown frame.
        """
        alone = self._known.of(now.robot, margin)
        if not scene:
            return alone
        with self._lock:
            made = self._made.get(margin)
            if made is not None and made.scene is scene and made.alone is alone:
                scene.move_in(made.inside.world, now)
                return made.inside
            inside = copy(alone)
            inside.world = World()
            scene.put_into(inside.world, now)
            inside.free(now.q)  # reads the world, so errors in it are raised here
            if scene is self._scene:
                kept = [(k, it) for k, it in self._made.items() if it.scene is scene]
                self._made = dict(kept[1 - MOST_MARGINS :])
                self._made[margin] = _Made(scene, alone, inside)
            return inside
