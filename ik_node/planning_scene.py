"""MoveIt's planning scenes: what is around the robot and on its links, and what may touch.

A scene is a value: each message makes another one, or is refused as a whole. What stands in the
frame of a link stays where that frame was when the message came; in any other frame, it moves with
that frame. Meshes are their convex hulls. Octomaps, planes, cones, padding and scale are not
supported.

Nothing here imports moveit_msgs: whatever has the fields of its messages will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import combinations
from typing import Any

import numpy as np

from ik_core import IkError, Robot
from ik_core.collision import Box, Convex, Cylinder, Sphere, World
from ik_core.collision.shapes import Shape, checked_shape
from ik_core.collision.world import MOST
from ik_core.exceptions import InvalidOption
from ik_core.maths.rotations import Array

from .conversions import pose_to_transform

PRIMITIVES: dict[int, tuple[Callable[[list[float]], Shape], int]] = {
    1: (lambda sizes: Box((sizes[0], sizes[1], sizes[2])), 3),
    2: (lambda sizes: Sphere(sizes[0]), 1),
    3: (lambda sizes: Cylinder(sizes[1], sizes[0]), 2),
}
"""Makers of shapes and their dimensions, by shape_msgs/SolidPrimitive.type."""


class Operation(IntEnum):
    """The operations of moveit_msgs/CollisionObject."""

    ADD = 0
    REMOVE = 1
    APPEND = 2
    MOVE = 3


@dataclass(frozen=True)
class Moment:
    """A robot at positions q (n,), and where frames are then.

    frame_of : the pose (4, 4) of a frame by its id, in the root link's; raises IkError
    """

    robot: Robot
    q: Array
    frame_of: Callable[[str], Array]

    def in_link(self, link: str, pose: Array) -> Array:
        """Return a pose (4, 4) in the root link's frame in that of a link."""
        own: Array = np.linalg.inv(self.robot.forward_kinematics(self.q, link)) @ pose
        return own


@dataclass(frozen=True)
class Thing:
    """An object: shapes with poses (4, 4) in its frame, and its pose.

    frame_id : that the pose is in; of what a link carries that link
    is_carried : whether a link carries it
    touching : links that it may touch
    """

    frame_id: str
    pose: Array
    shapes: tuple[tuple[Shape, Array], ...]
    is_carried: bool = False
    touching: tuple[str, ...] = ()


@dataclass(frozen=True)
class Allowed:
    """Pairs of names that may touch, and names that may by default."""

    pairs: Mapping[frozenset[str], bool] = field(default_factory=dict)
    defaults: Mapping[str, bool] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.pairs or self.defaults)

    def names(self, first: str, second: str) -> bool:
        """Return whether two may touch; where both have a default, both must allow it."""
        default = [self.defaults[name] for name in (first, second) if name in self.defaults]
        return self.pairs.get(frozenset((first, second)), bool(default) and all(default))


@dataclass(frozen=True)
class PlanningScene:
    """Objects by their ids, and what may touch."""

    things: Mapping[str, Thing] = field(default_factory=dict)
    allowed: Allowed = field(default_factory=Allowed)

    def __bool__(self) -> bool:
        return bool(self.things or self.allowed)

    def changed(self, message: Any, now: Moment) -> PlanningScene:
        """Return the scene after a moveit_msgs/PlanningScene.

        Raises IkError that says what is wrong.
        """
        if message.world.octomap.octomap.data:
            raise InvalidOption('octomaps are not supported: boxes can stand for what they show')
        scene = self if message.is_diff else PlanningScene()
        matrix = message.allowed_collision_matrix
        if matrix.entry_names or matrix.default_entry_names:
            scene = replace(scene, allowed=_allowed(matrix))
        for each in message.world.collision_objects:
            with _about(f'object {each.id!r}'):
                scene = scene._holding(scene._things_after(each, now))
        return scene.attaching(message.robot_state.attached_collision_objects, now)

    def attaching(self, carried: Iterable[Any], now: Moment) -> PlanningScene:
        """Return the scene after moveit_msgs/AttachedCollisionObject.

        One without shapes picks up what has its id; one that is removed stays where it is.
        Raises IkError that names the object.
        """
        scene = self
        for each in carried:
            with _about(f'attached object {each.object.id!r}'):
                scene = scene._holding(scene._carried(each, now))
        return scene

    def without_attached(self) -> PlanningScene:
        """Return the scene in which no link carries anything."""
        return replace(self, things={k: it for k, it in self.things.items() if not it.is_carried})

    def put_into(self, world: World, now: Moment) -> None:
        """Add everything to a world. Raises IkError that names the object."""
        parts = {link: [link] for link in now.robot.link_names}
        for name, thing in self.things.items():
            kind = 'attached ' if thing.is_carried else ''
            with _about(f'{kind}object {name!r}'):
                base = (
                    thing.pose if thing.is_carried else now.frame_of(thing.frame_id) @ thing.pose
                )
                parts[name] = []
                for number, (shape, place) in enumerate(thing.shapes):
                    part = f'{name} {number}' if number else name
                    parts[name].append(part)
                    if thing.is_carried:
                        world.attach(part, shape, thing.frame_id, base @ place, thing.touching)
                    else:
                        world.add(part, shape, base @ place)
        for first, second in combinations(parts, 2) if self.allowed else ():
            if self.allowed.names(first, second):
                for one in parts[first]:
                    for other in parts[second]:
                        world.allow(one, other)

    def _holding(self, things: Mapping[str, Thing]) -> PlanningScene:
        if sum(len(thing.shapes) for thing in things.values()) > MOST:
            raise InvalidOption(f'there would be more than {MOST} shapes')
        return replace(self, things=things)

    def _things_after(self, message: Any, now: Moment) -> dict[str, Thing]:
        """The things after a moveit_msgs/CollisionObject."""
        name, operation, things = message.id, _operation(message), dict(self.things)
        before = things.get(name)
        if operation == Operation.REMOVE:
            return {k: it for k, it in things.items() if it.is_carried or name not in ('', k)}
        if operation == Operation.MOVE:
            if before is None or before.is_carried:
                raise InvalidOption('none stands in the world that could be moved')
            thing = replace(_thing(message, now), shapes=before.shapes)
        else:
            thing = _thing(message, now)
            if not thing.shapes:
                raise InvalidOption('primitives or meshes are needed')
            if operation == Operation.APPEND and before is not None and not before.is_carried:
                if thing.frame_id != before.frame_id:
                    raise InvalidOption(f'to append, its frame {before.frame_id!r} is needed')
                moved = np.linalg.inv(before.pose) @ thing.pose
                more = tuple((shape, moved @ place) for shape, place in thing.shapes)
                thing = replace(before, shapes=before.shapes + more)
        return things | {name: thing}

    def _carried(self, message: Any, now: Moment) -> dict[str, Thing]:
        """The things after a moveit_msgs/AttachedCollisionObject."""
        name, link, things = message.object.id, message.link_name, dict(self.things)
        if _operation(message.object) == Operation.REMOVE:
            for each, it in things.items():
                if it.is_carried and name in ('', each) and link in ('', it.frame_id):
                    at = now.robot.forward_kinematics(now.q, it.frame_id) @ it.pose
                    things[each] = Thing(now.robot.base_link, at, it.shapes)
            return things
        for each in (link, *message.touch_links):
            now.robot.placement(each)
        thing = _thing(message.object, now)
        if not thing.shapes:
            if name not in things:
                raise InvalidOption('primitives or meshes are needed')
            thing = things[name]
        pose = thing.pose
        if not thing.is_carried:
            pose = now.in_link(link, now.frame_of(thing.frame_id) @ pose)
        elif thing.frame_id != link:
            there = now.robot.forward_kinematics(now.q, thing.frame_id) @ pose
            pose = now.in_link(link, there)
        return things | {name: Thing(link, pose, thing.shapes, True, tuple(message.touch_links))}


