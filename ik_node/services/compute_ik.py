# SPDX-License-Identifier: Apache-2.0
"""The service `compute_ik`, as in MoveIt: poses of links in, joint positions out.

Nothing moves. The service has a background thread, a node and an executor of its own, and solves
problems of its own. Unsupported requests (constraints, other groups) are declined with MoveIt's
error codes. Poses are those of the links, without tools.

With `avoid_collisions`, solutions are free of collisions between the robot's links, if its
description has collision geometry, and with the objects of the planning scene and of
`robot_state.attached_collision_objects`, except for pairs that the scene allows to touch. While
parts of the scene could not be read, such requests are declined, unless the parameter
`compute_ik_ignore` names these parts.

Needs the package moveit_msgs, which no other module imports.
"""

from __future__ import annotations

import importlib
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from ik_core import (
    Budget,
    Collisions,
    IkError,
    IkProblem,
    IkResult,
    IkStatus,
    PoseTask,
    make_solver,
)
from ik_core.exceptions import FrameNotFound
from ik_core.maths.rotations import Array
from ik_core.solvers import SolverName

from ..background_node import background_node
from ..conversions import Refused, pose_to_transform, read_joint_state
from ..counters import WARNING_PERIOD
from ..inputs.goal_frames import Frames, FrameSource, Pending
from ..planning_scene import Missing, Moment
from ..robot_model import Model
from ..scene_reader import SceneReader
from ..texts import LONGEST_TRACEBACK, MIDDLEWARE_ERRORS, cut, sentence

SERVICE = 'compute_ik'
# The solvers that search for any solution, as requests need; the first one if neither is set.
SEARCHES: tuple[SolverName, ...] = 'levenberg_marquardt', 'closed_form'

DEFAULT_TIMEOUT = 0.5  # [s] timeout of a request without one
LONGEST_TIMEOUT = 10.0  # [s] upper bound of timeouts, since other requests wait meanwhile
# The topic of planning scenes, and the depth of its queue, as in MoveIt.
SCENE, SCENE_DEPTH = 'planning_scene', 100
# The service of MoveIt's move_group for the whole scene, with earlier messages of that topic.
SCENE_SERVICE = 'get_planning_scene'
# The requested parts of a scene: names in moveit_msgs/PlanningSceneComponents.
COMPONENTS = (
    'ROBOT_STATE_ATTACHED_OBJECTS', 'WORLD_OBJECT_NAMES', 'WORLD_OBJECT_GEOMETRY', 'OCTOMAP',
    'ALLOWED_COLLISION_MATRIX',
)  # fmt: skip
MOST_SHOWN = 3  # parts of a scene whose flaws are listed; a text counts the others
POLL_PERIOD = 0.02  # [s] period in which a request checks whether the service is being closed


class MoveItErrorCode(IntEnum):
    """The codes of moveit_msgs/MoveItErrorCodes in use here."""

    SUCCESS = 1
    FAILURE = 99999
    TIMED_OUT = -6
    INVALID_GROUP_NAME = -15
    INVALID_GOAL_CONSTRAINTS = -16
    INVALID_ROBOT_STATE = -17
    INVALID_LINK_NAME = -18
    FRAME_TRANSFORM_FAILURE = -21
    COLLISION_CHECKING_UNAVAILABLE = -22
    NO_IK_SOLUTION = -31


