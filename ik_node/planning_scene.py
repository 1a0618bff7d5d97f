# SPDX-License-Identifier: Apache-2.0
"""Planning scenes: objects around the robot and on its links, and allowed collisions.

Messages are those of MoveIt, or markers of RViz: cubes, spheres and cylinders.

A scene is a value: each message makes another one. Reading a message never fails: the readable
parts are applied, and the scene keeps a `Flaw` for each other part, until a later message
replaces or removes that part. So a collision check can be declined while parts are missing
(`PlanningScene.missing`).

An object given in the frame of a link stays where it was when the message came. One given in any
other frame moves with that frame. A marker does neither, but stays, unless it is `frame_locked`:
then it moves with its frame, as RViz shows it; a link carries it. Meshes are replaced by their
convex hulls. Octomaps, planes, cones, padding and scale are not supported.

Nothing here imports messages: any object with the fields of the messages is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from ik_core import IkError, Robot
from ik_core.collision import Box, Convex, Cylinder, Sphere, World
from ik_core.collision.shapes import Shape, checked_shape
from ik_core.collision.world import MAX_OBSTACLES
from ik_core.display import listed
from ik_core.exceptions import InvalidOption
from ik_core.maths.rotations import Array

from .conversions import pose_to_transform

# Makers of shapes and their dimensions, by shape_msgs/SolidPrimitive.type.
PRIMITIVES: dict[int, tuple[Callable[[list[float]], Shape], int]] = {
    1: (lambda sizes: Box((sizes[0], sizes[1], sizes[2])), 3),
    2: (lambda sizes: Sphere(sizes[0]), 1),
    3: (lambda sizes: Cylinder(sizes[1], sizes[0]), 2),
}
MATRIX = 'allowed_collision_matrix'
ROUND = 1e-6  # largest relative difference of two diameters of a round marker
# Kinds of shapes that can't be read, by shape_msgs/SolidPrimitive.type.
UNSUPPORTED = {4: 'cone', 5: 'prism'}


class Action(IntEnum):
    """The actions of visualization_msgs/Marker."""

    ADD = 0  # or modify
    DELETE = 2
    DELETEALL = 3


class Operation(IntEnum):
    """The operations of moveit_msgs/CollisionObject."""

    ADD = 0
    REMOVE = 1
    APPEND = 2
    MOVE = 3


@dataclass(frozen=True)
class Moment:
    """A robot at positions q (n,), and the poses of frames at that moment.

    frame_of : returns the pose (4, 4) of a frame, by its id, in the root link's; raises IkError
    """

    robot: Robot
    q: Array
    frame_of: Callable[[str], Array]

    def in_link(self, link: str, pose: Array) -> Array:
        """Transform a pose (4, 4) from the root link's frame to that of a link."""
        own: Array = np.linalg.inv(self.robot.forward_kinematics(self.q, link)) @ pose
        return own


class Flaw(NamedTuple):
    """A part of a scene that could not be read.

    kind : 'octomap', 'cone', 'plane', ...; '' for invalid values
    """

    kind: str
    reason: str


class Missing(NamedTuple):
    """A flaw of a scene, and the part that has it.

    name : the id of an object; the kind of any other part
    subject : such as "attached object 'cup'"
    """

    name: str
    subject: str
    flaw: Flaw

    def __str__(self) -> str:
        return f'{self.subject}: {self.flaw.reason}'


@dataclass(frozen=True)
class SceneObject:
    """An object: shapes with poses (4, 4) in its frame, and its pose.

    frame_id : the frame of the pose; for a carried object, the link that carries it
    is_carried : whether a link carries the object
    touching : links that it may touch
    flaws : the flaws of shapes that could not be read; `shapes` has the others
    misplaced : why the pose is unknown; the object is then left out of worlds
    """

    frame_id: str
    pose: Array
    shapes: tuple[tuple[Shape, Array], ...] = ()
    is_carried: bool = False
    touching: tuple[str, ...] = ()
    flaws: tuple[Flaw, ...] = ()
    misplaced: Flaw | None = None

    @property
    def all_flaws(self) -> tuple[Flaw, ...]:
        """The flaws of its shapes and of its pose."""
        return self.flaws if self.misplaced is None else (*self.flaws, self.misplaced)