@contextmanager
def _about(what: str) -> Iterator[None]:
    """Errors inside say what they are about."""
    try:
        yield
    except IkError as error:
        raise InvalidOption(f'{what}: {error}') from error


def _operation(message: Any) -> Operation:
    number = _number(message.operation)
    if number not in set(Operation):
        raise InvalidOption(f'unknown operation {number}')
    return Operation(number)


def _thing(message: Any, now: Moment) -> Thing:
    """The object of a moveit_msgs/CollisionObject; in a link's frame it stays where it is now."""
    if not message.id:
        raise InvalidOption('an id is needed')
    shapes = tuple((checked_shape(shape, message.id), at) for shape, at in _shapes(message))
    frame_id, pose = message.header.frame_id.removeprefix('/'), pose_to_transform(message.pose)
    if frame_id in now.robot.link_names:
        return Thing(now.robot.base_link, now.frame_of(frame_id) @ pose, shapes)
    return Thing(frame_id, pose, shapes)


def _shapes(message: Any) -> Iterator[tuple[Shape, Array]]:
    """The shapes of a moveit_msgs/CollisionObject, and their poses in its frame."""
    if message.planes:
        raise InvalidOption('planes are not supported: a box can be one')
    counts = len(message.primitives), len(message.meshes)
    if counts != (len(message.primitive_poses), len(message.mesh_poses)):
        raise InvalidOption('each primitive and mesh needs a pose')
    for solid, pose in zip(message.primitives, message.primitive_poses, strict=True):
        sizes = list(solid.dimensions)
        make, count = PRIMITIVES.get(_number(solid.type), (None, 0))
        if make is None or len(sizes) != count:
            text = f'a primitive of type {solid.type} with {len(sizes)} dimensions is not known'
            raise InvalidOption(f'{text}: boxes, spheres and cylinders are')
        yield make(sizes), pose_to_transform(pose)
    for mesh, pose in zip(message.meshes, message.mesh_poses, strict=True):
        corners = np.array([(at.x, at.y, at.z) for at in mesh.vertices])
        yield Convex(corners), pose_to_transform(pose)


def _allowed(matrix: Any) -> Allowed:
    """The pairs and defaults of a moveit_msgs/AllowedCollisionMatrix."""
    names, rows = list(matrix.entry_names), [list(row.enabled) for row in matrix.entry_values]
    if [len(row) for row in rows] != [len(names)] * len(names):
        size = len(names)
        raise InvalidOption(f'the allowed collision matrix needs {size} rows of {size} values')
    others, values = list(matrix.default_entry_names), list(matrix.default_entry_values)
    if len(others) != len(values):
        raise InvalidOption('the allowed collision matrix needs a value for each default name')
    pairs = {
        frozenset((names[i], names[j])): bool(rows[i][j] or rows[j][i])
        for i, j in combinations(range(len(names)), 2)
    }
    return Allowed(pairs, dict(zip(others, map(bool, values), strict=True)))


def _number(value: Any) -> int:
    """A number of a message, where a `byte` is bytes."""
    return value[0] if isinstance(value, bytes) else int(value)
