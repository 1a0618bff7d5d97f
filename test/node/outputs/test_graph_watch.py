# SPDX-License-Identifier: Apache-2.0
"""The log reports publishers that cause no callback: those that are not received, or too many.

Publishers are real ones; a thread publishes where a test waits for what becomes of it.
"""

import re
import threading
from contextlib import contextmanager

import pytest

rclpy = pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped, Twist
from rcl_interfaces.msg import Log
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from support.controlled_arm import ARM, START, Arm, controlled
from support.node_harness import URDF, Client, node_process, printed, unique_namespace
from support.panda_world import TIP, call, panda_world
from support.slide import at, slide
from support.twists import JOG, jog, twist
from trajectory_msgs.msg import JointTrajectory

from ik_node.outputs import graph_watch

pytestmark = pytest.mark.long

BEST_EFFORT = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


def listen(node):
    """Keep the log of the node from now on."""
    node._listen(Log, '/rosout', 1000)


def lines(node, part):
    """Return the log's lines that contain this."""
    mine = node.namespace.strip('/')
    return [m.msg for m in node.inbox['/rosout'] if m.name.startswith(mine) and part in m.msg]


def until_line(node, part):
    node.until(lambda: lines(node, part), f'a line with {part!r}')
    return lines(node, part)[-1]


@contextmanager
def publishing(node, kind, topic, *messages, qos=10):
    """Publish messages again and again on a thread."""
    publisher, stopping = node.node.create_publisher(kind, topic, qos), threading.Event()

    def run():
        while not stopping.wait(0.02):
            for message in messages:
                publisher.publish(message)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
        node.node.destroy_publisher(publisher)


def test_publishers_that_are_not_heard_are_named_with_what_would_be_right():
    with slide(acceleration=50.0) as node:
        listen(node)
        node.node.create_publisher(PoseStamped, 'goal_pose', BEST_EFFORT)
        node.node.create_publisher(Twist, JOG, 10)
        node.node.create_publisher(JointState, 'ik_node/delta_joint_cmds', 10)
        client = f'{node.namespace}/client'
        unheard = f'nothing of {client} arrives: it publishes'  # first it may have no name yet
        line = until_line(node, f'{unheard} with best effort, volatile')
        assert line.startswith(f'{node.namespace}/goal_pose: {unheard}')
        parameter = f'qos_overrides.{node.namespace}/goal_pose.subscription.reliability'
        assert f'reliable, volatile is needed, or for a stream the parameter {parameter}' in line
        line = until_line(node, f'{unheard} geometry_msgs/msg/Twist;')
        assert line.endswith('geometry_msgs/msg/TwistStamped is needed, with a header')
        assert 'JointJog' in until_line(node, f'of {client} is not heard')


def test_two_publishers_of_goals_are_named_once():
    with slide(acceleration=50.0) as node:
        listen(node)
        for _ in range(2):
            node.node.create_publisher(PoseStamped, 'goal_pose', 1)
        until_line(node, 'goal_pose has 2 publishers')
        node.node.create_publisher(JointState, 'ik_node/delta_joint_cmds', 10)
        until_line(node, 'JointJog')  # of a later look
        assert len(lines(node, 'goal_pose has 2 publishers')) == 1


def process_of(client, *arguments):
    robot = ('-p', f'urdf_path:={URDF / "panda.urdf"}', '-p', f'tip_links:={TIP}')
    return node_process(client.namespace, *robot, *arguments)


@pytest.mark.parametrize('reliability', ['best_effort', 'besteffort'])
def test_qos_overrides_choose_best_effort(reliability):
    client = Client(unique_namespace())
    name = f'qos_overrides.{client.namespace}/goal_pose.subscription.reliability'
    with (
        process_of(client, '-p', f'{name}:={reliability}') as process,
        printed(process) as said,
    ):
        if reliability == 'best_effort':
            publisher = client.node.create_publisher(PoseStamped, 'goal_pose', BEST_EFFORT)
            client.until(publisher.get_subscription_count, 'a match')
        else:
            wrong = '`besteffort`; it is reliable or best_effort'
            client.until(lambda: wrong in ''.join(said), wrong)
        assert 'no such parameters' not in ''.join(said)
    client.close()


