# SPDX-License-Identifier: Apache-2.0
"""Straight lines, jogs by twists, goals that are followed with their velocity, joint goals."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.places import URDF
from support.robots import random_q, shipped
from support.tracked_arms import PERIOD, moved, new_tracker, pose, shipped_of, ticks

import ik_core as ik
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus
from ik_core.tracking.recording import Recorder, read_recording, replay

# Straight lines


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'iiwa14'])
def test_a_linear_move_is_straight_and_keeps_its_speed_and_acceleration(name):
    tracker = new_tracker(name, linear_velocity=0.2, linear_acceleration=0.8)
    start = pose(tracker)
    shift, turn = np.array([0.06, 0.05, -0.07]), np.array([0.2, -0.1, 0.3])
    goal = moved(start, shift, turn)
    tracker.set_goal(0, goal, 0.0, move='linear')
    commands = ticks(tracker, 0, 400)
    assert commands[-1].status is TrackStatus.REACHED
    path = np.array([pose(tracker, command.q) for command in commands])
    np.testing.assert_allclose(path[-1], goal, atol=1e-4)
    share = (path[:, :3, 3] - start[:3, 3]) @ shift / (shift @ shift)
    straight = start[:3, 3] + share[:, None] * shift
    np.testing.assert_allclose(path[:, :3, 3], straight, atol=2e-5)
    for part, matrix in zip(share, path, strict=True):  # the rotation goes the same share
        slerp = Rotation.from_rotvec(part * turn) * Rotation.from_matrix(start[:3, :3])
        assert (slerp.inv() * Rotation.from_matrix(matrix[:3, :3])).magnitude() < 1e-3
    length = share * np.linalg.norm(shift)
    speeds = np.diff(length) / PERIOD
    assert speeds.max() <= 0.2 * 1.001
    assert speeds.max() > 0.19
    assert np.diff(speeds).max() <= 0.8 * PERIOD * 1.05 + 1e-4
    assert np.diff(speeds).min() >= -0.8 * PERIOD * 3.0  # joints may brake it harder


def test_a_linear_move_slows_down_where_the_joints_cannot_keep_up():
    slow = new_tracker(linear_velocity=3.0, linear_acceleration=4.0)
    start = pose(slow)
    shift = np.array([0.1, 0.05, -0.1])
    slow.set_goal(0, moved(start, shift), 0.0, move='linear')
    commands = ticks(slow, 0, 600)
    assert commands[-1].status is TrackStatus.REACHED
    off = [np.cross(pose(slow, c.q)[:3, 3] - start[:3, 3], shift) for c in commands]
    assert np.linalg.norm(off, axis=1).max() / np.linalg.norm(shift) < 2e-3


def test_a_blocked_line_holds_on_the_way_and_the_next_goal_goes_on():
    tracker = new_tracker('ur5e')
    start = pose(tracker)
    out = start[:3, 3] / np.linalg.norm(start[:3, 3])
    tracker.set_goal(0, moved(start, 3.0 * out), 0.0, move='linear')
    commands = ticks(tracker, 0, 6000)
    assert commands[-1].status is TrackStatus.BLOCKED
    assert not commands[-1].dq.any()
    assert commands[-1].position_errors[0] > 1.0
    tracker.set_goal(0, start, 0.0, move='linear')
    commands += ticks(tracker, 6000, 6000)
    assert commands[-1].status is TrackStatus.REACHED
    for before, after in itertools.pairwise(commands):  # it never jumps
        assert np.abs(after.q - before.q).max() < 0.05


def test_the_option_makes_all_moves_linear_and_goals_may_differ_from_it():
    tracker = new_tracker(move='linear')
    start = pose(tracker)
    tracker.set_goal(0, moved(start, [0.0, 0.0, 0.05]), 0.0)
    linear = ticks(tracker, 0, 300)
    tracker.set_goal(0, start, 0.0, move='joint')
    joint = ticks(tracker, 300, 300)
    assert linear[-1].status is joint[-1].status is TrackStatus.REACHED
    with pytest.raises(ik.InvalidOption, match='move'):
        tracker.set_goal(0, start, 0.0, move='circular')


# Jogging


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'iiwa14'])
def test_a_tip_is_carried_on_by_its_twist_and_stops_when_none_comes(name):
    tracker = new_tracker(name)
    linear, angular = np.array([0.05, 0.0, -0.03]), np.array([0.0, 0.1, 0.0])
    for k in range(100):
        tracker.set_twist(0, linear, angular, PERIOD * k)
        before = pose(tracker)
        tracker.tick(PERIOD * k)
    after = pose(tracker)
    np.testing.assert_allclose((after - before)[:3, 3] / PERIOD, linear, atol=1e-3)
    turned = Rotation.from_matrix(after[:3, :3] @ before[:3, :3].T).as_rotvec() / PERIOD
    np.testing.assert_allclose(turned, angular, atol=1e-3)
    commands = ticks(tracker, 100, 200)
    assert commands[-1].status is TrackStatus.IDLE
    assert not commands[-1].dq.any()
    way = pose(tracker)[:3, 3] - after[:3, 3]
    assert np.linalg.norm(way) < 0.02  # 0.1 s at 0.06 m/s, and braking
    np.testing.assert_allclose(np.cross(way, linear), 0.0, atol=1e-4)


def test_a_twist_that_is_too_fast_keeps_its_direction():
    tracker = new_tracker(linear_velocity=0.05, linear_acceleration=10.0)
    start = pose(tracker)
    for k in range(100):
        tracker.set_twist(0, [30.0, 40.0, 0.0], np.zeros(3), PERIOD * k)
        tracker.tick(PERIOD * k)
    way = pose(tracker)[:3, 3] - start[:3, 3]
    np.testing.assert_allclose(way / np.linalg.norm(way), [0.6, 0.8, 0.0], atol=1e-3)
    assert np.linalg.norm(way) <= 0.05 * 100 * PERIOD


def test_a_jog_into_the_end_of_the_reach_slows_down_and_one_back_goes_on():
    tracker = new_tracker('ur5e')
    out = pose(tracker)[:3, 3] / np.linalg.norm(pose(tracker)[:3, 3])
    for k in range(3000):
        tracker.set_twist(0, 0.2 * out, np.zeros(3), PERIOD * k)
        command = tracker.tick(PERIOD * k)
    assert np.abs(command.dq).max() < 0.05
    end = pose(tracker)[:3, 3]
    for k in range(3000, 3200):
        tracker.set_twist(0, -0.2 * out, np.zeros(3), PERIOD * k)
        tracker.tick(PERIOD * k)
    assert (end - pose(tracker)[:3, 3]) @ out > 0.05


@pytest.mark.parametrize('bad', [[np.nan, 0.0, 0.0], [np.inf, 0.0, 0.0], [0.0, 0.0], 'up'])
def test_a_bad_twist_is_refused(bad):
    tracker = new_tracker()
    with pytest.raises(ik.InvalidGoal):
        tracker.set_twist(0, bad, np.zeros(3), 0.0)
    with pytest.raises(ik.InvalidGoal):
        tracker.set_twist(0, np.zeros(3), bad, 0.0)
    with pytest.raises(ik.InvalidGoal, match='no tip'):
        tracker.set_twist(1, np.zeros(3), np.zeros(3), 0.0)
    assert tracker.tick(0.0).status is TrackStatus.IDLE


# Goals with a velocity


def lag(every=1, **options):
    """Return the largest distance of the tip from a goal on a circle, once it moves [m]."""
    tracker = new_tracker(acceleration=3.0, **options)
    start, furthest = pose(tracker), 0.0
    for k in range(800):
        angle = 1.5 * PERIOD * k
        shift = 0.1 * np.array([math.cos(angle) - 1.0, math.sin(angle), 0.0])
        if k % every == 0:
            tracker.set_goal(0, moved(start, shift), PERIOD * k)
        tracker.tick(PERIOD * k)
        if k > 200:
            furthest = max(furthest, np.linalg.norm(pose(tracker)[:3, 3] - start[:3, 3] - shift))
    return furthest


def test_a_goal_on_a_circle_is_followed_with_less_lag_by_its_velocity():
    assert lag(feed_forward=True) < 0.1 * lag()


def circle(start, radius=0.1):
    """A circle about the z axis from a pose (4, 4), as a function of its length."""

    def at(length):
        angle = length / radius
        return moved(start, radius * np.array([math.sin(angle), 1.0 - math.cos(angle), 0.0]))

    return at


def beside(start, point, radius=0.1):
    """The distance of a point (3,) from such a circle [m]."""
    x, y, z = point - start[:3, 3]
    return math.hypot(math.hypot(x, y - radius) - radius, z)


@pytest.mark.parametrize('jerk', [math.inf, 100.0])
def test_stream_from_rest_within_limits_is_followed_beside_its_path_by_less_than_half_a_mm(jerk):
    robot, q0 = shipped('ur5e'), np.array([0.3, -1.2, 1.4, -1.8, -1.5, 0.2])
    problem = ik.IkProblem(robot, [ik.PoseTask('tool0')])
    start = robot.forward_kinematics(q0, 'tool0')
    limits = MotionLimits.of(robot, acceleration=5.0, jerk=jerk)
    less = MotionLimits.of(
        robot, velocity=0.7 * limits.velocity, acceleration=3.5, jerk=min(0.7 * jerk, 200.0)
    )
    path = ik.solve_path(
        problem,
        circle(start),
        length=0.6,
        q0=q0,
        limits=less,
        period=PERIOD,
        keep_within=(1e-5, 1e-4),
    )
    options = TrackerOptions(feed_forward=True)
    tracker = Tracker(problem, 1.0 / PERIOD, limits=limits, q0=q0, options=options)
    worst = 0.0
    for k, q in enumerate(path.motion.positions):
        tracker.set_goal(0, robot.forward_kinematics(q, 'tool0'), PERIOD * k)
        tracker.tick(PERIOD * k)
        worst = max(worst, beside(start, robot.forward_kinematics(tracker.q, 'tool0')[:3, 3]))
    assert worst < 0.5e-3


@pytest.mark.parametrize('jerk', [math.inf, 100.0])
def test_stream_that_begins_faster_is_caught_up_with_in_the_time_that_the_joints_need(jerk):
    robot, q0 = shipped('ur5e'), np.array([0.3, -1.2, 1.4, -1.8, -1.5, 0.2])
    start, speed = robot.forward_kinematics(q0, 'tool0'), 0.1
    twist = np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    fastest = np.abs(np.linalg.solve(robot.jacobian(q0, 'tool0'), twist)).max()
    limits = MotionLimits.of(robot, acceleration=5.0, jerk=jerk)
    tracker = Tracker(
        ik.IkProblem(robot, [ik.PoseTask('tool0')]), 1.0 / PERIOD, limits=limits, q0=q0,
        options=TrackerOptions(feed_forward=True),
    )  # fmt: skip
    goals, caught = circle(start), 0.0
    for k in range(500):
        goal = goals(speed * PERIOD * k)
        tracker.set_goal(0, goal, PERIOD * k)
        tracker.tick(PERIOD * k)
        at = robot.forward_kinematics(tracker.q, 'tool0')[:3, 3]
        if np.linalg.norm(at - goal[:3, 3]) > 0.5e-3:
            caught = PERIOD * k
    assert 0.0 < caught < (1.0 + math.sqrt(2.0)) * fastest / 5.0 + 2.0 * 5.0 / jerk


def test_between_the_goals_of_a_slow_stream_the_tip_moves_on():
    assert lag(every=10, feed_forward=True) < 0.3 * lag(every=10)


def test_a_velocity_that_was_given_is_followed_for_a_while_only():
    tracker = new_tracker(acceleration=np.inf)
    start = pose(tracker)
    tracker.set_goal(0, start, 0.0, twist=[0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    tracker.set_goal(0, moved(start, [1e-3, 0.0, 0.0]), 0.0, twist=[0.1, 0, 0, 0, 0, 0])
    ticks(tracker, 0, 11)
    assert pose(tracker)[0, 3] - start[0, 3] == pytest.approx(1e-3 + 0.1 * 10 * PERIOD, abs=1e-4)
    ticks(tracker, 11, 400)
    assert pose(tracker)[0, 3] - start[0, 3] == pytest.approx(1e-3, abs=1e-4)


# Moves of the joints


@pytest.mark.parametrize('before', ['at rest', 'in motion', 'stopped', 'paused'])
def test_joints_move_to_a_configuration_together_and_drop_their_goals(before):
    tracker = new_tracker()
    robot, limits = tracker._robot, tracker.governor.limits
    if before != 'at rest':
        tracker.set_goal(0, moved(pose(tracker), (0.1, 0.1, -0.1)), 0.0)
        ticks(tracker, 0, 30)
    if before == 'stopped':
        tracker.stop()
        ticks(tracker, 30, 200)
    if before == 'paused':
        tracker.pause()
        ticks(tracker, 30, 200)
    start = tracker.q
    goal = np.clip(start + 0.4 * (-1.0) ** np.arange(robot.n), robot.lower, robot.upper + 0.1)
    tracker.move_to(goal)
    commands = ticks(tracker, 300, 600)
    assert tracker.goals == [None]
    if before == 'paused':
        np.testing.assert_array_equal(tracker.q, start)
        return
    q = np.array([start, *(command.q for command in commands)])
    speeds = np.diff(q, axis=0) / PERIOD
    assert (np.abs(speeds) <= limits.velocity * (1 + 1e-9)).all()
    assert (np.abs(np.diff(speeds, axis=0)) / PERIOD <= limits.acceleration * (1 + 1e-6)).all()
    np.testing.assert_array_equal(q[-1], np.clip(goal, robot.lower, robot.upper))
    if before != 'in motion':
        way = q[-1] - start
        moves = np.abs(way) > 0.1
        share = ((q - start)[:, moves]) / way[moves]
        np.testing.assert_allclose(share, np.tile(share[:, :1], moves.sum()), atol=1e-6)


def far_from(tracker, seed=1):
    """A configuration inside the limits."""
    return random_q(shipped_of(tracker), np.random.default_rng(seed), 0.1)


def test_joint_goal_is_reached_from_any_motion():
    """Whatever came before: rest, another joint goal, a pose, a jog, a stop, a pause."""
    for seed in range(8):
        name = ['panda', 'ur5e', 'iiwa14', 'pr2_like'][seed % 4]
        tracker, random = new_tracker(name, seed), np.random.default_rng(seed)
        robot, k = shipped_of(tracker), 0
        for what in random.permutation(['joints', 'joints', 'pose', 'twist', 'stop', 'pause']):
            if what == 'joints':
                tracker.move_to(random_q(robot, random), PERIOD * k)
            if what == 'pose':
                tracker.set_goal(0, pose(tracker, random_q(robot, random, 0.2)), PERIOD * k)
            if what == 'twist':
                tracker.set_twist(0, 0.2 * random.normal(size=3), np.zeros(3), PERIOD * k)
            if what == 'stop':
                tracker.stop()
            tracker.pause(what == 'pause')
            count = random.integers(1, 80)
            ticks(tracker, k, count)
            k += count
        tracker.pause(False)
        goal = random_q(robot, random)
        tracker.move_to(goal)
        assert ticks(tracker, k, 4000)[-1].status is TrackStatus.REACHED
        turns = (tracker.q - goal) / (2.0 * math.pi)
        np.testing.assert_allclose(turns, np.where(robot.continuous, np.round(turns), 0.0))


@pytest.mark.parametrize('profile', ['square_root', 'linear'])
def test_joints_of_a_joint_goal_arrive_in_the_same_tick(profile):
    for seed in range(6):
        tracker = new_tracker('iiwa14', seed, speed_profile=profile)
        goal = far_from(tracker, seed)
        tracker.move_to(goal)
        q = np.array([command.q for command in ticks(tracker, 0, 3000)])
        assert (q[-1] == goal).all()
        arrivals = (q != goal).sum(axis=0)
        assert np.ptp(arrivals) <= 1
        assert arrivals.min() > 20


def test_joints_without_a_name_keep_their_joint_goal_or_stay():
    tracker = new_tracker()
    start = tracker.q
    tracker.move_to({'panda_joint1': 0.5})
    ticks(tracker, 0, 20)
    tracker.move_to({'panda_joint4': -1.5, 'panda_joint2': 0.25})
    assert ticks(tracker, 20, 2000)[-1].status is TrackStatus.REACHED
    np.testing.assert_array_equal(tracker.q[[0, 1, 3]], [0.5, 0.25, -1.5])
    np.testing.assert_array_equal(tracker.q[[2, 4, 5, 6, 7]], start[[2, 4, 5, 6, 7]])
    for wrong in ({'panda_joint9': 0.0}, {'panda_finger_joint2': 0.0}, {'panda_joint1': math.nan}):
        with pytest.raises(ik.IkError):
            tracker.move_to(wrong)


def test_status_of_a_joint_goal_says_on_the_way_then_reached():
    tracker = new_tracker()
    goal = far_from(tracker)
    tracker.move_to(goal)
    np.testing.assert_array_equal(tracker.joint_goal, goal)
    assert tracker.has_goals
    states = [command.status for command in ticks(tracker, 0, 1500)]
    assert [status for status, _ in itertools.groupby(states)] == [
        TrackStatus.TRACKING,
        TrackStatus.REACHED,
    ]


def test_joint_goal_beyond_a_limit_ends_there_and_is_reached_when_the_limit_is_gone():
    tracker = new_tracker()
    robot, limits = shipped_of(tracker), tracker.governor.limits
    goal = np.where(np.arange(robot.n) == 1, 1.2, tracker.q)
    tight = np.where(np.arange(robot.n) == 1, 0.9, robot.upper)
    tracker.move_to(goal)
    ticks(tracker, 0, 20)
    tracker.set_limits(replace(limits, upper=tight))
    assert ticks(tracker, 20, 1500)[-1].status is TrackStatus.CLOSEST
    np.testing.assert_array_equal(tracker.q, np.minimum(goal, tight))
    tracker.set_limits(limits)
    assert ticks(tracker, 1520, 1500)[-1].status is TrackStatus.REACHED
    np.testing.assert_array_equal(tracker.q, goal)


@pytest.mark.parametrize('between', ['pause', 'brake', 'reset', 'tool', 'options', 'solver'])
def test_joint_goal_is_kept_over(between):
    tracker = new_tracker()
    goal = far_from(tracker)
    tracker.move_to(goal)
    ticks(tracker, 0, 40)
    if between in ('pause', 'reset'):
        tracker.pause()
        assert ticks(tracker, 40, 400)[-1].status is TrackStatus.PAUSED
        assert tracker.at_rest
        if between == 'reset':
            tracker.reset(tracker.q, keep_goals=True)
        tracker.pause(False)
    if between == 'brake':
        tracker.brake()
    if between == 'tool':
        tool = moved(np.eye(4), (0.0, 0.0, 0.1))
        problem = ik.IkProblem(shipped_of(tracker), [ik.PoseTask('panda_hand_tcp', tool=tool)])
        tracker.set_problem(problem)
    if between == 'options':
        tracker.set_options(TrackerOptions(updates_per_tick=1))
    if between == 'solver':
        tracker.set_solver('damped_least_squares')
    assert ticks(tracker, 440, 2000)[-1].status is TrackStatus.REACHED
    np.testing.assert_array_equal(tracker.q, goal)


@pytest.mark.parametrize('instead', ['pose', 'twist', 'stop', 'reset'])
def test_joint_goal_ends_with(instead):
    tracker = new_tracker()
    tracker.move_to(far_from(tracker))
    ticks(tracker, 0, 40)
    goal = moved(pose(tracker), (0.02, 0.0, 0.0))
    if instead == 'pose':
        tracker.set_goal(0, goal, 0.2)
    if instead == 'twist':
        tracker.set_twist(0, [0.01, 0.0, 0.0], np.zeros(3), 0.2)
    if instead == 'stop':
        tracker.stop()
    if instead == 'reset':
        tracker.stop()
        ticks(tracker, 40, 400)
        tracker.reset(tracker.q)
    assert tracker.joint_goal is None
    last = ticks(tracker, 440, 2000)[-1]
    assert last.status is (TrackStatus.REACHED if instead == 'pose' else TrackStatus.IDLE)
    if instead == 'pose':
        np.testing.assert_allclose(pose(tracker), goal, atol=1e-4)


def test_old_joint_goal_is_dropped_after_goal_timeout_unless_it_came_without_a_time():
    for now, status in ((0.0, TrackStatus.STALE), (None, TrackStatus.REACHED)):
        tracker = new_tracker(goal_timeout=0.2)
        tracker.move_to(far_from(tracker), now)
        assert ticks(tracker, 0, 3000)[-1].status is status
        assert tracker.at_rest


def test_continuous_joint_takes_the_nearest_turn_to_its_goal():
    robot = shipped('pr2_like')
    problem = ik.IkProblem(robot, [ik.PoseTask(robot.tips()[0])])
    limits = MotionLimits.of(robot, acceleration=20.0)
    start = np.where(robot.continuous, 3.0, robot.middle_configuration)
    tracker = Tracker(problem, 1.0 / PERIOD, limits=limits, q0=start, clock=lambda: 0.0)
    tracker.move_to(np.where(robot.continuous, -3.0, start))
    assert ticks(tracker, 0, 1000)[-1].status is TrackStatus.REACHED
    assert robot.continuous.any()
    np.testing.assert_allclose(tracker.q[robot.continuous], 2.0 * math.pi - 3.0)


@pytest.mark.parametrize('bad', [[math.nan] * 7, [0.0] * 6, 'home', [math.inf] * 7])
def test_joint_goal_that_is_no_configuration_is_refused(bad):
    tracker = new_tracker('iiwa14')
    tracker.move_to(tracker.q)
    with pytest.raises(ik.InvalidConfiguration):
        tracker.move_to(bad)
    with pytest.raises(ik.InvalidOption, match='now'):
        tracker.move_to(tracker.q, math.nan)
    assert ticks(tracker, 0, 2)[-1].status is TrackStatus.REACHED


def test_joint_goal_is_recorded_and_replayed(tmp_path):
    tracker = new_tracker('ur5e')
    recorder = Recorder((URDF / 'ur5e.urdf').read_text())
    tracker.move_to(far_from(tracker, 2))
    ticks(tracker, 0, 50)
    tracker.observe(recorder)  # its snapshot has the joint goal under way
    ticks(tracker, 50, 100)
    tracker.move_to(far_from(tracker, 3), 0.75)
    ticks(tracker, 150, 600)
    recorder.save(tmp_path / 'recording.npz')
    [run] = replay(read_recording(tmp_path / 'recording.npz'))
    assert run.is_same, run.failure
    assert run.statuses[-1] == ('reached', 'reached')
