"""Twist commands, RViz's planar goals and tools: what is asked of the node besides whole poses."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Point, Pose, Quaternion, TwistStamped
from support.node_harness import URDF, check_states, is_still, load, world

from ik_core.maths.rotations import matrix_from_rpy

RATE = 200.0
ACCELERATION = 20.0
TIP = 'panda_hand'
JOG = 'ik_node/delta_twist_cmds'


@pytest.fixture(scope='module')
def robot():
    return load('panda')


@pytest.fixture
def panda(robot):
    """A node that moves the Panda; afterwards all that it published is checked."""
    with panda_world() as it:
        yield it
        it.more_states(5)
        check_states(it.states, robot, RATE, acceleration=ACCELERATION)


def panda_world(**parameters):
    return world(
        urdf_path=str(URDF / 'panda.urdf'),
        tip_links=[TIP],
        rate=RATE,
        joint_limits__default__acceleration=ACCELERATION,
        **parameters,
    )


def tip_of(robot, message):
    return robot.forward_kinematics(np.array(message.position)[: robot.n], TIP)


def is_at(robot, message, goal):
    return np.allclose(tip_of(robot, message), goal, atol=1e-4)


def twist(linear=(0.0, 0.0, 0.0), angular=(0.0, 0.0, 0.0), frame=''):
    message = TwistStamped()
    message.header.frame_id = frame
    message.twist.linear.x, message.twist.linear.y, message.twist.linear.z = linear
    message.twist.angular.x, message.twist.angular.y, message.twist.angular.z = angular
    return message


def jog(node, message, condition, what):
    """Send a twist at 100 Hz or so until the condition holds."""
    publisher = node.publisher(TwistStamped, JOG)

    def sent_and_so():
        publisher.publish(message)
        node.more_states(1)
        return condition()

    node.until(sent_and_so, what)


def speeds(robot, messages):
    """Linear [m/s] and angular [rad/s] velocities of the tip in the root frame, by the joints."""
    q = np.array([list(m.position) for m in messages])[:, : robot.n]
    dq = np.array([list(m.velocity) for m in messages])[:, : robot.n]
    return np.array([robot.jacobian(a, TIP) @ b for a, b in zip(q, dq, strict=True)])


def top_speed(robot, node, message):
    """The velocity (6,) that a jog comes to, where it is fastest."""
    before = len(node.states)
    start = tip_of(robot, node.more_states(1)[-1])
    jog(node, message, lambda: moved(robot, node, start) > 0.03, 'motion')
    found = speeds(robot, node.states[before:])
    return found[np.argmax(np.abs(found).max(axis=1))], start


def moved(robot, node, start):
    """How far the tip is from `start` [m or rad]."""
    tip = tip_of(robot, node.states[-1])
    turn = np.linalg.norm(tip[:3, :3] - start[:3, :3]) / math.sqrt(2.0)
    return max(np.linalg.norm(tip[:3, 3] - start[:3, 3]), turn)


@pytest.mark.parametrize('frame', ['', 'panda_link0', TIP, 'panda_link4'])
def test_a_twist_moves_the_tip_along_the_axes_of_its_frame(panda, robot, frame):
    velocity, _ = top_speed(robot, panda, twist(linear=(0.0, 0.05, 0.0), frame=frame))
    q = np.array(panda.states[0].position)[: robot.n]
    axes = robot.forward_kinematics(q, frame or 'panda_link0')[:3, :3]
    np.testing.assert_allclose(velocity[:3], axes @ (0.0, 0.05, 0.0), atol=0.004)
    np.testing.assert_allclose(velocity[3:], 0.0, atol=0.02)
    panda.until(lambda: is_still(panda.more_states(1)[-1]), 'rest, once no twist comes')
    panda.until_code('idle')


def test_a_twist_turns_the_tip_about_its_origin(panda, robot):
    velocity, start = top_speed(robot, panda, twist(angular=(0.0, 0.0, 0.2), frame=TIP))
    np.testing.assert_allclose(velocity[3:], start[:3, 2] * 0.2, atol=0.02)
    tip = tip_of(robot, panda.states[-1])
    np.testing.assert_allclose(tip[:3, 3], start[:3, 3], atol=2e-3)


def test_unitless_twists_are_shares_of_the_scale(robot):
    scale = {'scale__linear': 0.1, 'scale__rotational': 0.3}
    with panda_world(command_in_type='unitless', **scale) as panda:
        panda.more_states(1)
        velocity, _ = top_speed(robot, panda, twist(linear=(0.0, 0.0, -0.5)))
        np.testing.assert_allclose(velocity[:3], (0.0, 0.0, -0.05), atol=0.004)
        panda.until(lambda: is_still(panda.more_states(1)[-1]), 'rest')
        panda.publisher(TwistStamped, JOG).publish(twist(linear=(0.0, 0.0, 1.5)))
        panda.until_refused('not_unitless')


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (twist(linear=(math.nan, 0.0, 0.0)), 'not_finite'),
        (twist(angular=(0.0, math.inf, 0.0)), 'not_finite'),
        (twist(linear=(0.1, 0.0, 0.0), frame='mars'), 'unknown_frame'),
    ],
)
def test_a_bad_twist_is_refused(panda, message, reason):
    panda.more_states(1)
    panda.publisher(TwistStamped, JOG).publish(message)
    panda.until_refused(reason)
    assert is_still(panda.more_states(5)[-1])


def test_a_goal_after_a_jog_and_a_jog_after_a_goal(panda, robot):
    start = tip_of(robot, panda.more_states(1)[0])
    jog(panda, twist(linear=(0.0, 0.0, -0.1)), lambda: moved(robot, panda, start) > 0.01, 'a jog')
    panda.send_goal(start)
    panda.until(lambda: is_at(robot, panda.states[-1], start), 'back at the start')
    panda.until_code('reached')
    jog(panda, twist(linear=(0.0, 0.0, -0.1)), lambda: moved(robot, panda, start) > 0.01, 'a jog')
    panda.until(lambda: is_still(panda.more_states(1)[-1]), 'rest')
    assert moved(robot, panda, start) > 0.01, 'it went back to the goal before'


def planar(x, y, yaw):
    """What RViz's 2D Goal Pose sends."""
    turn = Quaternion(z=math.sin(yaw / 2), w=math.cos(yaw / 2))
    return Pose(position=Point(x=x, y=y), orientation=turn)


