# SPDX-License-Identifier: Apache-2.0
"""`ik goal`: send a goal to a running node, and print its status until the goal is reached.

The goal is sent by topics and services, as any other program would send it. `~/status` counts the
goals accepted and refused, so the status before the goal is never mistaken for its outcome.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from rcl_interfaces.srv import GetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from ik_core import Robot, load_urdf
from ik_core.cli.angles import configuration
from ik_core.cli.goal_arguments import Goal, note_millimetres, quaternion_of
from ik_core.cli.parser import NOT_REACHED, REACHED, UsageError
from ik_core.display import angle, joined, length
from ik_core.maths.rotations import Array, matrix_from_quaternion, matrix_from_rpy

from ..conversions import transform_to_pose
from ..robot_model import goal_topic, twist_topic

# [s] After one node is found, time to find others, among which the user has to choose.
SETTLING = 0.5
TWIST_PERIOD = 0.02  # [s]
# [s] Time between two lines that differ by their distances only.
LINE_PERIOD = 1.0
MOVING = ('tracking', 'searching', 'jogging')
# Codes of a node that has taken a goal, and does not move to it.
LOST = ('idle', 'stale', 'paused', 'jogging', 'inactive', 'unconfigured', 'no_model', 'model_swap')
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def main(arguments: argparse.Namespace) -> int:
    """Send the goal of the arguments of `ik goal`; return the exit code. Raises UsageError."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    client = Client(context, arguments.wait)
    try:
        client.connect(arguments.namespace)
        return SEND[arguments.kind](client, arguments)
    finally:
        client.close()
        context.try_shutdown()


@dataclass(frozen=True)
class Status:
    """The content of a message on `~/status`."""

    text: str = ''
    values: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The code, such as 'tracking'; '' before the first message."""
        return self.values.get('code', '')

    @property
    def tips(self) -> tuple[str, ...]:
        """The tip links; () while the node commands nothing."""
        kind = '.goal_kind'
        return tuple(key.removesuffix(kind) for key in self.values if key.endswith(kind))

    @property
    def goals_taken(self) -> int:
        """Number of goals that the node has taken; all else is about the last of them."""
        return int(self.values.get('goals_taken', '0'))

    @property
    def refused(self) -> int:
        """Number of messages that the node has refused."""
        return int(self.values.get('refused', '0'))

    @property
    def has_ended(self) -> bool:
        """True if the motion to the last goal has ended."""
        return self.values.get('goal_has_ended') == 'true'

    def distance(self, tip: str) -> str:
        """The text of a tip's distance from its goal, such as '12.3 mm and 4 deg to go'."""
        shown = ((f'{tip}.position_error [m]', length), (f'{tip}.orientation_error [rad]', angle))
        parts = [show(float(self.values[key])) for key, show in shown if key in self.values]
        return f'{" and ".join(parts)} to go' if parts else ''


