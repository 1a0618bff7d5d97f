# SPDX-License-Identifier: Apache-2.0
"""The node against goals of all kinds: it follows, holds or refuses, and never breaks a limit.

Every test ends by checking every joint state that was published: finite, inside the limits, and
each a step from the one before that the velocity and acceleration limits allow.
"""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy')


from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion
from sensor_msgs.msg import JointState
from support.node_harness import URDF, check_states, is_still, load, reachable_goal, world
from support.panda_world import ACCELERATION, RATE, TIP, is_at, tip_of, until_at

DOWN = Quaternion(x=1.0, y=0.0, z=0.0, w=0.0)


def until_still(panda):
    """Wait for a joint state at rest."""
    panda.until(lambda: is_still(panda.more_states(1)[-1]), 'rest')


def test_goals_are_reached_one_after_another(panda, robot):
    for number in range(3):
        goal = reachable_goal(robot, TIP, number)
        panda.send_goal(goal)
        until_at(panda, robot, goal)
        panda.until_code('reached')
    assert float(panda.status[f'{TIP}.position_error [m]']) < 1e-4
    assert float(panda.status[f'{TIP}.orientation_error [rad]']) < 1e-3
    assert panda.status['refused'] == '0'


def test_the_topic_of_the_tip_works_like_that_of_the_first_tip(panda, robot):
    goal = reachable_goal(robot, TIP, 5)
    panda.send_goal(goal, topic=f'{TIP}/goal_pose')
    until_at(panda, robot, goal)


def test_all_joints_are_published_mimic_joints_too(panda, robot):
    message = panda.more_states(1)[0]
    assert list(message.name) == [*robot.joint_names, *robot.mimic_joints]
    assert 'panda_finger_joint2' in message.name
    assert len(message.velocity) == len(message.name)
    assert message.header.stamp.sec > 0


def test_an_empty_frame_is_the_base(panda, robot):
    for number, frame in enumerate(['', 'panda_link0', '/panda_link0']):
        goal = reachable_goal(robot, TIP, number)
        panda.send_goal(goal, frame=frame)
        until_at(panda, robot, goal)


def test_a_goal_in_the_frame_of_a_moving_link_is_transformed_once(panda, robot):
    start = tip_of(robot, panda.states[-1])
    forward = np.eye(4)
    forward[:3, 3] = (0.02, -0.03, 0.05)
    panda.send_goal(forward, frame=TIP)
    until_at(panda, robot, start @ forward)
    panda.until_code('reached')
    assert is_at(robot, panda.more_states()[-1], start @ forward), 'it went on with the link'


def test_a_point_keeps_the_orientation(panda, robot):
    start = tip_of(robot, panda.states[-1])
    goal = start.copy()
    goal[:3, 3] += (0.05, 0.1, -0.05)
    panda.send_point(goal[:3, 3])
    until_at(panda, robot, goal)


def test_a_point_in_the_frame_of_a_link(panda, robot):
    start = tip_of(robot, panda.states[-1])
    goal = start.copy()
    goal[:3, 3] += start[:3, :3] @ (0.0, 0.05, 0.0)
    panda.send_point((0.0, 0.05, 0.0), frame=TIP)
    until_at(panda, robot, goal)


def test_goal_poses_of_the_wrong_length_are_refused(panda, robot):
    goal = reachable_goal(robot, TIP, 7)
    panda.send_poses([goal, goal])
    panda.until_refused('wrong_length')
    panda.send_poses([goal])
    until_at(panda, robot, goal)


BAD_GOALS = {
    'nan': (Pose(position=Point(x=math.nan), orientation=DOWN), '', 'not_finite'),
    'infinite': (Pose(position=Point(y=math.inf), orientation=DOWN), '', 'not_finite'),
    'nan turn': (Pose(orientation=Quaternion(x=math.nan)), '', 'not_finite'),
    'zero quaternion': (
        Pose(position=Point(x=0.4), orientation=Quaternion(w=0.0)),
        '',
        'zero_quaternion',
    ),
    'unknown frame': (Pose(position=Point(x=0.4), orientation=DOWN), 'marsbase', 'unknown_frame'),
    'galaxy': (Pose(position=Point(z=1e30), orientation=DOWN), '', 'too_far'),
}


def test_bad_goals_are_refused_and_the_good_one_held(panda, robot):
    goal = reachable_goal(robot, TIP, 8)
    panda.send_goal(goal)
    until_at(panda, robot, goal)
    for sent, (pose, frame, reason) in enumerate(BAD_GOALS.values(), 1):
        panda.send_goal(pose, frame=frame)
        panda.until(lambda n=sent: panda.status.get('refused') == str(n), f'{reason} refused')
        assert int(panda.status[f'refused.{reason}']) > 0
        assert is_at(robot, panda.more_states(10)[-1], goal)


def test_bad_goals_do_not_stop_a_good_one_on_the_way(panda, robot):
    goal = reachable_goal(robot, TIP, 9)
    panda.send_goal(goal)
    panda.until_moving()  # only the last goal is kept
    for pose, frame, reason in BAD_GOALS.values():
        panda.send_goal(pose, frame=frame)
        panda.until_refused(reason)
    until_at(panda, robot, goal)


