# SPDX-License-Identifier: Apache-2.0
"""Goals in frames outside the robot, with a `tf2_ros` in place of the one that pip can't bring.

The one here (`support/tf2_stand_in.py`) is real Python with subscriptions to real topics of
TransformStamped, since tf2_msgs, too, is not on PyPI. The node runs in a process of its own, where
only its PYTHONPATH knows of it.
"""

import gc
import os
import shutil
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')


from geometry_msgs.msg import PoseArray, PoseStamped, TransformStamped
from rclpy.time import Time
from std_msgs.msg import String
from support import tf2_stand_in
from support.hand_camera import check, stamped, watch
from support.node_harness import (
    LATCHED,
    URDF,
    Client,
    check_states,
    load,
    node_process,
    unique_namespace,
)
from support.panda_world import tip_of
from support.tf2_stand_in import FIXED, MOVING

from ik_core.maths.rotations import matrix_from_rpy
from ik_node.conversions import Refused, stamp_of, transform_to_pose
from ik_node.inputs import tf_frames
from ik_node.inputs.goal_frames import Pending
from ik_node.inputs.tf_frames import TfFrames, rcl_complaints_dropped

pytestmark = pytest.mark.long
TIP = 'panda_hand'
STAND_IN = Path(tf2_stand_in.__file__)

PATIENT_NODE = '''
"""The node, but it waits for any frame but `nowhere` until it comes: machines may be busy."""
from ik_node.conversions import Refused
from ik_node.inputs.goal_frames import Pending
from ik_node.inputs.tf_frames import TfFrames
from ik_node.main import main

impatient = TfFrames.lookup


def lookup(self, target, source, stamp=0):
    try:
        return impatient(self, target, source, stamp)
    except Refused as refused:
        if source == 'nowhere' or refused.reason != 'unknown_frame':
            raise
        raise Pending(refused.reason, str(refused)) from refused


TfFrames.lookup = lookup
raise SystemExit(main())
'''


@pytest.fixture
def tf2_ros(tmp_path, monkeypatch):
    """Children find a tf2_ros and the program patient_node; this process does not."""
    shutil.copy(STAND_IN, tmp_path / 'tf2_ros.py')
    (tmp_path / 'patient_node.py').write_text(PATIENT_NODE, encoding='utf-8')
    path = filter(None, [str(tmp_path), os.environ.get('PYTHONPATH')])
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(path))


@pytest.fixture
def client():
    it = Client(unique_namespace())
    yield it
    it.close()


def transform_of(xyz, rpy):
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = matrix_from_rpy(rpy), xyz
    return transform


def say(client, parent, child, transform, stamp=None, publisher=None):
    """Publish a fixed frame, or where one that moves was at a stamp [ns]."""
    message, pose = TransformStamped(child_frame_id=child), transform_to_pose(transform)
    message.header.frame_id = parent
    message.header.stamp = Time(nanoseconds=stamp or 0).to_msg()
    message.transform.rotation = pose.orientation
    at = message.transform.translation
    at.x, at.y, at.z = pose.position.x, pose.position.y, pose.position.z
    topic = FIXED if stamp is None else MOVING
    publisher = publisher or client.publisher(TransformStamped, topic, 100)
    publisher.publish(message)


def send(client, goal, frame, condition):
    """Send a goal again and again until the condition holds."""

    def sent_and_so():
        client.send_goal(goal, frame=frame)
        return condition()

    client.until(sent_and_so, f'what a goal in {frame} leads to')


def panda_process(client, *further, program='patient_node'):
    """A node that goals reach; `ik_node` waits for frames as long as it says, see `clock`."""
    arguments = [f'urdf_path:={URDF / "panda.urdf"}', f'tip_links:={TIP}', 'rate:=100.0']
    arguments += ['joint_limits.default.acceleration:=20.0']
    options = (x for text in arguments for x in ('-p', text))
    return node_process(client.namespace, *options, *further, program=(program,))


