# SPDX-License-Identifier: Apache-2.0
"""Goals with stamps: a frame that moves counts as it was then, and other stamps do not matter."""

import threading
import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PointStamped, PoseArray, PoseStamped, TwistStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from support.hand_camera import check, stamped, watch
from support.node_harness import reachable_goal
from support.panda_world import TIP, is_at, panda_world, tip_of, until_at

from ik_node.conversions import stamp_of, transform_to_pose

pytestmark = pytest.mark.long
LATENCIES = (0.1, 0.2, 0.3)
ARM = [f'panda_joint{i}' for i in range(1, 8)]
START = dict(zip(ARM, (0.1, -0.5, 0.2, -2.0, 0.1, 1.8, 0.6), strict=True))
THERE = {
    'panda_joint1': 0.9,
    'panda_joint2': -0.3,
    'panda_joint4': -1.5,
    'panda_joint6': 1.4,
    'panda_joint7': -0.5,
}


def now(node):
    """The time that stamps are of [ns]."""
    return node.node.get_clock().now().nanoseconds


def at(x, y, z):
    transform = np.eye(4)
    transform[:3, 3] = x, y, z
    return transform


def beside(pose):
    """Return the pose of the camera's object: 0.27 m away, with the same orientation."""
    target = pose.copy()
    target[:3, 3] += [0.1, -0.2, 0.15]
    return target


def move(node, positions=THERE):
    """Move the arm; the states on the way."""
    before = len(node.states)
    goal = JointState(name=list(positions), position=list(positions.values()))
    node.publisher(JointState, 'joint_goal', 10).publish(goal)

    def there():
        state = node.states[-1]
        measured = dict(zip(state.name, state.position, strict=True))
        return all(measured[joint] == value for joint, value in positions.items())

    node.until(there, 'the joint goal')
    node.until_code('reached')
    states = node.more_states(3)
    return [*node.states[before:], *states]


def fastest(states):
    """The state in the middle of a motion."""
    return max(states, key=lambda state: np.abs(state.velocity).max())


# --- a camera on the hand ----------------------------------------------------------------------


@pytest.mark.parametrize('latency', LATENCIES)
def test_the_eye_in_the_hand_arrives_whatever_its_latency(panda, robot, latency):
    target = beside(tip_of(robot, move(panda, START)[-1]))
    check(watch(panda, robot, target, latency))


def test_the_eye_in_the_hand_arrives_along_lines(panda, robot):
    target = beside(tip_of(robot, move(panda, START)[-1]))
    assert panda.set_parameters(move='linear').successful
    check(watch(panda, robot, target, 0.2))


class Driver:
    """Drives to `commands` with a lag, in a thread of its own, and publishes joint_states."""

    def __init__(self, node, robot, q, lag=0.05):
        self.q, self._command, self._lag = np.array(q), None, lag
        self._robot, self._ending = robot, threading.Event()
        node.node.create_subscription(Float64MultiArray, 'commands', self._take, 10)
        self._publisher = node.node.create_publisher(JointState, 'joint_states', 10)
        self._clock = node.node.get_clock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _take(self, message):
        self._command = np.array(message.data)

    def _run(self):
        last = time.monotonic()
        while not self._ending.wait(0.01):
            last, seconds = time.monotonic(), time.monotonic() - last
            if self._command is not None:
                share = min(seconds / self._lag, 1.0)
                self.q[:7] += share * (self._command - self.q[:7])
            self._publisher.publish(self._state(range(7)))
            self._publisher.publish(self._state(range(7, self._robot.n)))  # the hand's driver

    def _state(self, joints):
        message = JointState(name=[self._robot.joint_names[i] for i in joints])
        message.header.stamp = self._clock.now().to_msg()
        message.position = [float(self.q[i]) for i in joints]
        return message

    def close(self):
        self._ending.set()
        self._thread.join()


class ArmStates:
    """A node, of whose states those of the hand's own driver are left out."""

    def __init__(self, node, robot, q):
        self._node, self._rest = node, q[7:]
        self.publisher, self.until = node.publisher, node.until

    @property
    def states(self):
        return [
            SimpleNamespace(header=s.header, position=[*s.position, *self._rest])
            for s in self._node.states
            if len(s.position) == 7
        ]


@pytest.mark.parametrize('latency', LATENCIES)
def test_the_eye_in_the_hand_sees_where_the_robot_was_not_its_command(robot, latency):
    q = robot.middle_configuration
    q[:7] = list(START.values())
    parameters = {'output': 'position_command', 'joint_limits__default__following_error': 0.5}
    with panda_world(rate=100.0, **parameters) as node:
        driver = Driver(node, robot, q)
        try:
            node.until_code('idle')
            arm = ArmStates(node, robot, q)
            check(watch(arm, robot, beside(robot.forward_kinematics(q, TIP)), latency))
        finally:
            driver.close()


