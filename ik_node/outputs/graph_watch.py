# SPDX-License-Identifier: Apache-2.0
"""Checks of the ROS graph: publishers whose messages do not arrive, or that should not exist.

Messages that do not arrive cause no callback, and so no warning: goals with best effort, a Twist
without a stamp, a second node that commands the same robot, a missing /clock. A background thread
checks the graph every GRAPH_PERIOD.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from geometry_msgs.msg import PointStamped, PoseArray, PoseStamped, TwistStamped
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
    qos_profile_sensor_data,
)
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from ik_core.jobs import Job

from ..callback_groups import Polled, take
from ..clocks import CLOCK_PATIENCE, NodeClock
from ..texts import cut, explanation
from .diagnostics import Diagnostics

GRAPH_PERIOD = 2.0  # [s] period of the checks
# Message types of goals, besides joint_goal.
GOALS = (PoseStamped, PoseArray, PointStamped, TwistStamped)
JOINT_JOG = '~/delta_joint_cmds'  # a topic of MoveIt Servo that this node does not support
# [s] Duration of reading other joint states in a check, and the period of polling.
LISTENING, LISTENING_PERIOD = 1.0, 0.02
# The first checks after a change of the publishers read their joint states until they are known,
MOST_LISTENED = 5
SELDOM = 15  # and later every fifteenth one, since they may begin to publish other joints

# ROS reports this name for nodes that are not discovered yet, or are no ROS nodes.
NAMELESS = '_NODE_NAME_UNKNOWN_'

# Returns the topic of the commands and their joints; '' and () if none are published.
Published = Callable[[], tuple[str, tuple[str, ...]]]


class Finding(NamedTuple):
    """A finding, logged in each check; with a `key`, only in the first one."""

    text: str
    key: str = ''


class Subscribed(NamedTuple):
    """The topic, type and QoS of a subscription of the node."""

    topic: str
    kind: Any
    qos: QoSProfile


class GraphWatch:
    """Warns of wrong publishers and nodes. `published` returns the topic of the commands."""

    def __init__(self, node: Node, health: Diagnostics, published: Published) -> None:
        self._node, self._health, self._published = node, health, published
        self._job: Job[list[Finding]] | None = None
        self._logged: set[str] = set()
        self._others = OtherJointStates(node)

    def follow(self) -> None:
        """Log the findings of the last check, and start the next; called every GRAPH_PERIOD."""
        job = self._job
        if job is not None:
            if not job.done:
                return
            self._log(job)
        topic, joints = self._published()
        subscribed = [
            Subscribed(it.topic_name, it.msg_type, it.qos_profile)
            for it in self._node.subscriptions
            if it is not self._others.subscription
        ]
        self._others.follow(self._node.resolve_topic_name(topic) if topic else '', joints)
        self._job = Job(lambda: [*self._find(subscribed, topic)])

    def _log(self, job: Job[list[Finding]]) -> None:
        try:
            found = job.result()
        except Exception as error:
            self._health.warn('graph', f'the ROS graph can not be read: {explanation(error)}')
            return
        log = self._node.get_logger()
        for each in found:
            if not each.key:
                log.warning(cut(each.text))
            elif each.key not in self._logged:
                log.info(cut(each.text))
        self._logged = {each.key for each in found}

    def _find(self, subscribed: Collection[Subscribed], topic: str) -> Iterator[Finding]:
        node = self._node
        own = node.get_fully_qualified_name()
        names = node.get_node_names_and_namespaces()
        if sum(f'{space.rstrip("/")}/{name}' == own for name, space in names) > 1:
            yield Finding(
                f'another node has the name {own}: services and parameters reach either of them; '
                'start it with another name or namespace',
            )
        for each in subscribed:
            others = publishers(node, each.topic)
            for info in others:
                yield from _unheard(each, info)
            is_goal = each.kind in GOALS or each.topic.endswith('/joint_goal')
            if is_goal and len(others) > 1:
                key = f'{each.topic} has {len(others)} publishers'
                text = f'{key}: {listed_names(others)}; the last goal counts, whoever sent it'
                yield Finding(text, key)
        jogs = publishers(node, node.resolve_topic_name(JOINT_JOG))
        if jogs:
            yield Finding(
                f'{node.resolve_topic_name(JOINT_JOG)} of {listed_names(jogs)} is not heard: '
                'this node takes no JointJog; send positions on joint_goal',
            )
        if topic:
            yield from self._find_commands(topic, own)

    def _find_commands(self, topic: str, own: str) -> Iterator[Finding]:
        """Find other publishers of commands: a robot that executes both would jump."""
        resolved = self._node.resolve_topic_name(topic)
        others = without_one(publishers(self._node, resolved), own)
        text = f'{resolved} has other publishers too: {listed_names(others)}'
        if not others:
            return
        if topic != 'joint_states':
            yield Finding(f'{text}; only one may command the robot')
            return
        hint = 'command_joints chooses the joints that this node publishes'
        shared = self._others.overlap(others)
        if shared:
            yield Finding(f'{text}; they publish {", ".join(shared[:6])}, too; {hint}')
        elif self._others.is_silent:
            yield Finding(f'{text}; their joints are not known; {hint}', text)


class OtherJointStates:
    """The joints that other publishers of the commands' topic publish.

    Messages do not name their publisher. A message with exactly the joints of the commands may be
    the node's own, so the others are known once there are as many other lists of names as
    publishers.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._group = Polled()
        self._topic, self._joints = '', frozenset[str]()
        self._who: tuple[str, ...] = ()
        self._lists: set[frozenset[str]] = set()
        self._checks = 0
        self._is_wanted = False
        self.subscription: Any = None

    def follow(self, topic: str, joints: Iterable[str]) -> None:
        """Subscribe while it is needed to `topic`, on which this node commands `joints`."""
        own = frozenset(joints)
        if (topic, own) != (self._topic, self._joints):
            self._topic, self._joints, self._who = topic, own, ()
        if self.subscription is not None and not (self._is_wanted and topic):
            self._node.destroy_subscription(self.subscription)
            self.subscription = None
        if self._is_wanted and topic and self.subscription is None:
            self.subscription = self._node.create_subscription(
                JointState, topic, lambda _: None, qos_profile_sensor_data,
                callback_group=self._group,
            )  # fmt: skip

    def overlap(self, others: Collection[Any]) -> list[str]:
        """Return the joints that others publish, too; takes at most LISTENING seconds.

        Runs in another thread than `follow`.
        """
        who = tuple(sorted(bytes(info.endpoint_gid).hex() for info in others))
        if who != self._who:
            self._who, self._lists, self._checks = who, set(), 0
        if self._is_wanted:
            self._listen()
        self._checks += 1
        first = self._checks <= MOST_LISTENED and not self.is_known
        self._is_wanted = first or self._checks % SELDOM == 0
        return sorted(frozenset().union(*self._lists) & self._joints)

    @property
    def is_silent(self) -> bool:
        """True if the joints of other publishers are still unknown after the first checks."""
        return self._checks > MOST_LISTENED and not self.is_known

    @property
    def is_known(self) -> bool:
        """True if the joints of all other publishers are known, or some shared joints."""
        shares = any(names & self._joints for names in self._lists)
        return shares or len(self._lists) >= len(self._who)

    def _listen(self) -> None:
        subscription, end = self.subscription, time.monotonic() + LISTENING
        if subscription is None:
            return
        known = self.is_known
        while time.monotonic() < end and self.is_known == known:
            serialized = take(subscription)
            if serialized is None:
                time.sleep(LISTENING_PERIOD)
                continue
            names = frozenset(deserialize_message(serialized, JointState).name)
            if names and names != self._joints:
                self._lists.add(names)