BASE_IN_MAP = transform_of((1.0, -2.0, 0.3), (0.1, -0.2, 0.9))
OBJECT_IN_MAP = transform_of((1.3, -1.7, 0.8), (0.4, 0.3, -0.5))


def goal_near(client, robot):
    """A goal near the start, in the robot's frame and in the object's."""
    q = np.array(client.more_states(1)[0].position)[: robot.n]
    q[:7] += 0.15
    goal = robot.forward_kinematics(q, TIP)
    return goal, np.linalg.inv(OBJECT_IN_MAP) @ BASE_IN_MAP @ goal


def is_there(client, robot, goal):
    q = np.array(client.more_states(1)[-1].position)[: robot.n]
    return np.allclose(robot.forward_kinematics(q, TIP), goal, atol=1e-4)


def test_the_first_goal_finds_what_was_published_before_it(client, tf2_ros):
    """Each frame is published once, before any goal: the node has to have listened."""
    robot = load('panda')
    with panda_process(client):
        goal, wanted = goal_near(client, robot)
        say(client, 'map', 'panda_link0', BASE_IN_MAP)
        say(client, 'map', 'object', OBJECT_IN_MAP)
        client.send_goal(wanted, frame='object')
        client.until(lambda: is_there(client, robot, goal), 'the goal')
        assert 'refused.unknown_frame' not in client.status


def test_the_first_goal_in_a_frame_waits_for_that_frame(client, tf2_ros):
    robot = load('panda')
    with panda_process(client):
        goal, wanted = goal_near(client, robot)
        client.send_goal(wanted, frame='object')  # once

        def there():
            say(client, 'map', 'panda_link0', BASE_IN_MAP)
            say(client, 'map', 'object', OBJECT_IN_MAP)
            return is_there(client, robot, goal)

        client.until(there, 'the goal')
        assert 'refused.unknown_frame' not in client.status
        refused = 'refused.unknown_frame'
        send(client, wanted, 'nowhere', lambda: refused in client.status)
        check_states(client.states, robot, 100.0, acceleration=20.0)


def test_a_goal_whose_frame_does_not_come_is_refused_after_a_while(client, tf2_ros):
    robot = load('panda')
    with panda_process(client, program='ik_node') as process:
        goal, wanted = goal_near(client, robot)
        client.send_goal(wanted, frame='nowhere')
        client.until_refused('unknown_frame')
        client.send_goal(goal)
        client.until(lambda: is_there(client, robot, goal), 'the goal')
        process.terminate()
        assert 'tf2: nowhere is not connected to panda_link0' in process.stdout.read()


def test_each_new_frame_may_come_just_before_or_after_its_goal(client, tf2_ros):
    """Ten objects one after the other, each with one goal at once, long after the first frame."""
    robot = load('panda')
    with panda_process(client):
        _, wanted = goal_near(client, robot)
        client.send_goal(wanted, frame='nowhere')
        client.until_refused('unknown_frame')
        say(client, 'map', 'panda_link0', BASE_IN_MAP)
        for number in range(10):
            name, at = f'object{number}', transform_of((0.01 * number, 0.0, 0.0), (0.0, 0.0, 0.0))
            say(client, 'map', name, at @ OBJECT_IN_MAP)
            client.send_goal(wanted, frame=name)
            goal = np.linalg.inv(BASE_IN_MAP) @ at @ OBJECT_IN_MAP @ wanted
            client.until(lambda goal=goal: is_there(client, robot, goal), f'the goal in {name}')
        assert client.status['refused.unknown_frame'] == '1'


def test_a_newer_goal_takes_the_place_of_one_that_waits_for_its_frame(client, tf2_ros):
    robot = load('panda')
    with panda_process(client):
        goal, wanted = goal_near(client, robot)
        client.send_goal(wanted @ transform_of((0.1, 0.1, 0.1), (0.0, 0.0, 0.0)), frame='object')
        client.publisher(TransformStamped, FIXED, 100)  # it is listened to: it waits
        client.send_goal(goal)
        client.until(lambda: is_there(client, robot, goal), 'the goal')
        for _ in range(20):
            say(client, 'map', 'panda_link0', BASE_IN_MAP)
            say(client, 'map', 'object', OBJECT_IN_MAP)
            assert is_there(client, robot, goal)