def test_a_goal_is_where_the_link_was_measured_not_commanded(robot):
    q = robot.middle_configuration
    q[:7] = list(START.values())
    parameters = {'output': 'position_command', 'joint_limits__default__following_error': 0.5}
    with panda_world(rate=100.0, **parameters) as node:
        driver = Driver(node, robot, q, lag=0.1)
        try:
            node.until_code('idle')
            arm = ArmStates(node, robot, q)
            goal = JointState(name=list(THERE), position=list(THERE.values()))
            node.publisher(JointState, 'joint_goal', 10).publish(goal)
            node.until(lambda: node.status.get('code') == 'reached', 'the joint goal')
            states = arm.states
            ways = [np.ptp([a.position, b.position], axis=0).max() for a, b in pairwise(states)]
            then = states[int(np.argmax(ways))]
            send_pose(node, at(0.03, -0.02, 0.01), stamp_of(then))
            goal = tip_of(robot, then) @ at(0.03, -0.02, 0.01)

            def there():
                apart = tip_of(robot, arm.states[-1]) - goal
                return np.abs(apart).max() < 1e-3

            node.until(there, 'the goal')
            assert max(ways) > 0.003, 'it moved, so its command was elsewhere'
        finally:
            driver.close()


# --- all kinds of goals ------------------------------------------------------------------------


def send_pose(node, pose, stamp, topic='goal_pose'):
    node.publisher(PoseStamped, topic).publish(stamped(pose, TIP, stamp))


def send_pose_of_tip(node, pose, stamp):
    send_pose(node, pose, stamp, f'{TIP}/goal_pose')


def send_poses(node, pose, stamp):
    message = PoseArray(header=stamped(pose, TIP, stamp).header, poses=[transform_to_pose(pose)])
    node.publisher(PoseArray, 'goal_poses').publish(message)


SENDERS = (send_pose, send_pose_of_tip, send_poses)


@pytest.mark.parametrize('way', ['joint', 'linear'])
@pytest.mark.parametrize('send', SENDERS, ids=lambda send: send.__name__[5:])
def test_a_goal_is_where_the_link_was_at_its_stamp(panda, robot, send, way):
    assert panda.set_parameters(move=way).successful
    then = fastest(move(panda))
    send(panda, at(0.03, -0.02, 0.01), stamp_of(then))
    until_at(panda, robot, tip_of(robot, then) @ at(0.03, -0.02, 0.01))


def test_a_point_is_where_the_link_was_at_its_stamp(panda, robot):
    then = fastest(move(panda))
    goal = tip_of(robot, panda.states[-1])
    point = PointStamped(header=stamped(goal, TIP, stamp_of(then)).header)
    point.point.z = 0.02
    panda.publisher(PointStamped, 'clicked_point').publish(point)
    goal[:3, 3] = (tip_of(robot, then) @ at(0.0, 0.0, 0.02))[:3, 3]
    until_at(panda, robot, goal)


def test_a_planar_goal_is_where_the_link_was_at_its_stamp(panda, robot):
    assert panda.set_parameters(planar_goals='as_sent').successful
    then = fastest(move(panda))
    send_pose(panda, at(0.02, 0.03, 0.0), stamp_of(then), 'goal_pose_2d')
    until_at(panda, robot, tip_of(robot, then) @ at(0.02, 0.03, 0.0))