@dataclass(frozen=True)
class Allowed:
    """Pairs of names that may touch, and defaults for single names."""

    pairs: Mapping[frozenset[str], bool] = field(default_factory=dict)
    defaults: Mapping[str, bool] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.pairs or self.defaults)

    def names(self, first: str, second: str) -> bool:
        """Return whether two objects or links may touch; two defaults must both allow it."""
        default = [self.defaults[name] for name in (first, second) if name in self.defaults]
        return self.pairs.get(frozenset((first, second)), bool(default) and all(default))


@dataclass(frozen=True)
class PlanningScene:
    """Objects by their ids, allowed collisions, and flaws of other parts by their kinds.

    room : the most shapes of all objects
    """

    objects: Mapping[str, SceneObject] = field(default_factory=dict)
    allowed: Allowed = field(default_factory=Allowed)
    flaws: Mapping[str, Flaw] = field(default_factory=dict)
    room: int = MAX_OBSTACLES

    def __bool__(self) -> bool:
        return bool(self.objects or self.allowed)

    # --- what is missing -------------------------------------------------------------------------

    def missing(self, ignored: Collection[str] = ()) -> list[Missing]:
        """Return the parts that could not be read, except for ignored kinds and ids of objects."""
        found = [Missing(kind, kind, flaw) for kind, flaw in self.flaws.items()]
        for name, item in self.objects.items():
            subject = _subject(name, item.is_carried)
            found += [Missing(name, subject, flaw) for flaw in item.all_flaws]
        return [each for each in found if not {each.name, each.flaw.kind} & set(ignored)]

    def with_flaw(self, kind: str, reason: str | None) -> PlanningScene:
        """Return the scene with a flaw of a part that is no object; reason None removes it."""
        flaws = {k: flaw for k, flaw in self.flaws.items() if k != kind}
        if reason is not None:
            flaws[kind] = Flaw(kind, reason)
        return replace(self, flaws=flaws)

    # --- messages --------------------------------------------------------------------------------

    def changed(self, message: Any, now: Moment) -> PlanningScene:
        """Return the scene after a moveit_msgs/PlanningScene."""
        scene = self if message.is_diff else self.cleared()
        scene = scene._with_octomap(message.world.octomap.octomap)._with_padding(message)
        matrix = message.allowed_collision_matrix
        if matrix.entry_names or matrix.default_entry_names:
            try:
                scene = replace(scene, allowed=_allowed(matrix)).with_flaw(MATRIX, None)
            except IkError as error:
                scene = scene.with_flaw(MATRIX, str(error))
        scene = scene.adding(message.world.collision_objects, now)
        return scene.attaching(message.robot_state.attached_collision_objects, now)

    def adding(self, objects: Iterable[Any], now: Moment) -> PlanningScene:
        """Return the scene after moveit_msgs/CollisionObject messages, in their order."""
        scene = self
        for each in objects:
            scene = scene._holding(each.id, scene._objects_after(each, now))
        return scene

    def attaching(self, carried: Iterable[Any], now: Moment) -> PlanningScene:
        """Return the scene after moveit_msgs/AttachedCollisionObject messages, in their order.

        A message without shapes attaches the object of its id from the world. A detached object
        stays in the world where it is.
        """
        scene = self
        for each in carried:
            scene = scene._holding(each.object.id, scene._carried(each, now))
        return scene

    def marked(self, message: Any, now: Moment) -> PlanningScene:
        """Return the scene after a visualization_msgs/MarkerArray, its markers in their order.

        The id of an object is '<ns>/<id>'.
        """
        scene = self
        for each in message.markers:
            scene = scene._after_marker(each, now)
        return scene

    def cleared(self) -> PlanningScene:
        """Return an empty scene with as much room."""
        return PlanningScene(room=self.room)

    def without_attached(self) -> PlanningScene:
        """Return the scene without attached objects."""
        objects = {k: it for k, it in self.objects.items() if not it.is_carried}
        return self if len(objects) == len(self.objects) else replace(self, objects=objects)

    # --- worlds ----------------------------------------------------------------------------------

    def put_into(self, world: World, now: Moment) -> None:
        """Add all objects with a known pose to a world. Raises IkError naming one.

        An object with the name of an obstacle of the world gets a number.
        """
        links = set(now.robot.link_names)
        parts = {link: [link] for link in now.robot.link_names}
        for name, part, item, shape, pose in self._parts(now, {each.name for each in world}):
            if item.is_carried:
                world.attach(part, shape, item.frame_id, pose, item.touching)
            else:
                world.add(part, shape, pose)
            if name not in links:  # a name that is a link's means the link in the matrix
                parts.setdefault(name, []).append(part)
        for first, second in combinations(parts, 2) if self.allowed else ():
            if self.allowed.names(first, second):
                for one in parts[first]:
                    for other in parts[second]:
                        world.allow(one, other)

    def move_in(self, world: World, now: Moment) -> None:
        """Move the objects of a world made by `put_into` from an empty one with their frames."""
        if not self.follows_frames(now.robot):
            return
        for _, part, item, _, pose in self._parts(now):
            if not item.is_carried and not np.array_equal(world[part].pose, pose):
                world.move(part, pose)

    def follows_frames(self, robot: Robot) -> bool:
        """Return whether objects move with frames outside the robot."""
        every = self.objects.values()
        return any(not (it.is_carried or it.frame_id == robot.base_link) for it in every)

    def _parts(
        self, now: Moment, others: Collection[str] = ()
    ) -> Iterator[tuple[str, str, SceneObject, Shape, Array]]:
        """Yield each shape: the object's id, a unique name, the object, the shape, and its pose.

        others : names of other obstacles

        The pose (4, 4) is in the root link's frame, or in that of the carrying link.
        """
        links = set(now.robot.link_names)
        taken, frame_of = {*links, *self.objects, *others}, cache(now.frame_of)
        for name, item in self.objects.items():
            if item.misplaced is not None:
                continue
            base = item.pose
            if not item.is_carried:
                with _about(_subject(name)):
                    base = frame_of(item.frame_id) @ item.pose
            is_link, is_other = name in links, name in others
            for number, (shape, pose) in enumerate(item.shapes):
                part = name
                if number or is_link or is_other:
                    wanted = f'{name} (object)' if is_link else name
                    part = _free_name(f'{wanted} {number}' if number else wanted, taken)
                    taken.add(part)
                yield name, part, item, shape, base @ pose

    # --- operations ------------------------------------------------------------------------------

    def _with_octomap(self, octomap: Any) -> PlanningScene:
        if octomap.data:
            return self.with_flaw(
                'octomap', 'octomaps are not supported: boxes can stand for what they show'
            )
        is_cleared = getattr(octomap, 'id', '')  # a difference with an empty octomap clears it
        return self.with_flaw('octomap', None) if is_cleared else self

    def _with_padding(self, message: Any) -> PlanningScene:
        scene = self
        for kind, value, none in (('link_padding', 'padding', 0.0), ('link_scale', 'scale', 1.0)):
            links = getattr(message, kind, ())
            if links:
                wrong = [each.link_name for each in links if getattr(each, value) != none]
                reason = f'{value} of {listed(wrong)} is not supported: compute_ik_margin is'
                scene = scene.with_flaw(kind, reason if wrong else None)
        return scene

    def _holding(self, name: str, objects: dict[str, SceneObject]) -> PlanningScene:
        """Return the scene with these objects; drop the shapes of `name` if there are too many."""
        if name in objects and sum(len(item.shapes) for item in objects.values()) > self.room:
            flaw = Flaw('count', f'there would be more than {MAX_OBSTACLES} shapes')
            objects[name] = replace(objects[name], shapes=(), flaws=(flaw,))
        return replace(self, objects=objects)

    def _after_marker(self, marker: Any, now: Moment) -> PlanningScene:
        name, action = f'{marker.ns}/{marker.id}', int(marker.action)
        if action == Action.DELETEALL:
            of_all = f'{marker.ns}/' if marker.ns else ''
            return replace(
                self, objects={k: it for k, it in self.objects.items() if not k.startswith(of_all)}
            )
        if action == Action.DELETE:
            return replace(self, objects={k: it for k, it in self.objects.items() if k != name})
        if action != Action.ADD:
            item = _flawed(self.objects.get(name), now, f'unknown action {action}')
        else:
            item = _marked_object(marker, now)
        return self._holding(name, dict(self.objects) | {name: item})

    def _objects_after(self, message: Any, now: Moment) -> dict[str, SceneObject]:
        """Return the objects after a moveit_msgs/CollisionObject."""
        name, operation, objects = message.id, _number(message.operation), dict(self.objects)
        before = objects.get(name)
        if before is not None and before.is_carried and operation != Operation.REMOVE:
            before = None  # an attached object is not in the world
        if operation == Operation.REMOVE:
            return {k: it for k, it in objects.items() if it.is_carried or name not in ('', k)}
        if operation == Operation.MOVE:
            item = _moved(before, message, now)
        elif operation == Operation.ADD or (operation == Operation.APPEND and before is None):
            item = _scene_object(message, now)
        elif operation == Operation.APPEND and before is not None:
            item = _appended(before, _scene_object(message, now))
        else:
            item = _flawed(before, now, f'unknown operation {operation}')
        return objects | {name: item}

    def _carried(self, message: Any, now: Moment) -> dict[str, SceneObject]:
        """Return the objects after a moveit_msgs/AttachedCollisionObject."""
        name, link, objects = message.object.id, message.link_name, dict(self.objects)
        operation = _number(message.object.operation)
        if operation == Operation.REMOVE:
            for each, it in objects.items():
                if it.is_carried and name in ('', each) and link in ('', it.frame_id):
                    objects[each] = _put_down(it, now)
            return objects
        before, touching = objects.get(name), tuple(message.touch_links)
        item = _scene_object(message.object, now, needs_shapes=before is None)
        if before is not None and not (item.shapes or item.flaws):
            item = before  # attached from the world
        if operation not in set(Operation):
            item = _flawed(item, now, f'unknown operation {operation}')
        carried = replace(item, frame_id=link, is_carried=True, touching=touching)
        try:
            for each in (link, *touching):
                now.robot.placement(each)
            carried = replace(carried, pose=now.in_link(link, _root_pose(item, now)))
        except IkError as error:
            carried = replace(carried, touching=(), misplaced=Flaw('link', str(error)))
        is_more = operation == Operation.APPEND and before is not None and before.is_carried
        if is_more and before is not None and item is not before:
            carried = replace(_appended(before, carried), touching=(*before.touching, *touching))
        return objects | {name: carried}