def test_a_large_message_for_tf2_is_left_out(client, tf2_ros):
    robot = load('panda')
    with panda_process(client) as process:
        goal, wanted = goal_near(client, robot)
        say(client, 'map', 'panda_link0', BASE_IN_MAP)
        say(client, 'map' + 100_000 * 'x', 'object', OBJECT_IN_MAP)
        say(client, 'map', 'object', OBJECT_IN_MAP)
        client.send_goal(wanted, frame='object')
        client.until(lambda: is_there(client, robot, goal), 'the goal')
        process.terminate()
        assert f'{FIXED}: 100' in process.stdout.read()


# --- frames that move ------------------------------------------------------------------------


def now(client):
    """The time that stamps are of [ns]."""
    return client.node.get_clock().now().nanoseconds


def moved_object(share):
    """Return the object's pose in the map after a fraction [0, 1] of its path."""
    return OBJECT_IN_MAP @ transform_of((0.1 * share, 0.0, 0.0), (0.0, 0.0, 0.4 * share))


def say_way(client, begin, end, count=11):
    """Publish the way of the object from one stamp [ns] to another."""
    for share in np.linspace(0.0, 1.0, count):
        stamp = begin + round(share * (end - begin))
        say(client, 'map', 'object', moved_object(share), stamp)


def send_stamped(client, goal, frame, stamp):
    client.publisher(PoseStamped, 'goal_pose').publish(stamped(goal, frame, stamp))


def in_base(object_in_map, wanted):
    """A goal in the object's frame, in that of the robot."""
    return np.linalg.inv(BASE_IN_MAP) @ object_in_map @ wanted


def until_known(client, robot, wanted, stamp):
    """Wait until the node knows the way of the object: a goal by its end is reached."""
    goal = in_base(moved_object(1.0), wanted)

    def there():
        send_stamped(client, wanted, 'object', stamp)
        return is_there(client, robot, goal)

    client.until(there, 'the goal at the end of the way')


def test_a_goal_is_where_its_frame_was_at_the_stamp(client, tf2_ros):
    robot = load('panda')
    with panda_process(client):
        _, wanted = goal_near(client, robot)
        say(client, 'map', 'panda_link0', BASE_IN_MAP)
        end = now(client)
        begin = end - 2 * 10**9
        say_way(client, begin, end)
        until_known(client, robot, wanted, end)
        for share in (0.0, 0.55, 0.3):  # of a message, and between two of them
            send_stamped(client, wanted, 'object', begin + round(share * 2e9))
            goal = in_base(moved_object(share), wanted)
            client.until(lambda goal=goal: is_there(client, robot, goal), f'the goal at {share}')
        send_stamped(client, wanted, 'object', 0)
        goal = in_base(moved_object(1.0), wanted)
        client.until(lambda: is_there(client, robot, goal), 'the goal where the frame is now')
        send_stamped(client, wanted, 'object', begin - 10**9)
        client.until_refused('stamp_too_old')
        send_stamped(client, wanted, 'object', end + 3600 * 10**9)
        client.until_refused('stamp_too_new')
        assert client.status['refused'] == '2'
        check_states(client.states, robot, 100.0, acceleration=20.0)


def test_one_transform_with_the_stamp_of_the_goal_is_enough(client, tf2_ros):
    """As a detector of tags gives it: to the nanosecond."""
    robot = load('panda')
    with panda_process(client):
        _, wanted = goal_near(client, robot)
        say(client, 'map', 'panda_link0', BASE_IN_MAP)
        stamp = now(client)
        say(client, 'map', 'object', OBJECT_IN_MAP, stamp)
        send_stamped(client, wanted, 'object', stamp)
        goal = in_base(OBJECT_IN_MAP, wanted)
        client.until(lambda: is_there(client, robot, goal), 'the goal')
        assert client.status['refused'] == '0'


