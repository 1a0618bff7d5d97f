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

Needs the package moveit_msgs, which only this module and `scene_topics` import.
"""

from __future__ import annotations

import importlib
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseStamped
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

from ..background_node import BackgroundThread
from ..conversions import Refused, pose_to_transform, read_joint_state
from ..counters import WARNING_PERIOD
from ..inputs.goal_frames import FrameSource
from ..inputs.scene_topics import PatientFrames, described
from ..planning_scene import Moment
from ..robot_model import Model
from ..scene_reader import SceneReader
from ..texts import LONGEST_TRACEBACK, cut

SERVICE = 'compute_ik'
# The solvers that search for any solution, as requests need; the first one if neither is set.
SEARCHES: tuple[SolverName, ...] = 'levenberg_marquardt', 'closed_form'

DEFAULT_TIMEOUT = 0.5  # [s] timeout of a request without one
LONGEST_TIMEOUT = 10.0  # [s] upper bound of timeouts, since other requests wait meanwhile
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
        self._background = BackgroundThread(node, SERVICE)

    def open(self, wanted: bool) -> None:
        """Offer the service, if it is wanted; log if moveit_msgs is not installed."""
        if not wanted or self._background.is_open:
            return
        try:
            services = importlib.import_module('moveit_msgs.srv')
        except ImportError:
            self._node.get_logger().warning('no compute_ik: moveit_msgs is not installed')
            return

        def offer(node: Node) -> None:
            node.create_service(services.GetPositionIK, SERVICE, self._answer)

        def failed(reason: str) -> None:
            self._node.get_logger().error(f'no {SERVICE}: {reason}')

        self._background.open(offer, failed, period=0.1)

    def close(self) -> None:
        """Withdraw the service; a running request returns its best result so far."""
        self._background.close()

    def _answer(self, request: Any, response: Any) -> Any:
        model = self._model()
        try:
            if model is None:
                raise Declined(MoveItErrorCode.FAILURE, 'there is no robot yet')
            group = model.parameters.node.compute_ik_group or model.robot.name
            query = read_request(
                request.ik_request,
                model,
                PatientFrames.of(model, self._others, self._background.stopping),
                group,
                self._scenes,
            )
            write_response(response, query.solve(self._background.stopping), model)
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
