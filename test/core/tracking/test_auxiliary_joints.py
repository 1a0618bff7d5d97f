# SPDX-License-Identifier: Apache-2.0
"""Joints that move no tip, such as a gripper's, keep their joint goal beside the tips' goals."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.places import URDF
from support.streams import Stream, moved, robot_named

import ik_core as ik
from ik_core.tracking import Tracker, TrackerOptions, TrackStatus
from ik_core.tracking.recording import Recorder, read_recording, replay

FINGER = 'panda_finger_joint1'
OPEN, SHUT = 0.035, 0.005
SLOW = 0.01  # [m/s] Of the finger: it takes three seconds from OPEN to SHUT


def finger_of(tracker):
    return float(tracker.q[robot_named('panda').joint_index(FINGER)])


def gripper(jerk=math.inf, **options):
    """The Panda, with an open, slow gripper."""
    robot = robot_named('panda')
    q0 = robot.q({FINGER: OPEN}, default=[0.1, -0.5, 0.2, -2.0, 0.1, 1.8, 0.6, 0.0])
    stream = Stream('panda', q0=q0, options=TrackerOptions(**options))
    limits = stream.limits
    velocity = np.where(np.arange(robot.n) == robot.joint_index(FINGER), SLOW, limits.velocity)
    jerks = np.full(robot.n, jerk)
    stream.limits = replace(limits, velocity=velocity, jerk=jerks)
    stream.tracker.set_limits(stream.limits)
    return stream


def one_arm():
    """The robot with two arms, of which the tracker leads one."""
    stream = Stream('dual_arm')
    stream.tips = stream.tips[:1]
    stream.problem = ik.IkProblem(stream.robot, [ik.PoseTask(stream.tips[0])])
    stream.tracker = Tracker(stream.problem, 100.0, limits=stream.limits, clock=lambda: 0.0)
    return stream


def shut(stream):
    stream.tracker.move_to({FINGER: SHUT}, stream.now)


def lead(stream, way, seconds, close_at=0.2):
    """Return the commands while the tip is led; the gripper closes at `close_at` [s]."""
    start, commands = stream.tip_pose(), []
    for k in range(round(100.0 * seconds)):
        if k == 100.0 * close_at:
            shut(stream)
        way(stream, start, k)
        commands.append(stream.tick())
    return commands


def drag(stream, start, k):
    stream.goal(moved(start, 0.05 * math.sin(0.03 * k), 0.05 * math.sin(0.04 * k)))


def jump(stream, start, k):
    if k % 150 == 0:
        stream.goal(moved(start, 0.1 * (-1) ** (k // 150), 0.1, -0.1))


def line(stream, start, k):
    if k % 150 == 0:
        side = 0.08 * (-1) ** (k // 150)
        stream.tracker.set_goal(0, moved(start, side, 0.05), stream.now, move='linear')


def jog(stream, start, k):
    stream.tracker.set_twist(0, [0.05 * math.cos(0.02 * k), 0.03, 0.0], [0, 0, 0.1], stream.now)


@pytest.mark.parametrize('profile', ['square_root', 'linear'])
@pytest.mark.parametrize('jerk', [math.inf, 500.0])
@pytest.mark.parametrize('way', [drag, jump, line, jog], ids=lambda way: way.__name__)
def test_the_gripper_closes_while_the_tip_is_led_as_if_it_stood(way, jerk, profile):
    """Nor does the arm wait for it: a jump takes no longer."""
    closing, other = (gripper(jerk, speed_profile=profile) for _ in range(2))
    commands = [lead(closing, way, 4.5), lead(other, way, 4.5, close_at=math.inf)]
    assert finger_of(closing.tracker) == SHUT
    assert finger_of(other.tracker) == OPEN
    arms = [np.array([command.q[:7] for command in some]) for some in commands]
    np.testing.assert_allclose(*arms, rtol=0, atol=1e-7)


@pytest.mark.parametrize('way', [drag, jump, line, jog], ids=lambda way: way.__name__)
def test_a_goal_of_all_joints_goes_on_for_the_gripper_alone(way):
    stream = gripper()
    stream.tracker.move_to({'panda_joint1': 1.5, FINGER: SHUT}, stream.now)
    stream.run(0.3)
    lead(stream, way, 4.5, close_at=math.inf)
    assert stream.tracker.joint_goal is None
    assert finger_of(stream.tracker) == SHUT
    assert stream.tracker.q[0] < 1.0


def test_a_goal_of_tip_joints_too_replaces_the_goals_of_the_tips():
    stream = gripper()
    stream.goal(moved(stream.tip_pose(), 0.1))
    stream.run(0.2)
    stream.tracker.move_to({FINGER: SHUT}, stream.now)
    assert stream.tracker.goals[0] is not None
    stream.tracker.move_to({'panda_joint1': 0.5}, stream.now)
    assert stream.tracker.goals == [None]
    assert stream.settle().status is TrackStatus.REACHED
    assert finger_of(stream.tracker) == SHUT
    assert stream.tracker.q[0] == 0.5


def test_the_second_goal_of_auxiliary_joints_keeps_the_first_one():
    robot, stream = robot_named('dual_arm'), one_arm()
    free = sorted(stream.tracker.auxiliary_joints)
    assert len(free) >= 2, free
    middle = dict(zip(robot.joint_names, robot.middle_configuration, strict=True))
    stream.goal(moved(stream.tip_pose(), 0.0, 0.05))
    stream.run(0.1)
    goals = {joint: middle[joint] + 0.05 for joint in free[:2]}
    for joint, value in goals.items():
        stream.tracker.move_to({joint: value}, stream.now)
        stream.tick()
    stream.settle()
    q = dict(zip(robot.joint_names, stream.tracker.q, strict=True))
    assert {joint: q[joint] for joint in goals} == goals


@pytest.mark.parametrize('end', ['pause', 'brake', 'tool', 'options', 'solver', 'reset', 'limits'])
def test_the_gripper_goes_on_after(end):
    stream = gripper()
    tracker = stream.tracker
    goal = moved(stream.tip_pose(), 0.05)
    stream.goal(goal)
    shut(stream)
    stream.run(0.3)
    if end in ('pause', 'reset'):
        tracker.pause()
        stream.run(1.5)
        assert tracker.at_rest
        if end == 'reset':
            tracker.reset(tracker.q, keep_goals=True)
        tracker.pause(False)
    if end == 'brake':
        tracker.brake()
    if end == 'tool':
        tool = moved(np.eye(4), 0.0, 0.0, 0.1)
        tracker.set_problem(ik.IkProblem(stream.robot, [ik.PoseTask(stream.tips[0], tool=tool)]))
    if end == 'options':
        tracker.set_options(TrackerOptions(updates_per_tick=1))
    if end == 'solver':
        tracker.set_solver('damped_least_squares')
    if end == 'limits':
        lower = np.where(stream.limits.velocity == SLOW, 0.02, stream.limits.lower)
        tracker.set_limits(replace(stream.limits, lower=lower))
        stream.run(4.0)
        assert finger_of(tracker) == 0.02
        tracker.set_limits(stream.limits)
    stream.run(4.0)
    assert finger_of(tracker) == SHUT
    if end not in ('tool',):
        np.testing.assert_allclose(stream.tip_pose(), goal, atol=1e-4)


@pytest.mark.parametrize('end', ['stop', 'reset', 'stop in a pause'])
def test_the_gripper_stops_with(end):
    stream = gripper()
    tracker = stream.tracker
    stream.goal(moved(stream.tip_pose(), 0.05))
    shut(stream)
    stream.run(0.3)
    if end == 'stop in a pause':
        tracker.pause()
    tracker.stop()
    stream.run(0.5)
    assert tracker.at_rest
    if end == 'reset':
        tracker.reset(tracker.q)
    stopped = finger_of(tracker)
    tracker.pause(False)
    stream.run(1.0)
    stream.goal(moved(stream.tip_pose(), 0.0, 0.02))
    stream.run(1.0)
    assert finger_of(tracker) == stopped
    assert SHUT < stopped < OPEN


@pytest.mark.parametrize('end', ['twist', 'stale'])
def test_the_gripper_arrives_after_the_last_goal_of_the_tip_has_ended(end):
    stream = gripper(goal_timeout=0.3 if end == 'stale' else 0.0)
    tracker = stream.tracker
    if end == 'twist':
        tracker.set_twist(0, [0.05, 0.0, 0.0], [0.0, 0.0, 0.0], stream.now)
        status = TrackStatus.IDLE
    else:
        stream.goal(moved(stream.tip_pose(), 0.1))
        status = TrackStatus.STALE
    tracker.move_to({FINGER: SHUT})
    ended = stream.run(4.0)
    assert finger_of(tracker) == SHUT
    assert ended[-1].status is status
    assert tracker.stopped
    arm = np.array([command.dq[:7] for command in ended])
    assert not arm[150:].any(), 'the arm braked as it does without a gripper'


def test_an_old_goal_of_the_gripper_is_dropped_and_the_tip_goes_on():
    stream = gripper(goal_timeout=0.5)
    shut(stream)
    start = stream.tip_pose()
    shut(stream)
    for k in range(200):
        drag(stream, start, k)
        command = stream.tick()
    assert SHUT < finger_of(stream.tracker) < OPEN
    assert command.dq[stream.robot.joint_index(FINGER)] == 0.0
    assert command.dq.any()


def test_a_goal_out_of_reach_is_searched_for_while_the_gripper_closes():
    stream = gripper()
    stream.goal(moved(stream.tip_pose(), 0.0, 0.0, 3.0))
    for _ in range(60):
        shut(stream)
        stream.run(0.1)
    assert stream.tracker.tick(stream.now).status is TrackStatus.CLOSEST
    assert finger_of(stream.tracker) == SHUT


def test_a_copy_and_a_replay_go_on_with_the_gripper(tmp_path):
    stream = gripper()
    start = stream.tip_pose()
    recorder = Recorder((URDF / 'panda.urdf').read_text())
    for k in range(50):
        drag(stream, start, k)
        stream.tick()
    shut(stream)
    stream.run(0.3)
    tracker = stream.tracker
    other = Tracker.from_snapshot(tracker.snapshot(), clock=lambda: 0.0)
    tracker.observe(recorder)
    for k in range(50, 500):
        now = stream.now + 0.01 * k
        goal = moved(start, 0.05 * math.sin(0.03 * k))
        for it in (tracker, other):
            it.set_goal(0, goal, now)
        np.testing.assert_array_equal(tracker.tick(now).q, other.tick(now).q)
    assert finger_of(tracker) == SHUT
    recorder.save(tmp_path / 'recording.npz')
    [run] = replay(read_recording(tmp_path / 'recording.npz'))
    assert run.is_same, run.failure