def test_of_a_fixed_frame_no_stamp_matters(client, tf2_ros):
    robot = load('panda')
    with panda_process(client):
        goal, wanted = goal_near(client, robot)
        say(client, 'map', 'panda_link0', BASE_IN_MAP)
        say(client, 'map', 'object', OBJECT_IN_MAP)
        for hours in (-10_000, 1):
            client.send_goal(goal @ transform_of((0.0, 0.0, -0.05), (0.0, 0.0, 0.0)))
            client.until(lambda: not is_there(client, robot, goal), 'another goal')
            send_stamped(client, wanted, 'object', now(client) + hours * 3600 * 10**9)
            client.until(lambda: is_there(client, robot, goal), 'the goal')
        assert client.status['refused'] == '0'


def test_a_goal_waits_for_a_transform_as_new_as_its_stamp(client, tf2_ros):
    robot = load('panda')
    with panda_process(client):
        start, wanted = goal_near(client, robot)
        say(client, 'map', 'panda_link0', BASE_IN_MAP)
        end = now(client)
        say_way(client, end - 2 * 10**9, end)
        until_known(client, robot, wanted, end)
        send_stamped(client, wanted, 'object', end + 50_000_000)
        say(client, 'map', 'object', moved_object(0.5), end + 100_000_000)
        goal = in_base(moved_object(0.75), wanted)
        client.until(lambda: is_there(client, robot, goal), 'the goal')
        client.send_goal(start)
        client.until(lambda: is_there(client, robot, start), 'the start')
        assert client.status['refused'] == '0'


def test_the_eye_in_the_hand_arrives_by_the_frames_of_tf(client, tf2_ros):
    """A camera that the description lacks, on a hand whose transforms come from joint_states."""
    robot, offset = load('panda'), transform_of((0.05, 0.02, 0.04), (0.3, -0.2, 0.5))
    with panda_process(client):
        start, _ = goal_near(client, robot)
        client.send_goal(start)
        client.until(lambda: is_there(client, robot, start), 'the start')
        say(client, TIP, 'camera', offset)
        told = []

        def tell(state):
            if told[-1:] != [stamp_of(state)]:
                told.append(stamp_of(state))
                say(client, 'panda_link0', TIP, tip_of(robot, state), told[-1])

        target = start @ transform_of((0.08, -0.1, -0.1), (0.0, 0.0, 0.2))
        camera = {'frame': 'camera', 'offset': offset}
        check(watch(client, robot, target, 0.2, **camera, each=tell))


# --- two robots of one description ------------------------------------------------------------


def goals_of(client):
    """The newest ~/goals."""
    heard = []
    client.node.create_subscription(PoseArray, 'ik_node/goals', heard.append, LATCHED)
    client.until(lambda: heard, 'the goals')
    return heard[-1]


@pytest.fixture
def pair():
    """Clients of two robots, in two namespaces below one."""
    world = unique_namespace()
    clients = [Client(f'{world}/{side}') for side in ('left', 'right')]
    yield clients
    for it in clients:
        it.close()


