# SPDX-License-Identifier: Apache-2.0
"""`RosArm` while nodes come and go, are not active, or move another robot."""

import signal

import numpy as np
import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from support.node_harness import (
    PATIENCE,
    URDF,
    Client,
    load,
    node_process,
    reachable_goal,
    unique_namespace,
)
from support.panda_world import TIP, panda_world, text_of, topic_world
from support.watched_arm import watched

from ik_viewer.arm import GoalKind

pytestmark = pytest.mark.long
ARGUMENTS = ('-p', f'urdf_path:={URDF / "panda.urdf"}', '-p', f'tip_links:={TIP}')


@pytest.fixture
def client():
    it = Client(unique_namespace())
    yield it
    it.close()


def follow(watch, seed):
    """Send a goal, and wait until the tip is there."""
    goal = reachable_goal(load('panda'), TIP, seed)
    watch.arm.set_goal(0, goal, GoalKind.POSE)
    robot = watch.arm.description.robot
    watch.until(
        lambda: (
            watch.moment
            and np.allclose(robot.forward_kinematics(watch.moment.q, TIP), goal, atol=1e-4)
        ),
        'the goal',
    )


def test_a_node_that_comes_goes_and_comes_again(client):
    with watched(client) as watch:
        assert watch.moment is None
        assert watch.arm.description is None
        watch.until_notice('not available; waiting for it', client.namespace)
        with node_process(client.namespace, *ARGUMENTS, '-p', 'rest_rate:=0.5') as process:
            watch.until_there()
            description = watch.arm.description
            watch.until_value('rest_rate', 0.5)
            follow(watch, 1)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0
        watch.until(lambda: watch.moment is None, 'nothing known')
        watch.until_notice('no longer available')
        watch.arm.set_settings({'rest_rate': 1.0})
        watch.until_notice('not available')
        with node_process(client.namespace, *ARGUMENTS, '-p', 'rest_rate:=0.75') as process:
            watch.until_there()
            watch.until_value('rest_rate', 0.75)
            assert watch.arm.description is description, 'the same robot'
            follow(watch, 2)
            process.kill()
        with node_process(client.namespace, *ARGUMENTS, '-p', 'rest_rate:=0.25'):
            watch.until_value('rest_rate', 0.25)
            watch.until_there()
            follow(watch, 3)


def test_a_node_that_was_killed_is_noticed_by_its_silence(client):
    with watched(client) as watch:
        with node_process(client.namespace, *ARGUMENTS) as process:
            watch.until_there()
            process.kill()
        watch.until(lambda: watch.moment is None, 'nothing known')


def test_another_robot_and_none():
    with topic_world(tip_links=['']) as node, watched(node) as watch:
        watch.until_notice('waiting for a robot')
        assert watch.moment is None
        node.send_description(text_of('panda'))
        watch.until_there()
        panda, moment = watch.arm.description, watch.moment
        assert len(moment.q) == panda.robot.n
        assert [tip.link for tip in moment.tips] == [panda.robot.default_tip()]
        node.send_description(text_of('ur5e'))
        watch.until(lambda: watch.arm.description is not panda, 'another robot')
        watch.until(lambda: watch.moment and len(watch.moment.q) == 6, 'its moment')
        ur5e = watch.arm.description
        tip = ur5e.robot.default_tip()
        watch.until(lambda: f'goal_kind.{tip}' in watch.arm.settings, 'its settings')
        goal = reachable_goal(ur5e.robot, tip, 2)
        watch.arm.set_goal(0, goal, GoalKind.POSITION)
        watch.until(
            lambda: np.allclose(
                ur5e.robot.forward_kinematics(watch.moment.q, tip)[:3, 3], goal[:3, 3], atol=2e-5
            ),
            'the goal',
        )


def test_a_node_that_is_not_active_says_so_and_goes_on_later():
    with topic_world(autostart=False) as node, watched(node) as watch:
        watch.until_notice('not configured')
        assert watch.moment is None
        assert node.transition(Transition.TRANSITION_CONFIGURE)
        node.send_description(text_of('panda'))
        watch.until(lambda: watch.moment and watch.moment.code == 'inactive', 'its state')
        assert node.transition(Transition.TRANSITION_ACTIVATE)
        watch.until(lambda: watch.moment.code == 'idle', 'activity')
        follow(watch, 4)
        assert node.transition(Transition.TRANSITION_DEACTIVATE)
        watch.until(lambda: watch.moment.code == 'inactive', 'its state')
        watch.until(lambda: watch.tips[0].goal is None, 'no goal, told by another topic')


def test_a_description_that_is_no_robot_is_told_and_opens_nothing():
    from std_msgs.msg import String
    from support.node_harness import LATCHED

    client = Client(unique_namespace())
    try:
        with watched(client) as watch:
            topic = 'ik_node/robot_description'
            client.publisher(String, topic, LATCHED).publish(String(data='panda'))
            watch.until_notice('robot_description', 'not XML')
            broken = '<robot name="broken"><link name="a"/><joint name="j"/></robot>'
            client.publisher(String, topic, LATCHED).publish(String(data=broken))
            watch.until_notice('robot_description', "'j'")
            assert watch.arm.description is None
    finally:
        client.close()


def test_measured_joints_are_shown_whoever_measures_them():
    """Behind a controller joint_states come from drivers, which may each know some joints."""
    from sensor_msgs.msg import JointState

    robot = load('ur5e')
    parameters = {'output': 'position_command', 'urdf_path': str(URDF / 'ur5e.urdf')}
    with panda_world(tip_links=[''], **parameters) as node, watched(node) as watch:
        drivers = node.publisher(JointState, 'joint_states', 10)
        q = robot.middle_configuration + 0.1

        def measured():
            for part in (slice(0, 2), slice(2, 6)):
                stamp = node.node.get_clock().now().to_msg()
                message = JointState(name=robot.joint_names[part], position=q[part].tolist())
                message.header.stamp = stamp
                drivers.publish(message)
            return watch.moment and np.allclose(watch.moment.q, q)

        watch.until(measured, 'the measured joints')


def test_each_of_two_tips_is_told_and_moved_by_itself_and_seen_in_two_places():
    tips = ['left_palm', 'right_palm']
    parameters = {'urdf_path': str(URDF / 'dual_arm.urdf'), 'tip_links': tips}
    with panda_world(**parameters) as node, watched(node) as watch, watched(node) as other:
        watch.until_there()
        robot = watch.arm.description.robot
        goal = reachable_goal(robot, tips[1], 3)
        watch.arm.set_goal(1, goal, GoalKind.AXIS)
        for each in (watch, other):
            each.until(lambda each=each: each.tips and each.tips[1].goal is not None, 'the goal')
            assert [tip.link for tip in each.tips] == tips
            assert each.tips[0].goal is None
            np.testing.assert_allclose(each.tips[1].goal, goal, atol=1e-9)
            each.until(lambda each=each: each.tips[1].kind is GoalKind.AXIS, 'its kind')
            assert each.tips[0].kind is GoalKind.POSE
        watch.until(lambda: watch.moment.code == 'reached', 'the goal')
        before = robot.forward_kinematics(watch.moment.q, tips[1])

        def lifted():
            watch.arm.set_twist(1, np.array([0.0, 0.0, 0.1]), np.zeros(3))
            node.more_states(2)
            tip = robot.forward_kinematics(other.moment.q, tips[1])
            return tip[2, 3] - before[2, 3] > 0.02

        watch.until(lifted, 'the second tip to go up')
