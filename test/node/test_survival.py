# SPDX-License-Identifier: Apache-2.0
"""Nothing that comes from outside ends the node: requests, clocks, arguments, signals."""

import math
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PointStamped, Pose, PoseArray, PoseStamped, TwistStamped
from lifecycle_msgs.srv import ChangeState
from rosgraph_msgs.msg import Clock
from support.node_harness import (
    PATIENCE,
    URDF,
    check_states,
    is_still,
    load,
    node_process,
    reachable_goal,
    unique_namespace,
    world,
)

pytestmark = pytest.mark.long
RATE = 200.0
ACCELERATION = 5.0
TIP = 'panda_hand'
PANDA = {
    'urdf_path': str(URDF / 'panda.urdf'),
    'tip_links': [TIP],
    'rate': RATE,
    'joint_limits__default__acceleration': ACCELERATION,
}


def ask_for(node, number, label=''):
    """A lifecycle transition by number, or by name; whether it was made."""
    request = ChangeState.Request()
    request.transition.id, request.transition.label = number, label
    return node.call(ChangeState, 'ik_node/change_state', request).success


def test_transitions_that_are_not_possible_are_refused_and_the_robot_moves_on():
    robot = load('panda')
    with world(**PANDA) as node:
        node.more_states(1)
        node.send_goal(reachable_goal(robot, TIP, 3))
        node.until_moving(0.1)
        possible = {4, 7}  # deactivate, and shut down while active
        impossible = [i for i in range(100) if i not in possible]
        assert not any(ask_for(node, number) for number in impossible)
        assert not ask_for(node, 0, 'activate')
        assert not ask_for(node, 0, 'nonsense')
        assert node.state() == 'active'
        node.until_code('reached')
        node.until_refused('invalid', len(impossible))
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_clock_before_zero_is_refused_and_the_node_goes_on():
    with world(use_sim_time=True, **PANDA) as node:
        node.until_code('waiting_for_clock')
        clock = node.publisher(Clock, 'clock')
        message = Clock()
        message.clock.sec = -5
        clock.publish(message)
        node.until_refused('invalid')
        message.clock.sec = 5
        clock.publish(message)
        for _ in range(5):
            before = len(node.states)
            message.clock.nanosec += 5_000_000
            clock.publish(message)
            node.until(lambda n=before: len(node.states) > n, 'a state')


def with_tip(text, name):
    """A description whose hand has another name."""
    return text.replace('"panda_hand"', f'"{name}"')


def test_a_description_whose_topics_could_not_be_made_leaves_the_old_robot_to_its_goal():
    robot, text = load('panda'), (URDF / 'panda.urdf').read_text('utf-8')
    with world(**PANDA | {'urdf_path': '', 'tip_links': []}) as node:
        node.send_description(text)
        node.more_states(1)
        tip = robot.default_tip()
        node.send_goal(reachable_goal(robot, tip, 3))
        node.until_moving(0.1)
        node.send_description(text.replace(f'"{tip}"', f'"{"t" * 240}"'))
        node.until(lambda: int(node.diagnostics.get('errors', 0)) >= 1, 'an error')
        node.until_code('reached')
        node.send_goal(reachable_goal(robot, tip, 4))
        node.until_code('tracking')
        node.until_code('reached')
        node.send_description(text.replace('2.175', '2.0'))
        speed = 'joint_limits.panda_joint1.velocity'
        node.until_parameter(speed, 2.0, 'the other robot')
        node.more_states(5)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_whatever_fails_while_a_robot_is_taken_the_old_one_goes_on(monkeypatch):
    """The last step fails once, as it could where the middleware is out of something."""
    robot, text = load('panda'), (URDF / 'panda.urdf').read_text('utf-8')
    with world(**PANDA | {'urdf_path': ''}) as node:
        node.send_description(text)
        node.more_states(1)
        assert node.set_parameters(joint_limits__panda_joint2__velocity=0.5).successful
        part = node.ik_node._interactive
        failures, works = [], part.open

        def fail_once(model):
            if failures:
                return works(model)
            failures.append(model)
            raise RuntimeError('out of something')

        monkeypatch.setattr(part, 'open', fail_once)
        node.send_description(with_tip(text, 'other'))  # which has no panda_hand
        node.send_description(text.replace('2.175', '2.0'))
        node.until(lambda: failures, 'the failure')
        node.until(lambda: int(node.diagnostics.get('errors', 0)) >= 1, 'an error')
        node.more_states(5)
        assert node.ik_node.get_parameter('joint_limits.panda_joint1.velocity').value == 2.175
        assert node.ik_node.get_parameter('joint_limits.panda_joint2.velocity').value == 0.5
        node.send_goal(reachable_goal(robot, TIP, 3))
        node.until_code('reached')
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def strange():
    """Messages that are too large to be meant, by topic."""
    goal, many = PoseStamped(), PoseArray(poses=[Pose()] * 100_000)
    goal.header.frame_id = 'x' * 5_000_000
    pose_of_many = PoseArray(poses=[Pose()])
    pose_of_many.header.frame_id = 'y' * 1_000_000
    return [
        ('goal_pose', goal),
        ('panda_hand/goal_pose', goal),
        ('goal_pose_2d', goal),
        ('goal_poses', many),
        ('goal_poses', pose_of_many),
        ('clicked_point', PointStamped(header=goal.header)),
        ('ik_node/delta_twist_cmds', TwistStamped(header=goal.header)),
    ]


