"""Outputs for controllers, and starting from the measured state: joint_states of a robot."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from support.node_harness import URDF, load, reachable_goal, snapshot, world
from trajectory_msgs.msg import JointTrajectory

from ik_core import IkError
from ik_node.model import Model

RATE = 100.0
ACCELERATION = 20.0
TIP = 'panda_hand'
ARM = [f'panda_joint{i}' for i in range(1, 8)]
START = [0.1, -0.5, 0.2, -2.0, 0.1, 1.8, 0.6]


@pytest.fixture(scope='module')
def robot():
    return load('panda')


def controlled(output, **parameters):
    """A node whose commands go to a controller."""
    return world(
        **{
            'urdf_path': str(URDF / 'panda.urdf'),
            'tip_links': [TIP],
            'rate': RATE,
            'output': output,
            'state_timeout': 30.0,
            'joint_limits__default__acceleration': ACCELERATION,
        }
        | parameters
    )


class Arm:
    """A robot behind a controller: it is where it was told to be, and says so when told to.

    Refuses what ros2_control's JointTrajectoryController would refuse (its
    validate_trajectory_msg, with the defaults of its parameters).
    """

    def __init__(self, client, joints, q):
        self.client, self.joints, self.q = client, list(joints), list(q)
        self.refused, self.obeys = [], True
        node = client.node
        node.create_subscription(JointTrajectory, 'joint_trajectory', self._on_trajectory, 100)
        node.create_subscription(Float64MultiArray, 'commands', self._on_command, 100)
        self._publisher = client.publisher(JointState, 'joint_states', qos_profile_sensor_data)

    def _on_trajectory(self, message):
        (point,) = message.points
        good = (
            sorted(message.joint_names) == sorted(self.joints)
            and (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)
            and len(point.positions) == len(point.velocities) == len(message.joint_names)
            and not any(point.velocities)
            and not len(point.accelerations)
            and not len(point.effort)
            and point.time_from_start.sec * 10**9 + point.time_from_start.nanosec > 0
        )
        if not good:
            self.refused.append(message)
            return
        told = dict(zip(message.joint_names, point.positions, strict=True))
        self._take(message, [told[joint] for joint in self.joints])

    def _on_command(self, message):
        self._take(message, list(message.data))

    def _take(self, message, positions):
        if self.obeys:
            self.q = positions
        self.client.inbox.put('commanded', positions)
        self.client.inbox.put('command', message)

    def say(self, **joints):
        """Publish where it is, or what the joints are said to be."""
        told = joints or dict(zip(self.joints, self.q, strict=True))
        message = JointState(name=list(told), position=list(map(float, told.values())))
        self._publisher.publish(message)

    def until(self, condition, what):
        """Keep saying where it is until the condition holds."""

        def said_and_so():
            self.say()
            return condition()

        self.client.until(said_and_so, what)

    @property
    def commanded(self):
        """All positions that it was told to take."""
        return self.client.inbox['commanded']

    def start(self):
        """Say where it is until commands come."""
        self.until(lambda: self.commanded, 'commands')

    def rest(self, count=3):
        """Keep saying where it is for so many further commands; the last of them."""
        before = len(self.commanded)
        self.until(lambda: len(self.commanded) >= before + count, 'further commands')
        return self.commanded[-1]

    def call(self, kind, service, **request):
        """Call a service of the node, and insist."""
        answer = self.client.call(kind, f'ik_node/{service}', kind.Request(**request))
        assert answer.success, answer.message
        return answer


def whole(robot, positions):
    """The whole robot's q with the arm's joints at these positions."""
    q = robot.middle_configuration
    q[:7] = positions
    return q


def is_at(robot, positions, goal):
    tip = robot.forward_kinematics(whole(robot, positions), TIP)
    return np.allclose(tip, goal, atol=1e-4)


def check_steps(robot, commanded):
    """Inside the limits of position, velocity and acceleration, from command to command."""
    q = np.array(commanded)
    dq = np.diff(q, axis=0) * RATE
    assert (q >= robot.lower[:7] - 1e-9).all()
    assert (q <= robot.upper[:7] + 1e-9).all()
    assert (np.abs(dq) <= robot.velocity[:7] * (1 + 1e-6)).all()
    assert (np.abs(np.diff(dq, axis=0)) <= ACCELERATION / RATE * (1 + 1e-6) + 1e-9).all()


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
def test_it_starts_where_the_robot_is_and_takes_it_to_the_goal(robot, output):
    with controlled(output) as node:
        node.until_code('waiting_for_state')
        assert 'panda_joint7' in node.status['text']
        node.send_goal(reachable_goal(robot, TIP, 0))
        node.until_refused('waiting_for_state')
        arm = Arm(node, ARM, START)
        assert not arm.commanded
        arm.start()
        np.testing.assert_allclose(arm.commanded[0], START, atol=1e-12)
        goal = reachable_goal(robot, TIP, 1)
        node.send_goal(goal)
        arm.until(lambda: is_at(robot, arm.commanded[-1], goal), 'the arm at the goal')
        arm.until(lambda: node.status.get('code') == 'reached', 'reached')
        assert not arm.refused
        check_steps(robot, arm.commanded)


def test_partial_messages_are_put_together(robot):
    with controlled('joint_trajectory') as node:
        arm = Arm(node, ARM, START)
        for joint, position in list(zip(ARM, START, strict=True))[:-1]:
            node.until(lambda j=joint, p=position: arm.say(**{j: p}) or heard(node, j), joint)
        node.until(lambda: node.status.get('text', '').endswith(': panda_joint7'), 'the last one')
        assert not arm.commanded
        node.until(lambda: arm.say(panda_joint7=START[6], not_a_joint=3.0) or arm.commanded, 'go')
        np.testing.assert_allclose(arm.commanded[0], START, atol=1e-12)


def heard(node, joint):
    """Whether the node no longer waits for the joint."""
    return node.status.get('code') == 'waiting_for_state' and joint not in node.status['text']


@pytest.mark.parametrize(
    ('names', 'positions', 'reason'),
    [
        (ARM, START[:-1], 'ragged'),
        ([*ARM, ARM[0]], [*START, 1.0], 'duplicate_joint'),
        (ARM, [*START[:-1], math.nan], 'not_finite'),
    ],
)
def test_joint_states_that_can_not_be_right_are_refused(names, positions, reason):
    with controlled('position_command') as node:
        publisher = node.publisher(JointState, 'joint_states', qos_profile_sensor_data)
        bad = JointState(name=names, position=positions)
        key = f'refused.{reason}'
        node.until(lambda: publisher.publish(bad) or int(node.status.get(key, 0)) > 0, key)
        assert node.status['code'] == 'waiting_for_state'


def test_a_robot_that_somebody_moved_is_started_from_where_it_is(robot):
    moved = [*START[:3], START[3] + 0.3, *START[4:]]
    with controlled('position_command') as node:
        arm = Arm(node, ARM, START)
        arm.start()
        arm.obeys = False
        arm.q = [position + 0.01 for position in START]  # sags a little: nothing to follow
        np.testing.assert_allclose(arm.rest(80), START, atol=1e-12)
        arm.q = moved
        arm.until(lambda: np.allclose(arm.commanded[-1], moved), 'a command where it is')
        arm.obeys = True
        goal = reachable_goal(robot, TIP, 2)
        node.send_goal(goal)
        arm.until(lambda: is_at(robot, arm.commanded[-1], goal), 'the goal')


def test_the_measured_state_does_not_disturb_a_motion(robot):
    with controlled('position_command') as node:
        arm = Arm(node, ARM, START)
        arm.start()
        arm.obeys = False  # stuck; the command integrates itself all the same
        goal = reachable_goal(robot, TIP, 3)
        node.send_goal(goal)
        arm.until(lambda: is_at(robot, arm.commanded[-1], goal), 'the goal')
        assert is_at(robot, arm.rest(80), goal)
        check_steps(robot, arm.commanded)


def test_without_joint_states_it_stops_and_goes_on_from_them(robot):
    with controlled('position_command', state_timeout=0.3) as node:
        arm = Arm(node, ARM, START)
        arm.start()
        node.send_goal(reachable_goal(robot, TIP, 4))
        node.until_code('state_lost')  # nobody says where the robot is
        node.until(lambda: arm.commanded[-1] == arm.commanded[-3], 'rest')
        node.send_goal(reachable_goal(robot, TIP, 5))
        node.until_refused('state_lost')
        check_steps(robot, arm.commanded)
        arm.until(lambda: node.status.get('code') == 'idle', 'the state is back')
        goal = reachable_goal(robot, TIP, 6)
        node.send_goal(goal)
        arm.until(lambda: is_at(robot, arm.commanded[-1], goal), 'the goal')


def test_reset_drops_the_goal_and_takes_the_measured_state(robot):
    with controlled('position_command') as node:
        arm = Arm(node, ARM, START)
        arm.start()
        goal = reachable_goal(robot, TIP, 7)
        node.send_goal(goal)
        arm.until(lambda: is_at(robot, arm.commanded[-1], goal), 'the goal')
        arm.obeys, arm.q = False, [position + 0.005 for position in arm.q]
        arm.call(Trigger, 'reset')
        arm.until(lambda: np.allclose(arm.commanded[-1], arm.q, atol=1e-12), 'where it is')
        arm.until(lambda: node.status.get('code') == 'idle', 'idle')


def test_a_robot_that_was_moved_in_a_pause_goes_on_from_there(robot):
    with controlled('position_command') as node:
        arm = Arm(node, ARM, START)
        arm.start()
        goal = reachable_goal(robot, TIP, 8)
        node.send_goal(goal)
        arm.until(lambda: is_at(robot, arm.commanded[-1], goal), 'the goal')
        arm.call(SetBool, 'pause', data=True)
        arm.until(lambda: node.status.get('code') == 'paused', 'paused')
        held = arm.rest()
        arm.obeys = False
        arm.q = [position + 0.2 for position in START]
        np.testing.assert_allclose(arm.rest(80), held, atol=1e-12)
        arm.obeys, before = True, len(arm.commanded)
        arm.call(SetBool, 'pause', data=False)
        arm.until(lambda: len(arm.commanded) > before + 10, 'commands')
        jump = next(q for q in arm.commanded[before:] if not np.allclose(q, held, atol=1e-3))
        np.testing.assert_allclose(jump, [position + 0.2 for position in START], atol=0.05)
        arm.until(lambda: is_at(robot, arm.commanded[-1], goal), 'the goal again')


def test_a_robot_outside_its_limits_is_brought_back_slowly(robot):
    outside = [*START[:3], robot.upper[3] + 0.05, *START[4:]]
    with controlled('position_command') as node:
        arm = Arm(node, ARM, outside)
        arm.start()
        np.testing.assert_allclose(arm.commanded[0], outside, atol=ACCELERATION / RATE**2)
        arm.until(lambda: arm.commanded[-1][3] <= robot.upper[3] + 1e-9, 'inside')
        angle = np.array(arm.commanded)[:, 3]
        assert (np.diff(angle) <= 1e-12).all(), 'it went farther out'
        assert np.abs(np.diff(angle)).max() * RATE <= robot.velocity[3] * (1 + 1e-6)


def test_command_joints_say_what_is_published_and_in_which_order(robot):
    joints = [*reversed(ARM), 'panda_finger_joint2']
    with controlled('joint_trajectory', command_joints=joints, time_from_start=0.05) as node:
        arm = Arm(node, joints, [*reversed(START), 0.02])
        fingers = dict(zip(ARM, START, strict=True)) | {'panda_finger_joint1': 0.02}
        node.until(lambda: arm.say(**fingers) or arm.commanded, 'commands')
        assert not arm.refused
        message = node.inbox['command'][0]
        assert list(message.joint_names) == joints
        np.testing.assert_allclose(arm.commanded[0], [*reversed(START), 0.02], atol=1e-12)
        assert message.points[0].time_from_start.nanosec == 50_000_000


def test_only_the_joints_that_goals_move_are_commanded_and_frozen_ones_stay(robot):
    with controlled('joint_trajectory', frozen_joints=['panda_joint3']) as node:
        joints = [joint for joint in ARM if joint != 'panda_joint3']
        arm = Arm(node, joints, [START[ARM.index(joint)] for joint in joints])
        every = dict(zip(ARM, START, strict=True))
        node.until(lambda: arm.say(**every) or arm.commanded, 'commands')
        assert not arm.refused
        q = whole(robot, START)
        q[[0, 1, 3]] += 0.2
        goal = robot.forward_kinematics(q, TIP)
        node.send_goal(goal)

        def at_goal():
            arm.say(**every)
            told = dict(every, **dict(zip(joints, arm.commanded[-1], strict=True)))
            return is_at(robot, [told[joint] for joint in ARM], goal)

        node.until(at_goal, 'the goal, with joint 3 where it was')


def test_frozen_joints_are_published_with_joint_states_and_do_not_move(robot):
    with controlled('joint_state', frozen_joints=['panda_joint1', 'panda_joint3']) as node:
        start = np.array(node.more_states(1)[0].position[: robot.n])
        q = start.copy()
        q[[1, 3, 4]] += 0.3
        node.send_goal(robot.forward_kinematics(q, TIP))
        node.until_code('reached')
        end = np.array(node.more_states(1)[-1].position[: robot.n])
        np.testing.assert_array_equal(end[[0, 2]], start[[0, 2]])
        assert np.abs(end[[1, 3]] - start[[1, 3]]).min() > 0.1


def test_joint_states_of_some_joints_only():
    with controlled('joint_state', command_joints=['panda_finger_joint2', *ARM]) as node:
        assert list(node.more_states(1)[0].name) == ['panda_finger_joint2', *ARM]


@pytest.mark.parametrize(
    ('parameters', 'said'),
    [
        ({'command_joints': ['panda_jiont1']}, 'panda_joint1'),
        ({'command_joints': ['panda_joint1', 'panda_joint1']}, 'more than once'),
        ({'frozen_joints': ['panda_jiont1']}, 'panda_joint1'),
        ({'frozen_joints': ARM}, 'panda_hand'),
    ],
)
def test_joints_that_can_not_be_meant_are_refused(parameters, said):
    with pytest.raises(IkError, match=said):
        Model(load('panda'), snapshot(tip_links=(TIP,), **parameters))