@pytest.mark.parametrize(
    ('output', 'kind', 'topic'),
    [
        ('position_command', Float64MultiArray, 'commands'),
        ('joint_trajectory', JointTrajectory, 'joint_trajectory'),
    ],
)
def test_other_publishers_of_commands_and_another_node_of_the_name_are_warned_of(
    output, kind, topic
):
    with controlled(output) as node:
        listen(node)
        arm = Arm(node, ARM, START)
        arm.until(lambda: node.status.get('code') == 'idle', 'the start')
        assert not lines(node, 'publishers too')
        node.node.create_publisher(kind, topic, 10)
        wanted = f'{node.namespace}/{topic} has other publishers too: {node.namespace}/client'
        arm.until(lambda: lines(node, wanted), wanted)
        twin = rclpy.create_node('ik_node', namespace=node.namespace, context=node.context)
        wanted = f'another node has the name {node.namespace}/ik_node'
        arm.until(lambda: lines(node, wanted), wanted)
        twin.destroy_node()


@contextmanager
def panda_beside(message):
    """The Panda, once it has heard that another node publishes a message of joint_states."""
    with panda_world(command_joints=ARM) as node:
        listen(node)
        node.more_states(1)
        with publishing(node, JointState, 'joint_states', message):
            watch = node.ik_node._graph._others
            node.until(lambda: watch._who and watch.is_known, 'the joints of the others')
            assert watch._lists == {frozenset(message.name)}
            yield node


def test_other_joint_states_are_warned_of_only_where_joints_are_shared():
    wheels = JointState(name=['left_wheel', 'right_wheel'], position=[0.0, 0.0])
    shared = JointState(name=['panda_joint3', 'panda_joint2', 'neck'], position=[0.0] * 3)
    with (
        panda_beside(wheels) as node,
        publishing(node, JointState, 'joint_states', shared),
    ):
        line = until_line(node, 'publishers too')
        assert re.search(r'they publish panda_joint2, panda_joint3, too; command_joints', line)
        assert all('panda_joint2' in each for each in lines(node, 'publishers too'))


def test_joints_that_another_publisher_shares_only_later_are_warned_of(monkeypatch):
    monkeypatch.setattr(graph_watch, 'SELDOM', 2)
    message = JointState(name=['left_wheel'], position=[0.0])
    with panda_beside(message) as node:
        message.name = ['panda_joint4']
        assert 'they publish panda_joint4, too' in until_line(node, 'publishers too')


def test_a_publisher_of_joint_states_that_says_nothing_is_told_of_once(monkeypatch):
    monkeypatch.setattr(graph_watch, 'GRAPH_PERIOD', 0.3)
    monkeypatch.setattr(graph_watch, 'LISTENING', 0.05)
    with panda_world(command_joints=ARM) as node:
        listen(node)
        node.node.create_publisher(JointState, 'joint_states', 10)
        assert 'their joints are not known' in until_line(node, 'publishers too')
        watch = node.ik_node._graph._others
        then = watch._checks
        node.until(lambda: watch._checks > then + 3, 'more checks')
        assert len(lines(node, 'publishers too')) == 1


def test_a_missing_clock_and_one_that_stands_still_are_told():
    with panda_world(use_sim_time=True) as node:
        listen(node)
        node.until_code('waiting_for_clock')
        assert 'nobody publishes it' in until_line(node, 'waiting for')
        assert not call(node, Trigger, 'home').success
        clock, message = node.publisher(Clock, 'clock', 10), Clock()

        def advance():
            message.clock.nanosec += 5_000_000
            clock.publish(message)
            return node.status.get('code') == 'idle'

        node.until(advance, 'a clock that runs')
        until_line(node, '/clock goes on')
        node.until_code('waiting_for_clock')
        assert 'does not advance' in until_line(node, 'does not advance')
        assert call(node, Trigger, 'home').success  # a pause of the simulation keeps goals
        before = len(node.states)
        node.until(lambda: [advance(), len(node.states) > before][1], 'motion')


def test_jogs_begin_and_end_in_the_log_and_blocked_ones_say_why():
    with slide(acceleration=50.0) as node:
        listen(node)
        jog(node, twist((0.1, 0.0, 0.0)), lambda: node.states[-1].position[0] > 0.2, 'a jog')
        assert lines(node, 'jog begins')
        assert not lines(node, 'blocked')
        line = until_line(node, 'jog ended')
        assert re.fullmatch(r'jog ended: carriage moved by 2\d\d(\.\d)? mm', line)
        assert len(lines(node, 'jog begins')) == 1
        node.send_goal(at(0.9))
        until_line(node, 'goal reached')
        assert len(lines(node, 'jog begins')) == 1
        jog(node, twist((1.0, 0.0, 0.0)), lambda: lines(node, 'blocked'), 'a jog into the limit')
        assert until_line(node, 'the jog is blocked').endswith('at a joint limit: x')
        node.until(lambda: len(lines(node, 'jog ended')) == 2, 'the end')