def test_messages_of_megabytes_are_refused_unread_and_leave_the_log_short(capfd):
    robot = load('panda')
    with world(**PANDA) as node:
        node.more_states(1)
        for number, (topic, message) in enumerate(strange()):
            node.publisher(type(message), topic).publish(message)
            node.until_refused('too_large', number + 1)
        node.send_goal(reachable_goal(robot, TIP, 3), frame='z' * 3000)
        node.until_refused('unknown_frame')
        node.send_goal(reachable_goal(robot, TIP, 3))
        node.until_code('reached')
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)
    assert max(map(len, capfd.readouterr().err.splitlines())) < 2000


@pytest.mark.parametrize('size', [1.7e308, 1e7])
def test_a_twist_that_overflows_where_it_is_used_is_refused(size):
    robot = load('panda')
    with world(**PANDA) as node:
        node.send_goal(reachable_goal(robot, TIP, 3))
        node.until_code('reached')  # no axis of the hand is the root's now
        for number, vectors in enumerate([('linear',), ('angular',), ('linear', 'angular')]):
            message = TwistStamped()
            message.header.frame_id = TIP
            for name in vectors:
                vector = getattr(message.twist, name)
                vector.x = vector.y = vector.z = size
            node.publisher(TwistStamped, 'ik_node/delta_twist_cmds').publish(message)
            node.until_refused('too_fast', number + 1)
        assert node.status['code'] == 'reached'
        assert all(map(is_still, node.more_states(20)))
        assert node.diagnostics['errors'] == '0'


@pytest.mark.parametrize(
    'name', ['position_tolerance', 'orientation_tolerance', 'orientation_length']
)
def test_what_stops_the_robot_dead_is_no_tolerance(name):
    with world(**PANDA) as node:
        node.more_states(1)
        for value in (math.inf, math.nan, 0.0, 1e9):
            answer = node.set_parameters(**{name: value})
            assert not answer.successful
            assert name in answer.reason


SLOW = 'joint_limits.panda_joint1.velocity'
TOOL = 'tools.panda_hand.xyz'


def test_limits_and_tools_that_were_set_while_running_outlive_the_description_again():
    text = (URDF / 'panda.urdf').read_text('utf-8')
    with world(**PANDA | {'urdf_path': ''}) as node:
        node.send_description(text)
        node.more_states(1)
        given = {SLOW: 0.1, TOOL: [0.0, 0.0, 0.1], 'joint_limits.panda_joint2.velocity': 2.1}
        assert node.set_parameters(**given).successful
        node.send_description(text.replace('2.175', '2.0') + '<!-- again -->')
        other = 'joint_limits.panda_joint3.velocity'
        node.until_parameter(other, 2.0, 'the other robot')
        node.more_states(5)
        assert node.ik_node.get_parameter(SLOW).value == 0.1
        assert list(node.ik_node.get_parameter(TOOL).value) == [0.0, 0.0, 0.1]
        second = node.ik_node.get_parameter('joint_limits.panda_joint2.velocity').value
        assert second == 2.0, 'what was set is above the limit of this description'
        before = len(node.states)
        node.send_goal(reachable_goal(load('panda'), TIP, 5))
        node.until_code('reached')
        speeds = np.array([m.velocity[0] for m in node.states[before:]])
        assert 0.09 < np.abs(speeds).max() <= 0.1 + 1e-9


def test_limits_that_were_set_while_running_outlive_cleanup_and_configure():
    with world(**PANDA) as node:
        node.more_states(1)
        assert node.set_parameters(**{SLOW: 0.1}).successful
        assert [ask_for(node, number) for number in (4, 2, 1, 3)] == [True] * 4
        assert node.ik_node.get_parameter(SLOW).value == 0.1
        assert node.set_parameters(**{SLOW: 0.2}).successful, 'and can change'
        node.more_states(5)


def test_a_path_of_an_unknown_user_is_refused():
    with world(**PANDA) as node:
        node.more_states(1)
        answer = node.set_parameters(record_folder='~nosuchuser/x')
        assert not answer.successful
        assert '~nosuchuser' in answer.reason
        node.more_states(5)


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--params-file', 'nofile.yaml'], 'nofile.yaml'),
        (['-p', 'urdf_path:=~nosuch/x'], 'urdf_path'),
        (['-p'], '-p'),
        (['--nonsense'], '--nonsense'),
    ],
)
def test_arguments_that_can_not_be_used_get_a_sentence(arguments, words):
    with node_process(unique_namespace(), *arguments) as process:
        printed = process.stdout.read()
        assert process.wait(PATIENCE) == 2
    assert 'Traceback' not in printed
    (line,) = [line for line in printed.splitlines() if line.startswith('ik_node: ')]
    assert words in line
    assert '.c:' not in line


@pytest.mark.parametrize('count', range(4))
def test_a_signal_while_it_starts_leaves_no_traceback(count):
    """Sent as soon as so many of the files that it opens while it starts are open."""
    with node_process(unique_namespace()) as process:
        wanted = ['rclpy/', 'numpy/', '_rclpy_pybind11', 'librcl.so'][count]
        maps = f'/proc/{process.pid}/maps'
        while process.poll() is None:
            with open(maps, encoding='utf-8') as file:
                if wanted in file.read():
                    break
        process.send_signal(signal.SIGINT)
        printed = process.stdout.read()
        assert process.wait(PATIENCE) == 0, printed
    assert 'Traceback' not in printed