def test_two_robots_of_one_description_work_side_by_side(pair, tf2_ros):
    """Each goes to goals in a frame of both, and in the frames of the other."""
    robot, (left, right) = load('panda'), pair
    world = left.namespace.rpartition('/')[0]
    remap = ['-r', f'{FIXED}:={world}/{FIXED}', '-r', f'{MOVING}:={world}/{MOVING}']
    places = {left: BASE_IN_MAP, right: transform_of((-0.4, 1.0, 0.1), (0.0, 0.1, -1.2))}
    names = {left: 'left/', right: 'right/'}

    def process(client):
        prefix = ['-p', f'frame_prefix:={names[client]}']
        return panda_process(client, *prefix, *remap)

    frames = left.node.create_publisher(TransformStamped, f'{world}/{FIXED}', 100)
    with process(left), process(right):
        left.until(lambda: frames.get_subscription_count() == 2, 'both listen')
        for client, place in places.items():
            say(client, 'map', f'{names[client]}panda_link0', place, publisher=frames)
        for client, place in places.items():
            goal, _ = goal_near(client, robot)
            other = pair[1 - pair.index(client)]
            before = tip_of(robot, other.more_states(1)[-1])
            client.send_goal(place @ goal, frame='map')
            client.until(lambda c=client, g=goal: is_there(c, robot, g), 'the goal in the map')
            assert np.allclose(tip_of(robot, other.more_states(1)[-1]), before), 'the other moved'
            assert goals_of(client).header.frame_id == f'{names[client]}panda_link0'
            there = goal @ transform_of((0.0, 0.0, -0.05), (0.0, 0.0, 0.0))
            across = np.linalg.inv(places[other]) @ place @ there
            client.send_goal(across, frame=f'{names[other]}panda_link0')
            client.until(lambda c=client, g=there: is_there(c, robot, g), 'that of the other')
            client.send_goal(np.eye(4), frame=f'{names[client]}{TIP}')
            client.until_code('reached')
            assert client.status['refused'] == '0'


@pytest.fixture
def frames(tf2_ros, client, tmp_path, monkeypatch):
    """The frames of tf2 for a node of this process."""
    monkeypatch.syspath_prepend(tmp_path)
    it = TfFrames(client.node)
    it.open()
    yield it
    it.close()
    sys.modules.pop('tf2_ros')


def threads():
    return [thread for thread in threading.enumerate() if thread.name == 'ik_node_tf']


@pytest.fixture
def threads_take_turns():
    """Threads take turns in each few lines, wherever tests before this one left the interval."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_many_threads_may_ask_while_others_listen_anew(client, frames, threads_take_turns):
    """As the tick and compute_ik do, and a clock that jumps back: one listener at a time."""
    wrong, ends = [], threading.Event()
    begin = threading.Barrier(9)

    def ask():
        begin.wait()
        while not ends.is_set():
            try:
                found = frames.lookup('map', 'object')
                if not np.allclose(found, OBJECT_IN_MAP):
                    wrong.append(found)
            except Refused:
                pass
            except Exception as error:
                wrong.append(error)
            if len(threads()) > 1:
                wrong.append(threads())

    asking = [threading.Thread(target=ask) for _ in range(8)]
    for thread in asking:
        thread.start()
    begin.wait()
    for _ in range(10):
        frames.renew()
        client.until(lambda: is_known(client, frames), 'the frame')
    ends.set()
    for thread in asking:
        thread.join()
    assert not wrong
    frames.close()
    assert not threads()


def is_known(client, frames):
    """Return whether it is; who listens anew may have to be found first, so it is said again."""
    try:
        return np.allclose(frames.lookup('map', 'object'), OBJECT_IN_MAP)
    except Refused:
        say(client, 'map', 'object', OBJECT_IN_MAP)
        return False


def test_listening_anew_forgets_what_was_heard(client, frames):
    client.until(lambda: is_known(client, frames), 'the frame')
    frames.renew()
    with pytest.raises(Pending):
        frames.lookup('map', 'object')
    client.until(lambda: is_known(client, frames), 'the frame')


def test_nothing_is_taken_from_tf_before_somebody_asks(client, frames):
    say(client, 'map', 'object', OBJECT_IN_MAP)
    assert not threads()
    client.until(lambda: is_known(client, frames), 'the frame')
    assert len(threads()) == 1


@pytest.fixture
def clock(monkeypatch):
    """The time that TfFrames sees [s], in a list."""
    now = [0.0]
    monkeypatch.setattr(tf_frames, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    return now


def is_pending(frames, name):
    """Return whether an unknown frame is waited for; it is refused otherwise."""
    with pytest.raises(Refused) as raised:
        frames.lookup('map', name)
    return raised.type is Pending


def test_each_unknown_frame_is_waited_for_when_it_is_first_asked_for(frames, clock):
    assert is_pending(frames, 'first')
    clock[0] = 10.0
    assert is_pending(frames, 'second')
    clock[0] = 10.09
    assert is_pending(frames, 'second')
    assert is_pending(frames, 'third')
    clock[0] = 10.11
    assert not is_pending(frames, 'second')
    assert is_pending(frames, 'third')


def test_a_frame_that_is_asked_for_again_and_again_is_waited_for_once(frames, clock):
    assert is_pending(frames, 'first')
    waited = []
    for tick in range(500):
        clock[0] = 10.0 + 0.01 * tick
        waited.append(is_pending(frames, 'second'))
    assert waited == sorted(waited, reverse=True)
    assert 5 < sum(waited) < 15


def test_a_frame_that_was_refused_long_ago_is_waited_for_again(frames, clock):
    assert is_pending(frames, 'first')
    for clock[0], waits in [(10.0, True), (10.11, False), (10.15, False), (20.0, True)]:
        assert is_pending(frames, 'second') == waits


def test_names_that_are_no_longer_asked_for_are_forgotten(frames, clock):
    for number in range(1000):
        clock[0] = float(number)
        assert is_pending(frames, f'frame{number}')
    assert len(frames._listener._asked) < 10


NO_RIGHT = """
from rclpy.impl.implementation_singleton import rclpy_implementation


