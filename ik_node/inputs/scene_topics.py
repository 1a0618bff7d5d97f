# SPDX-License-Identifier: Apache-2.0
"""Topics of planning scenes, and the world of obstacles that the motion avoids.

The topics are those of MoveIt, where moveit_msgs is installed (`planning_scene`,
`collision_object`, `attached_collision_object`), and with `avoid: world` also ~/world_markers.
Objects stay when their publishers go. A background thread with a node of its own reads them, and
makes the world: the obstacles of `world_file` and the objects. It prepares the records of the
world, too, so that a tick only has to change to them. While parts of the scene could not be read,
no new goals are accepted.

Needs the package moveit_msgs for its topics, which only this module and `compute_ik` import.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from ik_core import Collisions
from ik_core.collision import World
from ik_core.collision.shapes import Shape
from ik_core.display import counted, listed
from ik_core.maths.rotations import Array
from ik_core.tracking.instructions import SetWorld

from ..background_node import BackgroundThread
from ..counters import WARNING_PERIOD
from ..parameters.node_options import NodeOptions
from ..planning_scene import Missing, Moment, PlanningScene
from ..robot_model import Model
from ..scene_reader import Change, SceneReader
from ..texts import cut, explanation
from .goal_frames import Frames, FrameSource, Pending

# The topics of planning scenes, and the depth of their queues, as in MoveIt.
SCENE, DEPTH = 'planning_scene', 100
OBJECT, ATTACHED_OBJECT = 'collision_object', 'attached_collision_object'
WORLD_MARKERS = '~/world_markers'
# The service of MoveIt's move_group for the whole scene, with earlier messages of its topics.
SCENE_SERVICE = 'get_planning_scene'
# The requested parts of a scene: names in moveit_msgs/PlanningSceneComponents.
COMPONENTS = (
    'ROBOT_STATE_ATTACHED_OBJECTS', 'WORLD_OBJECT_NAMES', 'WORLD_OBJECT_GEOMETRY', 'OCTOMAP',
    'ALLOWED_COLLISION_MATRIX',
)  # fmt: skip
MOST_SHOWN = 3  # parts of a scene whose flaws are listed; a text counts the others
POLL_PERIOD = 0.02  # [s] between checks whether waiting for a frame is to end
FOLLOW_PERIOD = 0.05  # [s] between two looks at the frames with which objects move
NOT_YET = 'the objects are being added to the world of this robot'


class PatientFrames:
    """Frames that wait for a Pending one, until `stopping` is set.

    Only for requests and scenes, which have threads of their own: a tick must not wait.
    """

    def __init__(self, frames: Frames, stopping: threading.Event) -> None:
        self._frames = frames
        self._stopping = stopping

    @classmethod
    def of(cls, model: Model, others: FrameSource, stopping: threading.Event) -> PatientFrames:
        """Return the frames of a model's robot, and those of another source."""
        prefix = model.parameters.node.frame_prefix
        return cls(Frames(model.robot, model.base_link, others, prefix=prefix), stopping)

    def in_root(self, frame_id: str, q: Array) -> Array:
        """Return the transform (4, 4) from a frame to the root link's, at q (n,); or Refused."""
        while True:
            try:
                return self._frames.in_root(frame_id, q)
            except Pending:
                if self._stopping.wait(POLL_PERIOD):
                    raise


class SceneRequest:
    """Requests the whole planning scene from a service, whenever the service appears.

    request : the request; take : called with the response
    """

    def __init__(self, node: Node, kind: Any, request: Any, take: Callable[[Any], None]) -> None:
        self._client = node.create_client(kind, SCENE_SERVICE)
        self._request, self._take = request, take
        self._is_there = False

    def poll(self) -> None:
        """Send the request if the service has appeared since the last call."""
        was_there, self._is_there = self._is_there, self._client.service_is_ready()
        if self._is_there and not was_there:
            self._client.call_async(self._request).add_done_callback(self._read)

    def _read(self, future: Any) -> None:
        if future.exception() is None and not future.cancelled():
            self._take(future.result())