def _subject(name: str, is_carried: bool = False) -> str:
    return f'attached object {name!r}' if is_carried else f'object {name!r}'


@contextmanager
def _about(what: str) -> Iterator[None]:
    """Prefix the texts of errors inside with their subject."""
    try:
        yield
    except IkError as error:
        raise InvalidOption(f'{what}: {error}') from error


def _free_name(wanted: str, taken: Collection[str]) -> str:
    """Return the wanted name, with a number appended if it is taken."""
    name, number = wanted, 2
    while name in taken:
        name, number = f'{wanted} ({number})', number + 1
    return name


def _root_pose(item: SceneObject, now: Moment) -> Array:
    """Return the pose (4, 4) of an object in the root link's frame. Raises IkError."""
    if item.is_carried:
        pose: Array = now.robot.forward_kinematics(now.q, item.frame_id) @ item.pose
        return pose
    return now.frame_of(item.frame_id) @ item.pose


def _put_down(item: SceneObject, now: Moment) -> SceneObject:
    """Return a carried object as one of the world, at its present pose."""
    there = SceneObject(now.robot.base_link, np.eye(4), item.shapes, flaws=item.flaws)
    if item.misplaced is not None:
        return replace(there, misplaced=item.misplaced)
    try:
        return replace(there, pose=_root_pose(item, now))
    except IkError as error:  # another robot has no such link
        return replace(there, misplaced=Flaw('link', str(error)))