class Client:
    """Talks to a running `ik_node` over topics and services.

    wait : [s] how long it may take until the node is found and takes goals
    """

    def __init__(self, context: rclpy.Context, wait: float) -> None:
        self._node = Node(
            'ik_goal',
            context=context,
            enable_rosout=False,
            start_parameter_services=False,
            # rclpy never finalizes this service
            parameter_overrides=[Parameter('start_type_description_service', value=False)],
        )
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._node)
        self._domain = context.get_domain_id()
        self._wait = wait
        self._deadline = time.monotonic() + wait
        self.name = ''
        self.status = Status()

    def connect(self, namespace: str | None) -> None:
        """Find the node, and wait until it takes goals. Raises UsageError."""
        self.name = self._find(namespace)
        topic = f'{self.name}/status'
        self._node.create_subscription(DiagnosticStatus, topic, self._take_status, LATCHED)
        if not self.spin_until(lambda: bool(self.status.tips), self._deadline):
            why = self.status.text or 'it publishes no status'
            raise UsageError(f'{self.name} takes no goals after {self._wait:g} s: {why}')

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._node.destroy_node()

    def spin_until(self, condition: Callable[[], bool], deadline: float = np.inf) -> bool:
        """Handle messages until the condition holds; False at the deadline (monotonic) [s]."""
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0.0:
                return False
            self._executor.spin_once(timeout_sec=min(left, 0.05))
        return True

    def wait_for_status(self) -> None:
        """Wait for the next status, or for the end of the node."""
        last = self.status
        self.spin_until(lambda: self.status is not last or not self.is_there)

    @property
    def is_there(self) -> bool:
        """True if the node is in the graph."""
        return bool(self._node.count_publishers(f'{self.name}/status'))

    def tip(self, name: str | None) -> str:
        """The tip of that name, or the first one. Raises UsageError for an unknown name."""
        tips = self.status.tips
        if name is not None and name not in tips:
            raise UsageError(f'{name!r} is no tip of {self.name}: its tips are {", ".join(tips)}')
        return tips[0] if name is None else name

    def publisher(self, kind: Any, topic: str, depth: int = 1) -> Any:
        """A publisher for a topic of the node's namespace, once the node is subscribed to it."""
        path = f'{self.name.rpartition("/")[0]}/{topic}'
        publisher = self._node.create_publisher(kind, path, depth)

        def is_matched() -> bool:
            subscribers = self._node.get_subscriptions_info_by_topic(path)
            is_known = any(map(self._is_of_node, subscribers))
            return is_known and publisher.get_subscription_count() >= len(subscribers)

        self._expect(is_matched, f'has not subscribed to {path}')
        return publisher

    def call(self, kind: Any, service: str, request: Any) -> Any:
        """The response of a service of the node. Raises UsageError if the node ends meanwhile."""
        client = self._node.create_client(kind, f'{self.name}/{service}')
        self._expect(client.service_is_ready, f'does not offer ~/{service}')
        future = client.call_async(request)
        self.spin_until(lambda: future.done() or not self.is_there)
        if not future.done():
            raise UsageError(f'{self.name} has ended')
        return future.result()

    def parameters(self, *names: str) -> list[Any]:
        """Values of parameters of the node."""
        response = self.call(GetParameters, 'get_parameters', GetParameters.Request(names=names))
        return [parameter_value_to_python(value) for value in response.values]

    def robot(self) -> Robot:
        """The robot that the node moves."""
        text = self._first(String, f'{self.name}/robot_description', LATCHED).data
        return load_urdf(text)

    def positions(self, robot: Robot, joints: Sequence[int]) -> Array:
        """Return q (n,) [rad or m] in the middle of the limits, with the present positions of
        these joints."""
        topic, names = f'{self.name.rpartition("/")[0]}/joint_states', robot.joint_names
        q, missing = robot.middle_configuration.copy(), set(joints)

        def take(message: JointState) -> None:
            known = dict(zip(message.name, message.position, strict=False))
            for joint in joints:
                if names[joint] in known:
                    q[joint] = known[names[joint]]
                    missing.discard(joint)

        self._node.create_subscription(JointState, topic, take, 10)
        lacking = ', '.join(names[joint] for joint in joints)
        self._expect(lambda: not missing, f'moves a robot, but {topic} lacks some of {lacking}')
        return q

    def _first(self, kind: Any, topic: str, qos: QoSProfile) -> Any:
        """The first message of a topic."""
        messages: list[Any] = []
        self._node.create_subscription(kind, topic, messages.append, qos)
        self._expect(lambda: bool(messages), f'has published nothing on {topic}')
        return messages[0]

    def _expect(self, condition: Callable[[], bool], otherwise: str) -> None:
        """Handle messages until the condition holds. Raises UsageError after the longest wait."""
        if not self.spin_until(condition, time.monotonic() + self._wait):
            raise UsageError(f'{self.name} {otherwise}, after {self._wait:g} s')

    def _find(self, namespace: str | None) -> str:
        """The full name of the only node, or of the one in the namespace. Raises UsageError."""
        self.spin_until(lambda: bool(_chosen(self.names(), namespace)), self._deadline)
        if namespace is None:
            self.spin_until(lambda: False, time.monotonic() + SETTLING)
        return choose(self.names(), namespace, self._domain)

    def names(self) -> list[str]:
        """Full names of all nodes that are an `ik_node`; one twice if two nodes have it."""
        topics = dict(self._node.get_topic_names_and_types())
        kind, names = 'diagnostic_msgs/msg/DiagnosticStatus', []
        for topic, kinds in topics.items():
            name = topic.removesuffix('/status')
            if topic != name and kind in kinds and f'{name}/goals' in topics:
                publishers = self._node.get_publishers_info_by_topic(topic)
                names += [name for info in publishers if _full_name(info) == name]
        return sorted(names)

    def _is_of_node(self, info: Any) -> bool:
        return _full_name(info) == self.name

    def _take_status(self, message: DiagnosticStatus) -> None:
        self.status = Status(message.message, {pair.key: pair.value for pair in message.values})


