# SPDX-License-Identifier: Apache-2.0
"""Hands move tips: without a jump at engaging, within limits, to a stop when samples end."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from support.hands import CLOCK, RATE, SAMPLES, STARTS, WIRE, Arm, pose, waving
from support.streams import robot_named

import ik_core as ik
from ik_core.maths.rotations import pose_error
from ik_core.teleop import HandOptions, HandState, Teleop
from ik_core.teleop.clutch import LEASH
from ik_core.teleop.hand_stream import LOST
from ik_core.teleop.teleop import MOVED
from ik_core.tracking import TrackStatus

LATENCY = 0.03
PERIOD = 1 / RATE


def still(time):
    return pose()


def along_x(time):
    return pose(0.05 * time)


def shown(hand, now):
    """Where the hand was that is played in a step at `now`."""
    return hand(now - WIRE - LATENCY)


# Following


@pytest.mark.parametrize('name', ['panda', 'so101_like'])
def test_a_tip_follows_its_hand_with_a_constant_delay(name):
    arm = Arm(name)
    arm.run(1.0, waving, engaged=False)
    arm.run(0.5, waving)
    hand, tip = shown(waving, arm.now - PERIOD), arm.tip()
    for _ in range(40):
        arm.run(0.05, waving)
        way = (shown(waving, arm.now - PERIOD) - hand)[:3, 3]
        assert np.linalg.norm((arm.tip() - tip)[:3, 3] - way) < 1.5e-3
    if name == 'panda':
        turn = shown(waving, arm.now - PERIOD)[:3, :3] @ hand[:3, :3].T
        expected = np.eye(4)
        expected[:3, :3] = turn @ tip[:3, :3]
        expected[:3, 3] = arm.tip()[:3, 3]
        assert pose_error(arm.tip(), expected)[1] < 0.01


def test_five_joints_follow_the_position_first():
    """A hand that also turns about the vertical, which the arm can't at one place.

    There it can pitch and roll: the best of these is found by trying.
    """
    arm = Arm('so101_like')
    arm.run(0.2, still, engaged=False)
    start = arm.tip()

    def turning(time):
        turned = max(time - 0.2, 0.0)
        return pose(rpy=(0.0, 0.2 * math.sin(turned), 0.7 * math.sin(0.7 * turned)))

    angles = np.arange(-1.0, 1.0, 0.02)
    for _ in range(12):
        arm.run(0.3, turning)
        tip, goal = arm.tip(), shown(turning, arm.now - PERIOD) @ start
        assert np.linalg.norm((tip - start)[:3, 3]) < 2e-3
        best = min(
            pose_error(pose(rpy=(0.0, pitch, 0.0)) @ start @ pose(rpy=(roll, 0.0, 0.0)), goal)[1]
            for pitch in angles
            for roll in angles[::4]
        )
        assert pose_error(tip, goal)[1] < best + 0.03


def test_a_burst_of_samples_neither_freezes_nor_jerks_the_tip():
    arm, burst = Arm('panda', latency=0.16), 0.14
    sent, steps = 0, []
    while arm.now < 3.0:
        while (math.floor(sent / SAMPLES / burst) + 1) * burst <= arm.now:
            time = sent / SAMPLES
            arm.teleop.push(along_x(time), CLOCK + time, time > 0.5, received=arm.now)
            sent += 1
        before = arm.tip()
        arm.tick()
        if arm.now > 1.5:
            steps.append(np.linalg.norm((arm.tip() - before)[:3, 3]))
    assert min(steps) > 0.9 * 0.05 * PERIOD
    assert max(steps) < 1.1 * 0.05 * PERIOD


# Engaging


def test_nothing_moves_at_engaging():
    arm = Arm('panda')
    arm.run(0.3, waving, engaged=False)
    for _ in range(10):
        held = arm.q
        arm.until_following(waving)
        assert (arm.q == held).all()
        arm.run(0.3, waving)
        assert (arm.q != held).any()
        arm.run(0.3, waving, engaged=False)
        assert arm.state is HandState.RELEASED
        assert arm.teleop.tracker.at_rest


@pytest.mark.parametrize('jerk', [np.inf, 200.0])
def test_a_joint_measured_beyond_its_limit_comes_back_from_rest_within_the_limits(jerk):
    """-103 of -100 degrees. Every step is checked by the harness."""
    q = np.array(STARTS['so101_like'])
    q[1:3] = math.radians(-103.0), 1.2
    arm = Arm('so101_like', q=q, jerk=jerk)
    arm.run(0.5, still, engaged=False)
    assert (arm.q == q).all()
    start = arm.tip()
    arm.run(LATENCY + 2 * PERIOD, still)
    steps = [np.abs(np.diff(arm.commands[-20:], axis=0)).max()]
    assert max(steps) <= 20.0 * PERIOD**2 + 1e-12
    arm.run(1.0, still)
    assert arm.q[1] >= arm.robot.lower[1]
    assert np.linalg.norm((arm.tip() - start)[:3, 3]) < LEASH + 1e-3
    assert arm.teleop.command.status in (TrackStatus.REACHED, TrackStatus.TOO_FEW_JOINTS,
                                         TrackStatus.CLOSEST)  # fmt: skip


def test_the_first_step_returns_where_the_joints_are():
    arm = Arm('panda')
    assert (arm.tick() == STARTS['panda']).all()


def test_the_first_step_needs_the_measured_joints():
    arm = Arm('panda')
    with pytest.raises(ik.InvalidConfiguration, match='the first step needs the measured joints'):
        arm.teleop.step(0.0)


def test_an_arm_that_sags_keeps_its_command():
    arm = Arm('panda')
    arm.run(0.2, still, engaged=False)
    for _ in range(20):
        sagging = arm.q - 0.9 * MOVED
        assert (arm.teleop.step(arm.now, sagging) == arm.q).all()
        arm.ticks += 1


def test_an_arm_that_others_moved_begins_there_but_for_its_gripper():
    arm = Arm('panda', gripper='panda_finger_joint1')
    arm.run(0.2, still, engaged=False)
    moved = arm.q.copy()
    moved[:2] += 0.3, -0.4
    moved[7] = 0.001  # it holds something
    q = arm.teleop.step(arm.now, moved)
    np.testing.assert_array_equal(q[:7], moved[:7])
    assert q[7] == arm.q[7]
    arm.ticks, arm.q, arm.commands = arm.ticks + 1, q, [q]
    start = arm.tip()
    arm.run(0.3, still)
    assert arm.state is HandState.FOLLOWING
    np.testing.assert_allclose(arm.tip(), start, atol=1e-4)


def test_an_arm_that_follows_is_not_led_by_its_measured_joints():
    arm = Arm('panda')
    arm.run(0.5, still)
    q = arm.teleop.step(arm.now, arm.q + 0.5)
    np.testing.assert_allclose(q, arm.q, atol=1e-6)


# The end of a motion


def test_an_open_switch_stops_the_tip_at_once():
    arm = Arm('panda')
    arm.run(1.5, along_x)
    before = np.diff(arm.commands[-2:], axis=0)[0] * RATE
    time = arm.now
    arm.teleop.push(along_x(time), CLOCK + time, False, received=time)
    stopped_at = math.ceil(np.abs(before).max() / 20.0 * RATE) + 2
    for _ in range(stopped_at):
        arm.tick()
    after = np.diff(arm.commands[-stopped_at - 1 :], axis=0) * RATE
    assert (np.abs(after[0]) < np.abs(before))[np.abs(before) > 1e-3].all()
    assert (after[-1] == 0.0).all()


def test_a_tip_waits_for_late_samples_and_goes_on_without_a_jump():
    arm = Arm('panda')
    arm.run(1.5, along_x)
    arm.run(0.2)
    assert arm.state is HandState.WAITING
    waiting = arm.tip()
    arm.run(PERIOD)
    assert np.linalg.norm((arm.tip() - waiting)[:3, 3]) < 0.1 * 0.05 * PERIOD
    arm.run(1.0, along_x)
    assert arm.state is HandState.FOLLOWING
    before = arm.tip()
    arm.run(0.5, along_x)
    assert (arm.tip() - before)[0, 3] == pytest.approx(0.025, abs=1e-3)


def test_a_lost_hand_has_to_release_its_switch():
    arm = Arm('panda')
    arm.run(1.0, along_x)
    arm.run(LATENCY + LOST + 2 * PERIOD)
    assert arm.state is HandState.LOST
    assert arm.teleop.tracker.at_rest
    held = arm.q
    arm.run(0.5, along_x)
    assert arm.state is HandState.LOST
    assert (arm.q == held).all()
    arm.run(0.1, along_x, engaged=False)
    assert arm.state is HandState.RELEASED
    arm.run(0.3, along_x)
    assert arm.state is HandState.FOLLOWING


def test_a_clock_that_was_set_loses_the_hand():
    arm = Arm('panda')
    arm.run(0.5, still)
    arm.teleop.push(still(0.0), CLOCK + 3600.0, True)
    arm.tick()
    assert arm.state is HandState.LOST


def test_a_switch_that_closes_while_the_tip_brakes_engages_at_rest():
    arm = Arm('panda', acceleration=2.0)
    arm.run(1.5, waving)
    arm.run(0.03, waving, engaged=False)
    assert not arm.teleop.tracker.at_rest
    arm.until_following(waving)
    assert (arm.commands[-1] == arm.commands[-2]).all()


# The end of the reach


@pytest.mark.parametrize('name', ['panda', 'so101_like'])
def test_a_hand_from_beyond_the_reach_moves_the_tip_as_soon_as_it_turns_round(name):
    arm = Arm(name)
    arm.run(0.5, still, engaged=False)

    def out_and_back(time):
        away = 0.9 if name == 'panda' else 0.45
        return pose(0.3 * max(0.0, min(time - 0.5, away / 0.3, away / 0.3 + turned - time)))

    turned = 5.5
    arm.run(turned - arm.now, out_and_back)
    far = arm.tip()
    arm.run(WIRE + LATENCY + 0.02, out_and_back)
    assert np.linalg.norm((far - arm.tip())[:3, 3]) < LEASH
    arm.run(0.1, out_and_back)
    assert np.linalg.norm((far - arm.tip())[:3, 3]) > 0.005
    arm.run(0.6, out_and_back)
    assert (far - arm.tip())[0, 3] > 0.04
    goal = arm.teleop.goals[arm.tips[0]]
    assert np.linalg.norm((goal - arm.tip())[:3, 3]) < 0.03  # it keeps to its path


# Several arms, grippers


TWO = ['left_gripper_frame_link', 'right_gripper_frame_link']


def test_each_hand_has_its_tip():
    arm = Arm('two_so101_like', TWO)
    arm.run(0.2, still, engaged=False)
    arm.run(0.2, still, engaged=False, tip=1)
    starts = [arm.tip(tip=0), arm.tip(tip=1)]

    def up(time):
        return pose(0.0, 0.0, min(0.03, 0.05 * max(time - 0.5, 0.0)))

    for _ in range(200):
        now = arm.now
        arm.teleop.push(up(now), now, True, tip=TWO[0])
        arm.teleop.push(still(now), now, now < 1.0, tip=TWO[1])
        arm.tick()
    assert arm.teleop.states == {TWO[0]: HandState.FOLLOWING, TWO[1]: HandState.RELEASED}
    np.testing.assert_allclose((arm.tip() - starts[0])[:3, 3], [0.0, 0.0, 0.03], atol=1e-3)
    np.testing.assert_allclose(arm.tip(tip=1)[:3, 3], starts[1][:3, 3], atol=1e-4)


def test_a_hand_of_several_has_to_be_named():
    arm = Arm('two_so101_like', TWO)
    with pytest.raises(ik.InvalidOption, match='tip = None: name one of left_gripper'):
        arm.teleop.push(np.eye(4), 0.0, True)
    with pytest.raises(ik.InvalidOption, match="tip = 'left'"):
        arm.teleop.push(np.eye(4), 0.0, True, tip='left')


def test_hands_have_options_of_their_own():
    robot = robot_named('two_so101_like')
    limits = ik.MotionLimits.of(robot, acceleration=20.0)
    options = {TWO[0]: HandOptions(latency=0.2)}
    teleop = Teleop(robot, TWO, RATE, limits, options=options)
    assert teleop.latencies == {TWO[0]: 0.2, TWO[1]: 0.15}
    with pytest.raises(ik.InvalidOption, match="options of 'left', which is no tip"):
        Teleop(robot, TWO, RATE, limits, options={'left': HandOptions()})


def test_a_gripper_moves_with_its_hand_and_only_while_it_is_engaged():
    arm = Arm('so101_like', gripper='gripper')
    arm.run(0.5, still, engaged=False, gripper=1.0)
    assert arm.q[5] == STARTS['so101_like'][5]
    arm.run(1.5, still, gripper=1.0)
    assert arm.q[5] == pytest.approx(1.0)
    arm.run(0.1, still, engaged=False, gripper=1.0)
    arm.run(1.0, still, engaged=False, gripper=0.0)
    assert arm.q[5] == pytest.approx(1.0)


# Arguments


def test_limits_are_needed_and_the_error_says_how_to_make_them():
    with pytest.raises(ik.InvalidOption, match=r'MotionLimits\.of\(robot, velocity=1\.0'):
        Teleop('so101_like', 'gripper_frame_link', RATE)
    robot = robot_named('so101_like')
    with pytest.raises(ik.InvalidOption, match='no limit of acceleration of shoulder_pan'):
        Teleop(robot, 'gripper_frame_link', RATE, ik.MotionLimits.of(robot))


def limits_of(name):
    return ik.MotionLimits.of(robot_named(name), velocity=3.0, acceleration=20.0)


@pytest.mark.parametrize(
    ('change', 'error', 'message'),
    [
        ({'tip': []}, ik.InvalidOption, 'one link or several'),
        ({'tip': ['gripper_frame_link'] * 2}, ik.InvalidOption, 'several different'),
        ({'tip': 'gripper_frame'}, ik.FrameNotFound, 'gripper_frame'),
        ({'rate': 0.0}, ik.InvalidOption, 'rate = 0.0'),
        ({'limits': 5.0}, ik.InvalidOption, 'MotionLimits are needed'),
        ({'options': {'scale': 0.5}}, ik.InvalidOption, "options of 'scale', which is no tip"),
        ({'options': 0.5}, ik.InvalidOption, r'HandOptions are needed, as HandOptions\(scale'),
        ({'options': HandOptions(gripper='jaw')}, ik.InvalidOption, "gripper = 'jaw'"),
        (
            {'options': HandOptions(gripper='wrist_roll')},
            ik.InvalidOption,
            'moves no tip: gripper',
        ),
    ],
)
def test_wrong_arguments_are_refused(change, error, message):
    arguments = {'tip': 'gripper_frame_link', 'rate': RATE, 'limits': limits_of('so101_like')}
    with pytest.raises(error, match=message):
        Teleop('so101_like', **{**arguments, **change})


@pytest.mark.parametrize(
    ('sample', 'error'),
    [
        ((np.full((4, 4), np.nan), 0.0, True), ik.InvalidGoal),
        ((np.eye(3), 0.0, True), ik.InvalidGoal),
        ((np.eye(4), math.nan, True), ik.InvalidOption),
        ((np.eye(4), 'now', True), ik.InvalidOption),
        ((np.eye(4), 0.0, 0.7), ik.InvalidOption),
        ((np.eye(4), 0.0, None), ik.InvalidOption),
    ],
)
def test_a_wrong_sample_is_refused_and_changes_nothing(sample, error):
    arm = Arm('panda')
    with pytest.raises(error):
        arm.teleop.push(*sample)
    arm.tick()
    assert arm.state is HandState.RELEASED


def test_a_gripper_without_a_joint_is_refused():
    arm = Arm('panda')
    with pytest.raises(ik.InvalidOption, match=r"HandOptions\(gripper='gripper'\)"):
        arm.teleop.push(np.eye(4), 0.0, True, gripper=0.5)


@pytest.mark.parametrize('now', [math.nan, None, 'now'])
def test_a_step_at_no_time_is_refused(now):
    arm = Arm('panda')
    with pytest.raises(ik.InvalidOption):
        arm.teleop.step(now, arm.q)


def test_a_message_of_ros_is_a_sample_and_stamps_may_be_missing():
    point = SimpleNamespace(x=0.0, y=0.0, z=0.0)
    message = SimpleNamespace(
        header=SimpleNamespace(frame_id='headset'),
        pose=SimpleNamespace(
            position=point, orientation=SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)
        ),
    )
    arm = Arm('panda')
    arm.tick()
    for tick in range(80):
        point.x = 0.001 * max(tick - 30, 0)
        arm.teleop.push(message, None, True)
        arm.tick()
    start = arm.robot.forward_kinematics(STARTS['panda'], arm.tips[0])
    assert (arm.tip() - start)[0, 3] == pytest.approx(0.001 * (49 - 3), abs=1.5e-3)


def test_the_last_sample_of_a_burst_counts_without_stamps():
    arm = Arm('panda')
    arm.tick()
    for x in (0.0, 0.001, 0.002):
        arm.teleop.push(pose(x), None, True)
    arm.tick()
    stream = arm.teleop._hands[arm.tips[0]].stream
    assert stream.pose(arm.now)[9] == pytest.approx(0.002)


def test_goals_are_those_of_engaged_hands():
    arm = Arm('panda')
    assert arm.teleop.goals == {arm.tips[0]: None}
    arm.run(0.5, along_x)
    np.testing.assert_allclose(arm.teleop.goals[arm.tips[0]], arm.tip(), atol=1e-2)
    assert repr(arm.teleop) == "<Teleop of 'panda' at 100 Hz: 'panda_hand_tcp' following>"


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('name', ['panda', 'so101_like', 'two_so101_like'])
def test_no_hand_breaks_a_limit(name, seed):
    """Wild hands over bad connections; the harness checks each step, and that nothing raises."""
    rng = np.random.default_rng(seed)
    tips = TWO if name == 'two_so101_like' else None
    arm = Arm(name, tips, acceleration=rng.choice([2.0, 20.0]), jerk=rng.choice([np.inf, 300.0]),
              latency=rng.choice([0.03, 0.15]), scale=rng.choice([0.5, 2.0]))  # fmt: skip
    hands = {tip: np.eye(4) for tip in arm.tips}
    waiting = {tip: [] for tip in arm.tips}
    for _ in range(700):
        for tip, hand in hands.items():
            hand[:3, 3] += rng.normal(scale=0.02, size=3)
            turn = ik.transform(rpy=rng.normal(scale=0.05, size=3))
            hands[tip] = hand @ turn if rng.random() < 0.99 else ik.transform()
            if rng.random() < 0.7:
                closed = (arm.ticks // 100) % 3 > 0
                waiting[tip].append((hands[tip].copy(), CLOCK + arm.now, closed))
            if rng.random() < 0.1 and (arm.ticks // 60) % 5 > 0:
                for sample in waiting[tip]:
                    arm.teleop.push(*sample, tip=tip)
                waiting[tip].clear()
        arm.tick()
    assert len(arm.commands) == 701


def test_two_arms_that_avoid_collisions_do_not_hit_each_other():
    """Their hands move through each other, and back; the distance is of the commanded joints."""
    robot = robot_named('two_so101_like')
    collisions = ik.Collisions(robot, margin=0.01)
    limits = ik.MotionLimits.of(robot, velocity=3.0, acceleration=20.0)
    teleop = Teleop(
        robot, TWO, RATE, limits, avoid=collisions, options=HandOptions(latency=0.03),
        clock=lambda: 0.0,
    )  # fmt: skip
    q, apart = np.array(STARTS['two_so101_like']), []
    start = q.copy()
    for tick in range(400):
        now = tick / RATE
        way = 0.3 * math.sin(math.pi * max(now - 0.5, 0.0) / 3.0)
        for tip, sign in zip(TWO, (-1.0, 1.0), strict=True):
            teleop.push(pose(0.0, sign * way), now, now > 0.2, tip=tip)
        q = teleop.step(now, q)
        apart.append(min(pair.distance for pair in collisions.distances(q)))
    assert min(apart) > 0.0
    assert np.abs(q - start).max() > 0.05
