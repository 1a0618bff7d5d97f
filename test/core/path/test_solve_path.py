# SPDX-License-Identifier: Apache-2.0
"""Motions along paths of poses, judged by the robot's forward kinematics and by differences."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation
from support.robots import shipped

import ik_core as ik
from ik_core.path import PathReason, solve_path

KEEP = 1e-4, 1e-3
RATES = {'velocity': 2.0, 'acceleration': 5.0, 'jerk': 100.0}


def problem_of(name, **options):
    robot = shipped(name)
    return ik.IkProblem(robot, [ik.PoseTask(robot.default_tip())], **options)


def smooth_poses(problem, seed, count=60, size=0.3):
    """Poses of a smooth motion inside the limits, and its configurations."""
    rng, columns = np.random.default_rng(seed), problem.variables
    lower, upper = problem.limits.lower, problem.limits.upper
    while True:
        middle = lower + (upper - lower) * rng.uniform(0.3, 0.7, len(columns))
        knots = middle + rng.normal(scale=size, size=(5, len(columns)))
        q = np.tile(problem.default_configuration, (count, 1))
        q[:, columns] = CubicSpline(np.linspace(0, 1, 5), knots)(np.linspace(0, 1, count))
        link = problem.goals[0].link
        jacobians = problem.robot.jacobian(q, link)[:, :, columns]
        values = np.linalg.svd(jacobians, compute_uv=False)
        inside = (q[:, columns] > lower + 0.05) & (q[:, columns] < upper - 0.05)
        if inside.all() and values[:, 5].min() > 0.03:
            return np.asarray(problem.robot.forward_kinematics(q, link)), q


def deviations(problem, result, poses, period):
    """Largest distance and angle of a motion from the lines and slerp between poses."""
    tips = problem.robot.forward_kinematics(result.motion.positions, problem.goals[0].link)
    moments = period * np.arange(len(tips))
    i = np.clip(np.searchsorted(result.pose_times, moments, 'right') - 1, 0, len(poses) - 2)
    worst = [0.0, 0.0]
    for tip, a, b in zip(tips, poses[i], poses[i + 1], strict=True):
        line = b[:3, 3] - a[:3, 3]
        part = np.clip((tip[:3, 3] - a[:3, 3]) @ line / max(line @ line, 1e-30), 0.0, 1.0)
        worst[0] = max(worst[0], np.linalg.norm(tip[:3, 3] - a[:3, 3] - part * line))
        first = Rotation.from_matrix(a[:3, :3])
        turn = (first.inv() * Rotation.from_matrix(b[:3, :3])).as_rotvec()
        own = first.inv() * Rotation.from_matrix(tip[:3, :3])
        part = np.clip(own.as_rotvec() @ turn / max(turn @ turn, 1e-30), 0.0, 1.0)
        worst[1] = max(worst[1], (Rotation.from_rotvec(part * turn).inv() * own).magnitude())
    return worst


def uses(motion, limits):
    """Largest differences of orders one to three over their limits."""
    found = []
    for k, name in enumerate(RATES, 1):
        steps = np.abs(np.diff(motion.positions, k, axis=0)).max(axis=0) / motion.period**k
        found.append(float((steps / getattr(limits, name)).max()))
    return found


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('name', ['ur5e', 'panda', 'iiwa14'])
def test_motion_stays_on_its_path_and_keeps_all_limits(name, seed):
    problem = problem_of(name)
    poses, _ = smooth_poses(problem, seed)
    limits = ik.MotionLimits.of(problem.robot, **RATES)
    result = solve_path(problem, poses, limits=limits, period=0.002)
    assert result.success, result.message
    assert result.reason is PathReason.DONE
    position, orientation = deviations(problem, result, poses, 0.002)
    assert position <= result.deviation[0] + 1e-9 <= KEEP[0] + 2e-9
    assert orientation <= result.deviation[1] + 1e-7 <= KEEP[1] + 2e-7
    assert max(uses(result.motion, limits)) <= 1.001
    q = result.motion.positions[:, problem.variables]
    assert (q >= problem.limits.lower).all()
    assert (q <= problem.limits.upper).all()
    assert np.abs(np.diff(result.q, axis=0)).max() < 0.5
    for pose, here in zip(poses, result.q, strict=True):
        tip = problem.robot.forward_kinematics(here, problem.goals[0].link)
        np.testing.assert_allclose(tip, pose, atol=1e-6)
    assert math.isclose(result.pose_times[-1], result.motion.duration, rel_tol=1e-9)


def corner_poses(problem):
    """Two lines of 0.1 m with a corner of 30 degrees between them."""
    start = problem.robot.forward_kinematics([0.3, -1.2, 1.4, -1.8, -1.5, 0.2], 'tool0')
    poses = np.tile(start, (3, 1, 1))
    poses[1, 0, 3] += 0.1
    poses[2, :2, 3] += 0.1 + 0.1 * math.sqrt(0.75), 0.05
    return poses


def test_corner_is_rounded_within_what_is_allowed_or_stopped_at():
    problem = problem_of('ur5e')
    poses, durations = corner_poses(problem), []
    limits = ik.MotionLimits.of(problem.robot, **RATES)
    for keep, stops in ((1e-3, False), (1e-4, True)):
        within = (keep, 0.05)
        result = solve_path(problem, poses, limits=limits, keep_within=within, period=0.001)
        assert result.success, result.message
        assert deviations(problem, result, poses, 0.001)[0] <= keep
        assert max(uses(result.motion, limits)) <= 1.001
        speeds = np.abs(np.diff(result.motion.positions, axis=0)).max(axis=1) / 0.001
        slowest = speeds[100:-100].min()
        assert (slowest < 1e-3) == stops
        at_corner = result.motion[round(result.pose_times[1] / 0.001)]
        gap = problem.robot.forward_kinematics(at_corner, 'tool0')[:3, 3] - poses[1, :3, 3]
        assert (np.linalg.norm(gap) < 1e-6) == stops
        durations.append(result.motion.duration)
    assert durations[0] < 0.9 * durations[1]


def test_way_back_takes_as_long_as_the_way():
    problem = problem_of('ur5e')
    poses = corner_poses(problem)
    once = solve_path(problem, poses[:2], period=0.001)
    both = solve_path(problem, poses[[0, 1, 0]], period=0.001, q0=once.motion[0])
    assert both.motion.duration == pytest.approx(2.0 * once.motion.duration, rel=0.02)


def test_path_begins_and_ends_in_given_configurations():
    problem = problem_of('ur5e')
    poses, q = smooth_poses(problem, 3)
    for candidate in ik.solve_all(with_target(problem, poses[0])):
        result = solve_path(problem, poses, q0=candidate)
        if result.success:
            np.testing.assert_allclose(result.motion[0], candidate, atol=1e-9)
    result = solve_path(problem, poses, q0=q[0], end=q[-1])
    np.testing.assert_allclose(result.motion[0], q[0], atol=1e-9)
    np.testing.assert_allclose(result.motion[-1], q[-1], atol=1e-6)


def test_end_on_another_branch_needs_a_reconfiguration():
    problem = problem_of('ur5e')
    poses, q = smooth_poses(problem, 3)
    others = ik.solve_all(with_target(problem, poses[-1]), q[-1])
    result = solve_path(problem, poses, q0=q[0], end=others[1])
    assert result.reason is PathReason.RECONFIGURATION
    assert len(result.reconfigurations) == 1


def with_target(problem, pose):
    problem.goals[0].set_target(pose)
    return problem


def test_start_away_from_the_path_is_noted():
    problem = problem_of('ur5e')
    poses, q = smooth_poses(problem, 3)
    away = q[0] + np.array([0.05, 0.0, 0.0, 0.0, 0.0, 0.0])
    result = solve_path(problem, poses, q0=away)
    assert 'away from the first pose' in result.note
    np.testing.assert_allclose(result.motion[0], q[0], atol=1e-6)


def test_pose_out_of_reach_is_named_with_its_distance():
    problem = problem_of('ur5e')
    poses = np.tile(
        problem.robot.forward_kinematics([0, -1.2, 1.4, -1.8, -1.5, 0], 'tool0'), (9, 1, 1)
    )
    poses[:, 0, 3] = np.linspace(-0.5, -1.5, 9)
    result = solve_path(problem, poses)
    assert result.reason is PathReason.OUT_OF_REACH
    first, last = result.interval
    with_target(problem, poses[math.floor(first)])
    assert len(ik.solve_all(problem))
    with_target(problem, poses[math.ceil(first)])
    assert not len(ik.solve_all(problem))
    assert last == 8.0
    assert 0.0 < result.fraction < 1.0
    miss = ik.solve(with_target(problem, poses[-1])).position_errors[0]
    said = float(result.message.split('out of reach by ')[1].split()[0]) * 1e-3
    assert math.isclose(said, miss, rel_tol=0.05)


@pytest.mark.parametrize('corners', [1, 2, 4])
def test_part_up_to_the_end_of_the_reach_counts_sharp_corners_too(corners):
    problem = problem_of('ur5e')
    start = problem.robot.forward_kinematics([0.3, -1.2, 1.4, -1.8, -1.5, 0.2], 'tool0')
    poses = np.tile(start, (2 + corners, 1, 1))
    poses[1::2, 1, 3] += 0.05  # there and back, then out of reach
    poses[-1, :3, 3] = start[:3, 3] + np.array([-2.0, 0.0, 0.0])
    result = solve_path(problem, poses)
    assert result.reason is PathReason.OUT_OF_REACH
    assert corners <= result.interval[0] < corners + 1
    assert 0.0 < result.fraction < 1.0


@pytest.mark.parametrize('size', [0.3, 1.5])
def test_path_on_which_a_joint_rests_at_its_limit_is_fast_and_smooth(size):
    problem = problem_of('ur5e')
    s = np.linspace(0.0, 1.0, 60)
    q = np.tile([0.3, -1.2, 1.4, -1.8, -1.5, 0.2], (len(s), 1))
    q[:, 0] += 0.6 * s
    q[:, 1] -= size * np.maximum(0.5 - s, 0.0) ** 2  # rests from the middle on
    limits = ik.MotionLimits.of(problem.robot, **RATES)
    upper = limits.upper.copy()
    upper[1] = -1.2
    limits = replace(limits, upper=upper)
    poses = problem.robot.forward_kinematics(q, problem.goals[0].link)
    result = solve_path(problem, poses, limits=limits, period=1e-4, q0=q[0])
    assert result.success, result.message
    assert result.motion.positions[:, 1].max() <= -1.2
    assert max(uses(result.motion, limits)) <= 1.001
    assert result.motion.duration < 1.2
    assert result.deviation[0] <= KEEP[0]
    assert result.deviation[1] <= KEEP[1]


def test_joint_limit_is_named():
    robot = shipped('ur5e')
    poses, q = smooth_poses(ik.IkProblem(robot, [ik.PoseTask('tool0')]), 3)
    lower, upper = robot.lower.copy(), robot.upper.copy()
    pan = q[:, 0]
    assert pan[-1] > pan[0] + 0.2
    lower[0], upper[0] = pan.min() - 0.1, 0.5 * (pan[0] + pan[-1])
    narrow = ik.IkProblem(robot, [ik.PoseTask('tool0')], lower=lower, upper=upper)
    result = solve_path(narrow, poses)
    assert result.reason is PathReason.JOINT_LIMIT
    assert f'{robot.joint_names[0]} is beyond its limits in all' in result.message
    first = int(np.argmax(pan > upper[0]))
    assert first - 1 <= result.interval[0] <= first
    assert result.fraction == pytest.approx(first / len(poses), abs=0.1)


def test_too_short_times_name_the_pose_and_the_factor():
    problem = problem_of('ur5e')
    poses, _ = smooth_poses(problem, 4)
    limits = ik.MotionLimits.of(problem.robot, velocity=1.0)
    slow = solve_path(problem, poses, times=np.linspace(0.0, 60.0, len(poses)), limits=limits)
    assert slow.success
    assert math.isclose(slow.motion.duration, 60.0, abs_tol=0.011)
    np.testing.assert_allclose(slow.pose_times, np.linspace(0.0, 60.0, len(poses)), atol=1e-6)
    speed = np.abs(np.diff(slow.motion.positions, axis=0)).max() / slow.motion.period
    fast = solve_path(problem, poses, times=np.linspace(0.0, 60.0 * speed / 2.0, len(poses)),
                      limits=limits)  # fmt: skip
    assert fast.reason is PathReason.TOO_FAST
    assert float(fast.message.split(' ')[0]) == pytest.approx(2.0, rel=0.06)


def test_free_axis_is_used():
    robot = shipped('ur5e')
    goal = ik.PoseTask('tool0', orientation_weights=[1.0, 1.0, 0.0])
    problem = ik.IkProblem(robot, [goal])
    poses, _ = smooth_poses(ik.IkProblem(robot, [ik.PoseTask('tool0')]), 5, count=20, size=0.1)
    result = solve_path(problem, poses)
    assert result.success, result.message
    with_pose = solve_path(ik.IkProblem(robot, [ik.PoseTask('tool0')]), poses)
    assert result.motion.duration <= 1.05 * with_pose.motion.duration


def test_assumed_limits_are_noted():
    problem = problem_of('ur5e')
    poses, _ = smooth_poses(problem, 3)
    result = solve_path(problem, poses)
    assert 'acceleration limit of shoulder_pan_joint' in result.note
    limits = ik.MotionLimits.of(problem.robot, **RATES)
    assert solve_path(problem, poses, limits=limits).note == ''


def test_answers_are_the_same_each_time():
    problem = problem_of('panda')
    poses, _ = smooth_poses(problem, 1, count=20)
    one, two = (solve_path(problem, poses).motion.positions for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_problem_keeps_its_target():
    problem = problem_of('ur5e')
    poses, _ = smooth_poses(problem, 3)
    with_target(problem, poses[7])
    solve_path(problem, poses)
    np.testing.assert_array_equal(problem.goals[0].transform, poses[7])


def circle(problem, radius=0.1):
    """A circle about the z axis as a function of its length."""
    start = problem.robot.forward_kinematics(BENT[problem.robot.name], problem.goals[0].link)

    def pose(s):
        here = start.copy()
        here[:2, 3] += radius * np.array([np.sin(s / radius), 1.0 - np.cos(s / radius)])
        return here

    return pose, start[:2, 3] + [0.0, radius]


BENT = {'ur5e': [0.3, -1.2, 1.4, -1.8, -1.5, 0.2], 'panda': [0.3, -0.2, 0, -2, 0, 2, 0.5, 0]}


def test_function_of_the_length_is_followed():
    problem = problem_of('ur5e')
    pose, middle = circle(problem)
    most = [0.05, 0.15]  # [m/s] at the start and the end

    def fast(s):
        return most[0] + (most[1] - most[0]) * s / 0.3

    limits = ik.MotionLimits.of(problem.robot, velocity=3.0, acceleration=20.0, jerk=1000.0)
    options = {'limits': limits, 'length': 0.3, 'period': 0.001}
    result = solve_path(problem, pose, tip_speed=fast, **options)
    assert result.success, result.message
    tips = problem.robot.forward_kinematics(result.motion.positions, 'tool0')[:, :3, 3]
    off = np.abs(np.linalg.norm(tips[:, :2] - middle, axis=1) - 0.1).max()
    assert off <= result.deviation[0] <= KEEP[0]
    np.testing.assert_allclose(tips[-1], pose(0.3)[:3, 3], atol=1e-7)
    steps = np.linalg.norm(np.diff(tips, axis=0), axis=1)
    speed, allowed = steps / 0.001, fast(np.cumsum(steps))
    assert (speed <= 1.003 * allowed).all()
    assert (speed > 0.98 * allowed).mean() > 0.8
    constant = solve_path(problem, pose, tip_speed=0.15, **options)
    assert constant.motion.duration < 0.8 * result.motion.duration


def test_function_with_a_jump_is_refused():
    problem = problem_of('ur5e')
    pose, _ = circle(problem)
    with pytest.raises(ik.InvalidGoal, match='are too far apart: the path has a jump there'):
        solve_path(problem, lambda s: pose(s if s < 0.1 else s + 0.1), length=0.2)
    with pytest.raises(ik.InvalidOption, match='length = None'):
        solve_path(problem, pose)
    with pytest.raises(ik.InvalidOption, match='not by a function'):
        solve_path(problem, pose, length=0.1, times=[0.0, 1.0])


@pytest.mark.parametrize(('seed', 'gain'), [(1, 1.0), (3, 0.97)])
def test_more_starts_make_motions_of_redundant_arms_no_slower(seed, gain):
    problem = problem_of('panda')
    poses, _ = smooth_poses(problem, seed, 250)
    limits = ik.MotionLimits.of(problem.robot, **RATES)
    one, more = (solve_path(problem, poses, limits=limits, starts=k) for k in (1, 4))
    assert more.motion.duration <= gain * one.motion.duration
    again = solve_path(problem, poses, limits=limits, starts=4, q0=one.q[0])
    np.testing.assert_allclose(again.q[0], one.q[0], atol=1e-6)


@pytest.mark.parametrize('name', ['ur5e', 'panda'])
def test_closed_path_ends_in_the_configuration_in_which_it_begins(name):
    problem = problem_of(name)
    pose, _ = circle(problem)
    poses = [pose(s) for s in np.linspace(0.0, 0.2 * np.pi, 100)[:-1]]
    result = solve_path(problem, poses, closed=True)
    assert result.success, result.message
    motion = result.motion.positions
    np.testing.assert_allclose(motion[-1], motion[0], atol=1e-9)
    assert len(result.q) == 99
    assert result.pose_times[-1] < result.motion.duration
    away = solve_path(problem, [*poses, poses[0]])
    assert problem.is_redundant == (np.abs(away.q[-1] - away.q[0]).max() > 1e-3)


def test_closed_path_that_winds_the_base_up_says_so():
    problem = problem_of('ur5e')
    start = problem.robot.forward_kinematics(BENT['ur5e'], 'tool0')
    turns = Rotation.from_rotvec(np.linspace(0.0, 2.0 * np.pi, 200)[:, np.newaxis] * [0, 0, 1.0])
    poses = np.tile(np.eye(4), (200, 1, 1))
    poses[:, :3, :3] = turns.as_matrix()
    poses = poses @ start
    assert solve_path(problem, poses).success
    result = solve_path(problem, poses, closed=True)
    assert result.reason is PathReason.RECONFIGURATION
    assert 'off by 6.28 in shoulder_pan_joint' in result.message


def test_approach_and_retreat_lead_along_the_z_axes():
    problem = problem_of('ur5e')
    poses, _ = smooth_poses(problem, 3)
    result = solve_path(problem, poses, approach=0.05, retreat=0.02, tip_speed=0.1)
    plain = solve_path(problem, poses, tip_speed=0.1)
    assert result.success, result.message
    ends = problem.robot.forward_kinematics(result.motion.positions[[0, -1]], 'tool0')
    for end, pose, gap in zip(ends, poses[[0, -1]], (0.05, 0.02), strict=True):
        np.testing.assert_allclose(end[:3, 3], pose[:3, 3] - gap * pose[:3, 2], atol=1e-6)
        np.testing.assert_allclose(end[:3, :3], pose[:3, :3], atol=1e-6)
    assert len(result.q) == len(result.pose_times) == len(poses)
    np.testing.assert_allclose(result.q, plain.q, atol=1e-6)
    assert result.pose_times[0] > 0.5
    assert result.pose_times[-1] < result.motion.duration - 0.2
    far = solve_path(problem, poses, approach=2.0)
    assert far.interval[0] == -1.0


def test_motion_at_given_times_may_rest_at_both_ends():
    problem = problem_of('ur5e')
    poses = corner_poses(problem)
    poses[2] = 2.0 * poses[1] - poses[0]  # no corner
    poses[:, :3, :3] = poses[0, :3, :3]
    poses[:, 3, 3] = 1.0
    for chosen, times in ((poses, [1.0, 2.0, 3.0]), (poses[:2], [1.0, 2.0])):
        result = solve_path(problem, chosen, times=times, rest=True, period=0.001)
        assert result.success, result.message
        tips = problem.robot.forward_kinematics(result.motion.positions, 'tool0')[:, :3, 3]
        for k in range(len(chosen)):
            np.testing.assert_allclose(tips[1000 * k], chosen[k, :3, 3], atol=1e-6)
        speed = np.linalg.norm(np.diff(tips, axis=0), axis=1) / 0.001
        assert max(speed[0], speed[-1]) < 1e-4
        assert np.abs(np.diff(speed)).max() < 1e-3
        if len(chosen) == 3:  # in the middle, as fast as the times ask for
            assert speed[999] == pytest.approx(0.1, rel=1e-3)
    moving = solve_path(problem, poses, times=[1.0, 2.0, 3.0], period=0.001)
    tips = problem.robot.forward_kinematics(moving.motion.positions[:2], 'tool0')[:, :3, 3]
    assert np.linalg.norm(tips[1] - tips[0]) == pytest.approx(1e-4, rel=1e-2)


def straight_poses(problem, count=40, size=0.3):
    """Poses on a straight line of this size, and the configuration at the first one."""
    q = np.array(BENT[problem.robot.name])
    start = problem.robot.forward_kinematics(q, problem.goals[0].link)
    poses = np.tile(start, (count, 1, 1))
    poses[:, 1, 3] += np.linspace(0.0, size, count)
    return poses, q


def along(problem, q, velocity):
    """Velocities of the joints for a linear velocity of the tip, the shortest ones."""
    jacobian = problem.robot.jacobian(q, problem.goals[0].link)
    return np.linalg.lstsq(jacobian, np.concatenate([velocity, np.zeros(3)]), rcond=None)[0]


@pytest.mark.parametrize(('name', 'speed'), [('ur5e', 0.2), ('panda', 0.1)])
def test_motion_begins_with_a_given_velocity(name, speed):
    problem = problem_of(name)
    poses, q = straight_poses(problem)
    limits = ik.MotionLimits.of(problem.robot, **RATES)
    dq = along(problem, q, [0.0, speed, 0.0])
    if name == 'panda':  # what the tip does not feel is part of the velocity
        jacobian = problem.robot.jacobian(q, problem.goals[0].link)
        dq[:7] += 0.1 * np.linalg.svd(jacobian[:, :7])[2][6]
    options = {'limits': limits, 'q0': q, 'period': 0.001}
    resting = solve_path(problem, poses, **options)
    result = solve_path(problem, poses, dq0=dq, **options)
    assert result.success, result.message
    first = result.motion.positions[:4]
    begun = (-11.0 * first[0] + 18.0 * first[1] - 9.0 * first[2] + 2.0 * first[3]) / 0.006
    np.testing.assert_allclose(begun, dq, atol=1e-4)
    tips = problem.robot.forward_kinematics(result.motion.positions, problem.goals[0].link)
    np.testing.assert_allclose(np.diff(tips[:3, 1, 3]), 1e-3 * speed, rtol=0.01)
    assert np.linalg.norm(tips[-1, :3, 3] - tips[-2, :3, 3]) < 1e-5  # at rest
    assert max(uses(result.motion, limits)) <= 1.001
    assert max(deviations(problem, result, poses, 0.001)) <= 1e-4
    if name == 'ur5e':
        assert result.motion.duration < resting.motion.duration - 0.03


def test_motion_that_goes_on_in_the_middle_of_another_takes_no_longer_than_its_rest():
    problem = problem_of('ur5e')
    poses, q = straight_poses(problem, 61)
    limits = ik.MotionLimits.of(problem.robot, **RATES)
    whole = solve_path(problem, poses, limits=limits, q0=q, tip_speed=0.15, period=0.001)
    i = round(whole.pose_times[30] / 0.001)
    rows = whole.motion.positions[i - 1 : i + 2]
    options = {'limits': limits, 'tip_speed': 0.15, 'period': 0.001}
    result = solve_path(
        problem, poses[30:], q0=whole.q[30], dq0=(rows[2] - rows[0]) / 0.002, **options
    )
    assert result.success, result.message
    left = whole.motion.duration - whole.pose_times[30]
    assert result.motion.duration == pytest.approx(left, rel=0.01)


def test_velocity_that_nothing_can_follow_is_too_fast():
    problem = problem_of('ur5e')
    poses, q = straight_poses(problem, 5, 0.01)
    result = solve_path(problem, poses, q0=q, dq0=along(problem, q, [0.0, 0.3, 0.0]))
    assert result.reason is PathReason.TOO_FAST  # it can't stop within 10 mm
    assert result.message.startswith('begun with dq0, ')


@pytest.mark.parametrize('rest', [False, True])
def test_times_since_1970_make_the_same_motion(rest):
    problem = problem_of('ur5e')
    poses, q = straight_poses(problem, 9)
    limits = ik.MotionLimits.of(problem.robot, velocity=2.0, acceleration=5.0, jerk=100.0)
    times = np.linspace(0.0, 8.0, 9)
    options = {'q0': q, 'limits': limits, 'rest': rest}
    plain, late = (
        solve_path(problem, poses, times=times + since, **options) for since in (0.0, 2.0**31)
    )
    assert plain.success, plain.message
    np.testing.assert_allclose(late.motion.positions, plain.motion.positions, atol=1e-12)
    np.testing.assert_allclose(late.pose_times, plain.pose_times, atol=1e-12)


@pytest.mark.parametrize(
    ('velocity', 'options', 'error', 'text'),
    [
        ([0.0, -0.1, 0.0], {}, ik.InvalidOption, '180 deg away from the direction of the path'),
        ([0.02, 0.1, 0.0], {}, ik.InvalidOption, '11.3 deg away'),
        ([0.0, 0.1, 0.0], {'times': np.arange(40.0)}, ik.InvalidOption, 'without times='),
        ([0.0, 0.1, 0.0], {'q0': None}, ik.InvalidOption, 'give a q0 that reaches'),
        ([0.0, np.nan, 0.0], {}, ik.InvalidConfiguration, 'dq0 is not finite'),
    ],
)
def test_velocity_that_does_not_fit_the_path_is_refused(velocity, options, error, text):
    problem = problem_of('ur5e')
    poses, q = straight_poses(problem)
    with pytest.raises(error, match=text):
        solve_path(problem, poses, **{'q0': q, 'dq0': along(problem, q, velocity)} | options)


def test_velocity_of_joints_beside_the_path_is_refused():
    problem = problem_of('panda')
    poses, q = straight_poses(problem)
    finger = np.zeros(len(q))
    finger[-1] = 0.01
    with pytest.raises(ik.InvalidOption, match='dq0 moves panda_finger'):
        solve_path(problem, poses, q0=q, dq0=along(problem, q, [0.0, 0.1, 0.0]) + finger)
    still = np.zeros(len(q))
    still[:7] = np.linalg.svd(problem.robot.jacobian(q, problem.goals[0].link)[:, :7])[2][6]
    with pytest.raises(ik.InvalidOption, match='but not the tip'):
        solve_path(problem, poses, q0=q, dq0=still)
    resting, plain = (
        solve_path(problem, poses, q0=q, dq0=dq).motion.positions for dq in (0.0 * q, None)
    )
    np.testing.assert_array_equal(resting, plain)


@pytest.mark.parametrize(
    ('options', 'error', 'text'),
    [
        ({'keep_within': 0.1}, ik.InvalidOption, 'a distance .* and an angle'),
        ({'keep_within': (-1.0, 1.0)}, ik.InvalidOption, '1e-7 or more'),
        ({'period': 0.0}, ik.InvalidOption, 'period = 0.0'),
        ({'tip_speed': -1.0}, ik.InvalidOption, 'tip_speed = -1.0'),
        ({'limits': 3}, ik.InvalidOption, 'MotionLimits are needed'),
        ({'q0': [0.0]}, ik.InvalidConfiguration, 'q0'),
        ({'end': np.zeros(6)}, ik.InvalidConfiguration, 'end misses the last pose by'),
        ({'times': [1.0, 0.0]}, ik.InvalidOption, 'times have'),
        ({'tip_speed': [1.0, 2.0]}, ik.InvalidOption, r'tip_speed has shape \(2,\)'),
        ({'tip_speed': lambda i: 3.0 - i}, ik.InvalidOption, 'that of pose 3 is not one'),
        ({'tip_speed': 'fast'}, ik.InvalidOption, 'positive numbers are needed'),
        ({'length': 1.0}, ik.InvalidOption, 'length is for poses that are a function'),
        ({'closed': 1}, ik.InvalidOption, 'closed = 1: True or False'),
        ({'closed': True, 'end': np.zeros(6)}, ik.InvalidOption, 'a closed path ends where'),
        ({'closed': True, 'approach': 0.1}, ik.InvalidOption, 'no approach and no retreat'),
        ({'retreat': math.nan}, ik.InvalidOption, 'retreat = nan'),
        ({'starts': 0}, ik.InvalidOption, 'starts = 0: a whole number'),
        ({'rest': True}, ik.InvalidOption, 'rest=True is for `times`'),
        ({'times': np.arange(60), 'approach': 1.0}, ik.InvalidOption, 'have no times'),
        ({'times': np.arange(60), 'closed': True}, ik.InvalidGoal, 'has to equal the first one'),
    ],
)
def test_bad_options_are_refused(options, error, text):
    problem = problem_of('ur5e')
    poses, _ = smooth_poses(problem, 3)
    with pytest.raises(error, match=text):
        solve_path(problem, poses, **options)


def test_problems_of_another_kind_are_refused():
    robot = shipped('ur5e')
    goal = ik.PoseTask('tool0')
    poses = np.tile(np.eye(4), (2, 1, 1))
    other = ik.PositionTask('forearm_link', position=[0.0, 0.0, 0.5])
    for tasks, secondary in (([goal, other], ()), ([goal, ik.PostureTask(np.zeros(6))], ()),
                             ([goal], [ik.PostureTask(np.zeros(6))])):  # fmt: skip
        with pytest.raises(ik.UnsupportedProblem, match='a path'):
            solve_path(ik.IkProblem(robot, tasks, secondary=secondary), poses)