def choose(names: Sequence[str], namespace: str | None, domain: int) -> str:
    """Choose a node by its namespace; None: the only node. Raises UsageError.

    names : full names of all nodes
    domain : ROS_DOMAIN_ID, for the text of the error
    """
    chosen = _chosen(names, namespace)
    if not chosen:
        where = '' if namespace is None else f' in the namespace {_as_path(namespace) or "/"}'
        others = f' (found: {", ".join(names)})' if names else ''
        raise UsageError(
            f'no ik_node was found{where} with ROS_DOMAIN_ID={domain}{others}: start one (`ik '
            'node panda`), or set ROS_DOMAIN_ID and --namespace to those of your node; --wait S '
            'waits longer'
        )
    if len(chosen) == 1:
        return chosen[0]
    several = f'{len(chosen)} nodes were found with ROS_DOMAIN_ID={domain}: {", ".join(chosen)}'
    if len({name.rpartition('/')[0] for name in chosen}) == len(chosen):
        raise UsageError(f'{several}; choose one by its --namespace')
    raise UsageError(
        f'{several}; two in one namespace would both follow the goal: end one, or start it in '
        'another namespace (--ros-args -r __ns:=/NAME)'
    )


def _chosen(names: Sequence[str], namespace: str | None) -> list[str]:
    if namespace is None:
        return list(names)
    return [name for name in names if name.rpartition('/')[0] == _as_path(namespace)]


def _as_path(namespace: str) -> str:
    """A namespace with a slash before it, and none behind; '' for the root."""
    inside = namespace.strip('/')
    return f'/{inside}' if inside else ''


def _full_name(info: Any) -> str:
    return f'{info.node_namespace.rstrip("/")}/{info.node_name}'


def _send_pose(client: Client, arguments: argparse.Namespace) -> int:
    tip, (goal,) = client.tip(arguments.tip), arguments.goals
    note_millimetres('--xyz', goal.xyz)
    pose = transform_to_pose(_target(client, tip, goal, quaternion_of(goal, arguments.angles)))
    publisher = client.publisher(PoseStamped, goal_topic(tip))
    with stopped_by_interrupt(client):
        return follow(client, partial(publisher.publish, PoseStamped(pose=pose)), tip)


def _target(client: Client, tip: str, goal: Goal, quaternion: Array | None) -> Array:
    """Return the goal (4, 4) in the node's base frame, completed by the tip's present pose."""
    target = np.eye(4)
    if goal.xyz is None or quaternion is None:
        target = _present_pose(client, tip)
    if goal.xyz is not None:
        target[:3, 3] = goal.xyz
    if quaternion is not None:
        target[:3, :3] = matrix_from_quaternion(quaternion)
    return target


def _present_pose(client: Client, tip: str) -> Array:
    """The pose (4, 4) of the tip's tool in the node's base frame."""
    robot = client.robot()
    names = ('base_link', f'tools.{tip}.xyz', f'tools.{tip}.rpy')
    base_link, xyz, rpy = client.parameters(*names)
    q = client.positions(robot, robot.chain(tip))
    base = robot.forward_kinematics(q, base_link or robot.base_link)
    tool = np.eye(4)
    tool[:3, :3], tool[:3, 3] = matrix_from_rpy(rpy), xyz
    pose: Array = np.linalg.inv(base) @ robot.forward_kinematics(q, tip) @ tool
    return pose


def _send_joints(client: Client, arguments: argparse.Namespace) -> int:
    given, robot = arguments.joints, client.robot()
    q = configuration(robot, given, np.zeros(robot.n), arguments.angles, 'joints')
    named = [value[0] for value in given if isinstance(value, tuple)]
    names = named or list(robot.joint_names)
    positions = [float(q[robot.joint_index(name)]) for name in names]
    message = JointState(name=names, position=positions)
    publisher = client.publisher(JointState, 'joint_goal', 10)
    with stopped_by_interrupt(client):
        return follow(client, partial(publisher.publish, message))


def _send_home(client: Client, arguments: argparse.Namespace) -> int:
    def call() -> None:
        response = client.call(Trigger, 'home', Trigger.Request())
        if not response.success:
            raise UsageError(f'{client.name} refused it: {response.message}')

    with stopped_by_interrupt(client):
        return follow(client, call)