def test_between_two_states_the_link_was_between_them(panda, robot):
    states = move(panda)
    k = states.index(fastest(states))
    first, second = states[k : k + 2]
    middle = robot.forward_kinematics(
        0.5 * (np.array(first.position) + np.array(second.position))[: robot.n], TIP
    )
    send_pose(panda, np.eye(4), (stamp_of(first) + stamp_of(second)) // 2)
    until_at(panda, robot, middle)


def test_a_drag_of_a_marker_may_have_a_stamp(panda, robot):
    """The test calls what the marker server calls, since not every system has the package."""
    then = fastest(move(panda))
    goals, gate = panda.ik_node._goals, panda.ik_node._gate
    with gate.lock:
        drag = stamped(np.eye(4), TIP, stamp_of(then))
        assert goals.receive('markers', lambda m: goals.on_pose(0, m), 0, drag)
    until_at(panda, robot, tip_of(robot, then))
    with gate.lock:
        drag = stamped(np.eye(4), TIP, now(panda) + 200_000_000)
        assert not goals.receive('markers', lambda m: goals.on_pose(0, m), 0, drag)
    panda.until(lambda: not goals._waiting._arrivals, 'its turn')
    assert 'refused.stamp_too_new' not in panda.status


def test_a_twist_takes_the_frame_of_now(panda, robot):
    then = fastest(move(panda))
    start = tip_of(robot, panda.more_states(2)[-1])
    assert np.linalg.norm(start[:3, 0] - tip_of(robot, then)[:3, 0]) > 0.1
    twist = TwistStamped(header=stamped(start, TIP, stamp_of(then)).header)
    twist.twist.linear.x = 0.05
    publisher = panda.publisher(TwistStamped, 'ik_node/delta_twist_cmds')

    def gone():
        publisher.publish(twist)
        way = tip_of(robot, panda.states[-1])[:3, 3] - start[:3, 3]
        return way if np.linalg.norm(way) > 0.02 else None

    way = panda.until(lambda: (w := gone()) is not None and w.tolist(), 'a jog')
    np.testing.assert_allclose(way / np.linalg.norm(way), start[:3, 0], atol=0.02)


@pytest.mark.parametrize('frame', ['', 'panda_link0'])
def test_in_the_base_frame_no_stamp_matters(panda, robot, frame):
    for number, stamp in enumerate((1, now(panda) - 3600 * 10**9, now(panda) + 3600 * 10**9)):
        goal = reachable_goal(robot, TIP, number)
        panda.publisher(PoseStamped, 'goal_pose').publish(stamped(goal, frame, stamp))
        until_at(panda, robot, goal)
    assert panda.status['refused'] == '0'


def test_a_stamp_of_zero_is_now(panda, robot):
    move(panda)
    start = tip_of(robot, panda.more_states(2)[-1])
    send_pose(panda, at(0.03, 0.0, 0.0), 0)
    until_at(panda, robot, start @ at(0.03, 0.0, 0.0))


# --- too early and too late --------------------------------------------------------------------


def test_a_stamp_before_the_history_is_refused_with_its_age(panda, robot):
    held = reachable_goal(robot, TIP, 1)
    panda.send_goal(held)
    until_at(panda, robot, held)
    for count, age in enumerate((60, 3600, 100_000_000), start=1):
        send_pose(panda, at(0.1, 0.0, 0.0), now(panda) - age * 10**9)
        panda.until_refused('stamp_too_old', count)
    assert is_at(robot, panda.more_states(3)[-1], held)


def test_a_stamp_that_is_still_to_come_is_waited_for(panda, robot):
    start = tip_of(robot, panda.more_states(2)[-1])
    send_pose(panda, at(0.02, 0.01, 0.0), now(panda) + 200_000_000)
    until_at(panda, robot, start @ at(0.02, 0.01, 0.0))
    assert panda.status['refused'] == '0'


def test_a_stamp_that_does_not_come_is_refused_after_the_patience(panda, robot):
    held = tip_of(robot, panda.more_states(2)[-1])
    begin = time.monotonic()
    send_pose(panda, at(0.02, 0.01, 0.0), now(panda) + 3600 * 10**9)
    panda.until_refused('stamp_too_new')
    assert time.monotonic() - begin > 0.5
    assert is_at(robot, panda.more_states(3)[-1], held)


def test_the_patience_is_a_parameter():
    with panda_world(frame_patience=0.0) as node:
        node.more_states(2)
        send_pose(node, at(0.02, 0.01, 0.0), now(node) + 400_000_000)
        node.until_refused('stamp_too_new')
        assert not node.set_parameters(frame_patience=1.0).successful


@pytest.mark.parametrize('newer', ['pose', 'joints', 'twist'])
def test_a_goal_that_waits_is_dropped_by_a_newer_one(panda, robot, newer):
    start = tip_of(robot, panda.more_states(2)[-1])
    publisher = panda.publisher(PoseStamped, 'goal_pose')
    twists = panda.publisher(TwistStamped, 'ik_node/delta_twist_cmds')
    goals = panda.ik_node._goals
    publisher.publish(stamped(at(0.1, 0.1, 0.1), TIP, now(panda) + 450_000_000))
    panda.until(lambda: goals._waiting._arrivals, 'a goal that waits')
    if newer == 'pose':
        panda.send_goal(start)
    elif newer == 'twist':
        twists.publish(TwistStamped())
    else:
        state = panda.states[-1]
        message = JointState(name=state.name, position=state.position)  # as it is
        panda.publisher(JointState, 'joint_goal', 10).publish(message)
    panda.until(lambda: not goals._waiting._arrivals, 'nothing that waits')
    stamp = now(panda)
    panda.until(lambda: now(panda) > stamp + 600_000_000, 'the end of its patience')
    assert is_at(robot, panda.more_states(2)[-1], start, metres=1e-4, radians=1e-3)
    assert panda.status['refused'] == '0'


def test_goals_that_come_faster_than_what_they_wait_for_are_followed(panda, robot):
    """Each is 0.2 s ahead of the clock, and the next one comes before its turn."""
    start = tip_of(robot, panda.more_states(2)[-1])
    goal = start @ at(0.05, 0.0, 0.02)
    publisher = panda.publisher(PoseStamped, 'goal_pose')

    def followed():
        seen = np.linalg.inv(tip_of(robot, panda.states[-1])) @ goal
        publisher.publish(stamped(seen, TIP, now(panda) + 200_000_000))
        return np.linalg.norm(tip_of(robot, panda.states[-1])[:3, 3] - start[:3, 3]) > 0.02

    panda.until(followed, 'motion')
    assert panda.status['refused'] == '0'