class Declined(Exception):
    """A request that is declined: its error code, and the reason."""

    def __init__(self, code: MoveItErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Query:
    """A checked request: the problem, the start q0 (n,), the timeout, and the solver."""

    problem: IkProblem
    q0: Array
    seconds: float
    solver: SolverName
    options: dict[str, Any]

    def solve(self, stopping: threading.Event) -> IkResult:
        """Return the best result within the timeout, or until `stopping` is set."""
        search = make_solver(self.solver, **self.options).begin(self.problem, self.q0)
        deadline = time.monotonic() + self.seconds
        while True:
            left = deadline - time.monotonic()
            done = search.run(Budget(seconds=min(max(left, 0.0), POLL_PERIOD)))
            if done or left < POLL_PERIOD or stopping.is_set():
                return self.problem.explain(search.result(), words=None)


class PatientFrames:
    """Frames that wait for a Pending one, until `stopping` is set.

    Only for requests, which have a thread of their own: a tick must not wait.
    """

    def __init__(self, frames: Frames, stopping: threading.Event) -> None:
        self._frames = frames
        self._stopping = stopping

    def in_root(self, frame_id: str, q: Array) -> Array:
        """Return the transform (4, 4) from a frame to the root link's, at q (n,); or Refused."""
        while True:
            try:
                return self._frames.in_root(frame_id, q)
            except Pending:
                if self._stopping.wait(POLL_PERIOD):
                    raise


def _collisions(scenes: SceneReader, state: Any, model: Model, now: Moment) -> Collisions:
    """Return the collision checker of a robot in the scene, with the state's attached objects.

    A state with is_diff false and joints replaces all attached objects. Raises Declined without
    usable geometry, and while parts of the scene are missing.
    """
    node, scene = model.parameters.node, scenes.scene
    if state.joint_state.name and not state.is_diff:
        scene = scene.without_attached()
    scene = scene.attaching(state.attached_collision_objects, now)
    missing = scene.missing(node.compute_ik_ignore)
    if missing:
        raise Declined(
            MoveItErrorCode.COLLISION_CHECKING_UNAVAILABLE,
            f'avoid_collisions: {described(missing)}',
        )
    try:
        return scenes.collisions(scene, node.compute_ik_margin, now)
    except IkError as error:
        text = f'avoid_collisions: {error}'
        raise Declined(MoveItErrorCode.COLLISION_CHECKING_UNAVAILABLE, text) from error


def described(missing: Sequence[Missing]) -> str:
    """Return the missing parts of a scene as text, the first ones with their reasons."""
    more = len(missing) - MOST_SHOWN
    rest = f'; {more} more' if more > 0 else ''
    return f'could not be read: {"; ".join(map(str, missing[:MOST_SHOWN]))}{rest}'


def read_request(
    request: Any,
    model: Model,
    frames: PatientFrames,
    group: str,
    scenes: SceneReader,
) -> Query:
    """Read a moveit_msgs/PositionIKRequest. Raises Declined if it is not supported.

    Joints that its state does not name start at their present commands.
    """
    _check_scope(request, group)
    q0 = _start(request.robot_state, model)
    node, timeout = model.parameters.node, request.timeout
    try:
        avoid = None
        if request.avoid_collisions:
            now = Moment(model.robot, q0, partial(frames.in_root, q=q0))
            avoid = _collisions(scenes, request.robot_state, model, now)
        problem = model.problem(_goals(request, model, frames, q0), avoid)
    except FrameNotFound as error:
        raise Declined(MoveItErrorCode.INVALID_LINK_NAME, str(error)) from error
    except IkError as error:
        raise Declined(MoveItErrorCode.FAILURE, str(error)) from error
    seconds = timeout.sec + 1e-9 * timeout.nanosec
    seconds = min(seconds, LONGEST_TIMEOUT) if seconds > 0.0 else DEFAULT_TIMEOUT
    if node.solver not in SEARCHES:
        return Query(problem, q0, seconds, SEARCHES[0], {})
    return Query(problem, q0, seconds, node.solver, dict(vars(model.parameters.solver_options)))


def _check_scope(request: Any, group: str) -> None:
    if request.group_name not in ('', group):
        text = f'unknown group {request.group_name!r}; the only group is {group!r}'
        raise Declined(MoveItErrorCode.INVALID_GROUP_NAME, text)
    for kind in ('joint', 'position', 'orientation', 'visibility'):
        if getattr(request.constraints, f'{kind}_constraints'):
            text = f'{kind}_constraints are not supported'
            raise Declined(MoveItErrorCode.INVALID_GOAL_CONSTRAINTS, text)


def _start(state: Any, model: Model) -> Array:
    """Return the start (n,) of the search; mimic joints follow their drivers."""
    robot, q = model.robot, model.tracker.q
    if state.multi_dof_joint_state.joint_names:
        text = 'robot_state: joints with several degrees of freedom are not supported'
        raise Declined(MoveItErrorCode.INVALID_ROBOT_STATE, text)
    unknown = set(state.joint_state.name) - {*robot.joint_names, *robot.mimic_joints}
    if unknown:
        text = f'robot_state: the robot has no joint {", ".join(sorted(unknown))}'
        raise Declined(MoveItErrorCode.INVALID_ROBOT_STATE, text)
    try:
        positions = read_joint_state(state.joint_state, robot.joint_names)
    except Refused as refused:
        raise Declined(MoveItErrorCode.INVALID_ROBOT_STATE, f'robot_state: {refused}') from refused
    for joint, position in positions.items():
        q[robot.joint_index(joint)] = position
    return q


def _goals(request: Any, model: Model, frames: PatientFrames, q0: Array) -> list[PoseTask]:
    """Return a goal for each link; vectors override the single fields, as in MoveIt."""
    poses = list(request.pose_stamped_vector) or [request.pose_stamped]
    single = [request.ik_link_name] if request.ik_link_name else []
    links = list(request.ik_link_names) or single or list(model.tip_links)
    if len(links) != len(poses):
        text = f'{len(poses)} poses for {len(links)} links: {", ".join(links)}'
        raise Declined(MoveItErrorCode.INVALID_LINK_NAME, text)
    return [
        PoseTask(link, transform=_in_root(pose, frames, q0))
        for link, pose in zip(links, poses, strict=True)
    ]


def _in_root(pose: PoseStamped, frames: PatientFrames, q0: Array) -> Array:
    """Return a pose (4, 4) in the root link's frame; frames of links are those at q0."""
    try:
        frame = frames.in_root(pose.header.frame_id, q0)
    except Refused as refused:
        raise Declined(MoveItErrorCode.FRAME_TRANSFORM_FAILURE, str(refused)) from refused
    try:
        return frame @ pose_to_transform(pose.pose)
    except Refused as refused:
        raise Declined(MoveItErrorCode.INVALID_GOAL_CONSTRAINTS, str(refused)) from refused


def write_response(response: Any, result: IkResult, model: Model) -> None:
    """Fill a moveit_msgs/GetPositionIK response; without success its solution is empty."""
    codes = {
        IkStatus.REACHED: MoveItErrorCode.SUCCESS,
        IkStatus.TIME_LIMIT: MoveItErrorCode.TIMED_OUT,
    }
    write_code(response, codes.get(result.status, MoveItErrorCode.NO_IK_SOLUTION), result.message)
    if result.success:
        values = model.robot.joint_values(result.q)
        state = response.solution.joint_state
        state.header.frame_id = model.root_frame
        state.name, state.position = list(values), list(values.values())


def write_code(response: Any, code: MoveItErrorCode, text: str) -> None:
    """Fill in the error code and the text, which Humble's messages do not have."""
    response.error_code.val = int(code)
    if hasattr(response.error_code, 'message'):
        response.error_code.message = text


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


class ComputeIk:
    """The service of a node. `model` returns the present robot model, None without one."""

    def __init__(
        self,
        node: Node,
        model: Callable[[], Model | None],
        others: FrameSource,
        scenes: SceneReader,
    ) -> None:
        self._node = node
        self._model = model
        self._others = others
        self._scenes = scenes
        self._unread: list[Any] = []  # scenes received before there is a robot
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self, wanted: bool) -> None:
        """Offer the service, if it is wanted; log if moveit_msgs is not installed."""
        if not wanted or self._thread is not None:
            return
        try:
            messages = importlib.import_module('moveit_msgs.msg')
            services = importlib.import_module('moveit_msgs.srv')
        except ImportError:
            self._node.get_logger().warning('no compute_ik: moveit_msgs is not installed')
            return
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._serve,
            args=(messages, services, self._stopping),
            name=SERVICE,
            daemon=True,
        )
        self._thread.start()

    def close(self) -> None:
        """Withdraw the service; a running request returns its best result so far."""
        if self._thread is not None:
            self._stopping.set()
            self._thread.join()
            self._thread = None

    def _serve(self, messages: Any, services: Any, stopping: threading.Event) -> None:
        try:
            node = background_node(self._node, SERVICE)
            try:
                node.create_service(services.GetPositionIK, SERVICE, self._answer)
                scenes = messages.PlanningScene
                node.create_subscription(scenes, SCENE, self._take_scene, SCENE_DEPTH)
                request = services.GetPlanningScene.Request()
                known = messages.PlanningSceneComponents
                request.components.components = sum(getattr(known, name) for name in COMPONENTS)
                whole = SceneRequest(
                    node, services.GetPlanningScene, request, lambda r: self._take_scene(r.scene)
                )
                self._spin(node, stopping, whole)
            finally:
                node.destroy_node()
        except MIDDLEWARE_ERRORS as error:
            self._node.get_logger().error(f'no {SERVICE}: {sentence(error)}')

    def _spin(self, node: Node, stopping: threading.Event, whole: SceneRequest) -> None:
        executor = SingleThreadedExecutor(context=node.context)
        executor.add_node(node)
        try:
            while not stopping.is_set():
                executor.spin_once(timeout_sec=0.1)
                if self._model() is not None:
                    self._read_scenes()
                    whole.poll()
        except (ExternalShutdownException, ShutdownException):
            pass
        finally:
            executor.shutdown()

    def _frames(self, model: Model) -> PatientFrames:
        prefix = model.parameters.node.frame_prefix
        frames = Frames(model.robot, model.base_link, self._others, prefix=prefix)
        return PatientFrames(frames, self._stopping)

    def _take_scene(self, message: Any) -> None:
        """Apply a planning scene, as soon as there is a robot."""
        self._unread.append(message)
        if len(self._unread) > SCENE_DEPTH:
            self._unread.clear()
            self._scenes.miss(f'more than {SCENE_DEPTH} messages came before there was a robot')
        self._read_scenes()

    def _read_scenes(self) -> None:
        model = self._model()
        while self._unread and model is not None:
            q = model.tracker.q
            now = Moment(model.robot, q, partial(self._frames(model).in_root, q=q))
            missing = self._scenes.read(self._unread.pop(0), now)
            if missing:
                declined = (
                    'what could be read counts; avoid_collisions is declined until it can be read '
                    'or is removed, or compute_ik_ignore names it'
                )
                ignored = model.parameters.node.compute_ik_ignore
                is_needed = self._scenes.scene.missing(ignored)
                then = declined if is_needed else 'compute_ik_ignore leaves it out'
                text = cut(f'{SCENE}: {described(missing)}; {then}')
                self._node.get_logger().warning(text, throttle_duration_sec=WARNING_PERIOD)

    def _answer(self, request: Any, response: Any) -> Any:
        model = self._model()
        try:
            if model is None:
                raise Declined(MoveItErrorCode.FAILURE, 'there is no robot yet')
            group = model.parameters.node.compute_ik_group or model.robot.name
            query = read_request(
                request.ik_request,
                model,
                self._frames(model),
                group,
                self._scenes,
            )
            write_response(response, query.solve(self._stopping), model)
        except Declined as declined:
            write_code(response, declined.code, str(declined))
            text = f'{SERVICE}: {declined.code.name}: {declined}'
            self._node.get_logger().warning(cut(text), throttle_duration_sec=WARNING_PERIOD)
        except Exception:
            text = 'internal error; see the log'
            write_code(response, MoveItErrorCode.FAILURE, text)
            text = cut(f'{SERVICE}: {traceback.format_exc()}', LONGEST_TRACEBACK)
            self._node.get_logger().error(text)
        return response