def _flawed(before: SceneObject | None, now: Moment, reason: str) -> SceneObject:
    """Return the previous object, or an empty one, with a flaw for an invalid message."""
    item = before or SceneObject(now.robot.base_link, np.eye(4))
    return replace(item, flaws=_distinct(*item.flaws, Flaw('', reason)))


def _distinct(*flaws: Flaw) -> tuple[Flaw, ...]:
    """Return each flaw once, so that repeated messages add none."""
    return tuple(dict.fromkeys(flaws))


def _scene_object(message: Any, now: Moment, needs_shapes: bool = True) -> SceneObject:
    """Return the object of a moveit_msgs/CollisionObject."""
    shapes, flaws = _shapes(message)
    if not message.id:
        shapes, flaws = [], [Flaw('', 'an id is needed')]
    if needs_shapes and not shapes and not flaws:
        flaws.append(Flaw('', 'primitives or meshes are needed'))
    item = SceneObject(now.robot.base_link, np.eye(4), tuple(shapes), flaws=tuple(flaws))
    return _placed(item, message, now)


def _marked_object(marker: Any, now: Moment) -> SceneObject:
    """Return the object of a visualization_msgs/Marker."""
    root = now.robot.base_link
    item = SceneObject(root, np.eye(4))
    try:
        item = replace(item, shapes=((_marked_shape(marker), np.eye(4)),))
    except IkError as error:
        item = replace(item, flaws=(Flaw('marker', str(error)),))
    place = _place(marker, now)
    if isinstance(place, Flaw):
        return replace(item, misplaced=place)
    frame_id, pose, frame = place
    if not marker.frame_locked or frame_id in ('', root):
        return replace(item, pose=frame @ pose)
    return replace(item, frame_id=frame_id, pose=pose, is_carried=frame_id in now.robot.link_names)