def yaw_about_z(angle):
    return matrix_from_rpy((0.0, 0.0, angle))


KEPT = {
    'keep_z_roll_pitch': (True, True),
    'keep_z': (True, False),
    'keep_roll_pitch': (False, True),
    'as_sent': (False, False),
}


@pytest.mark.parametrize('choice', KEPT)
def test_what_a_planar_goal_keeps(robot, choice):
    """Seen where the node puts the goal: its marker, also where the goal is out of reach."""
    from visualization_msgs.msg import MarkerArray

    from ik_node.conversions import pose_to_transform

    with panda_world(planar_goals=choice) as panda:
        start = tip_of(robot, panda.more_states(1)[0])
        panda._listen(MarkerArray, 'ik_node/markers', 1)
        heading = math.atan2(start[1, 0], start[0, 0])
        panda.send_goal(planar(0.4, 0.2, heading + 0.3))

        def shown():
            markers = [m for a in panda.inbox['ik_node/markers'] for m in a.markers]
            return [m for m in markers if m.ns == 'goal_state' and m.action == m.ADD]

        panda.until(shown, 'a marker of the goal')
        goal = pose_to_transform(shown()[-1].pose)
        keeps_z, keeps_tilt = KEPT[choice]
        expected = [0.4, 0.2, start[2, 3] if keeps_z else 0.0]
        np.testing.assert_allclose(goal[:3, 3], expected, atol=1e-9)
        turn = yaw_about_z(0.3) @ start[:3, :3] if keeps_tilt else yaw_about_z(heading + 0.3)
        np.testing.assert_allclose(goal[:3, :3], turn, atol=1e-9)


def test_a_planar_goal_in_a_moving_frame_is_taken_as_it_is(panda, robot):
    start = tip_of(robot, panda.more_states(1)[0])
    panda.send_goal(planar(0.0, 0.04, 0.1), frame=TIP)
    offset = np.eye(4)
    offset[:3, :3], offset[1, 3] = yaw_about_z(0.1), 0.04
    panda.until(lambda: is_at(robot, panda.states[-1], start @ offset), 'the goal')


def test_goals_and_errors_are_for_the_tool(robot):
    tool = np.eye(4)
    tool[:3, :3] = matrix_from_rpy((0.1, -0.2, 0.3))
    tool[:3, 3] = (0.01, 0.02, 0.15)
    parameters = {
        f'tools__{TIP}__xyz': [0.01, 0.02, 0.15],
        f'tools__{TIP}__rpy': [0.1, -0.2, 0.3],
    }
    with panda_world(**parameters) as panda:
        q = np.array(panda.more_states(1)[0].position)[: robot.n]
        q[:7] += 0.1
        goal = robot.forward_kinematics(q, TIP) @ tool
        panda.send_goal(goal)
        panda.until_code('reached')
        there = tip_of(robot, panda.more_states(1)[-1])
        np.testing.assert_allclose(there @ tool, goal, atol=1e-4)
        # A longer tool, while it is there: the tip steps back.
        changed = {f'tools__{TIP}__xyz': [0.01, 0.02, 0.2]}
        assert panda.set_parameters(**changed).successful
        tool[2, 3] = 0.2
        panda.until(
            lambda: np.allclose(tip_of(robot, panda.states[-1]) @ tool, goal, atol=1e-4),
            'the longer tool at the goal',
        )
        # Turning about the tool moves the tip, not the tool.
        centre = (tip_of(robot, panda.more_states(1)[-1]) @ tool)[:3, 3]
        start = tip_of(robot, panda.states[-1])
        jog(
            panda,
            twist(angular=(0.3, 0.0, 0.0)),
            lambda: moved(robot, panda, start) > 0.05,
            'a turn',
        )
        tip = tip_of(robot, panda.states[-1])
        np.testing.assert_allclose((tip @ tool)[:3, 3], centre, atol=2e-3)
        assert np.linalg.norm(tip[:3, 3] - start[:3, 3]) > 0.005
        check_states(panda.states, robot, RATE, acceleration=ACCELERATION)


@pytest.mark.parametrize('wrong', [[1.0, 2.0], [1.0, 2.0, math.nan], 'up', [True, False, True]])
def test_a_tool_that_is_none_is_refused(wrong):
    with panda_world() as panda:
        panda.more_states(1)
        result = panda.set_parameters(**{f'tools__{TIP}__xyz': wrong})
        assert not result.successful
        assert 'three finite numbers' in result.reason