def described(missing: Sequence[Missing]) -> str:
    """Return the missing parts of a scene as text, the first ones with their reasons."""
    more = len(missing) - MOST_SHOWN
    rest = f'; {more} more' if more > 0 else ''
    return f'could not be read: {"; ".join(map(str, missing[:MOST_SHOWN]))}{rest}'


class _Made(NamedTuple):
    """A world that was made for the motion of a model, and the collisions in it."""

    model: Model
    world: World
    collisions: Collisions


class SceneTopics:
    """Reads the topics of scenes. `model` returns the present robot model, None without one.

    others : frames outside the robot
    """

    def __init__(
        self,
        node: Node,
        model: Callable[[], Model | None],
        others: FrameSource,
        scenes: SceneReader,
    ) -> None:
        self._node, self._model, self._others, self._scenes = node, model, others, scenes
        self._unread: list[tuple[Any, Change]] = []  # received before there is a robot
        self._background = BackgroundThread(node, 'scene')
        self._seen: tuple[Model | None, PlanningScene] = None, scenes.scene
        self._made: _Made | None = None
        self._next: _Made | None = None  # made, for the next tick
        self._applied: Model | None = None  # the model that has avoided a world of these topics
        self._reason = ''  # why the world could not be made

    def open(self, options: NodeOptions) -> None:
        """Subscribe, if compute_ik is offered or the motion avoids a world."""
        is_avoided = options.avoid == 'world'
        if not self._background.is_open and (options.compute_ik or is_avoided):
            set_up = partial(self._subscribe, is_avoided=is_avoided)
            self._background.open(set_up, self._has_failed, FOLLOW_PERIOD)

    def close(self) -> None:
        """Unsubscribe; the objects stay."""
        if self._background.is_open:
            self._background.close()
            self._made = self._next = self._applied = None
            self._seen, self._reason = (None, self._scenes.scene), ''

    # --- for the tick's thread -------------------------------------------------------------------

    def apply_world(self) -> None:
        """Let the motion avoid a new world, if there is one; between two ticks."""
        made, self._next = self._next, None
        if made is None or made.model is not self._model():
            return
        try:
            made.model.apply(SetWorld(made.world))
        except Exception as error:
            self._reason = explanation(error)
            raise
        self._applied = made.model

    def why_unknown(self, model: Model) -> str:
        """Return why the world that a model avoids is not known; '' if it is."""
        if model.parameters.node.avoid != 'world':
            return ''
        scene = self._scenes.scene
        missing = scene.missing(model.parameters.node.compute_ik_ignore)
        if missing:
            return described(missing)
        if self._reason:
            return self._reason
        return NOT_YET if scene and self._applied is not model else ''

    # --- the background thread -------------------------------------------------------------------

    def _has_failed(self, reason: str) -> None:
        self._reason = f'no topics of scenes: {reason}'
        self._node.get_logger().error(self._reason)

    def _subscribe(self, node: Node, is_avoided: bool) -> Callable[[], None]:
        """Subscribe to all topics; return what is to be called periodically."""
        if is_avoided:
            # of the node, not of the one in the background, whose private names are others
            markers = self._node.resolve_topic_name(WORLD_MARKERS)
            take = partial(self._take, change=PlanningScene.marked)
            node.create_subscription(MarkerArray, markers, take, DEPTH)
        try:
            messages = importlib.import_module('moveit_msgs.msg')
            services = importlib.import_module('moveit_msgs.srv')
        except ImportError:
            return self._follow
        kinds: tuple[tuple[Any, str, Change], ...] = (
            (messages.PlanningScene, SCENE, PlanningScene.changed),
            (messages.CollisionObject, OBJECT, lambda s, it, now: s.adding([it], now)),
            (
                messages.AttachedCollisionObject,
                ATTACHED_OBJECT,
                lambda s, it, now: s.attaching([it], now),
            ),
        )
        for kind, topic, change in kinds:
            node.create_subscription(kind, topic, partial(self._take, change=change), DEPTH)
        request = services.GetPlanningScene.Request()
        known = messages.PlanningSceneComponents
        request.components.components = sum(getattr(known, name) for name in COMPONENTS)
        whole = SceneRequest(
            node, services.GetPlanningScene, request, lambda response: self._take(response.scene)
        )
        return partial(self._follow, whole)

    def _follow(self, whole: SceneRequest | None = None) -> None:
        """Read what came and make the world, once there is a robot.

        whole : the request of MoveIt's scene
        """
        if self._model() is not None:
            self.read()
            self.make_world()
            if whole is not None:
                whole.poll()

    def _take(self, message: Any, change: Change = PlanningScene.changed) -> None:
        """Apply a message, as soon as there is a robot."""
        self._unread.append((message, change))
        if len(self._unread) > DEPTH:
            self._unread.clear()
            self._scenes.miss(f'more than {DEPTH} messages came before there was a robot')
        self.read()

    def read(self) -> None:
        """Read the messages that came, if there is a robot; log what could not be read."""
        model = self._model()
        while self._unread and model is not None:
            if model.avoided is not None:
                self._scenes.leave_room_for(model.avoided.world)
            message, change = self._unread.pop(0)
            missing = self._scenes.read(message, self._moment(model), change)
            if missing:
                ignored = model.parameters.node.compute_ik_ignore
                is_needed = self._scenes.scene.missing(ignored)
                what = 'new goals and avoid_collisions are declined'
                if model.parameters.node.avoid != 'world':
                    what = 'avoid_collisions is declined'
                declined = (
                    f'what could be read counts; {what} until it can be read or is removed, or '
                    'compute_ik_ignore names it'
                )
                then = declined if is_needed else 'compute_ik_ignore leaves it out'
                self._warn(f'{SCENE}: {described(missing)}; {then}')

    def make_world(self) -> None:
        """Make and prepare the world that the motion avoids, if the objects or frames changed."""
        model, scene = self._model(), self._scenes.scene
        if model is None or model.avoided is None or model.parameters.node.avoid != 'world':
            return
        is_new = self._seen[0] is not model or self._seen[1] is not scene
        if not (is_new or scene.follows_frames(model.robot)):
            return
        self._seen = model, scene
        made = self._made if self._made is not None and self._made.model is model else None
        world = model.avoided.world.copy()
        try:
            scene.put_into(world, self._moment(model))
            known = None if made is None else moved(made.world, world)
            if made is None or known is not made.world:
                before = model.avoided if made is None else made.collisions
                world = world if known is None else known
                self._next = self._made = _Made(model, world, before.prepare(world))
                self._tell(world, made)
            self._reason = ''
        except Exception as error:
            self._reason = explanation(error)
            self._warn(f'world: {self._reason}; new goals are declined until that changes')

    def _tell(self, world: World, before: _Made | None) -> None:
        names = [each.name for each in world]
        if before is None or [each.name for each in before.world] != names:
            what = listed(names) if names else 'nothing'
            text = f'world: {counted(len(names), "obstacle")}: {what}'
            self._node.get_logger().info(cut(text), throttle_duration_sec=WARNING_PERIOD)

    def _warn(self, text: str) -> None:
        self._node.get_logger().warning(cut(text), throttle_duration_sec=WARNING_PERIOD)

    def _moment(self, model: Model) -> Moment:
        q = model.tracker.q
        frames = PatientFrames.of(model, self._others, self._background.stopping)
        return Moment(model.robot, q, partial(frames.in_root, q=q))


def moved(before: World, after: World) -> World | None:
    """Return `before` with the poses of `after`; None if they differ in more than poses.

    If all poses are the same, it is `before` itself, else a copy: its shapes stay the same
    objects, which are known to be quick to move.
    """
    if len(before) != len(after) or before.allowed != after.allowed:
        return None
    world = before.copy()
    for old, new in zip(before, after, strict=True):
        if old[0] != new[0] or old[3:] != new[3:] or not _is_same_shape(old.shape, new.shape):
            return None
        if not np.array_equal(old.pose, new.pose):
            world.move(old.name, new.pose)
    return world if world.version else before


def _is_same_shape(one: Shape, other: Shape) -> bool:
    return type(one) is type(other) and all(map(np.array_equal, one, other))