class ClockLog:
    """Logs once that the simulated clock is missing or stands still, and that it runs again."""

    def __init__(self, node: Node, clock: NodeClock) -> None:
        self._node, self._clock = node, clock
        self._logged = False

    def follow(self) -> None:
        """Log if the clock has stopped, or runs again; called several times a second."""
        clock, log = self._clock, self._node.get_logger()
        if not clock.stands_still:
            if self._logged:
                log.info('/clock goes on')
            self._logged = False
        elif not self._logged and clock.stood_for > CLOCK_PATIENCE:
            self._logged = True
            topic = self._node.resolve_topic_name('/clock')
            text = f'waiting for {topic} (use_sim_time is true): '
            if not self._node.count_publishers(topic):
                log.warning(f'{text}nobody publishes it')
            elif clock.has_begun:
                log.warning(f'{text}its time does not advance, so nothing moves')
            else:
                log.warning(f'{text}it shows no time yet, or the time 0')


def publishers(node: Node, topic: str) -> list[Any]:
    """Return the publishers of a topic, by its resolved name."""
    return list(node.get_publishers_info_by_topic(topic)) if node.count_publishers(topic) else []


def without_one(infos: Collection[Any], own: str) -> list[Any]:
    """Return the publishers without the first one of the node `own`: more may have its name."""
    others = list(infos)
    for info in infos:
        if full_name(info) == own:
            others.remove(info)
            break
    return others


def full_name(info: Any) -> str:
    """Return the full name of the node of a publisher."""
    if info.node_name == NAMELESS:
        return 'a node without a name'
    return f'{info.node_namespace.rstrip("/")}/{info.node_name}'


def listed_names(infos: Iterable[Any]) -> str:
    """Return the names of the nodes of publishers, as a list in text."""
    return ', '.join(sorted(map(full_name, infos)))


def _unheard(wanted: Subscribed, info: Any) -> Iterator[Finding]:
    """Yield why messages of a publisher do not arrive; nothing if they do."""
    package, kind = wanted.kind.__module__.split('.')[0], wanted.kind.__name__
    expected, topic = f'{package}/msg/{kind}', wanted.topic
    where = f'{topic}: nothing of {full_name(info)} arrives: it publishes'
    if info.topic_type != expected:
        hint = ', with a header' if info.topic_type == expected.removesuffix('Stamped') else ''
        yield Finding(f'{where} {info.topic_type}; {expected} is needed{hint}')
        return
    compatibility, _ = qos_check_compatible(info.qos_profile, wanted.qos)
    if compatibility != QoSCompatibility.ERROR:
        return
    parts = [f'{where} with {qos_text(info.qos_profile)}; {qos_text(wanted.qos)} is needed']
    if _is_best_effort(info.qos_profile) and wanted.kind in (*GOALS, JointState):
        parameter = f'qos_overrides.{topic}.subscription.reliability'
        parts.append(f'for a stream the parameter {parameter}: best_effort takes it')
    yield Finding(', or '.join(parts))


def _is_best_effort(qos: QoSProfile) -> bool:
    return bool(qos.reliability == ReliabilityPolicy.BEST_EFFORT)


def qos_text(qos: QoSProfile) -> str:
    """Return a QoS as text: 'best effort, volatile'."""
    reliability = 'best effort' if _is_best_effort(qos) else 'reliable'
    is_latched = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
    return f'{reliability}, {"transient local" if is_latched else "volatile"}'