def _marked_shape(marker: Any) -> Shape:
    """Return the shape of a visualization_msgs/Marker. Raises IkError."""
    number, name = int(marker.type), f'{marker.ns}/{marker.id}'
    x, y, z = marker.scale.x, marker.scale.y, marker.scale.z
    make, _ = PRIMITIVES.get(number, (None, 0))
    if make is None:
        text = f'a marker of type {number} is not known'
        raise InvalidOption(f'{text}: CUBE (1), SPHERE (2) and CYLINDER (3) are')
    if number == 1:
        return checked_shape(make([x, y, z]), name)
    shape = checked_shape(make([0.5 * x] if number == 2 else [z, 0.5 * x]), name)
    diameters = (y, z) if number == 2 else (y,)
    if not all(abs(each - x) <= ROUND * x for each in diameters):  # also if one is NaN
        text = f'scale {", ".join(f"{each:g}" for each in (x, y, z))}'
        raise InvalidOption(f'{text}: its diameters must be equal')
    return shape


def _place(message: Any, now: Moment) -> tuple[str, Array, Array] | Flaw:
    """Return a message's frame, its pose (4, 4) in that, and that (4, 4) in the root link's."""
    frame_id, kind = message.header.frame_id.removeprefix('/'), ''
    try:
        pose = pose_to_transform(message.pose)
        kind = 'frame'
        return frame_id, pose, now.frame_of(frame_id)
    except IkError as error:
        return Flaw(kind, str(error))