def test_an_unreachable_goal_ends_at_the_closest_point_and_says_so(panda, robot):
    panda.send_goal(Pose(position=Point(x=2.0, z=0.4), orientation=DOWN))
    panda.until_code('closest')
    until_still(panda)
    held = panda.more_states(100)
    assert np.ptp([list(m.position) for m in held], axis=0).max() < 1e-6
    tip = tip_of(robot, held[-1])
    assert tip[0, 3] > 0.6, 'stretched towards the goal'
    assert panda.status['text'].startswith('not reached')
    proof = 'out of reach for certain'
    panda.until(lambda: proof in panda.status.get('solver_note', ''), 'a proof')
    assert float(panda.status[f'{TIP}.position_error [m]']) == pytest.approx(
        np.linalg.norm(tip[:3, 3] - (2.0, 0.0, 0.4)), abs=1e-3
    )


def test_a_reachable_goal_after_an_unreachable_one(panda, robot):
    panda.send_goal(Pose(position=Point(x=-3.0, z=0.4), orientation=DOWN))
    panda.until_code('closest')
    goal = reachable_goal(robot, TIP, 10)
    panda.send_goal(goal)
    until_at(panda, robot, goal)


def test_a_goal_that_jumps_at_every_tick(panda, robot):
    goals = [reachable_goal(robot, TIP, number) for number in range(20)]
    for i in range(150):
        panda.send_goal(goals[i % len(goals)])
        panda.more_states(1)
    panda.send_goal(goals[0])
    until_at(panda, robot, goals[0])


def test_a_flood_of_goals_good_and_bad(panda, robot):
    good, bad = PoseStamped(), PoseStamped()
    good.pose = Pose(position=Point(x=0.4, z=0.4), orientation=DOWN)
    bad.pose = Pose(position=Point(x=math.nan), orientation=DOWN)
    publisher = panda.publisher(PoseStamped, 'goal_pose')
    before = len(panda.states)
    for _ in range(5000):
        publisher.publish(good)
        publisher.publish(bad)
    assert len(panda.states) > before, 'joint states go on during the flood'
    goal = reachable_goal(robot, TIP, 11)
    panda.send_goal(goal)
    until_at(panda, robot, goal)
    status = panda.status
    assert status['refused'] == status.get('refused.not_finite', '0')


STATES_OF_OTHERS = [
    JointState(name=['panda_joint1', 'panda_joint2'], position=[9.0]),
    JointState(name=['no_such_joint'], position=[1.0]),
    JointState(name=['panda_joint1', 'panda_joint1'], position=[1.0, 2.0]),
    JointState(name=['panda_joint1'], position=[math.nan]),
]


def test_joint_states_of_others_do_not_move_the_robot(panda, robot):
    goal = reachable_goal(robot, TIP, 12)
    panda.send_goal(goal)
    until_at(panda, robot, goal)
    rival = panda.node.create_publisher(JointState, 'joint_states', 100)
    hearing = panda.node.count_subscribers('joint_states')
    panda.until(lambda: rival.get_subscription_count() >= hearing, 'all who hear the rival')
    for message in 10 * STATES_OF_OTHERS:
        rival.publish(message)
    panda.inbox.until_taken_out('joint_states', lambda m: len(m.name) < 3, count=40)
    panda.node.destroy_publisher(rival)
    assert all(is_at(robot, state, goal) for state in panda.more_states(100))


def test_goals_time_out_where_asked_to(panda, robot):
    assert panda.set_parameters(goal_timeout=0.2).successful
    panda.send_goal(reachable_goal(robot, TIP, 13))
    panda.until_code('stale')
    until_still(panda)
    old = PoseStamped()
    old.header.stamp.sec = 1000
    old.pose = Pose(position=Point(x=0.4, z=0.4), orientation=DOWN)
    panda.publisher(PoseStamped, 'goal_pose').publish(old)
    panda.until_refused('stale')


def test_the_reported_counters(panda):
    panda.send_goal(Pose(position=Point(x=math.nan)))
    panda.until_refused('not_finite')
    panda.until(lambda: panda.diagnostics.get('refused.not_finite') == '1', '/diagnostics')
    assert panda.diagnostics['errors'] == '0'
    assert int(panda.diagnostics['ticks']) > 0
    assert panda.diagnostics['code'] == 'idle'


def test_two_tips_follow_goals_of_their_own():
    robot = load('dual_arm')
    tips = robot.tips()[:2]
    with world(
        urdf_path=str(URDF / 'dual_arm.urdf'),
        tip_links=tips,
        rate=RATE,
        joint_limits__default__velocity=2.0,
        joint_limits__default__acceleration=ACCELERATION,
    ) as arms:
        arms.more_states(1)
        q = robot.middle_configuration + 0.2
        goals = [robot.forward_kinematics(q, tip) for tip in tips]
        arms.send_poses(goals)
        arms.until_code('reached')
        q = np.array(arms.more_states(1)[-1].position)[: robot.n]
        for tip, goal in zip(tips, goals, strict=True):
            np.testing.assert_allclose(robot.forward_kinematics(q, tip), goal, atol=1e-3)
        for tip, number in zip(tips, (0.1, 0.15), strict=True):
            goal = robot.forward_kinematics(robot.middle_configuration + number, tip)
            arms.send_goal(goal, topic=f'{tip}/goal_pose')
            arms.until(
                lambda tip=tip, goal=goal: np.allclose(
                    robot.forward_kinematics(np.array(arms.states[-1].position)[: robot.n], tip)[
                        :3, 3
                    ],
                    goal[:3, 3],
                    atol=0.1,
                ),
                f'{tip} near its goal',
            )
        check_states(arms.states, robot, RATE, 2.0, ACCELERATION)