class TransformListener:
    def __init__(self, *arguments, **options):
        raise rclpy_implementation.RCLError('no right to /tf, at /src/rcl/subscription.c:108')
"""


def test_without_the_right_to_listen_a_goal_is_refused_in_a_sentence(client, tf2_ros, tmp_path):
    with (tmp_path / 'tf2_ros.py').open('a', encoding='utf-8') as file:
        file.write(NO_RIGHT)
    robot = load('panda')
    with panda_process(client, program='ik_node') as process:
        goal, wanted = goal_near(client, robot)
        for count in (1, 2):
            client.send_goal(wanted, frame='object')
            client.until_refused('unknown_frame', count)
        client.send_goal(goal)
        client.until(lambda: is_there(client, robot, goal), 'the goal')
        process.terminate()
        printed = process.stdout.read()
    assert 'tf2 can not listen to /tf: no right to /tf' in printed
    assert 'Traceback' not in printed
    assert '.c:' not in printed


@pytest.mark.parametrize(
    ('security', 'reason'),
    [
        ('true', 'SROS 2 does not allow this node to listen to /tf'),
        ('false', 'tf2 can not listen to /tf: Failed to create subscription'),
    ],
)
def test_a_refused_subscription_is_one_sentence(
    client, tf2_ros, tmp_path, monkeypatch, capfd, security, reason
):
    """rcl really refuses the subscription, because the topic has another type in this process."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv('ROS_SECURITY_ENABLE', security)
    ignored = []
    monkeypatch.setattr(sys, 'unraisablehook', ignored.append)
    client.node.create_publisher(String, MOVING, 1)
    frames = TfFrames(client.node)
    capfd.readouterr()
    frames.open()
    gc.collect()
    sys.modules.pop('tf2_ros')
    (line,) = capfd.readouterr().err.splitlines()
    assert '[WARN]' in line
    assert f'goals in tf frames are refused: {reason}' in line
    assert 'allocator' not in line
    assert ignored == []
    with pytest.raises(Refused, match=reason):
        frames.lookup('map', 'object')


def test_what_others_write_to_stderr_meanwhile_is_kept(capfd):
    with rcl_complaints_dropped():
        os.write(2, b'before\n\n>>> [rcutils|error_handling.c:108] f()\nsome\n\nlines\n<<<\n')
        os.write(2, b'invalid allocator, at subscription.c:261\nafter\n')
    os.write(2, b'later\n')
    assert capfd.readouterr().err == 'before\nafter\nlater\n'