def _placed(item: SceneObject, message: Any, now: Moment) -> SceneObject:
    """Return an object at the pose of a moveit_msgs/CollisionObject.

    A pose in a link's frame is transformed to the root link's, at the present configuration.
    """
    place = _place(message, now)
    if isinstance(place, Flaw):
        return replace(item, misplaced=place)
    frame_id, pose, frame = place
    if not frame_id or frame_id in now.robot.link_names:
        frame_id, pose = now.robot.base_link, frame @ pose
    return replace(item, frame_id=frame_id, pose=pose, misplaced=None)


def _moved(before: SceneObject | None, message: Any, now: Moment) -> SceneObject:
    """Return an object moved by a message with the operation MOVE."""
    if before is None:
        return _flawed(None, now, 'it shall be moved, but its shapes never came')
    if len(message.primitive_poses) or len(message.mesh_poses):
        return replace(before, misplaced=Flaw('', 'its shapes can not be moved one by one'))
    return _placed(before, message, now)


def _appended(before: SceneObject, more: SceneObject) -> SceneObject:
    """Return an object with the shapes of another one added."""
    flaws = (*before.flaws, *more.all_flaws)
    if before.misplaced is not None or more.misplaced is not None:
        unplaced = Flaw('frame', 'it is not known where to append')
        return replace(before, flaws=_distinct(*flaws, unplaced))
    if before.frame_id != more.frame_id:
        reason = f'to append, its frame {before.frame_id!r} is needed'
        return replace(before, flaws=_distinct(*flaws, Flaw('frame', reason)))
    moved = np.linalg.inv(before.pose) @ more.pose
    shapes = tuple((shape, moved @ pose) for shape, pose in more.shapes)
    return replace(before, shapes=before.shapes + shapes, flaws=flaws)


def _shapes(message: Any) -> tuple[list[tuple[Shape, Array]], list[Flaw]]:
    """Return the shapes of a moveit_msgs/CollisionObject with poses in its frame, and flaws."""
    shapes: list[tuple[Shape, Array]] = []
    flaws = [Flaw('plane', 'planes are not supported: a box can be one')] * bool(message.planes)
    for kind, solids, poses in (
        ('', message.primitives, message.primitive_poses),
        ('mesh', message.meshes, message.mesh_poses),
    ):
        if len(solids) != len(poses):
            flaws.append(Flaw(kind, 'each primitive and mesh needs a pose'))
            continue
        for solid, pose in zip(solids, poses, strict=True):
            own = kind or UNSUPPORTED.get(_number(solid.type), '')
            try:
                shape = _hull(solid) if kind == 'mesh' else _primitive(solid)
                shapes.append((checked_shape(shape, message.id), pose_to_transform(pose)))
            except IkError as error:
                flaws.append(Flaw(own, str(error)))
    return shapes, flaws


def _primitive(solid: Any) -> Shape:
    number, sizes = _number(solid.type), list(solid.dimensions)
    make, count = PRIMITIVES.get(number, (None, 0))
    if make is None or len(sizes) != count:
        name = UNSUPPORTED.get(number, f'a primitive of type {number}')
        text = f'{name} with {len(sizes)} dimensions is not known'
        raise InvalidOption(f'{text}: boxes, spheres and cylinders are')
    return make(sizes)


def _hull(mesh: Any) -> Shape:
    """Return the convex hull of a shape_msgs/Mesh, reduced to the vertices on the hull."""
    points = np.array([(at.x, at.y, at.z) for at in mesh.vertices], float)
    if len(points) > 4 and np.isfinite(points).all():
        try:
            points = points[ConvexHull(points).vertices]
        except QhullError:  # the mesh is flat
            points = np.unique(points, axis=0)
    return Convex(points)


def _allowed(matrix: Any) -> Allowed:
    """Return the pairs and defaults of a moveit_msgs/AllowedCollisionMatrix."""
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
    """Return a number of a message; rclpy gives a `byte` as bytes."""
    return value[0] if isinstance(value, bytes) else int(value)