def _send_twist(client: Client, arguments: argparse.Namespace) -> int:
    """Jog for some time, then stop; 1 if the jog was blocked at its end."""
    tip = client.tip(arguments.tip)
    linear = arguments.twist[:3]
    angular = [value / arguments.angles.per_radian for value in arguments.twist[3:]]
    publisher = client.publisher(TwistStamped, twist_topic(tip))
    twist, zero = _twist(linear, angular), TwistStamped()
    before, lines = client.status, Lines()
    is_blocked = False
    end = time.monotonic() + arguments.seconds
    with stopped_by_interrupt(client):
        while time.monotonic() < end:
            publisher.publish(twist)
            due = time.monotonic() + TWIST_PERIOD
            client.spin_until(lambda: False, due)
            if _is_taken(client, before):
                _check_taken(client, before)
                lines.show(client.status)
                is_blocked = client.status.code not in (*MOVING, 'idle')
        publisher.publish(zero)
        client.spin_until(partial(_is_taken, client, before))
        client.spin_until(lambda: client.status.code not in MOVING or not client.is_there)
        _check_taken(client, before)
        lines.show(client.status)
    return NOT_REACHED if is_blocked else REACHED


def _twist(linear: Sequence[float], angular: Sequence[float]) -> TwistStamped:
    message = TwistStamped()
    for vector, values in ((message.twist.linear, linear), (message.twist.angular, angular)):
        vector.x, vector.y, vector.z = values
    return message


def _send_pause(client: Client, arguments: argparse.Namespace) -> int:
    response = client.call(SetBool, 'pause', SetBool.Request(data=arguments.pause))
    print(response.message)
    return REACHED if response.success else NOT_REACHED


SEND: dict[str, Callable[[Client, argparse.Namespace], int]] = {
    'pose': _send_pose,
    'joints': _send_joints,
    'home': _send_home,
    'twist': _send_twist,
    'pause': _send_pause,
    'resume': _send_pause,
}


def follow(client: Client, send: Callable[[], object], tip: str | None = None) -> int:
    """Send a goal and print statuses until it ends: 0 if it is reached, else 1.

    tip : whose distance from its goal is printed, if any. Raises UsageError if the node refuses
    the goal or ends.
    """
    before, lines = client.status, Lines(tip)
    send()
    client.spin_until(partial(_is_taken, client, before))
    while True:
        _check_taken(client, before)
        status = client.status
        is_over = status.has_ended or status.code in LOST
        lines.show(status, is_last=is_over)
        if is_over:
            return REACHED if status.code == 'reached' else NOT_REACHED
        client.wait_for_status()


def _is_taken(client: Client, before: Status) -> bool:
    """Return whether the node has taken or refused something since `before`, or has ended."""
    status = client.status
    is_new = status.goals_taken > before.goals_taken or status.refused > before.refused
    return is_new or not status.tips or not client.is_there


def _check_taken(client: Client, before: Status) -> None:
    """Raise UsageError if the node has refused something since `before`, or has ended."""
    if not client.is_there:
        raise UsageError(f'{client.name} has ended')
    if client.status.refused > before.refused:
        raise UsageError(f'{client.name} refused it: {client.status.values["last_refused"]}')


@contextmanager
def stopped_by_interrupt(client: Client) -> Iterator[None]:
    """At Ctrl-C drop the goals of the node, and wait until its joints rest."""
    try:
        yield
    except KeyboardInterrupt:
        print('stopping', flush=True)
        print(client.call(Trigger, 'reset', Trigger.Request()).message)
        raise


class Lines:
    """Prints statuses, but not the same line twice, and distances LINE_PERIOD apart.

    tip : whose distance from its goal is printed, if any
    """

    def __init__(self, tip: str | None = None) -> None:
        self._tip = tip
        self._text = self._line = ''
        self._due = 0.0

    def show(self, status: Status, *, is_last: bool = False) -> None:
        """Print a line, if it says something new; the last one has the solver's note."""
        way = '' if self._tip is None or status.code == 'reached' else status.distance(self._tip)
        note = status.values.get('solver_note', '') if is_last and status.code != 'reached' else ''
        line, now = joined(status.text, way, note), time.monotonic()
        if line != self._line and (is_last or status.text != self._text or now >= self._due):
            print(line, flush=True)
            self._text, self._line, self._due = status.text, line, now + LINE_PERIOD
